"""A controller's client that answers a handler's reads at once, from the variables of a system.

In Kafka a handler's reads are batches of requests like any others, and anything may happen between them. A system may
have the data in variables, and no relevant interleaving. Then this client answers a read in the step that makes it,
without nodes below /brokers/ids and the like. It answers reads of partition states in the same way, except those of a
change of states: they are the state machines' own requests. Writes of the controller are still requests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from election.ids import BrokerEpoch, BrokerId
from spec.parts.zookeeper import Ensemble
from statemachines.controller.calls import Calls, EventFailed, EventFailure, Result
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.zk_client import ControllerZkClient
from statemachines.controller.zk_requests import ZkResponse
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    delete_topics_topic_path,
    topic_partition_path,
    topic_partitions_path,
    topic_path,
)
from statemachines.zookeeper.tree import Code, Node, ZkPath


def notification_of(partition: TopicPartition) -> ZkPath:
    """The notification that the ISR of a partition has changed. Here each partition has its own."""
    return f"{ISR_CHANGE_NOTIFICATION}/{partition}"


class ReadCluster(Protocol):
    """The parts of a cluster that a controller reads, as variables of a system."""

    zk: Ensemble
    registered: frozenset[BrokerId]
    isr_change_notification: frozenset[TopicPartition]
    """The partitions whose leaders have changed their ISRs. The controller is notified and has not read them yet."""

    @property
    def epoch(self) -> int:
        """The controller epoch in ZooKeeper."""

    @property
    def broker_epochs(self) -> Mapping[BrokerId, BrokerEpoch]:
        """The epochs of brokers, at least of the registered ones."""

    def written(self, partition: TopicPartition) -> Node | None:
        """The node of a partition's state, if there is one."""


class ZkClientReadingVariables(ControllerZkClient):
    """A client that answers all reads at once, except those of a change of states.

    `assignments` are those in topics' nodes, where the system leaves these data out.
    """

    def __init__(
        self,
        context: ControllerContext,
        design: ControlDesign,
        cluster: ReadCluster,
        assignments: Mapping[TopicPartition, ReplicaAssignment],
    ) -> None:
        super().__init__(context)
        self.design, self.cluster, self.assignments = design, cluster, assignments

    @property
    def topics(self) -> Collection[TopicName]:
        """The possible topics."""
        return dict.fromkeys(partition.topic for partition in self.assignments)

    def path_exists(self, path: ZkPath, watch: bool = False) -> Calls:
        """Whether the system has the node at this path."""
        return (Result(path in self.cluster.zk.nodes),)

    def get_children(self, path: ZkPath, watch: bool = False) -> Calls:
        """The notifications of ISRs, the topics marked for deletion, or the partitions of a topic."""
        nodes, children = self.cluster.zk.nodes, list[str]()
        if path == ISR_CHANGE_NOTIFICATION:
            notified = self.cluster.isr_change_notification
            children += (str(partition) for partition in self.assignments if partition in notified)
        elif path == DELETE_TOPICS:
            children += (topic for topic in self.topics if delete_topics_topic_path(topic) in nodes)
        else:
            of_topic = (each for each in self.assignments if topic_partitions_path(each.topic) == path)
            children += (str(each.partition) for each in of_topic if topic_partition_path(each) in nodes)
        return (Result(tuple(children)),)

    def get_data(self, paths: Iterable[ZkPath], watch: bool = False) -> Calls:
        """The data of nodes: of a notification its partition, of other nodes the system's data."""
        return (Result(tuple(map(self._data, paths))),)

    def _data(self, path: ZkPath) -> ZkResponse | None:
        for partition in self.assignments:
            if path == notification_of(partition):
                return ZkResponse(Code.OK, (partition,))
        node = self.cluster.zk.nodes.get(path)
        return None if node is None else ZkResponse(Code.OK, node.data)

    @property
    def may_delete(self) -> bool:
        """Whether its deletions take effect: its controller has not been replaced, or no fence checks that."""
        return not self.design.fence_zk or self.context.state.epoch == self.cluster.epoch

    def delete(self, paths: Iterable[ZkPath]) -> Calls:
        """Delete notifications. ZooKeeper refuses a replaced controller, which so learns of its replacement."""
        if any(path.startswith(ISR_CHANGE_NOTIFICATION) for path in paths):
            if not self.may_delete:
                raise EventFailed(EventFailure.ControllerMoved)
            self.forget_notifications()
        return ()

    def forget_notifications(self) -> None:
        """Delete all notifications."""
        if self.cluster.isr_change_notification:
            self.cluster.isr_change_notification = frozenset()

    def get_all_broker_and_epochs_in_cluster(self) -> Calls:
        """The registered brokers, with their epochs."""
        epochs = self.cluster.broker_epochs
        return (Result(tuple((broker, epochs[broker]) for broker in self.cluster.registered)),)

    def get_all_topics_in_cluster(self) -> Calls:
        """The topics that have a node."""
        return (Result(tuple(each for each in self.topics if topic_path(each) in self.cluster.zk.nodes)),)

    def get_full_replica_assignment_for_topics(self, topics: Sequence[TopicName]) -> Calls:
        """The assignments in the nodes of these topics."""
        read: dict[TopicPartition, ReplicaAssignment] = {}
        for topic in topics:
            node = self.cluster.zk.nodes.get(topic_path(topic))
            if node is not None:
                read.update(self.assignments if node.data is None else node.data.decode(topic))
        return (Result(tuple(read.items())),)

    def get_topic_partition_states(self, partitions: Sequence[TopicPartition]) -> Calls:
        """The leaders and ISRs in ZooKeeper."""
        nodes = ((partition, self.cluster.written(partition)) for partition in partitions)
        states = ((partition, node.data.decode(node.version)) for partition, node in nodes if node is not None)
        return (Result(tuple(states)),)
