"""Responses of brokers to a controller's requests, and the events that they become.

The responses reach the controller's thread as events in its queue. Their handlers are elsewhere.

    LeaderAndIsr     each response is an event [KAFKA-4763, 1.0]; it reveals the broker's failed log directories
    UpdateMetadata   each response is an event, which only logs errors [since 2.5]
    StopReplica      a response is an event for the deleted partitions whose topics are being deleted. Until 2.2, when
                     each of these has a request of its own, it is one if the request was sent for a topic's deletion
                     [KAFKA-8294, 2.3]

Errors are listed by partition, as in the request. If a request is refused as a whole, the response to LeaderAndIsr
lists the error for each partition as well, that to StopReplica for none [getErrorResponse, handleStopReplicaRequest].

Until 2.2 a topic's deletion gives its request a callback, and a reassignment does not. Here `is_awaited` decides this
by whether the broker is assigned the partition, which is exact when the request is sent. When it is computed at the
response, a replica that has moved away and back looks like one whose topic is being deleted.

[ControllerChannelManager.scala, KafkaController.scala, 2.2, 3.9]
"""

# ruff: noqa: N815

from typing import NamedTuple, TypeAlias

from election.ids import BrokerId
from statemachines.changes.control import Stops
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition

PartitionErrors: TypeAlias = tuple[tuple[TopicPartition, Errors], ...]
"""The outcome of each partition, in the order of the request."""


class LeaderAndIsrResponse(NamedTuple):
    """A broker's response to LeaderAndIsr."""

    errorCode: Errors
    partitionErrors: PartitionErrors = ()


class StopReplicaResponse(NamedTuple):
    """A broker's response to StopReplica."""

    errorCode: Errors
    partitionErrors: PartitionErrors = ()


class UpdateMetadataResponse(NamedTuple):
    """A broker's response to UpdateMetadata."""

    errorCode: Errors


ControlResponse: TypeAlias = LeaderAndIsrResponse | StopReplicaResponse | UpdateMetadataResponse
"""The response to a `ControlRequest`."""

ANSWERS = {
    LeaderAndIsrRequest: LeaderAndIsrResponse,
    StopReplicaRequest: StopReplicaResponse,
    UpdateMetadataRequest: UpdateMetadataResponse,
}
"""The type of response to each request."""


class LeaderAndIsrResponseReceived(NamedTuple):
    """A broker has answered LeaderAndIsr. [LeaderAndIsrResponseReceived]"""

    leader_and_isr_response: LeaderAndIsrResponse
    broker_id: BrokerId


class UpdateMetadataResponseReceived(NamedTuple):
    """A broker has answered UpdateMetadata. [UpdateMetadataResponseReceived]"""

    update_metadata_response: UpdateMetadataResponse
    broker_id: BrokerId


class TopicDeletionStopReplicaResponseReceived(NamedTuple):
    """A broker has handled the deletion of topics' replicas. [TopicDeletionStopReplicaResponseReceived]"""

    replica_id: BrokerId
    request_error: Errors
    partition_errors: PartitionErrors


ControlResponseReceived: TypeAlias = (
    LeaderAndIsrResponseReceived | UpdateMetadataResponseReceived | TopicDeletionStopReplicaResponseReceived
)
"""The controller's event for a response."""


def response_received(
    broker: BrokerId,
    request: ControlRequest,
    response: ControlResponse,
    context: ControllerContext,
    design: ControlDesign | None = None,
    awaited: bool | None = None,
) -> ControlResponseReceived | None:
    """The event for a response; None if the controller ignores it.

    The deletions under way are those at the time of the response, not of the request.

    Args:
        broker: the sender of the response.
        request: the request.
        response: the response.
        context: the controller's context.
        design: the design of its release.
        awaited: until 2.2, for StopReplica, the result of `is_awaited` when it was sent; by default computed now.

    Raises:
        ValueError: the response does not fit the request.
    """
    design = ControlDesign() if design is None else design
    if not isinstance(response, ANSWERS[request.__class__]):
        raise ValueError(f"{request.__class__.__name__} to broker {broker} is not answered by {response}")
    match response:
        case LeaderAndIsrResponse():
            return LeaderAndIsrResponseReceived(response, broker) if design.log_dir_failure else None
        case UpdateMetadataResponse():
            return UpdateMetadataResponseReceived(response, broker) if design.handle_metadata_errors else None
        case StopReplicaResponse(error, partition_errors):
            assert isinstance(request, StopReplicaRequest)
            to_delete, asks_now = _to_delete(request), design.stop_replica_grouping is Stops.together
            if awaited is None:
                awaited = is_awaited(broker, request, context)
            deleted = tuple(
                (partition, outcome)
                for partition, outcome in partition_errors
                if partition in to_delete
                and (context.is_topic_deletion_in_progress(partition.topic) if asks_now else awaited)
            )
            return TopicDeletionStopReplicaResponseReceived(broker, error, deleted) if deleted else None


def is_awaited(broker: BrokerId, request: StopReplicaRequest, context: ControllerContext) -> bool:
    """Whether replicas are deleted with their topic, not because they have moved away. [callback, until 2.2]

    Args:
        broker: the broker that keeps, or kept, the replicas.
        request: its StopReplica.
        context: the controller's context.
    """
    assigned = (context.partition_replica_assignment(partition) for partition in _to_delete(request))
    return all(not replicas or broker in replicas for replicas in assigned)


def _to_delete(request: StopReplicaRequest) -> frozenset[TopicPartition]:
    """The partitions whose logs the request deletes."""
    return frozenset(
        state.partition for state in request.partitionStates if request.deletePartitions or state.deletePartition
    )
