"""`examples/readers_writers.py` is ReadersWriters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gallery.exploring import ENGINES, Explored, Figures, checked, explored, figures

State = tuple[frozenset[int], frozenset[int], tuple[tuple[bool, int], ...]]
"""The readers, the writers, and the queue: whether an actor wants to write, and its number."""


def plain(actors: int, *, wait_for_readers: bool = True) -> Explored:
    """Explore all states, without the language."""

    def following(state: State) -> Iterator[State]:
        readers, writers, queue = state
        for actor in range(actors):
            for writes in (False, True):
                if (writes, actor) not in queue:
                    yield readers, writers, (*queue, (writes, actor))
            if actor in readers or actor in writers:
                yield readers - {actor}, writers - {actor}, queue
        if queue and not writers:
            (writes, actor), *rest = queue
            if not writes:
                yield readers | {actor}, writers, tuple(rest)
            elif not (readers and wait_for_readers):
                yield readers, writers | {actor}, tuple(rest)

    first: State = (frozenset(), frozenset(), ())
    return explored([first], following, lambda state: bool(state[1]) and len(state[0]) + len(state[1]) > 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_it_has_the_published_states(engine: str) -> None:
    """TLC's figures for MC.cfg (three actors), as recorded in its manifest."""
    result = checked("readers_writers", engine, actors=3)
    assert (result.verdict, figures(result)) == ("holds", Figures(distinct=21_527, generated=59_674, depth=13))
    assert plain(3).figures == figures(result)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_writer_that_does_not_wait_meets_readers(engine: str) -> None:
    """The shortest path is as long as in plain Python."""
    expected = plain(2, wait_for_readers=False)
    assert expected.broken
    result = checked("readers_writers", engine, actors=2, wait_for_readers=False)
    assert (result.verdict, figures(result)) == ("violated", expected.figures)
