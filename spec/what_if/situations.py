"""The partitions of a cluster that are alike, whatever is to happen: those that are in the same situation.

Alike they are if they look the same from the place of each replica in the assignment: how many replicas, which of
them leads, which are in sync and in which order, which are alive, what happens to the broker of each, what is
configured, and where it is to move, or moves already: brokers that it is to move to have the places after those of
its replicas. The order of the ISR of a partition that moves is left out, as Kafka has a set there. What happens to
other brokers does not reach a partition, but that the controller's broker dies is a failover for all. In which order
replicas of several dead brokers go offline is not looked at, in Kafka it is that of a hash map: a way may be a step
longer for that, and ends alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.cluster import KnownCluster, PartitionStatus, listed
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
from statemachines.controller.control_design import control_design_of
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS
from statemachines.releases import RELEASES

__all__ = ["MOVE", "Situation", "brokers_by_place", "situations"]

MOVE: Final = "reassignment"
"""The event that a partition is asked to move."""


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
    target: tuple[BrokerId, ...] = ()
    """Where it is to move: brokers that keep no replica yet have the places after those of its replicas. Empty: it is
    to stay."""
    adding: tuple[BrokerId, ...] = ()
    """Those of its replicas that are added by a move that is under way."""
    removing: tuple[BrokerId, ...] = ()
    """Those that are removed by it."""
    emptied: bool = False
    """It has a state with an empty ISR, which the last in sync has left."""

    @property
    def moves(self) -> bool:
        """Whether it is to move, or is on its way."""
        return bool(self.target)

    @property
    def is_under_way(self) -> bool:
        """Whether the move has begun."""
        return bool(self.adding or self.removing)

    @property
    def has_state(self) -> bool:
        """Whether it has a state in ZooKeeper, which it gets with its first leader."""
        return bool(self.isr) or self.emptied

    @property
    def waiting(self) -> frozenset[BrokerId]:
        """Those that run, are out of sync for want of a leader, and catch up when there is one."""
        return frozenset() if self.leader in self.live else self.live - {*self.isr}

    @property
    def new(self) -> frozenset[BrokerId]:
        """The brokers that have to copy it."""
        return frozenset(self.target) - {*range(self.replicas)} | {*self.adding}

    @property
    def brokers(self) -> int:
        """How many brokers it is about: those that keep the partition, and those that are to."""
        return max((self.replicas, *(1 + broker for broker in self.target)))

    @property
    def kinds(self) -> Counter[str]:
        """How many events there are of each kind."""
        return Counter(event.split()[0] for event in self.events)


def situations(
    cluster: KnownCluster, events: Sequence[ClusterEvent], release: str = RELEASES[-1]
) -> dict[Situation, tuple[TopicPartition, ...]]:
    """The partitions that are alike, by their situations; without those of topics that are to be deleted.

    Raises:
        UsageError: an event cannot be explored, or a partition is to move twice, or moves as it does in no release.
    """
    for event in events:
        if isinstance(event, AllowUnclean):
            event.require_release(release)
    by_default = cluster.permits_unclean(release) or AllowUnclean() in events
    of_topics = {event.topic for event in events if isinstance(event, AllowUnclean)}
    planned, targets = tuple(_planned(cluster, events)), _targets(cluster, events)
    found: dict[Situation, list[TopicPartition]] = {}
    for partition, status in sorted(cluster.partitions.items()):
        if partition.topic in cluster.deletion_queued:
            continue
        if partition in cluster.reassigning:
            raise UsageError(
                f"{partition} is asked to move by {REASSIGN_PARTITIONS}; --any-order explores moves that are events: "
                "--reassign (--topic leaves out topics)"
            )
        replicas = status.assignment.replicas
        target = targets.get(partition, ())
        if status.assignment.is_being_reassigned:
            _require_in_shape(partition, status.assignment, release)
            if target:
                raise UsageError(f"{partition} is being reassigned; --any-order explores no other move of it")
            target = status.assignment.target_replicas
        place = {broker: number for number, broker in enumerate(brokers_by_place(status, target))}
        isr = [place[broker] for broker in status.isr]
        permitted = cluster.unclean.get(partition.topic, by_default) or partition.topic in of_topics
        happens = (each.at(place) for each in planned if each.broker is None or each.broker in place)
        moving, adding, removing = (
            tuple(place[broker] for broker in brokers)
            for brokers in (target, status.assignment.adding_replicas, status.assignment.removing_replicas)
        )
        situation = Situation(
            len(replicas),
            None if status.leader is None else place[status.leader],
            tuple(sorted(isr) if target else isr),
            frozenset(place[broker] for broker in place if broker in cluster.live),
            tuple(sorted((*happens, *([MOVE] if partition in targets else ())))),
            cluster.min_isr[partition.topic],
            permitted,
            moving,
            adding,
            removing,
            not isr and status.has_state,
        )
        found.setdefault(situation, []).append(partition)
    return {situation: tuple(partitions) for situation, partitions in found.items()}


def brokers_by_place(status: PartitionStatus, target: Sequence[BrokerId] = ()) -> tuple[BrokerId, ...]:
    """The brokers that a partition is about, by their places: its replicas, then those that it moves to.

    >>> brokers_by_place(PartitionStatus(ReplicaAssignment((3, 1)), 3, (3, 1), 0), target=(1, 4))
    (3, 1, 4)
    """
    return tuple(dict.fromkeys((*status.assignment.replicas, *target)))


def _require_in_shape(partition: TopicPartition, assignment: ReplicaAssignment, release: str) -> None:
    """Refuse what no controller of this release has written."""
    target = assignment.target_replicas
    if not control_design_of(release).kip_455:
        raise UsageError(f"{partition} has adding or removing replicas, which a topic's node has since Kafka 2.4")
    if assignment.replicas[: len(target)] != target:
        there, first = listed(assignment.replicas), listed(target)
        raise UsageError(f"{partition} moves to {first}, which a controller puts first among its replicas: {there}")


def _targets(cluster: KnownCluster, events: Sequence[ClusterEvent]) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """Where partitions are to move to; a plan also names those that stay, which have moved at once."""
    found: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for event in events:
        for partition, target in event.targets.items() if isinstance(event, Reassign) else ():
            if partition not in cluster.partitions:
                raise UsageError(f"reassignment of {partition}: there is no such partition")
            if strangers := set(target) - cluster.brokers:
                there = f"there is no broker {listed(strangers)}; there are {listed(cluster.brokers)}"
                raise UsageError(f"reassignment of {partition}: {there}")
            if partition in found:
                raise UsageError(f"{partition} is to move twice; --any-order explores one move of a partition")
            found[partition] = tuple(target)
    return {
        partition: target
        for partition, target in found.items()
        if cluster.partitions[partition].assignment != ReplicaAssignment(target)
    }


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
            case AllowUnclean(topic):
                if topic is not None and topic not in cluster.topics:
                    there = ", ".join(cluster.topics)
                    raise UsageError(f"{event}: there is no topic {topic}; there are {there}")
        for kind, broker in one_by_one:
            times[kind, broker] += 1
            yield _Once(kind, broker, times[kind, broker])
