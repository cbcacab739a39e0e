"""Reassignment: how the replicas of a partition move from some brokers to others (KIP-455).

Replicas RS of a partition are those that it began with, ORS, and those that it moves to, TRS; AR of them are added,
RR removed. The topic's node has RS, AR and RR, so that any controller can go on. The steps, as Kafka's comments
number them:

    U1  the topic's node is written             U2  and the context follows
    U3  replicas of an earlier reassignment that are not needed any more are stopped and deleted
    then, while TRS are not all in the ISR that ZooKeeper has:
    A1  the leader epoch is incremented, and ORS and AR are told, AR as new (2.7)
    A2  AR -> NewReplica
    and as soon as they are:
    B1  AR -> OnlineReplica                     B2  RS := TRS in the context
    B3  the leader is moved if it is not in TRS or not online; else its epoch is incremented, and TRS are told, so
        that it takes no replica of RR into its ISR again
    B4  RR -> OfflineReplica, out of the ISR    B5  -> ReplicaDeletionStarted, Successful, NonExistentReplica, at once
    B6  the topic's node: RS := TRS             B7  the partition leaves /admin/reassign_partitions
    B8  all brokers are told, and the deletion of the topic may go on

B6 comes last because ORS stands nowhere else: a controller that takes over before it does it all again. Whether TRS
are in the ISR is looked at again when the ISR has changed, a broker of TRS has started, or a controller takes over.

A reassignment comes by the node /admin/reassign_partitions or by AlterPartitionReassignments. The later one counts;
one that names no replicas goes back to ORS. An error in one partition's does not stop the others.

What Kafka does not look at. U3 and B4 take replicas away whichever are in sync, and whether B3 has found a leader or
not. So a partition is lost, its data deleted, where none of those that stay is in sync: if a reassignment is
cancelled, or another takes its place, when only replicas that it had added are in the ISR; or, until 2.6, if the
leader shrinks the ISR between the look at it and B3. The KRaft controller refuses such a cancellation; `keep_in_sync`
proposes that. And where U3 takes the leader away while replicas stay that could lead, none is elected before B3,
though the partition is online [KAFKA-14808]; `keep_leader` proposes to refuse that, but for a cancellation, which
comes to B3 at once.

Until 2.3 it was otherwise, see `zk_reassignment` [KAFKA-8345, 2.4].

[onPartitionReassignment, processZkPartitionReassignment in KafkaController.scala, 3.9]
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, TypeAlias

from election.ids import BrokerId
from statemachines.controller.calls import (
    Call,
    Callback,
    Calls,
    EventFailed,
    EventFailure,
    call,
    call_of,
    on_failure,
    then,
    then_of,
)
from statemachines.controller.kafka_zk_client import ZkResponse
from statemachines.controller.reassignment_steps import REMOVED, on_brokers
from statemachines.controller.zk_client import Assignments, Targets
from statemachines.controller.zk_reassignment import ZkReassignment
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS
from statemachines.tables.replica import NewReplica, OnlineReplica
from statemachines.zookeeper.tree import Code

__all__ = ["PartitionReassignment", "ReassignmentResults"]

ReassignmentResults: TypeAlias = tuple[tuple[TopicPartition, Errors], ...]
"""What became of each partition that was asked for: NONE, it is being reassigned, or perhaps done already."""


class PartitionReassignment(ZkReassignment):
    """The part of a controller that moves partitions."""

    # Events.

    def process_zk_partition_reassignment(self) -> Calls:
        """/admin/reassign_partitions was created. [ZkPartitionReassignment; PartitionReassignment until 2.3]"""
        if not self.design.kip_455:
            return super().process_zk_partition_reassignment()
        return self.resume_zk_partition_reassignment(then(self._ignore))

    def process_api_partition_reassignment(self, targets: Targets) -> Calls:
        """An administrator has asked for it, and is answered `ReassignmentResults`. [ApiPartitionReassignment]

        Raises:
            ValueError: the release has no AlterPartitionReassignments.
        """
        if not self.design.kip_455:
            raise ValueError(f"until 2.3 partitions are reassigned by {REASSIGN_PARTITIONS} alone, not {targets}")
        refused: ReassignmentResults = ()
        reassignments: Assignments = ()
        for partition, target in dict(targets).items():
            error = Errors.NONE if target is None else self._validated(partition, target)
            built = self._built(partition, target) if error is Errors.NONE else None
            if built is not None:
                reassignments += ((partition, built),)
            else:
                refused += ((partition, Errors.NO_REASSIGNMENT_IN_PROGRESS if error is Errors.NONE else error),)
        return (
            call(self._remove_from_zk_reassignment, tuple(partition for partition, _ in reassignments)),
            call(self._trigger_reassignments, reassignments, refused, then(self._answer_reassignments)),
        )

    def process_partition_reassignment_isr_change(self, partition: TopicPartition) -> Calls:
        """A leader has changed the ISR of a partition that moves. [PartitionReassignmentIsrChange, until 2.6]"""
        return self.maybe_complete_reassignment(partition)

    # What others ask of it.

    def resume_zk_partition_reassignment(self, following: Call) -> Calls:
        """What stands in /admin/reassign_partitions is begun; the call takes the partitions that this is of."""
        return self.zk_client.path_exists(REASSIGN_PARTITIONS, then(self._read_reassignment, following), watch=True)

    def maybe_resume_reassignments(self, partitions: Iterable[TopicPartition]) -> Calls:
        """Go on with those of these partitions that are being reassigned [maybeResumeReassignments]."""
        return tuple(call(self.resume_reassignment, partition) for partition in partitions)

    def maybe_complete_reassignment(self, partition: TopicPartition) -> Calls:
        """The ISR of a partition has changed: if it moves, and has arrived, that ends here."""
        if not self.design.kip_455:
            return super().maybe_complete_reassignment(partition)
        if partition not in self.context.state.partitions_being_reassigned:
            return ()
        reassignment = self.context.partition_full_replica_assignment(partition)
        return self._is_reassignment_complete(partition, reassignment, then(self._complete, partition, reassignment))

    def _complete(self, complete: bool, partition: TopicPartition, reassignment: ReplicaAssignment) -> Calls:
        return self.on_partition_reassignment(partition, reassignment) if complete else ()

    def resume_reassignment(self, partition: TopicPartition) -> Calls:
        """Go on with a partition that is being reassigned."""
        if not self.design.kip_455:
            return super().resume_reassignment(partition)
        return self.on_partition_reassignment(partition, self.context.partition_full_replica_assignment(partition))

    def reassigned_partitions(self) -> Sequence[TopicPartition]:
        """The partitions that are being reassigned, in the order in which they are gone through."""
        if not self.design.kip_455:
            return super().reassigned_partitions()
        return sorted(self.context.state.partitions_being_reassigned)

    def reassignment_target(self, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """Where a partition moves to that is being reassigned."""
        if not self.design.kip_455:
            return super().reassignment_target(partition)
        return self.context.partition_full_replica_assignment(partition).target_replicas

    # By the node.

    def _read_reassignment(self, there: bool, following: Call) -> Calls:
        if not there:
            return (following.with_answer(()),)
        return self.zk_client.get_data((REASSIGN_PARTITIONS,), then(self._process_reassignment, following))

    def _process_reassignment(self, answers: Sequence[ZkResponse | None], following: Call) -> Calls:
        (answer,) = answers
        targets: Targets = () if answer is None else answer.data
        built = tuple((partition, self._built(partition, target)) for partition, target in targets)
        reassignments = tuple((partition, each) for partition, each in built if each is not None)
        refused = tuple((partition, Errors.NO_REASSIGNMENT_IN_PROGRESS) for partition, each in built if each is None)
        return self._trigger_reassignments(reassignments, refused, then(self._processed_reassignment, following))

    def _processed_reassignment(self, results: ReassignmentResults, following: Call) -> Calls:
        done = tuple(partition for partition, error in results if error is Errors.NONE)
        failed = tuple(partition for partition, error in results if error is not Errors.NONE)
        removal = (call(self._remove_from_zk_reassignment, failed),) if failed else ()
        return (*removal, following.with_answer(done))

    def _remove_from_zk_reassignment(self, partitions: tuple[TopicPartition, ...]) -> Calls:
        """These are reassigned otherwise, or cannot be [maybeRemoveFromZkReassignment]."""
        return self.zk_client.path_exists(
            REASSIGN_PARTITIONS, then(self._read_to_remove, partitions, None), watch=True
        )

    def _remove_completed(self, partition: TopicPartition, replicas: tuple[BrokerId, ...]) -> Calls:
        """A partition has arrived where the node says, unless another reassignment stands there by now."""
        self.handlers.unwatch_isr(partition)
        return self.zk_client.path_exists(
            REASSIGN_PARTITIONS, then(self._read_to_remove, (partition,), replicas), watch=True
        )

    def _read_to_remove(
        self, there: bool, partitions: tuple[TopicPartition, ...], replicas: tuple[BrokerId, ...] | None
    ) -> Calls:
        if not there:
            return ()
        return self.zk_client.get_data((REASSIGN_PARTITIONS,), then(self._remove_read, partitions, replicas))

    def _remove_read(
        self,
        answers: Sequence[ZkResponse | None],
        partitions: tuple[TopicPartition, ...],
        replicas: tuple[BrokerId, ...] | None,
    ) -> Calls:
        (answer,) = answers
        targets: Targets = () if answer is None else answer.data
        left = tuple(
            (partition, target)
            for partition, target in targets
            if partition not in partitions or (replicas is not None and target != replicas)
        )
        if not left:
            return (*self.zk_client.delete_recursive(REASSIGN_PARTITIONS), call(self.expect_reassignment))
        return self.zk_client.set_or_create_partition_reassignment(left)

    # Which are begun.

    def _validated(self, partition: TopicPartition, target: tuple[BrokerId, ...]) -> Errors:
        """Whether a partition may be asked to move to these brokers [validateReplicas]."""
        if not target or len(set(target)) != len(target) or min(target) < 0:
            return Errors.INVALID_REPLICA_ASSIGNMENT
        added = self.context.partition_full_replica_assignment(partition).reassign_to(target).adding_replicas
        live = all(self.context.is_live_broker(broker) for broker in added)
        return Errors.NONE if live else Errors.INVALID_REPLICA_ASSIGNMENT

    def _built(self, partition: TopicPartition, target: tuple[BrokerId, ...] | None) -> ReplicaAssignment | None:
        """The assignment while a partition moves; None: there is nothing to cancel [maybeBuildReassignment]."""
        now = self.context.partition_full_replica_assignment(partition)
        if target is None and not now.is_being_reassigned:
            return None
        return now.reassign_to(now.origin_replicas if target is None else target)

    def _trigger_reassignments(
        self, reassignments: Assignments, results: ReassignmentResults, following: Call
    ) -> Calls:
        """Begin one after the other; the call takes what became of them [maybeTriggerPartitionReassignment]."""
        for at, (partition, reassignment) in enumerate(reassignments):
            queued = self.is_topic_queued_up_for_deletion(partition.topic)
            if queued or not self.context.partition_replica_assignment(partition):
                results += ((partition, Errors.UNKNOWN_TOPIC_OR_PARTITION),)
                continue
            if not self._keeps_what_it_must(partition, reassignment):
                results += ((partition, Errors.INVALID_REPLICA_ASSIGNMENT),)
                continue
            return (
                call(self.on_partition_reassignment, partition, reassignment),
                on_failure(then(self._triggered, partition, reassignments[at + 1 :], results, following)),
            )
        return (following.with_answer(results),)

    def _keeps_what_it_must(self, partition: TopicPartition, reassignment: ReplicaAssignment) -> bool:
        """Whether the leader and a member of the ISR keep the partition, as far as that is asked. [proposed]"""
        known = self.context.leadership_of(partition)
        if known is None:
            return True
        leader, isr = known.leader_and_isr.leader, known.leader_and_isr.isr
        replicas = reassignment.replicas
        if self.design.keep_leader and reassignment.is_being_reassigned and leader not in (NO_LEADER, *replicas):
            return False
        return not self.design.keep_in_sync or not set(isr).isdisjoint(replicas)

    def _triggered(
        self,
        failure: EventFailure | Code | None,
        partition: TopicPartition,
        rest: Assignments,
        results: ReassignmentResults,
        following: Call,
    ) -> Calls:
        if failure is EventFailure.ControllerMoved:
            raise EventFailed(failure)
        result = Errors.NONE if failure is None else Errors.UNKNOWN_SERVER_ERROR
        return self._trigger_reassignments(rest, (*results, (partition, result)), following)

    def _answer_reassignments(self, results: ReassignmentResults) -> Calls:
        return (Callback(results),)

    def _ignore(self, _: object) -> None:
        """Who asked does not want to know."""

    # The steps.

    def on_partition_reassignment(self, partition: TopicPartition, reassignment: ReplicaAssignment) -> Calls:
        """Go on with the reassignment of a partition, as far as it gets."""
        self.mark_topic_ineligible_for_deletion((partition.topic,))
        return (
            call(self._update_current_reassignment, partition, reassignment),
            call(self._being_reassigned, partition),
            call(
                self._is_reassignment_complete,
                partition,
                reassignment,
                then(self._go_on_with, partition, reassignment),
            ),
        )

    def _update_current_reassignment(self, partition: TopicPartition, reassignment: ReplicaAssignment) -> Calls:
        """U1 to U3."""
        current = self.context.partition_full_replica_assignment(partition)
        if current == reassignment:
            return ()
        unneeded = tuple(broker for broker in current.replicas if broker not in reassignment.replicas)
        return (
            call(self.update_replica_assignment_for_partition, partition, reassignment),
            call(self.update_memory, partition, reassignment),
            call(self.stop_removed_replicas, partition, unneeded),
        )

    def _being_reassigned(self, partition: TopicPartition) -> None:
        if not self.design.alter_partition:
            self.handlers.watch_isr(partition)
        self.context.state.partitions_being_reassigned |= {partition}

    def _go_on_with(self, complete: bool, partition: TopicPartition, reassignment: ReplicaAssignment) -> Calls:
        """The steps A1 and A2, or B1 to B8."""
        adding, removing = reassignment.adding_replicas, reassignment.removing_replicas
        if not complete:
            to = (reassignment.origin_replicas, adding) if self.design.send_added_as_new else (reassignment.replicas,)
            return (
                call(self.update_leader_epoch_and_send_request, partition, reassignment, *to),
                *(call(self.replicas_become, (replica,), NewReplica) for replica in on_brokers(partition, adding)),
            )
        completed = ReplicaAssignment(reassignment.target_replicas)
        return (
            call(self.replicas_become, on_brokers(partition, adding), OnlineReplica),
            call(self.update_memory, partition, completed),
            call(self.move_reassigned_partition_leader_if_required, partition, completed, completed.replicas),
            call(self.stop_removed_replicas, partition, removing),
            call(self.update_replica_assignment_for_partition, partition, completed),
            call(self._remove_completed, partition, completed.replicas),
            call(self.is_reassigned, partition),
            call(self.resume_deletion_for_topics, (partition.topic,)),
        )

    def _is_reassignment_complete(
        self, partition: TopicPartition, reassignment: ReplicaAssignment, following: Call
    ) -> Calls:
        """Whether the replicas that a partition moves to are all in sync, by what ZooKeeper has."""
        if not reassignment.is_being_reassigned:
            return (following.with_answer(True),)
        return self.are_replicas_in_isr(partition, reassignment.target_replicas, following)

    # What may be left.

    ENDING: ClassVar[str] = _remove_completed.__name__
    """The call with which a reassignment ends."""

    @classmethod
    def triggered(cls, partition: TopicPartition) -> Call:
        """Behind the reassignment of a partition that was asked for alone."""
        return on_failure(then_of(cls._triggered, partition, (), (), then_of(cls._answer_reassignments)))

    @classmethod
    def reassigning(
        cls, partition: TopicPartition, assignment: ReplicaAssignment, unneeded: Iterable[tuple[BrokerId, ...]]
    ) -> Iterator[tuple[Call, ...]]:
        """Of a partition that is to be assigned so, where any of these replicas were needed before."""
        go_on = then_of(cls._go_on_with, partition, assignment)
        going_on = (
            call_of(cls._being_reassigned, partition),
            call_of(cls._is_reassignment_complete, partition, assignment, go_on),
        )
        for brokers in unneeded:
            yield (
                call_of(cls.update_memory, partition, assignment),
                call_of(cls.stop_removed_replicas, partition, brokers),
                *going_on,
            )
            yield (*cls.becoming(partition, brokers, *REMOVED[1:]), *going_on)
        adding, removing = assignment.adding_replicas, assignment.removing_replicas
        yield tuple(each for broker in adding for each in cls.becoming(partition, (broker,), NewReplica))
        completed = ReplicaAssignment(assignment.target_replicas)
        ending = (
            call_of(cls.update_replica_assignment_for_partition, partition, completed),
            call_of(cls._remove_completed, partition, completed.replicas),
            call_of(cls.is_reassigned, partition),
            call_of(cls.resume_deletion_for_topics, (partition.topic,)),
        )
        yield (
            call_of(cls.update_memory, partition, completed),
            call_of(cls.move_reassigned_partition_leader_if_required, partition, completed, completed.replicas),
            call_of(cls.stop_removed_replicas, partition, removing),
            *ending,
        )
        yield (*cls.becoming(partition, removing, *REMOVED[1:]), *ending)
