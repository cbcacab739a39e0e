"""The data of the kernels: flat arrays, bundled, with names for their columns.

An enumeration names the columns of an array, or the places of a short one; numba compiles its members as constants.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from spec.checking.local.jit import Array
from spec.checking.local.rows import Rows

PARTITION_BITS = 8
PARTITIONS = 1 << PARTITION_BITS
BATCH = 32
"""States that are expanded together."""
WALKS = 1 << 12
"""Walks of properties of steps that are gathered before they are done."""
LOOKUPS = 20
"""The most lookups in masks, besides those of single groups."""
MEMO = 1 << 17
"""Words of the memo of masks: a megabyte, which fits the cache of a core."""
LINE = 8
"""Words of a line of the cache."""
AT_ONCE = 64
"""States that are looked up at once."""
TAG_SHIFT = 24
ACTION_BITS = 16
INHERITED = 64 - ACTION_BITS
"""Tables whose outcome is passed on from state to state: the last ones of actions and properties of states."""
MET, RAISED = 1, 2
"""Flags, one bit each, as a level may have both: an outcome other than the usual one; an evaluation that raised."""


class Program(NamedTuple):
    """Decision tables, as in `tables.DecisionTables`, and the action or property of each."""

    code: Array
    root: Array
    compact: Array
    """The same tables, see `compact`: as they were when this program was made, whatever a worker learns meanwhile."""
    compact_root: Array
    """The root of each table; the last one is for no table."""
    inner: int
    """Nodes before this place are outcomes."""
    fields: Array
    """The bits of a register that their nodes examine."""
    effects: Array
    spans: Array
    copies: Array
    affects: Array
    """By effect: the tables that read a slot it writes."""
    off: Array
    pieces: Array
    """How masks are looked up, with the columns of `LookupPiece`; see `masks.Masks`."""
    lookups: int
    """The number of lookups."""
    remembered: int
    remembered_pieces: int
    """The number of the first lookups, whose result is remembered, and of their pieces; or 0."""
    relevant: Array
    """By word, the bits that they read."""
    step_of: Array
    """For each instance of an action: the action, and the instance << 16. After them: the value for no step."""
    actions: int
    judging: int
    tables: int
    """Tables below `actions` are of actions, below `judging` of properties of states, below `tables` of steps."""


class LookupPiece(IntEnum):
    """The columns of `Program.pieces`: a group of bits, and what its value adds to the number of the row."""

    WORD = 0
    SHIFT = 1
    MASK = 2
    AT = 3
    """The shift of its value in the number of the row."""
    FIRST = 4
    """For the last group of a lookup: the row in which its values begin."""
    LAST = 5
    """Whether it is the last group of a lookup."""


class CopiedSlot(IntEnum):
    """The columns of `Program.copies`."""

    FROM = 0
    FROM_SHIFT = 1
    TO = 2
    TO_SHIFT = 3
    MASK = 4


class StateRange(IntEnum):
    """The columns of ranges of states."""

    FIRST = 0
    BEHIND = 1
    """One past the last state."""
    MARKS = 2
    """How many places earlier the marks of these states are; only where there are any."""


class Cursor(IntEnum):
    """The places of `WorkerOutput.cursor`."""

    RANGE = 0
    STATE = 1
    """The next state, and its range."""
    MISSING = 2
    PUT_OFF = 3
    """The numbers of missing paths and of deferred states."""
    STOP = 4
    """Not 0: the worker must return."""


class PutOff(IntEnum):
    """The columns of `WorkerOutput.put_off`."""

    STATE = 0
    MARKS = 1
    """As in `StateRange`."""


class StateRanges(NamedTuple):
    """Some of the states in rows, as ranges of neighbours."""

    rows: Rows
    ranges: Array
    """With the first two columns of `StateRange`."""

    @classmethod
    def of(cls, states: Array) -> StateRanges:
        """All states of an array with a row of words for each."""
        return cls(Rows.of(states), np.array([(0, len(states))], np.int64))

    @property
    def size(self) -> int:
        """The number of states."""
        return int((self.ranges[:, StateRange.BEHIND] - self.ranges[:, StateRange.FIRST]).sum())

    def split(self, parts: int) -> list[Array]:
        """The same states in so many parts of about equal size, each as ranges."""
        first = self.ranges[:, StateRange.FIRST]
        size = self.ranges[:, StateRange.BEHIND] - first
        before, total = np.cumsum(size) - size, size.sum()
        bounds = [first + np.clip(total * part // parts - before, 0, size) for part in range(parts + 1)]
        return [np.stack(pair, axis=1) for pair in pairwise(bounds)]


class MarkedRanges(NamedTuple):
    """Some states, with facts about each from the step that led there. Only the newest level has these."""

    rows: Rows
    marks: Array
    """The mark of each state, see `Storage`; 0 if nothing is known about it."""
    ranges: Array
    """With the columns of `StateRange`."""

    @classmethod
    def of(cls, states: Array, marks: Array) -> MarkedRanges:
        """All states of an array with a row of words for each."""
        return cls(Rows.of(states), marks, np.array([(0, len(states), 0)], np.int64))

    @property
    def unmarked(self) -> StateRanges:
        """The states without their marks."""
        return StateRanges(self.rows, np.ascontiguousarray(self.ranges[:, : StateRange.MARKS]))


class Storage(NamedTuple):
    """The visited set: partitions of `room` states each, in order of arrival, with an index on each."""

    rows: Rows
    index: Array
    """In each partition: tag << 24 | number of the state + 1, or 0."""
    marks: Array
    """For the states of each partition's newest level, from its first on: the lowest action that led to the state,
    and << ACTION_BITS the tables that have the usual outcome there because they had it in the state before."""
    size: Array
    capacity: Array
    """Of the index."""
    level: Array
    """The beginning of the newest level in each partition."""
    room: int
    index_room: int
    """The most states of a partition; the most entries of its index."""
    begin: Array
    index_begin: Array
    marks_begin: Array
    """The beginning of each partition's states, index and marks."""


