"""Waiting requests: the control requests that may wait in a queue, in the form in which they wait.

A request has much that no broker of a system looks at. `reduced` leaves that out: it stands there as it would be of a
request that says nothing of it. What is left is little enough to be listed, so that a queue takes a few bits for each
request: partitions in every combination, each with every leader and ISR, leader epoch and partition epoch that may go
together.
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

__all__ = ["WaitingRequests"]

S = TypeVar("S")


@dataclass(frozen=True)
class WaitingRequests:
    """The requests of one controller after another, all of which have the same id.

    Args:
        controller: that id.
        brokers: those that requests go to.
        assignments: how each partition may be assigned.
        controller_epochs: of controllers.
        broker_epochs: of registrations.
        leader_epochs: of partitions.
        isr_changes: how often leaders may change the ISR of a partition, so that its version is ahead of its epoch.
        stops: replicas are told to stop.
    """

    controller: BrokerId
    brokers: Collection[BrokerId]
    assignments: Mapping[TopicPartition, Collection[ReplicaAssignment]]
    controller_epochs: Collection[ControllerEpoch]
    broker_epochs: Collection[BrokerEpoch]
    leader_epochs: Collection[LeaderEpoch]
    isr_changes: int
    stops: bool

    # What is kept.

    def reduced(self, request: ControlRequest) -> ControlRequest:
        """A request without what no broker looks at here: which leaders are live; who is new, as no disk fails; which
        controller wrote a state, as no leader writes it; of metadata all but who leads.
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
        """Who leads a partition."""
        return state._replace(controllerEpoch=0, isr=(), zkVersion=0, replicas=(), offlineReplicas=())

    # Which there may be.

    @cached_property
    def domain(self) -> Domain[ControlRequest]:
        """Every request that may wait."""
        return one_of(*self._requests())

    def isrs(self, partition: TopicPartition) -> Iterator[tuple[BrokerId, ...]]:
        """Every ISR that a partition may have. Members that leave and join again stand in any order."""
        ways = tuple(self.assignments[partition])
        in_order = len(ways) == 1 and not self.isr_changes
        for length in range(1, len(self.brokers) + 1):
            yield from combinations(ways[0].replicas, length) if in_order else permutations(self.brokers, length)

    def epochs(self) -> Iterator[tuple[LeaderEpoch, ZkVersion]]:
        """Leader epochs, with the versions of the states that have them."""
        return ((epoch, epoch + more) for epoch in self.leader_epochs for more in range(self.isr_changes + 1))

    def leader_and_isr_of(self, partition: TopicPartition) -> Iterator[LeaderAndIsrPartitionState]:
        """All that replicas may be told of a partition."""
        led = ((leader, isr) for isr in self.isrs(partition) for leader in (NO_LEADER, *isr))
        for (leader, isr), (epoch, version), way in product(led, self.epochs(), self.assignments[partition]):
            yield LeaderAndIsrPartitionState(*partition, 0, leader, epoch, isr, version, *way)

    def metadata_of(self, partition: TopicPartition) -> Iterator[UpdateMetadataPartitionState]:
        """All that brokers may be told of a partition."""
        for leader, epoch in product((NO_LEADER, *self.brokers), self.leader_epochs):
            yield UpdateMetadataPartitionState(*partition, 0, leader, epoch, (), 0, (), ())

    def stops_of(self, partition: TopicPartition) -> Iterator[StopReplicaPartitionState]:
        """All that a replica may be told that is to stop."""
        for epoch, delete in product((NO_EPOCH, *self.leader_epochs), (False, True)):
            yield StopReplicaPartitionState(*partition, epoch, delete)

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
        """What may stand in one request: of each partition nothing or one of these, in the order of partitions."""
        for chosen in product(*([(), *((each,) for each in said_of(partition))] for partition in self.assignments)):
            yield tuple(each for some in chosen for each in some)
