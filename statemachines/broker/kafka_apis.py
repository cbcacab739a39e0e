"""KafkaApis: a broker receives a controller's request, and answers it.

It first checks which registration the request is for. One for an earlier registration of this broker is refused with
STALE_BROKER_EPOCH and changes nothing: the broker does not even learn a newer controller's epoch from it. One for a
later registration is accepted, because a broker that registers again in a new session may learn of that later than
the controller. Such requests failed from 2.2, which introduced broker epochs, to 2.5.0 [KAFKA-9839]. A request
without a broker epoch (-1) is accepted [KIP-380; isBrokerEpochStale, 2.2].

Left out: the authorization of requests from brokers, and the work of group and transaction coordinators when they
begin or cease to lead.

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


class KafkaApis:
    """A broker's request handlers.

    Args:
        replica_manager: its replicas.
        broker_epoch: returns the epoch of its registration, as far as the broker knows.
        on_leadership_change: called with the changes by LeaderAndIsr.
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
        """Handle a controller's request; `failures` are of logs (`replica_manager`)."""
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
        """Begin to lead and to follow."""
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
        """Stop replicas, and delete those with the delete flag."""
        if self.is_broker_epoch_stale(request.brokerEpoch):
            return StopReplicaResponse(Errors.STALE_BROKER_EPOCH)
        return self.replica_manager.stop_replicas(request, failures)

    def handle_update_metadata_request(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Update the metadata cache."""
        if self.is_broker_epoch_stale(request.brokerEpoch):
            return UpdateMetadataResponse(Errors.STALE_BROKER_EPOCH)
        return self.replica_manager.maybe_update_metadata_cache(request)

    def is_broker_epoch_stale(self, broker_epoch: BrokerEpoch) -> bool:
        """Whether a request is for an earlier registration [ZkBrokerEpochManager]."""
        return broker_epoch != UNKNOWN_BROKER_EPOCH and broker_epoch < self.broker_epoch()


def _failed(request: ControlRequest) -> ControlResponse:
    """The response of a broker whose handler failed. [handleError]"""
    error = Errors.UNKNOWN_SERVER_ERROR
    match request:
        case LeaderAndIsrRequest():
            return LeaderAndIsrResponse(error, _of_each(request, error))
        case StopReplicaRequest():
            return StopReplicaResponse(error, _of_each(request, error))
        case UpdateMetadataRequest():
            return UpdateMetadataResponse(error)


def _of_each(request: LeaderAndIsrRequest | StopReplicaRequest, error: Errors) -> PartitionErrors:
    return tuple((each.partition, error) for each in request.partitionStates)
