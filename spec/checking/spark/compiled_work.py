"""Work at compiled speed: actions and properties are learned as tables, as in the local engine.

Each worker learns by itself; tables that two workers learned separately give the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

from spec.checking.local.arrays import MarkedRanges, StateRanges
from spec.checking.local.engine import SAMPLE, TUNINGS
from spec.checking.local.rows import size_of
from spec.checking.local.seeking import Seeker
from spec.checking.local.tables import DecisionTables
from spec.checking.local.visited import Visited
from spec.checking.local.worker_pool import WorkerPool
from spec.checking.machine.memory import OutOfMemory
from spec.checking.model import Model
from spec.checking.runs.discoveries import Predecessor
from spec.checking.spark.allotment import MemoryQuota
from spec.checking.spark.report import Report
from spec.checking.spark.work import Work
from spec.checking.states.packed import Words
from spec.checking.symmetry.reduction import Symmetry


class CompiledWork(Work):
    """A model that is learned while it is explored.

    Args:
        quota: of memory, for this whole process.
    """

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
        """Take every step from these states, see `Work`."""
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
        self._tune(states)
        return reached.newest()

    def release(self) -> None:
        """Free the memory of the last expansion, see `Work`."""
        self._reached.empty()

    def judge(self, visited: Visited, decided: Collection[int], report: Report) -> None:
        """Evaluate properties in the newest level, see `Work`."""
        if self._judges is None or self._judges[0] is not visited:
            self._judges = visited, self._pool_over(visited)
        pool, newest = self._judges[1], visited.newest().unmarked
        if not set(self.in_states) <= set(decided):
            flags = pool.sweep([*decided, *self.in_steps], _nothing, acting=False)
            report.merge(pool.found.in_states)
            self._seeker.in_states(newest, flags, report)

    def predecessors(self, states: Words, targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        """The lowest predecessors of the targets among these states, see `Work`."""
        return self._seeker.predecessors(StateRanges.of(states), targets)

    def _tune(self, states: Words) -> None:
        """Now and then, tune the tables to the states on which they are used."""
        self._expanded += len(states)
        if self._tunings and self._expanded >= self._tunings[0]:
            self._tunings = [more for more in self._tunings if more > self._expanded]
            self.tables.tune(states[:: max(1, len(states) // SAMPLE)])


def _spare(quota: MemoryQuota, words: int) -> Callable[[int], int]:
    """Bytes that may still be taken, if a level has so many states, which must be written and sent."""
    return lambda states: quota.left - (8 * words + 6) * states


def _nothing() -> None:
    """Progress within a part of a level is not reported."""
