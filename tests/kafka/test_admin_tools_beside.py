"""What administrators do, beside Kafka's own tools and AdminManager: generated actions, valid and not.

Each action begins with a cluster in some situation. Afterwards the trees are equal, and both sides have refused the
action for the same kind of reason, or neither has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

import statemachines.admin
from election.replica_placement import create_new_partitions_assignment
from spec.kafka.admin_tools_beside import ACTIONS, Action, AdminToolsBeside, Situation, actions_of
from spec.kafka.scripted_cluster import Disagreement
from spec.kafka.state_machines_beside import RELEASES
from statemachines.changes.administration import AdminDesign
from statemachines.changes.change import Compared
from statemachines.cluster import Cluster
from tests.kafka.admin_actions import AdminDrawing
from tests.kafka.conftest import RELEASE, RealControllers

LONG = int(os.environ.get("ADMIN_ACTIONS", 2_000))
"""The number of actions in the long test, for each release."""
ENOUGH = 10_000
"""So many actions contradict each rule that is turned round; the rarest is contradicted by 4 of 1,000."""

Change = Callable[[pytest.MonkeyPatch], None]
Made = Callable[[str, Situation], AdminToolsBeside]


def differences(
    real_controllers: RealControllers, release: str, seed: int, count: int, ours_of: Made = AdminToolsBeside
) -> Iterator[tuple[Situation, Action, list[Disagreement]]]:
    """The drawn actions after which the two sides differ."""

    def cases() -> Iterator[tuple[AdminToolsBeside, Situation, Action]]:
        for number in range(count):
            situation, action = AdminDrawing(Random(f"{seed} {number}").randrange, release).case()
            yield ours_of(release, situation), situation, action

    compared = real_controllers(release).of("Tools", cases(), lambda case: case[0].case(case[2]), a_line=20)
    for (ours, situation, action), seen in compared:
        if found := ours.disagreements(action, seen):
            yield situation, action, found


def compare(real_controllers: RealControllers, release: str, seed: int, count: int) -> None:
    """AssertionError names the first difference, if there is one."""
    print(f"seed {seed}")
    for situation, action, found in differences(real_controllers, release, seed, count):
        pytest.fail("\n".join([str(situation), str(action), *map(str, found)]))


def test_what_administrators_do_equals_kafkas(real_controllers: RealControllers, first_seed: int) -> None:
    """A hundred actions of the newest release."""
    compare(real_controllers, RELEASE, first_seed, 100)


@pytest.mark.long
@pytest.mark.parametrize("release", RELEASES)
def test_what_administrators_do_equals_kafkas_in_each_release(
    real_controllers: RealControllers, release: str, first_seed: int
) -> None:
    """More."""
    compare(real_controllers, release, first_seed, LONG)


def test_each_change_that_is_compared_is_turned_round_below() -> None:
    """In some release."""
    compared = {name for name, its in AdminDesign.changes.items() if Compared.Tools in its.compared}
    assert compared == {change for changes in TURNED.values() for change in changes}


def test_each_action_is_compared_in_some_release() -> None:
    """Those of tools end with the tools, or when a request takes their place."""
    assert {action for release in RELEASES for action in actions_of(release)} == ACTIONS.keys()


# Each rule turned round is contradicted.

TURNED = {
    "0.10.2.2": ("add_to_unequal", "check_targets", "elect_by_request", "number_from_zero", "refuse_marked_topic"),
    "0.11.0.3": ("add_by_request", "add_to_unequal", "check_targets", "elect_by_request", "number_from_zero"),
    "1.0.2": ("add_by_request", "add_to_unequal", "check_targets", "elect_by_request", "refuse_marked_topic"),
    "1.1.1": ("add_by_request", "add_to_unequal", "check_targets", "elect_by_request", "number_from_zero"),
    "2.2.2": ("add_by_request", "add_to_unequal", "check_targets", "number_from_zero", "refuse_marked_topic"),
    "2.4.1": ("add_by_request", "add_to_unequal", "number_from_zero", "refuse_marked_topic"),
    "2.8.2": ("add_by_request", "add_to_unequal", "number_from_zero", "refuse_marked_topic"),
    "3.9.1": ("add_by_request", "add_to_unequal", "number_from_zero", "refuse_marked_topic"),
}
"""The changes of a release that its tools, or AdminManager, show. The others are for brokers and controllers."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("release", "change"),
    [
        pytest.param(release, change, marks=() if release == RELEASE else pytest.mark.long)
        for release, changes in TURNED.items()
        for change in changes
    ],
)
def test_a_change_turned_round_is_contradicted(
    real_controllers: RealControllers, release: str, change: str, first_seed: int
) -> None:
    """A release does not have a change that it has, or has one that it has not."""
    design = AdminDesign(release)
    turned = design.but(**{change: not getattr(design, change)})

    def ours(release: str, situation: Situation) -> AdminToolsBeside:
        return AdminToolsBeside(release, situation, turned)

    assert any(differences(real_controllers, release, first_seed, ENOUGH, ours))


