"""Which cases of a table `make test` runs; `make long` runs the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def long_unless(short: Callable[[Any], bool], cases: Iterable[Any]) -> list[Any]:
    """Return the cases for `parametrize`, long except for which `short` is true.

    >>> [len(each.marks) if hasattr(each, "marks") else each for each in long_unless(str.islower, ("a", "B"))]
    ['a', 1]
    """
    return [each if short(each) else _long(each) for each in cases]


def _long(case: Any) -> Any:
    if hasattr(case, "marks"):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.long))
    return pytest.param(*(case if type(case) is tuple else (case,)), marks=pytest.mark.long)
