"""Directed graphs whose vertices refer to each other symmetrically, so that they are hard to distinguish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spec.language import (
    Domain,
    Specification,
    State,
    Total,
    action,
    constant,
    interchangeable,
    mapping,
    require,
    subset_of,
    variable,
)
from spec.language.state import Values

Edge = Callable[[int, int], bool]


def each_vertex(self: Any) -> Domain[int]:
    """The interchangeable vertices."""
    return interchangeable("vertex", range(self.vertices))


class GraphState(State):
    """The state of `Graph`."""

    edges: Total[int, frozenset[int]] = variable(
        "The edges.", of=lambda self: mapping(each_vertex(self), subset_of(each_vertex(self)))
    )


class Graph(Specification[GraphState]):
    """Edges are added one by one."""

    vertices: int = constant(3, "how many there are", at_least=1)

    @action(vertex=each_vertex, other=each_vertex)
    def connect(self, s: GraphState, vertex: int, other: int) -> None:
        """One more."""
        require(other not in s.edges[vertex])
        s.edges[vertex] |= {other}


def graph(vertices: int, edge: Edge) -> Values:
    """The state with these edges."""
    return tuple(frozenset(other for other in range(vertices) if edge(each, other)) for each in range(vertices))


def rook(one: int, other: int) -> bool:
    """The rook's graph on a 4 x 4 board: neighbours share a row or column. Strongly regular: (16, 6, 2, 2)."""
    return one != other and (one // 4 == other // 4 or one % 4 == other % 4)


def shrikhande(one: int, other: int) -> bool:
    """The Shrikhande graph: another graph with the same parameters."""
    return ((other // 4 - one // 4) % 4, (other - one) % 4) in {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}


def cycles(*lengths: int) -> Edge:
    """Directed cycles of these lengths. Refinement alone distinguishes no two vertices."""
    after: dict[int, int] = {}
    for length in lengths:
        first = len(after)
        after |= {first + at: first + (at + 1) % length for at in range(length)}
    return lambda one, other: after[one] == other


def cliques(size: int) -> Edge:
    """Groups of this size, whose members are all neighbours."""
    return lambda one, other: one // size == other // size and one != other


HARD: dict[str, Edge] = {
    "nothing": lambda one, other: False,
    "one cycle": cycles(16),
    "cycles": cycles(2, 2, 3, 3, 6),
    "pairs": cliques(2),
    "triangles and one": cliques(3),
    "a cube": lambda one, other: (one ^ other).bit_count() == 1,
    "rook": rook,
    "Shrikhande": shrikhande,
}
"""Of 16 vertices."""
