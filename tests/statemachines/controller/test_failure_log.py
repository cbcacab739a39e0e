"""What Kafka logs as an error is not lost: the controller logs it, or passes it to a log of the caller's choice."""

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
    """A controller that knows a partition which does not exist yet."""
    context = ControllerContext()
    context.update_partition_full_replica_assignment(PARTITION, ReplicaAssignment((1,)))
    return context


def go_online(partitions: PartitionStateMachine, replicas: ReplicaStateMachine) -> None:
    """Bring a partition and a replica that do not exist online at once; the call returns nothing, as in Kafka."""
    partitions.context.put_partition_state(PARTITION, NonExistentPartition)
    assert partitions.handle_state_changes([PARTITION], OnlinePartition, OFFLINE) == (ChangeDone(),)
    replicas.context.put_replica_state(REPLICA, NonExistentReplica)
    assert replicas.handle_state_changes([REPLICA], OnlineReplica) == (ChangeDone(),)


def test_a_controller_logs_an_illegal_change(context: ControllerContext, caplog: pytest.LogCaptureFixture) -> None:
    """As an error in Python's `logging`."""
    controller = event_processor(1, lambda broker, request: None, context)
    go_online(controller.partition_state_machine, controller.replica_state_machine)
    assert caplog.record_tuples == LOGGED


def test_a_controller_passes_an_illegal_change_to_its_log(
    context: ControllerContext, caplog: pytest.LogCaptureFixture
) -> None:
    """To its own log, and to no other."""
    failed: list[FailedStateChange] = []
    controller = event_processor(1, lambda broker, request: None, context, log=failed.append)
    go_online(controller.partition_state_machine, controller.replica_state_machine)
    assert failed == FAILED
    assert not caplog.records


def test_a_controller_can_be_made_silent(context: ControllerContext, caplog: pytest.LogCaptureFixture) -> None:
    """Explorations use this."""
    controller = event_processor(1, lambda broker, request: None, context, log=None)
    go_online(controller.partition_state_machine, controller.replica_state_machine)
    assert not caplog.records


def test_a_state_machine_by_itself_logs_as_well(context: ControllerContext, caplog: pytest.LogCaptureFixture) -> None:
    """The help makes one like this."""
    batch = ControllerBrokerRequestBatch(1, context, lambda broker, request: None)
    go_online(PartitionStateMachine(context, batch), ReplicaStateMachine(context, batch))
    assert caplog.record_tuples == LOGGED


def test_a_failure_prints_as_one_line() -> None:
    """Also the failure of a whole change, and of a partition without a state."""
    cause = StateChangeFailure.RequestsNotSent
    whole, stateless = (FailedStateChange(each, None, OnlinePartition, cause) for each in (None, PARTITION))
    assert str(whole) == "no state changed to OnlinePartition: RequestsNotSent"
    assert str(stateless) == "t-0 did not change from no state to OnlinePartition: RequestsNotSent"
