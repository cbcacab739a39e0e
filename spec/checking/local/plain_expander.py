"""Expanding in plain Python: packed states, one after the other, for what decision tables have not learned or cannot
hold.

It gives the same as compiled code, at the rate of the reference engine, and takes no memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from spec.checking.exploration import Coverage, split_properties
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed, Model
from spec.checking.runs.discoveries import PathEnd, Predecessor
from spec.checking.runs.level_discoveries import STEP, LevelDiscoveries, LocatedFailure
from spec.checking.states.packed_state import PackedState
from spec.checking.symmetry.reduction import Symmetry
from spec.language.state import Values


class Successor(NamedTuple):
    """A packed state, and the action that leads to it."""

    state: bytes
    action: int


class PlainFindings(NamedTuple):
    """The discoveries and failures in states that were expanded in plain Python: of properties, and of steps."""

    in_states: LevelDiscoveries
    in_steps: LevelDiscoveries

    @classmethod
    def none(cls) -> PlainFindings:
        """Before anything is found."""
        return cls(LevelDiscoveries(), LevelDiscoveries())


class PlainExpander:
    """Expands packed states of a model, and evaluates properties with these numbers in them. Without symmetry states
    represent themselves.
    """

    def __init__(self, model: Model, properties: Sequence[int], symmetry: Symmetry | None = None):
        self.model, self.symmetry = model, symmetry
        self.in_states, self.in_steps = split_properties(model, properties)
        self.type_ok = model.numbers([TYPE_OK])[0]
        deadlock = model.numbers([DEADLOCK])[0]
        self.deadlock = deadlock if deadlock in properties else None

    def pack(self, state: Values) -> bytes:
        """A state, or its orbit's representative, as bytes that sort in code order."""
        state = self.symmetry.representative(state) if self.symmetry else state
        return PackedState.of_values(self.model.layout, state).bytes

    def unpack(self, packed: bytes) -> Values:
        """The state that was packed."""
        return PackedState.of_bytes(self.model.layout, packed).values

    def explore(
        self, states: Iterable[bytes], decided: Collection[int], found: PlainFindings, *, acting: bool
    ) -> tuple[dict[bytes, int], tuple[Coverage, ...]]:
        """Evaluate properties in some states of a level, except the decided ones, and, if `acting`, take every step
        from them; `found` receives discoveries and failures. Returns the successors, each with the first action that
        leads to it, and the counts of each action.
        """
        in_states = [number for number in self.in_states if number not in decided]
        in_steps = [number for number in self.in_steps if number not in decided]
        coverage = tuple(Coverage() for _ in self.model.actions)
        successors: dict[bytes, int] = {}
        for packed in states:
            if self.symmetry is not None and (acting or in_states):
                self.symmetry.examine([PackedState.of_bytes(self.model.layout, packed).number], counted=acting)
            if in_states:
                self.judge(packed, in_states, found.in_states)
            if acting:
                for after, action in self.expand(packed, in_steps, found.in_steps, coverage):
                    successors[after] = min(action, successors.get(after, action))
        return successors, coverage

    def expand(
        self, packed: bytes, wanted: Sequence[int], found: LevelDiscoveries, coverage: Sequence[Coverage]
    ) -> list[Successor]:
        """Take every step from a state, and return the successors that differ from it. Discoveries in these
        properties of steps go to `found`, or the failure of an evaluation, which has no successors. `coverage`
        counts, by action, its steps and the states in which it is enabled or bounded, but no new states.
        """
        state = self.unpack(packed)
        try:
            steps, bounded = self.model.expand(state, wanted)
        except EvaluationFailed as error:
            found.failures.append(LocatedFailure(packed, STEP, error))
            return []
        for action in {taken.action for taken in steps}:
            coverage[action].enabled += 1
        for action in bounded:
            coverage[action].bounded += 1
        successors = []
        for taken in steps:
            action = taken.action
            coverage[action].taken += 1
            if taken.after is None:
                found.discover(self.type_ok, PathEnd(b"", packed, action, taken.instance))
                continue
            after = self.pack(taken.after)
            for number in taken.found:
                found.discover(number, PathEnd(after, packed, action, taken.instance))
            coverage[action].changing += taken.after != state
            if after != packed:
                successors.append(Successor(after, action))
        if not steps and not bounded and self.deadlock is not None:
            found.discover(self.deadlock, PathEnd(packed))
        return successors

    def judge(self, packed: bytes, wanted: Sequence[int], found: LevelDiscoveries) -> tuple[int, ...]:
        """Evaluate properties of states in a state; returns those that are decided here or fail."""
        state = self.unpack(packed)
        try:
            decided = self.model.found_in(state, wanted)
        except EvaluationFailed:
            return tuple(self._one_by_one(packed, state, wanted, found))
        for number in decided:
            found.discover(number, PathEnd(packed))
        return decided

    def _one_by_one(
        self, packed: bytes, state: Values, wanted: Sequence[int], found: LevelDiscoveries
    ) -> Iterator[int]:
        """One property may fail where another was discovered earlier."""
        for number in wanted:
            try:
                if self.model.found_in(state, [number]):
                    found.discover(number, PathEnd(packed))
                    yield number
            except EvaluationFailed as error:
                found.failures.append(LocatedFailure(packed, number, error))
                yield number

    def predecessors(self, states: Iterable[bytes], targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        """The lowest predecessor among these states, in code order, of each target that is a successor of one."""
        found: dict[bytes, Predecessor] = {}
        for packed in states:
            for taken in self.model.expand(self.unpack(packed)).steps:
                if taken.after is not None and (after := self.pack(taken.after)) in targets:
                    found.setdefault(after, Predecessor(packed, taken.action, taken.instance))
            if len(found) == len(targets):
                break
        return found
