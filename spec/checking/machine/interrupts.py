"""Interrupts: signals are deferred while threads are started and awaited, and delivered where they do no harm.

Python runs a signal's handler in the main thread, between any two of its instructions, and the handler of Ctrl-C
raises there. Locks of `threading` and `concurrent.futures` are taken by functions written in Python: one that is
interrupted just after taking a lock never releases it, and the next thread that wants it waits for ever.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, Final

Handler = Callable[[int, FrameType | None], Any]

SIGNALS: Final = tuple(signal.valid_signals())


class DeferredSignals:
    """While this is open, in a `with` statement, signals wait for their handlers. Only the main thread has signals.

    Args:
        wake: called when a signal begins to wait, between any two instructions of the main thread: it ends the call
            in which that thread is waiting. It must not take a lock.
    """

    def __init__(self, wake: Callable[[], None] = lambda: None):
        self.wake = wake
        self._handlers: dict[int, Handler] = {}
        self._waiting: list[tuple[int, FrameType | None]] = []

    def __enter__(self) -> DeferredSignals:
        if current_thread() is main_thread():
            self._handlers = {each: found for each in SIGNALS if callable(found := signal.getsignal(each))}
            try:
                self._hold()
            except BaseException:  # raised by the handler of a signal not yet deferred
                self._let_go()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._let_go()
        finally:  # a handler may have raised during the first call
            self._let_go()
        self.deliver()

    def deliver(self) -> None:
        """Run the handlers of the waiting signals; their exceptions are raised here."""
        while self._waiting:
            number, frame = self._waiting.pop(0)
            self._handlers[number](number, frame)

    @contextmanager
    def through(self) -> Iterator[None]:
        """While this is open, signals are handled at once again: for a call that may take for ever."""
        try:
            self._let_go()
            self.deliver()
            yield
        finally:
            self._hold()

    def _hold(self) -> None:
        for each in self._handlers:
            signal.signal(each, self._later)

    def _let_go(self) -> None:
        for each, handler in self._handlers.items():
            signal.signal(each, handler)

    def _later(self, number: int, frame: FrameType | None) -> None:
        self._waiting.append((number, frame))
        self.wake()
