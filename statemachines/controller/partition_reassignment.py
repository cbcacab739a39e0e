"""Reassignment: how the replicas of a partition move from some brokers to others (KIP-455).

A partition's replicas RS consist of its original ones, ORS, and its targets, TRS; AR of them are added, RR removed.
The topic's node has RS, AR and RR, so that any controller can continue. The steps, numbered as in Kafka's comments:

    U1  the topic's node is written             U2  and the context follows
    U3  replicas of an earlier reassignment that are no longer needed are stopped and deleted
    then, until all TRS are in ZooKeeper's ISR:
    A1  the leader epoch is incremented, and sent to ORS and AR, to AR as new (2.7)
    A2  AR -> NewReplica
    and once they are:
    B1  AR -> OnlineReplica                     B2  RS := TRS in the context
    B3  the leader is moved if it is not in TRS or not online; else its epoch is incremented, and sent to TRS, so
        that it adds no replica of RR to its ISR again
    B4  RR -> OfflineReplica, out of the ISR    B5  -> ReplicaDeletionStarted, Successful, NonExistentReplica, at once
    B6  the topic's node: RS := TRS             B7  the partition leaves /admin/reassign_partitions
    B8  all brokers receive UpdateMetadata, and the deletion of the topic may resume

B6 comes last because ORS is stored nowhere else: a controller that takes over before B6 repeats all of it. The
controller checks whether TRS are in the ISR when the ISR has changed, a broker of TRS has started, or it takes over.

A reassignment is requested by the node /admin/reassign_partitions or by AlterPartitionReassignments. The later
request wins; one without replicas returns to ORS. An error in one partition's reassignment does not stop the others.

Missing checks in Kafka. U3 and B4 remove replicas without regard to the ISR, and even if B3 has found no leader. So a
partition is lost, its data deleted, if none of its remaining replicas is in sync. That happens if a reassignment is
cancelled or replaced when only replicas that it had added are in the ISR; or, until 2.6, if the leader shrinks the
ISR between the check and B3. The KRaft controller refuses such a cancellation; `keep_in_sync` proposes that. And if
U3 removes the leader while other replicas could lead, none is elected before B3, though the partition is online
[KAFKA-14808]; `keep_leader` proposes to refuse that, except for a cancellation, which reaches B3 at once.

Until 2.3 it was different: see `zk_reassignment` [KAFKA-8345, 2.4].

[onPartitionReassignment, processZkPartitionReassignment in KafkaController.scala, 3.9]
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeAlias

from election.ids import BrokerId
from statemachines.controller.calls import (
    Callback,
    Calls,
    EventFailed,
    EventFailure,
    Result,
    call,
    on_failure,
    then,
)
from statemachines.controller.zk_client import Assignments, Targets
from statemachines.controller.zk_reassignment import ZkReassignment, on_brokers
from statemachines.controller.zk_requests import ZkResponse
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS
from statemachines.tables.replica import NewReplica, OnlineReplica
from statemachines.zookeeper.tree import Code

ReassignmentResults: TypeAlias = tuple[tuple[TopicPartition, Errors], ...]
"""The result for each requested partition: NONE if it is being reassigned, or has been already."""


class PartitionReassignment(ZkReassignment):
    """The part of a controller that reassigns partitions."""

    # Events.

    def process_zk_partition_reassignment(self, targets: Targets | None = None) -> Calls:
        """/admin/reassign_partitions was created. [ZkPartitionReassignment; PartitionReassignment until 2.3]"""
        if not self.design.kip_455:
            return super().process_zk_partition_reassignment(targets)
        return self.resume_zk_partition_reassignment()

    def process_api_partition_reassignment(self, targets: Targets) -> Calls:
        """An administrator requests reassignments; the reply is `ReassignmentResults`. [ApiPartitionReassignment]

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
            call(self._trigger_reassignments, reassignments, refused),
            then(self._answer_reassignments),
        )

    def process_partition_reassignment_isr_change(
        self, partition: TopicPartition, target: tuple[BrokerId, ...] | None = None
    ) -> Calls:
        """A leader has changed the ISR of a partition that moves. [PartitionReassignmentIsrChange, until 2.6]

        Args:
            partition: the partition.
            target: until 1.0, the replicas to which it moved when the event was queued.
        """
        if target is not None:
            return self.go_on_if_in_isr(partition, target)
        return self.maybe_complete_reassignment(partition)

    # Interface for other parts.

    def resume_zk_partition_reassignment(self) -> Calls:
        """Begin, or resume, the reassignments in /admin/reassign_partitions. The result is their partitions."""
        return (*self.zk_client.path_exists(REASSIGN_PARTITIONS, watch=True), then(self._read_reassignment))

    def maybe_resume_reassignments(self, partitions: Iterable[TopicPartition]) -> Calls:
        """Resume the reassignments of these partitions, if any [maybeResumeReassignments]."""
        return tuple(call(self.resume_reassignment, partition) for partition in partitions)

    def maybe_complete_reassignment(self, partition: TopicPartition) -> Calls:
        """The ISR of a partition has changed: if that completes its reassignment, finish it."""
        if not self.design.kip_455:
            return super().maybe_complete_reassignment(partition)
        if partition not in self.context.state.partitions_being_reassigned:
            return ()
        reassignment = self.context.partition_full_replica_assignment(partition)
        return (*self._is_complete(partition, reassignment), then(self._complete, partition, reassignment))

    def _complete(self, complete: bool, partition: TopicPartition, reassignment: ReplicaAssignment) -> Calls:
        return self.on_partition_reassignment(partition, reassignment) if complete else ()

    def resume_reassignment(self, partition: TopicPartition) -> Calls:
        """Resume the reassignment of a partition."""
        if not self.design.kip_455:
            return super().resume_reassignment(partition)
        return self.on_partition_reassignment(partition, self.context.partition_full_replica_assignment(partition))

    def reassigned_partitions(self) -> Sequence[TopicPartition]:
        """The partitions under reassignment, in processing order."""
        if not self.design.kip_455:
            return super().reassigned_partitions()
        return sorted(self.context.state.partitions_being_reassigned)

    def reassignment_target(self, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """The target replicas of a partition under reassignment."""
        if not self.design.kip_455:
            return super().reassignment_target(partition)
        return self.context.partition_full_replica_assignment(partition).target_replicas

    # Requests by the node.

    def _read_reassignment(self, there: bool) -> Calls:
        if not there:
            return (Result(()),)
        return (*self.zk_client.get_data((REASSIGN_PARTITIONS,)), then(self._process_reassignment))

    def _process_reassignment(self, answers: Sequence[ZkResponse | None]) -> Calls:
        (answer,) = answers
        targets: Targets = () if answer is None else answer.data
        built = tuple((partition, self._built(partition, target)) for partition, target in targets)
        reassignments = tuple((partition, each) for partition, each in built if each is not None)
        refused = tuple((partition, Errors.NO_REASSIGNMENT_IN_PROGRESS) for partition, each in built if each is None)
        return (*self._trigger_reassignments(reassignments, refused), then(self._processed_reassignment))

    def _processed_reassignment(self, results: ReassignmentResults) -> Calls:
        done = tuple(partition for partition, error in results if error is Errors.NONE)
        failed = tuple(partition for partition, error in results if error is not Errors.NONE)
        removal = (call(self._remove_from_zk_reassignment, failed),) if failed else ()
        return (*removal, Result(done))

    def _remove_from_zk_reassignment(self, partitions: tuple[TopicPartition, ...]) -> Calls:
        """Remove partitions that are reassigned by another request, or cannot be [maybeRemoveFromZkReassignment]."""
        there = self.zk_client.path_exists(REASSIGN_PARTITIONS, watch=True)
        return (*there, then(self._read_to_remove, partitions, None))

    def _remove_completed(self, partition: TopicPartition, replicas: tuple[BrokerId, ...]) -> Calls:
        """Remove a partition that has arrived at its targets, unless the node has another reassignment by now."""
        self.handlers.unwatch_isr(partition)
        there = self.zk_client.path_exists(REASSIGN_PARTITIONS, watch=True)
        return (*there, then(self._read_to_remove, (partition,), replicas))

    def _read_to_remove(
        self, there: bool, partitions: tuple[TopicPartition, ...], replicas: tuple[BrokerId, ...] | None
    ) -> Calls:
        if not there:
            return ()
        return (*self.zk_client.get_data((REASSIGN_PARTITIONS,)), then(self._remove_read, partitions, replicas))

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

    # Checks of requests.

    def _validated(self, partition: TopicPartition, target: tuple[BrokerId, ...]) -> Errors:
        """Whether a request may move a partition to these brokers [validateReplicas]."""
        if not target or len(set(target)) != len(target) or min(target) < 0:
            return Errors.INVALID_REPLICA_ASSIGNMENT
        added = self.context.partition_full_replica_assignment(partition).reassign_to(target).adding_replicas
        live = all(self.context.is_live_broker(broker) for broker in added)
        return Errors.NONE if live else Errors.INVALID_REPLICA_ASSIGNMENT

    def _built(self, partition: TopicPartition, target: tuple[BrokerId, ...] | None) -> ReplicaAssignment | None:
        """The assignment while a partition moves; None if there is nothing to cancel [maybeBuildReassignment]."""
        now = self.context.partition_full_replica_assignment(partition)
        if target is None and not now.is_being_reassigned:
            return None
        return now.reassign_to(now.origin_replicas if target is None else target)

    def _trigger_reassignments(self, reassignments: Assignments, results: ReassignmentResults) -> Calls:
        """Begin them one after the other. The result adds theirs to these [maybeTriggerPartitionReassignment]."""
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
                on_failure(then(self._triggered, partition, reassignments[at + 1 :], results)),
            )
        return (Result(results),)

    def _keeps_what_it_must(self, partition: TopicPartition, reassignment: ReplicaAssignment) -> bool:
        """Whether the leader and a member of the ISR keep the partition, if the design requires it. [proposed]"""
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
    ) -> Calls:
        if failure is EventFailure.ControllerMoved:
            raise EventFailed(failure)
        result = Errors.NONE if failure is None else Errors.UNKNOWN_SERVER_ERROR
        return self._trigger_reassignments(rest, (*results, (partition, result)))

    def _answer_reassignments(self, results: ReassignmentResults) -> Calls:
        return (Callback(results),)

    # Steps.

    def on_partition_reassignment(self, partition: TopicPartition, reassignment: ReplicaAssignment) -> Calls:
        """Advance the reassignment of a partition as far as possible."""
        self.mark_topic_ineligible_for_deletion((partition.topic,))
        return (
            call(self._update_current_reassignment, partition, reassignment),
            call(self._being_reassigned, partition),
            call(self._is_complete, partition, reassignment),
            then(self._go_on_with, partition, reassignment),
        )

    def _update_current_reassignment(self, partition: TopicPartition, reassignment: ReplicaAssignment) -> Calls:
        """Steps U1 to U3."""
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
        """Steps A1 and A2, or B1 to B8."""
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

    def _is_complete(self, partition: TopicPartition, reassignment: ReplicaAssignment) -> Calls:
        """Whether all target replicas of a partition are in ZooKeeper's ISR [isReassignmentComplete]."""
        if not reassignment.is_being_reassigned:
            return (Result(True),)
        return self.are_replicas_in_isr(partition, reassignment.target_replicas)

    ENDING: ClassVar[str] = _remove_completed.__name__
    """The call that ends a reassignment."""
