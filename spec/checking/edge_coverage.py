"""Edge coverage: for each class of edges of a state graph, shortest paths that end with an edge of it.

What a test of an implementation takes from a specification: edges are put into classes by what matters of them, and a
path to one edge of each class does every kind of thing once, in every position from which it can be done.
[transition coverage; Utting, Pretschner, Legeard 2012]
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
"""The class of an edge, from the state before, the step, and the state after; None of one that is passed over."""


class EdgePath(NamedTuple):
    """A path, and the class of its last edge."""

    of: Hashable
    states: Sequence[Values]
    """From an initial state to the last one."""
    choices: Sequence[tuple[int, int]]
    """What leads from each of them to the next."""


class EdgeCoverage:
    """Goes through a model breadth-first, and gives a path when it meets an edge of a class for the first time.

    Args:
        model: the specification.
        classify: the class of an edge.
        max_states: no states are added beyond so many; the edges of those that there are count all the same.
        per_class: as many paths are given to each class, each to another edge.
        ends: whether what lies behind an edge of this class is left out.
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
        """Each class, with how many edges of it were met."""
        self.expanded = 0
        """How many states were expanded."""
        self.depth = 0
        """The deepest level that was begun."""
        self._before, self._after = model.window(), model.window()
        self._came_from: dict[Values, tuple[Values, tuple[int, int]] | None] = {}
        self._began = monotonic()

    def statistics(self) -> Statistics:
        """How far it is."""
        generated = sum(self.edges.values())
        return Statistics(self.depth, generated, self.states, self.states - self.expanded, monotonic() - self._began)

    @property
    def states(self) -> int:
        """How many states were reached."""
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
            met = self.edges[of] = self.edges.get(of, 0) + 1
            if not self.ends(of) and target not in self._came_from and self.states < self.max_states:
                self._came_from[target] = state, (action, instance)
                following.append(target)
            if met <= self.per_class:
                yield self._path(of, state, (action, instance), target)

    def _path(self, of: Hashable, state: Values, choice: tuple[int, int], target: Values) -> EdgePath:
        states, choices = [target, state], [choice]
        while (came_from := self._came_from[states[-1]]) is not None:
            states.append(came_from[0])
            choices.append(came_from[1])
        return EdgePath(of, states[::-1], choices[::-1])
