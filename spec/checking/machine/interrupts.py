"""Interrupts: signals are deferred while threads are started and awaited, and delivered where they do no harm.

Python runs the handler of a signal in the main thread, between any two of its instructions, and that of Ctrl-C raises
there. Locks of `threading` and `concurrent.futures` are taken by functions written in Python: one that is interrupted
when it has just taken a lock never gives it back, and the thread that wants it next waits for ever.
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


def _not_waiting() -> None:
    """There is no call to end."""


class DeferredSignals:
    """While this is open, in a `with` statement, signals wait for their handlers. Only the main thread has signals.

    Args:
        wake: called when a signal begins to wait, between any two instructions of the main thread: it ends a call in
            which that thread is waiting. It must not take a lock.
    """

    def __init__(self, wake: Callable[[], None] = _not_waiting):
        self.wake = wake
        self._handlers: dict[int, Handler] = {}
        self._waiting: list[tuple[int, FrameType | None]] = []

    def __enter__(self) -> DeferredSignals:
        if current_thread() is main_thread():
            self._handlers = {each: found for each in SIGNALS if callable(found := signal.getsignal(each))}
            try:
                self._hold()
            except BaseException:  # raised by the handler of a signal that is not deferred yet
                self._let_go()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._let_go()
        finally:  # the handler of the first one may have raised
            self._let_go()
        self.deliver()

    def deliver(self) -> None:
        """Run the handlers of the signals that wait; what they raise is raised here."""
        while self._waiting:
            number, frame = self._waiting.pop(0)
            self._handlers[number](number, frame)

    @contextmanager
    def through(self) -> Iterator[None]:
        """While this is open, signals are handled at once again: for what may take for ever."""
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
