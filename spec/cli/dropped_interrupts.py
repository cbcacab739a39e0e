"""Repeat Ctrl-C, SIGTERM and SIGHUP if Python drops the exception they raise.

Python drops an exception that is raised in a finalizer, in the callback of a weak reference, or in a callback of the
garbage collector (`sys.unraisablehook`). A signal that arrives there loses its KeyboardInterrupt, and the search that
it should end continues.
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
"""Seconds after which the finalizer or callback should be over; if not, the repeat is dropped and repeated again."""


@contextmanager
def reraising_dropped_interrupts(number: int) -> Iterator[None]:
    """Within this block a KeyboardInterrupt that Python drops is repeated a moment later.

    Args:
        number: the signal that repeats it; its handler raises KeyboardInterrupt (`signal.default_int_handler`).
    """
    before = sys.unraisablehook
    coming: list[Timer] = []

    def hook(dropped: UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        # A real signal: `_thread.interrupt_main` would not wake a waiting thread.
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
