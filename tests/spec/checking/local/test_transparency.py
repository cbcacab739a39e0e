"""Rules that could distinguish lazy values from plain ones get plain ones: every engine agrees with plain Python."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from functools import cache
from typing import Annotated, Any, NamedTuple

import pytest

from spec.checking import check, simulate
from spec.checking.engines import engine_named
from spec.checking.local import LocalEngine, recording
from spec.checking.local.transparency import opaque
from spec.checking.model import Model
from spec.language import Size, Specification, State, Total, action, constant, invariant, require, sometimes, variable
from tests.rows import rows
from tests.tiers import long_unless

Number = Annotated[int, "a number"]
PERCENT = "%s"


class Pair(NamedTuple):
    """Two numbers."""

    one: Number
    two: Number

    def kind(self) -> str:
        """The type of a field."""
        return type(self.one).__name__


class Held(State):
    """Numbers in every form."""

    number: Number = variable("A number.")
    one: tuple[Number] = variable("A tuple.")
    pair: Pair = variable("A record.")
    some: frozenset[Number] = variable("A set.")
    by: Total[bool, Number] = variable("A mapping.")


class Counting(Specification[Held]):
    """A number goes up. At 5, a test's question is evaluated on values that nothing else reads."""

    def sizes(self) -> dict[Any, Size]:
        """Eight numbers."""
        return {Number: range(8)}

    @action
    def up(self, s: Held) -> None:
        """One more."""
        require(s.number < 7)
        s.number += 1

    @invariant
    def fine(self, s: Held) -> bool:
        """The question is false at 5."""
        return s.number != 5 or self.asked(s)

    @staticmethod
    def asked(s: Held) -> bool:
        """False on plain values."""
        raise NotImplementedError


def swallowing(s: Held) -> bool:
    """It catches a refusal."""
    try:
        return json.dumps(s.number) != "5"
    except TypeError:
        return True


def swallowing_everything(s: Held) -> bool:
    """It catches everything."""
    try:
        return "abc".startswith(("a", *map(str, s.pair))) and tuple.__len__(s.one) != 1
    except:  # noqa: E722
        return True


def suppressing(s: Held) -> bool:
    """By a context."""
    with suppress(Exception):
        return json.dumps(s.pair) == ""
    return True


def returning_at_last(s: Held) -> bool:
    """A `finally` that returns."""
    right = True
    try:
        right = json.dumps(s.one) == ""
    finally:
        return right  # noqa: B012


def comparing(s: Held) -> bool:
    """A float refuses a lazy integer, inside a `try`."""
    try:
        return not 4.5 < s.number  # noqa: SIM300 - it is the float that is asked first
    except Exception:
        return True


@cache
def remembered(value: Any) -> str:
    """The type name of its argument, cached."""
    return type(value).__name__


ASKED: dict[str, Callable[[Held], bool]] = {
    "a caught refusal": swallowing,
    "a bare except": swallowing_everything,
    "a context": suppressing,
    "a finally": returning_at_last,
    "the type of an integer": lambda s: type(s.number) is not int,
    "the type of a record": lambda s: type(s.pair) is not Pair,
    "the type of a set": lambda s: type(s.some).__name__ == "LazySet",
    "a type as a key": lambda s: {int: False}.get(type(s.number), True),
    "the type in a method": lambda s: s.pair.kind() != "int",
    "the type behind a cache": lambda s: remembered(s.number) != "int",
    "a percent sign": lambda s: "%s" % s.one != "0",  # noqa: UP031
    "a percent sign with a name": lambda s: PERCENT % s.one != "0",
    "the operator of a percent sign": lambda s: operator.mod(PERCENT, s.one) != "0",
    "C code": lambda s: json.dumps(s.pair) != "[0, 0]",
    "a deep copy of a mapping": lambda s: deepcopy([s.by])[0][True] != 0,
    "a float that is compared": comparing,
}


