"""Tables as tests: one test goes through all rows of a table, and names each row in which it fails.

`pytest.mark.parametrize` makes a test of each row. That is worth its price where rows take long or need fixtures of
their own; of a table that is looked at in microseconds it makes a thousand tests that each cost milliseconds.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pytest

Test: TypeAlias = Callable[..., None]


def rows(names: str, table: Iterable[Any] | Mapping[str, Any]) -> Callable[[Test], Test]:
    """A decorator: the test is called with each row of a table, as `parametrize` does with several tests.

    Parameters
    ----------
    names
        The arguments that a row gives, separated by commas; a row has one value for each, or is the value of the one.
    table
        The rows; in a mapping, below the names by which they are told, else each is told as it prints.

    All rows are looked at. The first failure is raised, with notes on which row it was and which others fail.
    Fixtures are those of the one test, so a row must leave them as it found them.

    Raises ValueError for a table without rows, of which nothing can fail.
    """
    arguments = [name.strip() for name in names.split(",")]
    told = list(table.items()) if isinstance(table, Mapping) else [(_told(arguments, row), row) for row in table]
    if not told:
        raise ValueError(f"no rows of {names}")

    def over(test: Test) -> Test:
        @functools.wraps(test)
        def through(*args: Any, **fixtures: Any) -> None:
            failures = []
            for name, row in told:
                values = (row,) if len(arguments) == 1 else row
                try:
                    test(*args, **fixtures, **dict(zip(arguments, values, strict=True)))
                except (Exception, pytest.fail.Exception) as failure:
                    failures.append((name, failure))
            if failures:
                (name, first), *others = failures
                first.add_note(f"In the row {name}")
                if others:
                    first.add_note(f"and in {len(others)} of {len(told) - 1} others: {_few([n for n, _ in others])}")
                raise first

        signature = inspect.signature(test)
        through.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[each for name, each in signature.parameters.items() if name not in arguments]
        )
        return through

    return over


def _told(arguments: Sequence[str], row: Any) -> str:
    values = (row,) if len(arguments) == 1 else row
    return ", ".join(f"{name} = {value}" for name, value in zip(arguments, values, strict=True))


def _few(names: Sequence[str]) -> str:
    shown = "; ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown}; ..."
