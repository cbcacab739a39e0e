"""The fingerprint of a value: text that is equal in every process and different for different values."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from fractions import Fraction
from functools import cached_property, partial
from pickle import dumps, loads
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.checking.values.fingerprint import NoFingerprint, fingerprint


class Pair(NamedTuple):
    """A record."""

    one: Any
    two: Any = None


@dataclass(frozen=True)
class Point:
    """A dataclass."""

    one: Any
    two: Any = None

    @cached_property
    def both(self) -> tuple[Any, Any]:
        """A cached property."""
        return self.one, self.two


class Colour(Enum):
    """A member whose value is another's name."""

    RED = 1
    NONE = None


class Number(IntEnum):
    """Integers."""

    RED = 1


class Word(StrEnum):
    """Strings."""

    RED = "1"


class Bits(Flag):
    """A flag, which can combine members."""

    ONE = 1
    TWO = 2


class Slotted:
    """An object with slots instead of a dictionary."""

    __slots__ = ("held",)

    def __init__(self, held: Any):
        self.held = held


def add(one: int, by: int = 1) -> int:
    """A function with a default."""
    return one + by


def adding(by: int) -> Callable[[int], int]:
    """A function with a closure."""
    return lambda one: one + by


DIFFERENT: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        1.0,
        -0.0,
        0.0,
        1j,
        "",
        "1",
        "None",
        b"1",
        2**70,
        float("inf"),
        float("nan"),
        range(3),
    ),
    *((), (1,), (1, 2), ((1,), 2), [1, 2], {1, 2}, frozenset({1, 2}), {1: 2}, {2: 1}, (1, (2,)), [[1], 2], ["1, 2"]),
    *({1: None}, {True: None}, OrderedDict({1: 2}), Counter({1: 2}), deque([1, 2]), deque([1, 2], 3)),
    *(Pair(1), Pair(1, 2), Pair(True), Point(1), Point(1, 2), Point(1.0), Slotted(1), Slotted(2)),
    *(Colour.RED, Colour.NONE, Number.RED, Word.RED, Bits.ONE, Bits.ONE | Bits.TWO, Colour, Number),
    *(
        Decimal("1"),
        Decimal("1.0"),
        Fraction(1),
        date(2020, 1, 1),
        MappingProxyType({1: 2}),
        np.array([1, 2]),
        np.int8(1),
    ),
    *(
        add,
        adding(1),
        adding(2),
        partial(add, by=2),
        partial(add, by=3),
        {"a": [1, {"b": {2}}]},
        {"a": [1, {"b": {3}}]},
    ),
    *("x" * 200, "x" * 201, tuple(range(200)), [*range(199), 0], Pair, Point, len, [].append, [1].append),
]


def test_different_values_have_different_fingerprints() -> None:
    """Values of different types that are equal in Python differ, and so do values that print alike."""
    texts = [fingerprint(value) for value in DIFFERENT]
    assert [text for text in texts if texts.count(text) > 1] == []


def test_equal_values_have_equal_fingerprints() -> None:
    """Regardless of how they were made and which properties they have cached."""
    asked = Point(1, {"a", "b"})
    assert asked.both
    assert fingerprint(asked) == fingerprint(Point(1, {"b", "a"}))
    shared = [1]
    assert fingerprint([shared, shared]) == fingerprint([[1], [1]])


def test_recursive_values_have_a_fingerprint() -> None:
    """The target of the back reference is part of it."""

    def ring(*values: Any) -> list[Any]:
        made = [*values]
        made.append([made])
        return made

    assert fingerprint(ring(1)) == fingerprint(ring(1)) != fingerprint(ring(2))
    inner: list[Any] = []
    inner.append(inner)
    assert fingerprint([[inner]]) == fingerprint([[inner]]) != fingerprint([inner])


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda of: st.lists(of) | st.tuples(of, of))
)
def test_copies_have_the_same_fingerprint(value: Any) -> None:
    """Another process would build such a copy."""
    assert fingerprint(loads(dumps(value))) == fingerprint(value)


WITHOUT: dict[str, Any] = {
    "a generator": (each for each in "ab"),
    "a lock": threading.Lock(),
    "an open file": sys.__stdout__,
    "the environment": os.environ,
}


@pytest.mark.parametrize("what", WITHOUT)
def test_mutable_objects_have_no_fingerprint(what: str) -> None:
    """At any depth."""
    with pytest.raises(NoFingerprint):
        fingerprint({"held": [Point(WITHOUT[what])]})


def test_fingerprints_are_equal_in_every_process() -> None:
    """Regardless of how strings hash there."""
    code = f"from {__name__} import *; print(*map(fingerprint, [*DIFFERENT, {{*'abcdef'}}]))"
    fingerprints = {
        subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    }
    assert len(fingerprints) == 1
