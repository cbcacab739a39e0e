"""Rows: states kept one after the other, each in the fewest whole bytes that hold its bits.

Kernels compute with the words of a state, in registers. But a search keeps millions of states, and half of a last
word is often free. So a row ends with the last byte that a slot reaches: 135 bits are 17 bytes, not three words of 8.
Rows begin anywhere; today's processors read words from any address equally fast.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from spec.checking.local.intrinsics import load, store
from spec.checking.local.jit import Array, inlined
from spec.checking.states.packed import Words
from spec.checking.states.packed_state import BYTES


class Rows(NamedTuple):
    """The rows of an array of bytes."""

    bytes: Array
    """With room for another word after the last row."""
    size: int
    """Bytes of a row."""
    free: Any
    """How many low bits of the last word are not kept; they are 0 in every state."""

    @classmethod
    def of(cls, states: Words) -> Rows:
        """The rows of an array with whole words."""
        size = BYTES * states.shape[1]
        return cls(states.reshape(-1).view(np.uint8), size, np.uint64(0))

    @classmethod
    def within(cls, room: Array, size: int) -> Rows:
        """Rows of so many bytes in an array of bytes."""
        return cls(room, size, np.uint64(8 * (-size % BYTES)))

    def states(self, first: int = 0, behind: int | None = None) -> KeptStates:
        """The states from the first row up to another one, or to the end."""
        behind = len(self.bytes) // self.size if behind is None else behind
        return KeptStates(self.bytes[first * self.size : behind * self.size].reshape(-1, self.size))


class KeptStates:
    """States in rows, used like an array of words: a slice, a mask or an array of numbers makes words of some."""

    def __init__(self, rows: Array):
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, which: Any) -> Words:
        chosen, size = self._rows[which], self._rows.shape[1]
        if size % BYTES:
            last, missing = size // BYTES * BYTES, -size % BYTES
            words = np.zeros((len(chosen), size + missing), np.uint8)
            words[:, :last] = chosen[:, :last]
            words[:, last + missing :] = chosen[:, last:]
            chosen = words
        found: Words = chosen.view(np.uint64)
        return found


def size_of(least: int, words: int) -> int:
    """The bytes of a row for states of at least so many bytes, in so many words.

    A machine that keeps the high byte of a word first would lose its low bytes: there, rows have whole words.
    """
    return least if sys.byteorder == "little" else BYTES * words


@inlined
def word_of(rows: Rows, at: int, k: int, words: int) -> Any:
    """A word of the state in a row."""
    word = load(rows.bytes, at * rows.size + BYTES * k)
    return word << rows.free if k == words - 1 else word


@inlined
def unpack(rows: Rows, at: int, registers: Array, base: int, words: int) -> None:
    """Load the state in a row."""
    for k in range(words):
        registers[np.uint64(base + k)] = word_of(rows, at, k, words)


@inlined
def put(rows: Rows, at: int, states: Array, start: int, words: int) -> None:
    """Keep a state in a row. What is behind this row is lost: rows are written in their order."""
    for k in range(words):
        word = states[np.uint64(start + k)]
        store(rows.bytes, at * rows.size + BYTES * k, word >> rows.free if k == words - 1 else word)


@inlined
def is_in(rows: Rows, at: int, states: Array, start: int, words: int) -> bool:
    """Whether a row has this state."""
    same = True
    for k in range(words):
        same &= word_of(rows, at, k, words) == states[np.uint64(start + k)]
    return same
