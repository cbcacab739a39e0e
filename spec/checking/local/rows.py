"""Rows: states kept one after the other, each in the fewest whole bytes that hold its bits.

Kernels compute with the words of a state, in registers. But a search keeps millions of states, and half of a last
word is often free. So a row ends with the last byte that a slot reaches: 135 bits are 17 bytes, not three words of 8.
Rows begin anywhere. Processors read a word from any address, and only one that lies in two lines of the cache costs
more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spec.checking.local.intrinsics import load, store
from spec.checking.local.jit import Array, inlined
from spec.checking.states.packed import Words
from spec.checking.states.packed_state import BYTES
from spec.language.cells import WORD
from spec.language.state import Layout


class Rows(NamedTuple):
    """The rows of an array of bytes."""

    bytes: Array
    """It is at least `free` bits longer than all rows together."""
    size: int
    """Bytes of a row."""
    free: Any
    """How many low bits of the last word are not kept; they are 0 in every state."""

    @classmethod
    def of(cls, states: Words) -> Rows:
        """The rows of an array with whole words."""
        return cls.within(np.ascontiguousarray(states).reshape(-1).view(np.uint8), BYTES * states.shape[1])

    @classmethod
    def within(cls, room: Array, size: int) -> Rows:
        """Rows of so many bytes in an array of bytes."""
        return cls(room, size, np.uint64(8 * (-size % BYTES)))

    def states(self, first: int = 0, behind: int | None = None) -> KeptStates:
        """The states in the rows from `first` up to `behind`, or up to the end."""
        unkept = -self.size % BYTES
        behind = (len(self.bytes) - unkept) // self.size if behind is None else behind
        shape = behind - first, (self.size + unkept) // BYTES
        words = np.ndarray(shape, np.uint64, self.bytes, first * self.size, (self.size, BYTES))
        return KeptStates(words, self.free)


class KeptStates:
    """States in rows. A slice, a mask or an array of numbers selects some of them, as an array of words."""

    def __init__(self, words: Words, free: Any):
        self._words, self._free = words, free

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, which: Any) -> Words:
        chosen: Words = self._words[which]
        if self._free:
            chosen = chosen.copy()
            chosen[:, -1] <<= self._free
        return chosen


def size_of(layout: Layout) -> int:
    """Bytes of a row: up to the last byte that a slot reaches, and at least one."""
    free = layout.slots[-1].shift if layout.slots else WORD - 1
    return BYTES * layout.words - free // 8


@inlined
def word_of(rows: Rows, at: int, k: int, words: int) -> Any:
    """A word of the state in a row."""
    word = load(rows.bytes, at * rows.size + BYTES * k)
    return word << rows.free if k == words - 1 else word


@inlined
def read_row(rows: Rows, at: int, registers: Array, base: int, words: int) -> None:
    """Copy the state in a row into registers."""
    for k in range(words):
        registers[np.uint64(base + k)] = word_of(rows, at, k, words)


@inlined
def write_row(rows: Rows, at: int, states: Array, start: int, words: int) -> None:
    """Write a state into a row, and up to seven zeros after it: so rows must be written in order."""
    for k in range(words):
        word = states[np.uint64(start + k)]
        store(rows.bytes, at * rows.size + BYTES * k, word >> rows.free if k == words - 1 else word)


@inlined
def equals_row(rows: Rows, at: int, states: Array, start: int, words: int) -> bool:
    """Whether the state in a row equals another one."""
    same = True
    for k in range(words):
        same &= word_of(rows, at, k, words) == states[np.uint64(start + k)]
    return same
