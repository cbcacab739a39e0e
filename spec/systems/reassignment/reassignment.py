"""A partition moves between brokers: which replicas does the controller delete, and which logs remain?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from election.ids import BrokerId
from spec.language import Grid, Look, Step, Tag, Tags, invariant, picture, sometimes, transition_invariant, view
from spec.parts.event_thread import Waits
from spec.systems.cluster import ANSWERS, ClusterSpec, Role, isr_may_change, leaders_write
from spec.systems.reassignment.actions import ReassignmentActions
from spec.systems.reassignment.state import (
    PARTITION,
    R,
    ReassigningZkClient,
    by_api,
    by_node,
    may_add,
    may_arrive,
    may_have_isr_outside_assignment,
)
from statemachines.controller.calls import Call
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.partition_reassignment import PartitionReassignment
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.replica import (
    NewReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)

ENDINGS: Final = (PartitionReassignment.ENDING, PartitionReassignment.ZK_ENDING)
"""The calls that end a reassignment, for requests (AlterPartitionReassignments) and for the node."""


class Reassignment(ReassignmentActions[R]):
    """A controller, and a partition that administrators move between brokers.

    The controller is `ControllerEventProcessor`. `spec.systems.partitions` says how its events are divided into
    steps, which controller acts, and what brokers do; this system shares those rules. Here an event of a reassignment
    is also divided at each write. The topic's node, a leader epoch, and the deletion of /admin/reassign_partitions
    are each written in a step of their own. Anything may happen between these, even a failover. A step includes the
    reads before its write. ZooKeeper refuses these writes only by its fence.

    A broker obeys at once. A replica that stops with deletion loses its log. The model knows which logs have all
    acknowledged records. A broker that joins the ISR has as much as its leader. `acknowledge` stands for any number
    of records that a leader and its whole ISR take, after which all other logs lag. The log of a dead broker stays.

    Since 2.7 a leader asks an idle controller to change its ISR (AlterPartition). The request, the write and the
    reading back are one step. Until 2.6 the leader writes the ISR itself and notifies the controller, which hears of
    it later. Until 2.3 an administrator requests a reassignment by the node, one at a time. The administrator gives
    it up by deleting the node and having another controller elected. Since 2.4 administrators send
    AlterPartitionReassignments, also while another reassignment is under way.

    Left out: all that `partitions` leaves out, except reassignment; more than one partition; controlled shutdown,
    requested elections, the creation of topics; reassignments by the node since 2.4; the watch of a partition's state
    until 2.6, which informs the controller of an ISR a little sooner than the notification.
    """

    name = "reassignment"
    leaves_out = "queues of requests, bounced brokers, several partitions, records, controlled shutdown, deletion"

    # Properties of reassignments.

    @transition_invariant(of=(*ANSWERS, "next_change"))
    def fenced_writes(self, before: R, after: R) -> bool:
        """C4: a controller that writes has the epoch in ZooKeeper at that moment."""
        if before.context.epoch == before.epoch:
            return True
        written = before.written(PARTITION) != after.written(PARTITION)
        return not written and (before.assignment, before.requested_target) == (
            after.assignment,
            after.requested_target,
        )

    @invariant
    def assignment_shape(self, s: R) -> bool:
        """A1: added and removed replicas are assigned, no replica is both, and the target comes first."""
        replicas, adding, removing = s.assignment
        target = s.assignment.target_replicas
        if not {*adding, *removing} <= {*replicas} or {*adding} & {*removing} or not target:
            return False
        return replicas[: len(target)] == target

    @invariant(where=ClusterSpec.quiet, when=lambda self: self.controller_changes == 0)
    def isr_within_assigned(self, s: R, partition: TopicPartition) -> bool:
        """P3: when all is quiet, every ISR member is assigned to the partition; but see isr_outside_assignment."""
        return super().isr_within_assigned(s, partition)

    def is_ending(self, s: R) -> bool:
        """Whether the event under way is ending a reassignment. [B1 to B8]"""
        return any(isinstance(each, Call) and each.method in ENDINGS for each in s.thread.calls)

    @transition_invariant(when=lambda self: self.reassignment_requests > 0)
    def ends_once_in_sync(self, before: R, step: Step, after: R) -> bool:
        """A2: a reassignment begins to complete only when its target is in sync in ZooKeeper; a cancellation may."""
        if self.is_ending(before) or not self.is_ending(after):
            return True
        target: Collection[BrokerId] = after.reassignment_targets.get(PARTITION, ())
        if self.design.kip_455:
            target = after.assignment.target_replicas if after.assignment.is_being_reassigned else ()
        state = after.state(PARTITION)
        return state is not None and {*target} <= {*state.isr}

    @transition_invariant(of="next_change", when=lambda self: self.reassignment_requests > 0)
    def ends_in_sync(self, before: R, after: R) -> bool:
        """A3: when a reassignment completes, the ISR, and so any leader, is among the remaining replicas."""
        now = after.assignment
        if before.assignment == now or before.context.partition_assignments.get(PARTITION) != now:
            return True  # not the end of one, by B6, but the beginning of another, by U1
        state = after.state(PARTITION)
        return state is not None and {*state.isr} <= {*now.replicas}

    @invariant(where=ClusterSpec.quiet)
    def assignment_known(self, s: R) -> bool:
        """A4: when all is quiet, the controller knows the assignment in ZooKeeper."""
        return s.context.partition_assignments.get(PARTITION) == s.assignment

    @invariant(where=ClusterSpec.quiet)
    def reassigns_what_is_requested(self, s: R) -> bool:
        """A4: when all is quiet, the controller reassigns the partition if, and only if, ZooKeeper says so."""
        moving = s.assignment.is_being_reassigned if self.design.kip_455 else s.requested_target is not None
        return moving == (PARTITION in s.context.partitions_being_reassigned)

    @transition_invariant(when=by_node)
    def only_administrators_request(self, before: R, step: Step, after: R) -> bool:
        """A4: only an administrator requests a reassignment again that has ended or was given up."""
        return (
            before.requested_target is not None
            or after.requested_target is None
            or step.action == "write_reassignment"
        )

    @invariant
    def isr_has_acknowledged(self, s: R, broker: BrokerId) -> bool:
        """R3: every member of the ISR has every acknowledged record, since any member may lead."""
        state = s.state(PARTITION)
        return state is None or broker not in state.isr or broker in s.complete_logs

    @invariant
    def acknowledged_not_lost(self, s: R) -> bool:
        """R7: some broker, running or not, has every acknowledged record."""
        return bool(s.complete_logs)

    def quiet(self, s: R) -> bool:
        """Whether the cluster is quiet, and the controller has read the requested reassignment."""
        return super().quiet(s) and (s.requested_target is None or PARTITION in s.context.partitions_being_reassigned)

    @invariant(where=ClusterSpec.quiet, when=isr_may_change)
    def isr_can_shrink(self, s: R) -> bool:
        """P17: when all is quiet, a leader that knows that it leads can remove dead or lagging ISR members."""
        state = s.state(PARTITION)
        if state is None or state.leader not in s.registered:
            return True
        role = s.roles[PartitionAndReplica(PARTITION, state.leader)]
        return role != Role(state.leader, state.leader_epoch) or self.leader_can_shrink(s)

    # Witnesses: every row of the tables that adds or deletes a replica.

    def a_replica_becomes(self, before: R, after: R, source: object, target: object) -> bool:
        """Whether some replica moves from one state to the other in this step."""
        replicas = (PartitionAndReplica(PARTITION, broker) for broker in range(self.brokers))
        return any(self.replica_changes(before, after, each, source, target) for each in replicas)

    @sometimes(when=may_add, of="next_change")
    def a_replica_is_added(self, before: R, after: R) -> bool:
        """NonExistentReplica -> NewReplica."""
        return self.a_replica_becomes(before, after, None, NewReplica)

    @sometimes(when=may_arrive)
    def an_added_replica_comes_online(self, before: R, step: Step, after: R) -> bool:
        """NewReplica -> OnlineReplica."""
        return self.a_replica_becomes(before, after, NewReplica, OnlineReplica)

    @sometimes(when=lambda self: may_add(self) and self.max_crashes > 0)
    def an_added_replica_dies(self, before: R, step: Step, after: R) -> bool:
        """NewReplica -> OfflineReplica."""
        return self.a_replica_becomes(before, after, NewReplica, OfflineReplica)

    @sometimes(when=may_arrive, of="next_change")
    def a_deletion_starts(self, before: R, after: R) -> bool:
        """OfflineReplica -> ReplicaDeletionStarted."""
        return self.a_replica_becomes(before, after, OfflineReplica, ReplicaDeletionStarted)

    @sometimes(when=may_arrive, of="next_change")
    def a_deletion_is_taken_for_done(self, before: R, after: R) -> bool:
        """ReplicaDeletionStarted -> ReplicaDeletionSuccessful, whatever its broker does."""
        return self.a_replica_becomes(before, after, ReplicaDeletionStarted, ReplicaDeletionSuccessful)

    @sometimes(when=may_arrive, of="next_change")
    def a_replica_is_forgotten(self, before: R, after: R) -> bool:
        """ReplicaDeletionSuccessful -> NonExistentReplica."""
        return self.a_replica_becomes(before, after, ReplicaDeletionSuccessful, None)

    # Other witnesses.

    @sometimes(where=ClusterSpec.quiet, when=may_add)
    def quiet_while_moving(self, s: R) -> bool:
        """All is quiet, and the reassignment is not complete."""
        return PARTITION in s.context.partitions_being_reassigned

    @sometimes(where=ClusterSpec.quiet, when=may_arrive)
    def reassignment_arrived(self, s: R) -> bool:
        """All is quiet, and the partition has arrived at other brokers than its first ones."""
        arrived = not s.context.partitions_being_reassigned
        return arrived and s.assignment.replicas != self.assignments[PARTITION].replicas

    @sometimes(when=may_arrive, of=ANSWERS)
    def leader_changes_by_reassignment(self, before: R, after: R) -> bool:
        """An added replica leads, in place of a running one."""
        old, new = before.state(PARTITION), after.state(PARTITION)
        assert old is not None
        assert new is not None
        return old.leader != new.leader != NO_LEADER and old.leader in before.registered

    @sometimes(when=lambda self: leaders_write(self) and self.isr_changes > 1, of=ANSWERS)
    def a_conflict(self, before: R, after: R) -> bool:
        """A leader has written a state since the controller read it, and the controller reads it again."""
        return super().a_conflict(before, after)

    @sometimes(when=lambda self: by_api(self) and self.reassignment_requests > 1, of="next_change")
    def cancelled(self, before: R, after: R) -> bool:
        """A reassignment under way is given up."""
        under_way = before.assignment.is_being_reassigned and not after.assignment.is_being_reassigned
        return under_way and frozenset(after.assignment.replicas) == frozenset(before.assignment.origin_replicas)

    @sometimes(
        when=lambda self: by_api(self) and self.reassignment_requests > 1 and len(self.targets) > 2, of="next_change"
    )
    def replaced(self, before: R, after: R) -> bool:
        """Another reassignment replaces the one under way."""
        under_way = before.assignment.is_being_reassigned and after.assignment.is_being_reassigned
        return under_way and before.assignment != after.assignment

    @sometimes(when=lambda self: may_add(self) and self.controller_changes > 0, of="become_controller")
    def taken_over(self, before: R, after: R) -> bool:
        """A new controller finds a reassignment under way that it did not know of."""
        return PARTITION in after.context.partitions_being_reassigned

    @sometimes(where=ClusterSpec.quiet, when=may_have_isr_outside_assignment)
    def isr_outside_assignment(self, s: R) -> bool:
        """An unassigned replica is in the ISR, or leads: a controller ended between U1 and U3. [3.9]

        The next controller does not know of it. It neither stops it nor deletes its log, and does not remove it from
        the ISR when its broker dies. So P3 is no rule there, and P13 covers only assigned replicas. The leader
        removes it after a while; from 2.4 to 2.8 it may be unable to, see isr_can_shrink.
        """
        state = s.state(PARTITION)
        return state is not None and not {*state.isr} <= {*s.assignment.replicas}

    # Views: a state in sentences, for the reader of a trace.

    @view
    def assignment(self, s: R) -> str:
        """The brokers that keep the partition, and the brokers that it moves to."""
        now, state = s.assignment, s.state(PARTITION)
        keep = f"{PARTITION} is assigned to {_brokers_text(now.replicas)}"
        if now.is_being_reassigned:
            leader = NO_LEADER if state is None else state.leader
            without = (
                "" if leader in (NO_LEADER, *now.replicas) else f", without {_brokers_text([leader])}, which leads it"
            )
            origin, target = _brokers_text(now.origin_replicas), _brokers_text(now.target_replicas)
            return f"{PARTITION} moves from {origin} to {target}{without}"
        return (
            keep
            if s.requested_target is None
            else f"{keep}; a move to {_brokers_text(s.requested_target)} is requested"
        )

    @view
    def replica(self, s: R, broker: BrokerId) -> str:
        """A replica's state in the controller; empty if the controller does not know the replica."""
        state = s.context.replica_states.get(PartitionAndReplica(PARTITION, broker))
        return "" if state is None else f"the controller has the replica on broker {broker} as {state.name}"

    @view
    def due(self, s: R) -> str:
        """The next step of the event under way, by itself or after an answer of ZooKeeper."""
        if s.thread.waits is Waits.PartitionStateMachine:
            return "the controller waits for ZooKeeper, to elect a leader"
        if s.thread.waits is Waits.ReplicaStateMachine:
            return "the controller waits for ZooKeeper, to take a replica out of the ISR"
        if s.thread.idle:
            return "the controller has nothing to do" if s.active else ""
        upcoming = s.thread.calls[0]
        return f"the controller is about to {_words(upcoming)}" if isinstance(upcoming, Call) else ""

    @view
    def logs(self, s: R) -> str:
        """The brokers that have all acknowledged records."""
        if not s.complete_logs:
            return "no broker has all acknowledged records"
        have = "has" if len(s.complete_logs) == 1 else "have"
        return f"{_brokers_text(sorted(s.complete_logs))} {have} all acknowledged records"

    # Pictures.

    @picture
    def move(self, s: R) -> Grid:
        """The partition's move, and the brokers that have every record; dead brokers are struck out."""
        now, asked = s.assignment, s.requested_target
        brokers = sorted(s.complete_logs)
        have = Tags(Tag(each, Look.plain if each in s.registered else Look.gone) for each in brokers)
        return Grid(
            ("partition", "from", "to", "adding", "removing", "asked for", "all records"),
            [
                (
                    PARTITION,
                    Tags(now.origin_replicas),
                    Tags(now.target_replicas),
                    Tags(now.adding_replicas),
                    Tags(now.removing_replicas),
                    "" if asked is None else Tags(asked),
                    have if brokers else Tag("none", Look.wrong, "acknowledged records are lost"),
                )
            ],
        )


def _words(upcoming: Call) -> str:
    """A call in words, if a step begins with it; else its name in Kafka."""
    if upcoming.method == ControllerEventProcessor.replicas_become.__name__:
        replicas, target = upcoming.arguments[:2]
        whose = _brokers_text(each.replica for each in replicas)
        return f"make the state of the replica on {whose} {target.name}" if replicas else "go on"
    return ReassigningZkClient.DUE.get(upcoming.method, f"go on with {upcoming.method.strip('_')}")


def _brokers_text(brokers: Iterable[BrokerId]) -> str:
    """Brokers, in words."""
    ids = tuple(map(str, brokers))
    return f"broker{'s' if len(ids) > 1 else ''} {', '.join(ids)}"
