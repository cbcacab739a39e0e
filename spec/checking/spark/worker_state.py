"""The state that a worker, or the driver, keeps between levels: what it learned, and the visited states."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spec.checking.exploration import OnProgress
from spec.checking.local.jit import Array
from spec.checking.local.rows import size_of
from spec.checking.machine.memory import OutOfMemory
from spec.checking.model import Model
from spec.checking.runs.interned_values import InternedValues, OccurringValues, written
from spec.checking.runs.rundir import RunDirectory
from spec.checking.spark.allotment import MemoryQuota
from spec.checking.spark.exchange import ByBucket, by_bucket
from spec.checking.spark.visited_buckets import VisitedBuckets
from spec.checking.spark.work import CompiledWork, PlainWork, Report, Work
from spec.checking.states.limits import too_large
from spec.checking.states.packed import Words, sample_of
from spec.checking.symmetry.reduction import Symmetry
from spec.checking.symmetry.renamings import SPOT_CHECKS

FEWEST = 256
"""The fewest states that are expanded at once."""


class BucketRange(NamedTuple):
    """A range of states in the file of a bucket."""

    bucket: int
    start: int
    stop: int


class WorkerState:
    """The run, the work on its states, and its visited states."""

    def __init__(self, directory: RunDirectory, work: Work, quota: MemoryQuota):
        self.directory, self.work = directory, work
        self.visited_buckets = VisitedBuckets(directory, quota, size_of(work.model.layout))

    def states(self, level: int, ranges: Iterable[BucketRange]) -> Words:
        """The states in some ranges of a committed level."""
        parts = [self.directory.read_array(level, *each) for each in ranges]
        return np.concatenate(parts) if parts else np.empty((0, self.work.words), np.uint64)

    def expand(self, states: Words, decided: Collection[int], report: Report, buckets: int) -> Iterator[ByBucket]:
        """The successors of some states, ordered by bucket: all at once or, if memory is too small, in parts;
        OutOfMemory if not even those of a few states fit.
        """
        waiting = [states]
        while waiting:
            part = waiting.pop()
            try:
                found = self.work.expand(part, decided, report)
            except OutOfMemory:
                if len(part) < 2 * FEWEST:
                    raise
                waiting += reversed(np.array_split(part, 2))
                continue
            moved = by_bucket(found, self.work.words, buckets)
            self.work.release()
            yield moved
        report.compared = report.compared.besides(self.work.comparisons())

    def settle(
        self,
        blocks: Iterable[tuple[Array, Array]],
        buckets: Sequence[int],
        level: int,
        decided: Collection[int],
        report: Report,
        interned: InternedValues,
        compared: int = 0,
    ) -> None:
        """Evaluate properties in the new states among the successors of a level, and write them to attempts.

        The successors come in blocks, each with the lowest action that leads to it, and belong to these buckets.
        `interned` are the values that occur in earlier levels. `compared` states were compared one by one before
        (`Symmetry.examine`). OutOfMemory if the new states do not fit.
        """
        new_states = np.zeros(len(self.work.model.actions), np.int64)
        visited_buckets = self.visited_buckets
        visited_buckets.up_to(level, buckets)
        visited_buckets.settle(blocks, new_states)
        self.work.judge(visited_buckets.visited, decided, report)
        if level:  # no action leads to an initial state
            for coverage, new in zip(report.coverage, new_states, strict=True):
                coverage.new_states += int(new)
        parts = visited_buckets.visited.parts(1)
        occurring = OccurringValues(self.work.model.layout)
        occurring.add(interned)
        occurring.in_arrays(parts)
        report.interned = {cell: [*values] for cell, values in written(occurring.levels[-1]).items()}
        self.work.compare(parts, compared, len(buckets) / self.directory.buckets)
        report.compared = report.compared.besides(self.work.comparisons())
        if self.work.symmetry and not self.work.is_plain:
            report.sample += sample_of(parts, SPOT_CHECKS)
        files = self.directory.write_parts(level + 1, parts, at_once=1)
        visited_buckets.settled(level + 1, buckets, files)
        report.files += files

    def newest(self) -> Words | None:
        """The states that were settled last; None if memory does not hold them."""
        return None if self.visited_buckets.beyond else self.visited_buckets.visited.level(1)


def work_on(
    model: Model,
    properties: Sequence[int],
    quota: MemoryQuota,
    *,
    by_orbits: bool = False,
    on_progress: OnProgress | None = None,
) -> Work:
    """The work on a model: at compiled speed, unless the model is too large for tables."""
    symmetry = Symmetry(model, properties, on_progress) if by_orbits else None
    return (PlainWork if too_large(model) else CompiledWork)(model, properties, symmetry, quota)
