"""The partitions of a cluster that are alike, whatever is to happen: those that are in the same situation.

Alike they are if they look the same from the place of each replica in the assignment: how many replicas, which of
them leads, which are in sync and in which order, which are alive, what happens to the broker of each, and what is
configured. What happens to other brokers does not reach a partition, but that the controller's broker dies is a
failover for all. In which order replicas of several dead brokers go offline is not looked at, in Kafka it is that of
a hash map: a way may be a step longer for that, and ends alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.cluster import KnownCluster, listed
from spec.what_if.events import (
    AllowUnclean,
    AnotherController,
    ClusterEvent,
    Crash,
    ElectPreferred,
    Reassign,
    Return,
    Shutdown,
)
from statemachines.releases import RELEASES, line_of
from statemachines.topic_partition import TopicPartition

__all__ = ["Situation", "situations"]


class Situation(NamedTuple):
    """A partition, and what is to happen to it, by the places of its replicas: 0 is the preferred one."""

    replicas: int
    leader: BrokerId | None
    isr: tuple[BrokerId, ...]
    live: frozenset[BrokerId]
    events: tuple[str, ...]
    """Sorted; like "crash of 0", where 0 is the first replica's broker, and "crash of 0 (2)": it crashes again."""
    min_isr: int
    unclean: bool

    @property
    def kinds(self) -> Counter[str]:
        """How many events there are of each kind."""
        return Counter(event.split()[0] for event in self.events)


def situations(
    cluster: KnownCluster, events: Sequence[ClusterEvent], release: str = RELEASES[-1]
) -> dict[Situation, tuple[TopicPartition, ...]]:
    """The partitions that are alike, by their situations.

    Raises:
        UsageError: an event cannot be explored, or a partition is being reassigned.
    """
    by_default = cluster.permits_unclean(line_of(release)) or AllowUnclean() in events
    of_topics = {event.topic for event in events if isinstance(event, AllowUnclean)}
    planned = tuple(_planned(cluster, events))
    found: dict[Situation, list[TopicPartition]] = {}
    for partition, status in sorted(cluster.partitions.items()):
        replicas = status.assignment.replicas
        if status.assignment.is_being_reassigned:
            raise UsageError(
                f"{partition} is being reassigned; --any-order does not explore reassignments (--topic leaves it out)"
            )
        place = {broker: number for number, broker in enumerate(replicas)}
        permitted = cluster.unclean.get(partition.topic, by_default) or partition.topic in of_topics
        situation = Situation(
            len(replicas),
            None if status.leader is None else place[status.leader],
            tuple(place[broker] for broker in status.isr),
            frozenset(place[broker] for broker in replicas if broker in cluster.live),
            tuple(sorted(each.at(place) for each in planned if each.broker is None or each.broker in place)),
            cluster.min_isr[partition.topic],
            permitted,
        )
        found.setdefault(situation, []).append(partition)
    return {situation: tuple(partitions) for situation, partitions in found.items()}


class _Once(NamedTuple):
    """Something that is to happen to a broker, or to all."""

    kind: str
    broker: BrokerId | None
    time: int
    """For the first time, the second, ..."""

    def at(self, place: Mapping[BrokerId, int]) -> str:
        """As it is planned for a partition whose brokers have these places."""
        whom = "" if self.broker is None else f" of {place[self.broker]}"
        return f"{self.kind}{whom}" + (f" ({self.time})" if self.time > 1 else "")


def _planned(cluster: KnownCluster, events: Sequence[ClusterEvent]) -> Iterator[_Once]:
    """What happens, thing by thing."""
    times: Counter[tuple[str, BrokerId | None]] = Counter()
    for event in events:
        one_by_one: list[tuple[str, BrokerId | None]] = []
        match event:
            case Crash(brokers) | Shutdown(brokers) | Return(brokers):
                if strangers := set(brokers) - cluster.brokers:
                    there = listed(cluster.brokers)
                    raise UsageError(f"{event}: there is no broker {listed(strangers)}; there are {there}")
                one_by_one = [(type(event).__name__.lower(), broker) for broker in brokers]
                leaves = not isinstance(event, Return) and cluster.controller in brokers
                if leaves and not times["crash", cluster.controller] + times["shutdown", cluster.controller]:
                    one_by_one.append(("failover", None))
            case ElectPreferred():
                one_by_one = [("election", None)]
            case AnotherController():
                one_by_one = [("failover", None)]
            case Reassign():
                raise UsageError(f"{event}: --any-order does not explore reassignments; see docs/what-if.md")
            case AllowUnclean(topic):
                if topic is not None and topic not in cluster.topics:
                    there = ", ".join(cluster.topics)
                    raise UsageError(f"{event}: there is no topic {topic}; there are {there}")
        for kind, broker in one_by_one:
            times[kind, broker] += 1
            yield _Once(kind, broker, times[kind, broker])
