"""A topic is deleted while brokers die and controllers follow each other: is it ever gone, and is all of it gone?"""

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
    """A controller, and a topic that is deleted and created again by the same name.

    What the controller does is `ControllerEventProcessor`'s, its deletions those of `TopicDeletionManager`; how an
    event is cut into steps, who is the controller and when brokers die and return stands in
    `spec.systems.partitions`, with which this has its rules in common. Here a deletion is cut where it writes, too:
    each node of the topic goes in a step of its own, children first, between which anything may happen, a failover as
    well. The node that asked for the deletion goes in one step with what the controller then forgets: it looks at
    nothing in between, and an administrator who sees that node gone earlier can do no more than create the topic, of
    which the controller hears later.

    A broker that is told to delete a replica does so when it likes, or answers with an error, or dies before; the
    controller hears of it when it has nothing to do, and hears several answers of one broker at once. To all else
    brokers obey at once. What was on its way when a controller resigns is lost: a broker that obeys all the same has
    a log less, of which the next controller has it told who leads, and then to delete it. That a request of the old
    controller overtakes one of the next is left out: the broker refuses it.

    An administrator deletes a topic that there is and creates one that there is not, and that is not still to be
    deleted, as Kafka's tools see to. So a controller hears of a topic before it hears that it is to go. With
    `partition_additions` an administrator adds a partition, at any time; what the controller then reads and writes is
    one step, so that no administrator writes in between.

    As there, a controller does not die: it is cut short by a fence, which only those since 2.1 have. Before, an event
    goes on to its end.

    Left out: what `partitions` leaves out, but for deletion; several topics; reassignment, for which a deletion ought
    to wait, controlled shutdown, elections that are asked for, what is configured; that topics cannot be deleted
    (delete.topic.enable); administrators who do not look first; failures of ZooKeeper but for fences.
    """

    name = "topic-deletion"
    leaves_out = "queues of requests, bounced brokers, several topics, reassignment, controlled shutdown"

    # Properties of deletions.

    @transition_invariant(of=(*ANSWERS, "next_change", "partition_modifications"))
    def fenced_writes(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """C4: a controller that writes, or deletes, has the epoch that is in ZooKeeper at that moment."""
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
        """The topic's node goes only where that was asked for, and what asked for it goes last."""
        if before.exists and not after.exists:
            return before.deletion_requested and after.deletion_requested
        return after.deletion_requested or not before.deletion_requested or not after.exists

    @transition_invariant
    def deleted_partitions_known(self, before: ClusterWithDeletions, step: Step, after: ClusterWithDeletions) -> bool:
        """P16: a topic's node goes with partitions that are deleted, or of which the controller has not heard."""
        if after.exists or not before.exists or before.topic_modified:
            return True
        return all(partition in before.context.partition_assignments for partition in before.partitions_in_node)

    @invariant
    def no_log_left(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> bool:
        """P16: of a topic that is gone no broker has a log, running or not."""
        return s.exists or PartitionAndReplica(partition, broker) not in s.logs

    def context_has_no_topic(self, s: ClusterWithDeletions) -> bool:
        """The controller has nothing to do, and knows of no topic."""
        return s.active and s.idle and TOPIC not in s.context.all_topics and not s.deletion_queued

    @invariant(where=context_has_no_topic)
    def context_forgets_topic(self, s: ClusterWithDeletions) -> bool:
        """C14: of a topic that is gone the controller knows nothing, but that its partitions do not exist."""
        context = s.context
        if context.topics_with_deletion_started or context.topics_ineligible_for_deletion:
            return False
        if context.partition_assignments or context.partition_leadership_info or context.replica_states:
            return False
        return all(state is NonExistentPartition for state in context.partition_states.values())

    @transition_invariant(of=ANSWERS)
    def no_election_for_deleted(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """Of a topic that is to be deleted no leader is elected, once the controller knows."""
        if not before.deletion_queued:
            return True
        leaders = ((before.leader(partition), after.leader(partition)) for partition in self.assignments)
        return all(new in (NO_LEADER, old) for old, new in leaders)

    @invariant(where=ClusterSpec.quiet)
    def deletion_waits_for_reason(self, s: ClusterWithDeletions) -> bool:
        """When all is quiet, a deletion waits for a broker that does not run, or for one that could not delete."""
        if not s.deletion_queued:
            return True
        if Deletion.Refused in s.deletions.values():
            return True
        replicas = self.context.of(s.context).replicas_for_topic(TOPIC)
        return any(replica.replica not in s.registered for replica in replicas)

    def quiet(self, s: ClusterWithDeletions) -> bool:
        """And no answer is to come."""
        if (
            not super().quiet(s)
            or s.exists != (TOPIC in s.context.all_topics)
            or s.deletion_requested != s.deletion_queued
            or s.topic_modified
        ):
            return False
        return all(deletion is Deletion.Refused for deletion in s.deletions.values())

    # What must be able to happen: every row of the tables that a deletion takes.

    def a_partition_becomes(
        self, before: ClusterWithDeletions, after: ClusterWithDeletions, source: object, target: object
    ) -> bool:
        """Whether some partition was in the one state before, and is in the other after it."""
        return any(self.partition_changes(before, after, each, source, target) for each in self.assignments)

    def a_replica_becomes(
        self, before: ClusterWithDeletions, after: ClusterWithDeletions, source: object, target: object
    ) -> bool:
        """Whether some replica was in the one state before, and is in the other after it."""
        return any(self.replica_changes(before, after, each, source, target) for each in self.replicas)

    @sometimes(when=may_be_recreated, of="next_change")
    def topic_created_again(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """NonExistentReplica -> NewReplica, of a topic that was deleted: NonExistentPartition -> NewPartition."""
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

    # What else must be able to happen.

    @sometimes(where=ClusterSpec.quiet)
    def topic_gone(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and there is no topic."""
        return not s.exists

    @sometimes(where=ClusterSpec.quiet, when=may_be_recreated)
    def topic_recreated_online(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and a partition is online of a topic that was created again."""
        return s.creations > 0 and OnlinePartition in s.context.partition_states.values()

    @sometimes(where=ClusterSpec.quiet, when=lambda self: self.max_crashes > 0)
    def deletion_waits_for_broker(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and a deletion waits for a broker that does not run."""
        return s.deletion_queued and len(s.registered) < self.brokers

    @sometimes(where=ClusterSpec.quiet, when=lambda self: self.deletion_failures > 0)
    def deletion_waits_though_all_run(self, s: ClusterWithDeletions) -> bool:
        """All is quiet, and a deletion waits that no broker that returns will resume: one could not delete."""
        return s.deletion_queued and len(s.registered) == self.brokers

    @sometimes(when=may_be_fenced, of="become_controller")
    def taken_over(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """A controller begins with a topic of which nodes are gone already."""
        return after.deletion_requested and after.exists and not any(map(after.written, self.assignments))

    @sometimes(when=may_be_fenced, of="become_controller")
    def only_deletion_request_left(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """A controller begins, and only what asked for the deletion is left."""
        return after.deletion_requested and not after.exists

    @sometimes(when=lambda self: self.controller_changes > 0, of="become_controller")
    def deleted_log_recreated(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """A controller begins, and a broker that had deleted its log is told to follow or lead once more."""
        return before.logs < after.logs

    @sometimes(when=lambda self: self.partition_additions, of="partition_modifications")
    def partition_added_to_deleted(self, before: ClusterWithDeletions, after: ClusterWithDeletions) -> bool:
        """The controller hears of a partition that was added to a topic that it is to delete."""
        return before.deletion_queued

    # What a state means, to the reader of a trace.

    @view
    def existence(self, s: ClusterWithDeletions) -> str:
        """Whether there is a topic, and what is to become of it."""
        if not s.exists:
            return f"there is no {TOPIC}" + (
                f", and {MARK} asks still for its deletion" if s.deletion_requested else ""
            )
        asked = f"{TOPIC} is there" if not s.deletion_requested else f"{TOPIC} is to be deleted"
        if not s.active or (not s.deletion_requested and not s.deletion_queued):
            return asked
        if not s.deletion_queued:
            return f"{asked}, of which the controller has not heard"
        return asked + (", and has to wait" if TOPIC in s.context.topics_ineligible_for_deletion else "")

    @view
    def replica(self, s: ClusterWithDeletions, partition: TopicPartition, broker: BrokerId) -> str:
        """What the controller takes a replica for, and whether it has a log."""
        at = PartitionAndReplica(partition, broker)
        state, deletion = s.context.replica_states.get(at), s.deletions.get(at)
        shown = [f"is {state.name} to the controller"] if state is not None else []
        shown += ["has a log"] if at in s.logs else []
        shown += [f"was told to delete it: {deletion.value}"] if deletion is not None else []
        return f"the replica of {partition} on broker {broker} {', '.join(shown)}" if shown else ""

    # As it is drawn.

    @picture
    def copies(self, s: ClusterWithDeletions) -> Grid:
        """What the controller takes each replica for, which have logs, and which are to delete them."""
        rows = []
        for at in self.replicas:
            state, deletion = s.context.replica_states.get(at), s.deletions.get(at)
            log = Tag("log", Look.plain if at.replica in s.registered else Look.gone) if at in s.logs else ""
            shown = "" if deletion is None else Tag(deletion.name, Look.strong, deletion.value)
            rows.append((f"{at.topic_partition} on {at.replica}", "" if state is None else state.name, log, shown))
        return Grid(("replica", "to the controller", "log", "told to delete it"), rows)
