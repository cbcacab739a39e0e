"""The compiled loops that put states into the visited set: each goes to its partition, where it is found or added."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from spec.checking.local.arrays import (
    ACTION_BITS,
    AT_ONCE,
    PARTITION_BITS,
    PARTITIONS,
    TAG_SHIFT,
    Outbox,
    Scratch,
    Storage,
)
from spec.checking.local.intrinsics import prefetch
from spec.checking.local.jit import Array, compiled, inlined, part
from spec.checking.local.rows import equals_row, read_row, write_row


@inlined
def hash_of(states: Array, at: int, words: int) -> Any:
    """The hash that determines the partition, place and tag of a state."""
    mixed = uint64(0x9E3779B97F4A7C15)
    for k in range(words):
        mixed = (mixed ^ states[uint64(at + k)]) * uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> uint64(32)
    mixed *= uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> uint64(29))


@compiled
def post(shape: Any, states: Array, marks: Array, start: int, outbox: Outbox) -> int:
    """Send off states with their marks, from this number on; returns the number of the next one."""
    words = len(shape)
    for i in range(start, states.shape[0] // words):
        partition = np.int64(hash_of(states, i * words, words) >> uint64(64 - PARTITION_BITS))
        place = (partition * outbox.room + outbox.count[partition]) * (words + 1)
        for k in range(words):
            outbox.records[place + k] = states[i * words + k]
        outbox.records[place + words] = uint64(marks[i])
        outbox.count[partition] += 1
        if outbox.count[partition] == outbox.room:
            return i + 1
    return states.shape[0] // words


@inlined
def place_of(mixed: Any, capacity: int) -> Any:
    """The first place to look for a state in an index of any length."""
    return np.int64(((mixed & uint64(0xFFFFFFFF)) * uint64(capacity)) >> uint64(32))


@inlined
def tag_of(mixed: Any) -> Any:
    """The part of a hash that an index keeps beside the number of the state."""
    return ((mixed >> uint64(40)) & uint64(0xFF)) << uint64(TAG_SHIFT)


@part
def _index_anew(shape: Any, storage: Storage, partition: int, capacity: int, registers: Array) -> None:
    """Build the index of a partition from its states."""
    words = len(shape)
    base, first = storage.begin[partition], storage.index_begin[partition]
    index = storage.index
    for place in range(first, first + capacity):
        index[uint64(place)] = 0
    storage.capacity[partition] = capacity
    for number in range(storage.size[partition]):
        read_row(storage.rows, base + number, registers, 0, words)
        mixed = hash_of(registers, 0, words)
        place = place_of(mixed, capacity)
        while index[uint64(first + place)] != 0:
            place += 1
            if place == capacity:
                place = 0
        index[uint64(first + place)] = np.uint32(tag_of(mixed) | uint64(number + 1))


@compiled
def insert(
    shape: Any, storage: Storage, first_partition: int, last_partition: int, sent: Outbox, scratch: Scratch
) -> int:
    """Put the states that workers sent to the partitions from the first up to the last into the visited set.

    Returns a partition that is full, or -1. States are looked up in batches: each place is prefetched before it is
    read.
    """
    words = len(shape)
    records, count, size_of_record = sent.records, sent.count, words + 1
    workers = count.shape[0] // PARTITIONS
    most = storage.room
    index, rows, newest = storage.index, storage.rows, storage.marks
    mixes, places = scratch.mixes, scratch.places
    actions = (uint64(1) << uint64(ACTION_BITS)) - uint64(1)
    for partition in range(first_partition, last_partition):
        base, first = storage.begin[partition], storage.index_begin[partition]
        capacity, size, level = storage.capacity[partition], storage.size[partition], storage.level[partition]
        mark = storage.marks_begin[partition] - level
        for worker in range(workers):
            start = (worker * PARTITIONS + partition) * sent.room
            stop = start + count[worker * PARTITIONS + partition]
            for begin in range(start, stop, AT_ONCE):
                end = min(begin + AT_ONCE, stop)
                if size + AT_ONCE > most:
                    storage.size[partition] = size
                    return partition
                if 4 * (size + AT_ONCE) >= 3 * capacity:
                    storage.size[partition] = size
                    capacity = min(storage.index_room, max(np.int64(128), capacity + capacity // 2))
                    _index_anew(shape, storage, partition, capacity, scratch.registers)
                for i in range(begin, end):
                    mixed = hash_of(records, i * size_of_record, words)
                    place = place_of(mixed, capacity)
                    mixes[uint64(i - begin)], places[uint64(i - begin)] = mixed, place
                    prefetch(index, first + place)
                for i in range(begin, end):
                    tag, place = tag_of(mixes[uint64(i - begin)]), places[uint64(i - begin)]
                    entry = index[uint64(first + place)]
                    while entry != 0 and (entry & np.uint32(0xFF000000)) != tag:
                        place += 1
                        if place == capacity:
                            place = 0
                        entry = index[uint64(first + place)]
                    places[uint64(i - begin)] = place
                    if entry != 0:
                        number = np.int64(entry & np.uint32(0x00FFFFFF)) - 1
                        prefetch(rows.bytes, (base + number) * rows.size)
                        prefetch(rows.bytes, (base + number + 1) * rows.size - 1)
                        if number >= level:
                            prefetch(newest, mark + number)
                for i in range(begin, end):
                    tag, place = tag_of(mixes[uint64(i - begin)]), places[uint64(i - begin)]
                    at = i * size_of_record
                    while True:
                        entry = index[uint64(first + place)]
                        if entry == 0:
                            write_row(rows, base + size, records, at, words)
                            newest[uint64(mark + size)] = records[uint64(at + words)]
                            size += 1
                            index[uint64(first + place)] = np.uint32(tag | uint64(size))
                            break
                        if (entry & np.uint32(0xFF000000)) == tag:
                            number = np.int64(entry & np.uint32(0x00FFFFFF)) - 1
                            if equals_row(rows, base + number, records, at, words):
                                if number >= level:
                                    one, other = newest[uint64(mark + number)], records[uint64(at + words)]
                                    action = min(one & actions, other & actions)
                                    newest[uint64(mark + number)] = action | ((one | other) & ~actions)
                                break
                        place += 1
                        if place == capacity:
                            place = 0
            count[worker * PARTITIONS + partition] = 0
        storage.size[partition] = size
    return -1


@compiled
def credit(storage: Storage, new_states: Array) -> None:
    """Count the states of the newest level by the lowest action that led there."""
    actions = (uint64(1) << uint64(ACTION_BITS)) - uint64(1)
    for partition in range(storage.size.shape[0]):
        first = storage.marks_begin[partition]
        for i in range(first, first + storage.size[partition] - storage.level[partition]):
            new_states[storage.marks[i] & actions] += 1
