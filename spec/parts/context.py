"""The knowledge of an active controller, as a part, and what ZooKeeper has of the same.

The part has the variables over which `ControllerContext` works; the rules are those of
`statemachines.controller.context`. The part gives the size of each variable, and has no actions: a system uses
`ControllerContext(s.context)`. `PartitionStates` reads the controller epoch and the partition states in ZooKeeper.

Left out, until a system has them: failing log directories.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch
from spec.language import Domain, Part, Partial, Size, State, partial_mapping, subset_of, variable
from spec.parts.zookeeper import Ensemble
from statemachines.controller.context import ControllerContext
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import topic_partition_state_path
from statemachines.tables.partition import PartitionState
from statemachines.tables.replica import ReplicaState
from statemachines.zookeeper.tree import Node, ZkVersion

# In ZooKeeper.


class PartitionStates(State):
    """A state whose ZooKeeper has a controller epoch and partition states."""

    zk: Ensemble

    @property
    def epoch(self) -> ControllerEpoch:
        """The controller epoch in ZooKeeper."""
        epoch: ControllerEpoch = self.zk.nodes[CONTROLLER_EPOCH].data
        return epoch

    def written(self, partition: TopicPartition) -> Node | None:
        """The node of a partition's state, if there is one."""
        return self.zk.nodes.get(topic_partition_state_path(partition))

    def state(self, partition: TopicPartition) -> LeaderAndIsr | None:
        """A partition's leader and ISR in ZooKeeper."""
        node = self.written(partition)
        return None if node is None else node.data.leader_and_isr

    def leader_isr_and_controller_epoch(self, partition: TopicPartition) -> LeaderIsrAndControllerEpoch | None:
        """The state of a partition, as a controller would read it now."""
        node = self.written(partition)
        return None if node is None else node.data.decode(node.version)


# In the controller.


class Context(State):
    """A controller's knowledge; empty if the controller is not active [ControllerContext.scala, 3.9]."""

    epoch: ControllerEpoch = variable("The controller's own epoch; 0 if it is not active.")
    epoch_zk_version: ZkVersion = variable(
        "The version of /controller_epoch at that epoch.", of=lambda self: self.domain_of(ControllerEpoch)
    )
    shutting_down_broker_ids: frozenset[BrokerId] = variable("The brokers that have asked for a controlled shutdown.")
    all_topics: frozenset[TopicName] = variable("The topics that it has heard of.")
    partitions_being_reassigned: frozenset[TopicPartition] = variable(
        "The partitions that it moves between brokers.", of=lambda self: self.reassigned
    )
    topics_to_be_deleted: frozenset[TopicName] = variable(
        "The topics marked for deletion.", of=lambda self: self.deleted
    )
    topics_with_deletion_started: frozenset[TopicName] = variable(
        "The marked topics whose partitions no longer exist for it.", of=lambda self: self.deleted
    )
    topics_ineligible_for_deletion: frozenset[TopicName] = variable(
        "The marked topics that must wait, as it believes.", of=lambda self: self.deleted
    )
    partition_assignments: Partial[TopicPartition, ReplicaAssignment] = variable(
        "The brokers that keep a partition.", of=lambda self, partition: self.assignments[partition]
    )
    partition_leadership_info: Partial[TopicPartition, LeaderIsrAndControllerEpoch] = variable(
        "The last leaders and ISRs that it read or wrote."
    )
    live_broker_epochs: Partial[BrokerId, BrokerEpoch] = variable(
        "The brokers that it believes registered, also those that are shutting down."
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
        assignments: all assignments that each partition may have. A partition with a single one that is not empty is
            never reassigned.
        deletable: the topics that may be marked for deletion.
    """

    type_sizes: Mapping[Any, Size]
    assignments: Mapping[TopicPartition, Collection[ReplicaAssignment]]
    deletable: Collection[TopicName] = ()

    def sizes(self) -> Mapping[Any, Size]:
        """As in the system."""
        return self.type_sizes

    @property
    def reassigned(self) -> Domain[frozenset[TopicPartition]]:
        """Every set of partitions that may be reassigned at once: those with several ways to be kept by brokers."""
        kept = {partition: [each for each in ways if each.replicas] for partition, ways in self.assignments.items()}
        return subset_of(tuple(partition for partition, ways in kept.items() if len(ways) > 1))

    @property
    def deleted(self) -> Domain[frozenset[TopicName]]:
        """Every set of topics that may be marked for deletion."""
        return subset_of(tuple(self.deletable))

    def of(self, s: Context) -> ControllerContext:
        """The context, over this state."""
        return ControllerContext(s)
