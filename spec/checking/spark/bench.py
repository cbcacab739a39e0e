"""The bench: what somebody who explores keeps from level to level, be it the driver or a worker."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spec.checking.exploration import OnProgress
from spec.checking.limits import too_large
from spec.checking.local.jit import Array
from spec.checking.memory import OutOfMemory
from spec.checking.model import Model
from spec.checking.packed import Words, sample_of
from spec.checking.rundir import RunDirectory
from spec.checking.spark.allotment import Part
from spec.checking.spark.compiled import Compiled
from spec.checking.spark.exchange import ByBucket, by_bucket
from spec.checking.spark.known import Known
from spec.checking.spark.plain import Plain
from spec.checking.spark.report import Report
from spec.checking.spark.work import Work
from spec.checking.symmetry import SPOT_CHECKS, Symmetry

FEWEST = 256
"""States that are expanded at once, at least."""


class Piece(NamedTuple):
    """A run of states in the file of a bucket."""

    bucket: int
    start: int
    stop: int


class Bench:
    """A run, the model at work in it, and what was visited."""

    def __init__(self, directory: RunDirectory, work: Work, part: Part):
        self.directory, self.work = directory, work
        self.known = Known(directory, part)

    def states(self, level: int, pieces: Iterable[Piece]) -> Words:
        """The states of some pieces of a level that is committed."""
        parts = [self.directory.read_array(level, *piece) for piece in pieces]
        return np.concatenate(parts) if parts else np.empty((0, self.work.words), np.uint64)

    def expand(self, states: Words, decided: Collection[int], report: Report, buckets: int) -> Iterator[ByBucket]:
        """The successors of some states, bucket by bucket; once or, if they do not fit into memory, in parts.

        Raises:
            OutOfMemory: a few of them do not fit.
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

    def settle(
        self,
        blocks: Iterable[tuple[Array, Array]],
        buckets: Sequence[int],
        level: int,
        decided: Collection[int],
        report: Report,
    ) -> None:
        """Of states that were reached from a level, judge those that were not visited, and write them to attempts.

        The states, with the lowest action that leads to each, come in blocks, and are of these buckets.

        Raises:
            OutOfMemory: they are too many.
        """
        new_states = np.zeros(len(self.work.model.actions), np.int64)
        known = self.known
        known.up_to(level, buckets)
        known.settle(blocks, new_states)
        self.work.judge(known.visited, decided, report)
        if level:  # no action leads to an initial state
            for coverage, new in zip(report.coverage, new_states, strict=True):
                coverage.new_states += int(new)
        parts = known.visited.parts(1)
        if self.work.symmetry:
            report.sample += sample_of(parts, SPOT_CHECKS)
        files = self.directory.write_parts(level + 1, parts, at_once=1)
        known.settled(level + 1, buckets, files)
        report.files += files

    def newest(self) -> Words | None:
        """The states that were settled last, if they are here."""
        return None if self.known.beyond else self.known.visited.level(1)


def work_on(
    model: Model,
    properties: Sequence[int],
    part: Part,
    *,
    by_orbits: bool = False,
    on_progress: OnProgress | None = None,
) -> Work:
    """At compiled speed, unless the model is too large for that."""
    symmetry = Symmetry(model, properties, on_progress) if by_orbits else None
    return (Plain if too_large(model) else Compiled)(model, properties, symmetry, part)
