"""The visited states of some buckets, in the compiled visited set: a cache of what the committed files say."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from spec.checking.local.kernels import PARTITIONS, Outbox, Scratch, post
from spec.checking.local.visited import OutOfMemory, Visited
from spec.checking.packed import Words
from spec.checking.rundir import LevelFile, RunDirectory

ROOM = 512
"""States that are gathered for one partition before they are looked up."""

Array = np.ndarray[Any, Any]


class Known:
    """What was visited of the buckets that somebody was given, up to a level of each.

    Nothing counts but what is in a level that is committed. New states are in the set before their level is,
    so that they need not be read again if it is; a digest of what was written of them is remembered, and if something
    else was committed, everything is read anew. So is what was lost, or done by somebody else.
    """

    def __init__(self, directory: RunDirectory):
        words = directory.width // 8
        self.directory = directory
        self.visited = Visited(words, memory())
        self._sent = Outbox(
            np.zeros(PARTITIONS * ROOM * words, np.uint64),
            np.zeros(PARTITIONS * ROOM, np.uint64),
            np.zeros(PARTITIONS, np.int64),
        )
        self._scratch = Scratch.of(words, 0)
        self._levels: dict[int, int] = {}
        """By bucket: up to which level its states are there."""
        self._written: dict[int, tuple[int, str]] = {}
        """By bucket: a level that was not committed when it was settled here, and the digest of what was written."""
        self._settling = False

    def up_to(self, level: int, buckets: Sequence[int]) -> None:
        """Have every state of these buckets of the levels up to this one, and none of them beyond."""
        if self._settling or not self._holds(buckets, level):
            self.forget()
        for number in range(min((self._levels.get(bucket, 0) for bucket in buckets), default=level) + 1, level + 1):
            for file in self.directory.committed(number):
                if file.bucket in buckets and self._levels.get(file.bucket, 0) < number:
                    states = self.directory.read_array(number, file.bucket)
                    self._add(states, np.zeros(len(states), np.uint16))
        self._complete(np.zeros(1, np.int64))
        self._levels.update(dict.fromkeys(buckets, level))

    def _holds(self, buckets: Sequence[int], level: int) -> bool:
        """Whether what there is of these buckets is what was committed, and nothing beyond a level."""
        if any(self._levels.get(bucket, 0) > level for bucket in buckets):
            return False
        written = [(bucket, *self._written.pop(bucket)) for bucket in buckets if bucket in self._written]
        committed = {number: _digests(self.directory.committed(number)) for number in {at for _, at, _ in written}}
        return all(digest == committed[number].get(bucket, "") for bucket, number, digest in written)

    def settle(self, blocks: Iterable[tuple[Array, Array]], new_states: Array) -> Words:
        """Let the next level have those of these states that are new, each with the lowest action that led there.

        They are returned, and counted by action. The blocks are of buckets that are `up_to` the level before.
        """
        self._settling = True
        for states, actions in blocks:
            self._add(states, actions)
        self._complete(new_states)
        return self.visited.level(1)

    def settled(self, level: int, buckets: Iterable[int], files: Iterable[LevelFile]) -> None:
        """The new states were written to these files, of this level."""
        digests = _digests(files)
        for bucket in buckets:
            self._levels[bucket] = level
            self._written[bucket] = level, digests.get(bucket, "")
        self._settling = False

    def forget(self) -> None:
        """Hold nothing any more; what is asked for next is read again."""
        self._levels.clear()
        self._written.clear()
        self._settling = False
        empty(self.visited)
        self._sent.count[:] = 0

    def _add(self, states: Array, actions: Array) -> None:
        done, shape, flat = 0, self.visited.shape, states.reshape(-1)
        while done < len(actions):
            done = post(shape, flat, actions, done, self._sent)
            self._deliver()

    def _complete(self, new_states: Array) -> None:
        """Let what was added be the newest level; nobody asks for the others."""
        self.visited.levels.clear()
        self.visited.complete(new_states)

    def _deliver(self) -> None:
        try:
            self.visited.insert(0, PARTITIONS, self._sent, self._scratch)
        except OutOfMemory:
            raise MemoryError("the visited states do not fit into the memory of one process") from None


def empty(visited: Visited) -> None:
    """Let there be nothing in a visited set. It keeps its memory, which is as much as will be needed again."""
    for numbers in (visited.storage.size, visited.storage.level, visited.storage.capacity):
        numbers[:] = 0
    visited.levels.clear()


@cache
def memory() -> int:
    """The bytes that this machine has. Those who share it are not asked: address space is all that is taken."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _digests(files: Iterable[LevelFile]) -> dict[int, str]:
    return {file.bucket: file.sha256 for file in files}
