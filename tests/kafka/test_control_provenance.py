"""Each rule that claims to be compared with Kafka's classes is contradicted by Kafka when reversed.

If no sequence reaches a rule, the rule could be wrong and both sides would still agree. So each rule is reversed,
release by release, until some sequence differs from Kafka. The sequences are the same each time, since some rules
show in only one of a hundred. `test_receiver` reverses the rules of a receiving broker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from random import Random
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from spec.kafka import controller_beside, idle_controller_beside, state_machines_beside
from spec.kafka.scripted_cluster import ControlCommand
from statemachines.changes.change import Compared
from statemachines.controller.control_design import ControlDesign
from tests.kafka.conftest import RealControllers
from tests.kafka.control_sequences import Drawing
from tests.kafka.event_sequences import ALL_EVENTS, EventDrawing, SettledDrawing
from tests.kafka.test_controller_beside import MOVED_AND_GONE, UNCLEAN, WITHOUT_CHANNELS
from tests.kafka.test_idle_controller_beside import (
    ADDED,
    AS_ASKED,
    ELECTED_THOUGH_DELETED,
    LEADERLESS,
    LEFT_BEHIND,
    REPLACED,
    TO_BE_DELETED,
    WAITS,
    WITHOUT_LEADER,
)
from tests.kafka.test_state_machines_beside import TRIGGERED_AGAIN

LENGTH, SEQUENCES, SEED = 20, 100, 7
"""The length of sequences, their number for each release, and their seed."""


class Side(NamedTuple):
    """How to run one kind of classes."""

    module: ModuleType
    """The module that looks up the design of a release."""
    releases: Sequence[str]
    plane: Callable[[str], Any]
    drawing: Callable[[Callable[[int], int], str], Any]
    call: str


SIDES = {
    Compared.StateMachines: Side(
        state_machines_beside,
        state_machines_beside.RELEASES,
        state_machines_beside.StateMachinesBeside,
        Drawing,
        "StateMachines",
    ),
    Compared.WholeController: Side(
        controller_beside, controller_beside.RELEASES, controller_beside.ControllerBeside, EventDrawing, "Events"
    ),
    Compared.SettledController: Side(
        controller_beside,
        idle_controller_beside.RELEASES,
        idle_controller_beside.IdleControllerBeside,
        SettledDrawing,
        "Events",
    ),
}
REBALANCED: list[ControlCommand] = [
    {"do": "wait"},
    {"do": "register", "brokers": [2, 4]},
    {"do": "create_topic", "topic": "c", "partitions": {"15": [2, 4], "21": [2, 4]}},
    {"do": "die", "brokers": [2]},
    {"do": "register", "brokers": [2]},
    {"do": "leader_writes", "partition": "c-15", "isr": [4, 2]},
    {"do": "leader_writes", "partition": "c-21", "isr": [4, 2]},
    {"do": "rebalance"},
]
"""Two partitions return to one broker at once, which happens in none of hundreds of generated sequences."""
DROPPED: list[ControlCommand] = [
    {"do": "wait", "handle": ALL_EVENTS},
    {"do": "shut_down", "broker": 2, "epoch": "now", "handle": 0},
    {"do": "stop"},
]
CASES: Mapping[Compared, list[list[ControlCommand]]] = {
    Compared.StateMachines: [TRIGGERED_AGAIN],
    Compared.WholeController: [
        [{**command, "handle": ALL_EVENTS} for command in REBALANCED],
        MOVED_AND_GONE,
        WITHOUT_CHANNELS,
        DROPPED,
        UNCLEAN,
    ],
    Compared.SettledController: [
        *(ADDED, AS_ASKED, TO_BE_DELETED, LEADERLESS, LEFT_BEHIND, ELECTED_THOUGH_DELETED),
        *(WAITS, WITHOUT_LEADER, REPLACED),
    ],
}
ObservedSequences = Sequence[tuple[Sequence[ControlCommand], Sequence[Any]]]
"""Sequences, each with Kafka's observations."""


def turned_round(rule: str) -> Callable[[str], ControlDesign]:
    """The designs of all releases, each with this rule reversed."""

    def design_of(release: str) -> ControlDesign:
        design = ControlDesign(release)
        changed: dict[str, Any] = {rule: another(getattr(design, rule))}
        if rule == "metadata_first":  # this rule is the order of a list
            changed["failover"] = ()
        return design.but(**changed)

    return design_of


def another(value: Any) -> Any:
    """Another value of this kind."""
    return next(each for each in type(value) if each is not value) if isinstance(value, Enum) else not value


def contradicted(side: Side, release: str, sequences: ObservedSequences) -> bool:
    """Whether Kafka differs in any of these sequences."""
    return any(goes_another_way(side.plane(release), *each) for each in sequences)


def goes_another_way(ours: Any, sequence: Iterable[ControlCommand], seen: Iterable[Any]) -> bool:
    """Whether our side does something else, or fails."""
    try:
        return any(ours.disagreements(command, now) for command, now in zip(sequence, seen, strict=True))
    except Exception:
        return True


@pytest.mark.long
@pytest.mark.parametrize("classes", SIDES, ids=str)
def test_each_rule_that_is_compared_is_contradicted_when_turned_round(
    classes: Compared, real_controllers: RealControllers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By at least one release when reversed; by none as it is."""
    side = SIDES[classes]
    left = {rule for rule, change in ControlDesign.changes.items() if classes in change.compared}
    for release in side.releases:
        drawn = (
            side.drawing(Random(f"{SEED} {number}").randrange, release).sequence(LENGTH)
            for number in range(SEQUENCES)
        )
        seen = list(real_controllers(release).of(side.call, [*CASES[classes], *drawn]))
        assert not contradicted(side, release, seen)
        for rule in sorted(left):
            with monkeypatch.context() as changing:
                changing.setattr(side.module, "ControlDesign", turned_round(rule))
                if contradicted(side, release, seen):
                    left.remove(rule)
        if not left:
            break
    assert left == set()
