"""Seeking: what a sweep met somewhere in a level is sought in it, and of all places the lowest is told.

A sweep only leaves a flag on the table that had something to tell. That is rare, so it costs nothing to go through
the level once more, in which nothing is unknown any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spec.checking.endings import Arrival, Ending
from spec.checking.local import kernels
from spec.checking.local.kernels import Array, Lot, Scratch
from spec.checking.local.recording import FAILED, FOUND
from spec.checking.local.tables import Tables
from spec.checking.met import STEP, Failure, Met
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed
from spec.language.state import Values


class Hit(NamedTuple):
    """The lowest place of something: where a step leads, or a state; whence, and the table of the step."""

    end: bytes
    before: bytes
    table: int


class Seeker:
    """Knows from tables what there is to be met, and finds it again.

    Args:
        scratch: room to work in, for nobody else meanwhile.
    """

    def __init__(self, tables: Tables, scratch: Scratch):
        self.tables, self.model, self.scratch = tables, tables.model, scratch
        self.words = tables.words
        self.type_ok, self.deadlock = (self.model.numbers([name])[0] for name in (TYPE_OK, DEADLOCK))

    def in_states(self, lot: Lot, flags: Array, met: Met) -> None:
        """Properties of states, in states that were judged."""
        for number, tables in self._flagged("state", flags):
            found = self._lowest(lot, kernels.IN_STATE, tables, FOUND)
            failed = self._lowest(lot, kernels.IN_STATE, tables, FAILED) if 2 in flags[tables] else None
            if found is not None:
                met.end(number, Ending(found.end))
            if failed is not None and (found is None or failed.end < found.end):
                met.failures.append(Failure(failed.end, number, self._failure_in_state(failed.end, number)))

    def in_steps(self, lot: Lot, flags: Array, decided: Collection[int], met: Met) -> None:
        """Properties of steps, and what comes of actions themselves, in states that were expanded."""
        actions = self.tables.actions
        steps = dict(self._flagged("step", flags))
        every = [table for tables in steps.values() for table in tables]
        if 2 in flags[:actions] or 2 in flags[every]:
            failed = self._known(lot, kernels.FAILS, every, FAILED)
            met.failures.append(Failure(failed.before, STEP, self._failure_in_steps(failed, decided)))
            return
        sought = {number: (kernels.BY_STEP, tables) for number, tables in steps.items()}
        if 1 in flags[:actions]:
            sought[self.type_ok] = kernels.OUTSIDE, []
        for number, (what, tables) in sought.items():
            if number not in decided:
                found = self._known(lot, what, tables, FOUND)
                step = self.tables.all[found.table]
                after = b"" if what == kernels.OUTSIDE else found.end
                met.end(number, Ending(after, found.before, step.number, step.index))
        if flags[-1] and self.tables.seeks_deadlocks and self.deadlock not in decided:
            met.end(self.deadlock, Ending(self._known(lot, kernels.DEAD).end))

    def arrival(self, lot: Lot, target: bytes) -> Arrival | None:
        """The lowest way in which a state is reached from these ones."""
        found = self._lowest(lot, kernels.TO_STATE, target=target)
        if found is None:
            return None
        step = self.tables.all[found.table]
        return Arrival(found.before, step.number, step.index)

    def _flagged(self, kind: str, flags: Array) -> Iterable[tuple[int, list[int]]]:
        """The tables of properties of which some table was flagged."""
        return [(number, tables) for number, tables in self.tables.of_kind(kind).items() if flags[tables].any()]

    def _known(self, lot: Lot, what: int, tables: Sequence[int] = (), outcome: int = 0) -> Hit:
        found = self._lowest(lot, what, tables, outcome)
        assert found is not None, "what was flagged is there"
        return found

    def _lowest(
        self, lot: Lot, what: int, tables: Sequence[int] = (), outcome: int = 0, target: bytes = b""
    ) -> Hit | None:
        width = 8 * self.words
        best = np.zeros(2 * self.words, np.uint64)
        wanted = np.frombuffer(target.rjust(width, b"\0"), ">u8").astype(np.uint64)
        table = kernels.seek(
            (0,) * self.words,
            lot.states,
            lot.ranges,
            self.tables.program(),
            what,
            np.array(tables, np.int64),
            outcome,
            wanted,
            best,
            self.scratch,
        )
        packed = best.astype(">u8").tobytes()
        return None if table < 0 else Hit(packed[:width], packed[width:], int(table))

    # Failures.

    def _failure_in_state(self, packed: bytes, number: int) -> EvaluationFailed:
        state = self._unpacked(packed)
        try:
            self.model.found_in(state, [number])
        except EvaluationFailed as failure:
            return failure
        return self._not_repeated(self.model.properties[number].name, state)

    def _failure_in_steps(self, failed: Hit, decided: Collection[int]) -> EvaluationFailed:
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
        return self.model.layout.unpack(int.from_bytes(packed, "big"))
