"""Dropped interrupts: Ctrl-C, SIGTERM and SIGHUP that come where Python drops what is raised come again.

Python drops an exception that is raised in a finalizer, in the callback of a weak reference, or in one of the
garbage collector (`sys.unraisablehook`). If a signal comes just there, its KeyboardInterrupt is dropped as well, and
the search that was to end goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from signal import pthread_kill
from threading import Timer, main_thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

MOMENT: Final = 0.01
"""Seconds, after which what dropped the interrupt is over; if it is not, it is dropped and comes again."""


@contextmanager
def reraising_dropped_interrupts(number: int) -> Iterator[None]:
    """Within this block a KeyboardInterrupt that Python drops comes again, a moment later.

    Args:
        number: the signal as which it comes; its handler raises KeyboardInterrupt (`signal.default_int_handler`).
    """
    before = sys.unraisablehook
    coming: list[Timer] = []

    def hook(dropped: UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        # A real signal: `_thread.interrupt_main` would not wake what waits.
        again = Timer(MOMENT, pthread_kill, [main_thread().ident, number])
        coming.append(again)
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        for each in coming:
            each.cancel()
            each.join()
