"""Broker changes: brokers that start, die or restart, and log directories that fail.

An event of /brokers/ids says only that something has changed. The controller reads the brokers, and compares them
with those that it knows. A *bounced* broker is registered under a later epoch than the known one: it restarted
between two reads, and is handled as dead and then new. Until 2.1 a broker had no epoch, and a bounced one went
unnoticed [B5, KAFKA-7235, 2.2].

    a new broker    the others learn of it, and it learns of all partitions. Its replicas -> OnlineReplica, so it
                    learns their leaders; partitions without leader get an election; reassignments to it and deletions
                    of topics on it resume
    a dead one      partitions whose leader is not online -> OfflinePartition, and get an election; then its replicas
                    -> OfflineReplica, out of the ISRs. Those of topics to be deleted are not deletable now
    a failed disk   its broker reports it in ZooKeeper, without the replicas: all of them receive their leaders, and
                    those that answer KAFKA_STORAGE_ERROR are offline, like those of a dead broker

Elections come before replicas leave the ISRs. So if an election finds another leader, it has removed the dead from
the ISR, and replicas receive the same leader epoch a second time, which they refuse.

Left out: BrokerModifications with its handlers of brokers' nodes, because addresses are left out; features.

[processBrokerChange, onBrokerStartup, onBrokerFailure, onReplicasBecomeOffline in KafkaController.scala, 3.9]
"""

from collections.abc import Collection, Iterable, Sequence

from election.ids import BrokerEpoch, BrokerId
from statemachines.controller.calls import Calls, always, call, then
from statemachines.controller.control_responses import LeaderAndIsrResponse
from statemachines.controller.partition_reassignment import PartitionReassignment
from statemachines.controller.state_change import ElectionOutcome
from statemachines.controller.zk_requests import ZkResponse
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import LOG_DIR_EVENT_NOTIFICATION
from statemachines.tables.partition import OfflinePartition
from statemachines.tables.replica import OfflineReplica, OnlineReplica