def _without_collisions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(statemachines.admin, "has_collision", lambda *_: False)


def _without_equal_numbers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(statemachines.admin, "require_equal_numbers", lambda *_: None)


def _with_repeated_brokers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(statemachines.admin, "in_order", lambda _, brokers: tuple(brokers))


def _on_all_brokers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Cluster, "_registered", lambda self: frozenset(self.brokers))


def _without_moving(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Cluster, "_need_no_changes_of", lambda *_: None)


def _marking_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Cluster, "delete_topic", Cluster._need_topic)


def _without_replicas_as_before(patch: pytest.MonkeyPatch) -> None:
    def turned(*arguments: Any, **more: Any) -> dict[int, tuple[int, ...]]:
        placed = create_new_partitions_assignment(*arguments, **more)
        return {number: brokers[::-1] for number, brokers in placed.items()}

    patch.setattr("statemachines.cluster_administration.create_new_partitions_assignment", turned)


def _without_reasons_of_the_tool(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Cluster, "_refused_by_tool", lambda *_: "there is no partition")


ALWAYS: tuple[Change, ...] = (
    _without_collisions,
    _without_equal_numbers,
    _with_repeated_brokers,
    _on_all_brokers,
    _without_moving,
    _marking_nothing,
    _without_replicas_as_before,
)


@pytest.mark.long
@pytest.mark.parametrize("rule", ALWAYS)
def test_a_rule_turned_round_is_contradicted(
    real_controllers: RealControllers, rule: Change, first_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that every release has."""
    rule(monkeypatch)
    assert any(differences(real_controllers, RELEASE, first_seed, ENOUGH))


@pytest.mark.long
def test_a_tool_that_refuses_all_plans_is_contradicted(
    real_controllers: RealControllers, first_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 1.1 the tool writes the node for reassignments."""
    _without_reasons_of_the_tool(monkeypatch)
    assert any(differences(real_controllers, "1.1.1", first_seed, ENOUGH))


# Requests that Kafka accepts and ours does not; `statemachines.admin` names them.

LEFT_OUT: tuple[Action, ...] = (
    {"do": "create", "topic": "u", "partitions": {"0": []}},
    {"do": "create", "topic": "u", "partitions": {"0": [-1]}},
    {"do": "create", "topic": "u", "partitions": {"-1": [1]}},
)


@pytest.mark.parametrize("action", LEFT_OUT, ids=str)
def test_kafka_accepts_topics_that_ours_refuses(real_controllers: RealControllers, action: Action) -> None:
    """A topic without replicas, on a broker that cannot be, with a partition that cannot be."""
    ours = AdminToolsBeside(RELEASE, Situation())
    [(_, seen)] = real_controllers(RELEASE).of("Tools", [ours.case(action)])
    assert seen["refused"] == []
    assert "/brokers/topics/u" in seen["tree"]
    assert [each.kafkas for each in ours.disagreements(action, seen) if each.what == "refusal"] == [""]
