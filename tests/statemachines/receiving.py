"""A broker that receives controllers' requests: setup for the tests of the receiving side."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

from statemachines.broker.hosted_partition import HostedPartition
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.broker.replica_manager import NO_FAILURES, LeadershipChange, LogFailure, ReplicaManager
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import ControlResponse
from statemachines.messages.control_requests import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition
from tests.statemachines.control import T0

EPOCH, BROKER_EPOCH = 5, 101


class Kinds(NamedTuple):
    """The classes of a broker, one of which may be a mutant."""

    apis: type[KafkaApis] = KafkaApis
    manager: type[ReplicaManager] = ReplicaManager
    cache: type[MetadataCache] = MetadataCache


class Broker:
    """Broker 1, registered under epoch 101, which takes 1, 2 and 3 for alive."""

    def __init__(self, design: ControlDesign | None = None, kinds: Kinds | None = None) -> None:
        kinds = kinds or Kinds()
        self.cache = kinds.cache()
        self.is_shutting_down = False
        self.manager = kinds.manager(1, self.cache, design=design, is_shutting_down=lambda: self.is_shutting_down)
        self.changes: list[LeadershipChange] = []
        self.apis = kinds.apis(self.manager, lambda: BROKER_EPOCH, self.changes.append)
        self.cache.state.alive_brokers = frozenset({1, 2, 3})

    def lead(
        self,
        leader: int,
        leader_epoch: int,
        *partitions: TopicPartition,
        epoch: int = EPOCH,
        broker_epoch: int = BROKER_EPOCH,
        failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES,
        **fields: Any,
    ) -> list[Errors]:
        """Receive LeaderAndIsr; returns the error of each partition."""
        states = (
            leader_and_isr_state(leader, leader_epoch, partition, epoch, **fields)
            for partition in partitions or (T0,)
        )
        response = self.apis.handle(LeaderAndIsrRequest(9, epoch, broker_epoch, tuple(states), (leader,)), failures)
        return [error for _, error in getattr(response, "partitionErrors", ())]

    def stop(
        self,
        leader_epoch: int,
        delete: bool = False,
        epoch: int = EPOCH,
        broker_epoch: int = BROKER_EPOCH,
        failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES,
    ) -> list[Errors]:
        """StopReplica stops t-0."""
        states = (StopReplicaPartitionState(T0, leader_epoch, delete),)
        response = self.apis.handle(StopReplicaRequest(9, epoch, broker_epoch, False, states), failures)
        return [error for _, error in getattr(response, "partitionErrors", ())] or [response.errorCode]

    def tell(self, *live: int, epoch: int = EPOCH, broker_epoch: int = BROKER_EPOCH) -> ControlResponse:
        """Receive UpdateMetadata with these live brokers."""
        return self.apis.handle(UpdateMetadataRequest(9, epoch, broker_epoch, (), live))

    def hosted(self, partition: TopicPartition = T0) -> HostedPartition:
        """Its knowledge of a partition."""
        return self.manager.state.all_partitions[partition]

    def fetches(self, partition: TopicPartition = T0) -> tuple[int, int] | None:
        """The broker from which it fetches a partition, and the leader epoch."""
        return self.manager.state.fetchers.get(partition)

    def known(self) -> Any:
        """All its knowledge."""
        return copy.deepcopy((self.manager.state, self.cache.state))


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
