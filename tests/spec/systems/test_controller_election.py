"""The controller election: what each fix prevents, and that no property or guard stands there for nothing.

A mutant is the system without one guard. Each must break the property that the guard is there for; the bounds are
those at which it does.
"""

from __future__ import annotations

from typing import Any

import pytest

from spec.checking import Result, check
from spec.language import Specification, State, action
from spec.releases import RELEASES
from spec.systems.controller_election import ControllerElection, FailureSwallowed, IncrementedByCompareAndSet
from statemachines.controller import CONTROLLER, CONTROLLER_EPOCH, MAYBE_RESIGN, Controller, Do
from statemachines.kafka_controller import Answer, KafkaController
from statemachines.znode import Transaction
from statemachines.zookeeper import (
    Code,
    Create,
    EventType,
    SessionExpired,
    SetData,
    ZooKeeper,
)


def steps(result: Result) -> list[str]:
    """The counterexample as the steps it is made of."""
    assert result.counterexample is not None
    return [str(each.step) for each in result.counterexample.steps]


def said(result: Result) -> str:
    """All that was said on the way."""
    assert result.counterexample is not None
    return "; ".join(sentence for each in result.counterexample.steps for sentence in each.said)


# Each fix switched off breaks the property that it is there for, and the way to it is the one history knows.


def test_without_fencing_a_zombie_writes() -> None:
    """B4: an operator deletes /controller, another broker is elected, and the old controller still writes."""
    result = check(ControllerElection.of(fence_zk=False))
    assert (result.verdict, result.counterexample and result.counterexample.broken) == ("violated", "fenced_writes")
    way = steps(result)
    assert "operator_deletes_controller()" in way
    first, second = (step for step in way if step.startswith("register_controller"))
    assert first != second
    assert way[-1] == first.replace("register_controller", "update_leader_and_isr")


def test_without_fencing_the_loser_deletes_the_winners_node() -> None:
    """B43: a broker whose increment failed deletes /controller, which is another's by then."""
    result = check(ControllerElection.of(epoch_update="cas_checked", fence_zk=False))
    assert result.counterexample is not None
    assert result.counterexample.broken == "only_owner_session_end_or_operator_deletes_controller"
    last = result.counterexample.steps[-1]
    before, _ = last.changes[f"nodes[{CONTROLLER}]"]
    assert last.step.action == "delete_controller"
    assert before.data != last.step.parameters["broker"]
    assert "BADVERSION: its failover fails" in said(result)


def test_with_the_failure_swallowed_two_failovers_have_one_epoch() -> None:
    """B20: a failover goes on with the epoch that it read, which was the previous controller's."""
    swallowed = ControllerElection.of(brokers=2, epoch_update="cas_swallowed", crashes=False)
    result = check(swallowed)
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.length) == ("epoch_unique", 28)
    assert "BADVERSION: logged and swallowed" in result.counterexample.steps[-1].said[0]


def test_with_three_brokers_two_losers_swallow_it() -> None:
    """Both go on with the epoch before the first one, one state sooner."""
    result = check(ControllerElection.of(brokers=3, epoch_update="cas_swallowed", crashes=False))
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.length) == ("epoch_unique", 27)


def test_what_the_switch_prevents_does_not_happen_with_it() -> None:
    """Up to the same depths, with everything on, nothing breaks."""
    assert check(ControllerElection.of(), max_depth=20).verdict == "bounded"


# Every guard that matters: the system without it, and the property that sees it.


class UnconditionalIncrement(ControllerElection):
    """The multi sets the epoch whatever its version is."""

    def register_controller(self, s: State, broker: int) -> None:
        self.request(s, broker, Do.RegisterController, self.unconditionally)

    @staticmethod
    def unconditionally(its: KafkaController, me: Controller) -> Answer:
        epoch = me.epoch + 1
        operations = (Create(CONTROLLER, its.broker, ephemeral=True), SetData(CONTROLLER_EPOCH, epoch))
        try:
            results = its.zookeeper.multi(me.session, operations)
        except SessionExpired:
            return Answer(its.expire(me), "")
        if any(isinstance(each, Code) for each in results):
            return Answer(me.to(*MAYBE_RESIGN)._replace(epoch=0, epoch_zk_version=0), "")
        return Answer(me.on()._replace(active=True, epoch=epoch, epoch_zk_version=epoch), "", failover=True)


class EpochStartsAgain(ControllerElection):
    """A second controller puts the epoch back to where it began."""

    def register_controller(self, s: State, broker: int) -> None:
        epoch = s.nodes[CONTROLLER_EPOCH].data
        super().register_controller(s, broker)
        if epoch == 1 and s.nodes[CONTROLLER_EPOCH].data == 2:
            s.nodes[CONTROLLER_EPOCH] = s.nodes[CONTROLLER_EPOCH]._replace(data=0)