class BrokerChanges(PartitionReassignment):
    """The part of a controller that follows brokers and their disks."""

    # Events.

    def process_broker_change(self) -> Calls:
        """The children of /brokers/ids have changed. [BrokerChange]"""
        return (*self.zk_client.get_all_broker_and_epochs_in_cluster(), then(self._brokers_changed))

    def process_log_dir_event_notification(self, notifications: Sequence[str] | None = None) -> Calls:
        """A broker has lost a log directory; these notifications were read already. [LogDirEventNotification]"""
        if notifications is not None:
            return self._log_dirs_failed(notifications)
        return (*self.zk_client.get_children(LOG_DIR_EVENT_NOTIFICATION, watch=True), then(self._log_dirs_failed))

    def process_leader_and_isr_response_received(self, response: LeaderAndIsrResponse, broker: BrokerId) -> Calls:
        """A broker has reported which of its replicas it can serve. [LeaderAndIsrResponseReceived]"""
        if response.errorCode is not Errors.NONE:
            return ()
        before = self.context.state.replicas_on_offline_dirs.get(broker, frozenset())
        online = {partition for partition, error in response.partitionErrors if error is Errors.NONE}
        offline = {partition for partition, error in response.partitionErrors if error is Errors.KAFKA_STORAGE_ERROR}
        now = frozenset((before - online) | offline)
        self.context.state.replicas_on_offline_dirs[broker] = now
        new = tuple(PartitionAndReplica(partition, broker) for partition in sorted(now - before))
        return self.on_replicas_become_offline(new) if new else ()

    # Brokers.

    def _brokers_changed(self, registered: Sequence[tuple[BrokerId, BrokerEpoch]]) -> Calls:
        current, known = dict(registered), dict(self.context.state.live_broker_epochs)
        new = tuple(sorted(current.keys() - known.keys()))
        dead = tuple(sorted(known.keys() - current.keys()))
        bounced = tuple(
            sorted(
                broker
                for broker in current.keys() & known.keys()
                if self.design.broker_epoch and current[broker] > known[broker]
            )
        )
        for broker in new:
            self.channels.add_broker(broker)
        for broker in bounced:
            self.channels.remove_broker(broker)
        for broker in bounced:
            self.channels.add_broker(broker)
        for broker in dead:
            self.channels.remove_broker(broker)
        if not self.design.broker_epoch:  # the live brokers were replaced as a whole
            self.context.set_live_brokers(current)
        return (
            *self._startup_calls(new, current),
            *self._failure_calls(bounced),
            *self._startup_calls(bounced, current),
            *self._failure_calls(dead),
        )

    def _startup_calls(self, brokers: Sequence[BrokerId], epochs: dict[BrokerId, BrokerEpoch]) -> Calls:
        registered = tuple((broker, epochs[broker]) for broker in brokers)
        return (call(self._start_brokers, registered),) if brokers else ()

    def _failure_calls(self, brokers: Sequence[BrokerId]) -> Calls:
        return (call(self._fail_brokers, tuple(brokers)),) if brokers else ()

    def _start_brokers(self, registered: Sequence[tuple[BrokerId, BrokerEpoch]]) -> Calls:
        self.context.add_live_brokers(dict(registered))
        return self.on_broker_startup(tuple(broker for broker, _ in registered))

    def _fail_brokers(self, brokers: Sequence[BrokerId]) -> Calls:
        self.context.remove_live_brokers(brokers)
        return self.on_broker_failure(brokers)

    def on_broker_startup(self, new_brokers: Sequence[BrokerId]) -> Calls:
        """These brokers have started."""
        self._forget_offline_dirs(new_brokers)
        if self.design.brokers_only_metadata:
            existing = tuple(broker for broker in self.all_brokers() if broker not in new_brokers)
            self.send_update_metadata_request(existing)
            self.send_update_metadata_request(new_brokers, self._partitions_for_new_brokers())
        else:
            self.send_update_metadata_request(self.all_brokers())
        replicas = self.context.replicas_on_brokers(new_brokers)
        topics = tuple(dict.fromkeys(replica.topic_partition.topic for replica in replicas))
        return (
            call(self.replicas_become, replicas, OnlineReplica),
            call(self.partition_state_machine.trigger_online_partition_state_change),
            call(self._resume_reassignments_to, tuple(new_brokers)),
            call(self._resume_deletions_on_new_brokers, topics),
        )

    def _partitions_for_new_brokers(self) -> Sequence[TopicPartition]:
        """The partitions that have had a leader; until 2.6 including those to be deleted."""
        if self.design.queued_until_deleted:
            return self.context.partitions_with_leaders()
        return tuple(self.context.state.partition_leadership_info)

    def on_broker_failure(self, dead_brokers: Sequence[BrokerId]) -> Calls:
        """These brokers have died."""
        self._forget_offline_dirs(dead_brokers)
        self.context.state.shutting_down_broker_ids -= frozenset(dead_brokers)
        return self.on_replicas_become_offline(self.context.replicas_on_brokers(dead_brokers), dead_brokers)

    def on_replicas_become_offline(
        self, new_offline_replicas: Sequence[PartitionAndReplica], gone: Collection[BrokerId] = ()
    ) -> Calls:
        """These replicas are no longer online: their brokers died, or their log directories failed.

        Args:
            new_offline_replicas: the replicas.
            gone: the dead brokers. Until 1.0 only the partitions that they led lose their leader.
        """
        for_deletion: list[PartitionAndReplica] = []
        not_for_deletion: list[PartitionAndReplica] = []
        for replica in new_offline_replicas:
            queued = self.is_topic_queued_up_for_deletion(replica.topic_partition.topic)
            (for_deletion if queued else not_for_deletion).append(replica)
        offline = self.context.partitions_with_offline_leader()
        if not self.design.leaderless_lose_leader:
            offline = tuple(each for each in offline if self.leadership_of(each).leader_and_isr.leader in gone)
        nothing_else = not not_for_deletion if self.design.metadata_without_election else not offline
        return (
            call(self.partitions_become, offline, OfflinePartition),
            call(self.partition_state_machine.trigger_online_partition_state_change),
            then(self._take_offline_after_elections, tuple(for_deletion), tuple(not_for_deletion), nothing_else),
        )

    def _take_offline_after_elections(
        self,
        results: Sequence[tuple[TopicPartition, ElectionOutcome]],
        for_deletion: tuple[PartitionAndReplica, ...],
        not_for_deletion: tuple[PartitionAndReplica, ...],
        nothing_else: bool,
    ) -> Calls:
        """Leaders have been elected; now replicas go offline.

        If that sends nothing, brokers are informed of the remaining brokers. Until 3.0 they were not if a leader was
        lost and no other found, because the condition was whether any had been lost [KAFKA-13225].
        """
        elected = any(isinstance(outcome, LeaderAndIsr) for _, outcome in results)
        tell = nothing_else and not (elected and self.design.metadata_without_election)
        return (
            call(self.replicas_become, not_for_deletion, OfflineReplica),
            call(self.fail_replica_deletion, for_deletion),
            *((call(self._tell_all_of_brokers),) if tell else ()),
        )

    def _tell_all_of_brokers(self) -> None:
        self.send_update_metadata_request(self.all_brokers())

    def _resume_reassignments_to(self, brokers: Sequence[BrokerId]) -> Calls:
        """Partitions that move to these brokers may be able to continue now."""
        return self.maybe_resume_reassignments(
            partition
            for partition in self.reassigned_partitions()
            if set(brokers) & set(self.reassignment_target(partition))
        )

    def _resume_deletions_on_new_brokers(self, topics: Iterable[TopicName]) -> Calls:
        return self.resume_deletion_for_topics(filter(self.is_topic_queued_up_for_deletion, topics))

    def _forget_offline_dirs(self, brokers: Iterable[BrokerId]) -> None:
        for broker in brokers:
            self.context.state.replicas_on_offline_dirs.pop(broker, None)

    # Disks.

    def _log_dirs_failed(self, notifications: Sequence[str]) -> Calls:
        paths = tuple(f"{LOG_DIR_EVENT_NOTIFICATION}/{each}" for each in notifications)
        return (
            *self.zk_client.get_data(paths),
            then(self._on_broker_log_dir_failure),
            always(call(self.zk_client.delete, paths)),
        )

    def _on_broker_log_dir_failure(self, answers: Sequence[ZkResponse | None]) -> Calls:
        """All replicas on these brokers receive their leaders; the replicas that cannot follow will report it."""
        brokers = tuple(sorted({answer.data for answer in answers if answer is not None}))
        return self.replicas_become(self.context.replicas_on_brokers(brokers), OnlineReplica)
