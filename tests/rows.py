"""Tables as tests: one test goes through all rows of a table; each row that raises is reported as a subtest.

`pytest.mark.parametrize` makes a test of each row. That pays if rows take long or need fixtures of their own. A table
whose rows take microseconds would become a thousand tests that each cost milliseconds.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import pytest

Test: TypeAlias = Callable[..., None]
NOT_PASSED: Final = Exception, pytest.fail.Exception, pytest.skip.Exception, pytest.xfail.Exception
"""Only a row that raises becomes a subtest: reporting one takes longer than most rows."""


def rows(names: str, table: Iterable[Any] | Mapping[str, Any]) -> Callable[[Test], Test]:
    """Return a decorator that calls the test with each row of a table, as `parametrize` does with several tests.

    Args:
        names: the arguments that a row gives, separated by commas; a row has one value for each, or is the value
            itself if there is one name.
        table: the rows, or a mapping from labels to rows. Without a label, a row's values are its label.

    All rows share the fixtures of the one test, so a row must leave them unchanged.

    Raises:
        ValueError: the table has no rows, so nothing could fail.
    """
    arguments = [name.strip() for name in names.split(",")]
    named = list(table.items()) if isinstance(table, Mapping) else [(None, row) for row in table]
    if not named:
        raise ValueError(f"no rows of {names}")

    def over(test: Test) -> Test:
        @functools.wraps(test)
        def through(*args: Any, subtests: pytest.Subtests, **fixtures: Any) -> None:
            if "subtests" in inspect.signature(test).parameters:
                fixtures["subtests"] = subtests
            for name, row in named:
                values = dict(zip(arguments, (row,) if len(arguments) == 1 else row, strict=True))
                try:
                    test(*args, **fixtures, **values)
                except NOT_PASSED:
                    with subtests.test(name, **({} if name else values)):
                        raise

        kept = [each for name, each in inspect.signature(test).parameters.items() if name not in arguments]
        if "subtests" not in {each.name for each in kept}:
            kept.append(inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY))
        through.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
        return through

    return over
