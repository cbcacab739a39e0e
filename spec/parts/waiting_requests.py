"""Waiting requests: the control requests that may wait in a queue, in a reduced form.

No broker of a system reads all fields of a request. `reduced` gives the unread fields their empty values. The rest is
small enough to list, so a queue takes a few bits for each request. The list has every combination of partitions, each
with every consistent leader, ISR, leader epoch and partition epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations, product
from typing import TypeVar

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from spec.language import Domain, one_of
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import NO_EPOCH, NO_LEADER
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.zookeeper.tree import ZkVersion

S = TypeVar("S")


@dataclass(frozen=True)
class WaitingRequests:
    """The requests of successive controllers, which all have the same broker id.

    Args:
        controller: that id.
        brokers: the receivers.
        assignments: all assignments that each partition may have.
        controller_epochs: the epochs of controllers.
        broker_epochs: the epochs of registrations.
        leader_epochs: the leader epochs of partitions.
        isr_changes: how often leaders may change the ISR of a partition, so that its version exceeds its epoch.
        stops: whether there are StopReplica requests.
    """

    controller: BrokerId
    brokers: Collection[BrokerId]
    assignments: Mapping[TopicPartition, Collection[ReplicaAssignment]]
    controller_epochs: Collection[ControllerEpoch]
    broker_epochs: Collection[BrokerEpoch]
    leader_epochs: Collection[LeaderEpoch]
    isr_changes: int
    stops: bool

    # The reduced form.

    def reduced(self, request: ControlRequest) -> ControlRequest:
        """A request without the fields that no broker reads here.

        These are the live leaders, the new replicas (no disk fails), the controller that wrote a state (no leader
        writes it), and all metadata but the leaders.
        """
        match request:
            case LeaderAndIsrRequest(partitionStates=states):
                reduced = tuple(each._replace(controllerEpoch=0, isNew=False) for each in states)
                return request._replace(partitionStates=reduced, liveLeaders=())
            case UpdateMetadataRequest(partitionStates=known):
                return request._replace(partitionStates=tuple(map(self.kept_metadata, known)))
            case StopReplicaRequest():
                return request

    @staticmethod
    def kept_metadata(state: UpdateMetadataPartitionState) -> UpdateMetadataPartitionState:
        """The metadata of a partition, reduced to its leader."""
        return state._replace(controllerEpoch=0, isr=(), zkVersion=0, replicas=(), offlineReplicas=())

    # The list of requests.

    @cached_property
    def domain(self) -> Domain[ControlRequest]:
        """Every request that may wait."""
        return one_of(*self._requests())

    def isrs(self, partition: TopicPartition) -> Iterator[tuple[BrokerId, ...]]:
        """Every ISR that a partition may have, in any order if members may leave and join again."""
        ways = tuple(self.assignments[partition])
        in_order = len(ways) == 1 and not self.isr_changes
        for length in range(1, len(self.brokers) + 1):
            yield from combinations(ways[0].replicas, length) if in_order else permutations(self.brokers, length)

    def epochs(self) -> Iterator[tuple[LeaderEpoch, ZkVersion]]:
        """Leader epochs, with the versions of their states."""
        return ((epoch, epoch + more) for epoch in self.leader_epochs for more in range(self.isr_changes + 1))

    def leader_and_isr_of(self, partition: TopicPartition) -> Iterator[LeaderAndIsrPartitionState]:
        """Every state of a partition in LeaderAndIsr."""
        led = ((leader, isr) for isr in self.isrs(partition) for leader in (NO_LEADER, *isr))
        for (leader, isr), (epoch, version), way in product(led, self.epochs(), self.assignments[partition]):
            yield LeaderAndIsrPartitionState(partition, 0, leader, epoch, isr, version, *way)

    def metadata_of(self, partition: TopicPartition) -> Iterator[UpdateMetadataPartitionState]:
        """Every state of a partition in UpdateMetadata."""
        for leader, epoch in product((NO_LEADER, *self.brokers), self.leader_epochs):
            yield UpdateMetadataPartitionState(partition, 0, leader, epoch, (), 0, (), ())

    def stops_of(self, partition: TopicPartition) -> Iterator[StopReplicaPartitionState]:
        """Every state of a partition in StopReplica."""
        for epoch, delete in product((NO_EPOCH, *self.leader_epochs), (False, True)):
            yield StopReplicaPartitionState(partition, epoch, delete)

    def _requests(self) -> Iterator[ControlRequest]:
        led = list(self._combined(self.leader_and_isr_of))
        known = list(self._combined(self.metadata_of))
        stopped = list(self._combined(self.stops_of)) if self.stops else []
        live = [some for length in range(len(self.brokers) + 1) for some in combinations(self.brokers, length)]
        for epochs in product(self.controller_epochs, self.broker_epochs):
            yield from (LeaderAndIsrRequest(self.controller, *epochs, states, ()) for states in led if states)
            yield from (
                UpdateMetadataRequest(self.controller, *epochs, states, brokers)
                for states, brokers in product(known, live)
            )
            yield from (
                StopReplicaRequest(self.controller, *epochs, delete, states)
                for delete, states in product((False, True), stopped)
            )

    def _combined(self, said_of: Callable[[TopicPartition], Iterable[S]]) -> Iterator[tuple[S, ...]]:
        """The possible states in one request: for each partition none or one, in the order of partitions."""
        for chosen in product(*([(), *((each,) for each in said_of(partition))] for partition in self.assignments)):
            yield tuple(each for some in chosen for each in some)