class _Outliving(ZooKeeper):
    """ZOOKEEPER-2985: what a session owns outlives it."""

    def _end(self, request: str, session: Any, order: Any, seen: Any) -> None:
        self._forget_watches(session)
        del self.state.sessions[session]


class EphemeralsOutlive(ControllerElection):
    """On a ZooKeeper that does not delete what an ended session owns."""

    zookeeper = _Outliving


class _Repeating(ZooKeeper):
    """A watch fires and stays."""

    def _disarm(self, table: Any, path: str) -> list[Any]:
        return sorted(self._watches(table)[path])


class WatchesStay(ControllerElection):
    """On a ZooKeeper whose watches fire more than once."""

    zookeeper = _Repeating


class _Forgetful(Transaction):
    def set(self, path: str, data: Any, version: int) -> Any:
        node = self.find_version("set", path, version)
        self.nodes[path] = node._replace(data=data)
        self.changes.append((EventType.NodeDataChanged, path))


class _Unversioned(ZooKeeper):
    """Setting data leaves the version as it is."""

    transaction = _Forgetful


class VersionsStay(ControllerElection):
    """On a ZooKeeper that does not count the writes of a node."""

    zookeeper = _Unversioned


class _Unchecked(Transaction):
    def check(self, path: str, version: int) -> None:
        """Passes whatever the version is."""


class _CheckPasses(ZooKeeper):
    transaction = _Unchecked


class ChecksPass(ControllerElection):
    """On a ZooKeeper whose multi does not look at its checks."""

    zookeeper = _CheckPasses


class UnfencedDelete(IncrementedByCompareAndSet, epoch_update="cas_checked"):
    """Writes are fenced, and the deletion of /controller is not."""

    @action(broker=lambda self: range(self.brokers))
    def delete_controller(self, s: State, broker: int) -> None:
        unfenced = KafkaController(self.design._replace(fenced=False), self.zookeeper(s), broker)
        self.request(s, broker, Do.DeleteController, lambda _, me: unfenced.delete_controller(me))


MUTANTS: list[tuple[Specification, str]] = [
    (UnconditionalIncrement(crashes=False), "epoch_unique"),
    (UnconditionalIncrement(crashes=False), "one_effective"),
    (EpochStartsAgain(), "epoch_monotone"),
    (EphemeralsOutlive(elections=1), "ephemeral_owned"),
    (WatchesStay(elections=1), "one_shot"),
    (VersionsStay(elections=1), "version_step"),
    (ChecksPass(), "fenced_writes"),
    (UnfencedDelete(), "only_owner_session_end_or_operator_deletes_controller"),
]


@pytest.mark.parametrize(
    ("mutant", "property_"), MUTANTS, ids=[f"{type(mutant).__name__}-{name}" for mutant, name in MUTANTS]
)
def test_a_mutant_breaks_the_property_that_is_there_for_it(mutant: Specification, property_: str) -> None:
    """And type_ok at most, where a value leaves its domain on the way."""
    result = check(mutant, properties=[property_], max_depth=30)
    found = {each.name: each.verdict for each in result.properties}
    assert found[property_] == "violated"


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds whatever the system does."""
    sought = {each.name for each in ControllerElection().properties if each.kind != "sometimes"}
    assert {name for _, name in MUTANTS} == sought


# Releases and constants.


def test_every_release_is_mapped() -> None:
    """Each of Kafka's releases has a valuation, and the newest is everything on."""
    assert tuple(ControllerElection.releases) == RELEASES
    assert ControllerElection.releases["3.9"] == {"epoch_update": "multi", "fence_zk": True}


@pytest.mark.parametrize(
    ("epoch_update", "variant"),
    [
        ("multi", ControllerElection),
        ("cas_checked", IncrementedByCompareAndSet),
        ("cas_swallowed", FailureSwallowed),
    ],
)
def test_the_constant_chooses_the_variant(epoch_update: str, variant: type[ControllerElection]) -> None:
    """Each design is a class of its own, found by the constant that it fixes."""
    assert type(ControllerElection.of(epoch_update=epoch_update)) is variant


@pytest.mark.parametrize("faults", [{"crashes": False}, {"operator": False}, {"brokers": 1}, {"elections": 1}])
def test_what_cannot_happen_is_absent_not_missing(faults: dict[str, Any]) -> None:
    """An action or witness whose fault is off, or whose bound is too low, is not asked for."""
    result = check(ControllerElection.of(**{"elections": 1, **faults}))
    assert result.verdict == "holds"


def test_a_restarted_broker_waits_for_its_predecessors_session() -> None:
    """With two sessions a broker meets its own old registration, and its start fails until that is gone."""
    result = check(ControllerElection.of(sessions_per_broker=2, elections=1, brokers=1))
    assert result.verdict == "holds"
    registrations = next(each for each in result.actions if each.name == "register_broker")
    assert registrations.taken > 0
