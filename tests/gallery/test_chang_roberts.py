"""`examples/chang_roberts.py` is ChangRoberts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from tests.gallery.exploring import ENGINES, Explored, Figures, checked, explored, figures

State = tuple[tuple[bool, ...], frozenset[int], tuple[str, ...], frozenset[tuple[int, int]]]
"""The nodes that begin, those that have started, their roles, and messages: receiver and identity."""


def plain(nodes: int, *, discard_higher: bool = True) -> Explored:
    """Explore all states, without the language."""

    def following(state: State) -> Iterator[State]:
        begins, started, roles, messages = state
        for node in set(range(nodes)) - started:
            sent = {((node + 1) % nodes, node)} if begins[node] else set()
            yield begins, started | {node}, roles, messages | sent
        for node, identity in messages:
            if node in started:
                role = roles[node]
                if role != "lost" and identity <= node:
                    role = "won" if identity == node else "lost"
                discarded = role != "lost" and (identity == node or discard_higher)
                sent = set() if discarded else {((node + 1) % nodes, identity)}
                changed = (*roles[:node], role, *roles[node + 1 :])
                yield begins, started, changed, messages - {(node, identity)} | sent

    def a_wrong_one_wins(state: State) -> bool:
        begins, _, roles, _ = state
        return "won" in roles and (roles.count("lost") < nodes - 1 or roles.index("won") != begins.index(True))

    first: list[State] = [
        (begins, frozenset(), tuple("candidate" if each else "lost" for each in begins), frozenset())
        for begins in product([False, True], repeat=nodes)
    ]
    return explored(first, following, a_wrong_one_wins)


@pytest.mark.parametrize("engine", ENGINES)
def test_it_has_the_published_states(engine: str) -> None:
    """TLC's figures for MCChangRoberts.cfg (three nodes), as recorded in its manifest."""
    result = checked("chang_roberts", engine, nodes=3)
    assert (result.verdict, figures(result)) == ("holds", Figures(distinct=137, generated=227, depth=10))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_states_equal_a_search_in_plain_python(engine: str, nodes: int) -> None:
    """For any set of nodes that begin."""
    result = checked("chang_roberts", engine, nodes=nodes)
    assert (result.verdict, figures(result)) == ("holds", plain(nodes).figures)


@pytest.mark.parametrize("engine", ENGINES)
def test_candidates_that_forward_higher_identities_all_win(engine: str) -> None:
    """The shortest path is as long as in plain Python."""
    expected = plain(3, discard_higher=False)
    assert expected.broken
    result = checked("chang_roberts", engine, discard_higher=False)
    assert (result.verdict, figures(result)) == ("violated", expected.figures)
