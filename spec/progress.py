"""How far an exploration is, on stderr: a line that moves on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import os
import resource
import sys
import time
from typing import Any, TextIO

from spec.checking.exploration import Figures


class Progress:
    """A watch for an exploration; to be used in a `with`."""

    def __init__(self, stream: TextIO | None = None, every: float = 3.0):
        self.stream = sys.stderr if stream is None else stream
        self.every = every
        self.on_terminal = self.stream.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}
        self._console: Any = None
        self._status: Any = None
        self._next = time.monotonic() + (0.3 if self.on_terminal else every)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, figures: Figures) -> None:
        """Show the figures, if it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        if self.on_terminal:
            self._next = now + 0.2
            self._move(line(figures))
        else:
            self._next = now + self.every
            print(line(figures), file=self.stream, flush=True)

    def _move(self, text: str) -> None:
        if self._status is None:
            from rich.console import Console

            self._console = Console(file=self.stream)
            self._status = self._console.status("")
            self._status.start()
        # One line, whatever the width: a terminal cannot take back what has scrolled away.
        self._status.update(text[: self._console.width - 3])


def line(figures: Figures) -> str:
    """The figures on one line."""
    rate = figures.distinct / figures.seconds if figures.seconds else 0
    return (
        f"depth {figures.depth}, {figures.generated:,} generated, {figures.distinct:,} distinct, "
        f"{figures.queue:,} queued, {rate:,.0f} states/s, {_megabytes():,} MB"
    )


def _megabytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024 if sys.platform != "darwin" else 1024 * 1024)
