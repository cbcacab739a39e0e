"""A module for specifications to import, with functions that use chance."""

from __future__ import annotations

import random


def thrown() -> int:
    """A random number, through another function."""
    return rolled()


def rolled() -> int:
    """One die."""
    return random.randint(1, 6)
