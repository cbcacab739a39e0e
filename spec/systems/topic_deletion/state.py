"""A cluster whose topic is deleted and created again: its variables, their sizes, and its controller's client."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain, combinations
from typing import Annotated, Any, Final

from spec.by_release import ByRelease
from spec.language import (
    Partial,
    Size,
    constant,
    initial,
    integers,
    left_out,
    say,
    subset_of,
    switches,
    variable,
)
from spec.parts.zk_client import ZkClientReadingVariables
from spec.parts.zookeeper import Znodes
from spec.systems.cluster import TOPIC, TOPIC_PATH, ClusterSpec, ClusterState, isr_may_change
from statemachines.changes.administration import AdminDesign
from statemachines.controller.calls import Calls, call
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.partition_state_machine import OFFLINE
from statemachines.controller.state_change import ChangeDone
from statemachines.controller.zk_client import ControllerZkClient
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.replica_assignment import UNASSIGNED, ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    TopicAssignment,
    TopicPartitionState,
    delete_topics_topic_path,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.tree import Node, ZkPath

Creations = Annotated[int, "how often the topic was created again"]
"""A number of creations."""
DeletionFailures = Annotated[int, "how often a broker could not delete a replica"]
"""A number of errors."""

MARK: Final = delete_topics_topic_path(TOPIC)
"""The node that requests the topic's deletion."""


def children_first(partitions: Iterable[TopicPartition]) -> tuple[ZkPath, ...]:
    """The nodes of a topic with these partitions, in the order of their deletion."""
    of_partitions = ((topic_partition_state_path(each), topic_partition_path(each)) for each in partitions)
    return (*chain.from_iterable(of_partitions), topic_partitions_path(TOPIC), TOPIC_PATH)


class Deletion(Enum):
    """The progress of a broker that must delete a replica."""

    Asked = "the request is on its way to the broker"
    Done = "the replica is deleted, and the answer is on its way to the controller"
    Failed = "it could not be deleted, and the answer is on its way to the controller"
    Refused = "it could not be deleted, and the controller knows"

    def __str__(self) -> str:
        return self.name


class ClusterWithDeletions(ClusterState):
    """A cluster whose topic is deleted and created again, with the logs on its brokers."""

    creations: Creations = variable("How often an administrator created the topic again.")
    deletion_failures: DeletionFailures = variable("How often a broker answered with an error.")
    deletions: Partial[PartitionAndReplica, Deletion] = variable(
        "The replicas that brokers must delete, until the controller hears of the deletion, or a later request "
        "replaces it."
    )
    logs: frozenset[PartitionAndReplica] = variable(
        "The replicas that have a log, on running or dead brokers. Left out: the contents of logs."
    )
    topic_modified: bool = variable("The topic's node has changed since the controller read it.")

    @property
    def exists(self) -> bool:
        """Whether the topic's node exists."""
        return TOPIC_PATH in self.zk.nodes

    @property
    def deletion_requested(self) -> bool:
        """Whether an administrator has requested the topic's deletion."""
        return MARK in self.zk.nodes

    @property
    def deletion_queued(self) -> bool:
        """Whether the controller has heard of the requested deletion. [isTopicQueuedUpForDeletion]"""
        return TOPIC in self.context.topics_to_be_deleted

    def leader(self, partition: TopicPartition) -> int:
        """A partition's leader in ZooKeeper; -1 if there is none."""
        state = self.state(partition)
        return NO_LEADER if state is None else state.leader

    @property
    def partitions_in_node(self) -> tuple[TopicPartition, ...]:
        """The partitions in the topic's node."""
        node = self.zk.nodes.get(TOPIC_PATH)
        return () if node is None else tuple(node.data.decode(TOPIC))


class DeletingZkClient(ZkClientReadingVariables):
    """A client that deletes each node of the topic in a step of its own; see `TopicDeletion`."""

    cluster: ClusterWithDeletions

    def delete_topic_znode(self, topic: TopicName) -> Calls:
        """Delete the topic's nodes, children first, in Kafka's order. Only controllers create more of them."""
        return tuple(call(self.delete_node, path) for path in children_first(self.assignments))

    def delete_node(self, path: ZkPath) -> Calls:
        """Delete a node, if it exists, and end the step."""
        if path not in self.cluster.zk.nodes:
            return ()
        say(f"it deletes {path}")
        if path == TOPIC_PATH and self.cluster.topic_modified:
            self.cluster.topic_modified = False
        return (*ControllerZkClient.delete(self, (path,)), ChangeDone())

    def delete_topic_configs(self, topics: Sequence[TopicName]) -> Calls:
        """There is no configuration to delete."""
        return ()

    def delete_topic_deletions(self, topics: Sequence[TopicName]) -> Calls:
        """Delete the node that requested the deletion, in one step with the controller's cleanup."""
        if not topics:
            return ()
        say(f"it deletes {MARK}")
        return ControllerZkClient.delete(self, (MARK,))


def may_be_recreated(self: TopicDeletionVariables) -> bool:
    """Whether the topic is created again."""
    return self.creations > 0


def may_be_leaderless(self: TopicDeletionVariables) -> bool:
    """Whether the topic may be created while no broker runs."""
    return self.creations > 0 and self.max_crashes >= self.brokers


def may_elect(self: TopicDeletionVariables) -> bool:
    """Whether partitions are new, or lose their leaders."""
    return self.creations > 0 or self.partition_additions or self.max_crashes > 0


