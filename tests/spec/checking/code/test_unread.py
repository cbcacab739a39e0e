"""An action whose guard fails before it reads a parameter is not tried for the parameter's other values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any
from unittest.mock import patch

import pytest

from spec.checking.code.unread import UnreadParameters
from spec.checking.model import Model
from spec.language import Size, Specification, State, action, bound, initial, require, variable

Digit = Annotated[int, "a digit"]


class Digits(State):
    """Some digits."""

    n: Digit = variable("A digit.")
    some: frozenset[Digit] = variable("Digits.")


class Counting(Specification[Digits]):
    """Four digits."""

    def sizes(self) -> Mapping[Any, Size]:
        return {Digit: range(4)}

    @initial
    def begin(self, s: Digits, n: Digit, some: frozenset[Digit]) -> None:
        """Any digits."""
        s.n, s.some = n, some


def reads_in_order(self: Any, s: Digits, a: int, b: int) -> None:
    require(a > s.n)
    require(b in s.some)
    s.n = b


def reads_in_another_order(self: Any, s: Digits, a: int, b: int) -> None:
    require(b > s.n)
    require(a in s.some)
    s.n = a


def is_bounded(self: Any, s: Digits, a: int, b: int) -> None:
    bound(a > s.n)
    s.n = b


def comes_back(self: Any, s: Digits, a: int, b: int) -> None:
    low = 0
    for each in range(3):
        require(low <= s.n)
        if each == a:
            low = b
    s.n = a


def comes_back_by_while(self: Any, s: Digits, a: int, b: int) -> None:
    low = -1
    while True:
        require(low < s.n)
        if low >= a:
            break
        low += 1 + b
    s.n = a


def comes_back_in_steps(self: Any, s: Digits, a: int, b: int) -> None:
    low, left = 0, False
    for _ in range(2):
        require(low <= s.n)
        while True:
            if left:
                break
            low += a * b
            left = low > 0
            if low == 0:
                break
    s.n = a


def comes_back_after_an_exception(self: Any, s: Digits, a: int, b: int) -> None:
    low = 0
    for _ in range(2):
        require(low <= s.n)
        try:
            low = {0: b}[a]
        except KeyError:
            low = a
    s.n = a


def reads_in_a_comprehension(self: Any, s: Digits, a: int, b: int) -> None:
    require(all(each + b > s.n for each in s.some))
    require(a in s.some)
    s.n = b


def reads_in_a_function(self: Any, s: Digits, a: int, b: int) -> None:
    def guard() -> bool:
        return b in s.some

    require(guard())
    s.n = a


def reads_unseen(self: Any, s: Digits, a: int, b: int) -> None:
    require(locals()["b"] in s.some)
    s.n = a


def calls_a_guard(self: Any, s: Digits, a: int, b: int) -> None:
    helper(s, a)
    require(b != a)
    s.n = b


def helper(s: Digits, a: int) -> None:
    require(a in s.some)


def fails_late(self: Any, s: Digits, a: int, b: int) -> None:
    if b in s.some:
        require(a > s.n)
    s.n = b


METHODS = [
    reads_in_order,
    reads_in_another_order,
    is_bounded,
    comes_back,
    comes_back_by_while,
    comes_back_in_steps,
    comes_back_after_an_exception,
    reads_in_a_comprehension,
    reads_in_a_function,
    reads_unseen,
    calls_a_guard,
    fails_late,
]


def counting(method: Callable[..., None], **ranges: Any) -> Specification:
    """A specification with this action."""
    given = {"a": Digit, "b": Digit}
    method.__annotations__ = {**method.__annotations__, **given}
    made: Specification = type("Made", (Counting,), {"act": action(**ranges)(method)})()
    return made


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
@pytest.mark.parametrize(
    "ranges", [{}, {"a": lambda self, s: s.some}, {"b": lambda self, s, a: s.some - {a}}], ids=["types", "a", "b"]
)
def test_nothing_is_missed(method: Callable[..., None], ranges: dict[str, Any]) -> None:
    """All steps and bounds are found, in order, as if each instance was tried."""
    model = Model(counting(method, **ranges))
    with patch.object(UnreadParameters, "fails_until", lambda self, number, raised: number + 1):
        expected = [model.expand(state) for state in model.first_states()]
    assert [model.expand(state) for state in model.first_states()] == expected
    assert any(each.steps for each in expected)


def test_a_guard_is_tried_once_for_what_it_reads() -> None:
    """And not for each value of the other parameters."""
    tried = Counter[int]()

    def counted(self: Any, s: Digits, a: int, b: int) -> None:
        tally(a)
        require(a > 1)
        require(s.n > 3)
        s.n = b

    def tally(a: int) -> None:
        tried[a] += 1

    model = Model(counting(counted))
    (state, *_) = model.first_states()
    for _ in range(9):  # at first each evaluation is repeated
        model.expand(state)
    tried.clear()
    model.expand(state)
    assert tried == {0: 1, 1: 1, 2: 1, 3: 1}
