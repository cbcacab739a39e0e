"""Edge coverage: for each class of edges of a state graph, shortest paths that end with an edge of it; or every edge.

This derives tests of an implementation from a specification: edges are classified by their relevant features, and a
path to one edge of each class covers every kind of step, from every position that allows it.
[transition coverage; Utting, Pretschner, Legeard 2012]

Where the graph is small enough, tours take every edge. A path for each would have as many steps as there are edges
times the depth; a tour continues along edges not yet taken, as long as there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

from spec.checking.exploration import Statistics
from spec.checking.model import Model
from spec.language.state import Values
from spec.language.words import Step

Classify: TypeAlias = Callable[[Any, Step, Any], Hashable]
"""The class of an edge, from the state before, the step, and the state after; None for an edge to skip."""


class EdgePath(NamedTuple):
    """A path, and the class of its last edge; a tour has none."""

    of: Hashable
    states: Sequence[Values]
    """From an initial state to the last one."""
    choices: Sequence[tuple[int, int]]
    """The step from each state to the next."""


class _Edge(NamedTuple):
    """An edge from a state."""

    of: Hashable
    choice: tuple[int, int]
    target: Values


class EdgeCoverage:
    """Explores a model breadth-first, and yields a path at the first edge of each class.

    Args:
        model: the specification.
        classify: the class of an edge.
        max_states: no states are added beyond this many; the edges of those already there still count.
        per_class: the number of paths for each class, each to another edge.
        ends: whether the states after an edge of this class are left out.
    """

    def __init__(
        self,
        model: Model,
        classify: Classify,
        *,
        max_states: int,
        per_class: int = 1,
        ends: Callable[[Hashable], bool] = lambda of: False,
    ) -> None:
        self.model, self.classify, self.ends = model, classify, ends
        self.max_states, self.per_class = max_states, per_class
        self.edges: dict[Hashable, int] = {}
        """The number of edges met in each class."""
        self.expanded = 0
        """The number of states expanded."""
        self.depth = 0
        """The deepest level that was begun."""
        self._before, self._after = model.window(), model.window()
        self._came_from: dict[Values, tuple[Values, tuple[int, int]] | None] = {}
        self._began = monotonic()

    def statistics(self) -> Statistics:
        """The statistics so far."""
        generated = sum(self.edges.values())
        return Statistics(self.depth, generated, self.states, self.states - self.expanded, monotonic() - self._began)

    @property
    def states(self) -> int:
        """The number of states reached."""
        return len(self._came_from)

    def __iter__(self) -> Iterator[EdgePath]:
        level = self.model.first_states()
        self._came_from, self.edges, self.expanded, self.depth = dict.fromkeys(level), {}, 0, 0
        while level:
            self.depth += 1
            following: list[Values] = []
            for state in level:
                yield from self._expand(state, following)
            level = following

    def _expand(self, state: Values, following: list[Values]) -> Iterator[EdgePath]:
        for edge in self._edges_from(state, following):
            if self.edges[edge.of] <= self.per_class:
                yield self._path_along(state, edge)

    def _edges_from(self, state: Values, following: list[Values]) -> Iterator[_Edge]:
        """The edges of a state, each counted; targets reached for the first time are appended to `following`."""
        before, after = self._before, self._after
        before.load(state)
        self.expanded += 1
        for action, instance, target, _, _ in self.model.expand(state).steps:
            if target is None:
                continue
            after.load(target)
            of = self.classify(before.s, self.model.actions[action].step(instance), after.s)
            if of is None:
                continue
            self.edges[of] = self.edges.get(of, 0) + 1
            if not self.ends(of) and target not in self._came_from and self.states < self.max_states:
                self._came_from[target] = state, (action, instance)
                following.append(target)
            yield _Edge(of, (action, instance), target)

    def _path_along(self, state: Values, edge: _Edge) -> EdgePath:
        states, choices = self._way_to(state)
        return EdgePath(edge.of, [*states, edge.target], [*choices, edge.choice])

    def _way_to(self, state: Values) -> tuple[list[Values], list[tuple[int, int]]]:
        """A shortest path to a state: the states on it, and the step from each to the next."""
        states, choices = [state], list[tuple[int, int]]()
        while (came_from := self._came_from[states[-1]]) is not None:
            states.append(came_from[0])
            choices.append(came_from[1])
        return states[::-1], choices[::-1]


class EdgeTours(EdgeCoverage):
    """Explores a model breadth-first, and then yields paths that together take every edge.

    Edges that end a path are yielded as in `EdgeCoverage`: so many of each class, each with its own path.
    """

    def __iter__(self) -> Iterator[EdgePath]:
        self._untaken: dict[Values, list[_Edge]] = {}
        yield from super().__iter__()
        for state, edges in self._untaken.items():  # breadth-first: the path to each of them has been taken before
            while edges:
                yield self._tour_from(state)

    def _expand(self, state: Values, following: list[Values]) -> Iterator[EdgePath]:
        untaken = self._untaken[state] = []
        for edge in self._edges_from(state, following):
            if not self.ends(edge.of):
                untaken.append(edge)
            elif self.edges[edge.of] <= self.per_class:
                yield self._path_along(state, edge)

    def _tour_from(self, state: Values) -> EdgePath:
        states, choices = self._way_to(state)
        while untaken := self._untaken.get(states[-1]):
            edge = untaken.pop()
            states.append(edge.target)
            choices.append(edge.choice)
        return EdgePath(None, states, choices)