def may_expand(self: TopicDeletionVariables) -> bool:
    """Whether a broker that keeps the topic may be out of sync."""
    return isr_may_change(self) and (self.isr_changes > 1 or self.max_crashes > 0)


def may_be_fenced(self: TopicDeletionVariables) -> bool:
    """Whether a controller may find, while it deletes nodes, that another has been elected."""
    return self.controller_changes > 0 and self.design.fence_zk


def deletion_may_wait(self: TopicDeletionVariables) -> bool:
    """Whether a deletion may have to wait."""
    return self.max_crashes > 0 or self.deletion_failures > 0


class TopicDeletionVariables(ClusterSpec[ClusterWithDeletions]):
    """The variables of a topic that is deleted, their sizes, and the rests of its events."""

    max_crashes: int = constant(1, "Bound: how often brokers die.", at_least=0, at_most=9)
    isr_changes: int = constant(0, "Bound: how often the ISR of a partition is changed.", at_least=0, at_most=9)
    max_leader_epoch: int = constant(9, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=30)
    partitions: int = constant(1, "Partitions of the topic; each prefers another broker.", at_least=1, at_most=2)
    creations: int = constant(1, "Bound: how often the topic is created again.", at_least=0, at_most=3)
    deletion_failures: int = constant(1, "Bound: how often brokers answer with errors.", at_least=0, at_most=5)
    partition_additions: bool = constant(False, "An administrator adds one more partition.")

    design: ControlDesign = switches(
        ControlDesign,
        ByRelease(ControlDesign),
        only=[
            ControlDesign.fence_zk,
            ControlDesign.offline_on_failover,
            ControlDesign.restore_assignment,
            ControlDesign.leaderless_offline,
            ControlDesign.clear_batch,
            ControlDesign.forget_ineligible,
        ],
    )
    admin: AdminDesign = switches(AdminDesign, ByRelease(AdminDesign), only=[AdminDesign.refuse_marked_topic])

    strategies = (OFFLINE,)
    deletable = (TOPIC,)
    zk_client = DeletingZkClient

    # Sizes.

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """Every broker keeps every partition, even the added one; each partition prefers another broker."""
        ids = tuple(self.broker_ids)
        return {
            TopicPartition(TOPIC, number): ReplicaAssignment((*ids[number:], *ids[:number]))
            for number in range(self.partitions + self.partition_additions)
        }

    @property
    def replicas(self) -> Sequence[PartitionAndReplica]:
        """The replicas, in the order of a controller that iterates over partitions."""
        return [
            PartitionAndReplica(each, broker) for each, keep in self.assignments.items() for broker in keep.replicas
        ]

    @property
    def initial_partitions(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """The partitions of the topic when it is created."""
        return dict(list(self.assignments.items())[: self.partitions])

    @property
    def all_assignments(self) -> Mapping[TopicPartition, Collection[ReplicaAssignment]]:
        """The assignment of each partition, and none, once its replicas are deleted."""
        return {partition: (assignment, UNASSIGNED) for partition, assignment in self.assignments.items()}

    def is_to_be_deleted(self, s: ClusterWithDeletions, partition: TopicPartition) -> bool:
        """Whether an administrator has requested the topic's deletion."""
        return s.deletion_requested

    def sizes(self) -> Mapping[Any, Size]:
        """With the numbers of administrators' and brokers' actions."""
        return {
            **super().sizes(),
            Creations: integers(0, self.creations),
            DeletionFailures: integers(0, self.deletion_failures),
            Deletion: [
                each for each in Deletion if self.deletion_failures or each in (Deletion.Asked, Deletion.Done)
            ],
        }

    @property
    def more_nodes(self) -> Collection[Znodes]:
        """The topic's node, and the node that requests its deletion."""
        keep = self.assignments
        some = chain.from_iterable(combinations(keep, length) for length in range(len(keep) + 1))
        data = [
            TopicAssignment.encode({each: keep[each] for each in partitions})
            for partitions in (some if self.partition_additions else [tuple(keep)])
        ]
        return (
            Znodes(TOPIC_PATH, data=data, version=left_out(), children=subset_of(("partitions",))),
            Znodes("/admin"),
            Znodes(DELETE_TOPICS),
            Znodes(MARK),
        )

    @initial
    def a_cluster_set_up(self, s: ClusterWithDeletions) -> None:
        """All brokers run, the topic exists, and all its replicas are in sync; there is no controller."""
        for path in ("/brokers", "/brokers/topics", "/admin", DELETE_TOPICS):
            s.zk.nodes[path] = Node()
        s.zk.nodes[TOPIC_PATH] = Node(
            data=TopicAssignment.encode(self.initial_partitions), children=frozenset({"partitions"})
        )
        numbers = frozenset(str(partition.partition) for partition in self.initial_partitions)
        s.zk.nodes[topic_partitions_path(TOPIC)] = Node(children=numbers)
        for partition, assignment in self.initial_partitions.items():
            state = TopicPartitionState(LeaderAndIsr(assignment.replicas[0], 0, assignment.replicas), 0)
            s.zk.nodes[topic_partition_path(partition)] = Node(children=frozenset({"state"}))
            s.zk.nodes[topic_partition_state_path(partition)] = Node(data=state)
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        s.registered = frozenset(self.broker_ids)
        s.logs = frozenset(replica for replica in self.replicas if replica.topic_partition in self.initial_partitions)
