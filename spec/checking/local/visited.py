"""The visited set: exact, in order of arrival, growing in place.

States are spread over partitions by their hash. A partition keeps its states one after the other, so that a level is
a range of each. Its index has a number of 32 bits for each place, with a tag in it that saves most comparisons. The
whole address space is reserved at once, and memory is taken page by page as needed. So states are never copied to
grow, and only one partition's index at a time is rebuilt. The pages needed are known before they are touched, so the
visited set reports the end of memory in time.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from spec.checking.local.arrays import (
    AT_ONCE,
    PARTITIONS,
    TAG_SHIFT,
    MarkedRanges,
    Outbox,
    Scratch,
    StateRange,
    StateRanges,
    Storage,
)
from spec.checking.local.jit import Array
from spec.checking.local.rows import KeptStates, Rows
from spec.checking.local.shape import shape_of
from spec.checking.local.storing import credit, insert
from spec.checking.machine.memory import MB, PAGE, OutOfMemory, address_space, rounded_up, written
from spec.checking.states.packed import ManyStates, Words
from spec.checking.states.packed_state import BYTES
from spec.language.errors import UsageError

LARGEST = (1 << TAG_SHIFT) - 2
"""The most states of a partition that its index can count."""
HUGE = 2 << 20
"""A huge page, in bytes."""
SMALL = 4 * HUGE
"""Beyond this size a partition takes huge pages, which are faster to take, and to look up. All partitions reach their
next huge page at about the same time, and at first little of it is used."""
OTHERS = 192 * MB
STACK = 8 * MB
"""Parts of a limited address space for other uses: arrays, files; and a stack for each core."""
FEWEST = 1024
"""The least room of a partition, in states."""
FEW = 1 << 16
"""Up to so many states are copied rather than used piece by piece."""
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0


class Visited:
    """The visited states, level by level.

    Args:
        size: bytes of a state.
        memory: the most bytes for states, their index and marks: this much address space is reserved.
        spare: the bytes that may still be taken if the largest level has so many states.

    Raises:
        UsageError: there is not enough address space.
    """

    def __init__(self, size: int, memory: int, spare: Callable[[int], int] | None = None):
        self.words = -(-size // BYTES)
        self.shape = shape_of(self.words)
        self._memory, self._spare = memory, spare
        self._largest = 0
        most = max(FEWEST, min(LARGEST, int(memory / PARTITIONS / (size + 4 * 1.4)), _addressable(size)))
        try:
            states, index = _Region(size * most + BYTES, np.uint8, size), _Region(most * 4 // 3 + 256, np.uint32)
            marks, others = _Region(most, np.uint64), _Region(most, np.uint64)
            self._regions = states, index, marks, others
        except OSError:
            raise UsageError(
                f"no address space can be reserved for {written(memory)} of states: give a smaller --memory"
            ) from None
        self.storage = Storage(
            rows=Rows.within(states.items, size),
            index=index.items,
            marks=marks.items,
            size=np.zeros(PARTITIONS, np.int64),
            capacity=np.zeros(PARTITIONS, np.int64),
            level=np.zeros(PARTITIONS, np.int64),
            room=most,
            index_room=most * 4 // 3 + 256,
            begin=states.begin // size,
            index_begin=index.begin,
            marks_begin=marks.begin,
        )
        self._marks = others.items
        """The marks of the newest complete level; those of the next are gathered in the storage."""
        self.levels: list[Array] = []
        """The place of each complete level: from, to, and how many places earlier its marks were while it was the
        newest, for each partition with states of it."""
        self._marked, self._marked_before = np.zeros(PARTITIONS, np.int64), np.zeros(PARTITIONS, np.int64)
        """The most marks that each partition ever had, in the storage and in the other array."""

    @property
    def size(self) -> int:
        """The number of states."""
        return int(self.storage.size.sum())

    @property
    def allocated(self) -> int:
        """Bytes taken by states and their index."""
        return self.size * self.storage.rows.size + 4 * int(self.storage.capacity.sum())

    def insert(self, first: int, last: int, sent: Outbox, scratch: Scratch) -> None:
        """Add the states sent to these partitions, for which there is room; OutOfMemory if there is none."""
        if insert(self.shape, self.storage, first, last, sent, scratch) >= 0:
            raise OutOfMemory

    def require_room(self, sent: Outbox) -> None:
        """Require room for the states sent, even if all of them are new; OutOfMemory if there is not enough."""
        newest = self.storage.size - self.storage.level + sent.count.reshape(-1, PARTITIONS).sum(axis=0)
        if self._spare is None:
            spare = self._memory - int(self._taken().sum())
        else:
            spare = self._spare(max(int(newest.sum()), self._largest))
        if self.needed(sent) > spare:
            raise OutOfMemory

    def needed(self, sent: Outbox) -> int:
        """Bytes needed to add the states sent, if all of them are new."""
        more = sent.count.reshape(-1, PARTITIONS).sum(axis=0)
        return int(self._taken(more).sum()) - int(self._taken().sum())

    def _taken(self, more: Array | int = 0) -> Array:
        """Bytes that each partition has taken, or will have taken with so many more states."""
        size, capacity, most = self.storage.size + more, self.storage.capacity.copy(), self.storage.index_room
        while np.any(few := (4 * (size + AT_ONCE) >= 3 * capacity) & (capacity < most) & (size > 0)):
            grown = np.minimum(most, np.maximum(128, capacity + capacity // 2))
            capacity = np.where(few, grown, capacity)
        marked = np.maximum(self._marked, size - self.storage.level)
        taken: Array = _paged(self.storage.rows.size * size) + _paged(4 * capacity)
        return taken + _paged(8 * marked) + _paged(8 * self._marked_before)

    def complete(self, new_states: np.ndarray[Any, Any]) -> int:
        """End the newest level, and begin the next; returns its number of states. Counts them by action."""
        credit(self.storage, new_states)
        level, done, begin = self.storage.level, self.storage.marks, self.storage.begin
        self._marked, marked = self._marked_before, np.maximum(self._marked, self.storage.size - level)
        self.storage, self._marks, self._marked_before = self.storage._replace(marks=self._marks), done, marked
        some = self.storage.size > level
        lies = {StateRange.FIRST: begin + level, StateRange.BEHIND: begin + self.storage.size}
        lies[StateRange.MARKS] = begin + level - self.storage.marks_begin
        ranges = np.stack([*lies.values()], axis=1)[some]
        self.levels.append(ranges)
        level[:] = self.storage.size
        number = int((ranges[:, StateRange.BEHIND] - ranges[:, StateRange.FIRST]).sum())
        self._largest = max(self._largest, number)
        if self.storage.rows.size * int(level.max()) > SMALL // 4:
            for region in self._regions:
                region.prepare_tails()
        return number

    def empty(self) -> None:
        """Remove all states, and free the memory."""
        for numbers in (self.storage.size, self.storage.level, self.storage.capacity):
            numbers[:] = 0
        self._marked[:] = self._marked_before[:] = self._largest = 0
        self.levels.clear()
        for region in self._regions:
            region.give_back()

    def newest(self) -> MarkedRanges:
        """The newest complete level, in place, with its marks: those of other levels are gone."""
        return MarkedRanges(self.storage.rows, self._marks, self.levels[-1])

    def ranges_of(self, number: int) -> StateRanges:
        """The states of a level, the first being 1, in place."""
        return StateRanges(self.storage.rows, np.ascontiguousarray(self.levels[number - 1][:, : StateRange.MARKS]))

    def level(self, number: int) -> Array:
        """The states of a level in one array of (states, words)."""
        return self._copied(self._kept(number))

    def parts(self, number: int) -> Sequence[ManyStates]:
        """The states of a level: few states are copied together, many stay in place."""
        kept = self._kept(number)
        return [self._copied(kept)] if kept and sum(map(len, kept)) <= FEW else kept

    def some(self, number: int, most: int) -> Words:
        """About this many states of a level at most."""
        kept = self._kept(number)
        return self._copied(kept, max(1, sum(map(len, kept)) // most))

    def _kept(self, number: int) -> list[KeptStates]:
        return [self.storage.rows.states(first, last) for first, last, _ in self.levels[number - 1].tolist()]

    def _copied(self, kept: Iterable[KeptStates], every: int = 1) -> Words:
        return np.concatenate([np.empty((0, self.words), np.uint64), *(part[::every] for part in kept)])


def _addressable(size: int) -> int:
    """The number of states in each partition for which there is address space; UsageError if there is too little."""
    left = address_space()
    if left is None:
        return LARGEST
    each, fixed = (
        size + 4 * 4 // 3 + 1 + 2 * 8,
        OTHERS + STACK * (os.cpu_count() or 1) + 4 * (PARTITIONS * (PAGE + 4 * 256) + HUGE),
    )
    most = (left - fixed) // PARTITIONS // each
    if most * each > SMALL:  # strides are then of huge pages
        most = max(SMALL // each, most - 4 * HUGE // each)
    if most < FEWEST:
        needed = rounded_up(fixed + PARTITIONS * FEWEST * each)
        raise UsageError(
            f"`ulimit -v` leaves {written(max(0, left))} of address space, and the visited set reserves"
            f" {written(needed)} at least"
        )
    return most


def _paged(size: Array) -> Array:
    """The memory of the pages that hold so many bytes from the beginning of a partition on."""
    small: Array = -(-np.minimum(size, SMALL) // PAGE) * PAGE
    huge: Array = -(-np.maximum(size - SMALL, 0) // HUGE) * HUGE
    return small + huge


class _Region:
    """Room for as many items in each partition, which takes no memory before it is written to."""

    def __init__(self, items: int, dtype: Any, unit: int = 1):
        size = np.dtype(dtype).itemsize
        unit_of_pages = PAGE if (items + unit) * size <= SMALL else HUGE
        stride = -(-(items + unit) * size // unit_of_pages) * unit_of_pages
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        self._pages = pages = mmap.mmap(-1, PARTITIONS * stride + HUGE, flags=flags)
        self.items = np.frombuffer(pages, dtype)
        aligned = -self.items.ctypes.data % HUGE
        begin = [aligned + partition * stride for partition in range(PARTITIONS)]
        self.begin = np.array([-(-place // (size * unit)) * unit for place in begin], np.int64)
        """The beginning of each partition, a multiple of the unit."""
        self._tails = [(place + SMALL, stride - SMALL) for place in begin] if stride > SMALL else []
        if hasattr(mmap, "MADV_HUGEPAGE"):
            pages.madvise(mmap.MADV_NOHUGEPAGE)

    def prepare_tails(self) -> None:
        """Use huge pages beyond the small ones, from now on.

        Before that the mapping is one piece. One piece for each partition costs milliseconds to make.
        """
        if hasattr(mmap, "MADV_HUGEPAGE"):
            while self._tails:
                self._pages.madvise(mmap.MADV_HUGEPAGE, *self._tails.pop())

    def give_back(self) -> None:
        """Free the memory; the content is lost."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._pages.madvise(mmap.MADV_DONTNEED)