class Outbox(NamedTuple):
    """The successors of one worker, or of all, on their way to their partitions."""

    records: Array
    """For each worker and partition, room for so many successors: the words of a state, and its mark."""
    count: Array
    """The number for each worker and partition."""
    room: int

    @classmethod
    def of(cls, words: int, room: int, workers: int = 1) -> Outbox:
        """An empty outbox; its memory is taken as it is written to."""
        places = workers * PARTITIONS
        return cls(np.zeros(places * room * (words + 1), np.uint64), np.zeros(places, np.int64), room)

    def of_worker(self, number: int) -> Outbox:
        """The part of one worker."""
        each = PARTITIONS * number, PARTITIONS * (number + 1)
        size = len(self.records) // len(self.count)
        return Outbox(self.records[each[0] * size : each[1] * size], self.count[each[0] : each[1]], self.room)


class WorkerOutput(NamedTuple):
    """The results of a worker's expansions, and its progress."""

    flags: Array
    """By table: `MET`, `RAISED`, both or neither. After them, the flag for states without steps."""
    enabled: Array
    """By action: states in which some instance is enabled."""
    taken: Array
    """By action: steps."""
    unchanging: Array
    """By action: how often its successor was the same state, or none."""
    bounded: Array
    """By action: states in which a bound forbids a step of it."""
    missing: Array
    """Paths that are not learned yet: the table, and the registers; 1 + 2 * words + 1 each."""
    put_off: Array
    """States deferred until those are learned, with the columns of `PutOff`."""
    cursor: Array
    """See `Cursor`."""


class Scratch(NamedTuple):
    """Working memory of one worker, for a batch of states."""

    registers: Array
    """A row for each state: its words, those of the state before, and the step."""
    after: Array
    """The same, with a row for each successor."""
    by: Array
    effect: Array
    """For each successor: the table that led there, and its effect."""
    forbidden: Array
    """State by state, the actions that have a step which a bound forbids."""
    ends_forbidden: Array
    """For each state, the number of them up to and including it."""
    live: Array
    steady: Array
    """A row for each state: the tables that are walked there; and those known to have the usual outcome."""
    rows: Array
    """For each state, the rows of the masks. If lookups are remembered, the first one is the place in the memo."""
    memo: Array
    """Results of lookups that are remembered, each at a place that a hash of its relevant bits gives: these bits,
    word by word, and the tables that are left."""
    tables: Array
    bases: Array
    outcomes: Array
    """Walks: the table, the beginning of its registers, and the outcome."""
    ends: Array
    """For each state, the number of walks up to and including it, and the number of successors."""
    lacking: Array
    """For each state, whether something about it is not learned yet."""
    mixes: Array
    places: Array

    @classmethod
    def of(cls, words: int, tables: int) -> Scratch:
        """Working memory for states of so many words, and so many tables."""
        masks, reach, each = max(1, (tables + 63) // 64), 2 * words + 1, BATCH * (tables + 1)
        walks = max(each, WALKS + tables) + 8
        return cls(
            registers=np.zeros(BATCH * reach, np.uint64),
            after=np.zeros(each * reach, np.uint64),
            by=np.zeros(each, np.int64),
            effect=np.zeros(each, np.int64),
            forbidden=np.zeros(each, np.uint64),
            ends_forbidden=np.zeros(BATCH, np.int64),
            live=np.zeros(BATCH * masks, np.uint64),
            steady=np.zeros(BATCH * masks, np.uint64),
            rows=np.zeros(BATCH * (LOOKUPS + 64 * words + 1), np.uint64),
            memo=_aligned(MEMO // (words + masks) * (words + masks)),
            tables=np.zeros(walks, np.int64),
            bases=np.zeros(walks, np.int64),
            outcomes=np.zeros(walks, np.int64),
            ends=np.zeros(2 * BATCH, np.int64),
            lacking=np.zeros(BATCH, np.int64),
            mixes=np.zeros(AT_ONCE, np.uint64),
            places=np.zeros(AT_ONCE, np.int64),
        )

    def forget(self) -> None:
        """Forget the results of lookups. An entry of ones rules out no table, whatever state it is for."""
        self.memo[:] = ~np.uint64(0)


def _aligned(words: int) -> Array:
    """An array of ones that begins with a line of the cache."""
    array = np.full(words + LINE, ~np.uint64(0))
    first = -(array.ctypes.data // 8) % LINE
    return array[first : first + words]
