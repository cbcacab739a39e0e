"""Predict how events change a cluster: each partition before and after, and the way there.

prediction = what_if(cluster, Crash(1, 3), Return(1), release="2.8")
print(prediction)                       # a table; `prediction.text(every=True)` includes unchanged partitions
prediction.offline                      # the partitions without a leader in the end
prediction.worst                        # the moment on the way with most partitions offline
prediction.open_moves                   # the moves that were refused, or are not finished in the end
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

from election.ids import BrokerId
from spec.by_release import ByRelease, release_named
from spec.language.errors import escaped
from spec.what_if.events import ClusterEvent, Reassign
from spec.what_if.known_cluster import MIN_ISR, KnownCluster, PartitionStatus, listed, named
from spec.what_if.running_cluster import RunningCluster
from statemachines.cluster_administration import NO_CONTROLLER
from statemachines.cluster_history import Effect, Elected, Failed, unclean_elections
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.state_change import FailedStateChange
from statemachines.messages.leader_and_isr import NO_EPOCH
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import RELEASES

GONE: Final = PartitionStatus(ReplicaAssignment(()), None, (), NO_EPOCH)
"""The assignment of a partition whose topic is deleted, or not created yet."""


class PartitionHealth(IntEnum):
    """The state of a partition for its users; the worst first."""

    Offline = 0
    """It has no leader."""
    Unclean = 1
    """A replica outside the ISR was elected: acknowledged records may be lost."""
    UnderMinIsr = 2
    """It has a leader, but refuses records from producers with acks=all."""
    Online = 3
    Deleting = 4
    """Its topic is marked for deletion: no leader is elected for it, and none is missed."""
    Deleted = 5
    NotThere = 6
    """Its topic has not been created yet."""

    def __str__(self) -> str:
        names = ("offline", "records may be lost", "under min ISR", "online", "to be deleted", "deleted", "not there")
        return names[self]


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
        """Whether replicas, leader and ISR stay the same, and no record was lost meanwhile."""
        return self.health_before is self.health and not _differs(self.before, self.after)

    def to_json(self) -> dict[str, Any]:
        """The change as an object."""
        return {
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "min_isr": self.min_isr,
            "before": _status_to_json(self.before),
            "after": _status_to_json(self.after),
            "health_before": str(self.health_before),
            "health": str(self.health),
        }


class Moment(NamedTuple):
    """The cluster at rest after an event."""

    number: int
    """The number of the event; the first is 1."""
    event: ClusterEvent
    offline: tuple[TopicPartition, ...]
    under_min_isr: tuple[TopicPartition, ...]
    """The partitions with a leader and fewer replicas in sync than min.insync.replicas."""

    def to_json(self) -> dict[str, Any]:
        """The moment as an object."""
        return {
            "after": self.number,
            "event": str(self.event),
            "offline": [list(partition) for partition in self.offline],
            "under_min_isr": [list(partition) for partition in self.under_min_isr],
        }


class OpenMove(NamedTuple):
    """A requested move without its result: the partition is not on the target brokers."""

    partition: TopicPartition
    target: tuple[BrokerId, ...]
    is_refused: bool
    """Whether it was refused when it was requested; otherwise it is not finished in the end."""
    reason: str
    waits_for: tuple[BrokerId, ...] = ()
    """The target brokers that are not in sync."""

    def to_json(self) -> dict[str, Any]:
        """The move as an object."""
        return {
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "target": list(self.target),
            "refused": self.is_refused,
            "reason": self.reason,
            "waits_for": list(self.waits_for),
        }


@dataclass(frozen=True)
class Prediction:
    """The outcome of some events."""

    cluster: KnownCluster
    release: str
    events: tuple[ClusterEvent, ...]
    steps: tuple[tuple[Effect, ...], ...]
    """The steps of the controller and of leaders, by event."""
    changes: tuple[Change, ...]
    """One for each partition: the changed ones first, then the others; the worst first in each group."""
    moments: tuple[Moment, ...] = ()
    """The moment after each event."""
    at_first: tuple[TopicPartition, ...] = ()
    """The partitions that the controller changes before any event: it would have changed them before they were
    described, so the source, or the list of live brokers, does not describe the cluster at rest."""
    steps_at_first: tuple[Effect, ...] = ()
    open_moves: tuple[OpenMove, ...] = ()
    """The moves that were refused, then those that are not finished in the end."""

    @property
    def worst(self) -> Moment | None:
        """The first moment with most partitions offline, and then most under min ISR; None: no event."""
        return max(self.moments, key=lambda moment: (len(moment.offline), len(moment.under_min_isr)), default=None)

    @property
    def offline(self) -> tuple[TopicPartition, ...]:
        """The partitions without a leader in the end."""
        return tuple(each.partition for each in self.changes if each.health is PartitionHealth.Offline)

    @property
    def exit_code(self) -> int:
        """0: every partition has a leader in the end, and no move was refused; 12: otherwise."""
        return 12 if self.offline or any(move.is_refused for move in self.open_moves) else 0

    def __str__(self) -> str:
        return self.text()

    def text(self, every: bool = False, with_steps: bool = False) -> str:
        """The prediction as text.

        Args:
            every: include unchanged partitions.
            with_steps: include writes, requests and logged errors, in order.
        """
        return "\n".join(map(escaped, self._lines(every, with_steps)))

    def to_json(self, with_steps: bool = False) -> dict[str, Any]:
        """The prediction as one object."""
        return {
            "release": self.release,
            "live": sorted(self.cluster.live),
            "controller": self.cluster.controller,
            "assumed": list(self.cluster.assumed_of(self.release)),
            "events": [
                {"event": str(event), **({"steps": list(map(_step_text, steps))} if with_steps else {})}
                for event, steps in zip(self.events, self.steps, strict=True)
            ],
            "at_first": [list(partition) for partition in self.at_first],
            "to_be_deleted": sorted(self.cluster.deletion_queued),
            "worst": None if self.worst is None else self.worst.to_json(),
            "partitions": [each.to_json() for each in self.changes],
            "open_moves": [each.to_json() for each in self.open_moves],
            "offline": len(self.offline),
            "exit": self.exit_code,
        }

    def _lines(self, every: bool, with_steps: bool) -> Iterator[str]:
        topics, partitions = len(self.cluster.topics), len(self.cluster.partitions)
        live, controller = self.cluster.live, self.cluster.controller
        yield (
            f"{_counted(topics, 'topic')}, {_counted(partitions, 'partition')}, "
            f"{f'brokers {listed(live)} alive' if live else 'no broker alive'}, "
            f"{'no controller' if controller is None else f'controller {controller}'}, Kafka {self.release}"
        )
        yield from (f"assumed: {each}" for each in self.cluster.assumed_of(self.release))
        yield from self.cluster.deletion_notes
        if self.at_first:
            yield f"0. before anything happens the controller changes {named(self.at_first)}"
            yield from (f"   {_step_text(step)}" for step in (self.steps_at_first if with_steps else ()))
        for number, (event, steps) in enumerate(zip(self.events, self.steps, strict=True), 1):
            yield f"{number}. {event}"
            steps_shown = steps if with_steps else [step for step in steps if isinstance(step, Elected | Failed)]
            yield from (f"   {_step_text(step)}" for step in steps_shown)
        shown = [each for each in self.changes if every or not each.is_none]
        if shown:
            yield ""
            yield from _table(shown)
        yield ""
        yield self._summary()
        yield from self._open_moves()
        if len(self.events) > 1 and self.worst is not None:
            yield f"worst on the way: {_moment(self.worst)}"

    def _summary(self) -> str:
        counts = {health: sum(each.health is health for each in self.changes) for health in PartitionHealth}
        same = sum(each.is_none for each in self.changes)
        summary = ", ".join(f"{count:,} {health}" for health, count in counts.items() if count)
        return f"{_counted(len(self.changes), 'partition')}: {summary or 'none'}; {same:,} as before"

    def _open_moves(self) -> Iterator[str]:
        """The open moves, a line for each reason."""
        by_reason: dict[tuple[bool, str], list[TopicPartition]] = {}
        for move in self.open_moves:
            by_reason.setdefault((move.is_refused, move.reason), []).append(move.partition)
        for (is_refused, reason), partitions in by_reason.items():
            are = "is" if len(partitions) == 1 else "are"
            ending = "refused" if is_refused else "not finished"
            yield f"{_counted(len(partitions), 'move')} {are} {ending}, {reason}: {named(partitions)}"


def what_if(
    cluster: KnownCluster,
    *events: ClusterEvent,
    release: str = RELEASES[-1],
) -> Prediction:
    """Let events happen to a cluster one after the other, each to its end.

    >>> from spec.what_if.events import Crash
    >>> from statemachines.messages.replica_assignment import ReplicaAssignment
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
    assumed: unclean elections are not permitted by default in 3.9 (--unclean-default)
    1. crash of 1
    <BLANKLINE>
    partition  leader     ISR       state
    t-1        1 -> none  1         under min ISR -> offline
    t-0        1 -> 2     1,2 -> 2  online -> under min ISR (1 of 2)
    <BLANKLINE>
    2 partitions: 1 offline, 1 under min ISR; 0 as before

    Args:
        cluster: its present state.
        events: the events.
        release: the controller's release, like "2.8".

    Raises:
            UsageError: an event names something unknown, or cannot happen at its time.
    """
    line = release_named(release, ByRelease(ControlDesign))
    for event in events:
        event.require_known(cluster, line)
    running = RunningCluster(cluster, line)
    steps_at_first, at_first = tuple(running.history), running.partitions()
    before = {partition: _seen(status, cluster.live) for partition, status in cluster.partitions.items()}
    steps, moments, after = [], [], at_first
    requested, refused = dict(cluster.reassigning), []
    for number, event in enumerate(events, 1):
        done = len(running.history)
        running.undergo(event)
        steps.append(tuple(running.history[done:]))
        after = running.partitions()
        moments.append(_moment_of(number, event, after, cluster))
        if isinstance(event, Reassign):
            refused += (refusals := [*_refused(event, steps[-1], after, running.live)])
            requested |= dict({*event.moves} - {(move.partition, move.target) for move in refusals})
    changes, unclean = [], unclean_elections(running.history)
    for partition, status in before.items():
        needed, deleting = cluster.min_isr[partition.topic], partition.topic in cluster.deletion_queued
        now = after.get(partition, GONE)
        health = _health(now, needed, deleting, lost=partition in unclean)
        changes.append(Change(partition, status, now, _health(status, needed, deleting), health, needed))
    for partition in after.keys() - before.keys():
        needed = cluster.min_isr.get(partition.topic, MIN_ISR)
        health = _health(after[partition], needed, lost=partition in unclean)
        changes.append(Change(partition, GONE, after[partition], PartitionHealth.NotThere, health, needed))
    changes.sort(key=lambda each: (each.is_none, each.health, each.partition))
    return Prediction(
        cluster,
        line,
        events,
        tuple(steps),
        tuple(changes),
        tuple(moments),
        tuple(partition for partition, status in before.items() if _differs(status, at_first.get(partition, GONE))),
        steps_at_first,
        (*refused, *_unfinished(requested, after, running)),
    )


def _refused(
    event: Reassign,
    steps: Iterable[Effect],
    after: Mapping[TopicPartition, PartitionStatus],
    live: frozenset[BrokerId],
) -> Iterator[OpenMove]:
    """The moves of a plan that the tool or the controller refused."""
    refusals = [step.what for step in steps if isinstance(step, Failed)]
    for partition, target in event.moves if refusals else ():
        assignment = after.get(partition, GONE).assignment
        if assignment.target_replicas != target:
            dead = {*target} - {*assignment.replicas} - live
            errors = sorted({refusal.rpartition(": ")[2] for refusal in refusals})
            of_the_controller = any(NO_CONTROLLER in error for error in errors)
            needs_brokers = dead and not of_the_controller
            reason = f"needing {_those(dead)} dead" if needs_brokers else f"because of: {', '.join(errors)}"
            yield OpenMove(partition, target, True, reason)


def _unfinished(
    requested: Mapping[TopicPartition, tuple[BrokerId, ...]],
    after: Mapping[TopicPartition, PartitionStatus],
    running: RunningCluster,
) -> Iterator[OpenMove]:
    """The moves that are under way in the end, or that no controller has begun."""
    for partition, status in after.items():
        assignment = status.assignment
        target = assignment.target_replicas if assignment.is_being_reassigned else requested.get(partition)
        if target is None or assignment == ReplicaAssignment(target):
            continue
        waits_for = tuple(broker for broker in target if broker not in status.isr)
        dead, late = {*waits_for} - running.live, {*waits_for} & running.live
        waits = [f"{_those(of)} {how}" for of, how in ((dead, "dead"), (late, "not in sync")) if of]
        for_whom = " and for ".join(waits) if waits and running.controller is not None else "a controller"
        yield OpenMove(partition, target, False, f"waiting for {for_whom}", waits_for)


def _seen(status: PartitionStatus, live: frozenset[BrokerId]) -> PartitionStatus:
    return status if status.leader in live else status._replace(leader=None)


def _differs(before: PartitionStatus, after: PartitionStatus) -> bool:
    """Whether the replicas, leader or ISR of a partition differ."""
    return (before.assignment, before.leader, {*before.isr}) != (after.assignment, after.leader, {*after.isr})


def _moment_of(
    number: int, event: ClusterEvent, partitions: Mapping[TopicPartition, PartitionStatus], cluster: KnownCluster
) -> Moment:
    offline, under = [], []
    for partition, status in partitions.items():
        if partition.topic in cluster.deletion_queued:
            continue
        if status.leader is None:
            offline.append(partition)
        elif len(status.isr) < cluster.min_isr.get(partition.topic, MIN_ISR):
            under.append(partition)
    return Moment(number, event, tuple(offline), tuple(under))


def _health(status: PartitionStatus, needed: int, deleting: bool = False, lost: bool = False) -> PartitionHealth:
    """The health of a partition.

    Args:
        status: its state.
        needed: its min.insync.replicas.
        deleting: whether its topic is marked for deletion.
        lost: whether records may have been lost.
    """
    if deleting:
        return PartitionHealth.Deleted if status == GONE else PartitionHealth.Deleting
    if status.leader is None:
        return PartitionHealth.Offline
    if lost:
        return PartitionHealth.Unclean
    return PartitionHealth.UnderMinIsr if len(status.isr) < needed else PartitionHealth.Online


# Text.


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _those(brokers: Collection[BrokerId]) -> str:
    """Brokers, and the beginning of a relative clause."""
    return f"broker {listed(brokers)}, which is" if len(brokers) == 1 else f"brokers {listed(brokers)}, which are"


def _brokers(brokers: Sequence[BrokerId]) -> str:
    return ",".join(map(str, brokers)) or "none"


def _moment(moment: Moment) -> str:
    """The unhealthy partitions at a moment, with the event before it."""
    bad = ((moment.offline, PartitionHealth.Offline), (moment.under_min_isr, PartitionHealth.UnderMinIsr))
    unhealthy = [f"{len(partitions):,} {health} ({named(partitions)})" for partitions, health in bad if partitions]
    return (
        f"after {moment.number}. {moment.event}: {', '.join(unhealthy)}"
        if unhealthy
        else "every partition keeps its min ISR"
    )


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
    """Its state before and after; with the number in sync if that is too few."""
    in_sync, after = len(change.after.isr), str(change.health)
    if change.health is PartitionHealth.Unclean and in_sync < change.min_isr:
        after += f", {PartitionHealth.UnderMinIsr}"
    few = change.health in (PartitionHealth.Unclean, PartitionHealth.UnderMinIsr) and in_sync < change.min_isr
    return _arrow(str(change.health_before), after) + (f" ({in_sync} of {change.min_isr})" if few else "")


def _step_text(step: Effect) -> str:
    """A step as a line of text."""
    return f"error: {step}" if isinstance(step, FailedStateChange) else str(step)


def _status_to_json(status: PartitionStatus) -> Mapping[str, Any]:
    return {
        "replicas": list(status.assignment.replicas),
        "adding_replicas": list(status.assignment.adding_replicas),
        "removing_replicas": list(status.assignment.removing_replicas),
        "leader": status.leader,
        "leader_epoch": status.leader_epoch,
        "isr": list(status.isr),
    }
