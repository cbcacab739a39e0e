"""TopicDeletionManager: how topics are deleted, replica by replica, and when a deletion is tried again.

A queued topic waits while it is *ineligible*: a broker with one of its replicas is down, one of its partitions is
being reassigned, or a broker failed to delete. A broker that returns, or a reassignment that ends, resumes it. Then

    partitions          -> Offline -> NonExistent, once; brokers receive that they have no leader (-2)
    replicas, offline   -> ReplicaDeletionIneligible, and so is the topic
    replicas, online    -> Offline, which stops them -> ReplicaDeletionStarted: StopReplica with the log
    a broker's response -> ReplicaDeletionSuccessful, or Ineligible; and deletions are resumed
    all successful      -> NonExistentReplica; the topic's node is deleted recursively, then its configuration, then
                        the node that requested its deletion; and the controller forgets it

A resumption checks all queued topics: those whose replicas are all deleted are completed. For those without a pending
deletion at a broker, Ineligible replicas become Offline again, and eligible topics begin again. Without
`delete.topic.enable` none of this happens; a request for a deletion is only removed.

If a replica has no state, the search for it throws, which ends the resumption: the queued topics after it are skipped
until another controller takes over and gives every replica a state. This happens after a reassignment of a partition
that never had a leader, whose added replicas are assigned but never started, and after an interrupted event that
created a topic.

A topic stays marked as ineligible even after its deletion. That can happen: a broker dies after its response, and
marks the topic. Another topic of the same name is not deleted until a broker with a replica of it starts, or another
controller takes over [K8, open; `forget_ineligible` is a proposal].

Until 2.4 deletions began, and resumed, topic by topic. Until 2.6 a topic was no longer queued while its nodes were
deleted, so a failure was not retried before the next controller. Until 2.0 partitions became Offline and NonExistent
after all replicas of their topic had been deleted, not at the beginning.

[TopicDeletionManager.scala, 1.1, 2.2, 2.4, 3.9]
"""

from collections.abc import Iterable, Sequence

from statemachines.controller.calls import Calls, EventFailed, EventFailure, call
from statemachines.controller.event_driver import EventDriver
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.tables.partition import NonExistentPartition, OfflinePartition
from statemachines.tables.replica import (
    NonExistentReplica,
    OfflineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
    ReplicaState,
)


