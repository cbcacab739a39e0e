"""The controller election: what each fix prevents, and that no property or guard stands there for nothing.

A mutant is the system without one guard. Each must break the property that the guard is there for; the bounds are
those at which it does.
"""

from __future__ import annotations

from typing import Any

import pytest

from spec.by_release import RELEASES
from spec.checking import Result, check
from spec.language import Specification
from spec.systems.controller_election import ControllerElection
from statemachines.controller.design import CONTROLLER
from tests.spec.systems.faults import (
    DeletingUnfenced,
    ElectionOnServers,
    FiringAgain,
    OutlivingUnsaid,
    StartingAgain,
    Unchecked,
    Unversioned,
)


def steps(result: Result) -> list[str]:
    """The counterexample as the steps it is made of."""
    assert result.counterexample is not None
    return [str(each.step) for each in result.counterexample.steps]


def said(result: Result) -> str:
    """All that was said on the way."""
    assert result.counterexample is not None
    return "; ".join(sentence for each in result.counterexample.steps for sentence in each.sentences)


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
    before, _ = last.changes[f"zk.nodes[{CONTROLLER}]"]
    assert last.step.action == "delete_controller"
    assert before.data != last.step.parameters["broker"]
    assert "BADVERSION: its failover fails" in said(result)


def test_with_the_failure_swallowed_two_failovers_have_one_epoch() -> None:
    """B20: a failover goes on with the epoch that it read, which was the previous controller's."""
    swallowed = ControllerElection.of(brokers=2, epoch_update="cas_swallowed", crashes=False)
    result = check(swallowed)
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.length) == ("epoch_unique", 28)
    assert "BADVERSION: logged and swallowed" in result.counterexample.steps[-1].sentences[0]


def test_with_three_brokers_two_losers_swallow_it() -> None:
    """Both go on with the epoch before the first one, one state sooner."""
    result = check(ControllerElection.of(brokers=3, epoch_update="cas_swallowed", crashes=False))
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.length) == ("epoch_unique", 27)


def test_what_the_switch_prevents_does_not_happen_with_it() -> None:
    """Up to the same depths, with everything on, nothing breaks."""
    assert check(ControllerElection.of(), max_depth=20).verdict == "bounded"


# Every guard that matters: the system without it, and the property that sees it.


class EpochStartsAgain(ControllerElection):
    """Every second controller puts the epoch back to where it began."""

    one_partition_controller = StartingAgain


class EphemeralsOutlive(ElectionOnServers):
    """On a ZooKeeper that does not delete what an ended session owns, and is said to."""

    servers = OutlivingUnsaid


class WatchesStay(ElectionOnServers):
    """On a ZooKeeper whose watches fire more than once."""

    servers = FiringAgain


class VersionsStay(ElectionOnServers):
    """On a ZooKeeper that does not count the writes of a node."""

    servers = Unversioned


class ChecksPass(ElectionOnServers):
    """On a ZooKeeper whose multi does not look at its checks."""

    servers = Unchecked


class UnfencedDelete(ControllerElection):
    """Writes are fenced, and the deletion of /controller is not."""

    one_partition_controller = DeletingUnfenced


MUTANTS: list[tuple[Specification, str]] = [
    (ControllerElection(crashes=False, conditional_increment=False), "epoch_unique"),
    (ControllerElection(crashes=False, conditional_increment=False), "single_controller"),
    (EpochStartsAgain(), "epoch_monotone"),
    (EphemeralsOutlive(elections=1), "zk.ephemeral_owned"),
    (WatchesStay(elections=1), "zk.one_shot"),
    (VersionsStay(elections=1), "zk.version_step"),
    (ChecksPass(), "fenced_writes"),
    (UnfencedDelete(epoch_update="cas_checked"), "only_owner_session_end_or_operator_deletes_controller"),
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
    newest = {"epoch_update": "multi", "fence_zk": True, "conditional_increment": True}
    assert ControllerElection.releases["3.9"] == newest


@pytest.mark.parametrize(
    ("epoch_update", "only_here"),
    [
        ("multi", {"register_controller"}),
        ("cas_checked", {"create_controller", "increment_epoch", "delete_controller"}),
        ("cas_swallowed", {"create_controller", "increment_epoch"}),
    ],
)
def test_the_requests_are_those_of_the_design(epoch_update: str, only_here: set[str]) -> None:
    """How the epoch is joined to the node decides which requests there are."""
    found = {each.name for each in ControllerElection.of(epoch_update=epoch_update).actions}
    some = {"register_controller", "create_controller", "increment_epoch", "delete_controller"}
    assert found & some == only_here


@pytest.mark.parametrize(
    "faults",
    [
        {"crashes": False},
        pytest.param({"operator_deletes": False}, marks=pytest.mark.long),
        {"brokers": 1},
        pytest.param({"elections": 1}, marks=pytest.mark.long),
    ],
)
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
