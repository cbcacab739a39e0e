"""States on their way to their buckets, and from there into the visited set: arrays throughout, never one by one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from spec.checking.local.kernels import ACTION_BITS, PARTITION_BITS, PARTITIONS, Array, Outbox, compiled, inlined
from spec.checking.rundir import Words


class Found(NamedTuple):
    """States that were reached, wherever they lie."""

    states: Array
    """Word after word."""
    marks: Array
    """In the lowest bits the lowest action that leads there."""
    ranges: Array
    """The first state, the one behind the last, and by how much the mark of a state lies before it."""


class ByBucket(NamedTuple):
    """The same states, bucket after bucket."""

    states: Words
    actions: np.ndarray[Any, np.dtype[np.uint16]]
    """The lowest one that leads there."""
    bounds: np.ndarray[Any, np.dtype[np.int64]]
    """Where each bucket begins; and the end."""


def by_bucket(found: Found, words: int, buckets: int) -> ByBucket:
    """Bring states together that have the same bucket, see `rundir.bucket_of`."""
    number, shape = int((found.ranges[:, 1] - found.ranges[:, 0]).sum()), (0,) * words
    its, bounds = np.empty(number, np.int32), np.zeros(buckets + 1, np.int64)
    _count(shape, found.states, found.ranges, its, bounds)
    np.cumsum(bounds, out=bounds)
    states, actions = np.empty((number, words), np.uint64), np.empty(number, np.uint16)
    _move(shape, *found, its, bounds.copy(), states.reshape(-1), actions)
    return ByBucket(states, actions, bounds)


# SplitMix64, as `rundir.bucket_of` has it: a bucket never changes, or runs could not be resumed.
_STRIDE, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


@inlined
def _mixed(states: Array, at: int, words: int) -> Any:
    mixed = uint64(0)
    for k in range(words):
        mixed = (mixed ^ states[at + k]) + uint64(_STRIDE)
        mixed = (mixed ^ (mixed >> uint64(30))) * uint64(_FIRST)
        mixed = (mixed ^ (mixed >> uint64(27))) * uint64(_SECOND)
        mixed ^= mixed >> uint64(31)
    return mixed


@compiled
def _count(shape: Any, states: Array, ranges: Array, its: Array, bounds: Array) -> None:
    """The bucket of each state, and behind the place of each bucket how many states it has."""
    words, buckets, number = len(shape), uint64(bounds.shape[0] - 1), 0
    for r in range(ranges.shape[0]):
        for at in range(ranges[r, 0], ranges[r, 1]):
            bucket = np.int64(_mixed(states, at * words, words) % buckets)
            its[number] = bucket
            bounds[bucket + 1] += 1
            number += 1


@compiled
def _move(
    shape: Any, states: Array, marks: Array, ranges: Array, its: Array, places: Array, moved: Array, actions: Array
) -> None:
    words, number = len(shape), 0
    action_bits = (uint64(1) << uint64(ACTION_BITS)) - uint64(1)
    for r in range(ranges.shape[0]):
        for at in range(ranges[r, 0], ranges[r, 1]):
            place = places[its[number]]
            places[its[number]] += 1
            number += 1
            for k in range(words):
                moved[place * words + k] = states[at * words + k]
            actions[place] = marks[at - ranges[r, 2]] & action_bits


@compiled
def post(shape: Any, states: Array, actions: Array, start: int, outbox: Outbox) -> int:
    """Send states off to a visited set, from the one with this number on; up to which is returned."""
    words = len(shape)
    room = outbox.marks.shape[0] // PARTITIONS
    for i in range(start, actions.shape[0]):
        # What distinguishes buckets should not distinguish partitions: a visited set has some buckets only.
        partition = np.int64(_mixed(states, i * words, words) >> uint64(64 - PARTITION_BITS))
        place = partition * room + outbox.count[partition]
        for k in range(words):
            outbox.states[place * words + k] = states[i * words + k]
        outbox.marks[place] = uint64(actions[i])
        outbox.count[partition] += 1
        if outbox.count[partition] == room:
            return i + 1
    return int(actions.shape[0])
