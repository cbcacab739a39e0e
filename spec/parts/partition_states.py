"""The controller epoch and the partition states in ZooKeeper, as properties of a base class for states."""

from __future__ import annotations

from election.ids import ControllerEpoch
from spec.language import State
from spec.parts.zookeeper import Ensemble
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import topic_partition_state_path
from statemachines.zookeeper.tree import Node


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
