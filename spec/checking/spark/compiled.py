"""Work done at compiled speed: actions and properties are learned as tables, as the local engine has them.

Whoever works learns for himself: what two workers learned apart they know alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from spec.checking.endings import Arrival, Ending
from spec.checking.local import kernels
from spec.checking.local.crew import Crew
from spec.checking.local.engine import SAMPLE, TUNINGS
from spec.checking.local.kernels import Array
from spec.checking.local.recording import FAILED, FOUND
from spec.checking.local.tables import Tables
from spec.checking.local.visited import Visited
from spec.checking.model import EvaluationFailed, Model
from spec.checking.rundir import Words
from spec.checking.spark.exchange import Found
from spec.checking.spark.known import empty, memory
from spec.checking.spark.report import STEP, Failure, Report
from spec.checking.spark.work import Work


class Compiled(Work):
    """A model that is learned while it is explored."""

    def __init__(self, model: Model, properties: Sequence[int]):
        super().__init__(model, properties)
        self.tables = Tables(model, properties)
        self._reached = Visited(self.words, memory())
        """The states that are expanded, and those to which they lead."""
        self._pool = ThreadPoolExecutor(1)
        self._crew = self._crew_over(self._reached)
        self._judges: tuple[Visited, Crew] | None = None
        self._tunings = list(TUNINGS)
        self._expanded = 0

    def _crew_over(self, visited: Visited) -> Crew:
        return Crew(self.tables, visited, 1, self._pool)

    def expand(self, states: Words, decided: Collection[int], report: Report) -> Found:
        """Take every step from these states, see `Work`."""
        crew, reached, notes = self._crew, self._reached, self._crew.workers[0].notes
        empty(reached)
        crew.take_in(states.reshape(-1))
        crew.complete()
        notes.enabled[:] = notes.taken[:] = 0
        live = self.tables.live([*decided, *self.in_states])
        flags = crew.sweep(reached.levels[0], live, _nothing)
        for coverage, enabled, taken in zip(report.coverage, crew.enabled, crew.taken, strict=True):
            coverage.enabled += int(enabled)
            coverage.taken += int(taken)
        self._note_steps(Found(reached.states, reached.marks, reached.levels[0]), flags, decided, report)
        crew.complete()
        self._tune(states)
        return Found(reached.states, reached.marks, reached.levels[1])

    def judge(self, visited: Visited, decided: Collection[int], report: Report) -> None:
        """Look at the newest level, see `Work`."""
        if self._judges is None or self._judges[0] is not visited:
            self._judges = visited, self._crew_over(visited)
        crew, ranges = self._judges[1], visited.levels[-1]
        live = self.tables.live([*decided, *self.in_steps], actions=False)
        if live.any():
            flags = crew.sweep(ranges, live, _nothing)
            self._note_states(Found(visited.states, visited.marks, ranges), flags, report)

    def arrivals(self, states: Words, targets: Collection[bytes]) -> dict[bytes, Arrival]:
        """How some of the targets are reached from these states, see `Work`."""
        ranges = np.array([(0, len(states), 0)], np.int64)
        found = Found(states.reshape(-1), np.zeros(len(states), np.uint64), ranges)
        self._crew.rehearse(*found)
        lowest = {}
        for target in targets:
            arrival = self._sought(found, kernels.TO_STATE, target=target)
            if arrival is not None:
                table = self.tables.all[arrival[2]]
                lowest[target] = Arrival(arrival[1], table.number, table.index)
        return lowest

    def _tune(self, states: Words) -> None:
        """Now and then, let the tables see how they are used."""
        self._expanded += len(states)
        if self._tunings and self._expanded >= self._tunings[0]:
            self._tunings = [more for more in self._tunings if more > self._expanded]
            self.tables.tune(states[:: max(1, len(states) // SAMPLE)])

    # What was met.

    def _note_states(self, found: Found, flags: Array, report: Report) -> None:
        """Properties of states."""
        for number, tables in self._of_properties("state", flags):
            lowest = self._sought(found, kernels.IN_STATE, tables, FOUND)
            failed = self._sought(found, kernels.IN_STATE, tables, FAILED) if 2 in flags[tables] else None
            if lowest is not None:
                report.end(number, Ending(lowest[0]))
            if failed is not None and (lowest is None or failed[0] < lowest[0]):
                report.failures.append(Failure(failed[0], number, self._failure_of_state(number, failed[0])))

    def _note_steps(self, found: Found, flags: Array, decided: Collection[int], report: Report) -> None:
        """Properties of steps, and what comes of actions themselves."""
        actions = self.tables.actions
        of_steps = dict(self._of_properties("step", flags))
        every = [table for tables in of_steps.values() for table in tables]
        if 2 in flags[:actions] or 2 in flags[every]:
            failed = self._sought(found, kernels.FAILS, every, FAILED)
            assert failed is not None
            report.failures.append(Failure(failed[1], STEP, self._failure_of_step(failed[1], failed[2], decided)))
            return
        seek = {number: (kernels.BY_STEP, tables) for number, tables in of_steps.items()}
        if 1 in flags[:actions]:
            seek[self.type_ok] = kernels.OUTSIDE, []
        for number, (what, tables) in seek.items():
            if number not in decided:
                lowest = self._sought(found, what, tables, FOUND)
                assert lowest is not None
                end, before, table = lowest
                step = self.tables.all[table]
                after = b"" if what == kernels.OUTSIDE else end
                report.end(number, Ending(after, before, step.number, step.index))
        if flags[-1] and self.deadlock is not None and self.deadlock not in decided:
            dead = self._sought(found, kernels.DEAD)
            assert dead is not None
            report.end(self.deadlock, Ending(dead[0]))

    def _of_properties(self, kind: str, flags: Array) -> Iterable[tuple[int, list[int]]]:
        """The tables of properties of which some table was flagged."""
        return [(number, tables) for number, tables in self.tables.of_kind(kind).items() if flags[tables].any()]

    def _sought(
        self, found: Found, what: int, tables: Sequence[int] = (), outcome: int = 0, target: bytes = b""
    ) -> tuple[bytes, bytes, int] | None:
        """The lowest of what is sought: end state, state before, table."""
        best = np.zeros(2 * self.words, np.uint64)
        wanted = np.frombuffer(target.rjust(self.width, b"\0"), ">u8").astype(np.uint64)
        number = kernels.seek(
            (0,) * self.words,
            found.states,
            found.ranges,
            self.tables.program(),
            what,
            np.array(tables, np.int64),
            outcome,
            wanted,
            best,
            self._crew.workers[0].scratch,
        )
        if number < 0:
            return None
        packed = best.astype(">u8").tobytes()
        return packed[: self.width], packed[self.width :], int(number)

    def _failure_of_state(self, number: int, packed: bytes) -> EvaluationFailed:
        state = self.model.layout.unpack(int.from_bytes(packed, "big"))
        try:
            self.model.found_in(state, [number])
        except EvaluationFailed as failure:
            return failure
        return self._not_repeated(self.model.properties[number].name, packed)

    def _failure_of_step(self, packed: bytes, table: int, decided: Collection[int]) -> EvaluationFailed:
        state, step = self.model.layout.unpack(int.from_bytes(packed, "big")), self.tables.all[table]
        try:
            self.model.expand(state, [number for number in self.in_steps if number not in decided])
        except EvaluationFailed as failure:
            return failure
        return self._not_repeated(str(self.model.actions[step.number].step(step.index)), packed)

    def _not_repeated(self, what: str, packed: bytes) -> EvaluationFailed:
        """It raised while it was recorded, and does not when it is done again."""
        again = "it is not deterministic: done twice in one state, it raised once and once it did not"
        state = self.model.layout.unpack(int.from_bytes(packed, "big"))
        return EvaluationFailed(what, again, self.model.show(state))


def _nothing() -> None:
    """Nobody watches a part of a level."""
