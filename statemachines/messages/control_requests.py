"""The three requests by which a controller tells brokers what to do.

LeaderAndIsr tells replicas who leads them, StopReplica tells a replica to stop or to go, UpdateMetadata tells any
broker what it may tell clients. Fields have the names of Kafka's schemas [LeaderAndIsrRequest.json,
UpdateMetadataRequest.json, StopReplicaRequest.json, 3.9]. Each request carries two epochs by which a broker refuses
what is late: that of its controller, and since 2.2 that of the broker that it is meant for [KIP-380].

On the wire partitions stand topic by topic, here one by one, in their order. Left out: topic ids, endpoints, racks,
and what tells a KRaft controller's requests.
"""

# ruff: noqa: N815

from typing import Final, Literal, NamedTuple, TypeAlias

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from statemachines.messages.leader_and_isr import LeaderRecoveryState
from statemachines.messages.topic_partition import PartitionId, TopicName
from statemachines.zookeeper.tree import ZkVersion

__all__ = [
    "ControlRequest",
    "LeaderAndIsrPartitionState",
    "LeaderAndIsrRequest",
    "StopReplicaPartitionState",
    "StopReplicaRequest",
    "UNKNOWN_BROKER_EPOCH",
    "UpdateMetadataPartitionState",
    "UpdateMetadataRequest",
]

UNKNOWN_BROKER_EPOCH: Final = -1
"""A request with this epoch is for whatever registration the broker has: each of them until 2.1."""


class LeaderAndIsrPartitionState(NamedTuple):
    """Who leads a partition, to one of its replicas."""

    topicName: TopicName
    partitionIndex: PartitionId
    controllerEpoch: ControllerEpoch
    """That of the controller that wrote the state, which may be an older one."""
    leader: Literal[-1] | BrokerId
    """-1 if there is none."""
    leaderEpoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    partitionEpoch: ZkVersion
    replicas: tuple[BrokerId, ...]
    addingReplicas: tuple[BrokerId, ...] = ()
    removingReplicas: tuple[BrokerId, ...] = ()
    isNew: bool = False
    """The replica has no log yet: its broker makes one, even if one of its log directories has failed."""
    leaderRecoveryState: LeaderRecoveryState = LeaderRecoveryState.RECOVERED


class LeaderAndIsrRequest(NamedTuple):
    """What the replicas on one broker are told of their leaders."""

    controllerId: BrokerId
    controllerEpoch: ControllerEpoch
    brokerEpoch: BrokerEpoch
    partitionStates: tuple[LeaderAndIsrPartitionState, ...]
    liveLeaders: tuple[BrokerId, ...]
    """Those of the leaders that are registered; Kafka says where they are."""


class UpdateMetadataPartitionState(NamedTuple):
    """Who leads a partition, to any broker."""

    topicName: TopicName
    partitionIndex: PartitionId
    controllerEpoch: ControllerEpoch
    leader: Literal[-1, -2] | BrokerId
    """-1 if there is none, -2 if the topic is to be deleted."""
    leaderEpoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    zkVersion: ZkVersion
    replicas: tuple[BrokerId, ...]
    offlineReplicas: tuple[BrokerId, ...]


class UpdateMetadataRequest(NamedTuple):
    """What a broker is told of partitions, and which brokers there are."""

    controllerId: BrokerId
    controllerEpoch: ControllerEpoch
    brokerEpoch: BrokerEpoch
    partitionStates: tuple[UpdateMetadataPartitionState, ...]
    liveBrokers: tuple[BrokerId, ...]


class StopReplicaPartitionState(NamedTuple):
    """A replica that is to stop."""

    topicName: TopicName
    partitionIndex: PartitionId
    leaderEpoch: Literal[-2, -1] | LeaderEpoch
    """-1 if there is none, or until 2.5; -2 if the topic is to be deleted, which overrides any."""
    deletePartition: bool
    """It is to delete its log as well."""


class StopReplicaRequest(NamedTuple):
    """Which of its replicas a broker is to stop."""

    controllerId: BrokerId
    controllerEpoch: ControllerEpoch
    brokerEpoch: BrokerEpoch
    deletePartitions: bool
    """Until 2.5 one flag for all of them; since 2.6 each has its own, and this is false."""
    partitionStates: tuple[StopReplicaPartitionState, ...]


ControlRequest: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
