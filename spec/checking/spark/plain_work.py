"""Work state by state, in plain Python: for models that are too large to be learned as tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain

import numpy as np

from spec.checking.local.arrays import MarkedRanges
from spec.checking.local.visited import Visited
from spec.checking.machine.memory import OutOfMemory
from spec.checking.model import EvaluationFailed, Model
from spec.checking.runs.discoveries import PathEnd, Predecessor
from spec.checking.runs.level_discoveries import STEP, LocatedFailure
from spec.checking.spark.allotment import MemoryQuota
from spec.checking.spark.report import Report
from spec.checking.spark.work import Work
from spec.checking.states.packed import Words, bytes_of, words_of
from spec.checking.symmetry.reduction import COMPARED, Symmetry
from spec.checking.symmetry.renamings import ComparisonCounts

OFTEN = 64
"""States between two checks of the remaining memory."""


class PlainWork(Work):
    """A model that runs as it is written.

    Args:
        quota: of memory, for this whole process.
    """

    is_plain = True

    def __init__(self, model: Model, properties: Sequence[int], symmetry: Symmetry | None, quota: MemoryQuota):
        super().__init__(model, properties, symmetry)
        self._quota = quota

    def expand(self, states: Words, decided: Collection[int], report: Report) -> MarkedRanges:
        """Take every step from these states, see `Work`."""
        wanted = [number for number in self.in_steps if number not in decided]
        whole, report = report, Report.on_nothing(self.model)
        reached: dict[bytes, int] = {}
        for done, packed in enumerate(sorted(bytes_of(states))):
            if done % OFTEN == 0 and self._quota.left < 0:
                raise OutOfMemory
            state = self.unpack(packed)
            try:
                steps, closed = self.model.expand(state, wanted)
            except EvaluationFailed as error:
                report.failures.append(LocatedFailure(packed, STEP, error))
                break
            for action in {taken.action for taken in steps}:
                report.coverage[action].enabled += 1
            for taken in steps:
                action = taken.action
                report.coverage[action].taken += 1
                if taken.after is None:
                    report.discover(self.type_ok, PathEnd(b"", packed, action, taken.instance))
                    continue
                report.coverage[action].changing += taken.after != state
                after = self.pack(taken.after)
                for number in taken.found:
                    report.discover(number, PathEnd(after, packed, action, taken.instance))
                if after != packed:
                    reached[after] = min(action, reached.get(after, action))
            if not steps and not closed and self.deadlock is not None:
                report.discover(self.deadlock, PathEnd(packed))
        whole.add(report)
        return MarkedRanges.of(words_of(reached, self.width), np.array(list(reached.values()), np.uint64))

    def judge(self, visited: Visited, decided: Collection[int], report: Report) -> None:
        """Evaluate properties in the newest level until all are decided, see `Work`."""
        wanted = [number for number in self.in_states if number not in decided]
        for packed in sorted(bytes_of(visited.level(len(visited.levels)))):
            if not wanted:
                return
            try:
                found = self.model.found_in(self.unpack(packed), wanted)
            except EvaluationFailed:
                found = tuple(self._judge_one_by_one(packed, wanted, report))
                wanted = [number for number in wanted if number not in found]
                continue
            for number in found:
                report.discover(number, PathEnd(packed))
                wanted.remove(number)

    def _judge_one_by_one(self, packed: bytes, wanted: Sequence[int], report: Report) -> Iterator[int]:
        """The properties that are decided here or fail: one may fail where another was discovered earlier."""
        state = self.unpack(packed)
        for number in wanted:
            try:
                if self.model.found_in(state, [number]):
                    report.discover(number, PathEnd(packed))
                    yield number
            except EvaluationFailed as error:
                report.failures.append(LocatedFailure(packed, number, error))
                yield number

    def compare(self, parts: Sequence[Words], before: int, share: float) -> ComparisonCounts:
        """Compare the states, until enough states have been compared, see `Work`."""
        if self.symmetry is None:
            return ComparisonCounts()
        room = int(max(0, COMPARED - before) * share)
        few = sorted(chain.from_iterable(map(bytes_of, parts)))[:room]
        for packed in few:
            self.symmetry.examine_state(self.unpack(packed))
        return self.by_permutations.besides(ComparisonCounts(len(few)))

    def predecessors(self, states: Words, targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        """The lowest predecessors of the targets among these states, see `Work`."""
        found: dict[bytes, Predecessor] = {}
        for packed in sorted(bytes_of(states)):
            for taken in self.model.expand(self.unpack(packed)).steps:
                if taken.after is None:
                    continue
                after = self.pack(taken.after)
                if after in targets:
                    found.setdefault(after, Predecessor(packed, taken.action, taken.instance))
            if len(found) == len(targets):
                break
        return found
