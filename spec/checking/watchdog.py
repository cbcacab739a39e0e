"""A watchdog: while one evaluation takes long, `on_progress` is told which one, and in which state.

An action that does not come to an end looks like an engine with much to do. Nothing can be seen from the thread that
is in it, so another one looks, now and then, whether the model is still at the evaluation at which it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, Final

from spec.checking.machine.interrupts import DeferredSignals
from spec.checking.model import Model

LONG: Final = 10.0
"""Seconds after which an evaluation is told of. Most take some microseconds."""
LOOK: Final = 1.0
"""Seconds between two looks."""


class Watchdog:
    """Hands statistics on to `on_progress`, and tells it of an evaluation that takes long; to be used in a `with`.

    Args:
        model: whose evaluations are looked at.
        on_progress: told statistics, which have a field `evaluating`; also from another thread.
        statistics: what it is told of a long evaluation if there are none yet.
    """

    def __init__(self, model: Model, on_progress: Callable[[Any], None], statistics: Any):
        self.under_way, self.on_progress, self.statistics = model.under_way, on_progress, statistics
        self._over = Event()
        self._thread = Thread(target=self._look, name="a watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        try:
            with DeferredSignals():
                self._thread.start()
        except BaseException:  # Ctrl-C, as it has begun
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with DeferredSignals():
            self._over.set()
            if self._thread.is_alive():
                self._thread.join(LOOK)  # no longer: it may be in an `on_progress` that takes its time

    def __call__(self, statistics: Any) -> None:
        """Hand on these statistics."""
        self.statistics = statistics
        self.on_progress(statistics)

    def _look(self) -> None:
        seen, since = None, 0.0
        while not self._over.wait(LOOK):
            now, clock = self.under_way.now, time.monotonic()
            if now is not seen:
                seen, since = now, clock
            elif now is not None and clock - since >= LONG:
                told = f"{clock - since:.0f} s: {now[0](*now[1:])}"
                self.on_progress(self.statistics._replace(evaluating=told))
