"""A plain breadth-first exploration of states and functions that do not use the language.

Each system of the gallery is written a second time in these terms, in its test, and must have as many states.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from spec.atlas.loading import system_named
from spec.checking import Result, check
from spec.language import Specification

S = TypeVar("S", bound=Hashable)

EXAMPLES = Path(__file__).parents[2] / "examples"
ENGINES = [pytest.param("reference", marks=pytest.mark.long), "local"]
"""`tests/spec/checking` compares the engines."""


class Figures(NamedTuple):
    """The figures of an exploration."""

    distinct: int
    generated: int
    depth: int


class Explored(NamedTuple):
    """A plain exploration."""

    states: frozenset[Any]
    figures: Figures
    broken: bool
    """Whether it ended at a wrong state; then the depth is the number of states on a shortest path to one."""


def explored(
    first: Iterable[S], following: Callable[[S], Iterable[S]], is_wrong: Callable[[S], bool] = lambda state: False
) -> Explored:
    """Visit all states, level by level, up to the first level that has a wrong one.

    Args:
        first: the initial states.
        following: a state's successors, once for each way to take a step.
        is_wrong: whether a state is wrong.
    """
    level = set(first)
    found, generated, depth = set(level), len(level), 1
    while not any(map(is_wrong, level)):
        successors = [after for state in level for after in following(state)]
        generated += len(successors)
        level = set(successors) - found
        if not level:
            return Explored(frozenset(found), Figures(len(found), generated, depth), broken=False)
        found |= level
        depth += 1
    return Explored(frozenset(found), Figures(len(found), generated, depth), broken=True)


def system(name: str) -> type[Specification[Any]]:
    """The specification in a file of the gallery."""
    return system_named(str(EXAMPLES / f"{name}.py"))


def figures(result: Result) -> Figures:
    """Return the figures of a check."""
    return Figures(result.distinct_states, result.generated_states, result.depth)


def checked(name: str, engine: str = "auto", *, symmetry: bool = False, **constants: Any) -> Result:
    """A check of a system of the gallery."""
    return check(system(name)(**constants), engine=engine, symmetry=symmetry)
