"""`is` is refused between values that may be equal without being one object, and nowhere else."""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import Enum, IntEnum
from functools import partial
from types import ModuleType
from typing import Annotated, Any, NamedTuple

import pytest

from spec.checking import check, simulate
from spec.checking.model import Model
from spec.language import (
    Size,
    Specification,
    SpecificationError,
    State,
    action,
    invariant,
    one_of,
    optional,
    require,
    variable,
)
from tests.rows import rows

Number = Annotated[int, "a number"]
LIMIT = 5
NOBODY = (0, 0)
NONE = frozenset[int]()
MISSING = object()
NOTHING = None
ALIKE = operator.is_
CONSTANTS = ModuleType("constants")
CONSTANTS.LIMIT, CONSTANTS.NOTHING = 5, None  # type: ignore[attr-defined]


class Hue(Enum):
    RED = "red"
    GREEN = "green"


class Rank(IntEnum):
    LOW = 0


class Pair(NamedTuple):
    left: Number
    right: Number

    def same(self, other: object) -> bool:
        return self is other


class Sole:
    """Equal to nothing else."""


class Box:
    """Compared by its content."""

    def __init__(self, content: object):
        self.content = content

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Box) and self.content == other.content)

    __hash__ = None  # type: ignore[assignment]


SOLE = Sole()


class Here(State):
    number: Number = variable("A number.")
    pair: Pair = variable("A record.")
    some: frozenset[Number] = variable("A set.")
    hue: Any = variable("A member, or nothing.", of=lambda self: optional(one_of(*Hue)))


class Counting(Specification[Here]):
    """A number goes up to 7."""

    limit = LIMIT

    def sizes(self) -> dict[Any, Size]:
        return {Number: range(8)}

    @action
    def up(self, s: Here) -> None:
        require(s.number < 7)
        s.number += 1

    @invariant
    def fine(self, s: Here) -> bool:
        return bool(self.asked(s)) or True

    @staticmethod
    def asked(s: Here) -> Any:
        raise NotImplementedError


def _in_a_local(s: Here) -> bool:
    limit = LIMIT
    return s.number is limit


def _in_a_closure(limit: int) -> Callable[[Here], bool]:
    return lambda s: s.number is limit


def _made_there(s: Here) -> bool:
    missing = object()
    return {1: 2}.get(s.number, missing) is missing


def _given(missing: Any) -> bool:
    return missing is LIMIT


REFUSED: dict[str, Callable[[Here], Any]] = {
    "a number": lambda s: s.number is LIMIT,
    "a number on the left": lambda s: LIMIT is s.number,
    "a number in a module": lambda s: s.number is CONSTANTS.LIMIT,
    "a number in a class": lambda s: s.number is Counting.limit,
    "a local": _in_a_local,
    "a parameter": lambda s: _given(s.number),
    "a closure": _in_a_closure(5),
    "not": lambda s: s.number is not LIMIT,
    "a tuple": lambda s: s.pair is NOBODY,
    "a set": lambda s: s.some is NONE,
    "two variables": lambda s: s.number is s.pair.left,
    "a method": lambda s: s.pair.same(NOBODY),
    "a condition": lambda s: 1 if s.number is LIMIT else 0,
    "a chain": lambda s: 0 < s.number is LIMIT,
    "an element": lambda s: [each for each in s.some if each is LIMIT],
    "the function": lambda s: operator.is_(s.number, LIMIT),
    "its opposite": lambda s: operator.is_not(s.number, LIMIT),
    "another name": lambda s: ALIKE(s.number, LIMIT),
    "a part of a partial": lambda s: partial(operator.is_, LIMIT)(s.number),
}

ALLOWED: dict[str, Callable[[Here], Any]] = {
    "None": lambda s: s.hue is None,
    "None on the left": lambda s: None is s.hue,
    "not None": lambda s: s.hue is not None,
    "None by a name": lambda s: s.hue is NOTHING,
    "None in a module": lambda s: s.hue is CONSTANTS.NOTHING,
    "a truth": lambda s: (s.number == 5) is True,
    "dots": lambda s: s.hue is ...,
    "a member": lambda s: s.hue is Hue.RED,
    "a member on the left": lambda s: Hue.RED is s.hue,
    "a member of integers": lambda s: s.hue is Rank.LOW,
    "a class": lambda s: s.number.__class__ is int,
    "two classes": lambda s: type(s.pair) is type(NOBODY),
    "a sentinel": lambda s: s.hue is MISSING,
    "an object without equality": lambda s: s.hue is SOLE,
    "a function": lambda s: s.hue is _matched,
    "an object made there": _made_there,
    "in a comparison": lambda s: Box(s.number) == Box(5),
    "a match": lambda s: _matched(s.hue),
}


def _matched(value: Any) -> bool:
    match value:
        case None | True:
            return True
    return False


def made(asked: Callable[[Here], Any]) -> type[Counting]:
    """The system that asks this."""
    return type("Asked", (Counting,), {"asked": staticmethod(asked), "__module__": __name__})


@rows("name", [*REFUSED])
def test_equal_values_are_not_compared_by_identity(name: str) -> None:
    """The message says what to write instead, and is the same wherever rules are evaluated."""
    system = made(REFUSED[name])
    for ask in (partial(check, engine="reference"), partial(check, engine="local"), simulate):
        with pytest.raises(SpecificationError, match=r"write `==`") as refused:
            ask(system)
        assert len(str(refused.value).splitlines()) == 1


@rows("name", [*ALLOWED])
def test_what_is_one_object_is_compared(name: str) -> None:
    Model(made(ALLOWED[name]))
