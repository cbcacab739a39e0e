"""Values as text for people, and as JSON."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, NamedTuple, cast

import pytest

from spec.checking import check
from spec.checking.traces.itf import RecordedTrace
from spec.checking.values.text import jsonable, show
from spec.language import (
    ABSENT,
    LEFT_OUT,
    Partial,
    Specification,
    State,
    action,
    integers,
    partial_mapping,
    subset_of,
    variable,
)
from spec.language.domains import Subset
from tests.spec.checking.traces.test_trace import Letter


class Colour(Enum):
    """An enumeration."""

    Red = 1


class Inner(NamedTuple):
    """A record."""

    a: Any
    b: Any


class Stamped(NamedTuple):
    """A record that defines its own text."""

    number: int = 0

    def __str__(self) -> str:
        return f"#{self.number}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "none"),
        (True, "true"),
        (7, "7"),
        ("text", "text"),
        (Colour.Red, "Red"),
        (ABSENT, "absent"),
        (LEFT_OUT, "?"),
        ((), "()"),
        ((1,), "(1,)"),
        ((1, (None, False)), "(1, (none, false))"),
        (frozenset(), "{}"),
        (subset_of((2, 1)).unrank(3), "{2, 1}"),
        (Letter(), "Letter()"),
        (Letter(to=2), "Letter(to=2)"),
        ((Letter(to=2, text="a"),), "(Letter(to=2, text=a),)"),
        (Stamped(4), "#4"),
    ],
)
def test_values_are_shown_shortly(value: object, shown: str) -> None:
    """As a person would write them. What a record shows by itself is not repeated."""
    assert show(value) == shown


VALUES: list[tuple[Any, Any]] = [
    (3, 3),
    (True, True),
    ("text", "text"),
    (b"text", "text"),
    (None, None),
    (ABSENT, None),
    (LEFT_OUT, None),
    (Colour.Red, "Red"),
    (Inner(1, Inner(LEFT_OUT, Colour.Red)), {"a": 1, "b": {"b": "Red"}}),
    ((1, (2, 3)), [1, [2, 3]]),
    (frozenset({"d", "a", "c", "b"}), ["a", "b", "c", "d"]),
    (Subset("bca", {"c": 0, "a": 1, "b": 2}), ["c", "a", "b"]),
    ({Colour.Red: 1, 2: LEFT_OUT, 3: (4,)}, {"Red": 1, "3": [4]}),
    (1.5, "1.5"),
]


@pytest.mark.parametrize(
    ("value", "expected"),
    VALUES,
    ids=[f"{number} {type(value).__name__}" for number, (value, _) in enumerate(VALUES)],
)
def test_a_value_as_json(value: Any, expected: Any) -> None:
    """Every value of a state has a form in JSON, without its left-out fields."""
    assert json.loads(json.dumps(jsonable(value))) == expected


class HeldState(State):
    """The state of `HoldsItself`."""

    held: Partial[int, int] = variable("A mapping.", of=lambda self: partial_mapping(range(2), integers(0, 1)))
    left: int = variable("A number.", of=lambda self: integers(0, 1))


class HoldsItself(Specification[HeldState]):
    """It assigns a value of no type that contains the state's own mapping."""

    @action
    def put(self, s: HeldState) -> None:
        s.left = 2
        held = s.held
        held[0] = cast("int", {1: held})


def test_a_mapping_that_holds_itself_is_written() -> None:
    """As text, JSON and ITF."""
    found = check(HoldsItself, engine="reference")
    assert found.headline == "type_ok is violated, in 2 states"
    assert found.counterexample is not None
    assert "{...}" in str(found.counterexample)
    assert "{...}" in json.dumps(found.to_json())
    assert RecordedTrace.of(HoldsItself, found.counterexample).property == "type_ok"
