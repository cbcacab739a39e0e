"""The time that learning may take: no search shall be much slower than in plain Python, however its paths multiply.

Learning a path takes longer than evaluating an action once, and pays if later states follow the path. Whether they
will is unknown. So learning is paid from what it has saved: each state that compiled code expanded saved the time of
expanding it in plain Python. Where nearly every state takes paths of its own nothing is saved, and most states are
expanded in plain Python; a share of that time is still spent on learning, because later levels may be different.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ALLOWANCE: Final = 1.0
"""Seconds of learning that need not have saved anything."""
SHARE: Final = 0.2
"""Of the time spent on expanding in plain Python, the share that is spent on learning besides."""


class LearningBudget:
    """Decides whether missing paths are learned, or the states that need them are expanded in plain Python.

    Args:
        learns: whether anything can be learned.
    """

    def __init__(self, *, learns: bool = True) -> None:
        self.learns = learns
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
        return self.seconds_learning < ALLOWANCE + saved

    @property
    def paid(self) -> bool:
        """Whether learning paid, or the time does not matter."""
        return self.seconds_plainly < ALLOWANCE or 2 * self.plainly < self.expanded

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Count the time while this is open as spent on learning."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds_learning += time.perf_counter() - began

    @contextmanager
    def expanding(self, states: int) -> Iterator[None]:
        """Count the time while this is open as spent on expanding so many states in plain Python."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds_plainly += time.perf_counter() - began
            self.plainly += states
