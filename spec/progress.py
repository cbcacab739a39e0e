"""How far an exploration or a simulation is, on stderr: a bar on a terminal, elsewhere a line every few seconds.

Whoever is quick sees nothing of it; at the end of the others stands a line with what it came to.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from threading import Lock
from typing import Any, TextIO

from spec.checking.exploration import Figures
from spec.checking.memory import Seen
from spec.checking.simulation import Walked

BAR = 10
"""Columns of the bar on a terminal."""
WIDTH = 80
"""Columns of a line, at most."""
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
        self._doing = ""
        self._seen = Seen()
        self._lock = Lock()

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
        with self._lock:  # while an evaluation takes long, another thread tells of it
            if not figures.evaluating:
                self._last = figures
            now = time.monotonic()
            if figures.doing != self._doing:
                self._doing = figures.doing
                if self._doing:
                    self._say(self._doing)
            if now < self._next:
                return
            self._shown = True
            if self.on_terminal:
                self._next = now + 0.2
                self._move(figures)
            else:
                self._next = now + self.every
                self._print(figures)

    def _say(self, doing: str) -> None:
        """On a line of its own, at once: nobody should wait without knowing for what."""
        if self._console is not None:
            self._console.print(doing)
        else:
            print(doing, file=self.stream, flush=True)

    def _print(self, figures: Figures | Walked) -> None:
        print(line(figures, self._seen.now()), file=self.stream, flush=True)

    def _move(self, figures: Figures | Walked) -> None:
        from rich.text import Text

        if self._status is None:
            from rich.console import Console

            self._console = Console(file=self.stream, highlight=False)
            self._status = self._console.status("", spinner="line")
            self._status.start()
        # One line, whatever the width: a terminal cannot take back what has scrolled away.
        width = min(WIDTH, self._console.width) - 3
        self._status.update(Text(f"{bar(figures)} {line(figures, self._seen.now(), width - BAR - 1)}"[:width]))


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


def line(figures: Figures | Walked, taken: int, width: int = WIDTH) -> str:
    """The figures on one line, as far as they are known and have room, with the bytes of memory that are taken.

    Or what is done instead of exploring.

    >>> line(Walked(runs=7, asked=9, steps=50, seconds=2.0, in_python=0.5), taken=64_000_000, width=40)
    '7 of 9 runs, 50 steps, 25 steps/s, 0:02'
    """
    if figures.evaluating or (figures.doing and not figures.seconds):
        told = f"one evaluation takes {figures.evaluating}" if figures.evaluating else figures.doing
        return told if len(told) <= width else f"{told[: width - 3]}..."
    parts = [*(_told_of_walks(figures, taken) if isinstance(figures, Walked) else _told(figures, taken))]
    while len(parts) > 1 and len(", ".join(text for _, text in parts)) > width:
        parts.remove(max(parts))
    return ", ".join(text for _, text in parts)


Part = tuple[int, str]
"""A figure in words, and how soon it is left out: the highest number first."""


def _told_of_walks(figures: Walked, taken: int) -> Iterator[Part]:
    yield 0, f"{shortly(figures.runs)} of {shortly(figures.asked)} runs"
    yield 3, f"{shortly(figures.steps)} steps"
    yield 2, f"{_rate(figures.steps, figures.seconds)} steps/s"
    yield 5, f"{figures.in_python:.0%} in Python"
    yield 4, _memory(taken)
    yield 1, _time(figures.seconds)


def _told(figures: Figures, taken: int) -> Iterator[Part]:
    yield 0, f"depth {figures.depth}"
    yield 6, f"{shortly(figures.generated)} generated"
    yield 1, f"{shortly(figures.distinct)} distinct"
    yield 5, f"{shortly(figures.queue)} queued"
    yield 3, f"{_rate(figures.distinct, figures.seconds)}/s"
    if figures.bytes_per_state is not None:
        yield 7, f"{figures.bytes_per_state:.0f} bytes/state"
    if figures.in_python is not None:
        yield 8, f"{figures.in_python:.0%} in Python"
    yield 4, _memory(taken)
    yield 2, _time(figures.seconds)


def shortly(number: float) -> str:
    """A large number in two or three digits, which is what changes so fast can be read as.

    >>> shortly(9_999), shortly(10_000), shortly(1_234_567), shortly(987_654_321_000)
    ('9,999', '10 k', '1.2 M', '988 G')
    """
    if number < 10_000:
        return f"{number:,.0f}"
    for unit in "kMGT":
        number /= 1000
        if number < 999.5 or unit == "T":
            break
    return f"{number:.1f} {unit}" if number < 9.95 else f"{number:,.0f} {unit}"


def _rate(number: int, seconds: float) -> str:
    return shortly(number / seconds if seconds else 0)


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def _memory(taken: int) -> str:
    return f"{shortly(taken / 1e6)} MB" if taken < 1e10 else f"{shortly(taken / 1e9)} GB"
