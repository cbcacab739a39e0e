"""Where the state of a partition stands in ZooKeeper, and what its node holds [ZkData.scala, 3.9].

The data are values where a real node has JSON. The version of the node is not in its data: a reader takes it from the
answer, as the partition epoch.
"""

from typing import NamedTuple

from election.ids import ControllerEpoch
from statemachines.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.topic_partition import TopicName, TopicPartition
from statemachines.znode import ZkPath, ZkVersion

__all__ = [
    "TopicConfig",
    "TopicPartitionState",
    "topic_config_path",
    "topic_partition_path",
    "topic_partition_state_path",
    "topic_partitions_path",
]


def topic_partitions_path(topic: TopicName) -> ZkPath:
    """The node above those of a topic's partitions [TopicPartitionsZNode]."""
    return f"/brokers/topics/{topic}/partitions"


def topic_partition_path(partition: TopicPartition) -> ZkPath:
    """The node above a partition's state [TopicPartitionZNode]."""
    return f"/brokers/topics/{partition.topic}/partitions/{partition.partition}"


def topic_partition_state_path(partition: TopicPartition) -> ZkPath:
    """The node of a partition's state, whose data are a `TopicPartitionState` [TopicPartitionStateZNode].

    >>> topic_partition_state_path(TopicPartition("t", 0))
    '/brokers/topics/t/partitions/0/state'
    """
    return f"{topic_partition_path(partition)}/state"


def topic_config_path(topic: TopicName) -> ZkPath:
    """The node of what is configured for a topic, a `TopicConfig` [ConfigEntityZNode]."""
    return f"/config/topics/{topic}"


class TopicConfig(NamedTuple):
    """What is configured for a topic, as far as a controller reads it."""

    unclean_leader_election_enable: bool | None = None
    """Whether a replica that is not in sync may be elected; None: as the controller's broker is configured."""


class TopicPartitionState(NamedTuple):
    """The data of .../partitions/<p>/state.

    Leader and ISR stand in it as they are known elsewhere, but for the partition epoch, which is 0: what is read goes
    on as one value, and no rule has to look into it.
    """

    leader_and_isr: LeaderAndIsr
    controller_epoch: ControllerEpoch
    """The epoch of the controller that wrote last; leaders that change the ISR write that of their last request."""

    @classmethod
    def encode(cls, leader_and_isr: LeaderAndIsr, controller_epoch: ControllerEpoch) -> "TopicPartitionState":
        """What a controller of this epoch writes."""
        return cls(leader_and_isr._replace(partition_epoch=0), controller_epoch)

    def decode(self, version: ZkVersion) -> LeaderIsrAndControllerEpoch:
        """What is known of a partition whose node has these data at this version."""
        return LeaderIsrAndControllerEpoch(
            self.leader_and_isr._replace(partition_epoch=version), self.controller_epoch
        )
