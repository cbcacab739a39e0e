"""ControllerBrokerRequestBatch: the requests that one change of states sends, collected broker by broker.

A change begins with `new_batch`, adds what replicas and brokers are to be told, and ends with
`send_requests_to_brokers`. What is added twice for one replica is merged: the later state replaces the earlier one,
but a replica that was new stays new, and one that was to be deleted is deleted. They are sent in this order, each to
those brokers only that are registered:

    LeaderAndIsr    to the replicas
    UpdateMetadata  to the brokers that were named; what LeaderAndIsr says goes to every broker that is registered
    StopReplica     to the replicas; until 2.5 those to be deleted have a request of their own, which goes first;
                    until 2.2 each replica has one, in the order in which they were added (`Stops`)

A change that is cut short, because the controller has moved, leaves behind what it had added. Then no other change
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

__all__ = ["BatchNotEmpty", "BatchState", "ControllerBrokerRequestBatch", "InMemoryBatch", "RequestsNotSent"]

S = TypeVar("S")


class BatchNotEmpty(Exception):
    """A change of states finds what an earlier one left behind [newBatch, IllegalStateException]."""


class RequestsNotSent(Exception):
    """A request could not be sent; what had not been sent stays [sendRequestsToBrokers, IllegalStateException]."""


class BatchState(Protocol):
    """What has been added, as variables. Values are immutable and replaced as a whole."""

    update_metadata_brokers: frozenset[BrokerId]
    """The brokers that get UpdateMetadata."""

    @property
    def leader_and_isr(self) -> MutableMapping[PartitionAndReplica, LeaderAndIsrPartitionState]:
        """What replicas are told of their leaders."""

    @property
    def stop_replica(self) -> MutableMapping[PartitionAndReplica, StopReplicaPartitionState]:
        """The replicas that are to stop."""

    @property
    def update_metadata(self) -> MutableMapping[TopicPartition, UpdateMetadataPartitionState]:
        """What all of these brokers are told."""


@dataclass
class InMemoryBatch:
    """What has been added, over dicts: at first nothing."""

    update_metadata_brokers: frozenset[BrokerId] = frozenset()
    leader_and_isr: MutableMapping[PartitionAndReplica, LeaderAndIsrPartitionState] = field(default_factory=dict)
    stop_replica: MutableMapping[PartitionAndReplica, StopReplicaPartitionState] = field(default_factory=dict)
    update_metadata: MutableMapping[TopicPartition, UpdateMetadataPartitionState] = field(default_factory=dict)


class ControllerBrokerRequestBatch:
    """The requests of one change, over whatever holds them.

    Args:
        controller: the controller's id.
        context: what it knows.
        send: what becomes of a request to a broker [ControllerChannelManager.sendRequest].
        state: what has been added; else a fresh one in memory.
        design: that of its release.
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
        """A change of states begins.

        Raises:
            BatchNotEmpty: an earlier one left something behind, which stays.
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
                raise BatchNotEmpty(f"the batch is not empty: {request} of an earlier change waits for {shown}")

    def clear(self) -> None:
        """What has been added is forgotten."""
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
        """The replicas of a partition on these brokers are told who leads, and all brokers with them.

        One that has been told so in this batch that it is new stays new.
        """
        leader_and_isr, controller_epoch = known
        state = LeaderAndIsrPartitionState(
            partition.topic,
            partition.partition,
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
        """The replicas of a partition on these brokers are to stop. One that is to be deleted stays so."""
        leader_epoch = self.context.leader_epoch(partition) if self.design.fence_stop else NO_EPOCH
        requests = self.state.stop_replica
        for broker in _ids(brokers):
            replica = PartitionAndReplica(partition, broker)
            already_deleted = replica in requests and requests[replica].deletePartition
            requests[replica] = StopReplicaPartitionState(
                partition.topic, partition.partition, leader_epoch, already_deleted or delete_partition
            )

    def add_update_metadata_request_for_brokers(
        self, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition] = ()
    ) -> None:
        """These brokers are told of these partitions; of those that never had a leader nothing is told."""
        to = frozenset(_ids(brokers))
        if not to <= self.state.update_metadata_brokers:
            self.state.update_metadata_brokers |= to
        deleted = self._partitions_to_be_deleted() if self.design.metadata_of_deleted else ()
        for partition in (*partitions, *deleted):
            known = self.context.leadership_of(partition)
            if known is not None:
                self.state.update_metadata[partition] = self._metadata(partition, known)

    def send_requests_to_brokers(self, controller_epoch: ControllerEpoch) -> None:
        """The change is done: send what has been added.

        Raises:
            RequestsNotSent: a request could not be sent; its kind and those behind it stay in the batch.
        """
        try:
            self._send_leader_and_isr_requests(controller_epoch)
            self._send_update_metadata_requests(controller_epoch)
            self._send_stop_replica_requests(controller_epoch)
        except Exception as error:
            raise RequestsNotSent(f"a request could not be sent: {error!r}") from error

    # What each of them is made of.

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
            partition.topic,
            partition.partition,
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
        """What goes into one request each, with its flag for all partitions."""
        if self.design.fence_stop:
            yield False, tuple(states)
            return
        alone = [(state.deletePartition, (state,)) for state in states]
        deleted, kept = (tuple(each for each in states if each.deletePartition is delete) for delete in (True, False))
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
        """What is to be told to each broker that is registered, in the order of partitions, or as it was added."""
        epochs = self.context.state.live_broker_epochs
        of_broker: dict[BrokerId, list[S]] = {}
        for replica in sorted(requests) if by_partition else requests:
            of_broker.setdefault(replica.replica, []).append(requests[replica])
        for broker in sorted(of_broker):
            if broker in epochs:
                yield broker, self._broker_epoch(broker), of_broker[broker]

    def _broker_epoch(self, broker: BrokerId) -> BrokerEpoch:
        """The registration of a broker that a request is meant for."""
        return self.context.state.live_broker_epochs[broker] if self.design.broker_epoch else UNKNOWN_BROKER_EPOCH


def _ids(brokers: Iterable[BrokerId]) -> Iterator[BrokerId]:
    """Those of them that are brokers: -1 is no leader [filter(_ >= 0)]."""
    return (broker for broker in brokers if broker >= 0)
