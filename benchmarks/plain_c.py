"""`two_phase_commit.c`, compiled and run."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks import process

SOURCE: Final = Path(__file__).with_name("two_phase_commit.c")


class Found(NamedTuple):
    """The counts and the cost of a search, without compilation."""

    distinct: int
    generated: int
    depth: int
    allocated: int
    """Bytes of the visited set and the queue."""
    seconds: float
    processor_seconds: float


def missing() -> str:
    """The missing tool and how to install it, in one line; empty if the tool is there."""
    return "" if shutil.which("cc") else "no cc here: apt-get install gcc"


def explore(managers: int) -> Found:
    """Explore all states of two-phase commit.

    Raises:
        RuntimeError: the compiler fails, the invariant does not hold, or there are not 1 to 15 managers.
    """
    with tempfile.TemporaryDirectory() as directory:
        process.run(directory, "cc", "-O2", "-o", "search", str(SOURCE))
        done = process.run(directory, "./search", str(managers))
    distinct, generated, depth, allocated = map(int, done.output.split())
    return Found(distinct, generated, depth, allocated, done.seconds, done.processor_seconds)
