"""Topic changes: topics that are created, get more partitions, or are queued for deletion.

An administrator writes a node, and the controller compares it with its own knowledge. A topic exists as soon as its
node does. For each new partition

    -> NewPartition, its replicas -> NewReplica, then -> OnlinePartition, its replicas -> OnlineReplica

so that the state is created and sent to its ISR, as new. A partition without live replicas stays NewPartition.

Partitions of known topics are new if the controller knows no replica of them; it does not check for changed replicas
of the others. Partitions added to a topic that is queued for deletion are removed from its node again, since 2.0.
Before, they stayed there, and the next controller considered them new [B40, KAFKA-6612]. `TopicDeletionManager`
handles deletions; if a topic does not exist, the node that requests its deletion is deleted.

A topic with a partition under reassignment is marked ineligible before it is queued, but marks apply to queued topics
only. So it does not wait: deletion and reassignment continue side by side, until another controller takes over, which
queues it first. This is Kafka's behaviour from 1.1 to 3.9.

Left out: topic ids, and what a controller remembers of a topic that an operator removes from ZooKeeper. Here it
forgets everything. Until 1.1 Kafka keeps the leaders [KAFKA-8185, fixed in 2.0; TopicChange, KafkaController.scala
1280, 1.1.1]. The next UpdateMetadata of all partitions fails and stays in the batch, and at the one after that the
controller resigns. Meanwhile the removed partitions count as offline, and a topic that is created again gets the old
leaders. Until 2.2 the topic also stays queued for deletion, if it was.

[processTopicChange, processPartitionModifications, processTopicDeletion in KafkaController.scala, 3.9]
"""

from collections.abc import Sequence

from election.ids import BrokerId
from statemachines.controller.calls import Calls, call, then
from statemachines.controller.control_responses import PartitionErrors
from statemachines.controller.partition_state_machine import OFFLINE
from statemachines.controller.topic_deletion_manager import TopicDeletionManager
from statemachines.controller.zk_client import Assignments, maybe_throw
from statemachines.controller.zk_requests import ZkResponse
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import DELETE_TOPICS, topic_partitions_path
from statemachines.tables.partition import NewPartition, OnlinePartition
from statemachines.tables.replica import NewReplica, OnlineReplica, ReplicaState


class TopicChanges(TopicDeletionManager):
    """The part of a controller that follows topics."""

    # Events.

    def process_topic_change(self, topics: Sequence[TopicName] | None = None) -> Calls:
        """The children of /brokers/topics have changed, to these if they were read already. [TopicChange]"""
        if topics is not None:
            return self._topics_changed(topics)
        return (*self.zk_client.get_all_topics_in_cluster(), then(self._topics_changed))

    def process_partition_modifications(self, topic: TopicName) -> Calls:
        """The node of a topic has changed. [PartitionModifications]"""
        return (*self.zk_client.get_full_replica_assignment_for_topics((topic,)), then(self._topic_modified, topic))

    def process_topic_deletion(self, topics: Sequence[TopicName] | None = None) -> Calls:
        """The children of /admin/delete_topics have changed, to these if they were read already. [TopicDeletion]"""
        if topics is not None:
            return self._deletions_changed(topics)
        return (*self.zk_client.get_children(DELETE_TOPICS, watch=True), then(self._deletions_changed))

    def process_topic_deletion_stop_replica_response_received(
        self, broker: BrokerId, request_error: Errors, partition_errors: PartitionErrors
    ) -> Calls:
        """A broker has deleted replicas, or failed to. [TopicDeletionStopReplicaResponseReceived]"""
        failed: list[PartitionAndReplica] = []
        deleted: list[PartitionAndReplica] = []
        for partition, error in partition_errors:
            in_error = request_error is not Errors.NONE or error is not Errors.NONE
            (failed if in_error else deleted).append(PartitionAndReplica(partition, broker))
        return (
            call(self.fail_replica_deletion, tuple(failed)),
            *((call(self.complete_replica_deletion, tuple(deleted)),) if deleted else ()),
        )

    # Topics and partitions.

    def _topics_changed(self, names: Sequence[TopicName]) -> Calls:
        topics = frozenset(names)
        new = tuple(sorted(topics - self.context.state.all_topics))
        deleted = tuple(sorted(self.context.state.all_topics - topics))
        self.context.set_all_topics(topics)
        return (*self.zk_client.get_full_replica_assignment_for_topics(new), then(self._topics_read, deleted))

    def _topics_read(self, assignments: Assignments, deleted: Sequence[TopicName]) -> Calls:
        for topic in deleted:
            self.context.remove_topic(topic)
        return self._add_partitions(assignments)

    def _add_partitions(self, assignments: Assignments) -> Calls:
        for partition, assignment in assignments:
            self.context.update_partition_full_replica_assignment(partition, assignment)
        return self.on_new_partition_creation(tuple(partition for partition, _ in assignments))

    def on_new_partition_creation(self, partitions: tuple[TopicPartition, ...]) -> Calls:
        """These partitions are new."""
        return (
            call(self.partitions_become, partitions, NewPartition),
            call(self._replicas_of, partitions, NewReplica),
            call(self.partitions_become, partitions, OnlinePartition, OFFLINE),
            call(self._replicas_of, partitions, OnlineReplica),
        )

    def _replicas_of(self, partitions: tuple[TopicPartition, ...], target: ReplicaState) -> Calls:
        return self.replicas_become(self.context.replicas_for_partition(partitions), target)

    def _topic_modified(self, read: Assignments, topic: TopicName) -> Calls:
        added = tuple(
            (partition, assignment)
            for partition, assignment in read
            if not self.context.partition_replica_assignment(partition)
        )
        if not added:
            return ()
        if not self.is_topic_queued_up_for_deletion(topic):
            return self._add_partitions(added)
        if not self.design.restore_assignment:
            return ()
        return (
            *self.zk_client.get_children(topic_partitions_path(topic)),
            then(self._restore, topic, tuple(partition for partition, _ in read)),
        )

    def _restore(self, existing: Sequence[str], topic: TopicName, read: tuple[TopicPartition, ...]) -> Calls:
        """Keep the known assignments of the partitions that already have nodes, and drop the others."""
        assignments = {
            partition: self.context.partition_full_replica_assignment(partition)
            for partition in read
            if str(partition.partition) in existing
        }
        return (*self.zk_client.set_topic_assignment(topic, assignments), then(self._restored))

    def _restored(self, responses: Sequence[ZkResponse]) -> None:
        maybe_throw(responses[0])

    # Deletions.

    def _deletions_changed(self, topics: Sequence[TopicName]) -> Calls:
        if not self.delete_topic_enable:
            return self.remove_disabled_deletions(tuple(topics))
        there = tuple(topic for topic in topics if topic in self.context.state.all_topics)
        gone = tuple(topic for topic in topics if topic not in self.context.state.all_topics)
        return (*self.zk_client.delete_topic_deletions(gone), call(self._delete_topics, there))

    def _delete_topics(self, topics: tuple[TopicName, ...]) -> Calls:
        if not topics:
            return ()
        busy = self.context.state.partitions_being_reassigned | self.elections_in_progress
        waiting = {partition.topic for partition in busy}
        self.mark_topic_ineligible_for_deletion(topic for topic in topics if topic in waiting)
        return self.enqueue_topics_for_deletion(topics)