class TopicDeletionManager(EventDriver):
    """The part of a controller that deletes topics."""

    # Interface for other parts.

    def init_topic_deletion_manager(self, topics: Iterable[TopicName], ineligible: Iterable[TopicName]) -> Calls:
        """Queue these topics for deletion, and mark these as ineligible, when a controller takes over [init]."""
        topics = tuple(sorted(topics))
        if not self.delete_topic_enable:
            return self.remove_disabled_deletions(topics)
        self.context.queue_topic_deletion(topics)
        self.mark_topic_ineligible_for_deletion(ineligible)
        return ()

    def remove_disabled_deletions(self, topics: tuple[TopicName, ...]) -> Calls:
        """Topics cannot be deleted: remove the nodes that request their deletion."""
        return self.zk_client.delete_topic_deletions(topics) if self.design.remove_disabled_deletions else ()

    def try_topic_deletion(self) -> Calls:
        """Resume deletions at the end of a failover."""
        return self.resume_deletions() if self.delete_topic_enable else ()

    def enqueue_topics_for_deletion(self, topics: Iterable[TopicName]) -> Calls:
        """Queue topics for deletion."""
        if not self.delete_topic_enable:
            return ()
        topics = tuple(topics)
        self.context.queue_topic_deletion(topics)
        if not self.design.allow_requeued_deletion:
            self._require_preferred_replicas(topics)
        return self.resume_deletions()

    def resume_deletion_for_topics(self, topics: Iterable[TopicName]) -> Calls:
        """Resume topics: a broker with replicas of them has started, or their reassignment is complete."""
        resumed = self.context.state.topics_to_be_deleted & frozenset(topics)
        if not self.delete_topic_enable or not resumed:
            return ()
        self.context.state.topics_ineligible_for_deletion -= resumed
        return self.resume_deletions()

    def fail_replica_deletion(self, replicas: Sequence[PartitionAndReplica]) -> Calls:
        """Replicas could not be deleted: their brokers are down, or have responded with an error."""
        failed = tuple(each for each in replicas if self.is_topic_queued_up_for_deletion(each.topic_partition.topic))
        if not failed:
            return ()
        topics = tuple(dict.fromkeys(each.topic_partition.topic for each in failed))
        return (
            call(self.replicas_become, failed, ReplicaDeletionIneligible),
            call(self.mark_topic_ineligible_for_deletion, topics),
            call(self.resume_deletions),
        )

    def complete_replica_deletion(self, replicas: Sequence[PartitionAndReplica]) -> Calls:
        """Brokers have deleted replicas."""
        deleted = tuple(each for each in replicas if self.is_topic_queued_up_for_deletion(each.topic_partition.topic))
        return (
            call(self.replicas_become, deleted, ReplicaDeletionSuccessful),
            call(self.resume_deletions),
        )

    def mark_topic_ineligible_for_deletion(self, topics: Iterable[TopicName]) -> None:
        """Mark those of these topics that are queued for deletion as ineligible."""
        if self.delete_topic_enable:
            halted = self.context.state.topics_to_be_deleted & frozenset(topics)
            self.context.state.topics_ineligible_for_deletion |= halted

    def is_topic_queued_up_for_deletion(self, topic: TopicName) -> bool:
        """Whether a topic is queued for deletion."""
        return self.delete_topic_enable and self.context.is_topic_queued_up_for_deletion(topic)

    # Deletion.

    def resume_deletions(self) -> Calls:
        """Resume the deletion of all queued topics, as far as possible."""
        return self._resume_deletions_of(tuple(sorted(self.context.state.topics_to_be_deleted)), (), ())

    def _resume_deletions_of(
        self, queued: Sequence[TopicName], for_retry: tuple[TopicName, ...], for_deletion: tuple[TopicName, ...]
    ) -> Calls:
        """Check these topics, and then retry or begin those found so far."""
        for at, topic in enumerate(queued):
            self._require_states(topic)
            if self.context.are_all_replicas_in_state(topic, ReplicaDeletionSuccessful):
                return (
                    call(self._complete_delete_topic, topic),
                    call(self._resume_deletions_of, queued[at + 1 :], for_retry, for_deletion),
                )
            if self.context.is_any_replica_in_state(topic, ReplicaDeletionStarted):
                continue
            if self._replicas_in_state(topic, ReplicaDeletionIneligible):
                for_retry += (topic,)
            if self.context.is_topic_eligible_for_deletion(topic):
                for_deletion += (topic,)
            if not self.design.delete_together:
                return (
                    *self._try_deletion(for_retry, for_deletion),
                    call(self._resume_deletions_of, queued[at + 1 :], (), ()),
                )
        return self._try_deletion(for_retry, for_deletion)

    def _try_deletion(self, for_retry: tuple[TopicName, ...], for_deletion: tuple[TopicName, ...]) -> Calls:
        return (
            call(self._retry_deletion_for_ineligible_replicas, for_retry),
            call(self._on_topic_deletion, for_deletion),
        )

    def _require_preferred_replicas(self, topics: Iterable[TopicName]) -> None:
        """For a metric, require replicas of each partition with a leader [cleanPreferredReplicaImbalanceMetric]."""
        for partition in self._partitions_of(topics):
            if self.context.leadership_of(partition) and not self.context.partition_replica_assignment(partition):
                raise EventFailed(EventFailure.NotAssigned)

    def _require_states(self, topic: TopicName) -> None:
        for replica in self.context.replicas_for_topic(topic):
            state = self.context.state.replica_states.get(replica)
            if state is None:
                raise EventFailed(EventFailure.NoReplicaState)
            if state is ReplicaDeletionStarted:  # here Kafka stops searching
                return

    def _retry_deletion_for_ineligible_replicas(self, topics: Sequence[TopicName]) -> Calls:
        """Replicas that could not be deleted go offline again, so that deletion can be retried."""
        failed = [
            replica for topic in topics for replica in self._replicas_in_state(topic, ReplicaDeletionIneligible)
        ]
        return self.replicas_become(failed, OfflineReplica)

    def _complete_delete_topic(self, topic: TopicName) -> Calls:
        """All replicas of a topic are deleted: delete the topic."""
        if not self.design.delete_leftover and topic not in self.context.state.all_topics:
            raise EventFailed(EventFailure.NoTopic)
        self.handlers.muted.add(topic)
        replicas = self._replicas_in_state(topic, ReplicaDeletionSuccessful)
        return (
            call(self.replicas_become, replicas, NonExistentReplica),
            *(() if self.design.delete_partitions_first else self._partitions_of_are_gone((topic,))),
            *(() if self.design.queued_until_deleted else (call(self._unqueue, topic),)),
            call(self.zk_client.delete_topic_znode, topic),
            call(self.zk_client.delete_topic_configs, (topic,)),
            call(self.zk_client.delete_topic_deletions, (topic,)),
            call(self._remove_topic, topic),
        )

    def _unqueue(self, topic: TopicName) -> None:
        self.context.state.topics_to_be_deleted -= {topic}
        self.context.state.topics_with_deletion_started -= {topic}

    def _remove_topic(self, topic: TopicName) -> None:
        self.context.remove_topic(topic)
        if self.design.forget_ineligible:
            self.context.state.topics_ineligible_for_deletion -= {topic}

    def _on_topic_deletion(self, topics: Sequence[TopicName]) -> Calls:
        """Begin, or resume, the deletion of these topics."""
        if not topics:
            return ()
        unseen = tuple(topic for topic in topics if not self.context.is_topic_deletion_in_progress(topic))
        begin = (*self._partitions_of_are_gone(unseen), call(self._begin_topic_deletion, unseen))
        return (
            *(begin if self.design.delete_partitions_first else ()),
            call(self._tell_of_deletion, topics),
            call(self._on_partition_deletion, topics),
        )

    def _partitions_of_are_gone(self, topics: Sequence[TopicName]) -> Calls:
        """From now on only the replicas of these topics change."""
        partitions = self._partitions_of(topics)
        return (
            call(self.partitions_become, partitions, OfflinePartition),
            call(self.partitions_become, partitions, NonExistentPartition),
        )

    def _begin_topic_deletion(self, topics: Sequence[TopicName]) -> None:
        if topics:
            self.context.begin_topic_deletion(topics)

    def _tell_of_deletion(self, topics: Sequence[TopicName]) -> None:
        """Brokers forget the partitions of these topics."""
        self.send_update_metadata_request(self.all_brokers(), self._partitions_of(topics))

    def _on_partition_deletion(self, topics: Sequence[TopicName]) -> Calls:
        """Stop replicas, and then delete them; a topic with an offline replica becomes ineligible."""
        dead: list[PartitionAndReplica] = []
        for_deletion: list[PartitionAndReplica] = []
        for replica in self.context.replicas_for_partition(self._partitions_of(topics)):
            if not self.context.is_replica_online(replica.replica, replica.topic_partition):
                dead.append(replica)
            elif self.context.replica_state(replica) is not ReplicaDeletionSuccessful:
                for_deletion.append(replica)
        ineligible = tuple(dict.fromkeys(replica.topic_partition.topic for replica in dead))
        return (
            call(self.replicas_become, tuple(dead), ReplicaDeletionIneligible),
            call(self.replicas_become, tuple(for_deletion), OfflineReplica),
            call(self.replicas_become, tuple(for_deletion), ReplicaDeletionStarted),
            call(self.mark_topic_ineligible_for_deletion, ineligible),
        )

    def _replicas_in_state(self, topic: TopicName, state: ReplicaState) -> tuple[PartitionAndReplica, ...]:
        return self.context.replicas_in_state(topic, state, assigned=self.design.delete_assigned)

    def _partitions_of(self, topics: Iterable[TopicName]) -> tuple[TopicPartition, ...]:
        return tuple(partition for topic in topics for partition in self.context.partitions_for_topic(topic))
