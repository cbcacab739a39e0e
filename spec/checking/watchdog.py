"""A watchdog: when one evaluation takes long, `on_progress` is called with its name and state.

An action that does not end looks like an engine with much to do. The thread that is inside it can report nothing. So
another thread checks, now and then, whether the model is still at the same evaluation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, Final

from spec.checking.machine.interrupts import DeferredSignals
from spec.checking.model import Model

LONG: Final = 10.0
"""Seconds before an evaluation is reported. Most take some microseconds."""
LOOK: Final = 1.0
"""Seconds between two checks."""


class Watchdog:
    """Passes statistics on to `on_progress`, and reports long evaluations of a model to it, in their field
    `evaluating`, also from another thread; for use in a `with` statement. `statistics` are reported if there are none
    yet.
    """

    def __init__(self, model: Model, on_progress: Callable[[Any], None], statistics: Any):
        self.under_way, self.on_progress, self.statistics = model.under_way, on_progress, statistics
        self._over = Event()
        self._thread = Thread(target=self._look, name="a watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        try:
            with DeferredSignals():
                self._thread.start()
        except BaseException:  # Ctrl-C after the thread has begun
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with DeferredSignals():
            self._over.set()
            if self._thread.is_alive():
                self._thread.join(LOOK)  # not longer: `on_progress` may take its time

    def __call__(self, statistics: Any) -> None:
        """Pass these statistics on."""
        self.statistics = statistics
        self.on_progress(statistics)

    def _look(self) -> None:
        seen, since = None, 0.0
        while not self._over.wait(LOOK):
            now, clock = self.under_way.now, time.monotonic()
            if now is not seen:
                seen, since = now, clock
            elif now is not None and clock - since >= LONG:
                text = f"{clock - since:.0f} s: {now[0](*now[1:])}"
                self.on_progress(self.statistics._replace(evaluating=text))
