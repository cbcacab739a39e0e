"""Work: expand states and evaluate properties. It knows neither Spark nor files.

The driver does it for small levels, and Spark's workers for shares of large ones, with the same result: a `Report` on
a part of a level. The report on the whole level is the sum of those on its parts. It does not matter which worker did
which part: counts add up, and discoveries merge (`LevelDiscoveries`).

Work is done at compiled speed: actions and properties are learned as tables, as in the local engine. Each worker
learns by itself; tables that two workers learned separately give the same results. A model that is too large to be
learned as tables is worked on state by state, in plain Python.
"""

# ruff: noqa: D102  (Work documents the methods)

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spec.checking.exploration import Coverage, split_properties
from spec.checking.local.arrays import MarkedRanges, StateRanges
from spec.checking.local.engine import SAMPLE, TUNINGS
from spec.checking.local.plain_expander import PlainExpander
from spec.checking.local.rows import size_of
from spec.checking.local.seeking import Seeker
from spec.checking.local.tables import DecisionTables
from spec.checking.local.visited import Visited
from spec.checking.local.worker_pool import WorkerPool
from spec.checking.machine.memory import OutOfMemory
from spec.checking.model import DEADLOCK, Model
from spec.checking.runs.discoveries import Predecessor
from spec.checking.runs.level_discoveries import LevelDiscoveries
from spec.checking.runs.rundir import LevelFile
from spec.checking.spark.allotment import MemoryQuota
from spec.checking.states.packed import ManyStates, Words, bytes_of, words_of
from spec.checking.states.packed_state import PackedState
from spec.checking.symmetry.reduction import ALWAYS, Symmetry
from spec.checking.symmetry.renamings import ComparisonCounts
from spec.language.state import Values

# Reports.


PRINTED = 10_000
"""The most characters of printed output that a report keeps; the rest is dropped."""


@dataclass
class Report(LevelDiscoveries):
    """The results for a part of a level: its expansion, and the new states found by it."""

    coverage: tuple[Coverage, ...] = ()
    files: list[LevelFile] = field(default_factory=list)
    """The files with the new states."""
    out_of_memory: bool = False
    """Whether memory ended the work on this part."""
    hidden_state: str = ""
    """A changed value that actions and properties read besides the state; empty if none has changed."""
    sample: list[bytes] = field(default_factory=list)
    """Some of the new states, if orbits are explored: they are compared one by one, besides the learned paths."""
    compared: ComparisonCounts = field(default_factory=ComparisonCounts)
    """The comparisons, if orbits are explored."""
    refused: str = ""
    """The error if interchangeable values are distinguished; empty if they are not."""
    opaque_rules: set[str] = field(default_factory=set)
    """Actions and properties that gave other results on lazy values than on plain ones. If there are any, the rest of
    the report is void."""
    printed: str = ""
    """The output that actions and properties printed."""
    interned: dict[str, list[Any]] = field(default_factory=dict)
    """The interned values that first occur in the new states, as JSON."""
    workers: set[str] = field(default_factory=set)
    """Worker processes that took part; none if the driver did it all."""

    @classmethod
    def on_nothing(cls, model: Model) -> Report:
        """The empty report, to which others are added."""
        return cls(coverage=tuple(Coverage() for _ in model.actions))

    @contextmanager
    def printing(self) -> Iterator[None]:
        """While this is open, capture printed output: nobody sees a worker's stdout."""
        with redirect_stdout(io.StringIO()) as printed:
            yield
        self.printed += printed.getvalue()[:PRINTED]

    def add(self, other: Report) -> None:
        """Add the report on another part."""
        self.merge(other)
        for mine, its in zip(self.coverage, other.coverage, strict=True):
            mine.enabled += its.enabled
            mine.taken += its.taken
            mine.new_states += its.new_states
            mine.changing += its.changing
            mine.bounded += its.bounded
        self.files += other.files
        for cell, values in other.interned.items():
            self.interned.setdefault(cell, []).extend(values)
        self.sample += other.sample
        self.compared = self.compared.besides(other.compared)
        self.refused = min(filter(None, (self.refused, other.refused)), default="")
        self.printed += other.printed
        self.out_of_memory |= other.out_of_memory
        self.hidden_state = self.hidden_state or other.hidden_state
        self.workers |= other.workers
        self.opaque_rules |= other.opaque_rules

    @property
    def generated(self) -> int:
        """The number of successors found."""
        return sum(each.taken for each in self.coverage)


