"""The controller election: what each fix prevents, and the need for each property and guard.

A mutant is the system without one guard. Each must break the guard's property; the bounds are large enough for that.
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
from tests.tiers import long_unless


def steps(result: Result) -> list[str]:
    """Return the counterexample as its steps."""
    assert result.counterexample is not None
    return [str(each.step) for each in result.counterexample.steps]


def said(result: Result) -> str:
    """Return all words along the counterexample."""
    assert result.counterexample is not None
    return "; ".join(sentence for each in result.counterexample.steps for sentence in each.sentences)


# Each fix, when off, breaks its property, by the known sequence of events.


def test_without_fencing_a_zombie_writes() -> None:
    """B4: an operator deletes /controller, another broker is elected, and the old controller still writes."""
    result = check(ControllerElection.of(fence_zk=False))
    assert (result.verdict, result.counterexample and result.counterexample.broken) == ("violated", "fenced_writes")
    way = steps(result)
    assert "operator_deletes_controller()" in way
    first, second = (step for step in way if step.startswith("register_controller"))
    assert first != second
    assert way[-1] == first.replace("register_controller", "update_leader_and_isr")


@pytest.mark.long
def test_without_fencing_the_loser_deletes_the_winners_node() -> None:
    """B43: a broker whose increment failed deletes /controller, although another broker owns it by then."""
    result = check(ControllerElection.of(epoch_update="cas_checked", fence_zk=False))
    assert result.counterexample is not None
    assert result.counterexample.broken == "only_owner_session_end_or_operator_deletes_controller"
    last = result.counterexample.steps[-1]
    before, _ = last.changes[f"zk.nodes[{CONTROLLER}]"]
    assert last.step.action == "delete_controller"
    assert before.data != last.step.parameters["broker"]
    assert "BADVERSION: its failover fails" in said(result)


@pytest.mark.long
def test_with_the_failure_swallowed_two_failovers_have_one_epoch() -> None:
    """B20: a failover continues with the epoch that it read, the previous controller's."""
    swallowed = ControllerElection.of(brokers=2, epoch_update="cas_swallowed", crashes=False)
    result = check(swallowed)
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.length) == ("epoch_unique", 28)
    assert "BADVERSION: logged and swallowed" in result.counterexample.steps[-1].sentences[0]


@pytest.mark.long
def test_with_three_brokers_two_losers_swallow_the_failure() -> None:
    """Both continue with the epoch before the first one, one state sooner."""
    result = check(ControllerElection.of(brokers=3, epoch_update="cas_swallowed", crashes=False))
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.length) == ("epoch_unique", 27)


@pytest.mark.long
def test_with_its_fix_each_anomaly_is_gone() -> None:
    """Up to the same depths, with all fixes on, nothing breaks."""
    assert check(ControllerElection.of(), max_depth=20).verdict == "bounded"


# Every guard that matters: the system without it, and the property that detects it.


class EpochStartsAgain(ControllerElection):
    """Every second controller resets the epoch to its first value."""

    one_partition_controller = StartingAgain


class EphemeralsOutlive(ElectionOnServers):
    """On a ZooKeeper where nodes outlive their session, although the part is not configured so."""

    servers = OutlivingUnsaid


class WatchesStay(ElectionOnServers):
    """On a ZooKeeper whose watches fire more than once."""

    servers = FiringAgain


class VersionsStay(ElectionOnServers):
    """On a ZooKeeper that does not count the writes of a node."""

    servers = Unversioned


class ChecksPass(ElectionOnServers):
    """On a ZooKeeper whose multi ignores its checks."""

    servers = Unchecked


class UnfencedDelete(ControllerElection):
    """Writes are fenced, but the deletion of /controller is not."""

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
    ("mutant", "property_"),
    long_unless(lambda case: case[1] == "epoch_unique", MUTANTS),
    ids=[f"{type(mutant).__name__}-{name}" for mutant, name in MUTANTS],
)
def test_a_mutant_breaks_its_property(mutant: Specification, property_: str) -> None:
    """And at most type_ok besides, if a value leaves its domain on the way."""
    result = check(mutant, properties=[property_], max_depth=30)
    found = {each.name: each.verdict for each in result.properties}
    assert found[property_] == "violated"


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds in every system."""
    sought = {each.name for each in ControllerElection().properties if each.kind != "sometimes"}
    assert {name for _, name in MUTANTS} == sought


# Releases and constants.


def test_every_release_is_mapped() -> None:
    """Each of Kafka's releases has its values; in the newest all fixes are on."""
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
    """The requests depend on whether one multi joins the epoch and the node."""
    found = {each.name for each in ControllerElection.of(epoch_update=epoch_update).actions}
    some = {"register_controller", "create_controller", "increment_epoch", "delete_controller"}
    assert found & some == only_here


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param({"crashes": False}, marks=pytest.mark.long),
        pytest.param({"operator_deletes": False}, marks=pytest.mark.long),
        {"brokers": 1},
        pytest.param({"elections": 1}, marks=pytest.mark.long),
    ],
)
def test_impossible_actions_and_witnesses_are_absent(faults: dict[str, Any]) -> None:
    """An action or witness whose fault is off, or whose bound is too low, does not exist."""
    result = check(ControllerElection.of(**{"elections": 1, **faults}))
    assert result.verdict == "holds"


def test_a_restarted_broker_waits_for_its_predecessors_session() -> None:
    """With two sessions a broker finds its own old registration, and cannot start until that is gone."""
    result = check(ControllerElection.of(sessions_per_broker=2, elections=1, brokers=1))
    assert result.verdict == "holds"
    registrations = next(each for each in result.actions if each.name == "register_broker")
    assert registrations.taken > 0
