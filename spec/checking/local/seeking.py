"""Seeking: what a sweep discovered somewhere in a level is sought in it, and the lowest of all places is told.

A sweep only leaves a flag on the table that has something to tell. That is rare, so it costs nothing to go through
the level once more. Predecessors of a state are sought in the same way.

A search goes by the states of a level and by the tables, and by nothing else: neither by what a sweep knew of these
states, nor by which engine expanded them. What the tables do not know is learned on the way. So it does not matter
whether the level was expanded here, before an interruption, or by another engine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spec.checking.discoveries import PathEnd, Predecessor
from spec.checking.level_discoveries import STEP, LevelDiscoveries, LocatedFailure
from spec.checking.local import kernels
from spec.checking.local.jit import Array
from spec.checking.local.kernels import Cursor, Scratch, StateRanges
from spec.checking.local.outcomes import FAILED, FOUND
from spec.checking.local.shape import shape_of
from spec.checking.local.tables import DecisionTables
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed
from spec.checking.packed import bytes_of, words_of
from spec.checking.packed_state import BYTES, PackedState
from spec.language.state import Values

PATIENCE = 64
"""Unknown paths that are learned together; the more, the more of them are the same."""


class Match(NamedTuple):
    """The lowest match of a search: where a step leads, or a state; from where, and the table of the step."""

    end: bytes
    before: bytes
    table: int


class Seeker:
    """Knows from tables what there is to be met, and finds it again.

    Args:
        scratch: room to work in, which nothing else uses meanwhile.
    """

    def __init__(self, tables: DecisionTables, scratch: Scratch):
        self.tables, self.model, self.scratch = tables, tables.model, scratch
        self.words = tables.words
        self._missing = np.zeros(PATIENCE * (2 * tables.words + 2), np.uint64)
        self.type_ok, self.deadlock = (self.model.numbers([name])[0] for name in (TYPE_OK, DEADLOCK))

    def load(self) -> None:
        """Have the compiled code there, before the clock runs."""
        self.predecessors(StateRanges.of(np.zeros((0, self.words), np.uint64)), [])

    def in_states(self, where: StateRanges, flags: Array, discoveries: LevelDiscoveries) -> None:
        """Properties of states, in states that were judged."""
        for number, tables in self._flagged("state", flags):
            found = self._lowest(where, kernels.IN_STATE, tables, FOUND)
            raised = kernels.RAISED in flags[tables]
            failed = self._lowest(where, kernels.IN_STATE, tables, FAILED) if raised else None
            if found is not None:
                discoveries.discover(number, PathEnd(found.end))
            if failed is not None and (found is None or failed.end < found.end):
                discoveries.failures.append(
                    LocatedFailure(failed.end, number, self._failure_in_state(failed.end, number))
                )

    def in_steps(
        self, where: StateRanges, flags: Array, decided: Collection[int], discoveries: LevelDiscoveries
    ) -> None:
        """Properties of steps, and what comes of actions themselves, in states that were expanded."""
        actions = self.tables.actions
        steps = dict(self._flagged("step", flags))
        every = [table for tables in steps.values() for table in tables]
        if kernels.RAISED in flags[:actions] or kernels.RAISED in flags[every]:
            failed = self._known(where, kernels.FAILS, every, FAILED)
            discoveries.failures.append(LocatedFailure(failed.before, STEP, self._failure_in_steps(failed, decided)))
            return
        sought = {number: (kernels.BY_STEP, tables) for number, tables in steps.items()}
        if kernels.MET in flags[:actions]:
            sought[self.type_ok] = kernels.OUTSIDE, []
        for number, (what, tables) in sought.items():
            if number not in decided:
                found = self._known(where, what, tables, FOUND)
                step = self.tables.all[found.table]
                after = b"" if what == kernels.OUTSIDE else found.end
                discoveries.discover(number, PathEnd(after, found.before, step.number, step.index))
        if flags[-1] and self.tables.seeks_deadlocks and self.deadlock not in decided:
            discoveries.discover(self.deadlock, PathEnd(self._known(where, kernels.DEAD).end))

    def predecessors(self, where: StateRanges, targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        """The lowest predecessor of each of these states among those of a level, if it has one there."""
        found = self._sought(where, kernels.TO_STATE, targets=sorted(targets))
        steps = ((match, self.tables.all[match.table]) for match in found)
        return {match.end: Predecessor(match.before, step.number, step.index) for match, step in steps}

    def _flagged(self, kind: str, flags: Array) -> Iterable[tuple[int, list[int]]]:
        """The tables of properties of which some table was flagged."""
        return [(number, tables) for number, tables in self.tables.of_kind(kind).items() if flags[tables].any()]

    def _known(self, where: StateRanges, what: int, tables: Sequence[int] = (), outcome: int = 0) -> Match:
        found = self._lowest(where, what, tables, outcome)
        assert found is not None, "what was flagged is there"
        return found

    def _lowest(self, where: StateRanges, what: int, tables: Sequence[int] = (), outcome: int = 0) -> Match | None:
        return next(iter(self._sought(where, what, tables, outcome)), None)

    def _sought(
        self,
        where: StateRanges,
        what: int,
        tables: Sequence[int] = (),
        outcome: int = 0,
        targets: Sequence[bytes] = (),
    ) -> list[Match]:
        """The lowest of what is sought; of steps to targets, for each that is reached."""
        wanted = words_of(targets, BYTES * self.words).reshape(-1)
        found = np.full(max(1, len(targets)), -1, np.int64)
        best = np.zeros((len(found), 2 * self.words), np.uint64)
        cursor = np.zeros(len(Cursor), np.int64)
        while cursor[Cursor.RANGE] < len(where.ranges):
            missing = kernels.seek(
                shape_of(self.words),
                where.words,
                where.ranges,
                cursor,
                self.tables.program(),
                what,
                np.array(tables, np.int64),
                outcome,
                wanted,
                found,
                best.reshape(-1),
                self._missing,
                self.scratch,
            )
            for row in self._missing.reshape(-1, 2 * self.words + 2)[:missing].tolist():
                self.tables.learn(row[0], row[1:])
        ends, befores = bytes_of(best[:, : self.words]), bytes_of(best[:, self.words :])
        return [Match(*each) for each in zip(ends, befores, found.tolist(), strict=True) if each[-1] >= 0]

    # Failures.

    def _failure_in_state(self, packed: bytes, number: int) -> EvaluationFailed:
        state = self._unpacked(packed)
        try:
            self.model.found_in(state, [number])
        except EvaluationFailed as failure:
            return failure
        return self._not_repeated(self.model.properties[number].name, state)

    def _failure_in_steps(self, failed: Match, decided: Collection[int]) -> EvaluationFailed:
        state, step = self._unpacked(failed.before), self.tables.all[failed.table]
        try:
            self.model.expand(state, [number for number in self.tables.of_kind("step") if number not in decided])
        except EvaluationFailed as failure:
            return failure
        return self._not_repeated(str(self.model.actions[step.number].step(step.index)), state)

    def _not_repeated(self, what: str, state: Values) -> EvaluationFailed:
        """It raised while it was recorded, and does not when it is done again."""
        again = "it is not deterministic: done twice in one state, it raised once and once it did not"
        return EvaluationFailed(what, again, self.model.show(state))

    def _unpacked(self, packed: bytes) -> Values:
        return PackedState.of_bytes(self.model.layout, packed).values
