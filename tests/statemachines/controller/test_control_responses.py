"""The events that a broker's responses become: what no transcript shows."""

from __future__ import annotations

import pytest

from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import (
    ControlResponse,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponse,
    UpdateMetadataResponseReceived,
    is_awaited,
    response_received,
)
from statemachines.controller.event_processor import event_of
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition

T0 = TopicPartition("t", 0)
LEADER_AND_ISR = LeaderAndIsrRequest(9, 5, 101, (), ())
UPDATE_METADATA = UpdateMetadataRequest(9, 5, 101, (), ())
STOP = StopReplicaRequest(9, 5, 101, False, (StopReplicaPartitionState(T0, -2, True),))


def test_older_releases_have_fewer_events() -> None:
    """Replica responses since log directories may fail, metadata responses since their errors are logged."""

    def heard(request: ControlRequest, response: ControlResponse) -> list[bool]:
        return [
            response_received(1, request, response, ControllerContext(), ControlDesign(release)) is not None
            for release in ("0.11", "1.0", "2.4", "2.5")
        ]

    assert heard(LEADER_AND_ISR, LeaderAndIsrResponse(Errors.NONE)) == [False, True, True, True]
    assert heard(UPDATE_METADATA, UpdateMetadataResponse(Errors.NONE)) == [False, False, False, True]
    assert event_of(UpdateMetadataResponseReceived(UpdateMetadataResponse(Errors.NONE), 3)) is None


def test_until_2_2_a_response_is_awaited_by_whoever_sent_the_request() -> None:
    """A topic's deletion waits for it, a reassignment does not, wherever the replica is by then. [KAFKA-8294]"""
    context = ControllerContext()
    response = StopReplicaResponse(Errors.NONE, ((T0, Errors.NONE),))
    event = TopicDeletionStopReplicaResponseReceived(1, Errors.NONE, ((T0, Errors.NONE),))

    def received(awaited: bool | None = None) -> object:
        return response_received(1, STOP, response, context, ControlDesign("2.2"), awaited)

    assert received() == event, "the topic is gone"
    context.update_partition_full_replica_assignment(T0, ReplicaAssignment((2, 3)))
    assert received() is None
    awaited = is_awaited(1, STOP, context)
    context.update_partition_full_replica_assignment(T0, ReplicaAssignment((1, 2)))
    assert received() == event
    assert received(awaited) is None


def test_a_refused_stop_says_nothing_of_its_partitions() -> None:
    """So the controller gets no event, and waits. [STALE_BROKER_EPOCH]"""
    context = ControllerContext()
    context.begin_topic_deletion(["t"])
    assert response_received(1, STOP, StopReplicaResponse(Errors.STALE_BROKER_EPOCH), context) is None


def test_a_response_to_another_request_is_refused() -> None:
    """By name."""
    with pytest.raises(ValueError, match=r"LeaderAndIsrRequest to broker 1 is not answered by UpdateMetadata"):
        response_received(1, LEADER_AND_ISR, UpdateMetadataResponse(Errors.NONE), ControllerContext())
