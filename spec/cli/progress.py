"""Progress of an exploration or a simulation on stderr: a bar on a terminal, elsewhere a line every few seconds, if
there is anything new to say.

A quick command shows none; a slower one ends with a line of its final statistics.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from threading import Lock
from typing import Any, TextIO

from spec.checking.exploration import Statistics
from spec.checking.machine.memory import MemoryGauge
from spec.checking.simulation import SimulationStatistics
from spec.language.errors import escaped

BAR = 10
"""Columns of the bar on a terminal."""
WIDTH = 80
"""The most columns of a line."""
QUICK = 1.0
"""Seconds after which a last line is printed even if none was printed before."""


class Progress:
    """An `on_progress` for explorations and simulations, used in a `with`."""

    def __init__(self, stream: TextIO | None = None, every: float = 3.0):
        self.stream = sys.stderr if stream is None else stream
        self.every = every
        self.on_terminal = self.stream.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}
        self._console: Any = None
        self._status: Any = None
        self._began = time.monotonic()
        self._next = self._began + (0.3 if self.on_terminal else every)
        self._last: Statistics | SimulationStatistics | None = None
        self._printed: Statistics | SimulationStatistics | None = None
        self._shown = False
        self._doing = ""
        self._seen = MemoryGauge()
        self._lock = Lock()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
        slow = self._shown or time.monotonic() - self._began >= QUICK
        if slow and self._last is not None and failure is None:
            self._print(self._last)

    def __call__(self, statistics: Statistics | SimulationStatistics) -> None:
        """Show the statistics if enough time has passed."""
        with self._lock:  # during a long evaluation another thread reports it
            if not statistics.evaluating:
                self._last = statistics
            now = time.monotonic()
            if statistics.doing != self._doing:
                self._doing = statistics.doing
                if self._doing:
                    if self._console is not None:
                        self._console.print(escaped(self._doing))
                    else:
                        print(escaped(self._doing), file=self.stream, flush=True)
            if now < self._next:
                return
            self._shown = True
            if self.on_terminal:
                self._next = now + 0.2
                self._move(statistics)
            else:
                self._next = now + self.every
                self._print(statistics)

    def _print(self, statistics: Statistics | SimulationStatistics) -> None:
        """Print a line, unless only time has passed since the last one, or it would say again what is being done."""
        figures = statistics._replace(seconds=0.0, in_python=0.0, doing="")
        if figures == self._printed or _has_no_figures(statistics):
            return
        self._printed = figures
        print(line(statistics, self._seen.now()), file=self.stream, flush=True)

    def _move(self, statistics: Statistics | SimulationStatistics) -> None:
        from rich.text import Text

        if self._status is None:
            from rich.console import Console

            self._console = Console(file=self.stream, highlight=False, markup=False)
            self._status = self._console.status("", spinner="line")
            self._status.start()
        # Always one line: a terminal cannot rewrite lines that have scrolled away.
        width = min(WIDTH, self._console.width) - 3
        self._status.update(Text(f"{bar(statistics)} {line(statistics, self._seen.now(), width - BAR - 1)}"[:width]))


def bar(statistics: Statistics | SimulationStatistics) -> str:
    """The share of found states that are expanded, or of runs that are finished; full at the end.

    >>> bar(Statistics(depth=9, generated=90, distinct=40, queue=10, seconds=1.0))
    '#######---'
    """
    if isinstance(statistics, SimulationStatistics):
        done = statistics.runs / statistics.asked
    else:
        done = 1 - statistics.queue / statistics.distinct if statistics.distinct else 0
    full = int(done * BAR)
    return "#" * full + "-" * (BAR - full)


def line(statistics: Statistics | SimulationStatistics, taken: int, width: int = WIDTH) -> str:
    """The statistics on one line, as far as they are known and fit, with the bytes of memory in use.

    During other work than exploring, that work instead.

    >>> line(SimulationStatistics(runs=7, asked=9, steps=50, seconds=2.0, in_python=0.5), taken=64_000_000, width=40)
    '7 of 9 runs, 50 steps, 25 steps/s, 0:02'
    """
    if statistics.evaluating or _has_no_figures(statistics):
        text = escaped(f"one evaluation takes {statistics.evaluating}" if statistics.evaluating else statistics.doing)
        return text if len(text) <= width else f"{text[: width - 3]}..."
    phrases = [
        *(
            _walk_phrases(statistics, taken)
            if isinstance(statistics, SimulationStatistics)
            else _search_phrases(statistics, taken)
        )
    ]
    while len(phrases) > 1 and len(", ".join(text for _, text in phrases)) > width:
        phrases.remove(max(phrases))
    return ", ".join(text for _, text in phrases)


def _has_no_figures(statistics: Statistics | SimulationStatistics) -> bool:
    """Whether something is done before the first state."""
    return bool(statistics.doing and not statistics.seconds and not statistics.evaluating)


Phrase = tuple[int, str]
"""The order in which figures are left out, the highest number first; and the figure in words."""


def _walk_phrases(statistics: SimulationStatistics, taken: int) -> Iterator[Phrase]:
    yield 0, f"{short_number(statistics.runs)} of {short_number(statistics.asked)} runs"
    yield 3, f"{short_number(statistics.steps)} steps"
    yield 2, f"{_rate(statistics.steps, statistics.seconds)} steps/s"
    yield 5, f"{statistics.in_python:.0%} in Python"
    yield 4, _memory(taken)
    yield 1, _time(statistics.seconds)


def _search_phrases(statistics: Statistics, taken: int) -> Iterator[Phrase]:
    yield 0, f"depth {statistics.depth}"
    yield 6, f"{short_number(statistics.generated)} generated"
    yield 1, f"{short_number(statistics.distinct)} distinct"
    yield 5, f"{short_number(statistics.queue)} queued"
    yield 3, f"{_rate(statistics.distinct, statistics.seconds)}/s"
    if statistics.bytes_per_state is not None:
        yield 7, f"{statistics.bytes_per_state:.0f} bytes/state"
    if statistics.in_python is not None:
        yield 8, f"{statistics.in_python:.0%} in Python"
    yield 4, _memory(taken)
    yield 2, _time(statistics.seconds)


def short_number(number: float) -> str:
    """A large number in two or three digits, so that it can be read while it changes.

    >>> short_number(9_999), short_number(10_000), short_number(1_234_567), short_number(987_654_321_000)
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
    return short_number(number / seconds if seconds else 0)


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def _memory(taken: int) -> str:
    return f"{short_number(taken / 1e6)} MB" if taken < 1e10 else f"{short_number(taken / 1e9)} GB"