@pytest.mark.parametrize("inspected", [True, False], ids=["inspected", "not inspected"])
@pytest.mark.parametrize("name", long_unless({"a caught refusal", "C code"}.__contains__, ASKED))
def test_an_undetected_opaque_rule_is_found_by_comparison(
    name: str, inspected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every engine and in a simulation, whether or not inspection finds it."""
    if not inspected:
        monkeypatch.setattr(recording, "opaque", lambda model: {})
    system = type("Asked", (Counting,), {"asked": staticmethod(ASKED[name]), "__module__": __name__})
    for engine in (engine_named("reference"), LocalEngine(1), LocalEngine(2)):
        found = check(system, engine=engine)
        assert found.headline == "fine is violated, in 6 states", engine
        assert found.counterexample is not None
    assert simulate(system, runs=3, steps=9, seed=1).verdict == "violated"


@rows("name", [name for name in ASKED if name not in ("the operator of a percent sign", "a deep copy of a mapping")])
def test_opaque_code_is_detected(name: str) -> None:
    """So no exploration has to start again."""
    system = type("Asked", (Counting,), {"asked": staticmethod(ASKED[name]), "__module__": __name__})
    assert [*opaque(Model(system))] == ["fine"]
    assert check(system, engine="local").opaque_rules == ()


def test_a_restart_is_reported() -> None:
    """In one line, and in JSON."""
    asked = staticmethod(lambda s: hasattr(s.one, "_lenses"))
    found = check(type("Asked", (Counting,), {"asked": asked, "__module__": __name__}), engine="local")
    assert found.opaque_rules == ("fine",)
    assert [line for line in str(found).splitlines() if "began again" in line and line.endswith(" fine")]
    assert found.to_json()["opaque_rules"] == ["fine"]


def test_what_an_opaque_rule_costs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it takes most of the paths: with the function that is the reason, and its line."""
    asked = ASKED["a caught refusal"]
    system = type("Asked", (Counting,), {"asked": staticmethod(asked), "__module__": __name__})
    line = asked.__code__.co_firstlineno + 3
    place = f"swallowing (test_transparency.py, line {line}) uses json.dumps"
    assert opaque(Model(system)) == {"fine": place}
    assert check(system, engine="local").advice == ""
    monkeypatch.setattr("spec.checking.local.learning_budget.PATHS", 4)
    told = check(system, engine="local")
    assert place in told.advice
    assert told.advice in str(told)


CLEAR: dict[str, Callable[[Held], bool]] = {
    "its class": lambda s: s.number.__class__ is int and isinstance(s.pair, Pair) and isinstance(s.number, int),
    "a remainder": lambda s: s.number % 2 == 1,
    "formatting": lambda s: f"{s.number} {s.one}" == "5 (0,)" and "{}".format(s.pair.one) == "0",  # noqa: UP032
    "an own exception": lambda s: caught(s) and sorted(s.some) == [],
}


def caught(s: Held) -> bool:
    """It catches an exception that plain values raise, too."""
    try:
        return {99: False}[s.number]
    except KeyError:
        return True


@rows("name", [*CLEAR])
def test_supported_operations_are_not_opaque(name: str) -> None:
    """The rule is learned lazily, and gives the same result."""
    asked = CLEAR[name]
    system = type("Asked", (Counting,), {"asked": staticmethod(lambda s: not asked(s)), "__module__": __name__})
    assert opaque(Model(system)) == {}
    assert check(system, engine="local").headline == "fine is violated, in 6 states"


# A kept run.


class Wide(State):
    """Two counters, and a tuple that nothing reads."""

    count: Total[Number, Number] = variable("Counters.")
    one: tuple[Number] = variable("A tuple.")


class Late(Specification[Wide]):
    """Its opaque rule matters only after some levels."""

    top: int = constant(9, "where both counters end", at_least=1)
    at: int = constant(5, "where both are when the witness is seen", at_least=1)

    def sizes(self) -> dict[Any, Size]:
        """Ten numbers."""
        return {Number: range(10)}

    @action
    def up(self, s: Wide, n: Number) -> None:
        """One more."""
        require(n < 2 and s.count[n] < self.top)
        s.count[n] += 1

    @sometimes
    def late(self, s: Wide) -> bool:
        """True on plain values, on the way. Inspection does not know what lazy values have of their own."""
        return s.count[0] == s.count[1] == self.at and not hasattr(s.one, "_lenses")


@pytest.mark.long
def test_a_kept_run_restarts(tmp_path: Any) -> None:
    """The levels are those of the second attempt, and a resumed run knows the opaque rule."""
    whole = check(Late, engine=LocalEngine(1, run_dir=tmp_path / "whole"))
    begun = check(Late, engine=LocalEngine(1, run_dir=tmp_path / "run"), max_depth=14)
    went_on = check(Late, engine=LocalEngine(1, run_dir=tmp_path / "run", resume=True))
    assert whole.verdict == went_on.verdict == "holds"
    assert begun.opaque_rules == went_on.opaque_rules == ("late",)
    assert (whole.distinct_states, whole.properties) == (went_on.distinct_states, went_on.properties)
    assert [each.states for each in whole.levels] == [each.states for each in went_on.levels]
