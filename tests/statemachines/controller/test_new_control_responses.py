"""The events that a broker's responses become."""

from __future__ import annotations

import doctest

import pytest

from statemachines.controller import event_processor as controller_event_processor
from statemachines.controller.calls import Call
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import (
    ControlResponse,
    LeaderAndIsrResponse,
    LeaderAndIsrResponseReceived,
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

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
LEADER_AND_ISR = LeaderAndIsrRequest(9, 5, 101, (), ())
UPDATE_METADATA = UpdateMetadataRequest(9, 5, 101, (), ())


def stop(*deletes: bool, of_all: bool = False) -> StopReplicaRequest:
    """Stop t-0, t-1, ..., each with its flag, or with one for all."""
    states = (StopReplicaPartitionState("t", number, -2, delete) for number, delete in enumerate(deletes))
    return StopReplicaRequest(9, 5, 101, of_all, tuple(states))


def deleting(*topics: str) -> ControllerContext:
    """A controller that is deleting these topics."""
    context = ControllerContext()
    context.begin_topic_deletion(topics)
    return context


@pytest.mark.parametrize("error", [Errors.NONE, Errors.STALE_BROKER_EPOCH])
def test_answers_become_events(error: Errors) -> None:
    """Whatever they say: the handler of the event decides about an error."""
    response = LeaderAndIsrResponse(error, ((T0, error),))
    event = response_received(1, LEADER_AND_ISR, response, ControllerContext())
    assert event == LeaderAndIsrResponseReceived(response, 1)
    metadata = UpdateMetadataResponse(error)
    event = response_received(1, UPDATE_METADATA, metadata, ControllerContext())
    assert event == UpdateMetadataResponseReceived(metadata, 1)


def test_of_stopped_replicas_only_deleted_ones_count() -> None:
    """And only those of topics that are being deleted; an error of the whole request is part of the event."""
    response = StopReplicaResponse(Errors.NONE, ((T0, Errors.NONE), (T1, Errors.KAFKA_STORAGE_ERROR)))
    assert response_received(1, stop(True, True), response, deleting()) is None
    assert response_received(1, stop(False, False), response, deleting("t")) is None
    event = response_received(1, stop(False, True), response, deleting("t"))
    assert event == TopicDeletionStopReplicaResponseReceived(1, Errors.NONE, ((T1, Errors.KAFKA_STORAGE_ERROR),))


def test_until_2_2_deletions_for_a_topic_count() -> None:
    """Whether or not the topic is still being deleted; deletions for a reassignment do not count. [KAFKA-8294]"""
    context = ControllerContext()
    design = ControlDesign("2.2")
    response = StopReplicaResponse(Errors.NONE, ((T0, Errors.NONE),))
    event = TopicDeletionStopReplicaResponseReceived(1, Errors.NONE, ((T0, Errors.NONE),))
    assert response_received(1, stop(True), response, context, design) == event
    context.update_partition_full_replica_assignment(T0, ReplicaAssignment((1, 2)))
    assert response_received(1, stop(True), response, context, design) == event
    context.update_partition_full_replica_assignment(T0, ReplicaAssignment((2, 3)))
    assert response_received(1, stop(True), response, context, design) is None
    awaited = is_awaited(1, stop(True), context)
    context.update_partition_full_replica_assignment(T0, ReplicaAssignment((1, 2)))
    assert response_received(1, stop(True), response, context, design, awaited) is None


def test_one_flag_for_the_whole_request_counts_too() -> None:
    """The form of StopReplica until 2.5."""
    response = StopReplicaResponse(Errors.NONE, ((T0, Errors.NONE),))
    event = response_received(1, stop(False, of_all=True), response, deleting("t"))
    assert event == TopicDeletionStopReplicaResponseReceived(1, Errors.NONE, ((T0, Errors.NONE),))


def test_a_refused_stop_says_nothing_of_its_partitions() -> None:
    """So the controller gets no event, and waits. [STALE_BROKER_EPOCH]"""
    assert response_received(1, stop(True), StopReplicaResponse(Errors.STALE_BROKER_EPOCH), deleting("t")) is None


def test_older_releases_have_fewer_events() -> None:
    """Replica responses since log directories may fail, metadata responses since their errors are logged."""

    def heard(request: ControlRequest, response: ControlResponse) -> list[bool]:
        return [
            response_received(1, request, response, ControllerContext(), ControlDesign(release)) is not None
            for release in ("0.11", "1.0", "2.4", "2.5")
        ]

    assert heard(LEADER_AND_ISR, LeaderAndIsrResponse(Errors.NONE)) == [False, True, True, True]
    assert heard(UPDATE_METADATA, UpdateMetadataResponse(Errors.NONE)) == [False, False, False, True]


def test_a_response_to_another_request_is_refused() -> None:
    """By name."""
    with pytest.raises(ValueError, match=r"LeaderAndIsrRequest to broker 1 is not answered by UpdateMetadata"):
        response_received(1, LEADER_AND_ISR, UpdateMetadataResponse(Errors.NONE), ControllerContext())


def test_responses_to_update_metadata_are_ignored() -> None:
    """The handler of UpdateMetadata only logs."""
    leader_and_isr, metadata = LeaderAndIsrResponse(Errors.NONE), UpdateMetadataResponse(Errors.NONE)
    assert event_of(LeaderAndIsrResponseReceived(leader_and_isr, 3)) == Call(
        "process_leader_and_isr_response_received", (leader_and_isr, 3)
    )
    assert event_of(UpdateMetadataResponseReceived(metadata, 3)) is None
    assert doctest.testmod(controller_event_processor).failed == 0
