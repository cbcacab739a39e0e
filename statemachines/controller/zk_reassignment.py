"""Reassignment until 2.3: only /admin/reassign_partitions has the targets. At the end, the steps that stayed in 2.4.

That node is read when it is created, and kept in memory; entries added later are lost when the controller writes the
node. Until 1.0 it is read whenever it changes, and before it is written, so that added entries begin to move. The
topic's node has AR, the assigned replicas; RAR are the target replicas, OAR the original ones.

    until all RAR are in the ISR:
    1   AR := OAR + RAR, in the context and in the topic's node
    2   the leader epoch is incremented, and sent to all of them
    3   RAR - OAR -> NewReplica
    and once they are:
    5   RAR -> OnlineReplica
    6   AR := RAR in the context
    7   the leader is moved if it is not in RAR or not online; else its epoch is incremented, and sent to OAR and RAR
    8,9 OAR - RAR -> OfflineReplica, ReplicaDeletionStarted, Successful, NonExistentReplica
    10  AR := RAR in the topic's node
    11  the partition leaves /admin/reassign_partitions, which is deleted with the last one
    12  all brokers receive UpdateMetadata, and the deletion of the topic may resume

An entry that cannot begin, or fails, also leaves the node, so that another can be requested; since 2.0 all of these
leave together at the end. An entry that fails after 11 has left already, and the second removal fails the event. Only
AR implies OAR: once a controller has written AR := OAR + RAR, there is no way back.

While a partition is in the node, a watch makes each change of its state an event.

Not modelled: until 0.10.0 a partition began to move only if all of RAR were live [KAFKA-4214, 0.10.1]. Kafka writes
AR as a set; here RAR come first, in their order.

[onPartitionReassignment, removePartitionFromReassignedPartitions in KafkaController.scala, 1.0, 1.1, 2.2, 2.3]
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from election.ids import BrokerId
from statemachines.controller.calls import (
    Calls,
    EventFailed,
    EventFailure,
    Result,
    call,
    on_failure,
    then,
)
from statemachines.controller.partition_state_machine import REASSIGN
from statemachines.controller.topic_deletion_manager import TopicDeletionManager
from statemachines.controller.zk_client import Targets, found
from statemachines.controller.zk_requests import ZkResponse
from statemachines.messages.leader_and_isr import LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS
from statemachines.tables.partition import OnlinePartition
from statemachines.tables.replica import (
    NewReplica,
    NonExistentReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)
from statemachines.zookeeper.tree import Code

REMOVED: Final = (OfflineReplica, ReplicaDeletionStarted, ReplicaDeletionSuccessful, NonExistentReplica)
"""The states of a replica during its removal."""


class ZkReassignment(TopicDeletionManager):
    """The part of a controller that reassigns partitions until 2.3, and the steps that are the same since then."""

    # Interface for other parts.

    def process_zk_partition_reassignment(self, targets: Targets | None = None) -> Calls:
        """/admin/reassign_partitions was created or, until 1.0, changed. [processPartitionReassignment]

        Args:
            targets: what it held when this event was queued; by default it is read now.
        """
        if targets is not None:
            return self.begin_zk_reassignment((ZkResponse(Code.OK, targets),))
        return (*self.zk_client.path_exists(REASSIGN_PARTITIONS, watch=True), then(self._zk_reassignment_is_there))

    def maybe_complete_reassignment(self, partition: TopicPartition) -> Calls:
        """The ISR of a partition has changed: if that completes its reassignment, finish it."""
        if partition not in self.context.state.partitions_being_reassigned:
            return ()
        return self.go_on_if_in_isr(partition, self.reassignment_targets[partition])

    def go_on_if_in_isr(self, partition: TopicPartition, replicas: tuple[BrokerId, ...]) -> Calls:
        """If a partition moves and these replicas are in its ISR, go on, though it may move to others by now."""
        if partition not in self.context.state.partitions_being_reassigned:
            return ()
        return (*self.are_replicas_in_isr(partition, replicas), then(self._complete_zk, partition))

    def resume_reassignment(self, partition: TopicPartition) -> Calls:
        """Resume the reassignment of a partition."""
        return self.on_zk_reassignment(partition)

    def reassigned_partitions(self) -> Sequence[TopicPartition]:
        """The partitions under reassignment, in processing order."""
        return tuple(self.reassignment_targets)

    def reassignment_target(self, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """The target replicas of a partition under reassignment."""
        return self.reassignment_targets[partition]

    # Requests by the node.

    def _zk_reassignment_is_there(self, there: bool) -> Calls:
        if not there:
            return ()
        changes = self.design.reread_reassignment
        return (*self.zk_client.get_data((REASSIGN_PARTITIONS,), watch=changes), then(self.begin_zk_reassignment))

    def _complete_zk(self, complete: bool, partition: TopicPartition) -> Calls:
        return self.on_zk_reassignment(partition) if complete else ()

    def remember_zk_reassignment(self, answers: Sequence[ZkResponse | None]) -> None:
        """Record the node's reassignments."""
        (answer,) = answers
        targets: Targets = () if answer is None else answer.data
        for partition, target in targets:
            assert target is not None, "the node has no cancellations"
            self.reassignment_targets[partition] = target
        self.context.state.partitions_being_reassigned |= {partition for partition, _ in targets}

    def begin_zk_reassignment(self, answers: Sequence[ZkResponse | None]) -> Calls:
        """Record the node's reassignments, and begin those that are not under way."""
        before = self.context.state.partitions_being_reassigned if self.design.reread_reassignment else frozenset()
        moving = {each: target for each, target in self.reassignment_targets.items() if each in before}
        self.remember_zk_reassignment(answers)
        self.reassignment_targets.update(moving)
        (answer,) = answers
        asked = () if answer is None else tuple(each for each, _ in answer.data)
        return self.trigger_zk_reassignments(tuple(each for each in asked if each not in before))

    def drop_finished_reassignments(self) -> Calls:
        """Until 1.0: remove finished and unassigned partitions from the node before anything waits for them."""
        targets = self.reassignment_targets.items()
        done = [each for each, to in targets if self.context.partition_replica_assignment(each) in ((), to)]
        return tuple(call(self._remove_from_zk, (each,)) for each in done)

    def resume_zk_reassignments(self) -> Calls:
        """Resume the node's reassignments in a failover; until 1.0 including those of topics to be deleted."""
        partitions = tuple(self.reassignment_targets)
        return self.trigger_zk_reassignments(partitions, of_deleted=self.design.resume_moves_of_deleted)

    def trigger_zk_reassignments(
        self,
        partitions: tuple[TopicPartition, ...],
        done: tuple[TopicPartition, ...] = (),
        of_deleted: bool = False,
    ) -> Calls:
        """Begin one after the other; then write the node without those that have nothing to do."""
        for at, partition in enumerate(partitions):
            rest = partitions[at + 1 :]
            assigned = self.context.partition_replica_assignment(partition)
            queued = self.is_topic_queued_up_for_deletion(partition.topic)
            if (of_deleted or not queued) and assigned not in ((), self.reassignment_targets[partition]):
                self.handlers.watch_isr(partition, self.reassignment_targets[partition])
                self.mark_topic_ineligible_for_deletion((partition.topic,))
                return (
                    call(self.on_zk_reassignment, partition),
                    on_failure(then(self._triggered_zk_reassignment, partition, rest, done, of_deleted)),
                )
            if not self.design.remove_reassignments_together:
                return self._remove_before_going_on(partition, rest, of_deleted)
            done += (partition,)
        return self._remove_from_zk(done) if self.design.remove_reassignments_together else ()

    def _triggered_zk_reassignment(
        self,
        failure: EventFailure | Code | None,
        partition: TopicPartition,
        rest: tuple[TopicPartition, ...],
        done: tuple[TopicPartition, ...],
        of_deleted: bool,
    ) -> Calls:
        if failure is EventFailure.ControllerMoved:
            raise EventFailed(failure)
        if failure is None:
            return self.trigger_zk_reassignments(rest, done, of_deleted)
        if not self.design.remove_reassignments_together:
            return self._remove_before_going_on(partition, rest, of_deleted)
        return self.trigger_zk_reassignments(rest, (*done, partition), of_deleted)

    def _remove_before_going_on(
        self, partition: TopicPartition, rest: tuple[TopicPartition, ...], of_deleted: bool
    ) -> Calls:
        return call(self._remove_from_zk, (partition,)), call(self.trigger_zk_reassignments, rest, (), of_deleted)

    # Steps.

    def on_zk_reassignment(self, partition: TopicPartition) -> Calls:
        """Advance the reassignment of a partition as far as possible."""
        target = self.reassignment_targets[partition]
        return (*self.are_replicas_in_isr(partition, target), then(self._go_on_with_zk, partition))

    def _go_on_with_zk(self, complete: bool, partition: TopicPartition) -> Calls:
        """Steps 1 to 3, or 5 to 12."""
        target, now = self.reassignment_targets[partition], self.context.partition_replica_assignment(partition)
        if not now and not self.design.reassign_unassigned:
            raise EventFailed(EventFailure.NotAssigned)
        if not complete:
            both = tuple(dict.fromkeys((*target, *now)))
            assignment = ReplicaAssignment(both)
            added = tuple(broker for broker in target if broker not in now)
            known = call(self.update_memory, partition, assignment)
            written = call(self.update_replica_assignment_for_partition, partition, assignment)
            return (
                *((known, written) if self.design.cache_assignment_first else (written, known)),
                call(self.update_leader_epoch_and_send_request, partition, assignment, both),
                *(call(self.replicas_become, (replica,), NewReplica) for replica in on_brokers(partition, added)),
            )
        completed = ReplicaAssignment(target)
        removed = tuple(broker for broker in now if broker not in target)
        return (
            *(call(self.replicas_become, (replica,), OnlineReplica) for replica in on_brokers(partition, target)),
            call(self.assign_target, partition, completed),
            call(self.move_reassigned_partition_leader_if_required, partition, completed, now),
            call(self.stop_removed_replicas, partition, removed),
            call(self.update_replica_assignment_for_partition, partition, completed),
            call(self._remove_from_zk, (partition,)),
            call(self.is_reassigned, partition),
            call(self.resume_deletion_for_topics, (partition.topic,)),
        )

    def assign_target(self, partition: TopicPartition, completed: ReplicaAssignment) -> None:
        """Step 6, if the partition has, or had, a leader; otherwise the context does not change."""
        self.leadership_of(partition)
        self.update_memory(partition, completed)

    def _remove_from_zk(self, partitions: tuple[TopicPartition, ...]) -> Calls:
        """Write the node without these, from memory or from a new read; delete it with the last one."""
        if self.design.reread_reassignment:
            return (*self.zk_client.get_data((REASSIGN_PARTITIONS,)), then(self._remove_read_from_zk, partitions))
        return self._write_without(tuple(self.reassignment_targets.items()), partitions)

    def _remove_read_from_zk(
        self, answers: Sequence[ZkResponse | None], partitions: tuple[TopicPartition, ...]
    ) -> Calls:
        (answer,) = answers
        return self._write_without(() if answer is None else answer.data, partitions)

    def _write_without(self, targets: Targets, partitions: tuple[TopicPartition, ...]) -> Calls:
        left: Targets = tuple((each, target) for each, target in targets if each not in partitions)
        if self.design.remove_reassignments_together and any(
            each not in self.reassignment_targets for each in partitions
        ):
            raise EventFailed(EventFailure.NotReassigned)
        for partition in partitions:
            self.handlers.unwatch_isr(partition)
        forget = call(self._forget, partitions)
        if not left:
            looks = self.design.list_reassignment_children
            delete = (
                self.zk_client.delete_recursive(REASSIGN_PARTITIONS)
                if looks
                else self.zk_client.delete((REASSIGN_PARTITIONS,))
            )
            return (*delete, call(self.expect_reassignment), forget)
        return (*self.zk_client.set_or_create_partition_reassignment(left), forget)

    def _forget(self, partitions: tuple[TopicPartition, ...]) -> None:
        for partition in partitions:
            self.reassignment_targets.pop(partition, None)
        self.context.state.partitions_being_reassigned -= frozenset(partitions)

    def expect_reassignment(self) -> None:
        """Set the watch for another one, unless ZkClient does; there it also reports the controller's own writes."""
        if not self.handlers.are_listeners:
            self.put(call(self.process_zk_partition_reassignment))

    ZK_ENDING: ClassVar[str] = _remove_from_zk.__name__
    """The call that ends a reassignment."""

    # Steps that are the same since 2.4.

    def update_replica_assignment_for_partition(
        self, partition: TopicPartition, assignment: ReplicaAssignment
    ) -> Calls:
        """Write the topic's node."""
        partitions = self.context.partitions_for_topic(partition.topic)
        assignments = {each: self.context.partition_full_replica_assignment(each) for each in partitions}
        assignments[partition] = assignment
        return (*self.zk_client.set_topic_assignment(partition.topic, assignments), then(self._updated_assignment))

    def _updated_assignment(self, responses: Sequence[ZkResponse]) -> None:
        if found(responses[0]) is None:
            raise EventFailed(EventFailure.NoTopic)

    def update_memory(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Update the context."""
        self.context.update_partition_full_replica_assignment(partition, assignment)

    def are_replicas_in_isr(self, partition: TopicPartition, replicas: tuple[BrokerId, ...]) -> Calls:
        """Whether all these replicas are in ZooKeeper's ISR."""
        return (*self.zk_client.get_topic_partition_states((partition,)), then(self._are_in_isr, replicas))

    def _are_in_isr(
        self, states: Sequence[tuple[TopicPartition, LeaderIsrAndControllerEpoch]], replicas: tuple[BrokerId, ...]
    ) -> Calls:
        return (Result(any(set(replicas) <= set(known.leader_and_isr.isr) for _, known in states)),)

    def update_leader_epoch_and_send_request(
        self,
        partition: TopicPartition,
        assignment: ReplicaAssignment,
        to: tuple[BrokerId, ...],
        to_new: tuple[BrokerId, ...] = (),
    ) -> Calls:
        """Increment the leader epoch, and send it to brokers, to some of them as new."""
        return (
            *self.zk_client.update_leader_epoch(partition),
            then(self._send_leader_and_isr, partition, assignment, to, to_new),
        )

    def _send_leader_and_isr(
        self,
        known: LeaderIsrAndControllerEpoch,
        partition: TopicPartition,
        assignment: ReplicaAssignment,
        to: tuple[BrokerId, ...],
        to_new: tuple[BrokerId, ...],
    ) -> None:
        if self.design.remember_epoch:
            self.context.put_partition_leadership_info(partition, known)

        def add() -> None:
            for brokers, is_new in ((to, False), (to_new, True)):
                self.batch.add_leader_and_isr_request_for_brokers(brokers, partition, known, assignment, is_new)

        self.in_a_batch(add)

    def move_reassigned_partition_leader_if_required(
        self, partition: TopicPartition, completed: ReplicaAssignment, to: tuple[BrokerId, ...]
    ) -> Calls:
        """Send a staying online leader and these brokers the remaining replicas; otherwise elect a leader."""
        leader = self.leadership_of(partition).leader_and_isr.leader
        if leader in completed.replicas and self.context.is_replica_online(leader, partition):
            return self.update_leader_epoch_and_send_request(partition, completed, to)
        return self.partitions_become((partition,), OnlinePartition, REASSIGN)

    def stop_removed_replicas(self, partition: TopicPartition, removed: Sequence[BrokerId]) -> Calls:
        """Remove replicas from the ISR, stop, delete and forget them, without waiting for the brokers' responses."""
        replicas = on_brokers(partition, removed)
        return tuple(call(self.replicas_become, replicas, target) for target in REMOVED)

    def is_reassigned(self, partition: TopicPartition) -> None:
        """A partition has moved: inform all brokers."""
        self.context.state.partitions_being_reassigned -= {partition}
        self.send_update_metadata_request(self.all_brokers(), (partition,))


def on_brokers(partition: TopicPartition, brokers: Iterable[BrokerId]) -> tuple[PartitionAndReplica, ...]:
    """The replicas of a partition on these brokers."""
    return tuple(PartitionAndReplica(partition, broker) for broker in brokers)
