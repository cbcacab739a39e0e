"""A topic is deleted while brokers die and controllers follow each other: does all of it disappear?"""

from __future__ import annotations

from election.ids import BrokerId
from spec.language import Grid, Look, Step, Tag, invariant, picture, sometimes, transition_invariant, view
from spec.systems.cluster import ANSWERS, TOPIC, ClusterSpec
from spec.systems.topic_deletion.actions import TopicDeletionActions
from spec.systems.topic_deletion.state import (
    MARK,
    ClusterWithDeletions,
    Deletion,
    deletion_may_wait,
    may_be_fenced,
    may_be_leaderless,
    may_be_recreated,
)
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.partition import NewPartition, NonExistentPartition, OfflinePartition, OnlinePartition
from statemachines.tables.replica import (
    NewReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)


class TopicDeletion(TopicDeletionActions):
    """A controller, and a topic that is deleted and created again under the same name.

    The controller is `ControllerEventProcessor`, and its deletions are those of `TopicDeletionManager`.
    `spec.systems.partitions` says how an event is divided into steps, which controller acts, and when brokers die and
    return; this system shares those rules. Here a deletion is also divided at each write. Each node of the topic is
    deleted in a step of its own, children first. Anything may happen between these steps, even a failover. The node
    that requested the deletion is deleted in one step with the controller's own cleanup. The controller reads nothing
    in between. An administrator who sees the node gone earlier can only create the topic, and the controller hears of
    that later.

    A broker that must delete a replica does so at any later time, answers with an error, or dies before. An idle
    controller hears of it, and hears several answers of one broker at once. Brokers obey all other requests at once.
    Requests on their way are lost when a controller resigns. In Kafka the broker may still obey and lose a log. The
    next controller then sends it the leader, and after that the deletion. A request of the old controller never
    overtakes one of the next, since the broker would refuse it.

    As Kafka's tools ensure, an administrator deletes only an existing topic, and creates one only if it does not
    exist and, since 3.1, does not still await its deletion. So a controller hears of a topic before it hears of its
    deletion. With `partition_additions` an administrator adds a partition at any time. The controller's reads and
    writes for it are one step, so no administrator writes in between.

    As in `partitions`, a controller does not die. A fence interrupts it, and fences exist only since 2.1. Before, an
    event goes on to its end.

    Left out: all that `partitions` leaves out, except deletion; several topics; reassignment, for which a deletion
    should wait; controlled shutdown, requested elections, configuration; topics that cannot be deleted
    (delete.topic.enable); administrators who do not check first; failures of ZooKeeper other than fences.
    """

    name = "topic-deletion"
    leaves_out = "queues of requests, bounced brokers, several topics, reassignment, controlled shutdown"

    # Properties of deletions.

    @transition_invariant(of=(*ANSWERS, "next_change", "partition_modifications"))
    def fenced_writes(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """C4: a controller that writes, or deletes, has the epoch in ZooKeeper at that moment."""
        if before.context.epoch == before.epoch:
            return True
        if any(before.written(partition) != after.written(partition) for partition in self.assignments):
            return False
        return (before.partitions_in_node, before.exists, before.deletion_requested) == (
            after.partitions_in_node,
            after.exists,
            after.deletion_requested,
        )

    @transition_invariant
    def only_marked_topic_deleted(
        self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions
    ) -> bool:
        """The topic's node is deleted only on request; the requesting node last, unless there is a new topic."""
        if before.exists and not after.exists:
            return before.deletion_requested and after.deletion_requested
        if not self.admin.refuse_marked_topic:
            return True
        return after.deletion_requested or not before.deletion_requested or not after.exists

    @transition_invariant
    def deleted_partitions_known(self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions) -> bool:
        """P16: a deleted topic's partitions are all deleted, except any that the controller has not heard of."""
        if after.exists or not before.exists or before.topic_modified:
            return True
        return all(partition in before.context.partition_assignments for partition in before.partitions_in_node)

    @invariant
    def no_log_left(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> bool:
        """P16: no broker, running or not, has a log of a deleted topic."""
        return s.exists or PartitionAndReplica(partition, broker) not in s.logs

    def context_has_no_topic(self, s: ClusterWithDeletions) -> bool:
        """Whether the controller is idle and knows of no topic."""
        return s.active and s.idle and TOPIC not in s.context.all_topics and not s.deletion_queued

    @invariant(where=context_has_no_topic)
    def context_forgets_topic(self, s: ClusterWithDeletions) -> bool:
        """C14: the controller knows nothing of a deleted topic, except that its partitions do not exist."""
        context = s.context
        if context.topics_with_deletion_started or context.topics_ineligible_for_deletion:
            return False
        if context.partition_assignments or context.partition_leadership_info or context.replica_states:
            return False
        return all(state is NonExistentPartition for state in context.partition_states.values())

    @transition_invariant(of=ANSWERS)
    def no_election_for_deleted(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """No leader is elected for a topic that the controller knows it must delete."""
        if not before.deletion_queued:
            return True
        leaders = ((before.leader(partition), after.leader(partition)) for partition in self.assignments)
        return all(new in (NO_LEADER, old) for old, new in leaders)

    @invariant(where=ClusterSpec.quiet)
    def deletion_waits_for_reason(self, s: ClusterWithDeletions) -> bool:
        """When all is quiet, a waiting deletion waits for a dead broker, or for one that could not delete."""
        if not s.deletion_queued:
            return True
        if Deletion.Refused in s.deletions.values():
            return True
        replicas = self.context.of(s.context).replicas_for_topic(TOPIC)
        return any(replica.replica not in s.registered for replica in replicas)

    def quiet(self, s: ClusterWithDeletions) -> bool:
        """Whether the cluster is quiet, and no answer about a deletion is still to come."""
        if (
            not super().quiet(s)
            or s.exists != (TOPIC in s.context.all_topics)
            or s.deletion_requested != s.deletion_queued
            or s.topic_modified
        ):
            return False
        return all(deletion is Deletion.Refused for deletion in s.deletions.values())

    # Witnesses: every row of the tables that a deletion takes.

    def a_partition_becomes(
        self, before: ClusterWithDeletions, after: ClusterWithDeletions, source: object, target: object
    ) -> bool:
        """Whether some partition moves from one state to the other in this step."""
        return any(self.partition_changes(before, after, each, source, target) for each in self.assignments)

    def a_replica_becomes(
        self, before: ClusterWithDeletions, after: ClusterWithDeletions, source: object, target: object
    ) -> bool:
        """Whether some replica moves from one state to the other in this step."""
        return any(self.replica_changes(before, after, each, source, target) for each in self.replicas)

    @sometimes(when=may_be_recreated, of="next_change")
    def topic_created_again(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """NonExistentReplica -> NewReplica, NonExistentPartition -> NewPartition, for a topic that was deleted."""
        new = NewPartition in after.context.partition_states.values()
        return new and self.a_replica_becomes(before, after, None, NewReplica)

    @sometimes(when=may_be_leaderless)
    def deleted_before_it_was_led(
        self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions
    ) -> bool:
        """NewPartition -> OfflinePartition."""
        return self.a_partition_becomes(before, after, NewPartition, OfflinePartition)

    @sometimes(of="next_change")
    def partition_removed(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """OfflinePartition -> NonExistentPartition."""
        return self.a_partition_becomes(before, after, OfflinePartition, NonExistentPartition)

    @sometimes(of="next_change")
    def a_deletion_starts(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """OfflineReplica -> ReplicaDeletionStarted."""
        return self.a_replica_becomes(before, after, OfflineReplica, ReplicaDeletionStarted)

    @sometimes(when=lambda self: self.max_crashes > 0)
    def a_dead_replica_is_not_deleted(
        self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions
    ) -> bool:
        """OfflineReplica -> ReplicaDeletionIneligible."""
        return self.a_replica_becomes(before, after, OfflineReplica, ReplicaDeletionIneligible)

    @sometimes(of="stop_replica_response")
    def a_replica_is_deleted(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """ReplicaDeletionStarted -> ReplicaDeletionSuccessful."""
        return self.a_replica_becomes(before, after, ReplicaDeletionStarted, ReplicaDeletionSuccessful)

    @sometimes(when=deletion_may_wait)
    def a_replica_cannot_be_deleted(
        self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions
    ) -> bool:
        """ReplicaDeletionStarted -> ReplicaDeletionIneligible."""
        return self.a_replica_becomes(before, after, ReplicaDeletionStarted, ReplicaDeletionIneligible)

    @sometimes(of="next_change")
    def a_replica_is_forgotten(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """ReplicaDeletionSuccessful -> NonExistentReplica."""
        return self.a_replica_becomes(before, after, ReplicaDeletionSuccessful, None)

    @sometimes(when=deletion_may_wait)
    def deletion_retried(self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions) -> bool:
        """ReplicaDeletionIneligible -> OfflineReplica."""
        return self.a_replica_becomes(before, after, ReplicaDeletionIneligible, OfflineReplica)

    @sometimes(when=lambda self: self.max_crashes > 0)
    def back_to_be_deleted(self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions) -> bool:
        """ReplicaDeletionIneligible -> OnlineReplica."""
        return self.a_replica_becomes(before, after, ReplicaDeletionIneligible, OnlineReplica)

    # Other witnesses.

    @sometimes(where=ClusterSpec.quiet)
    def topic_gone(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and there is no topic."""
        return not s.exists

    @sometimes(where=ClusterSpec.quiet, when=may_be_recreated)
    def topic_recreated_online(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and a partition of a topic that was created again is online."""
        return s.creations > 0 and OnlinePartition in s.context.partition_states.values()

    @sometimes(where=ClusterSpec.quiet, when=lambda self: self.max_crashes > 0)
    def deletion_waits_for_broker(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and a deletion waits for a dead broker."""
        return s.deletion_queued and len(s.registered) < self.brokers

    @sometimes(where=ClusterSpec.quiet, when=lambda self: self.deletion_failures > 0)
    def deletion_waits_though_all_run(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and a deletion waits though all brokers run: one of them could not delete."""
        return s.deletion_queued and len(s.registered) == self.brokers

    @sometimes(when=may_be_fenced, of="become_controller")
    def taken_over(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """A new controller finds a topic whose nodes are partly deleted."""
        return after.deletion_requested and after.exists and not any(map(after.written, self.assignments))

    @sometimes(when=may_be_fenced, of="become_controller")
    def only_deletion_request_left(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """A new controller finds only the node that requested the deletion."""
        return after.deletion_requested and not after.exists

    @sometimes(when=lambda self: self.controller_changes > 0, of="become_controller")
    def deleted_log_recreated(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """A new controller makes a broker that has deleted its log follow or lead again."""
        return before.logs < after.logs

    @sometimes(when=lambda self: self.partition_additions, of="partition_modifications")
    def partition_added_to_deleted(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """The controller hears of a partition that was added to a topic marked for deletion."""
        return before.deletion_queued

    # Views: a state in sentences, for the reader of a trace.

    @view
    def existence(self, s: ClusterWithDeletions) -> str:
        """Whether the topic exists, and whether its deletion is requested or waits."""
        if not s.exists:
            return f"there is no {TOPIC}" + (
                f", and {MARK} still requests its deletion" if s.deletion_requested else ""
            )
        asked = f"{TOPIC} exists" if not s.deletion_requested else f"{TOPIC} is marked for deletion"
        if not s.active or (not s.deletion_requested and not s.deletion_queued):
            return asked
        if not s.deletion_queued:
            return f"{asked}, and the controller has not heard of it"
        return asked + (", which has to wait" if TOPIC in s.context.topics_ineligible_for_deletion else "")

    @view
    def replica(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> str:
        """A replica's state in the controller, whether it has a log, and its deletion."""
        at = PartitionAndReplica(partition, broker)
        state, deletion = s.context.replica_states.get(at), s.deletions.get(at)
        shown = [f"is {state.name} to the controller"] if state is not None else []
        shown += ["has a log"] if at in s.logs else []
        shown += [f"must delete it: {deletion.value}"] if deletion is not None else []
        return f"the replica of {partition} on broker {broker} {', '.join(shown)}" if shown else ""

    # Pictures.

    @picture
    def copies(self, s: ClusterWithDeletions) -> Grid:
        """Each replica's state in the controller, its log, and its deletion."""
        rows = []
        for at in self.replicas:
            state, deletion = s.context.replica_states.get(at), s.deletions.get(at)
            log = Tag("log", Look.plain if at.replica in s.registered else Look.gone) if at in s.logs else ""
            shown = "" if deletion is None else Tag(deletion.name, Look.strong, deletion.value)
            rows.append((f"{at.topic_partition} on {at.replica}", "" if state is None else state.name, log, shown))
        return Grid(("replica", "to the controller", "log", "deletion"), rows)
