"""Beyond exploration: walks through clusters that are larger than any pinned instance.

Random walks (`simulate`) and generated Hypothesis machines find nothing in fixed systems. They find faults that no
explored instance can show: at a third partition or broker, in a reassignment to three replicas, in a broker's fourth
life.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase
from hypothesis.stateful import run_state_machine_as_test

from election.ids import BrokerId
from spec.checking.simulation import simulate
from spec.language import Specification, part
from spec.parts.receiving_brokers import ReceivingBrokers, ReceivingBrokersPart
from spec.systems.control_requests import ControlRequests, controller_writes_isr
from spec.systems.partitions import Partitions
from spec.systems.reassignment import Reassignment
from spec.systems.topic_deletion import TopicDeletion
from spec.testing import Violation, as_state_machine
from statemachines.broker.replica_manager import NO_FAILURES, LogFailure
from statemachines.controller.calls import Calls
from statemachines.controller.control_responses import ControlResponse, PartitionErrors
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.replica import OfflineReplica, ReplicaState
from tests.spec.testing.running import failure_of

# Faults, each out of reach of the explored instances.


class PassesOverTheThird(ReplicaStateMachine):
    """Replicas of a third partition are not taken offline."""

    def handle_state_changes(self, replicas: Iterable[PartitionAndReplica], target: ReplicaState) -> Calls:
        some = [each for each in replicas if target is not OfflineReplica or each.topic_partition.partition < 2]
        return super().handle_state_changes(some, target)


class PartitionsPassedOver(Partitions[Any]):
    """Partitions with this state machine."""

    replica_state_machine = PassesOverTheThird


class LooksAtTwo(ControllerEventProcessor):
    """Of three target replicas, only two must be in sync."""

    def _are_in_isr(self, states: Any, replicas: tuple[BrokerId, ...]) -> Calls:
        return super()._are_in_isr(states, replicas[:2])


class ReassignmentToTwo(Reassignment):
    """The system with this controller."""

    event_processor = LooksAtTwo


class TrustsTheThird(ControllerEventProcessor):
    """A failed deletion on a third broker counts as done."""

    def process_topic_deletion_stop_replica_response_received(
        self, broker: BrokerId, request_error: Errors, partition_errors: PartitionErrors
    ) -> Calls:
        if broker == 2:
            partition_errors = tuple((partition, Errors.NONE) for partition, _ in partition_errors)
        return super().process_topic_deletion_stop_replica_response_received(broker, request_error, partition_errors)


class DeletionOnTrust(TopicDeletion):
    """The system with this controller."""

    event_processor = TrustsTheThird


class KnowThreeLives(ReceivingBrokersPart):
    """A broker takes the fourth of its lives for the first."""

    def handle(
        self,
        s: ReceivingBrokers,
        broker: BrokerId,
        request: ControlRequest,
        failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES,
    ) -> ControlResponse:
        life = s.broker_epochs[broker]
        meant = request.brokerEpoch + 3 * (life == request.brokerEpoch + 3)
        return super().handle(s, broker, request._replace(brokerEpoch=meant), failures)


class RequestsInThreeLives(ControlRequests):
    """The system with these brokers."""

    @part
    def receivers(self) -> ReceivingBrokersPart:
        """They know three lives."""
        return KnowThreeLives(self.requests, self.design, controller_writes_isr(self), self.replica_manager)


class Beyond(NamedTuple):
    """An instance larger than the explored ones."""

    system: type[Specification[Any]]
    constants: Mapping[str, Any]
    faulty: type[Specification[Any]]
    """The system with a fault that shows only there."""
    breaks: str
    """The property that detects it."""
    runs: int = 300
    """Number of random walks; those of `control-requests` take longer, because their queues are rarely equal."""


BEYOND: Mapping[str, Beyond] = {
    "partitions": Beyond(
        Partitions,
        {
            "clear_batch": True,
            "elect_if_created": True,
            "read_back_alteration": True,
            "brokers": 3,
            "partitions": 3,
            "topic_creation": False,
            "max_crashes": 4,
            "isr_changes": 4,
            "controller_changes": 3,
            "max_leader_epoch": 12,
        },
        PartitionsPassedOver,
        "dead_not_in_isr",
    ),
    "reassignment": Beyond(
        Reassignment,
        {
            "clear_batch": True,
            "keep_in_sync": True,
            "keep_leader": True,
            "initial_replicas": 2,
            "max_replicas": 3,
            "reassignment_requests": 5,
            "max_crashes": 3,
            "isr_changes": 6,
            "controller_changes": 2,
            "max_leader_epoch": 18,
        },
        ReassignmentToTwo,
        "ends_in_sync",
    ),
    "topic-deletion": Beyond(
        TopicDeletion,
        {
            "clear_batch": True,
            "forget_ineligible": True,
            "brokers": 3,
            "max_crashes": 5,
            "isr_changes": 3,
            "controller_changes": 3,
            "creations": 3,
            "deletion_failures": 4,
            "max_leader_epoch": 14,
        },
        DeletionOnTrust,
        "no_log_left",
    ),
    "control-requests": Beyond(
        ControlRequests,
        {
            "max_crashes": 4,
            "controller_changes": 2,
            "shutdowns": True,
            "max_queued_requests": 12,
            "max_leader_epoch": 9,
        },
        RequestsInThreeLives,
        "ignores_requests_for_earlier_life",
        runs=60,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", BEYOND)
def test_simulation_finds_nothing_in_fixed_systems(name: str) -> None:
    """And every action is taken."""
    beyond = BEYOND[name]
    found = simulate(beyond.system(**beyond.constants), runs=beyond.runs, seed=18)
    assert found.verdict == "bounded"
    assert found.never_taken == ()


@pytest.mark.long
@pytest.mark.parametrize("name", BEYOND)
def test_simulation_finds_faults_beyond_exploration(name: str) -> None:
    """By the property that belongs to the fault."""
    beyond = BEYOND[name]
    found = simulate(
        beyond.faulty(**beyond.constants), runs=10 * beyond.runs, seed=18, properties=[beyond.breaks], shrinking=False
    )
    assert found.verdict == "violated"


@pytest.mark.long
@pytest.mark.parametrize("name", BEYOND)
def test_hypothesis_finds_nothing_in_fixed_systems(name: str) -> None:
    """In as many walks as the profile allows."""
    beyond = BEYOND[name]
    run_state_machine_as_test(as_state_machine(beyond.system(**beyond.constants)))


@pytest.mark.long
@pytest.mark.parametrize("name", BEYOND)
def test_hypothesis_finds_faults_beyond_exploration(name: str) -> None:
    """By some property; the failing run is not shrunk."""
    beyond = BEYOND[name]
    machine = as_state_machine(beyond.faulty(**beyond.constants))
    failure = failure_of(machine, max_examples=400, stateful_step_count=100, phases=[Phase.generate])
    assert isinstance(failure.error, Violation)
