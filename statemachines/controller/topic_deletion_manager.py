"""TopicDeletionManager: how topics are deleted, replica by replica, and when that is tried again.

A topic that is queued waits while it is *ineligible*: a broker with one of its replicas is down, one of its
partitions is being reassigned, or a broker could not delete. A broker that returns, or a reassignment that ends,
resumes it. Then

    partitions          -> Offline -> NonExistent, once; brokers are told that they have no leader (-2)
    replicas, offline   -> ReplicaDeletionIneligible, and so is the topic
    replicas, online    -> Offline, which stops them -> ReplicaDeletionStarted: StopReplica with the log
    a broker's answer   -> ReplicaDeletionSuccessful, or Ineligible; and deletions are resumed
    all successful      -> NonExistentReplica; the topic's node goes with all below it, then what is configured, then
                        the node that said that it is to be deleted; and the controller forgets it

Resuming goes through all queued topics: those whose replicas are all deleted are done; of those that no broker is
about to delete, Ineligible replicas become Offline again, and eligible topics begin again. Without
`delete.topic.enable` none of this happens, and who asks for a deletion only has the node removed.

Where a replica has no state the search for it throws, and with it ends what has resumed the deletions: of none of the
queued topics behind it, until another controller takes over and gives every replica a state. So it is after a
reassignment of a partition that never had a leader, whose added replicas are assigned and never begun, and after an
event that created a topic and was cut short.

That a topic has to wait is not forgotten when it is gone, as it may be by then: a broker dies behind its answer, and
marks it. One of the same name is not deleted until a broker with a replica of it starts, or another controller takes
over [K8, open; `forget_ineligible` is a proposal].

Until 2.4 deletions began, and began again, topic by topic. Until 2.6 a topic was no longer queued when its nodes were
deleted, so if that failed it was not tried again before the next controller. Until 2.0 partitions became Offline and
NonExistent when all replicas of their topic were deleted, and not when that began.

[TopicDeletionManager.scala, 1.1, 2.2, 2.4, 3.9]
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from statemachines.controller.calls import Calls, EventFailed, EventFailure, Frame, StackFrames, call
from statemachines.controller.event_driver import EventDriver
from statemachines.controller.zk_client import ControllerZkClient
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.tables.partition import NonExistentPartition, OfflinePartition
from statemachines.tables.replica import (
    NonExistentReplica,
    OfflineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)

__all__ = ["TopicDeletionManager"]


class TopicDeletionManager(EventDriver):
    """The part of a controller that deletes topics."""

    # What others ask of it.

    def init_topic_deletion_manager(self, topics: Iterable[TopicName], ineligible: Iterable[TopicName]) -> Calls:
        """A controller takes over: these topics are to be deleted, and these have to wait [init]."""
        topics = tuple(sorted(topics))
        if not self.delete_topic_enable:
            return self.zk_client.delete_topic_deletions(topics)
        self.context.queue_topic_deletion(topics)
        self.mark_topic_ineligible_for_deletion(ineligible)
        return ()

    def try_topic_deletion(self) -> Calls:
        """A controller takes over, and has started."""
        return self.resume_deletions() if self.delete_topic_enable else ()

    def enqueue_topics_for_deletion(self, topics: Iterable[TopicName]) -> Calls:
        """Topics are to be deleted."""
        if not self.delete_topic_enable:
            return ()
        topics = tuple(topics)
        self.context.queue_topic_deletion(topics)
        if not self.design.allow_requeued_deletion:
            self._require_preferred_replicas(topics)
        return self.resume_deletions()

    def resume_deletion_for_topics(self, topics: Iterable[TopicName]) -> Calls:
        """A broker with replicas of these topics is up, or their reassignment is done."""
        resumed = self.context.state.topics_to_be_deleted & frozenset(topics)
        if not self.delete_topic_enable or not resumed:
            return ()
        self.context.state.topics_ineligible_for_deletion -= resumed
        return self.resume_deletions()

    def fail_replica_deletion(self, replicas: Sequence[PartitionAndReplica]) -> Calls:
        """Replicas could not be deleted: their brokers are gone, or have answered with an error."""
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
        """Those of these topics that are to be deleted have to wait."""
        if self.delete_topic_enable:
            halted = self.context.state.topics_to_be_deleted & frozenset(topics)
            self.context.state.topics_ineligible_for_deletion |= halted

    def is_topic_queued_up_for_deletion(self, topic: TopicName) -> bool:
        """Whether a topic is to be deleted."""
        return self.delete_topic_enable and self.context.is_topic_queued_up_for_deletion(topic)

    # What it does.

    def resume_deletions(self) -> Calls:
        """Go on with all topics that are to be deleted, as far as they can be."""
        return self._resume_deletions_of(tuple(sorted(self.context.state.topics_to_be_deleted)), (), ())

    def _resume_deletions_of(
        self, queued: Sequence[TopicName], for_retry: tuple[TopicName, ...], for_deletion: tuple[TopicName, ...]
    ) -> Calls:
        """Go on with these, and then with those of which that has been found."""
        for at, topic in enumerate(queued):
            self._require_states(topic)
            if self.context.are_all_replicas_in_state(topic, ReplicaDeletionSuccessful):
                return (
                    call(self._complete_delete_topic, topic),
                    call(self._resume_deletions_of, queued[at + 1 :], for_retry, for_deletion),
                )
            if self.context.is_any_replica_in_state(topic, ReplicaDeletionStarted):
                continue
            if self.context.is_any_replica_in_state(topic, ReplicaDeletionIneligible):
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
        """For a metric, of each partition that has had a leader [cleanPreferredReplicaImbalanceMetric]."""
        for partition in self._partitions_of(topics):
            if self.context.leadership_of(partition) and not self.context.partition_replica_assignment(partition):
                raise EventFailed(EventFailure.NotAssigned)

    def _require_states(self, topic: TopicName) -> None:
        for replica in self.context.replicas_for_topic(topic):
            state = self.context.state.replica_states.get(replica)
            if state is None:
                raise EventFailed(EventFailure.NoReplicaState)
            if state is ReplicaDeletionStarted:  # then Kafka looks no further
                return

    def _retry_deletion_for_ineligible_replicas(self, topics: Sequence[TopicName]) -> Calls:
        """Who could not be deleted is offline again, from where it can be tried."""
        failed = [
            replica
            for topic in topics
            for replica in self.context.replicas_in_state(topic, ReplicaDeletionIneligible)
        ]
        return self.replicas_become(failed, OfflineReplica)

    def _complete_delete_topic(self, topic: TopicName) -> Calls:
        """All replicas of a topic are gone, and so is the topic."""
        if not self.design.delete_leftover and topic not in self.context.state.all_topics:
            raise EventFailed(EventFailure.NoTopic)
        self.handlers.mute_partition_modifications(topic)
        replicas = self.context.replicas_in_state(topic, ReplicaDeletionSuccessful)
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
        """The deletion of these topics begins, or begins again."""
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
        """What happens to these topics from now on, happens to replicas alone."""
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
        """Replicas are stopped, and then deleted; where one is offline, its topic has to wait."""
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

    def _partitions_of(self, topics: Iterable[TopicName]) -> tuple[TopicPartition, ...]:
        return tuple(partition for topic in topics for partition in self.context.partitions_for_topic(topic))

    # What may be left.

    FORGETS: ClassVar[tuple[Frame, ...]] = (
        Frame(ControllerZkClient.delete_topic_configs),
        Frame(ControllerZkClient.delete_topic_deletions),
        Frame(_remove_topic),
        Frame(_resume_deletions_of, {"queued": ((),), "for_retry": ((),), "for_deletion": ((),)}),
    )
    """When the nodes of the last topic are gone."""
    STACK_FRAMES: ClassVar[StackFrames] = (
        (Frame(mark_topic_ineligible_for_deletion), Frame(resume_deletions)),
        (Frame(_on_topic_deletion),),
        (
            Frame(EventDriver.partitions_become, {"target": (NonExistentPartition,)}),
            Frame(_begin_topic_deletion),
            Frame(_tell_of_deletion),
            Frame(_on_partition_deletion),
        ),
        (
            Frame(EventDriver.replicas_become, {"target": (OfflineReplica,)}),
            Frame(EventDriver.replicas_become, {"target": (ReplicaDeletionStarted,)}),
            Frame(mark_topic_ineligible_for_deletion),
        ),
        (Frame(ControllerZkClient.delete_topic_znode), *FORGETS),
    )
