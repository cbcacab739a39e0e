"""`examples/transaction_commit.py` is TCommit."""

from __future__ import annotations

import pytest

from tests.gallery.exploring import ENGINES, Figures, checked, figures


@pytest.mark.parametrize("engine", ENGINES)
def test_it_has_the_published_states(engine: str) -> None:
    """TLC's figures for three resource managers, as recorded with the TLA+ examples."""
    result = checked("transaction_commit", engine)
    assert (result.verdict, figures(result)) == ("holds", Figures(distinct=34, generated=94, depth=7))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("managers", range(1, 7))
def test_states_equal_a_closed_formula(engine: str, managers: int) -> None:
    """Each is working, prepared or aborted; or each is prepared or committed, where all prepared counts twice."""
    result = checked("transaction_commit", engine, managers=managers)
    assert result.distinct_states == 3**managers + 2**managers - 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("managers", range(1, 7))
def test_orbits_equal_a_closed_formula(engine: str, managers: int) -> None:
    """Then only the number of managers in each state counts: n in three bins, or n in two."""
    result = checked("transaction_commit", engine, symmetry=True, managers=managers)
    assert result.distinct_states == (managers + 1) * (managers + 2) // 2 + (managers + 1) - 1
