"""The three requests of a controller to brokers.

LeaderAndIsr informs replicas of their leader, StopReplica stops or deletes a replica, UpdateMetadata gives any broker
its metadata for clients. Fields have the names of Kafka's schemas [LeaderAndIsrRequest.json,
UpdateMetadataRequest.json, StopReplicaRequest.json, 3.9]. Each request carries two epochs by which a broker refuses
late requests: that of its controller and, since 2.2, that of the receiving broker [KIP-380].

On the wire partitions are grouped by topic; here they are listed one by one, in order, and each is named by one value
instead of topicName and partitionIndex. Left out: topic ids,
endpoints, racks, and fields of KRaft controllers.
"""

# ruff: noqa: N815

from typing import Final, Literal, NamedTuple, TypeAlias

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from statemachines.messages.leader_and_isr import LeaderRecoveryState
from statemachines.messages.topic_partition import TopicPartition
from statemachines.zookeeper.tree import ZkVersion

UNKNOWN_BROKER_EPOCH: Final = -1
"""A request with this epoch is for any registration of the broker; all requests are, until 2.1."""


class LeaderAndIsrPartitionState(NamedTuple):
    """The leader and ISR of a partition, for one of its replicas."""

    partition: TopicPartition
    controllerEpoch: ControllerEpoch
    """The epoch of the controller that wrote the state, possibly an older one."""
    leader: Literal[-1] | BrokerId
    """-1 if there is none."""
    leaderEpoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    partitionEpoch: ZkVersion
    replicas: tuple[BrokerId, ...]
    addingReplicas: tuple[BrokerId, ...] = ()
    removingReplicas: tuple[BrokerId, ...] = ()
    isNew: bool = False
    """The replica has no log yet: its broker creates one, even if one of its log directories has failed."""
    leaderRecoveryState: LeaderRecoveryState = LeaderRecoveryState.RECOVERED


class LeaderAndIsrRequest(NamedTuple):
    """The leaders of the replicas on one broker."""

    controllerId: BrokerId
    controllerEpoch: ControllerEpoch
    brokerEpoch: BrokerEpoch
    partitionStates: tuple[LeaderAndIsrPartitionState, ...]
    liveLeaders: tuple[BrokerId, ...]
    """The leaders that are registered; Kafka adds their addresses."""


class UpdateMetadataPartitionState(NamedTuple):
    """The leader and ISR of a partition, for any broker."""

    partition: TopicPartition
    controllerEpoch: ControllerEpoch
    leader: Literal[-1, -2] | BrokerId
    """-1 if there is none, -2 if the topic is to be deleted."""
    leaderEpoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    zkVersion: ZkVersion
    replicas: tuple[BrokerId, ...]
    offlineReplicas: tuple[BrokerId, ...]


class UpdateMetadataRequest(NamedTuple):
    """The states of partitions, and the list of brokers, for a broker."""

    controllerId: BrokerId
    controllerEpoch: ControllerEpoch
    brokerEpoch: BrokerEpoch
    partitionStates: tuple[UpdateMetadataPartitionState, ...]
    liveBrokers: tuple[BrokerId, ...]


class StopReplicaPartitionState(NamedTuple):
    """A replica to stop."""

    partition: TopicPartition
    leaderEpoch: Literal[-2, -1] | LeaderEpoch
    """-1 if there is none, or until 2.5; -2 if the topic is to be deleted, which overrides any epoch."""
    deletePartition: bool
    """The broker must also delete its log."""


class StopReplicaRequest(NamedTuple):
    """The replicas that a broker must stop."""

    controllerId: BrokerId
    controllerEpoch: ControllerEpoch
    brokerEpoch: BrokerEpoch
    deletePartitions: bool
    """Until 2.5 one flag for all replicas; since 2.6 each has its own, and this is false."""
    partitionStates: tuple[StopReplicaPartitionState, ...]


ControlRequest: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
