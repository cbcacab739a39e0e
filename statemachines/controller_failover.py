"""Controller failover: what a broker that has been elected does before it processes events, as calls.

It reads all that there is, and then sets everything going again that its predecessor may have left half done:

    notifications of failed disks and of ISRs are deleted, since all is read now
    brokers, topics, assignments and states of partitions are read, and channels to the brokers opened
    topics that are to be deleted are read; those with a replica offline, or being reassigned, have to wait
    UpdateMetadata: which brokers there are. A broker that has not heard of a leader refuses to follow it [B12]
    the state machines start: replicas first, so that the dead leave the ISRs before leaders are elected
    reassignments, deletions and the preferred elections that stand in ZooKeeper go on

The order is that of `statemachines.failover`, where each release's stands. What is followed here of older ones are
the fields of `ControlDesign`; that they read the context in another order, and before they listen, is not. If any of
it fails the broker has another controller elected, and resigns if one is already [elect].

Who resigns forgets all of it. What an event that was cut short has left in the batches of requests stays there:
elected again, that broker fails in every change of states that takes this batch [B21, open; `clear_batch` is a
proposal]. Until 0.10.2 only the epoch was forgotten. The next failover reads the rest anew, but what was being
reassigned is added to: reassignments that others have finished since begin once more [B26, KAFKA-5310, 0.11]. Until
1.1 failed log directories were remembered, though other controllers had heard since that they were back.

[onControllerFailover, onControllerResignation, initializeControllerContext in KafkaController.scala, 3.9]
"""

from collections.abc import Sequence

from election.ids import BrokerEpoch, BrokerId
from statemachines.controller_calls import Await, Calls, call, then
from statemachines.controller_zk_client import Assignments
from statemachines.isr_change_notifications import IsrChangeNotifications
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.replica_leader_election import ElectionTrigger, ElectionType, ReplicaLeaderElection
from statemachines.zk_data import (
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
)
from statemachines.zookeeper.tree import ZkPath

__all__ = ["ControllerFailover"]


