"""ControllerBrokerRequestBatch: the requests of one change of states, collected by broker.

A change begins with `new_batch`, adds requests for replicas and brokers, and ends with `send_requests_to_brokers`.
Two additions for one replica are merged: the later state replaces the earlier one, but new stays new, and a deletion
stays a deletion. The requests are sent in this order, only to registered brokers:

    LeaderAndIsr    to the replicas
    UpdateMetadata  to the named brokers; states of LeaderAndIsr go to every registered broker
    StopReplica     to the replicas; until 2.5 deletions have a request of their own, which goes first; until 2.2 each
                    replica has one, in the order of addition (`Stops`)

A change that is cut short, because the controller has moved, leaves its additions in the batch. Then no other change
can begin: each fails with BatchNotEmpty until the batch is cleared, which a controller that resigns does not do
[open: KAFKA-12315].

[ControllerChannelManager.scala, 3.9]
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch
from statemachines.changes.control import Stops
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.control_requests import (
    UNKNOWN_BROKER_EPOCH,
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import (
    INITIAL_LEADER_EPOCH,
    LEADER_DURING_DELETE,
    NO_EPOCH,
    LeaderAndIsr,
    LeaderIsrAndControllerEpoch,
    LeaderRecoveryState,
)
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition

S = TypeVar("S")


class BatchNotEmpty(Exception):
    """A change of states finds requests of an earlier one [newBatch, IllegalStateException]."""


class RequestsNotSent(Exception):
    """A request could not be sent; unsent requests stay [sendRequestsToBrokers, IllegalStateException]."""


class BatchState(Protocol):
    """The collected requests, as variables. Values are immutable and replaced as a whole."""

    update_metadata_brokers: frozenset[BrokerId]
    """The recipients of UpdateMetadata."""

    @property
    def leader_and_isr(self) -> MutableMapping[PartitionAndReplica, LeaderAndIsrPartitionState]:
        """The states for replicas."""

    @property
    def stop_replica(self) -> MutableMapping[PartitionAndReplica, StopReplicaPartitionState]:
        """The replicas to stop."""

    @property
    def update_metadata(self) -> MutableMapping[TopicPartition, UpdateMetadataPartitionState]:
        """The states for all recipients of UpdateMetadata."""


@dataclass
class InMemoryBatch:
    """The collected requests, over dicts; initially none."""

    update_metadata_brokers: frozenset[BrokerId] = frozenset()
    leader_and_isr: MutableMapping[PartitionAndReplica, LeaderAndIsrPartitionState] = field(default_factory=dict)
    stop_replica: MutableMapping[PartitionAndReplica, StopReplicaPartitionState] = field(default_factory=dict)
    update_metadata: MutableMapping[TopicPartition, UpdateMetadataPartitionState] = field(default_factory=dict)


class ControllerBrokerRequestBatch:
    """The requests of one change.

    Args:
        controller: the controller's id.
        context: the controller's context.
        send: sends a request to a broker, or raises RequestsNotSent [ControllerChannelManager.sendRequest].
        state: the collected requests; by default in memory.
        design: the design of its release.
    """

    def __init__(
        self,
        controller: BrokerId,
        context: ControllerContext,
        send: Callable[[BrokerId, ControlRequest], object],
        state: BatchState | None = None,
        design: ControlDesign | None = None,
    ) -> None:
        self.controller, self.context, self.send = controller, context, send
        self.state: BatchState = InMemoryBatch() if state is None else state
        self.design = ControlDesign() if design is None else design

    def new_batch(self) -> None:
        """Begin a change of states.

        Raises:
            BatchNotEmpty: an earlier change left requests, which stay.
        """
        state = self.state
        left: dict[str, Collection[object]] = {
            "LeaderAndIsr": state.leader_and_isr,
            "StopReplica": state.stop_replica,
            "UpdateMetadata": state.update_metadata_brokers,
        }
        for request, what in left.items():
            if what:
                shown = ", ".join(map(str, what))
                raise BatchNotEmpty(f"the batch is not empty: {request} of an earlier change for {shown}")

    def clear(self) -> None:
        """Drop the collected requests."""
        self.state.leader_and_isr.clear()
        self.state.stop_replica.clear()
        self.state.update_metadata.clear()
        self.state.update_metadata_brokers = frozenset()

    def add_leader_and_isr_request_for_brokers(
        self,
        brokers: Iterable[BrokerId],
        partition: TopicPartition,
        known: LeaderIsrAndControllerEpoch,
        assignment: ReplicaAssignment,
        is_new: bool,
    ) -> None:
        """Add a partition's state for its replicas on these brokers, and metadata for all brokers.

        A replica that is new in this batch stays new.
        """
        leader_and_isr, controller_epoch = known
        state = LeaderAndIsrPartitionState(
            partition,
            controller_epoch,
            leader_and_isr.leader,
            leader_and_isr.leader_epoch,
            leader_and_isr.isr,
            leader_and_isr.partition_epoch,
            assignment.replicas,
            assignment.adding_replicas,
            assignment.removing_replicas,
            is_new and self.design.log_dir_failure,
            leader_and_isr.leader_recovery_state if self.design.leader_recovery else LeaderRecoveryState.RECOVERED,
        )
        requests = self.state.leader_and_isr
        for broker in _ids(brokers):
            replica = PartitionAndReplica(partition, broker)
            already_new = replica in requests and requests[replica].isNew
            requests[replica] = state._replace(isNew=True) if already_new else state
        self.add_update_metadata_request_for_brokers(self.context.state.live_broker_epochs, (partition,))

    def add_stop_replica_request_for_brokers(
        self, brokers: Iterable[BrokerId], partition: TopicPartition, delete_partition: bool
    ) -> None:
        """Stop the replicas of a partition on these brokers. A deletion stays a deletion."""
        leader_epoch = self.context.leader_epoch(partition) if self.design.fence_stop else NO_EPOCH
        requests = self.state.stop_replica
        for broker in _ids(brokers):
            replica = PartitionAndReplica(partition, broker)
            already_deleted = replica in requests and requests[replica].deletePartition
            requests[replica] = StopReplicaPartitionState(
                partition, leader_epoch, already_deleted or delete_partition
            )

    def add_update_metadata_request_for_brokers(
        self, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition] = ()
    ) -> None:
        """Add these partitions for these brokers, except those that never had a leader."""
        to = frozenset(_ids(brokers))
        if not to <= self.state.update_metadata_brokers:
            self.state.update_metadata_brokers |= to
        deleted = self._partitions_to_be_deleted() if self.design.metadata_of_deleted else ()
        for partition in (*partitions, *deleted):
            known = self.context.leadership_of(partition)
            if known is not None:
                self.state.update_metadata[partition] = self._metadata(partition, known)

    def send_requests_to_brokers(self, controller_epoch: ControllerEpoch) -> None:
        """Send the collected requests; the change is done.

        Raises:
            RequestsNotSent: a request could not be sent; its kind and the kinds after it stay in the batch.
        """
        self._send_leader_and_isr_requests(controller_epoch)
        self._send_update_metadata_requests(controller_epoch)
        self._send_stop_replica_requests(controller_epoch)

    # Construction of requests.

    def _partitions_to_be_deleted(self) -> Iterator[TopicPartition]:
        topics = sorted(self.context.state.topics_to_be_deleted)
        return (partition for topic in topics for partition in self.context.partitions_for_topic(topic))

    def _metadata(
        self, partition: TopicPartition, known: LeaderIsrAndControllerEpoch
    ) -> UpdateMetadataPartitionState:
        leader_and_isr, controller_epoch = known
        if self.context.is_topic_queued_up_for_deletion(partition.topic):
            leader_and_isr = LeaderAndIsr(LEADER_DURING_DELETE, INITIAL_LEADER_EPOCH, leader_and_isr.isr)
        replicas = self.context.partition_replica_assignment(partition)
        told_offline = replicas if self.design.log_dir_failure else ()
        return UpdateMetadataPartitionState(
            partition,
            controller_epoch,
            leader_and_isr.leader,
            leader_and_isr.leader_epoch,
            leader_and_isr.isr,
            leader_and_isr.partition_epoch,
            replicas,
            tuple(broker for broker in told_offline if not self.context.is_replica_online(broker, partition)),
        )

    def _send_leader_and_isr_requests(self, controller_epoch: ControllerEpoch) -> None:
        for broker, broker_epoch, states in self._registered(self.state.leader_and_isr):
            leaders = {state.leader for state in states}
            live_leaders = (each for each in self.context.live_or_shutting_down_broker_ids() if each in leaders)
            self.send(
                broker,
                LeaderAndIsrRequest(
                    self.controller, controller_epoch, broker_epoch, tuple(states), tuple(sorted(live_leaders))
                ),
            )
        self.state.leader_and_isr.clear()

    def _send_update_metadata_requests(self, controller_epoch: ControllerEpoch) -> None:
        brokers = sorted(self.state.update_metadata_brokers)
        registered = [broker for broker in brokers if broker in self.context.state.live_broker_epochs]
        live = tuple(sorted(self.context.live_or_shutting_down_broker_ids())) if registered else ()
        states = tuple(state for _, state in sorted(self.state.update_metadata.items()))
        for broker in registered:
            broker_epoch = self._broker_epoch(broker)
            self.send(broker, UpdateMetadataRequest(self.controller, controller_epoch, broker_epoch, states, live))
        self.state.update_metadata_brokers = frozenset()
        self.state.update_metadata.clear()

    def _send_stop_replica_requests(self, controller_epoch: ControllerEpoch) -> None:
        by_partition = self.design.stop_replica_grouping is Stops.together
        for broker, broker_epoch, states in self._registered(self.state.stop_replica, by_partition):
            for delete_partitions, part in self._parted(states):
                self.send(
                    broker,
                    StopReplicaRequest(self.controller, controller_epoch, broker_epoch, delete_partitions, part),
                )
        self.state.stop_replica.clear()

    def _parted(
        self, states: Collection[StopReplicaPartitionState]
    ) -> Iterator[tuple[bool, tuple[StopReplicaPartitionState, ...]]]:
        """The partition states of each request, with its flag for all partitions."""
        if self.design.fence_stop:
            yield False, tuple(states)
            return
        alone = [(state.deletePartition, (state,)) for state in states]
        deleted, kept = (tuple(each for each in states if each.deletePartition == delete) for delete in (True, False))
        match self.design.stop_replica_grouping:
            case Stops.alone:
                yield from alone
            case Stops.deletions_alone:
                yield False, tuple(sorted(kept))
                yield from ((True, (state,)) for state in deleted)
            case Stops.behind_empty:
                yield False, ()
                yield from alone
            case Stops.together:
                yield from ((delete, part) for delete, part in ((True, deleted), (False, kept)) if part)

    def _registered(
        self, requests: Mapping[PartitionAndReplica, S], by_partition: bool = True
    ) -> Iterator[tuple[BrokerId, BrokerEpoch, list[S]]]:
        """The states for each registered broker, in the order of partitions, or of addition."""
        epochs = self.context.state.live_broker_epochs
        of_broker: dict[BrokerId, list[S]] = {}
        for replica in sorted(requests) if by_partition else requests:
            of_broker.setdefault(replica.replica, []).append(requests[replica])
        for broker in sorted(of_broker):
            if broker in epochs:
                yield broker, self._broker_epoch(broker), of_broker[broker]

    def _broker_epoch(self, broker: BrokerId) -> BrokerEpoch:
        """The broker's registration that a request is for."""
        return self.context.state.live_broker_epochs[broker] if self.design.broker_epoch else UNKNOWN_BROKER_EPOCH


def _ids(brokers: Iterable[BrokerId]) -> Iterator[BrokerId]:
    """The broker ids among them: -1 is no leader [filter(_ >= 0)]."""
    return (broker for broker in brokers if broker >= 0)
