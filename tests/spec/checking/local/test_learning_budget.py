"""Learning is paid from what it has saved."""

from __future__ import annotations

import pytest

from spec.checking import check
from spec.checking.local import LocalEngine, worker_pool
from spec.checking.local.learning_budget import ALLOWANCE, LearningBudget
from tests.spec.checking.symmetry.test_reduction import Votes


def allows(budget: LearningBudget, seconds: float) -> bool:
    """Whether a budget still allows to learn, after so many seconds of learning."""
    budget.seconds_learning = seconds
    return budget.allows


def test_learning_may_take_what_it_has_saved() -> None:
    """An allowance; then the price of the states that compiled code expanded, and a share of the others' price."""
    budget = LearningBudget()
    assert allows(budget, 0.9 * ALLOWANCE)
    assert not allows(budget, 1.1 * ALLOWANCE)
    budget.plainly, budget.expanded, budget.seconds_plainly = 10, 20, 1.0
    assert allows(budget, ALLOWANCE + 1.1)
    assert not allows(budget, ALLOWANCE + 1.3)
    assert not allows(LearningBudget(learns=False), 0.0)


@pytest.mark.parametrize(("symmetry", "repetitions"), [(False, 1), (True, 1 + 3 + 5)])
def test_the_allowance_is_for_each_repetition(
    symmetry: bool, repetitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With symmetry: with names, anonymously by three hashes, and under the permutations of three brokers."""
    made: list[LearningBudget] = []

    class Kept(LearningBudget):
        def __init__(self, *, learns: bool = True, repetitions: int = 1) -> None:
            super().__init__(learns=learns, repetitions=repetitions)
            made.append(self)

    monkeypatch.setattr(worker_pool, "LearningBudget", Kept)
    check(Votes(brokers=3), engine=LocalEngine(1), symmetry=symmetry)
    budget = made[-1]  # kernels are loaded with one before
    budget.plainly = 0
    assert allows(budget, ALLOWANCE * (repetitions - 0.1))
    assert not allows(budget, ALLOWANCE * (repetitions + 0.1))
