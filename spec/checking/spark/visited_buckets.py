"""The visited states of some buckets, in the compiled visited set: a cache of the files of committed levels.

If they do not fit into memory, only new states are held. The files are then read level after level, and new states
that were visited before are struck out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numba import uint64

from spec.checking.local.arrays import ACTION_BITS, PARTITION_BITS, PARTITIONS, Outbox, Scratch, Storage
from spec.checking.local.compiling import Kernels
from spec.checking.local.jit import Array, compiled
from spec.checking.local.rows import equals_row
from spec.checking.local.storing import hash_of, place_of, post, tag_of
from spec.checking.local.visited import Visited
from spec.checking.machine.memory import OutOfMemory
from spec.checking.runs.rundir import LevelFile, RunDirectory
from spec.checking.spark.allotment import MemoryQuota
from spec.checking.states.packed_state import BYTES

ROOM = 512
"""States that are gathered for one partition of the visited set before they are looked up."""
STRUCK = 1 << ACTION_BITS
"""In the mark of a state: it is in a committed level."""


class VisitedBuckets:
    """The visited states of a worker's buckets, up to a level of each.

    Only states of committed levels count. New states are in the set before their level is committed, so that they
    need not be read again. A digest of the written states is remembered, and if something else was committed,
    everything is read anew. So are buckets that were lost, or settled by another worker.

    Half of the memory quota is for this; all of it, if the visited states do not fit and none stay here.

    Args:
        size: bytes of a state in memory.
    """

    def __init__(self, directory: RunDirectory, quota: MemoryQuota, size: int):
        self.directory = directory
        self._quota = quota
        self.beyond = False
        """Whether the visited states do not fit into memory."""
        self.visited = Visited(size, quota.size)
        self._sent = self._outbox()
        self._scratch = Scratch.of(self.visited.words, 0)
        self._levels: dict[int, int] = {}
        """By bucket: the level up to which its states are held."""
        self._written: dict[int, tuple[int, str]] = {}
        """By bucket: a level that was not yet committed when it was settled here, and the digest of its file."""
        self._settling = False
        self._committed: tuple[int, frozenset[int]] = 0, frozenset()
        """The level and buckets of the last `up_to`."""

    def _outbox(self) -> Outbox:
        words = self.visited.words
        room = max(16, min(ROOM, self._quota.size // 64 // (PARTITIONS * 8 * (words + 1))))
        return Outbox.of(words, room)

    def up_to(self, level: int, buckets: Sequence[int]) -> None:
        """Hold every state of these buckets in the levels up to this one, and none of a later level."""
        self._committed = level, frozenset(buckets)
        if self.beyond or self._settling or not self._holds(buckets, level):
            self.forget()
        if self.beyond:
            return
        try:
            for number, bucket in self._missing(level):
                for states in self.directory.pieces(number, bucket):
                    self._add(states, np.zeros(len(states), np.uint16))
        except OutOfMemory:
            self.beyond = True
            self.forget()
            return
        self._complete(np.zeros(1, np.int64))
        self._levels.update(dict.fromkeys(buckets, level))

    def _missing(self, level: int) -> Iterator[tuple[int, int]]:
        """The files of the requested buckets, up to a level, that are not held here."""
        _, buckets = self._committed
        for number in range(min((self._levels.get(each, 0) for each in buckets), default=level) + 1, level + 1):
            for file in self.directory.committed(number):
                if file.bucket in buckets and self._levels.get(file.bucket, 0) < number:
                    yield number, file.bucket

    def _holds(self, buckets: Sequence[int], level: int) -> bool:
        """Whether the states held of these buckets are those committed, and none is of a level beyond this one."""
        if any(self._levels.get(bucket, 0) > level for bucket in buckets):
            return False
        written = [(bucket, *self._written.pop(bucket)) for bucket in buckets if bucket in self._written]
        committed = {number: _digests(self.directory.committed(number)) for number in {at for _, at, _ in written}}
        return all(digest == committed[number].get(bucket, "") for bucket, number, digest in written)

    def settle(self, blocks: Iterable[tuple[Array, Array]], new_states: Array) -> None:
        """Make the newest level of the new states among these, each with the lowest action that leads to it.

        New states are counted by action. The blocks are of buckets that are `up_to` the level before. OutOfMemory if
        not even the new states fit.
        """
        self._settling = True
        for states, actions in blocks:
            self._add(states, actions)
        if self.beyond:
            self._strike()
        self._complete(new_states)

    def _strike(self) -> None:
        """Keep only states that are in no committed level."""
        level, _ = self._committed
        visited = self.visited
        for number, bucket in self._missing(level):
            for states in self.directory.pieces(number, bucket):
                strike(visited.shape, visited.storage, states.reshape(-1))
        self._keep()

    def _keep(self) -> None:
        """Hold only the newest states, and of these only those that are not struck."""
        self._complete(np.zeros(1 << ACTION_BITS, np.int64))
        rows, marks, ranges = self.visited.newest()
        kept = []
        for first, last, before in ranges.tolist():
            its = marks[first - before : last - before]
            new = its < STRUCK
            kept.append((rows.states(first, last)[new], its[new].astype(np.uint16)))
        self.visited.empty()
        waiting, self._sent = self._sent, self._outbox()
        self._settling = False  # the copy is made already
        for part, actions in kept:
            self._add(part, actions)
        self._sent, self._settling = waiting, True

    def settled(self, level: int, buckets: Iterable[int], files: Iterable[LevelFile]) -> None:
        """Record that the new states were written to these files of this level."""
        if self.beyond:
            self.forget()
            return
        digests = _digests(files)
        for bucket in buckets:
            self._levels[bucket] = level
            self._written[bucket] = level, digests.get(bucket, "")
        self._settling = False

    def forget(self) -> None:
        """Hold nothing; later requests are read from files again."""
        self._levels.clear()
        self._written.clear()
        self._settling = False
        self.visited.empty()
        self._sent.count[:] = 0

    def _add(self, states: Array, actions: Array) -> None:
        done, shape, flat = 0, self.visited.shape, states.reshape(-1)
        while done < len(actions):
            done = post(shape, flat, actions, done, self._sent)
            self._deliver()

    def _complete(self, new_states: Array) -> None:
        """Make the added states the newest level; earlier levels are not needed."""
        self.visited.levels.clear()
        self.visited.complete(new_states)

    def _deliver(self) -> None:
        if self.visited.needed(self._sent) > self._left():
            if self.beyond or not self._settling:
                raise OutOfMemory
            self.beyond = True
            self._levels.clear()
            self._written.clear()
            self._keep()
            if self.visited.needed(self._sent) > self._left():
                raise OutOfMemory
        self.visited.insert(0, PARTITIONS, self._sent, self._scratch)

    def _left(self) -> int:
        """Bytes that may still be taken, after a copy of the newest states."""
        left = self._quota.left - (0 if self.beyond else self._quota.size // 2)
        if not self._settling:
            return left
        storage = self.visited.storage
        newest = int((storage.size - storage.level).sum() + self._sent.count.sum())
        return left - (8 * self.visited.words + 10) * newest


def load(kernels: Kernels) -> None:
    """Compile or load the code that strikes states out, see `local.compiling`."""
    nothing = Visited(BYTES * kernels.words, memory=0)
    strike(nothing.shape, nothing.storage, np.zeros(0, np.uint64))


@compiled
def strike(shape: Any, storage: Storage, states: Array) -> None:
    """Mark the states of the newest level that are among these states."""
    words = len(shape)
    index = storage.index
    for i in range(states.shape[0] // words):
        mixed = hash_of(states, i * words, words)
        partition = np.int64(mixed >> uint64(64 - PARTITION_BITS))
        capacity = storage.capacity[partition]
        if capacity == 0:
            continue
        base, first = storage.begin[partition], storage.index_begin[partition]
        mark = storage.marks_begin[partition] - storage.level[partition]
        tag, place = tag_of(mixed), place_of(mixed, capacity)
        while index[first + place] != 0:
            entry = index[first + place]
            if (entry & np.uint32(0xFF000000)) == tag:
                number = np.int64(entry & np.uint32(0x00FFFFFF)) - 1
                if equals_row(storage.rows, base + number, states, i * words, words):
                    storage.marks[mark + number] |= uint64(STRUCK)
                    break
            place += 1
            if place == capacity:
                place = 0


def _digests(files: Iterable[LevelFile]) -> dict[int, str]:
    return {file.bucket: file.sha256 for file in files}
