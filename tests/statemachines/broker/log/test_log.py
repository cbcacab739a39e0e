"""What Kafka logs as an error is not lost: the ways in which a person makes a controller log it, or hand it over."""

from __future__ import annotations

import logging

import pytest

from statemachines.controller.context import ControllerContext
from statemachines.controller.event_processor import event_processor
from statemachines.controller.partition_state_machine import OFFLINE, PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.controller.state_change import ChangeDone, FailedStateChange, StateChangeFailure
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.partition import NonExistentPartition, OnlinePartition
from statemachines.tables.replica import NonExistentReplica, OnlineReplica

PARTITION = TopicPartition("t", 0)
REPLICA = PartitionAndReplica(PARTITION, 1)
ILLEGAL = StateChangeFailure.InvalidTransition
FAILED = [
    FailedStateChange(PARTITION, NonExistentPartition, OnlinePartition, ILLEGAL),
    FailedStateChange(REPLICA, NonExistentReplica, OnlineReplica, ILLEGAL),
]
LOGGED = [
    (
        "statemachines.controller.state_change",
        logging.ERROR,
        f"{subject} did not change from {states}: InvalidTransition",
    )
    for subject, states in (
        ("t-0", "NonExistentPartition to OnlinePartition"),
        ("t-0 on 1", "NonExistentReplica to OnlineReplica"),
    )
]


@pytest.fixture
def context() -> ControllerContext:
    """A controller knows a partition that does not exist yet."""
    context = ControllerContext()
    context.update_partition_full_replica_assignment(PARTITION, ReplicaAssignment((1,)))
    return context


def go_online(partitions: PartitionStateMachine, replicas: ReplicaStateMachine) -> None:
    """What does not exist is to be online at once; nothing is returned of it, as in Kafka."""
    partitions.context.put_partition_state(PARTITION, NonExistentPartition)
    assert partitions.handle_state_changes([PARTITION], OnlinePartition, OFFLINE) == ChangeDone()
    replicas.context.put_replica_state(REPLICA, NonExistentReplica)
    assert replicas.handle_state_changes([REPLICA], OnlineReplica) == ChangeDone()


def test_a_controller_logs_an_illegal_change(context: ControllerContext, caplog: pytest.LogCaptureFixture) -> None:
    """As an error of Python's logging."""
    controller = event_processor(1, lambda broker, request: None, context)
    go_online(controller.partition_state_machine, controller.replica_state_machine)
    assert caplog.record_tuples == LOGGED


def test_a_controller_hands_an_illegal_change_over(
    context: ControllerContext, caplog: pytest.LogCaptureFixture
) -> None:
    """To the log that it is given, and to no other."""
    failed: list[FailedStateChange] = []
    controller = event_processor(1, lambda broker, request: None, context, log=failed.append)
    go_online(controller.partition_state_machine, controller.replica_state_machine)
    assert failed == FAILED
    assert not caplog.records


def test_a_controller_is_silent_if_that_is_asked_for(
    context: ControllerContext, caplog: pytest.LogCaptureFixture
) -> None:
    """Explorations ask for it."""
    controller = event_processor(1, lambda broker, request: None, context, log=None)
    go_online(controller.partition_state_machine, controller.replica_state_machine)
    assert not caplog.records


def test_a_state_machine_by_itself_logs_as_well(context: ControllerContext, caplog: pytest.LogCaptureFixture) -> None:
    """It is made so in the help."""
    batch = ControllerBrokerRequestBatch(1, context, lambda broker, request: None)
    go_online(PartitionStateMachine(context, batch), ReplicaStateMachine(context, batch))
    assert caplog.record_tuples == LOGGED


def test_failures_are_logged_on_a_line() -> None:
    """Of a change as a whole as well, and of what has no state."""
    cause = StateChangeFailure.RequestsNotSent
    whole, stateless = (FailedStateChange(each, None, OnlinePartition, cause) for each in (None, PARTITION))
    assert str(whole) == "no state changed to OnlinePartition: RequestsNotSent"
    assert str(stateless) == "t-0 did not change from no state to OnlinePartition: RequestsNotSent"
