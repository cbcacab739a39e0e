"""The bench: what somebody who explores keeps from level to level, be it the driver or a worker."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spec.checking.local.engine import too_large
from spec.checking.local.kernels import Array
from spec.checking.model import Model
from spec.checking.packed import Words, sample
from spec.checking.rundir import RunDirectory
from spec.checking.spark.compiled import Compiled
from spec.checking.spark.known import Known
from spec.checking.spark.plain import Plain
from spec.checking.spark.report import Report
from spec.checking.spark.work import Work
from spec.checking.symmetry import GLANCED, Symmetry


class Piece(NamedTuple):
    """A run of states in the file of a bucket."""

    bucket: int
    start: int
    stop: int


class Bench:
    """A run, the model at work in it, and what was visited."""

    def __init__(self, directory: RunDirectory, work: Work):
        self.directory, self.work = directory, work
        self.known = Known(directory)

    def states(self, level: int, pieces: Iterable[Piece]) -> Words:
        """The states of some pieces of a level that is committed."""
        parts = [self.directory.read_array(level, *piece) for piece in pieces]
        return np.concatenate(parts) if parts else np.empty((0, self.work.words), np.uint64)

    def settle(
        self,
        blocks: Iterable[tuple[Array, Array]],
        buckets: Sequence[int],
        level: int,
        decided: Collection[int],
        report: Report,
    ) -> Words:
        """Of states that were reached from a level, judge those that were not visited, and write them to attempts.

        The states, with the lowest action that leads to each, come in blocks, and are of these buckets.
        """
        new_states = np.zeros(len(self.work.model.actions), np.int64)
        self.known.up_to(level, buckets)
        states = self.known.settle(blocks, new_states)
        self.work.judge(self.known.visited, decided, report)
        if level:  # no action leads to an initial state
            for coverage, new in zip(report.coverage, new_states, strict=True):
                coverage.new_states += int(new)
        if self.work.symmetry:
            report.sample += sample(states, GLANCED)
        files = self.directory.write_array(level + 1, states)
        self.known.settled(level + 1, buckets, files)
        report.files += files
        return states


def work_on(model: Model, properties: Sequence[int], *, by_orbits: bool = False) -> Work:
    """At compiled speed, unless the model is too large for that."""
    symmetry = Symmetry(model, properties) if by_orbits else None
    return (Plain if too_large(model) else Compiled)(model, properties, symmetry)
