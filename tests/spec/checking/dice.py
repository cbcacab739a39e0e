"""What a specification may import: functions that throw dice."""

from __future__ import annotations

import random


def thrown() -> int:
    """By another function."""
    return rolled()


def rolled() -> int:
    """One die."""
    return random.randint(1, 6)
