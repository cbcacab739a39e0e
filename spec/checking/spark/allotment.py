"""The allotment: how a budget of memory is divided among the driver, Java and Python's workers.

Each process needs a fixed amount of memory before it holds a single state. It was measured (Spark 4.3 on Java 17,
numba 0.68; `docs/reliability.md`), and the rest is divided. Each process then keeps to its `MemoryQuota`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from spec.checking.machine.memory import MB, Budget, private

DRIVER: Final = 112 * MB
"""Taken by the driver with the specification loaded. PSS counts files that all processes map only once."""
CODE: Final = 56 * MB
"""Compiled code, once loaded, and room to work in; taken by the driver and by each worker."""
CLIENT: Final = 40 * MB
"""Taken by the driver to talk to Spark."""
JAVA: Final = 240 * MB
"""Taken by Java besides its heap: classes, code, stacks, buffers of rows in transit."""
HEAP: Final = 96 * MB
HEAP_FOR_A_WORKER: Final = 32 * MB
LARGEST_HEAP: Final = 1024 * MB
DAEMON: Final = 64 * MB
"""The process from which workers fork."""
WORKER: Final = 72 * MB
"""A worker's own memory besides compiled code; it shares the rest with the daemon."""
WORK: Final = 80 * MB
"""The minimum for states and for what is learned; with less, no process makes progress."""


@dataclass(frozen=True)
class MemoryQuota:
    """Bytes of memory that a process may take beyond its memory at the beginning."""

    size: int
    began: int
    """Bytes at the beginning, see `memory.private`, plus code that is loaded later and does not count."""

    @property
    def left(self) -> int:
        """Bytes that may still be taken."""
        return self.size - (private() - self.began)


@dataclass(frozen=True)
class Allotment:
    """Bytes for each process of a session that is started here."""

    workers: int
    heap: int
    """Java's heap."""
    work: int
    """The quota of each worker and of the driver."""


def allotted(budget: Budget, workers: int | None, cores: int) -> Allotment:
    """A budget divided among so many workers; by default one per core, or fewer if they do not fit. UsageError if it
    is too small for them.
    """
    number = workers or cores
    while workers is None and number > 1 and minimum(number) > budget.size:
        number -= 1
    spare = budget.size - minimum(number)
    if spare < 0:
        raise budget.too_little(minimum(number), "the Spark engine")
    smallest = _heap(number)
    heap = min(LARGEST_HEAP, smallest + spare // 8)
    return Allotment(number, heap, WORK + (spare - (heap - smallest)) // (number + 1))


def minimum(workers: int = 1) -> int:
    """The least budget in which Spark runs with so many workers."""
    driver, worker = DRIVER + CLIENT + CODE + WORK, WORKER + CODE + WORK
    return driver + JAVA + _heap(workers) + DAEMON + workers * worker


def _heap(workers: int) -> int:
    return HEAP + workers * HEAP_FOR_A_WORKER
