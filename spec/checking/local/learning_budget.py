"""The time that learning may take: no search shall be much slower than in plain Python, however its paths multiply.

Learning a path takes longer than evaluating an action once, and pays if later states follow the path. Whether they
will is unknown. So learning is paid from what it has saved: each state that compiled code expanded saved the time of
expanding it in plain Python. Where nearly every state takes paths of its own nothing is saved, and most states are
expanded in plain Python; a share of that time is still spent on learning, because later levels may be different.

All seconds are those of the thread's clock, since on a busy machine both ways take longer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ALLOWANCE: Final = 1.0
"""Seconds of learning that need not have saved anything, if everything is evaluated once."""
SHARE: Final = 0.2
"""Of the time spent on expanding in plain Python, the share that is spent on learning besides."""


class LearningBudget:
    """Decides whether missing paths are learned, or the states that need them are expanded in plain Python.

    Args:
        learns: whether anything can be learned.
        repetitions: how often everything is evaluated. With symmetry it is repeated under other names, be it learned
            or expanded in plain Python.
    """

    def __init__(self, *, learns: bool = True, repetitions: int = 1) -> None:
        self.learns, self.repetitions = learns, repetitions
        self.expanded = 0
        """The states that were expanded so far."""
        self.plainly = 0
        """Those that were expanded in plain Python."""
        self.seconds_learning = self.seconds_plainly = 0.0

    @property
    def allows(self) -> bool:
        """Whether there is time to learn.

        The price of expanding a state in plain Python is not known before some states have been expanded so.
        """
        if not self.learns:
            return False
        saved = 0.0
        if self.plainly:
            compiled = max(0, self.expanded - self.plainly)
            saved = self.seconds_plainly * (compiled / self.plainly + SHARE)
        return self.seconds_learning < ALLOWANCE * self.repetitions + saved

    @property
    def paid(self) -> bool:
        """Whether learning paid, or the time does not matter."""
        return self.seconds_plainly < ALLOWANCE * self.repetitions or 2 * self.plainly < self.expanded

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Count the time while this is open as spent on learning."""
        began = time.thread_time()
        try:
            yield
        finally:
            self.seconds_learning += time.thread_time() - began

    @contextmanager
    def expanding(self, states: int) -> Iterator[None]:
        """Count the time while this is open as spent on expanding so many states in plain Python."""
        began = time.thread_time()
        try:
            yield
        finally:
            self.seconds_plainly += time.thread_time() - began
            self.plainly += states
