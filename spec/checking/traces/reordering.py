"""Another order of a path's steps: from the same state to the same state, with fewer changes of actor.

Steps that do not depend on each other can be done in any order, and an engine finds one such order. The one that a
reader follows best lets each actor go on as long as it can.

The search takes no other steps than those of the path. It is exact as long as no more than `WIDEST` pairs of a state
and the steps done are met after any number of steps. Beyond that it goes on with those that have fewest changes so
far, and with the path that was given: so what it finds is never worse than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from spec.checking.model import Choice, Model, Path
from spec.checking.traces.lanes import owner
from spec.language.cells import OutOfCell
from spec.language.errors import Disabled
from spec.language.state import Values
from spec.language.words import without_bounds

__all__ = ["actor_of", "changes_of_actor", "fewest_changes_of_actor"]

WIDEST: Final = 300
"""With it a path of 30 steps takes a few seconds at most."""

Begun = tuple[int, tuple[int, ...]]
"""A beginning of the path: how often its actor changes, and its steps by their places in the path that was given."""

Level = dict[tuple[Values, int], dict[str, Begun]]
"""By a state and the steps done (a bit for each), the best beginnings that lead there, by their last actor."""


def changes_of_actor(actors: Sequence[str]) -> int:
    """How often a step has another actor than the one before.

    >>> changes_of_actor(["ann", "ann", "bob", "ann"])
    2
    """
    return sum(one != other for one, other in pairwise(actors))


def fewest_changes_of_actor(model: Model, path: Path, *, last_stays: bool) -> Path:
    """The same steps in the order in which the actor changes least; among equals in one that is most like that given.

    Bounds forbid nothing here, as in a replay.

    Args:
        model: whose path it is.
        path: that is known.
        last_stays: whether its last step is to be done last, from the state from which it was done.
    """
    first, choices = path
    free = list(choices[:-1] if last_stays else choices)
    with without_bounds():
        order = _Orders(model, first, free, choices[-1] if last_stays and choices else None).best()
    return first, [*(free[at] for at in order), *choices[len(free) :]]


class _Orders:
    """The orders in which these steps can be done, to where they lead as they stand; then comes a last step."""

    def __init__(self, model: Model, first: Values, choices: Sequence[Choice], last: Choice | None):
        self.model, self.first, self.choices = model, first, choices
        self.actors = [actor_of(model, each) for each in choices]
        self.then = None if last is None else actor_of(model, last)
        self.window = model.window()
        self._known: dict[tuple[Values, Choice], Values | None] = {}

    def best(self) -> tuple[int, ...]:
        """The places of the steps, in the order that is sought."""
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
        """What can be reached with one step more."""
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
        """Where a step leads; None where it cannot be done, or leaves the domains."""
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
        except Exception:  # where a path does not come, an action may raise
            return None


def actor_of(model: Model, choice: Choice) -> str:
    """Who takes a step, with all that is its own."""
    return owner(model.actions[choice[0]].lanes(choice[1]).actor)
