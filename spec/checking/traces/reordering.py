"""Other paths to the same state, with fewer changes of actor: the same steps in another order, or other steps.

Independent steps can be done in any order, and an engine finds one such order. The easiest order for a reader lets
each actor continue as long as it can. The search for another order uses only the steps of the path. It is exact as
long as, for each number of steps, at most `WIDEST` pairs of a state and the steps done are met. Beyond that it
continues with those that have fewest changes so far, and with the given path. So its result is never worse than the
given path.

Engines keep no predecessors. So for other steps, all states nearer to the first than the last one is are explored
once more, in plain Python, and paths are traced back from the last. That is exact; if it would take more than `MOST`
states, it is not done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from spec.checking.model import Choice, EvaluationFailed, Model, Path
from spec.checking.traces.trace import owner
from spec.language.cells import OutOfCell
from spec.language.errors import Disabled
from spec.language.state import Values
from spec.language.words import without_bounds

# The same steps.


WIDEST: Final = 300
"""With this limit a path of 30 steps takes a few seconds at most."""

Begun = tuple[int, tuple[int, ...]]
"""A beginning of the path: how often its actor changes, and its steps by their places in the given path."""

Level = dict[tuple[Values, int], dict[str, Begun]]
"""By a state and the steps done (a bit for each), the best beginnings that lead there, by their last actor."""


def changes_of_actor(actors: Sequence[str]) -> int:
    """How often the actor differs from that of the step before.

    >>> changes_of_actor(["ann", "ann", "bob", "ann"])
    2
    """
    return sum(one != other for one, other in pairwise(actors))


def fewest_changes_of_actor(model: Model, path: Path, *, last_stays: bool) -> Path:
    """The same steps in an order with the fewest changes of actor; among equals, one most like the given order. If
    `last_stays`, the last step is done last, from the same state. Bounds are ignored, as in a replay.
    """
    first, choices = path
    free = list(choices[:-1] if last_stays else choices)
    with without_bounds():
        order = _Orders(model, first, free, choices[-1] if last_stays and choices else None).best()
    return first, [*(free[at] for at in order), *choices[len(free) :]]


class _Orders:
    """The orders in which these steps lead to the same state as in the given order; a last step may follow."""

    def __init__(self, model: Model, first: Values, choices: Sequence[Choice], last: Choice | None):
        self.model, self.first, self.choices = model, first, choices
        self.actors = [actor_of(model, each) for each in choices]
        self.then = None if last is None else actor_of(model, last)
        self.window = model.window()
        self._known: dict[tuple[Values, Choice], Values | None] = {}

    def best(self) -> tuple[int, ...]:
        """The places of the steps, in the best order."""
        here, done = self.first, 0
        level: Level = {(here, done): {"": (0, ())}}
        for at, choice in enumerate(self.choices):
            level = self._next(level)
            after = self._after(here, choice)
            assert after is not None, "a path is one of the model"
            here, done = after, done | 1 << at
            if len(level) > WIDEST:
                fewest = sorted(level, key=lambda node: min(level[node].values()))[:WIDEST]
                level = {node: level[node] for node in (*fewest, (here, done))}
        ends = level[here, done].items()
        return min((changes + (self.then not in (None, actor)), order) for actor, (changes, order) in ends)[1]

    def _next(self, level: Level) -> Level:
        """The level after one more step."""
        found: Level = {}
        for (state, done), begun in level.items():
            for at in self._left(done):
                after = self._after(state, self.choices[at])
                if after is None:
                    continue
                best, actor = found.setdefault((after, done | 1 << at), {}), self.actors[at]
                for before, (changes, order) in begun.items():
                    candidate = changes + bool(order and before != actor), (*order, at)
                    best[actor] = min(best.get(actor, candidate), candidate)
        return found

    def _left(self, done: int) -> list[int]:
        """The steps that are yet to be done; of equal ones the first."""
        places = {choice: at for at, choice in reversed(list(enumerate(self.choices))) if not done >> at & 1}
        return list(places.values())

    def _after(self, state: Values, choice: Choice) -> Values | None:
        """The successor of a step; None if it is not enabled, or leaves the domains."""
        if (state, choice) not in self._known:
            self._known[state, choice] = self._done(state, choice)
        return self._known[state, choice]

    def _done(self, state: Values, choice: Choice) -> Values | None:
        action = self.model.actions[choice[0]]
        self.window.load(state)
        self.window.writable(action.name)
        try:
            action.instances[choice[1]](self.window.s)
            return self.window.changed()
        except (Disabled, OutOfCell):
            return None
        except Exception:  # off the given path, an action may raise
            return None


def actor_of(model: Model, choice: Choice) -> str:
    """The actor of a step, including everything it owns."""
    return owner(model.actions[choice[0]].lanes(choice[1]).actor)


# Other steps.


MOST: Final = 6_000
"""The most states explored for it: about a second."""

Way = tuple[int, tuple[Choice, ...]]
"""A beginning: how often its actor changes, and its steps."""

Arrivals = Mapping[Values, list[tuple[Values, Choice]]]
"""By the states of a level, each step that leads there, with the state before it."""


def fewest_changes_of_shortest(model: Model, path: Path, *, last_stays: bool) -> Path | None:
    """Of all shortest paths from the same state to the same state, one with the fewest changes of actor; None if the
    path is not one of the shortest, or there are too many states on the way. `last_stays` is as above.
    """
    first, choices = path
    ahead, then = (choices[:-1], choices[-1:]) if last_stays else (choices, choices[:0])
    try:
        last = _end(model, first, ahead)
        levels = None if last is None else _levels(model, first, last, len(ahead))
    except EvaluationFailed:  # in a state or a step that the path's finder did not try
        return None
    if levels is None or last is None:
        return None
    ways = _ways(levels, last)
    best: dict[Values, dict[str, Way]] = {first: {"": (0, ())}}
    for level in ways:
        best = {state: _best(model, best, arrivals) for state, arrivals in level.items()}
    after = {actor_of(model, each) for each in then}
    ends = best[last].items()
    return first, [*min((changes + bool(after - {actor}), way) for actor, (changes, way) in ends)[1], *then]


def _end(model: Model, first: Values, choices: Iterable[Choice]) -> Values | None:
    """The end of a path; None if it goes beyond bounds, as a replay may."""
    state = first
    for choice in choices:
        steps = {(step.action, step.instance): step.after for step in model.expand(state).steps}
        after = steps.get(choice)
        if after is None:
            return None
        state = after
    return state


def _levels(model: Model, first: Values, last: Values, length: int) -> list[Arrivals] | None:
    """The states at most as many steps away as the last state, by level; None if that one is nearer, or too many."""
    levels: list[Arrivals] = [{first: []}]
    known = {first}
    for _ in range(length):
        level: dict[Values, list[tuple[Values, Choice]]] = {}
        for state in levels[-1]:
            for step in model.expand(state).steps:
                if step.after is not None and step.after not in known:
                    level.setdefault(step.after, []).append((state, (step.action, step.instance)))
            if len(known) + len(level) > MOST:
                return None
        known.update(level)
        levels.append(level)
    return levels if last in levels[-1] else None


def _ways(levels: list[Arrivals], last: Values) -> list[Arrivals]:
    """The levels after the first, reduced to states on a path to the last state."""
    ways: list[Arrivals] = []
    wanted = {last}
    for level in reversed(levels[1:]):
        ways.append({state: arrivals for state, arrivals in level.items() if state in wanted})
        wanted = {before for state in wanted for before, _ in level[state]}
    return ways[::-1]


def _best(
    model: Model, begun: Mapping[Values, Mapping[str, Way]], arrivals: list[tuple[Values, Choice]]
) -> dict[str, Way]:
    """The best ways to a state, by their last actor."""
    best: dict[str, Way] = {}
    for before, choice in arrivals:
        actor = actor_of(model, choice)
        for earlier, (changes, way) in begun.get(before, {}).items():
            candidate = changes + bool(way and earlier != actor), (*way, choice)
            best[actor] = min(best.get(actor, candidate), candidate)
    return best
