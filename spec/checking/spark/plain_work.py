"""Work state by state, in plain Python: for models that are too large to be learned as tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from spec.checking.local.arrays import MarkedRanges
from spec.checking.local.plain_expander import PlainExpander
from spec.checking.local.visited import Visited
from spec.checking.machine.memory import OutOfMemory
from spec.checking.model import Model
from spec.checking.runs.discoveries import Predecessor
from spec.checking.spark.allotment import MemoryQuota
from spec.checking.spark.report import Report
from spec.checking.spark.work import Work
from spec.checking.states.packed import ManyStates, Words, bytes_of, words_of
from spec.checking.symmetry.reduction import ALWAYS, Symmetry

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
        self._quota, self._expander = quota, PlainExpander(model, properties, symmetry)

    def expand(self, states: Words, decided: Collection[int], report: Report) -> MarkedRanges:
        """Take every step from these states, see `Work`."""
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
        """Evaluate properties in the newest level until all are decided, see `Work`."""
        wanted = [number for number in self.in_states if number not in decided]
        for packed in sorted(bytes_of(visited.level(len(visited.levels)))):
            if not wanted:
                return
            found = self._expander.judge(packed, wanted, report)
            wanted = [number for number in wanted if number not in found]

    def compare(self, parts: Sequence[ManyStates], before: int, share: float) -> None:
        """Compare some of the states, see `Work`."""
        if self.symmetry is not None:
            states = sorted(int.from_bytes(each, "big") for part in parts for each in bytes_of(part[:]))
            self.symmetry.examine(states, int(max(0, ALWAYS - before) * share))

    def predecessors(self, states: Words, targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        """The lowest predecessors of the targets among these states, see `Work`."""
        return self._expander.predecessors(sorted(bytes_of(states)), targets)
