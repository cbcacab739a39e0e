"""Reassignment steps: the parts of a partition's reassignment that are the same before and since 2.4.

`partition_reassignment` and `zk_reassignment` explain them.

[KafkaController.scala, 2.3, 3.9]
"""

from collections.abc import Iterable, Sequence
from typing import Final

from election.ids import BrokerId
from statemachines.controller.calls import Calls, EventFailed, EventFailure, Result, call, then
from statemachines.controller.kafka_zk_client import ZkResponse
from statemachines.controller.partition_state_machine import REASSIGN
from statemachines.controller.topic_deletion_manager import TopicDeletionManager
from statemachines.controller.zk_client import found
from statemachines.messages.leader_and_isr import LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.partition import OnlinePartition
from statemachines.tables.replica import (
    NonExistentReplica,
    OfflineReplica,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)

REMOVED: Final = (OfflineReplica, ReplicaDeletionStarted, ReplicaDeletionSuccessful, NonExistentReplica)
"""The states of a replica during its removal."""


class ReassignmentSteps(TopicDeletionManager):
    """The part of a controller that moves one partition, step by step."""

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
