"""Where a controller finds topics and partitions in ZooKeeper, and what the nodes hold [ZkData.scala, 3.9].

The data are values where a real node has JSON. The version of the node is not in its data: a reader takes it from the
answer, as the partition epoch.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from election.ids import ControllerEpoch
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionId, TopicName, TopicPartition
from statemachines.zookeeper.tree import ZkPath, ZkVersion

__all__ = [
    "DELETE_TOPICS",
    "ISR_CHANGE_NOTIFICATION",
    "LOG_DIR_EVENT_NOTIFICATION",
    "PERSISTENT_PATHS",
    "PREFERRED_REPLICA_ELECTION",
    "REASSIGN_PARTITIONS",
    "TOPICS",
    "TopicAssignment",
    "TopicConfig",
    "TopicPartitionState",
    "delete_topics_topic_path",
    "isr_change_notification_path",
    "topic_config_path",
    "topic_partition_path",
    "topic_partition_state_path",
    "topic_partitions_path",
    "topic_path",
]

TOPICS: Final = "/brokers/topics"
"""Has a child for each topic [TopicsZNode]."""
DELETE_TOPICS: Final = "/admin/delete_topics"
"""Has a child for each topic that is to be deleted [DeleteTopicsZNode]."""
REASSIGN_PARTITIONS: Final = "/admin/reassign_partitions"
"""Its data are pairs of a partition and the brokers that are to keep it, in their order [ReassignPartitionsZNode]."""
PREFERRED_REPLICA_ELECTION: Final = "/admin/preferred_replica_election"
"""Its data are the partitions that are to be led by their first replicas [PreferredReplicaElectionZNode]."""
ISR_CHANGE_NOTIFICATION: Final = "/isr_change_notification"
"""Has a child for each notification, whose data are partitions [IsrChangeNotificationZNode]."""
LOG_DIR_EVENT_NOTIFICATION: Final = "/log_dir_event_notification"
"""Has a child for each notification, whose data are a broker's id [LogDirEventNotificationZNode]."""

PERSISTENT_PATHS: Final = (
    *("/brokers", TOPICS, "/brokers/ids", "/config", "/config/topics"),
    *("/admin", DELETE_TOPICS, ISR_CHANGE_NOTIFICATION, LOG_DIR_EVENT_NOTIFICATION),
)
"""Nodes that each broker makes when it starts, if they are not there, parents first. [ZkData.PersistentZkPaths]"""


def topic_path(topic: TopicName) -> ZkPath:
    """The node of a topic, whose data are a `TopicAssignment` [TopicZNode]."""
    return f"{TOPICS}/{topic}"


def delete_topics_topic_path(topic: TopicName) -> ZkPath:
    """The node that says that a topic is to be deleted [DeleteTopicsTopicZNode]."""
    return f"{DELETE_TOPICS}/{topic}"


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


def isr_change_notification_path() -> ZkPath:
    """Where leaders name, in a tuple, partitions whose ISR they have changed; ZooKeeper puts a number behind it.

    [IsrChangeNotificationSequenceZNode; until 2.6]
    """
    return f"{ISR_CHANGE_NOTIFICATION}/isr_change_"


class TopicConfig(NamedTuple):
    """What is configured for a topic, as far as a controller reads it."""

    unclean_leader_election_enable: bool | None = None
    """Whether a replica that is not in sync may be elected; None: as the controller's broker is configured."""


class TopicAssignment(NamedTuple):
    """The data of /brokers/topics/<t>. Left out: the topic's id."""

    partitions: tuple[tuple[PartitionId, ReplicaAssignment], ...] = ()
    """Which brokers keep each partition, in the order of the partitions."""

    @classmethod
    def encode(cls, assignments: Mapping[TopicPartition, ReplicaAssignment]) -> "TopicAssignment":
        """What is written of the partitions of a topic."""
        return cls(tuple((each.partition, assignments[each]) for each in sorted(assignments)))

    def decode(self, topic: TopicName) -> dict[TopicPartition, ReplicaAssignment]:
        """The assignments of a topic whose node has these data."""
        return {TopicPartition(topic, partition): assignment for partition, assignment in self.partitions}


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
