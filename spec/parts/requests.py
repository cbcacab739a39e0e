"""The requests of a controller to brokers, as parts: in its batch, in its channels, and the list of those that wait.

`BatchPart` has the requests of one change of states; the rules are those of `statemachines.controller.request_batch`.
Between two changes a batch is empty, except for the leftovers of an interrupted change. `ChannelsPart` has the queues
and threads of `statemachines.controller.channel_manager`. Both have no actions: a system says when requests enter the
queues, when a thread sends one, and how the broker handles it.

`WaitingRequests` lists what a queue may contain, in a reduced form. No broker of a system reads all fields of a
request. `reduced` gives the unread fields their empty values. The rest is small enough to list, so a queue takes a
few bits for each request. The list has every combination of partitions, each with every consistent leader, ISR,
leader epoch and partition epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations, product
from typing import Any, TypeVar

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from spec.language import (
    Domain,
    Part,
    Partial,
    Size,
    State,
    at_most,
    bound,
    one_of,
    optional,
    partial_mapping,
    variable,
)
from statemachines.controller.channel_manager import ControllerChannelManager, RequestSendThread
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
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
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.zookeeper.tree import ZkVersion

# The batch.


class Batch(State):
    """The requests that one change of states has added [AbstractControllerBrokerRequestBatch, 3.9]."""

    update_metadata_brokers: frozenset[BrokerId] = variable("None.", of=lambda self: (frozenset(),))
    leader_and_isr: Partial[PartitionAndReplica, LeaderAndIsrPartitionState] = variable(
        "The states in LeaderAndIsr requests to replicas.", of=lambda self, replica: self.leader_and_isr_to(replica)
    )
    stop_replica: Partial[PartitionAndReplica, StopReplicaPartitionState] = variable(
        "The states in StopReplica requests to replicas.", of=lambda self, replica: self.stop_replica_to(replica)
    )
    update_metadata: Partial[TopicPartition, UpdateMetadataPartitionState] = variable(
        "None.", of=lambda self: partial_mapping((), (None,))
    )


class RequestsWithoutMetadata(ControllerBrokerRequestBatch):
    """A batch without UpdateMetadata, for systems whose brokers do not read metadata."""

    def add_update_metadata_request_for_brokers(
        self, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition] = ()
    ) -> None:
        """Add nothing."""


@dataclass(frozen=True)
class BatchPart(Part[Batch]):
    """A batch of requests to brokers.

    Args:
        type_sizes: the sizes of the types in it, as the system has them.
        assignments: all assignments that each partition may have.
        recipients: the replicas that may have a LeaderAndIsr pending while a change waits for ZooKeeper.
        stopped: the replicas that may have a StopReplica pending then.
    """

    type_sizes: Mapping[Any, Size]
    assignments: Mapping[TopicPartition, Collection[ReplicaAssignment]]
    recipients: Collection[PartitionAndReplica]
    stopped: Collection[PartitionAndReplica]

    def sizes(self) -> Mapping[Any, Size]:
        """As in the system; a StopReplica with deletion is never pending while a change waits for ZooKeeper."""
        return {**self.type_sizes, StopReplicaPartitionState.deletePartition: (False,)}

    def leader_and_isr_to(self, replica: PartitionAndReplica) -> Domain[Any]:
        """Every pending LeaderAndIsr state of a replica."""
        if replica not in self.recipients:
            return one_of()
        partition = replica.topic_partition
        replicas, adding, removing = (
            tuple(dict.fromkeys(each)) for each in zip(*self.assignments[partition], strict=True)
        )
        return self.domain_of(
            LeaderAndIsrPartitionState,
            partition=(partition,),
            replicas=replicas,
            addingReplicas=adding,
            removingReplicas=removing,
        )

    def stop_replica_to(self, replica: PartitionAndReplica) -> Domain[Any]:
        """Every pending StopReplica state of a replica."""
        if replica not in self.stopped:
            return one_of()
        return self.domain_of(StopReplicaPartitionState, partition=(replica.topic_partition,))


# The channels.


class Channels(State):
    """The channels of one controller; none once the controller is gone [ControllerChannelManager.scala, 3.9]."""

    message_queues: Partial[BrokerId, tuple[ControlRequest, ...]] = variable(
        "The requests that wait for a broker, in the order of sending."
    )
    request_send_threads: Partial[BrokerId, RequestSendThread] = variable(
        "The request that a broker's thread sends repeatedly until the answer arrives."
    )


@dataclass(frozen=True)
class ChannelsPart(Part[Channels]):
    """The channels of one controller.

    Args:
        brokers: the brokers that may have a channel.
        requests: the requests that may wait.
        max_queued_requests: bound: how many may wait for a broker.
        design: the design of this release.
        manager: the rules of channels.
    """

    brokers: Domain[BrokerId]
    requests: Domain[ControlRequest]
    max_queued_requests: int
    design: ControlDesign
    manager: type[ControllerChannelManager] = ControllerChannelManager

    def sizes(self) -> Mapping[Any, Size]:
        """As the arguments say."""
        return {
            BrokerId: self.brokers,
            ControlRequest: self.requests,
            tuple[ControlRequest, ...]: at_most(self.max_queued_requests),
            RequestSendThread.request: optional(self.requests),
        }

    def of(self, s: Channels, context: ControllerContext | None = None) -> ControllerChannelManager:
        """The channels, over this state. The context is needed only where answers matter."""
        return self.manager(ControllerContext() if context is None else context, s, self.design)

    def send(self, s: Channels, broker: BrokerId, request: ControlRequest) -> None:
        """Put a request into a broker's queue, if there is one."""
        bound(len(s.message_queues.get(broker, ())) < self.max_queued_requests)
        self.of(s).send_request(broker, request)

    def queued_requests(self, s: Channels, broker: BrokerId) -> tuple[ControlRequest, ...]:
        """The requests that a broker has yet to answer, in order; the first may be in transit."""
        if broker not in s.message_queues:
            return ()
        sending, queue = s.request_send_threads[broker].request, s.message_queues[broker]
        return queue if sending is None else (sending, *queue)

    def are_silent(self, s: Channels) -> bool:
        """Whether no request waits or is in transit."""
        return not any(self.queued_requests(s, broker) for broker in self.brokers)

    def are_closed(self, s: Channels) -> bool:
        """Whether there is no channel."""
        return not any(broker in s.message_queues for broker in self.brokers)

    def hand_over(self, s: Channels, to: Channels) -> None:
        """Move these channels into another variable, whose former channels are dropped."""
        for broker in self.brokers:
            pairs: Any = (
                (s.message_queues, to.message_queues),
                (s.request_send_threads, to.request_send_threads),
            )
            for kept, others in pairs:
                if broker in kept:
                    others[broker] = kept.pop(broker)
                else:
                    others.pop(broker, None)


# The requests that may wait.

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
