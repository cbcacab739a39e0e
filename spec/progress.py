"""How far an exploration or a simulation is, on stderr: a bar on a terminal, elsewhere a line every few seconds.

Whoever is quick sees nothing of it; at the end of the others stands a line with what it came to.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any, TextIO

from spec.checking.exploration import Figures
from spec.checking.simulation import Walked

BAR = 16
"""Columns of the bar on a terminal."""
QUICK = 1.0
"""Seconds after which there is a last line, whether or not there was one before."""


class Progress:
    """A watch for whoever explores or walks; to be used in a `with`."""

    def __init__(self, stream: TextIO | None = None, every: float = 3.0):
        self.stream = sys.stderr if stream is None else stream
        self.every = every
        self.on_terminal = self.stream.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}
        self._console: Any = None
        self._status: Any = None
        self._began = time.monotonic()
        self._next = self._began + (0.3 if self.on_terminal else every)
        self._last: Figures | Walked | None = None
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
        slow = self._shown or time.monotonic() - self._began >= QUICK
        if slow and self._last is not None and failure is None:
            self._print(self._last)

    def __call__(self, figures: Figures | Walked) -> None:
        """Show the figures, if it is time to."""
        self._last = figures
        now = time.monotonic()
        if now < self._next:
            return
        self._shown = True
        if self.on_terminal:
            self._next = now + 0.2
            self._move(figures)
        else:
            self._next = now + self.every
            self._print(figures)

    def _print(self, figures: Figures | Walked) -> None:
        print(line(figures), file=self.stream, flush=True)

    def _move(self, figures: Figures | Walked) -> None:
        if self._status is None:
            from rich.console import Console

            self._console = Console(file=self.stream, highlight=False)
            self._status = self._console.status("", spinner="line")
            self._status.start()
        # One line, whatever the width: a terminal cannot take back what has scrolled away.
        self._status.update(f"{bar(figures)} {line(figures)}"[: self._console.width - 3])


def bar(figures: Figures | Walked) -> str:
    """The share of the states found so far that are expanded, or of the runs: full when there is nothing left to do.

    >>> bar(Figures(depth=9, generated=90, distinct=40, queue=10, seconds=1.0))
    '############----'
    """
    if isinstance(figures, Walked):
        done = figures.runs / figures.asked
    else:
        done = 1 - figures.queue / figures.distinct if figures.distinct else 0
    full = int(done * BAR)
    return "#" * full + "-" * (BAR - full)


def line(figures: Figures | Walked) -> str:
    """The figures on one line, as far as they are known."""
    told = _told_of_walks(figures) if isinstance(figures, Walked) else _told(figures)
    return ", ".join((*told, f"{_megabytes():,} MB"))


def _told_of_walks(figures: Walked) -> Iterator[str]:
    rate = figures.steps / figures.seconds if figures.seconds else 0
    yield f"{figures.runs:,} of {figures.asked:,} runs"
    yield f"{figures.steps:,} steps"
    yield f"{rate:,.0f} steps/s"
    yield f"{figures.in_python:.0%} in Python"


def _told(figures: Figures) -> Iterator[str]:
    rate = figures.distinct / figures.seconds if figures.seconds else 0
    yield f"depth {figures.depth}"
    yield f"{figures.generated:,} generated"
    yield f"{figures.distinct:,} distinct"
    yield f"{figures.queue:,} queued"
    yield f"{rate:,.0f} states/s"
    if figures.bytes_per_state is not None:
        yield f"{figures.bytes_per_state:.1f} bytes/state"
    if figures.in_python is not None:
        yield f"{figures.in_python:.0%} in Python"


def _megabytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024 if sys.platform != "darwin" else 1024 * 1024)
