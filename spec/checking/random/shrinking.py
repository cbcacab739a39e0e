"""Shrinking: find a shorter path that breaks the same property as a given path.

Most steps of a random walk have nothing to do with the violation. Steps are left out as long as the same property
breaks (delta debugging). Then the engine looks for a shorter path, first one made only of this path's steps, in any
order, and finally any path at all; both within a bound. Nothing here is random: a path always shrinks to the same
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from spec.checking.exploration import Engine, Options
from spec.checking.model import DEADLOCK, TYPE_OK, Choice, EvaluationFailed, Model, Path
from spec.language.cells import OutOfCell
from spec.language.errors import Disabled, UsageError
from spec.language.state import Values

ATTEMPTS: Final = 2_000_000
"""The most steps tried to find out which can be left out: some seconds."""


class Shrinking:
    """Shrinks paths that end where one property is broken. The engine looks for shorter paths among so many states,
    and tells what it does before it explores, see `Statistics.doing`.
    """

    def __init__(
        self,
        model: Model,
        number: int,
        engine: Engine,
        max_states: int,
        tell: Callable[[str], None] = lambda doing: None,
    ):
        self.model, self.number, self.engine, self.max_states = model, number, engine, max_states
        self.tell = tell
        self.broken = model.properties[number]
        self.window = model.window()
        self.left = ATTEMPTS
        self._after: dict[tuple[Values, Choice], tuple[Values | None, bool]] = {}
        self._breaks: dict[Values, bool] = {}

    def shrunk(self, path: Path) -> Path:
        """A path that is not longer and breaks the same property. After Ctrl-C it is the shortest found so far."""
        best = path
        try:
            for shorter in (self._without_loops, self._without_needless, self._reordered, self._replaced):
                best = shorter(best)
        except KeyboardInterrupt:
            pass
        return best

    # Steps that a path can do without.

    def _without_loops(self, path: Path) -> Path:
        """Cut every loop: leave each state as the path last leaves it, and begin as late as possible."""
        first, choices = path
        states = [first]
        for choice in choices[:-1]:
            after, _ = self._step(states[-1], choice)
            assert after is not None, "a path is one of the model"
            states.append(after)
        last = {state: at for at, state in enumerate(states)}
        begin = max((last[state] for state in self.model.first_states() if state in last), default=0)
        at, kept = begin, list[Choice]()
        while at < len(choices):
            at = last[states[at]]
            kept.append(choices[at])
            at += 1
        return states[begin], kept

    def _without_needless(self, path: Path) -> Path:
        """Leave out half of the steps, a quarter, an eighth and so on, as long as the property still breaks."""
        first, choices = path
        size = max(1, len(choices) // 2)
        while self.left > 0:
            before, at = len(choices), 0
            while at < len(choices) and self.left > 0:
                try:
                    fewer = self._as_far_as_it_breaks(first, [*choices[:at], *choices[at + size :]])
                except EvaluationFailed:
                    fewer = None
                if fewer is None:
                    at += size
                else:
                    choices = fewer
            if size == 1 and len(choices) == before:
                break
            size = max(1, size // 2)
        return first, choices

    def _as_far_as_it_breaks(self, first: Values, choices: Sequence[Choice]) -> list[Choice] | None:
        """The steps that can be done, up to the violation; None if there is none."""
        state, done = first, list[Choice]()
        if self._is_broken_in(state):
            return done
        for choice in choices:
            self.left -= 1
            try:
                after, broken = self._step(state, choice)
            except Disabled:
                continue
            done.append(choice)
            if broken:
                return done
            assert after is not None, "only a violation of type_ok leaves the domains"
            state = after
            if self._is_broken_in(state):
                return done
        return done if self._is_dead(state) else None

    def _step(self, state: Values, choice: Choice) -> tuple[Values | None, bool]:
        """The successor of a step, and whether the step breaks the property; Disabled if it is not enabled here."""
        known = self._after.get((state, choice))
        if known is None:
            known = self._after[state, choice] = self._done(state, choice)
        if known[0] is None and not known[1]:
            raise Disabled
        return known

    def _done(self, state: Values, choice: Choice) -> tuple[Values | None, bool]:
        action = self.model.actions[choice[0]]
        instance = action.instances[choice[1]]
        self.window.load(state)
        self.window.writable(action.name)
        try:
            instance(self.window.s)
            after = self.window.changed()
        except OutOfCell:
            return None, self.broken.name == TYPE_OK
        except (Disabled, Exception):
            return None, False
        broken = self.broken.over_steps and bool(self.model.found_on(state, choice, after, [self.number]))
        return after, broken

    def _is_broken_in(self, state: Values) -> bool:
        if self.broken.over_steps or self.broken.name in {TYPE_OK, DEADLOCK}:
            return False
        known = self._breaks.get(state)
        if known is None:
            known = self._breaks[state] = bool(self.model.found_in(state, [self.number]))
        return known

    def _is_dead(self, state: Values) -> bool:
        if self.broken.name != DEADLOCK:
            return False
        expansion = self.model.expand(state)
        return not expansion.steps and not expansion.bounded

    # Other paths that break the property.

    def _reordered(self, path: Path) -> Path:
        """The shortest path made only of this path's steps; this path, if there are too many states."""
        if self.broken.name == DEADLOCK:  # a deadlock depends on all actions, not only on these
            return path
        allowed = sorted(set(path[1]))
        first, done = self._shortest(self.model.replay_choices(allowed), path)
        if len(done) == len(path[1]):
            return path
        instances = {action: [its for one, its in allowed if one == action] for action, _ in allowed}
        return first, [(action, instances[action][at]) for action, at in done]

    def _replaced(self, path: Path) -> Path:
        """The shortest path of all; this one, if there are too many states."""
        return self._shortest(self.model, path)

    def _shortest(self, model: Model, path: Path) -> Path:
        """The shortest path in a model, if the bound suffices to find a shorter one; otherwise this path."""
        numbers = self.model.numbers([TYPE_OK, self.broken.name])
        options = Options(numbers, max_states=self.max_states, max_depth=len(path[1]) + 1)
        if not path[1]:
            return path
        try:
            found = self.engine.explore(
                model, options, lambda statistics: self.tell(statistics.doing)
            ).discoveries.get(self.number)
        except (EvaluationFailed, UsageError):
            return path
        return path if found is None or found.length > len(path[1]) else found.path
