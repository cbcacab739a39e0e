"""Beside Kafka's classes an operator creates, sets and deletes /controller, /controller_epoch and registrations."""

from __future__ import annotations

from typing import Any

import pytest

from spec.kafka.conformance import Conformance, conform
from spec.kafka.harness import Harness
from spec.kafka.mappings.controller import BUG_FIXES, DRIVEN
from spec.systems.controller import ControllerLife
from statemachines.agenda import Do
from statemachines.controller_process import ControllerProcess
from statemachines.kafka_controller import Answer, KafkaController
from statemachines.releases import line_of
from tests.kafka.conftest import running
from tests.kafka.operated_life import OperatedLife

NOTHING_ELSE: dict[str, Any] = {
    **dict.fromkeys(("crashes", "expiries", "lost_replies", "disconnections", "failures", "failed_elections"), False),
    **dict.fromkeys(("registrations", "elections", "updates"), 1),
}
"""Only the operator interferes, so that few states have a whole failover and what follows it."""
UNTIL_1_0: dict[str, Any] = {"unreadable": False, "epoch_is_deleted": False}
"""Until 1.0 the event fails that reads a /controller without a broker, and whether there is an epoch is a request by
itself: the specification has neither."""


def compared(kafka: Harness, states: int, system: type[OperatedLife] = OperatedLife, **constants: Any) -> Conformance:
    """One broker and the operator, beside Kafka's classes."""
    release = {**ControllerLife.releases[line_of(kafka.release)], **BUG_FIXES.get(kafka.release, {})}
    small = {"brokers": 1, "sessions_per_broker": 2}
    return conform(system(**{**DRIVEN, **release, **small, **constants}), kafka, max_states=states)


def test_the_controller_does_what_kafkas_does(kafka: Harness) -> None:
    """Whatever the operator writes, and whenever."""
    result = compared(kafka, 400)
    assert result.conforms, result
    assert result.classes > 250
    assert not result.known


class TakesWhatIsNobodysForItsOwn(KafkaController):
    """A broker that has never registered takes a node without an owner for that of its older session."""

    def check_registration(self, me: ControllerProcess) -> Answer:
        stat = self.zookeeper.exists(me.session, self.registration)
        if self.design.ephemeral_owner_check and stat is not None and stat.ephemeralOwner == me.registration:
            return Answer(me.to(Do.DeleteRegistration, Do.RegisterBroker, *me.doing[1:]), "an older session's")
        return KafkaController.check_registration(self, me)


class Deleting(OperatedLife):
    """A broker deletes what the operator made, and starts."""

    kafka_controller = TakesWhatIsNobodysForItsOwn


def test_a_broker_that_deletes_what_an_operator_made_is_found(kafka: Harness) -> None:
    """Kafka's does not start."""
    result = compared(kafka, 400, Deleting)
    assert result.exit_code == 12
    shortest, _, trace = result.deviations[0]
    assert [step.step.action for step in trace.steps][2:] == [
        "operator_creates_registration",
        "register_broker",
        "check_registration",
    ]
    assert "brokers.0.doing is Start, and by the specification DeleteRegistration" in str(shortest)


@pytest.mark.long
@pytest.mark.parametrize("release", ["1.1.1", "2.1.1", "3.9.1"])
def test_whole_failovers_under_an_operators_eyes(release: str) -> None:
    """The epoch is set and deleted before each of their requests."""
    with running(release) as kafka:
        result = compared(kafka, 5_000, **NOTHING_ELSE)
    assert result.conforms, result
    assert result.classes > 1_000


@pytest.mark.long
@pytest.mark.parametrize("release", ["0.11.0.3", "1.0.2"])
def test_an_operator_until_1_0(release: str) -> None:
    """Their requests are others."""
    with running(release) as kafka:
        result = compared(kafka, 2_000, **UNTIL_1_0)
    assert result.conforms, result
    assert set(result.known) <= {"D2", "D21"}


@pytest.mark.long
def test_an_operator_and_everything_else_that_can_fail(kafka: Harness) -> None:
    """One broker deeply, and two."""
    for brokers, states in ((1, 6_000), (2, 6_000)):
        result = compared(kafka, states, brokers=brokers)
        assert result.conforms, result
        assert set(result.known) <= {"D2"}