# Work.


class Work(ABC):
    """Expands packed states of a model, and evaluates properties in them. Without symmetry states represent
    themselves.
    """

    is_plain = False
    """Whether it runs state by state, and learns no paths."""

    def __init__(self, model: Model, properties: Sequence[int], symmetry: Symmetry | None = None):
        self.model, self.properties, self.symmetry = model, tuple(properties), symmetry
        self.words = model.layout.words
        self.deadlock = model.numbers([DEADLOCK])[0]
        self.in_states, self.in_steps = split_properties(model, properties)

    @property
    def width(self) -> int:
        """Bytes of a packed state."""
        return 8 * self.words

    def initial_states(self) -> list[bytes]:
        """The initial states, packed."""
        return [self.pack(state) for state in self.model.first_states()]

    def pack(self, state: Values) -> bytes:
        """A state, or its orbit's representative, as bytes that sort in code order."""
        state = self.symmetry.representative(state) if self.symmetry else state
        return PackedState.of_values(self.model.layout, state).bytes

    @abstractmethod
    def expand(self, states: Words, decided: Collection[int], report: Report) -> MarkedRanges:
        """Take every step from these states, and return the successors; they are valid until the next call.
        OutOfMemory if there are too many states; fewer might fit.

        Each successor has the action declared first that leads to it. Successors that are among the states themselves
        may be left out: they are not new. After a failure the successors do not matter.
        """

    def release(self) -> None:  # noqa: B027 - there may be nothing to free
        """Free the memory of the last expansion."""

    @abstractmethod
    def judge(self, visited: Visited, decided: Collection[int], report: Report) -> None:
        """Evaluate properties in the newest level, which is complete."""

    def compare(self, parts: Sequence[ManyStates], before: int, share: float) -> None:  # noqa: B027 - most learn paths
        """Compare new states one by one, as `Symmetry.examine` does, if the work learns no paths; so many were
        compared before. `share` is the fraction of the states compared in any case that is for these. UsageError if
        values are distinguished.
        """

    def comparisons(self) -> ComparisonCounts:
        """The comparisons since this was last asked."""
        return self.symmetry.renamings.news() if self.symmetry else ComparisonCounts()

    @abstractmethod
    def predecessors(self, states: Words, targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        """The lowest predecessor among these states of each target that is a successor of one."""


# At compiled speed.


class CompiledWork(Work):
    """A model that is learned while it is explored; the quota of memory is for this whole process."""

    def __init__(self, model: Model, properties: Sequence[int], symmetry: Symmetry | None, quota: MemoryQuota):
        super().__init__(model, properties, symmetry)
        self._quota = quota
        self.tables = DecisionTables(model, properties, symmetry)
        self._reached = Visited(size_of(model.layout), quota.size, _spare(quota, self.words))
        """The expanded states, and their successors."""
        self._threads = ThreadPoolExecutor(1)
        self._pool = self._pool_over(self._reached)
        self._seeker = Seeker(self.tables, self._pool.budget, [self._pool.workers[0].scratch])
        self._judges: tuple[Visited, WorkerPool] | None = None
        self._tunings = list(TUNINGS)
        self._expanded = 0

    def _pool_over(self, visited: Visited) -> WorkerPool:
        return WorkerPool(self.tables, visited, 1, self._threads, self._quota.size)

    def expand(self, states: Words, decided: Collection[int], report: Report) -> MarkedRanges:
        pool, reached, output = self._pool, self._reached, self._pool.workers[0].output
        self.release()
        try:
            pool.take_in(states.reshape(-1))
            pool.complete()
            output.enabled[:] = output.taken[:] = output.unchanging[:] = output.bounded[:] = 0
            flags = pool.sweep([*decided, *self.in_states], _nothing)
        except OutOfMemory:
            pool.start_over()
            self.release()
            raise
        counts = zip(pool.enabled, pool.taken, pool.changing, pool.bounded, strict=True)
        for coverage, (enabled, taken, changing, bounded) in zip(report.coverage, counts, strict=True):
            coverage.enabled += int(enabled)
            coverage.taken += int(taken)
            coverage.changing += int(changing)
            coverage.bounded += int(bounded)
        report.merge(pool.found.in_steps)
        self._seeker.in_steps(reached.ranges_of(1), flags, decided, report)
        pool.complete()
        self._expanded += len(states)  # now and then, tune the tables to the states on which they are used
        if self._tunings and self._expanded >= self._tunings[0]:
            self._tunings = [more for more in self._tunings if more > self._expanded]
            self.tables.tune(states[:: max(1, len(states) // SAMPLE)])
        return reached.newest()

    def release(self) -> None:
        self._reached.empty()

    def judge(self, visited: Visited, decided: Collection[int], report: Report) -> None:
        if self._judges is None or self._judges[0] is not visited:
            self._judges = visited, self._pool_over(visited)
        pool, newest = self._judges[1], visited.newest().unmarked
        if not set(self.in_states) <= set(decided):
            flags = pool.sweep([*decided, *self.in_steps], _nothing, acting=False)
            report.merge(pool.found.in_states)
            self._seeker.in_states(newest, flags, report)

    def predecessors(self, states: Words, targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        return self._seeker.predecessors(StateRanges.of(states), targets)


def _spare(quota: MemoryQuota, words: int) -> Callable[[int], int]:
    """Bytes that may still be taken, if a level has so many states, which must be written and sent."""
    return lambda states: quota.left - (8 * words + 6) * states


def _nothing() -> None:
    """Progress within a part of a level is not reported."""


# In plain Python.


OFTEN = 64
"""States between two checks of the remaining memory."""


class PlainWork(Work):
    """A model that runs as it is written; the quota of memory is for this whole process."""

    is_plain = True

    def __init__(self, model: Model, properties: Sequence[int], symmetry: Symmetry | None, quota: MemoryQuota):
        super().__init__(model, properties, symmetry)
        self._quota, self._expander = quota, PlainExpander(model, properties, symmetry)

    def expand(self, states: Words, decided: Collection[int], report: Report) -> MarkedRanges:
        wanted = [number for number in self.in_steps if number not in decided]
        whole, report = report, Report.on_nothing(self.model)
        reached: dict[bytes, int] = {}
        for done, packed in enumerate(sorted(bytes_of(states))):
            if done % OFTEN == 0 and self._quota.left < 0:
                raise OutOfMemory
            for after, action in self._expander.expand(packed, wanted, report, report.coverage):
                reached[after] = min(action, reached.get(after, action))
            if report.failures:
                break
        whole.add(report)
        return MarkedRanges.of(words_of(reached, self.width), np.array(list(reached.values()), np.uint64))

    def judge(self, visited: Visited, decided: Collection[int], report: Report) -> None:
        wanted = [number for number in self.in_states if number not in decided]
        for packed in sorted(bytes_of(visited.level(len(visited.levels)))):
            if not wanted:
                return
            found = self._expander.judge(packed, wanted, report)
            wanted = [number for number in wanted if number not in found]

    def compare(self, parts: Sequence[ManyStates], before: int, share: float) -> None:
        if self.symmetry is not None:
            states = sorted(int.from_bytes(each, "big") for part in parts for each in bytes_of(part[:]))
            self.symmetry.examine(states, int(max(0, ALWAYS - before) * share))

    def predecessors(self, states: Words, targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        return self._expander.predecessors(sorted(bytes_of(states)), targets)
