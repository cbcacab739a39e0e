"""A broker that receives controllers' requests: setup for the tests of the receiving side."""

from __future__ import annotations

import copy
from typing import Any

from statemachines.broker.hosted_partition import HostedPartition
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.control_requests import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition
from tests.statemachines.control import T0

EPOCH, BROKER_EPOCH = 5, 101


class Broker:
    """Broker 1, registered under epoch 101, which takes 1, 2 and 3 for alive."""

    def __init__(self, design: ControlDesign | None = None) -> None:
        cache = MetadataCache()
        self.manager = ReplicaManager(1, cache, design=design)
        self.apis = KafkaApis(self.manager, lambda: BROKER_EPOCH)
        cache.state.alive_brokers = frozenset({1, 2, 3})

    def lead(
        self, leader: int, leader_epoch: int, *partitions: TopicPartition, epoch: int = EPOCH, **fields: Any
    ) -> list[Errors]:
        """Receive LeaderAndIsr; returns the error of each partition."""
        states = (
            leader_and_isr_state(leader, leader_epoch, partition, epoch, **fields)
            for partition in partitions or (T0,)
        )
        response = self.apis.handle(LeaderAndIsrRequest(9, epoch, BROKER_EPOCH, tuple(states), (leader,)))
        return [error for _, error in getattr(response, "partitionErrors", ())]

    def stop(self, leader_epoch: int, delete: bool = False) -> None:
        """StopReplica stops t-0."""
        states = (StopReplicaPartitionState(T0, leader_epoch, delete),)
        self.apis.handle(StopReplicaRequest(9, EPOCH, BROKER_EPOCH, False, states))

    def hosted(self, partition: TopicPartition = T0) -> HostedPartition:
        """Its knowledge of a partition."""
        return self.manager.state.all_partitions[partition]

    def known(self) -> Any:
        """All its knowledge."""
        return copy.deepcopy((self.manager.state, self.manager.metadata_cache.state))


def leader_and_isr_state(
    leader: int,
    leader_epoch: int,
    partition: TopicPartition = T0,
    epoch: int = EPOCH,
    replicas: tuple[int, ...] = (1, 2, 3),
    partition_epoch: int | None = None,
    is_new: bool = False,
    isr: tuple[int, ...] | None = None,
) -> LeaderAndIsrPartitionState:
    """LeaderAndIsr's state of a partition.

    By default, its partition epoch is its leader epoch, and its ISR all of its replicas.
    """
    version = leader_epoch if partition_epoch is None else partition_epoch
    in_sync = replicas if isr is None else isr
    return LeaderAndIsrPartitionState(
        partition, epoch, leader, leader_epoch, in_sync, version, replicas, isNew=is_new
    )
