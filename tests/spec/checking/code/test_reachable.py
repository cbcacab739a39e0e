"""The code that a specification may run, and the values that it looks up."""

from __future__ import annotations

import json
import math
from functools import cache, partial
from typing import Annotated, Any, NamedTuple

from spec.checking.code.reachable import Reachable, Reached
from spec.language import Size, Specification, State, action, invariant, variable

Number = Annotated[int, "a number"]
LIMIT = 3
UNUSED = 4


class Pair(NamedTuple):
    """A record with a method."""

    one: Number
    two: Number

    def swapped(self) -> Pair:
        """With its fields exchanged."""
        return Pair(self.two, self.one)


class Numbers(State):
    """A pair."""

    pair: Pair = variable("A pair.")


@cache
def doubled(number: int) -> int:
    """Twice a number."""
    return twice(number)


def twice(number: int) -> int:
    """The same."""
    return number * 2


def written(pair: Pair) -> str:
    """As JSON."""
    return json.dumps(pair)


def unreached() -> float:
    """Nothing calls it."""
    return math.pi


class Reaching(Specification[Numbers]):
    """It reaches some functions of this module."""

    held = ("one",)

    def sizes(self) -> dict[Any, Size]:
        """Two numbers."""
        return {Number: range(2)}

    @action
    def swap(self, s: Numbers) -> None:
        """It calls a method of a value, and a function through another one and a cache."""
        s.pair = s.pair.swapped() if doubled(s.pair.one) < LIMIT else s.pair

    @invariant
    def fine(self, s: Numbers) -> bool:
        """It calls library code from a nested function."""
        return all(written(s.pair) != each for each in self.held)


def reached() -> Reached:
    """The code reachable from the rules of `Reaching`."""
    specification = Reaching()
    return Reachable(specification).reached(
        *(instance.run for rule in specification.actions for instance in rule.instances),
        *(partial(instance.run, None) for rule in specification.properties for instance in rule.instances),
    )


def test_functions_are_reached_through_methods_caches_and_other_functions() -> None:
    """A function that no code names is not."""
    names = {function.__name__ for function in reached().functions}
    assert {"swap", "swapped", "doubled", "twice", "fine", "written"} <= names
    assert "unreached" not in names


def test_values_and_library_functions_are_named() -> None:
    """With their names in the code, and the function that uses them."""
    named = {(each.by.__name__, each.name): each.value for each in reached().named}
    assert named["swap", "LIMIT"] == LIMIT
    assert named["fine", "Reaching.held"] == ("one",)
    assert named["written", "json.dumps"] is json.dumps
    assert not {name for _, name in named} & {"UNUSED", "math.pi"}
