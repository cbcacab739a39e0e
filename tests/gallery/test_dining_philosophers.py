"""`examples/dining_philosophers.py` is DiningPhilosophers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import pytest

from tests.gallery.exploring import ENGINES, Explored, Figures, checked, explored, figures

T = TypeVar("T")
Fork = tuple[int, bool]
State = tuple[tuple[Fork, ...], tuple[str, ...]]
"""The holder of each fork, and whether it is clean; what each philosopher does, if hungry in capitals."""


def plain(philosophers: int, *, both_forks: bool = True) -> Explored:
    """Explore all states, without the language."""
    enough = 2 if both_forks else 1

    def following(state: State) -> Iterator[State]:
        forks, stages = state
        for number, stage in enumerate(stages):
            left, right = number, (number + 1) % philosophers
            if stage == "EATS":
                used = put(put(forks, left, (forks[left][0], False)), right, (forks[right][0], False))
                yield used, put(stages, number, "looks")
            elif stage == "thinks":
                yield forks, put(stages, number, "LOOKS")
            else:
                eats = [forks[left], forks[right]].count((number, True)) >= enough
                hungry = "EATS" if eats else "LOOKS"
                yield handed(forks, number), put(stages, number, "thinks" if stage == "looks" else hungry)

    def handed(forks: tuple[Fork, ...], number: int) -> tuple[Fork, ...]:
        """Return the forks after a philosopher has handed over a dirty one, if it has any."""
        left, right = number, (number + 1) % philosophers
        if forks[left] == (number, False):
            return put(forks, left, ((number - 1) % philosophers, True))
        return put(forks, right, (right, True)) if forks[right] == (number, False) else forks

    def neighbours_eat(state: State) -> bool:
        return any(state[1][number] == state[1][number - 1] == "EATS" for number in range(philosophers))

    holders = [0, 0, *range(2, philosophers)]
    return explored(
        [(tuple((holder, False) for holder in holders), ("LOOKS",) * philosophers)], following, neighbours_eat
    )


def put(row: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    """Return a row with another value in one place."""
    return (*row[:at], value, *row[at + 1 :])


@pytest.mark.parametrize("engine", ENGINES)
def test_it_has_the_published_states(engine: str) -> None:
    """TLC's figures for DiningPhilosophers.cfg (five philosophers), as recorded in its manifest."""
    result = checked("dining_philosophers", engine, philosophers=5)
    assert (result.verdict, figures(result)) == ("holds", Figures(distinct=67, generated=336, depth=29))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("philosophers", [2, 3, 4, 5, 6])
def test_states_equal_a_search_in_plain_python(engine: str, philosophers: int) -> None:
    """For any number of philosophers."""
    result = checked("dining_philosophers", engine, philosophers=philosophers)
    assert (result.verdict, figures(result)) == ("holds", plain(philosophers).figures)


@pytest.mark.parametrize("engine", ENGINES)
def test_with_one_fork_each_neighbours_eat_together(engine: str) -> None:
    """The shortest path is as long as in plain Python."""
    expected = plain(5, both_forks=False)
    assert expected.broken
    result = checked("dining_philosophers", engine, both_forks=False)
    assert (result.verdict, figures(result)) == ("violated", expected.figures)
