"""The paths of topics and partitions in ZooKeeper, and the data of their nodes [ZkData.scala, 3.9].

The data are values instead of a real node's JSON. The version of a node is not in its data: a reader takes it from
the response, as the partition epoch.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from election.ids import ControllerEpoch
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionId, TopicName, TopicPartition
from statemachines.zookeeper.tree import ZkPath, ZkVersion

TOPICS: Final = "/brokers/topics"
"""Has a child for each topic [TopicsZNode]."""
DELETE_TOPICS: Final = "/admin/delete_topics"
"""Has a child for each topic to be deleted [DeleteTopicsZNode]."""
REASSIGN_PARTITIONS: Final = "/admin/reassign_partitions"
"""Its data are pairs of a partition and its target brokers, in order [ReassignPartitionsZNode]."""
PREFERRED_REPLICA_ELECTION: Final = "/admin/preferred_replica_election"
"""Its data are the partitions to elect their preferred leaders for [PreferredReplicaElectionZNode]."""
ISR_CHANGE_NOTIFICATION: Final = "/isr_change_notification"
"""Has a child for each notification, whose data are partitions [IsrChangeNotificationZNode]."""
LOG_DIR_EVENT_NOTIFICATION: Final = "/log_dir_event_notification"
"""Has a child for each notification, whose data are a broker's id [LogDirEventNotificationZNode]."""

PERSISTENT_PATHS: Final = (
    *("/brokers", TOPICS, "/brokers/ids", "/config", "/config/topics"),
    *("/admin", DELETE_TOPICS, ISR_CHANGE_NOTIFICATION, LOG_DIR_EVENT_NOTIFICATION),
)
"""Nodes that each broker creates at startup if they are missing, parents first. [ZkData.PersistentZkPaths]"""


def topic_path(topic: TopicName) -> ZkPath:
    """The node of a topic, whose data are a `TopicAssignment` [TopicZNode]."""
    return f"{TOPICS}/{topic}"


def delete_topics_topic_path(topic: TopicName) -> ZkPath:
    """The node that requests the deletion of a topic [DeleteTopicsTopicZNode]."""
    return f"{DELETE_TOPICS}/{topic}"


def topic_partitions_path(topic: TopicName) -> ZkPath:
    """The parent of a topic's partition nodes [TopicPartitionsZNode]."""
    return f"/brokers/topics/{topic}/partitions"


def topic_partition_path(partition: TopicPartition) -> ZkPath:
    """The parent of a partition's state node [TopicPartitionZNode]."""
    return f"/brokers/topics/{partition.topic}/partitions/{partition.partition}"


def topic_partition_state_path(partition: TopicPartition) -> ZkPath:
    """The node of a partition's state, whose data are a `TopicPartitionState` [TopicPartitionStateZNode].

    >>> topic_partition_state_path(TopicPartition("t", 0))
    '/brokers/topics/t/partitions/0/state'
    """
    return f"{topic_partition_path(partition)}/state"


def topic_config_path(topic: TopicName) -> ZkPath:
    """The node of a topic's configuration, a `TopicConfig` [ConfigEntityZNode]."""
    return f"/config/topics/{topic}"


def isr_change_notification_path() -> ZkPath:
    """The path prefix of leaders' notifications, whose data are a tuple of partitions; ZooKeeper appends a number.

    [IsrChangeNotificationSequenceZNode; until 2.6]
    """
    return f"{ISR_CHANGE_NOTIFICATION}/isr_change_"


class TopicConfig(NamedTuple):
    """The parts of a topic's configuration that count here."""

    unclean_leader_election_enable: bool | None = None
    """Whether a replica that is not in sync may be elected; None: the default of the controller's broker."""
    min_insync_replicas: int | None = None
    """How many replicas must be in sync for acks=all; None: the default of the leader's broker."""


class TopicAssignment(NamedTuple):
    """The data of /brokers/topics/<t>. Left out: the topic's id."""

    partitions: tuple[tuple[PartitionId, ReplicaAssignment], ...] = ()
    """The assignment of each partition, in the order of the partitions."""

    @classmethod
    def encode(cls, assignments: Mapping[TopicPartition, ReplicaAssignment]) -> "TopicAssignment":
        """The data for the partitions of a topic."""
        return cls(tuple((each.partition, assignments[each]) for each in sorted(assignments)))

    def decode(self, topic: TopicName) -> dict[TopicPartition, ReplicaAssignment]:
        """The assignments in the data of a topic's node."""
        return {TopicPartition(topic, partition): assignment for partition, assignment in self.partitions}


class TopicPartitionState(NamedTuple):
    """The data of .../partitions/<p>/state.

    Leader and ISR have the same form as elsewhere, except that the partition epoch is 0: a reader uses the value as a
    whole, and no rule needs its parts.
    """

    leader_and_isr: LeaderAndIsr
    controller_epoch: ControllerEpoch
    """The epoch of the last writing controller; leaders that change the ISR write that of their last request."""

    @classmethod
    def encode(cls, leader_and_isr: LeaderAndIsr, controller_epoch: ControllerEpoch) -> "TopicPartitionState":
        """The data that a controller of this epoch writes."""
        return cls(leader_and_isr._replace(partition_epoch=0), controller_epoch)

    def decode(self, version: ZkVersion) -> LeaderIsrAndControllerEpoch:
        """The state in a partition's node with these data at this version."""
        return LeaderIsrAndControllerEpoch(
            self.leader_and_isr._replace(partition_epoch=version), self.controller_epoch
        )
