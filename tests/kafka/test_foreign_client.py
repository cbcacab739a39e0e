"""Real KafkaControllers beside a client that is not a broker, and the specification beside the same client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from spec.checking.check import silent
from spec.checking.exploration import Options
from spec.checking.local import LocalEngine
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.kafka.conformance import Conformance, conform
from spec.kafka.foreign_client import ControllerWithForeignClient
from spec.kafka.harness import Harness, harness_releases
from spec.kafka.mappings.controller import DRIVEN
from statemachines.controller.controller_process import Answer, ControllerProcess
from statemachines.controller.design import CONTROLLER_EPOCH, Threads
from statemachines.controller.one_partition import OnePartitionController
from statemachines.controller.registration import Refused
from statemachines.controller.threads import ControllerStep
from statemachines.zookeeper.tree import Code
from tests.kafka.conftest import RELEASE, running

FAILURES = ("crashes", "expiries", "lost_replies", "disconnections", "request_failures", "failed_elections")
NOTHING_FAILS: Mapping[str, Any] = {**dict.fromkeys((*FAILURES, "operator_deletes"), False), "brokers": 1}
EVERYTHING_FAILS: Mapping[str, Any] = {**dict.fromkeys(FAILURES, True), "brokers": 1}
ONCE: Mapping[str, Any] = {"elections": 1, "state_writes": 1, "registrations": 1}
TWICE_REGISTERED: Mapping[str, Any] = {**ONCE, "registrations": 2}


NODES = ("controller", "epoch", "registrations")
OLDER = [release for release in harness_releases() if release != RELEASE]


def alone(node: str) -> Mapping[str, Any]:
    """The client writes to one of the nodes only."""
    return {f"writes_{each}": each == node for each in NODES}


def compared(
    kafka: Harness,
    states: int,
    controller: type[OnePartitionController] = OnePartitionController,
    **constants: Any,
) -> Conformance:
    """Compare a specification with Kafka, under these constants and the switches of its release."""

    class Beside(ControllerWithForeignClient):
        one_partition_controller = controller

    switches = ControllerWithForeignClient.releases[kafka.release]
    return conform(Beside(**{**DRIVEN, **switches, **constants}), kafka, max_states=states)


class TakesItForItsOwn(OnePartitionController):
    """A process that never registered considers a registration without owner one of its own older session."""

    def check_registration(self, me: ControllerProcess) -> Answer:
        node = self.zookeeper.state.nodes.get(self.registration)
        if me.registration is None and node is not None and node.owner is None:
            return Answer(
                me.with_steps(ControllerStep.DeleteRegistration, ControllerStep.RegisterBroker, *me.agenda[1:]),
                "taken for its own",
            )
        return OnePartitionController.check_registration(self, me)


@pytest.mark.long
def test_controllers_conform_beside_a_foreign_client(kafka: Harness) -> None:
    """Within the first states: every kind of write, at every position of a broker."""
    result = compared(kafka, 300, **NOTHING_FAILS)
    assert result.conforms, result
    assert result.classes >= 150
    assert not result.known


def test_a_registration_made_by_hand_is_not_taken_for_its_own(kafka: Harness) -> None:
    """The broker does not start: a specification that deletes the node is contradicted, after five steps."""
    result = compared(kafka, 300, TakesItForItsOwn, **NOTHING_FAILS)
    assert result.exit_code == 12
    assert result.deviations[0][0].length == 5
    assert "brokers.0.doing is Start; the specification says DeleteRegistration" in str(result)


def test_engines_agree() -> None:
    """It is a specification like any other: the compiled engine finds the same states as the plain one."""
    model = Model(ControllerWithForeignClient(**{**DRIVEN, **NOTHING_FAILS, **ONCE, **alone("epoch")}))
    options = Options(model.numbers(["type_ok"]))
    plain, compiled = (engine.explore(model, options, silent) for engine in (ReferenceEngine(), LocalEngine(1)))
    assert plain.statistics.distinct == compiled.statistics.distinct > 1_000


# Mistakes.


class TakesItForAMove(OnePartitionController):
    """A fence or an increment that finds no /controller_epoch means that another controller was elected."""

    mistaken: ControllerStep

    def _refused(self, me: ControllerProcess) -> Refused | None:
        refused = super()._refused(me)
        gone = refused is not None and refused.epoch_is_gone and me.about_to(self.mistaken)
        return refused._replace(code=Code.BADVERSION) if refused is not None and gone else refused


class OfTheElection(TakesItForAMove):
    """The fence of the election."""

    mistaken = ControllerStep.RegisterController


class OfTheWrite(TakesItForAMove):
    """The fence of a write to a partition's state."""

    mistaken = ControllerStep.UpdateLeaderAndIsr


