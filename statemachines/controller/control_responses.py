"""What brokers answer to a controller's requests, and the events that these answers become.

The answers are given to the controller's thread as events of its queue; what it does there is its own business.

    LeaderAndIsr     each answer is an event [KAFKA-4763, 1.0]; the failed log directories of a broker are known by it
    UpdateMetadata   each is an event, which only logs errors [since 2.5]
    StopReplica      one, of the partitions that were to be deleted and whose topics are being deleted; until 2.2,
                     when each of these has a request of its own, if it was sent as its topic was deleted
                     [KAFKA-8294, 2.3]

Errors stand partition by partition, as in the request. Where a request is refused as a whole, LeaderAndIsr says so of
each partition as well, StopReplica of none [getErrorResponse, handleStopReplicaRequest].

Until 2.2 a request goes with a callback, which the deletion of a topic gives it, and a reassignment does not. Here
that is told by whether the broker keeps the partition (`is_awaited`), which is exact when the request is sent. Asked
when the answer comes it takes a replica that has moved away and back for one whose topic is being deleted.

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

__all__ = [
    "ControlResponse",
    "ControlResponseReceived",
    "LeaderAndIsrResponse",
    "LeaderAndIsrResponseReceived",
    "PartitionErrors",
    "StopReplicaResponse",
    "TopicDeletionStopReplicaResponseReceived",
    "UpdateMetadataResponse",
    "UpdateMetadataResponseReceived",
    "is_awaited",
    "response_received",
]

PartitionErrors: TypeAlias = tuple[tuple[TopicPartition, Errors], ...]
"""What came of each partition, in the order of the request."""


class LeaderAndIsrResponse(NamedTuple):
    """What a broker answers to LeaderAndIsr."""

    errorCode: Errors
    partitionErrors: PartitionErrors = ()


class StopReplicaResponse(NamedTuple):
    """What a broker answers to StopReplica."""

    errorCode: Errors
    partitionErrors: PartitionErrors = ()


class UpdateMetadataResponse(NamedTuple):
    """What a broker answers to UpdateMetadata."""

    errorCode: Errors


ControlResponse: TypeAlias = LeaderAndIsrResponse | StopReplicaResponse | UpdateMetadataResponse
"""The answer to a `ControlRequest`."""

ANSWERS = {
    LeaderAndIsrRequest: LeaderAndIsrResponse,
    StopReplicaRequest: StopReplicaResponse,
    UpdateMetadataRequest: UpdateMetadataResponse,
}
"""Which answer goes with which request."""


class LeaderAndIsrResponseReceived(NamedTuple):
    """A broker has answered LeaderAndIsr. [LeaderAndIsrResponseReceived]"""

    leader_and_isr_response: LeaderAndIsrResponse
    broker_id: BrokerId


class UpdateMetadataResponseReceived(NamedTuple):
    """A broker has answered UpdateMetadata. [UpdateMetadataResponseReceived]"""

    update_metadata_response: UpdateMetadataResponse
    broker_id: BrokerId


class TopicDeletionStopReplicaResponseReceived(NamedTuple):
    """A broker has deleted replicas of topics, or has not. [TopicDeletionStopReplicaResponseReceived]"""

    replica_id: BrokerId
    request_error: Errors
    partition_errors: PartitionErrors


ControlResponseReceived: TypeAlias = (
    LeaderAndIsrResponseReceived | UpdateMetadataResponseReceived | TopicDeletionStopReplicaResponseReceived
)
"""What the controller's thread is told of an answer."""


def response_received(
    broker: BrokerId,
    request: ControlRequest,
    response: ControlResponse,
    context: ControllerContext,
    design: ControlDesign | None = None,
    awaited: bool | None = None,
) -> ControlResponseReceived | None:
    """The event that the answer to a request becomes; None: the controller does not hear of it.

    Which topics are being deleted is asked when the answer comes, not when the request is sent.

    Args:
        broker: who answers.
        request: what it was sent.
        response: what it says.
        context: what the controller knows.
        design: that of its release.
        awaited: until 2.2, of a StopReplica, what `is_awaited` has said when it was sent; else it is asked now.

    Raises:
        ValueError: it is no answer to such a request.
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
    """Whether replicas are deleted with their topic, and not because they have moved away. [callback, until 2.2]

    Args:
        broker: which keeps, or kept, the replicas.
        request: what it is sent.
        context: what the controller knows.
    """
    assigned = (context.partition_replica_assignment(partition) for partition in _to_delete(request))
    return all(not replicas or broker in replicas for replicas in assigned)


def _to_delete(request: StopReplicaRequest) -> frozenset[TopicPartition]:
    """The partitions whose logs were to be deleted."""
    return frozenset(
        TopicPartition(state.topicName, state.partitionIndex)
        for state in request.partitionStates
        if request.deletePartitions or state.deletePartition
    )
