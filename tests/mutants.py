"""Mutants: classes with one mistake each, and the scenario that must fail on each of them.

A battery of short scenarios passes on the right class. Each mutant breaks one rule on purpose, and the scenario
named beside it must fail: a rule is untested if no scenario notices its mutant. The battery consists of these
scenarios, so each of them catches a mutant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import pytest

Kind = TypeVar("Kind")
Test: TypeAlias = Callable[..., None]


def mutant_tests(
    right: Kind,
    mutants: Sequence[tuple[Kind, Callable[[Kind], None]]],
    mutate: Callable[[Kind, pytest.MonkeyPatch], None] = lambda mutant, monkeypatch: None,
) -> tuple[Test, Test]:
    """Make two tests for a module to name: the right class passes every scenario, and each mutant is caught.

    Args:
        right: the class, or a tuple of the classes that belong together.
        mutants: each with the scenario that must fail on it, by an assertion and not by accident.
        mutate: applies the part of a mutation that is not a method of the class.
    """

    @pytest.mark.parametrize("scenario", dict.fromkeys(scenario for _, scenario in mutants), ids=_name)
    def passes(scenario: Callable[[Kind], None]) -> None:
        scenario(right)

    @pytest.mark.parametrize(("mutant", "scenario"), mutants, ids=[mutated(mutant) for mutant, _ in mutants])
    def is_caught(mutant: Kind, scenario: Callable[[Kind], None], monkeypatch: pytest.MonkeyPatch) -> None:
        mutate(mutant, monkeypatch)
        with pytest.raises(AssertionError):
            scenario(mutant)

    return passes, is_caught


def put_in_place(mutant: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Patch a mutant's differences into the right class, for classes that create their own parts.

    Such a mutant calls the right class for the unchanged part, and not `super()`.
    """
    right = mutant.__mro__[1]
    for name, wrong in vars(mutant).items():
        if not name.startswith("__"):
            monkeypatch.setattr(right, name, wrong)


def mutated(mutant: Any) -> str:
    """Return the name of the wrong class; in a tuple of classes, the one that differs from the default."""
    if isinstance(mutant, type):
        return mutant.__name__
    return str(next(kind.__name__ for kind, right in zip(mutant, type(mutant)(), strict=True) if kind is not right))


def _name(scenario: Callable[..., None]) -> str:
    return scenario.__name__
