"""Moments: where and how a run is stopped, drawn from a seed.

A moment is a level and a share of the time that a level takes, so it is the same part of the work on every machine.
Ways of stopping alternate, and so do symmetry, bounds and run directories. The seed decides only the places and the
first way.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count, islice
from typing import NamedTuple

DEPTH = 43
"""The number of levels of the explored system."""
JOBS = (27, 29)
"""The first and the last level that are Spark jobs."""


class Moment(NamedTuple):
    """Where and how a run is stopped."""

    engine: str
    breaking: str
    """interrupt (Ctrl-C); kill (the process); and on Spark kill-worker, kill-jvm."""
    level: int
    share: float
    """The delay after the level is complete, as a share of the average time of the levels so far."""
    symmetry: bool
    bound: int | None
    """A depth bound for the first part of the run only. A run that reaches it ends by itself."""
    kept: bool
    """Whether the run has a run directory."""

    def __str__(self) -> str:
        said = [self.engine, self.breaking, f"level {self.level} + {self.share:.2f}"]
        said += ["orbits"] * self.symmetry + ["not kept"] * (not self.kept)
        return ", ".join(said + [f"bounded to {self.bound}"] * (self.bound is not None))

    @property
    def ways(self) -> tuple[str, ...]:
        """The entries of `WAYS` that this moment counts for."""
        return (
            f"{self.engine}, {self.breaking}",
            "by orbits" if self.symmetry else "by states",
            "unbounded" if self.bound is None else "bounded",
        )


WAYS = (
    "local, interrupt",
    "local, kill",
    "spark, interrupt",
    "spark, kill",
    "spark, kill-worker",
    "spark, kill-jvm",
    "by orbits",
    "by states",
    "bounded",
    "unbounded",
)
LOCAL = ("interrupt", "kill", "interrupt", "kill", "kill")
SPARK = ("interrupt", "kill", "kill-worker", "kill-jvm")


def moments(seed: int, engine: str) -> Iterator[Moment]:
    """Endless moments, the same for the same seed."""
    chance = random.Random(f"{seed} {engine}")
    kinds = LOCAL if engine == "local" else SPARK
    for number in count(chance.randrange(len(kinds))):
        breaking, round_ = kinds[number % len(kinds)], number // len(kinds)
        level = chance.randint(*_levels(engine, breaking, round_))
        kept = breaking != "interrupt" or engine == "spark" or round_ % 2 == 0
        bounded = kept and round_ % 3 == 1 and breaking != "kill-worker"
        yield Moment(
            engine,
            breaking,
            level,
            chance.random(),
            symmetry=(number + round_) % 2 == 1,
            bound=level + chance.randint(1, 2) if bounded else None,
            kept=kept,
        )


def _levels(engine: str, breaking: str, round_: int) -> tuple[int, int]:
    """The first and the last level that may be drawn."""
    if breaking in {"kill-worker", "kill-jvm"}:  # later levels need neither
        return JOBS[0] - 1, JOBS[1]
    if engine == "spark" and round_ % 4 < 3:
        return JOBS[0] - 1, JOBS[1] + 1
    return 2, DEPTH - 3


def drawn(seed: int, local: int, spark: int) -> list[Moment]:
    """The first moments, this many of each engine."""
    return [*islice(moments(seed, "local"), local), *islice(moments(seed, "spark"), spark)]
