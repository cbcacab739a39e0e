"""Which cases of a table `make test` runs; `make long` runs the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def long_unless(short: Callable[[Any], bool], cases: Iterable[Any]) -> list[Any]:
    """Return the cases for `parametrize`, long except for which `short` is true.

    >>> [isinstance(each, str) for each in long_unless(str.islower, ("a", "B"))]
    [True, False]
    """
    return [each if short(_values(each)) else _long(each) for each in cases]


def in_turn(*tables: Iterable[Any]) -> list[Any]:
    """Return all combinations for `parametrize`, long except for a set in which each value of each table occurs.

    >>> [each for each in in_turn("ab", (1, 2)) if type(each) is tuple]
    [('a', 1), ('b', 2)]
    """
    listed = [[*table] for table in tables]
    short = {tuple(turn % len(each) for each in listed) for turn in range(max(map(len, listed)))}
    return [
        case if places in short else _long(case)
        for places, case in zip(product(*(range(len(each)) for each in listed)), product(*listed), strict=True)
    ]


def _values(case: Any) -> Any:
    if not isinstance(case, ParameterSet):
        return case
    return case.values if len(case.values) > 1 else case.values[0]


def _long(case: Any) -> Any:
    if isinstance(case, ParameterSet):
        return case._replace(marks=(*case.marks, pytest.mark.long))
    return pytest.param(*(case if type(case) is tuple else (case,)), marks=pytest.mark.long)
