"""Evaluations that take long in Spark's workers, of which the driver tells while they do.

What a worker has to say comes to the driver when its task has ended, which is too late. But all of them see the run
directory: there a worker's watchdog writes a line, again every second, with the seconds in it. The driver tells a
line for as long as it changes; so nothing is told of a worker that has died, and no clocks are compared.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Final

from spec.checking.exploration import Statistics
from spec.checking.model import Model
from spec.checking.watchdog import Watchdog

PREFIX: Final = "_evaluating-"
FRESH: Final = 5.0
"""Seconds for which a line is told that does not change any more."""


@contextmanager
def announced(model: Model, run: Path) -> Iterator[None]:
    """While this is open, in a worker, what takes long of a model's evaluations is announced in the run directory."""
    place = run / f"{PREFIX}{os.getpid()}-{uuid.uuid4().hex}"

    def announce(statistics: Statistics) -> None:
        with suppress(OSError):  # it helps a person, and what cannot be written must not end a run
            place.write_text(statistics.evaluating, encoding="utf-8")

    try:
        with Watchdog(model, announce, Statistics(0, 0, 0, 0, 0.0)):
            yield
    finally:
        with suppress(OSError):
            place.unlink(missing_ok=True)


class LongEvaluations:
    """What the workers announce in a run directory, as the driver sees it."""

    def __init__(self, run: Path):
        self._run = run
        self._seen: dict[Path, tuple[str, float]] = {}
        """The line in each file, and when it was first seen."""

    def now(self) -> str:
        """One evaluation that takes long, as a watchdog tells of it; empty if there is none."""
        for place in sorted(self._run.glob(f"{PREFIX}*")):
            with suppress(OSError):
                line, clock = place.read_text(encoding="utf-8"), monotonic()
                before, since = self._seen.get(place, ("", clock))
                if line != before:
                    before, since = self._seen[place] = line, clock
                if line and clock - since < FRESH:
                    return line
        return ""

    def forget(self) -> None:
        """Remove what workers that died have left."""
        self._seen.clear()
        with suppress(OSError):
            for place in self._run.glob(f"{PREFIX}*"):
                place.unlink(missing_ok=True)
