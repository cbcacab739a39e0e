"""How often rows and moves are taken: what is pinned is what is counted, and what pictures are drawn with."""

from __future__ import annotations

import pytest

from spec.census import COUNTED, counted_moves, counted_rows, moves_taken, pair, rows_taken
from spec.diagrams import GENERATIONS
from spec.life import moves
from statemachines.diagrams import DIAGRAMS
from tests.generations import each_generation
from tests.rows import rows


@rows("table", [*DIAGRAMS])
def test_what_is_pinned_of_a_table_are_its_rows(table: str) -> None:
    """And each of them was taken: no arrow is dashed."""
    taken = rows_taken(table)
    assert set(taken) == {(str(row.source), str(row.dest)) for row in DIAGRAMS[table].rows}
    assert all(times > 0 for times in taken.values())


@pytest.mark.long
def test_rows_are_taken_as_often_as_is_pinned() -> None:
    for table, counts in counted_rows().items():
        assert {pair(key): times for key, times in counts.items()} == rows_taken(table)


@each_generation
def test_moves_that_were_counted_are_moves(release: str) -> None:
    """Nearly all are met among the first states; what is not is drawn dashed."""
    found = moves(release)
    taken = moves_taken(release, found)
    assert taken is not None
    assert len(taken) > len(found) / 2


@pytest.mark.long
@pytest.mark.parametrize("release", COUNTED)
def test_moves_are_taken_as_often_as_is_pinned(release: str) -> None:
    """No count is of a move that there is not."""
    counted = counted_moves(release)
    taken = moves_taken(release, moves(release))
    assert taken is not None
    assert sorted(times for times in taken.values()) == sorted(counted.values())


def test_what_is_drawn_is_counted() -> None:
    assert COUNTED == GENERATIONS
    assert moves_taken("3.0", []) is None
