"""`examples/ewd998.py` is EWD998PCal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import pytest

from spec.checking import check
from tests.gallery.exploring import ENGINES, Explored, Figures, checked, explored, figures, system


class Node(NamedTuple):
    """A node, without the language."""

    active: bool
    black: bool = True
    counter: int = 0
    pending: int = 0


State = tuple[tuple[Node, ...], tuple[int, int, bool]]
"""The nodes; the token's place, its sum, and whether it is black."""


def plain(nodes: int, most: int, *, turn_black: bool = True) -> Explored:
    """Explore all states."""

    def following(state: State) -> Iterator[State]:
        ring, (place, total, black) = state
        token = state[1]
        for number, node in enumerate(ring):
            yield put(ring, number, node._replace(active=False)), token
            if node.pending:
                awake = Node(True, node.black or turn_black, node.counter - 1, node.pending - 1)
                yield put(ring, number, awake), token
            if node.active and node.counter < most:
                sent = put(ring, number, node._replace(counter=node.counter + 1))
                for to in range(nodes):
                    if to != number:
                        yield put(sent, to, ring[to]._replace(pending=ring[to].pending + 1)), token
        holder = ring[place]
        passed = put(ring, place, holder._replace(black=False))
        if place and not holder.active:
            yield passed, (place - 1, total + holder.counter, black or holder.black)
        if not place and (black or holder.black or total + holder.counter):
            yield passed, (nodes - 1, 0, False)

    def announced_too_early(state: State) -> bool:
        ring, (place, total, black) = state
        told = not place and not black and ring[0][:2] == (False, False) and total + ring[0].counter == 0
        return told and not ring[0].pending and any(node.active or node.pending for node in ring)

    first = [(tuple(map(Node, active)), (0, 0, True)) for active in product([False, True], repeat=nodes)]
    return explored(first, following, announced_too_early)


def put(ring: tuple[Node, ...], at: int, node: Node) -> tuple[Node, ...]:
    """Return a ring with another node in one place."""
    return (*ring[:at], node, *ring[at + 1 :])


@pytest.mark.long
def test_it_has_the_published_states() -> None:
    """TLC's figures for EWD998PCal.cfg (three nodes, counters of at most 2), as recorded in its manifest.

    TLC generates 2,808,396 states: also those beyond its constraint, and a round once for each reason to begin it.
    """
    result = checked("ewd998", "local", nodes=3, most=2)
    assert (result.verdict, figures(result)) == ("holds", Figures(distinct=321_370, generated=2_224_776, depth=47))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("nodes", "most"), [(2, 1), (2, 2), (2, 3)])
def test_states_equal_a_search_in_plain_python(engine: str, nodes: int, most: int) -> None:
    """And the invariant of the note holds in each."""
    result = checked("ewd998", engine, nodes=nodes, most=most)
    assert result.counterexample is None
    assert figures(result) == plain(nodes, most).figures


@pytest.mark.parametrize("engine", ENGINES)
def test_if_nodes_do_not_turn_black_the_end_is_announced_too_early(engine: str) -> None:
    """The shortest path is as long as in plain Python."""
    expected = plain(2, 2, turn_black=False)
    assert expected.broken
    result = check(system("ewd998")(turn_black=False), engine=engine, properties=["detection_is_right"])
    assert (result.verdict, figures(result)) == ("violated", expected.figures)
