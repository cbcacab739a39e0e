"""What an active controller knows, as a part: the variables over which `ControllerContext` works.

The rules are those of `statemachines.controller.context`. The part says how large each variable is, and does nothing
by itself: a system asks `ControllerContext(s.context)`.

Left out, until a system has them: log directories that fail.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch
from spec.language import Domain, Part, Partial, Size, State, partial_mapping, subset_of, variable
from statemachines.controller.context import ControllerContext
from statemachines.messages.leader_and_isr import LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.tables.partition import PartitionState
from statemachines.tables.replica import ReplicaState
from statemachines.zookeeper.tree import ZkVersion

__all__ = ["Context", "ContextPart"]


class Context(State):
    """What a controller knows; of one that is not active, nothing [ControllerContext.scala, 3.9]."""

    epoch: ControllerEpoch = variable("The controller's own epoch; 0 if it is not active.")
    epoch_zk_version: ZkVersion = variable(
        "The version of /controller_epoch that goes with it.", of=lambda self: self.domain_of(ControllerEpoch)
    )
    shutting_down_broker_ids: frozenset[BrokerId] = variable("The brokers that have asked for a controlled shutdown.")
    all_topics: frozenset[TopicName] = variable("The topics that it has heard of.")
    partitions_being_reassigned: frozenset[TopicPartition] = variable(
        "The partitions that it moves from some brokers to others.", of=lambda self: self.reassigned
    )
    topics_to_be_deleted: frozenset[TopicName] = variable(
        "The topics that are to be deleted.", of=lambda self: self.deleted
    )
    topics_with_deletion_started: frozenset[TopicName] = variable(
        "Those of them whose partitions do not exist for it any more.", of=lambda self: self.deleted
    )
    topics_ineligible_for_deletion: frozenset[TopicName] = variable(
        "Those of them that have to wait, as it believes.", of=lambda self: self.deleted
    )
    partition_assignments: Partial[TopicPartition, ReplicaAssignment] = variable(
        "Which brokers keep a partition.", of=lambda self, partition: self.assignments[partition]
    )
    partition_leadership_info: Partial[TopicPartition, LeaderIsrAndControllerEpoch] = variable(
        "The leaders and ISRs that it read or wrote last."
    )
    live_broker_epochs: Partial[BrokerId, BrokerEpoch] = variable(
        "The brokers that it takes for registered, those that are shutting down among them."
    )
    replicas_on_offline_dirs: Partial[BrokerId, frozenset[TopicPartition]] = variable(
        "None.", of=lambda self: partial_mapping((), (frozenset(),))
    )
    partition_states: Partial[TopicPartition, PartitionState] = variable("The states of partitions.")
    replica_states: Partial[PartitionAndReplica, ReplicaState] = variable("The states of replicas.")


@dataclass(frozen=True)
class ContextPart(Part[Context]):
    """A controller's context.

    Args:
        type_sizes: the sizes of the types in it, as the system has them.
        assignments: how each partition may be assigned. Where there is one way to some replica, it is not reassigned.
        deletable: the topics that may be to be deleted.
    """

    type_sizes: Mapping[Any, Size]
    assignments: Mapping[TopicPartition, Collection[ReplicaAssignment]]
    deletable: Collection[TopicName] = ()

    def sizes(self) -> Mapping[Any, Size]:
        """As in the system."""
        return self.type_sizes

    @property
    def reassigned(self) -> Domain[frozenset[TopicPartition]]:
        """Every set of partitions that may be reassigned at a time."""
        several = (partition for partition, ways in self.assignments.items() if sum(map(_is_kept, ways)) > 1)
        return subset_of(tuple(several))

    @property
    def deleted(self) -> Domain[frozenset[TopicName]]:
        """Every set of topics that may be to be deleted."""
        return subset_of(tuple(self.deletable))

    def of(self, s: Context) -> ControllerContext:
        """The context, over this state."""
        return ControllerContext(s)


def _is_kept(assignment: ReplicaAssignment) -> bool:
    """Whether some broker keeps the partition; none does when its topic is deleted."""
    return bool(assignment.replicas)
