"""Packed states, many at once: an array with a row of words for each.

A single state is bytes (`packed_state`); many states are rows of words, and no code handles them one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from spec.checking.states.splitmix import FIRST, MASK, SECOND, STRIDE, mixed

if TYPE_CHECKING:
    import pyarrow as pa

Words = npt.NDArray[np.uint64]
"""Packed states, a row of words for each."""


class ManyStates(Protocol):
    """A collection of packed states, such as `Words`. A slice, a mask or an array of numbers selects some of them."""

    def __len__(self) -> int: ...

    def __getitem__(self, which: Any, /) -> Words: ...


def words_of(states: Iterable[bytes], width: int) -> Words:
    """States as words, from so many bytes each; ValueError if one has another number of bytes."""
    every = list(states)
    for length in set(map(len, every)) - {width}:
        raise ValueError(f"a packed state of {length} bytes, and {width} were expected")
    return np.frombuffer(b"".join(every), ">u8").astype(np.uint64).reshape(-1, width // 8)


def bytes_of(states: Words) -> list[bytes]:
    """States in words, each as bytes."""
    found: list[bytes] = stored(states).view(f"V{8 * states.shape[1]}").ravel().tolist()
    return found


def in_code_order(states: Words) -> Words:
    """The same states, sorted."""
    if states.shape[1] == 1:  # a plain sort is several times as fast
        return np.sort(states, axis=0)
    return states[np.lexsort(states.T[::-1])]


def bucket_of(state: bytes, buckets: int) -> int:
    """The bucket of a packed state, the same in every process and every run."""
    hashed = 0
    for at in range(0, len(state), 8):
        hashed = mixed((hashed ^ int.from_bytes(state[at : at + 8], "big")) + STRIDE & MASK)
    return hashed % buckets


def buckets_of(states: Words, buckets: int) -> npt.NDArray[np.int64]:
    """The bucket of each state, see `bucket_of`."""
    return (_hashed(states) % buckets).astype(np.int64)


def sample(states: Words, most: int) -> list[bytes]:
    """At most so many of these states. A sample of samples of the parts is the same as a sample of the whole."""
    if len(states) > most:
        states = states[np.argpartition(_hashed(states), most)[:most]]
    return bytes_of(states)


def sample_of(parts: Iterable[ManyStates], most: int) -> list[bytes]:
    """The `sample` of the states of all parts."""
    chosen = [words_of(sample(part, most), 8 * part.shape[1]) for part in (kept[:] for kept in parts)]
    return sample(np.concatenate(chosen), most) if chosen else []


def stored(states: Words) -> npt.NDArray[Any]:
    """Words in the byte order of a file."""
    return np.ascontiguousarray(states, ">u8")


def from_column(column: pa.Array) -> Words:
    """A column of a file, as words."""
    width = column.type.byte_width
    if not len(column):
        return np.empty((0, width // 8), np.uint64)
    found = np.frombuffer(column.buffers()[1], ">u8", len(column) * width // 8, column.offset * width)
    return found.astype(np.uint64).reshape(len(column), -1)


def _hashed(states: Words) -> Words:
    """A hash of each state, mixed word after word: cheap on whole columns, and neighbours get unrelated hashes."""
    hashed = np.zeros(len(states), np.uint64)
    for column in states.T:
        hashed ^= column
        hashed += STRIDE
        hashed ^= hashed >> 30
        hashed *= FIRST
        hashed ^= hashed >> 27
        hashed *= SECOND
        hashed ^= hashed >> 31
    return hashed
