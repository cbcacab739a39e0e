"""The actions of administrators, the controller and brokers on a topic that is deleted."""

from __future__ import annotations

from election.ids import BrokerId
from spec.language import action, bound, require
from spec.systems.cluster import TOPIC, TOPIC_PATH
from spec.systems.topic_deletion.state import (
    MARK,
    ClusterWithDeletions,
    Deletion,
    TopicDeletionVariables,
    may_be_recreated,
    may_elect,
    may_expand,
)
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.messages.control_requests import ControlRequest, LeaderAndIsrRequest, StopReplicaRequest
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import TopicAssignment


class TopicDeletionActions(TopicDeletionVariables):
    """The actions on a topic that is deleted and created again."""

    # The controller, over a state.

    def receive(self, s: ClusterWithDeletions, broker: BrokerId, request: ControlRequest) -> None:
        """A broker obeys a request. If it runs, it creates a replica's log at once, and deletes one later."""
        super().receive(s, broker, request)
        if broker not in s.registered:
            return
        match request:
            case LeaderAndIsrRequest(partitionStates=states):
                for partition_state in states:
                    replica = PartitionAndReplica(partition_state.partition, broker)
                    s.logs |= {replica}
                    s.deletions.pop(replica, None)
            case StopReplicaRequest(partitionStates=stopped):
                for each in stopped:
                    if each.deletePartition or request.deletePartitions:
                        replica = PartitionAndReplica(each.partition, broker)
                        s.deletions[replica] = Deletion.Asked

    def resign(self, s: ClusterWithDeletions) -> None:
        """The controller resigns, and the deletion requests on their way are lost."""
        super().resign(s)
        s.deletions.clear()

    def forget_roles(self, s: ClusterWithDeletions, broker: BrokerId) -> None:
        """A broker forgets its roles and its unanswered deletions. Its return resumes failed deletions."""
        super().forget_roles(s, broker)
        for partition in self.assignments:
            replica = PartitionAndReplica(partition, broker)
            if s.deletions.get(replica) in (Deletion.Asked, Deletion.Refused):
                del s.deletions[replica]

    @action(actor="controller", receiver="ZooKeeper")
    def become_controller(self, s: ClusterWithDeletions) -> None:
        """The controller is elected, reads ZooKeeper, and starts its state machines. [onControllerFailover]"""
        super().become_controller(s)
        s.topic_modified = False

    @action(when=may_elect, actor="controller", receiver="ZooKeeper")
    def answer_partition_state_machine(self, s: ClusterWithDeletions) -> None:
        """ZooKeeper answers the requests of the partition state machine."""
        super().answer_partition_state_machine(s)

    # Topics.

    @action(actor="administrator", receiver="ZooKeeper")
    def delete_topic(self, s: ClusterWithDeletions) -> None:
        """An administrator asks for the topic's deletion."""
        require(s.exists and not s.deletion_requested)
        self.zk.servers(s.zk).create(None, MARK)

    @action(actor="controller", receiver="ZooKeeper")
    def topic_deletion(self, s: ClusterWithDeletions) -> None:
        """The controller hears of the requested deletion. [TopicDeletion]"""
        require(
            s.active and s.idle and s.deletion_requested and not s.deletion_queued and TOPIC in s.context.all_topics
        )
        self.begin(s, ControllerEventProcessor.process_topic_deletion)

    @action(when=may_be_recreated, actor="administrator", receiver="ZooKeeper")
    def create_topic(self, s: ClusterWithDeletions) -> None:
        """An administrator creates the topic again, after it is gone. [validateTopicCreate]"""
        require(not s.exists and not (self.admin.refuse_marked_topic and s.deletion_requested))
        bound(s.creations < self.creations)
        s.creations += 1
        self.zk.servers(s.zk).create(None, TOPIC_PATH, TopicAssignment.encode(self.initial_partitions))

    @action(when=may_be_recreated, actor="controller", receiver="ZooKeeper")
    def topic_change(self, s: ClusterWithDeletions) -> None:
        """The controller hears of the new topic. [TopicChange, onNewPartitionCreation]"""
        require(s.active and s.idle and s.exists and TOPIC not in s.context.all_topics)
        s.topic_modified = False
        self.begin(s, ControllerEventProcessor.process_topic_change)

    @action(when=lambda self: self.partition_additions, actor="administrator", receiver="ZooKeeper")
    def add_partition(self, s: ClusterWithDeletions) -> None:
        """An administrator adds a partition to the topic, even if the topic is marked for deletion."""
        require(s.exists and s.partitions_in_node == tuple(self.initial_partitions))
        self.zk.servers(s.zk).set(None, TOPIC_PATH, TopicAssignment.encode(self.assignments))
        s.topic_modified = True

    @action(when=lambda self: self.partition_additions, actor="controller", receiver="ZooKeeper")
    def partition_modifications(self, s: ClusterWithDeletions) -> None:
        """The controller hears that the topic's node has changed. [PartitionModifications]"""
        require(s.active and s.idle and s.topic_modified and TOPIC in s.context.all_topics)
        s.topic_modified = False
        self.begin(s, ControllerEventProcessor.process_partition_modifications, TOPIC)

    # Brokers that delete.

    @action(actor="broker")
    def delete_log(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> None:
        """A broker deletes a replica, as requested. [StopReplica]"""
        replica = PartitionAndReplica(partition, broker)
        require(s.deletions.get(replica) is Deletion.Asked)
        s.deletions[replica] = Deletion.Done
        s.logs -= {replica}

    @action(when=lambda self: self.deletion_failures > 0, actor="broker")
    def fail_to_delete_log(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> None:
        """A broker cannot delete a replica. [KAFKA_STORAGE_ERROR]"""
        replica = PartitionAndReplica(partition, broker)
        require(s.deletions.get(replica) is Deletion.Asked)
        bound(s.deletion_failures < self.deletion_failures)
        s.deletion_failures += 1
        s.deletions[replica] = Deletion.Failed

    @action(actor="broker", receiver="controller")
    def stop_replica_response(self, s: ClusterWithDeletions, broker: BrokerId) -> None:
        """The controller hears which replicas a broker has deleted. [TopicDeletionStopReplicaResponseReceived]"""
        require(s.active and s.idle)
        replicas = [PartitionAndReplica(partition, broker) for partition in self.assignments]
        require(not any(s.deletions.get(replica) is Deletion.Asked for replica in replicas))
        errors: list[tuple[TopicPartition, Errors]] = []
        for replica in replicas:
            deletion = s.deletions.get(replica)
            if deletion is Deletion.Done:
                del s.deletions[replica]
                errors.append((replica.topic_partition, Errors.NONE))
            elif deletion is Deletion.Failed:
                self.fail_deletion(s, replica)
                errors.append((replica.topic_partition, Errors.KAFKA_STORAGE_ERROR))
        require(errors)
        handler = ControllerEventProcessor.process_topic_deletion_stop_replica_response_received
        self.begin(s, handler, broker, Errors.NONE, tuple(errors))

    def fail_deletion(self, s: ClusterWithDeletions, replica: PartitionAndReplica) -> None:
        """The deletion waits for this broker, unless the broker has died since: then its return resumes it."""
        if replica.replica in s.registered & frozenset(s.context.live_broker_epochs):
            s.deletions[replica] = Deletion.Refused
        else:
            del s.deletions[replica]

    @action(when=lambda self: self.max_crashes > 0, actor="controller", receiver="ZooKeeper")
    def broker_change(self, s: ClusterWithDeletions) -> None:
        """The controller reads which brokers are registered. [BrokerChange, onBrokerStartup]

        It hears a broker's answers from before its death before it hears of its return.
        """
        new = s.registered - frozenset(s.context.live_broker_epochs)
        answered = (replica.replica for replica, deletion in s.deletions.items() if deletion is not Deletion.Refused)
        require(not any(broker in new for broker in answered))
        super().broker_change(s)

    # Leaders.

    @action(when=may_expand, actor="leader", receiver="ZooKeeper")
    def expand_isr(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader adds a broker that follows it to the ISR. [Partition.maybeExpandIsr, 2.6]"""
        super().expand_isr(s, partition, broker)
