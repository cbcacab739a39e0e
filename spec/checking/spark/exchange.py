"""States on their way to their buckets, and from there into the visited set: always arrays, never single states."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from spec.checking.local.arrays import ACTION_BITS, MarkedRanges
from spec.checking.local.compiling import Kernels
from spec.checking.local.jit import Array, compiled, inlined, mixed
from spec.checking.local.rows import Rows, read_row, word_of
from spec.checking.local.shape import shape_of
from spec.checking.states.packed import Words
from spec.checking.states.splitmix import STRIDE


class ByBucket(NamedTuple):
    """The same states, bucket after bucket."""

    states: Words
    actions: np.ndarray[Any, np.dtype[np.uint16]]
    """The lowest action that leads to each state."""
    bounds: np.ndarray[Any, np.dtype[np.int64]]
    """The beginning of each bucket, and the end of the last."""


def load(kernels: Kernels) -> None:
    """Compile or load the code that moves states, see `local.compiling`."""
    words = kernels.words
    by_bucket(MarkedRanges.of(np.zeros((0, words), np.uint64), np.zeros(0, np.uint64)), words, 1)


def by_bucket(found: MarkedRanges, words: int, buckets: int) -> ByBucket:
    """Group states by their bucket, see `packed.bucket_of`."""
    number, shape = int((found.ranges[:, 1] - found.ranges[:, 0]).sum()), shape_of(words)
    its, bounds = np.empty(number, np.int32), np.zeros(buckets + 1, np.int64)
    _count(shape, found.rows, found.ranges, its, bounds)
    np.cumsum(bounds, out=bounds)
    states, actions = np.empty((number, words), np.uint64), np.empty(number, np.uint16)
    _move(shape, *found, its, bounds.copy(), states.reshape(-1), actions)
    return ByBucket(states, actions, bounds)


@inlined
def _bucket(rows: Rows, at: int, words: int, buckets: Any) -> Any:
    """See `packed.bucket_of`."""
    hashed = uint64(0)
    for k in range(words):
        hashed = mixed((hashed ^ word_of(rows, at, k, words)) + uint64(STRIDE))
    return np.int64(hashed % buckets)


@compiled
def _count(shape: Any, rows: Rows, ranges: Array, its: Array, bounds: Array) -> None:
    """The bucket of each state; and how many states each bucket has, stored one place after the bucket's own."""
    words, buckets, number = len(shape), uint64(bounds.shape[0] - 1), 0
    for r in range(ranges.shape[0]):
        for at in range(ranges[r, 0], ranges[r, 1]):
            bucket = _bucket(rows, at, words, buckets)
            its[number] = bucket
            bounds[bucket + 1] += 1
            number += 1


@compiled
def _move(
    shape: Any, rows: Rows, marks: Array, ranges: Array, its: Array, places: Array, moved: Array, actions: Array
) -> None:
    words, number = len(shape), 0
    action_bits = (uint64(1) << uint64(ACTION_BITS)) - uint64(1)
    for r in range(ranges.shape[0]):
        for at in range(ranges[r, 0], ranges[r, 1]):
            place = places[its[number]]
            places[its[number]] += 1
            number += 1
            read_row(rows, at, moved, place * words, words)
            actions[place] = marks[at - ranges[r, 2]] & action_bits
