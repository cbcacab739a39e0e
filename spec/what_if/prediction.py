"""What a controller makes of what is done to a cluster: each partition before and after, and how it came to that.

prediction = what_if(cluster, Crash(1, 3), Return(1), release="2.8")
print(prediction)                       # a table; `prediction.told(every=True)` has what stays as it is, too
prediction.offline                      # the partitions that have no leader in the end
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

from election.ids import BrokerId
from spec.language.escapes import escaped
from spec.releases import ByRelease, release_named
from spec.what_if.cluster import KnownCluster, PartitionStatus, listed
from spec.what_if.events import ClusterEvent
from spec.what_if.running_cluster import Effect, Elected, Failed, RunningCluster, Sent, Written
from statemachines.control_design import control_design_of
from statemachines.control_requests import StopReplicaRequest
from statemachines.releases import RELEASES
from statemachines.state_change import FailedStateChange
from statemachines.topic_partition import TopicPartition
from statemachines.zk_data import TopicAssignment, TopicPartitionState

__all__ = ["Change", "PartitionHealth", "Prediction", "what_if"]


FEW: Final = 5
"""How many partitions of a request are named."""


class PartitionHealth(IntEnum):
    """The state of a partition, as its users meet it; the worst first."""

    Offline = 0
    """It has no leader."""
    Unclean = 1
    """A replica was elected that was not in sync: records that were acknowledged may be lost."""
    UnderMinIsr = 2
    """It has a leader, and takes no records from producers that want all in sync to have them (acks=all)."""
    Online = 3

    def __str__(self) -> str:
        return ("offline", "records may be lost", "under min ISR", "online")[self]


class Change(NamedTuple):
    """A partition before and after."""

    partition: TopicPartition
    before: PartitionStatus
    after: PartitionStatus
    health_before: PartitionHealth
    health: PartitionHealth
    """After."""
    min_isr: int

    @property
    def is_none(self) -> bool:
        """Whether it stays as it is: its replicas, who leads and who is in sync; and no record was lost meanwhile."""
        return (self.before.assignment, self.before.leader, set(self.before.isr), self.health_before) == (
            self.after.assignment,
            self.after.leader,
            set(self.after.isr),
            self.health,
        )

    def to_json(self) -> dict[str, Any]:
        """As an object."""
        return {
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "min_isr": self.min_isr,
            "before": _status_to_json(self.before),
            "after": _status_to_json(self.after),
            "health_before": str(self.health_before),
            "health": str(self.health),
        }


@dataclass(frozen=True)
class Prediction:
    """What comes of some events."""

    cluster: KnownCluster
    release: str
    events: tuple[ClusterEvent, ...]
    steps: tuple[tuple[Effect, ...], ...]
    """Of each event, what the controller did, and leaders."""
    changes: tuple[Change, ...]
    """Of each partition: those first that changed, of these the worst; the others as well, the worst first."""

    @property
    def offline(self) -> tuple[TopicPartition, ...]:
        """The partitions that have no leader in the end."""
        return tuple(each.partition for each in self.changes if each.health is PartitionHealth.Offline)

    @property
    def exit_code(self) -> int:
        """0: every partition has a leader in the end; 12: one has none."""
        return 12 if self.offline else 0

    def __str__(self) -> str:
        return self.told()

    def told(self, every: bool = False, with_steps: bool = False) -> str:
        """As text.

        Args:
            every: partitions that stay as they are, too.
            with_steps: what was written, sent and logged as an error, in order.
        """
        return "\n".join(map(escaped, self._lines(every, with_steps)))

    def to_json(self, with_steps: bool = False) -> dict[str, Any]:
        """As one object."""
        return {
            "release": self.release,
            "live": sorted(self.cluster.live),
            "controller": self.cluster.controller,
            "assumed": list(self.cluster.assumed_of(self.release)),
            "events": [
                {"event": str(event), **({"steps": list(map(_told, steps))} if with_steps else {})}
                for event, steps in zip(self.events, self.steps, strict=True)
            ],
            "partitions": [each.to_json() for each in self.changes],
            "offline": len(self.offline),
            "exit": self.exit_code,
        }

    def _lines(self, every: bool, with_steps: bool) -> Iterator[str]:
        topics, partitions = len(self.cluster.topics), len(self.cluster.partitions)
        yield (
            f"{_counted(topics, 'topic')}, {_counted(partitions, 'partition')}, brokers "
            f"{listed(self.cluster.live)} alive, controller {self.cluster.controller}, Kafka {self.release}"
        )
        yield from (f"assumed: {each}" for each in self.cluster.assumed_of(self.release))
        for number, (event, steps) in enumerate(zip(self.events, self.steps, strict=True), 1):
            yield f"{number}. {event}"
            told = steps if with_steps else [step for step in steps if isinstance(step, Elected | Failed)]
            yield from (f"   {_told(step)}" for step in told)
        shown = [each for each in self.changes if every or not each.is_none]
        if shown:
            yield ""
            yield from _table(shown)
        yield ""
        yield self._summary()

    def _summary(self) -> str:
        counts = {health: sum(each.health is health for each in self.changes) for health in PartitionHealth}
        same = sum(each.is_none for each in self.changes)
        told = ", ".join(f"{count:,} {health}" for health, count in counts.items() if count)
        return f"{_counted(len(self.changes), 'partition')}: {told or 'none'}; {same:,} as before"


def what_if(
    cluster: KnownCluster,
    *events: ClusterEvent,
    release: str = RELEASES[-1],
) -> Prediction:
    """Let events happen to a cluster, one after the other, each to its end.

    >>> from spec.what_if.events import Crash
    >>> from statemachines.replica_assignment import ReplicaAssignment
    >>> t0, t1 = TopicPartition("t", 0), TopicPartition("t", 1)
    >>> cluster = KnownCluster(
    ...     {t0: PartitionStatus(ReplicaAssignment((1, 2)), 1, (1, 2), 0),
    ...      t1: PartitionStatus(ReplicaAssignment((1,)), 1, (1,), 0)},
    ...     frozenset({1, 2, 3}), controller=3, min_isr={"t": 2}, unclean={})
    >>> prediction = what_if(cluster, Crash(1))
    >>> prediction.offline
    (TopicPartition(topic='t', partition=1),)
    >>> print(prediction)
    1 topic, 2 partitions, brokers 1, 2, 3 alive, controller 3, Kafka 3.9
    assumed: unclean elections are not permitted where a topic does not say, by default in 3.9 (--unclean)
    1. crash of 1
    <BLANKLINE>
    partition  leader     ISR       state
    t-1        1 -> none  1         under min ISR -> offline
    t-0        1 -> 2     1,2 -> 2  online -> under min ISR (1 of 2)
    <BLANKLINE>
    2 partitions: 1 offline, 1 under min ISR; 0 as before

    Args:
        cluster: how it is.
        events: what happens.
        release: of its controller, like "2.8".

    Raises:
        UsageError: an event cannot happen then.
    """
    line = release_named(release, ByRelease(control_design_of))
    running = RunningCluster(cluster, line)
    steps = []
    for event in events:
        running.steps.clear()
        running.undergo(event)
        steps.append(tuple(running.steps))
    changes = []
    for partition, after in running.partitions().items():
        before, needed = _seen(cluster.partitions[partition], cluster.live), cluster.min_isr[partition.topic]
        health = _health(after, needed, lost=partition in running.unclean)
        changes.append(Change(partition, before, after, _health(before, needed), health, needed))
    changes.sort(key=lambda each: (each.is_none, each.health, each.partition))
    return Prediction(cluster, line, events, tuple(steps), tuple(changes))


def _seen(status: PartitionStatus, live: frozenset[BrokerId]) -> PartitionStatus:
    return status if status.leader in live else status._replace(leader=None)


def _health(status: PartitionStatus, needed: int, lost: bool = False) -> PartitionHealth:
    """Of a partition of which so many replicas have to be in sync, and of which records may have been lost."""
    if status.leader is None:
        return PartitionHealth.Offline
    if lost:
        return PartitionHealth.Unclean
    return PartitionHealth.UnderMinIsr if len(status.isr) < needed else PartitionHealth.Online


# As text.


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _brokers(brokers: Sequence[BrokerId]) -> str:
    return ",".join(map(str, brokers)) or "none"


def _table(changes: Sequence[Change]) -> Iterator[str]:
    moved = any(each.before.assignment != each.after.assignment for each in changes)
    rows = [("partition", *(("replicas",) if moved else ()), "leader", "ISR", "state")]
    for each in changes:
        before, after = each.before, each.after
        replicas = _arrow(_brokers(before.assignment.replicas), _brokers(after.assignment.replicas))
        leaders = ("none" if leader is None else str(leader) for leader in (before.leader, after.leader))
        rows.append(
            (
                str(each.partition),
                *((replicas,) if moved else ()),
                _arrow(*leaders),
                _arrow(_brokers(before.isr), _brokers(after.isr)),
                _states(each),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _arrow(before: str, after: str) -> str:
    return after if before == after else f"{before} -> {after}"


def _states(change: Change) -> str:
    """Its state before and after; of how many that have to be in sync are, if they are too few."""
    in_sync, after = len(change.after.isr), str(change.health)
    if change.health is PartitionHealth.Unclean and in_sync < change.min_isr:
        after += f", {PartitionHealth.UnderMinIsr}"
    few = change.health in (PartitionHealth.Unclean, PartitionHealth.UnderMinIsr) and in_sync < change.min_isr
    return _arrow(str(change.health_before), after) + (f" ({in_sync} of {change.min_isr})" if few else "")


def _told(step: Effect) -> str:
    """A step as a line."""
    match step:
        case Elected(controller, epoch):
            return f"broker {controller} is controller, epoch {epoch}"
        case Failed(what):
            return f"! {what}"
        case FailedStateChange():
            return f"error: {step}"
        case Written(path, TopicPartitionState(state, _)):
            leader = "none" if state.leader < 0 else state.leader
            return f"ZooKeeper: {path}: leader {leader}, epoch {state.leader_epoch}, ISR {_brokers(state.isr)}"
        case Written(path, TopicAssignment(partitions)):
            return f"ZooKeeper: {path}: {len(partitions)} partitions assigned"
        case Written(path, data):
            return f"ZooKeeper: {path}: {'deleted' if data is None else 'written'}"
        case Sent(broker, request):
            name = type(request).__name__.removesuffix("Request")
            deletes = isinstance(request, StopReplicaRequest) and request.partitionStates[0].deletePartition
            if deletes:
                name += ", with the log,"
            named = [f"{each.topicName}-{each.partitionIndex}" for each in request.partitionStates]
            few = ", ".join(named[:FEW]) + (f" and {len(named) - FEW:,} more" if len(named) > FEW else "")
            return f"to broker {broker}: {name}" + (f" of {few}" if named else "")


def _status_to_json(status: PartitionStatus) -> Mapping[str, Any]:
    return {
        "replicas": list(status.assignment.replicas),
        "adding_replicas": list(status.assignment.adding_replicas),
        "removing_replicas": list(status.assignment.removing_replicas),
        "leader": status.leader,
        "leader_epoch": status.leader_epoch,
        "isr": list(status.isr),
    }