class ControllerFailover(IsrChangeNotifications, ReplicaLeaderElection):
    """The part of a controller that takes over."""

    def on_controller_failover(self) -> Calls:
        """The broker has been elected: the context has its epoch, and nothing else."""
        tell = (call(self._tell_all),)
        return (
            call(self._expect, PREFERRED_REPLICA_ELECTION),
            call(self._expect, REASSIGN_PARTITIONS),
            call(self._delete_notifications, LOG_DIR_EVENT_NOTIFICATION),
            call(self._delete_notifications, ISR_CHANGE_NOTIFICATION),
            call(self.initialize_controller_context),
            *(() if self.design.kip_455 else (call(self._initialize_zk_reassignment),)),
            call(self._fetch_topic_deletions_in_progress),
            *(tell if self.design.metadata_first else ()),
            call(self._start_replica_state_machine),
            call(self._start_partition_state_machine),
            call(self._initialize_partition_reassignments),
            call(self.try_topic_deletion),
            call(self.get_preferred_replica_election, then(self._resume_preferred_replica_elections)),
            *(() if self.design.metadata_first else tell),
        )

    def on_controller_resignation(self) -> None:
        """The broker is controller no longer, or its session has ended."""
        self.channels.shutdown()
        reassigned = self.context.state.partitions_being_reassigned
        kept = {} if self.design.forget_failed_dirs else dict(self.context.state.replicas_on_offline_dirs)
        self.context.reset_context()
        if self.design.reset_context:
            self.reassignment_targets.clear()
        else:
            self.context.state.partitions_being_reassigned = reassigned
        self.context.state.replicas_on_offline_dirs.update(kept)
        if self.design.clear_batch:
            for each in (self.batch, self.partition_state_machine.batch, self.replica_state_machine.batch):
                each.clear()

    # The context.

    def _expect(self, path: ZkPath) -> Calls:
        """The watch for a node is armed [registerZNodeChangeHandlerAndCheckExistence]."""
        return self.path_exists(path, then(self._ignore), watch=True)

    def _delete_notifications(self, path: ZkPath) -> Calls:
        return self.get_children(path, then(self._delete_children, path), watch=True)

    def _delete_children(self, names: Sequence[str], path: ZkPath) -> Calls:
        return self.delete(f"{path}/{name}" for name in names)

    def initialize_controller_context(self) -> Calls:
        """Read all that there is."""
        return (
            call(self.get_all_broker_and_epochs_in_cluster, then(self._set_live_brokers)),
            call(self.get_all_topics_in_cluster, then(self._set_all_topics)),
            call(self._read_leaders_and_isrs),
            call(self._start_channels),
        )

    def _set_live_brokers(self, registered: Sequence[tuple[BrokerId, BrokerEpoch]]) -> None:
        self.context.set_live_brokers(dict(registered))

    def _set_all_topics(self, topics: Sequence[TopicName]) -> Calls:
        self.context.set_all_topics(topics)
        return self.get_full_replica_assignment_for_topics(topics, then(self._set_assignments))

    def _set_assignments(self, assignments: Assignments) -> None:
        for partition, assignment in assignments:
            self.context.update_partition_full_replica_assignment(partition, assignment)
        moving = {partition for partition, assignment in assignments if assignment.is_being_reassigned}
        self.context.state.partitions_being_reassigned |= moving
        self.context.state.partition_leadership_info.clear()
        self.context.state.shutting_down_broker_ids = frozenset()

    def _read_leaders_and_isrs(self) -> Calls:
        return self.update_leader_and_isr_cache(self.context.all_partitions())

    def _start_channels(self) -> None:
        self.channels.startup(self.all_brokers())

    def _fetch_topic_deletions_in_progress(self) -> Calls:
        return self.get_children(DELETE_TOPICS, then(self._init_topic_deletions), watch=True)

    def _init_topic_deletions(self, topics: Sequence[TopicName]) -> Calls:
        _, offline = self.context.online_and_offline_replicas()
        ineligible = {replica.topic_partition.topic for replica in offline}
        ineligible |= {partition.topic for partition in self.context.state.partitions_being_reassigned}
        return self.init_topic_deletion_manager(topics, ineligible)

    # What goes on.

    def _tell_all(self) -> None:
        self.send_update_metadata_request(self.all_brokers())

    def _start_replica_state_machine(self) -> Calls:
        return (Await(self.replica_state_machine.startup()),)

    def _start_partition_state_machine(self) -> Calls:
        return (Await(self.partition_state_machine.startup()),)

    def _initialize_zk_reassignment(self) -> Calls:
        """Until 2.3: what is being reassigned stands in the node alone."""
        read = self.get_data((REASSIGN_PARTITIONS,), then(self.remember_zk_reassignment))
        return (*read, call(self.drop_reassigned)) if self.design.drop_reassigned else read

    def _initialize_partition_reassignments(self) -> Calls:
        if not self.design.kip_455:
            return self.resume_zk_reassignments()
        return self.resume_zk_partition_reassignment(then(self._resume_other_reassignments))

    def _resume_other_reassignments(self, resumed: Sequence[TopicPartition]) -> Calls:
        moving = self.context.state.partitions_being_reassigned
        return self.maybe_resume_reassignments(sorted(moving - frozenset(resumed)))

    def _resume_preferred_replica_elections(self, partitions: Sequence[TopicPartition]) -> Calls:
        """Those that are assigned, not led as they ought to be, and not to be deleted."""
        pending = tuple(
            partition
            for partition in partitions
            if self.context.partition_replica_assignment(partition)
            and self.leadership_of(partition).leader_and_isr.leader != self.preferred_replica(partition)
            and not self.is_topic_queued_up_for_deletion(partition.topic)
        )
        return self.on_replica_election(pending, ElectionType.PREFERRED, ElectionTrigger.ZkTriggered)
