"""A controller that reads at once what it reads for no change of states, from the variables of a system.

Kafka's reads of a handler are batches of requests like others, between which anything may happen. Where a system has
what is read in variables, and nothing in between that matters, such a read is answered in the step in which it is
asked, without nodes below /brokers/ids and the like. States of partitions are read so as well, but those that a
change of states reads: these are the state machines' own requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from election.ids import BrokerId
from spec.parts.zookeeper import Ensemble
from statemachines.controller_broker_request_batch import ControllerBrokerRequestBatch
from statemachines.controller_calls import BrokerChannels, Call, Calls
from statemachines.controller_event_processor import ControllerEventProcessor
from statemachines.kafka_zk_client import ZkResponse
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.partition_state_machine import PartitionStateMachine
from statemachines.replica_state_machine import ReplicaStateMachine
from statemachines.zk_data import ISR_CHANGE_NOTIFICATION
from statemachines.zookeeper.tree import Code, Node, ZkPath

__all__ = ["ReadCluster", "ReadsAtOnce"]


class ReadCluster(Protocol):
    """What a controller reads of a cluster, as variables of a system."""

    zk: Ensemble
    registered: frozenset[BrokerId]
    isr_change_notification: frozenset[TopicPartition]
    """The partitions whose leaders have changed their ISRs, and told the controller, which has not read them yet."""

    def written(self, partition: TopicPartition) -> Node | None:
        """The node of a partition's state, if there is one."""


class ReadsAtOnce(ControllerEventProcessor):
    """The controller of a cluster, which reads at once what is read for no change of states.

    Args:
        cluster: the state.
        assignments: what the topic's node has.
        partitions: its partition state machine, over that state.
        replicas: its replica state machine.
        batch: requests that are sent for no change.
        channels: what is told which brokers there are.
    """

    def __init__(
        self,
        cluster: ReadCluster,
        assignments: Mapping[TopicPartition, ReplicaAssignment],
        partitions: PartitionStateMachine,
        replicas: ReplicaStateMachine,
        batch: ControllerBrokerRequestBatch,
        channels: BrokerChannels | None = None,
    ) -> None:
        super().__init__(partitions, replicas, batch, channels)
        self.cluster, self.assignments = cluster, assignments

    def path_exists(self, path: ZkPath, following: Call, watch: bool = False) -> Calls:
        """None of these nodes is there."""
        return (following.given(False),)

    def get_children(self, path: ZkPath, following: Call, watch: bool = False) -> Calls:
        """There are notifications of ISRs, as one, which may name no partition."""
        return (following.given(("0",) if path == ISR_CHANGE_NOTIFICATION else ()),)

    def get_data(self, paths: Iterable[ZkPath], following: Call, watch: bool = False) -> Calls:
        """The notification names partitions."""
        told = tuple(self.cluster.isr_change_notification)
        answers = (ZkResponse(Code.OK, told) if path == f"{ISR_CHANGE_NOTIFICATION}/0" else None for path in paths)
        return (following.given(tuple(answers)),)

    def delete(self, paths: Iterable[ZkPath]) -> Calls:
        """Notifications are deleted."""
        if any(path.startswith(ISR_CHANGE_NOTIFICATION) for path in paths):
            self.cluster.isr_change_notification = frozenset()
        return ()

    def get_all_broker_and_epochs_in_cluster(self, following: Call) -> Calls:
        """The brokers that are registered; all of them have the same epoch, as long as none is bounced."""
        return (following.given(tuple((broker, 0) for broker in self.cluster.registered)),)

    def get_full_replica_assignment_for_topics(self, topics: Sequence[TopicName], following: Call) -> Calls:
        """The assignments of the topic."""
        return (following.given(tuple(self.assignments.items()) if topics else ()),)

    def get_topic_partition_states(self, partitions: Sequence[TopicPartition], following: Call) -> Calls:
        """The leaders and ISRs that are in ZooKeeper."""
        nodes = ((partition, self.cluster.written(partition)) for partition in partitions)
        states = ((partition, node.data.decode(node.version)) for partition, node in nodes if node is not None)
        return (following.given(tuple(states)),)
