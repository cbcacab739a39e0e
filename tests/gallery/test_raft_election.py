"""`examples/raft_election.py` has the states of Raft's election in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

import pytest

from tests.gallery.exploring import ENGINES, Explored, Figures, checked, explored, figures


class Server(NamedTuple):
    """A server, without the language."""

    term: int = 0
    voted_for: int | None = None
    role: str = "follower"


class Message(NamedTuple):
    """A request for votes, a vote, or a heartbeat."""

    kind: str
    term: int
    server: int
    """The candidate, or the leader."""
    voter: int | None = None


State = tuple[tuple[Server, ...], frozenset[Message]]
"""The servers, and all messages."""


def plain(servers: int, terms: int, *, vote_on_disk: bool = True) -> Explored:
    """Explore all states."""

    def following(state: State) -> Iterator[State]:
        all_of_them, messages = state
        for number, it in enumerate(all_of_them):
            for after, sent in steps_of(number, it, messages):
                yield (*all_of_them[:number], after, *all_of_them[number + 1 :]), messages | sent

    def steps_of(number: int, it: Server, messages: frozenset[Message]) -> Iterator[tuple[Server, set[Message]]]:
        """Return the server's possible next states, and its messages."""
        yield it._replace(role="follower", voted_for=it.voted_for if vote_on_disk else None), set()
        if it.role != "leader" and it.term < terms:
            term = it.term + 1
            sent = {Message("request", term, number), Message("vote", term, number, number)}
            yield Server(term, number, "candidate"), sent
        votes = [message for message in messages if message[:3] == ("vote", it.term, number)]
        if it.role == "candidate" and len(votes) > servers / 2:
            yield it._replace(role="leader"), {Message("leads", it.term, number)}
        for kind, term, candidate, _ in messages:
            if kind == "request" and (term > it.term or (term == it.term and it.voted_for is None)):
                yield Server(term, candidate), {Message("vote", term, candidate, number)}
        for term in {message.term for message in messages if message.kind == "leads"}:
            if term > it.term:
                yield Server(term), set()
            elif term == it.term and it.role == "candidate":
                yield it._replace(role="follower"), set()

    def two_led_in_a_term(state: State) -> bool:
        led = [message.term for message in state[1] if message.kind == "leads"]
        return len(led) > len(set(led))

    first: State = ((Server(),) * servers, frozenset())
    return explored([first], following, two_led_in_a_term)


def images(state: State) -> Iterator[State]:
    """Return all forms of a state under renaming of servers."""
    servers, messages = state
    for names in permutations(range(len(servers))):
        name: dict[int | None, int | None] = {None: None}
        name.update(enumerate(names))
        renamed = {names[number]: it._replace(voted_for=name[it.voted_for]) for number, it in enumerate(servers)}
        yield (
            tuple(renamed[number] for number in range(len(servers))),
            frozenset(Message(it.kind, it.term, names[it.server], name[it.voter]) for it in messages),
        )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("servers", "terms", "expected"),
    [
        (2, 1, Figures(17, 47, 5)),
        (2, 2, Figures(121, 369, 9)),
        (3, 1, Figures(123, 538, 7)),
        (3, 2, Figures(4_565, 22_465, 12)),
    ],
)
def test_states_equal_a_search_in_plain_python(engine: str, servers: int, terms: int, expected: Figures) -> None:
    """At most one server leads in a term."""
    by_hand = plain(servers, terms)
    assert (by_hand.figures, by_hand.broken) == (expected, False)
    result = checked("raft_election", engine, servers=servers, terms=terms)
    assert result.counterexample is None
    assert figures(result) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_every_witness_is_reached(engine: str) -> None:
    """Votes are split, and leaders are deposed without knowing it."""
    assert checked("raft_election", engine).verdict == "holds"


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_orbits_equal_brute_force(engine: str) -> None:
    """The expected number comes from every permutation of every state."""
    apart = {frozenset(images(state)) for state in plain(3, 2).states}
    result = checked("raft_election", engine, symmetry=True)
    assert result.distinct_states == len(apart) == 795


@pytest.mark.parametrize("engine", ENGINES)
def test_a_server_that_forgets_its_vote_elects_two(engine: str) -> None:
    """The shortest path is as long as in plain Python."""
    expected = plain(3, 2, vote_on_disk=False)
    assert expected.broken
    result = checked("raft_election", engine, vote_on_disk=False)
    assert (result.verdict, figures(result)) == ("violated", expected.figures)
    assert result.counterexample is not None
    actions = [each.step.action for each in result.counterexample.steps]
    assert actions == ["time_out", "grant", "win", "restart", "time_out", "grant", "win"]
