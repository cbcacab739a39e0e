"""Mutants: classes that are wrong in one point each, and the scenario that tells each of them from the right one.

A battery of short scenarios passes on the right class. Each mutant breaks one rule on purpose, and the scenario
named beside it must fail: what no scenario notices, no test guards. The battery is made of these scenarios, so none
is in it that catches no mutant.
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
    """Two tests, for a module to give names to: the right class passes every scenario, and each mutant is caught.

    Args:
        right: the class, or a tuple of the classes that belong together.
        mutants: each with the scenario that must fail on it, by an assertion and not by accident.
        mutate: puts in place what is wrong with a mutant and is not a method of it.
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
    """What a mutant has otherwise is put into the right class, for those that make their parts themselves.

    So such a mutant asks the right class for the rest, and not `super()`.
    """
    right = mutant.__mro__[1]
    for name, wrong in vars(mutant).items():
        if not name.startswith("__"):
            monkeypatch.setattr(right, name, wrong)


def mutated(mutant: Any) -> str:
    """The name of the class that is wrong: of a tuple of classes, the one that is not there by default."""
    if isinstance(mutant, type):
        return mutant.__name__
    return str(next(kind.__name__ for kind, right in zip(mutant, type(mutant)(), strict=True) if kind is not right))


def _name(scenario: Callable[..., None]) -> str:
    return scenario.__name__