class OfTheEnd(TakesItForAMove):
    """The fence at the end of a failover."""

    mistaken = ControllerStep.DeletePreferredElection


class FailsWithoutEpoch(OnePartitionController):
    """An election that finds no /controller_epoch fails, instead of creating it."""

    def read_epoch(self, me: ControllerProcess) -> Answer:
        if CONTROLLER_EPOCH not in self.zookeeper.state.nodes:
            return self._fails_by(me, "it is gone")
        return OnePartitionController.read_epoch(self, me)


class CountsOn(OnePartitionController):
    """A controller that reads its own epoch again expects its version to be one higher."""

    def check_epoch(self, me: ControllerProcess) -> Answer:
        answer = OnePartitionController.check_epoch(self, me)
        counted = answer.controller.with_context(epoch_zk_version=me.context.epoch_zk_version + 1)
        return answer._replace(controller=counted) if answer.failover else answer


class ReadsNone(OnePartitionController):
    """In every release data that name no broker count as no node."""

    def _controller_id(self, me: ControllerProcess) -> Any:
        barrier = self.design.but(threads=Threads.barrier)
        return OnePartitionController(barrier, self.zookeeper, self.broker)._controller_id(me)


@pytest.mark.long
@pytest.mark.parametrize(
    ("mutant", "release", "constants"),
    [
        (OfTheElection, "3.9.1", {**NOTHING_FAILS, **ONCE, **alone("epoch")}),
        (OfTheWrite, "3.9.1", {**NOTHING_FAILS, **ONCE, **alone("epoch")}),
        (OfTheEnd, "3.9.1", {**NOTHING_FAILS, **ONCE, **alone("epoch")}),
        (FailsWithoutEpoch, "3.9.1", {**NOTHING_FAILS, **ONCE, **alone("epoch")}),
        (CountsOn, "3.9.1", {**EVERYTHING_FAILS, **ONCE, **alone("epoch")}),
        (FailsWithoutEpoch, "2.0.1", {**NOTHING_FAILS, **ONCE, **alone("epoch")}),
        (ReadsNone, "1.0.2", {**NOTHING_FAILS, **ONCE, **alone("controller")}),
    ],
)
def test_a_mutant_is_refuted(
    mutant: type[OnePartitionController], release: str, constants: Mapping[str, Any]
) -> None:
    """By Kafka, in a release that has the rule."""
    with running(release) as kafka:
        result = compared(kafka, 4_000, mutant, **constants)
        assert result.exit_code == 12, result


# Longer comparisons.


@pytest.mark.long
@pytest.mark.parametrize("node", NODES)
def test_every_node_alone(kafka: Harness, node: str) -> None:
    """With everything that can fail; and two brokers."""
    result = compared(kafka, 6_000, **EVERYTHING_FAILS, **TWICE_REGISTERED, **alone(node))
    assert result.conforms, result
    assert set(result.known) <= {"D2", "D24"}
    assert ("D24" in result.known) == (node == "controller")
    two = compared(kafka, 4_000, **{**NOTHING_FAILS, "brokers": 2}, **alone(node))
    assert two.conforms, two


@pytest.mark.long
@pytest.mark.parametrize("release", OLDER)
def test_every_release(release: str) -> None:
    """With everything that can fail, by the switches of the release."""
    with running(release) as kafka:
        for node in NODES:
            result = compared(kafka, 2_500, **EVERYTHING_FAILS, **TWICE_REGISTERED, **alone(node))
            assert result.conforms, result


@pytest.mark.long
def test_every_edge(kafka: Harness) -> None:
    """All nodes together: every edge of the first states."""
    system = ControllerWithForeignClient(**{**DRIVEN, **NOTHING_FAILS})
    result = conform(system, kafka, max_states=1_500, every_edge=True)
    assert result.conforms, result
    assert result.edges >= 10_000
