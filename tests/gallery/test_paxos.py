"""`examples/paxos.py` is Paxos with messages in a set."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import pytest

from tests.gallery.exploring import ENGINES, Explored, Figures, checked, explored, figures

State = tuple[tuple[int, ...], tuple[tuple[int, int], ...], frozenset[tuple[Any, ...]]]
"""The highest ballot of each acceptor, its last vote, and all messages; -1 is no ballot."""


def plain(acceptors: int, values: int, ballots: int, *, adopt_votes: bool = True) -> Explored:
    """Explore all states, without the language."""
    majority = acceptors // 2 + 1

    def following(state: State) -> Iterator[State]:
        highest, last, messages = state
        for ballot in range(ballots):
            yield highest, last, messages | {("1a", ballot)}
            if not any(("2a", ballot, value) in messages for value in range(values)):
                for value in range(values):
                    if proposes([each[3] for each in messages if each[::2] == ("1b", ballot)], value):
                        yield highest, last, messages | {("2a", ballot, value)}
        for kind, ballot, *rest in messages:
            for acceptor in range(acceptors):
                if kind == "1a" and ballot > highest[acceptor]:
                    promise = ("1b", acceptor, ballot, last[acceptor])
                    yield put(highest, acceptor, ballot), last, messages | {promise}
                if kind == "2a" and ballot >= highest[acceptor]:
                    vote = (ballot, *rest)
                    yield (
                        put(highest, acceptor, ballot),
                        put(last, acceptor, vote),
                        messages | {("2b", acceptor, *vote)},
                    )

    def proposes(reported: list[tuple[int, int]], value: int) -> bool:
        """Whether a majority reports no later vote than one for the value."""
        latest = {vote for vote in reported if vote[0] < 0 or vote[1] == value or not adopt_votes}
        return any(sum(vote[0] <= ballot for vote in reported) >= majority for ballot, _ in latest)

    def two_are_chosen(state: State) -> bool:
        votes = [each[2:] for each in state[2] if each[0] == "2b"]
        return len({value for ballot, value in votes if votes.count((ballot, value)) >= majority}) > 1

    first: State = ((-1,) * acceptors, ((-1, -1),) * acceptors, frozenset())
    return explored([first], following, two_are_chosen)


def put(row: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    """Return a row with another value in one place."""
    return (*row[:at], value, *row[at + 1 :])


def images(state: State, values: int) -> Iterator[State]:
    """Return all forms of a state under renaming of acceptors and of values."""
    highest, last, messages = state
    for names, others in product(permutations(range(len(highest))), permutations(range(values))):
        value = dict([*enumerate(others), (-1, -1)])
        renamed = set[tuple[Any, ...]]()
        for kind, *rest in messages:
            if kind == "1b":
                acceptor, ballot, (voted, of) = rest
                renamed.add((kind, names[acceptor], ballot, (voted, value[of])))
            elif kind == "2a":
                renamed.add((kind, rest[0], value[rest[1]]))
            elif kind == "2b":
                renamed.add((kind, names[rest[0]], rest[1], value[rest[2]]))
            else:
                renamed.add((kind, *rest))
        at = [names.index(number) for number in range(len(names))]
        votes = tuple((last[number][0], value[last[number][1]]) for number in at)
        yield tuple(highest[number] for number in at), votes, frozenset(renamed)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["reference", "local"])
def test_it_has_the_published_states(engine: str) -> None:
    """TLC's figures for MCPaxosTiny.cfg (three acceptors, two values, ballots 0 and 1), as recorded in its manifest.

    TLC generates 23,563 states: a proposal once for each quorum and vote that allow it.
    """
    result = checked("paxos", engine, acceptors=3, values=2, ballots=2)
    assert (result.verdict, figures(result)) == ("holds", Figures(distinct=3_921, generated=22_995, depth=17))
    assert plain(3, 2, 2).figures == figures(result)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("acceptors", "values", "ballots"), [(1, 2, 3), (2, 2, 2), (3, 2, 1)])
def test_states_equal_a_search_in_plain_python(engine: str, acceptors: int, values: int, ballots: int) -> None:
    """Also where one acceptor is a majority, or two of two are needed."""
    result = checked("paxos", engine, acceptors=acceptors, values=values, ballots=ballots)
    assert result.counterexample is None
    assert figures(result) == plain(acceptors, values, ballots).figures


@pytest.mark.parametrize("engine", ENGINES)
def test_a_leader_that_ignores_votes_has_two_values_chosen(engine: str) -> None:
    """The shortest path is as long as in plain Python."""
    expected = plain(2, 2, 2, adopt_votes=False)
    assert expected.broken
    result = checked("paxos", engine, acceptors=2, adopt_votes=False)
    assert (result.verdict, figures(result)) == ("violated", expected.figures)
    assert result.counterexample is not None
    assert result.counterexample.broken == "agreement"


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_orbits_equal_brute_force(engine: str) -> None:
    """The expected number comes from every renaming of every state; acceptors and values are two sorts."""
    apart = {frozenset(images(state, 2)) for state in plain(3, 2, 2).states}
    assert checked("paxos", engine, symmetry=True).distinct_states == len(apart) == 443
