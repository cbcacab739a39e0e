"""KafkaApis: a broker gets a controller's request, and answers it.

Before anything else it looks whom the request is for. One that is for an earlier registration of this broker is
refused, STALE_BROKER_EPOCH, and changes nothing: not even a newer controller's epoch is known by it. One for a later
registration is taken, for a broker that has lost its session and registers anew may hear of that later than the
controller; from 2.2, when registrations came to be named, to 2.5.0 it failed [KAFKA-9839].
One that names none (-1) is taken [KIP-380; isBrokerEpochStale, 2.2].

Left out: that a request comes from a broker, which Kafka authorizes, and what group and transaction coordinators do
when they begin to lead, or cease to.

[KafkaApis.scala, 3.9]
"""

from collections.abc import Callable, Mapping

from election.ids import BrokerEpoch
from statemachines.broker.replica_manager import NO_FAILURES, LeadershipChange, LogFailure, ReplicaManager
from statemachines.controller.control_responses import (
    ControlResponse,
    LeaderAndIsrResponse,
    PartitionErrors,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from statemachines.messages.control_requests import (
    UNKNOWN_BROKER_EPOCH,
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition

__all__ = ["KafkaApis"]


class KafkaApis:
    """What a broker answers.

    Args:
        replica_manager: its replicas.
        broker_epoch: asked for the epoch of its registration, as far as the broker knows.
        on_leadership_change: told what LeaderAndIsr has changed.
    """

    def __init__(
        self,
        replica_manager: ReplicaManager,
        broker_epoch: Callable[[], BrokerEpoch],
        on_leadership_change: Callable[[LeadershipChange], object] = lambda change: None,
    ) -> None:
        self.replica_manager, self.broker_epoch = replica_manager, broker_epoch
        self.on_leadership_change = on_leadership_change
        self.design = replica_manager.design

    def handle(
        self, request: ControlRequest, failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES
    ) -> ControlResponse:
        """Handle a request.

        Args:
            request: what a controller asks for.
            failures: what goes wrong with logs; see `replica_manager`.
        """
        if not self.design.newer_broker_epoch and request.brokerEpoch > self.broker_epoch():
            return _failed(request)
        match request:
            case LeaderAndIsrRequest():
                return self.handle_leader_and_isr_request(request, failures)
            case StopReplicaRequest():
                return self.handle_stop_replica_request(request, failures)
            case UpdateMetadataRequest():
                return self.handle_update_metadata_request(request)

    def handle_leader_and_isr_request(
        self, request: LeaderAndIsrRequest, failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES
    ) -> LeaderAndIsrResponse:
        """Lead and follow."""
        if self.is_broker_epoch_stale(request.brokerEpoch):
            stale = Errors.STALE_BROKER_EPOCH
            return LeaderAndIsrResponse(stale, _of_each(request, stale))
        change = self.replica_manager.become_leader_or_follower(request, failures)
        if change.leaders or change.followers:
            self.on_leadership_change(change)
        return change.response

    def handle_stop_replica_request(
        self, request: StopReplicaRequest, failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES
    ) -> StopReplicaResponse:
        """Stop, and delete."""
        if self.is_broker_epoch_stale(request.brokerEpoch):
            return StopReplicaResponse(Errors.STALE_BROKER_EPOCH)
        return self.replica_manager.stop_replicas(request, failures)

    def handle_update_metadata_request(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Learn of the cluster."""
        if self.is_broker_epoch_stale(request.brokerEpoch):
            return UpdateMetadataResponse(Errors.STALE_BROKER_EPOCH)
        return self.replica_manager.maybe_update_metadata_cache(request)

    def is_broker_epoch_stale(self, broker_epoch: BrokerEpoch) -> bool:
        """Whether a request is for an earlier registration [ZkBrokerEpochManager]."""
        return broker_epoch != UNKNOWN_BROKER_EPOCH and broker_epoch < self.broker_epoch()


def _failed(request: ControlRequest) -> ControlResponse:
    """What a broker answers that has failed. [handleError]"""
    error = Errors.UNKNOWN_SERVER_ERROR
    match request:
        case LeaderAndIsrRequest():
            return LeaderAndIsrResponse(error, _of_each(request, error))
        case StopReplicaRequest():
            return StopReplicaResponse(error, _of_each(request, error))
        case UpdateMetadataRequest():
            return UpdateMetadataResponse(error)


def _of_each(request: LeaderAndIsrRequest | StopReplicaRequest, error: Errors) -> PartitionErrors:
    return tuple((TopicPartition(told.topicName, told.partitionIndex), error) for told in request.partitionStates)
