"""`examples/lamport_mutex.py` is LamportMutex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.gallery.exploring import ENGINES, Explored, Figures, checked, explored, figures


class Process(NamedTuple):
    """A process, without the language."""

    clock: int
    requests: tuple[int, ...]
    """The request of each process, as this one knows it; 0 if none."""
    acknowledged: frozenset[int] = frozenset()
    inside: bool = False


State = tuple[tuple[Process, ...], tuple[tuple[int, int, int], ...]]
"""The processes, and all messages, oldest first: sender, receiver, and a clock, or 0 or -1 for the other messages."""
ACKNOWLEDGE, RELEASE = 0, -1


def plain(processes: int, clocks: int, *, in_order: bool = True) -> Explored:
    """Explore all states."""
    everyone = frozenset(range(processes))

    def following(state: State) -> Iterator[State]:
        all_of_them, messages = state
        for number, it in enumerate(all_of_them):
            for after, sent in steps_of(number, it):
                yield normal(all_of_them, number, after, (*messages, *sent))
            for sender in everyone:
                channel = [message for message in messages if message[:2] == (sender, number)]
                if channel and (received := received_by(number, it, sender, channel[0][2])):
                    rest = list(messages)
                    rest.remove(channel[0])
                    yield normal(all_of_them, number, received[0], (*rest, *received[1]))

    def steps_of(number: int, it: Process) -> Iterator[tuple[Process, list[tuple[int, int, int]]]]:
        others = everyone - {number}
        own = it.requests[number]
        if not own:
            asked = it._replace(requests=put(it.requests, number, it.clock), acknowledged=frozenset({number}))
            yield asked, [(number, other, it.clock) for other in others]
        first = all(not it.requests[other] or (own, number) < (it.requests[other], other) for other in others)
        if it.acknowledged == everyone and (first or not in_order):
            yield it._replace(inside=True), []
        if it.inside:
            yield Process(it.clock, put(it.requests, number, 0)), [(number, other, RELEASE) for other in others]

    def received_by(
        number: int, it: Process, sender: int, content: int
    ) -> tuple[Process, list[tuple[int, int, int]]] | None:
        if content == ACKNOWLEDGE:
            return it._replace(acknowledged=it.acknowledged | {sender}), []
        if content == RELEASE:
            return it._replace(requests=put(it.requests, sender, 0)), []
        clock = max(content, it.clock) + 1
        known = it._replace(clock=clock, requests=put(it.requests, sender, content))
        return (known, [(number, sender, ACKNOWLEDGE)]) if clock <= clocks else None

    first: State = ((Process(1, (0,) * processes),) * processes, ())
    return explored([first], following, lambda state: sum(it.inside for it in state[0]) > 1)


def put(row: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    """Return a row with another value in one place."""
    return (*row[:at], value, *row[at + 1 :])


def normal(
    processes: tuple[Process, ...], number: int, after: Process, messages: tuple[tuple[int, int, int], ...]
) -> State:
    """Return a state with another process; only the order of messages within a channel matters."""
    channels = sorted(messages, key=lambda message: message[:2])
    return (*processes[:number], after, *processes[number + 1 :]), tuple(channels)


@pytest.mark.long
def test_it_has_the_published_states() -> None:
    """TLC's figures for MCLamportMutex.cfg (three processes, clocks of at most 6), as recorded in its manifest.

    TLC generates 2,729,079 states: also those beyond its constraint.
    """
    result = checked("lamport_mutex", "local", processes=3, clocks=6)
    assert (result.verdict, figures(result)) == ("holds", Figures(distinct=724_274, generated=2_496_351, depth=61))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("processes", "clocks"), [(2, 3), (2, 6), (3, 2)])
def test_states_equal_a_search_in_plain_python(engine: str, processes: int, clocks: int) -> None:
    """With channels as one list of messages."""
    result = checked("lamport_mutex", engine, processes=processes, clocks=clocks)
    assert result.counterexample is None
    assert figures(result) == plain(processes, clocks).figures


@pytest.mark.parametrize("engine", ENGINES)
def test_without_an_order_two_enter(engine: str) -> None:
    """The shortest path is as long as in plain Python."""
    expected = plain(2, 6, in_order=False)
    assert expected.broken
    result = checked("lamport_mutex", engine, in_order=False)
    assert (result.verdict, figures(result)) == ("violated", expected.figures)
