"""The visited set: exact, in the order in which states came, growing in place.

States are spread over partitions by their hash. A partition keeps its states one after the other, so that a level is
a range of each, and an index on them: a number of 32 bits for each place, part of it a tag that spares most
comparisons. All of the address space is reserved at once and memory taken from the machine page by page, as it is
needed: so states are never copied to grow, and of the index only one partition at a time is built anew.
"""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np

from spec.checking.local.kernels import PARTITIONS, TAG_SHIFT, Lot, Outbox, Scratch, Storage, credit, insert

LARGEST = (1 << TAG_SHIFT) - 2
"""States in a partition, as far as its index can count."""
HUGE = 2 << 20
"""A huge page, in bytes. What a partition takes beyond the first of them is taken in these: it is faster to take, and
to find. The first of them is taken in small pages, so that a small search is small."""
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0


class OutOfMemory(Exception):
    """The visited set would take more than it may."""


class Visited:
    """The states that were met, level by level.

    Args:
        words: of a state.
        memory: bytes that states and index may take.
    """

    def __init__(self, words: int, memory: int):
        self.words = words
        self.shape = (0,) * words
        most = max(1024, min(LARGEST, int(memory / PARTITIONS / (8 * words + 4 * 1.4))))
        states, index = _Region(words * most, np.uint64, words), _Region(most * 4 // 3 + 256, np.uint32)
        marks, others = _Region(most, np.uint64), _Region(most, np.uint64)
        self.storage = Storage(
            states=states.items,
            index=index.items,
            marks=marks.items,
            size=np.zeros(PARTITIONS, np.int64),
            capacity=np.zeros(PARTITIONS, np.int64),
            level=np.zeros(PARTITIONS, np.int64),
            room=np.array([most, most * 4 // 3 + 256], np.int64),
            begin=np.stack([states.begin // words, index.begin, marks.begin]),
        )
        self.marks = others.items
        """Those of the newest level that is complete; those of the next are gathered in the storage."""
        self.levels: list[np.ndarray[Any, Any]] = []
        """Of each level that is complete, where it lies: from, to, and by how much its marks lie before it, for each
        partition that has something of it."""

    @property
    def states(self) -> np.ndarray[Any, Any]:
        """All words of all states, with room between the partitions."""
        states: np.ndarray[Any, Any] = self.storage.states
        return states

    @property
    def size(self) -> int:
        """How many states there are."""
        return int(self.storage.size.sum())

    @property
    def allocated(self) -> int:
        """Bytes that states and their index take."""
        return self.size * 8 * self.words + 4 * int(self.storage.capacity.sum())

    def insert(self, first: int, last: int, sent: Outbox, scratch: Scratch) -> None:
        """Take in what is on its way to these partitions.

        Raises:
            OutOfMemory: there is no room.
        """
        if insert(self.shape, self.storage, first, last, sent, scratch) >= 0:
            raise OutOfMemory

    def complete(self, new_states: np.ndarray[Any, Any]) -> int:
        """End the newest level, and begin the next; how many states it has. Counts them by action."""
        credit(self.storage, new_states)
        level, done, begin = self.storage.level, self.storage.marks, self.storage.begin
        self.storage, self.marks = self.storage._replace(marks=self.marks), done
        some = self.storage.size > level
        lies = (begin[0] + level, begin[0] + self.storage.size, begin[0] + level - begin[2])
        ranges = np.stack(lies, axis=1)[some]
        self.levels.append(ranges)
        level[:] = self.storage.size
        return int((ranges[:, 1] - ranges[:, 0]).sum())

    def lot(self, number: int) -> Lot:
        """The states of a level, the first being 1, where they lie; their marks, if it is the newest."""
        return Lot(self.states, self.marks, self.levels[number - 1])

    def level(self, number: int) -> np.ndarray[Any, Any]:
        """The states of a level, brought together: an array of (states, words)."""
        rows = self.states[: len(self.states) // self.words * self.words].reshape(-1, self.words)
        parts = [rows[first:last] for first, last, _ in self.levels[number - 1]]
        return np.concatenate(parts) if parts else np.empty((0, self.words), np.uint64)


class _Region:
    """Room for as many items in each partition, which takes no memory before it is written to."""

    def __init__(self, items: int, dtype: Any, unit: int = 1):
        size = np.dtype(dtype).itemsize
        stride = -(-(items + unit) * size // HUGE) * HUGE + HUGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        pages = mmap.mmap(-1, PARTITIONS * stride + HUGE, flags=flags)
        self.items = np.frombuffer(pages, dtype)
        aligned = -self.items.ctypes.data % HUGE
        begin = [aligned + partition * stride for partition in range(PARTITIONS)]
        self.begin = np.array([-(-place // (size * unit)) * unit for place in begin], np.int64)
        """Where each partition begins, a multiple of the unit."""
        if hasattr(mmap, "MADV_HUGEPAGE"):
            for place in begin:
                pages.madvise(mmap.MADV_HUGEPAGE, place + HUGE, stride - HUGE)
