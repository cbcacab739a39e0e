"""What kernels work on: flat arrays, bundled and with names for their columns.

An enumeration names the columns of an array, or the places of a short one; numba takes its members as the constants
that they are.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from spec.checking.local.jit import Array
from spec.checking.local.representing import NONE, Orbits, OrbitScratch

PARTITION_BITS = 8
PARTITIONS = 1 << PARTITION_BITS
BATCH = 16
"""States that are expanded together."""
WALKS = 1 << 12
"""Walks of properties of steps that are gathered before they are done."""
LOOKUPS = 20
"""In masks, at most, beside those of single groups."""
AT_ONCE = 64
"""States that are looked up at once."""
TAG_SHIFT = 24
ACTION_BITS = 16
INHERITED = 64 - ACTION_BITS
"""Tables whose outcome is handed on from state to state: the last ones of actions and properties of states."""
MET, RAISED = 1, 2
"""Flags, a bit each, for a level may have both: an outcome other than the usual one; an evaluation that raised."""


class Program(NamedTuple):
    """Decision tables, as `tables.DecisionTables` has them, and which action or property each belongs to."""

    code: Array
    root: Array
    compact: Array
    """The same tables, see `compact`: as they were when this program was made, whatever a worker learns meanwhile."""
    compact_root: Array
    """Where each begins; and the last one, where nothing does."""
    inner: int
    """What lies before is an outcome."""
    fields: Array
    """The bits at which their nodes look, of a register."""
    effects: Array
    spans: Array
    copies: Array
    affects: Array
    """By effect: the tables that look at something it writes."""
    off: Array
    pieces: Array
    """How masks are looked up, with the columns of `LookupPiece`; see `masks.Masks`."""
    lookups: int
    """How many lookups these are."""
    step_of: Array
    """Of each instance of an action: the action, and the instance << 16. Behind them: what stands for no step."""
    actions: int
    judging: int
    tables: int
    """Tables below `actions` are of actions, below `judging` of properties of states, below `tables` of steps."""
    orbits: Orbits


class LookupPiece(IntEnum):
    """The columns of `Program.pieces`: a group of bits, and what its value does for the row that is looked up."""

    WORD = 0
    SHIFT = 1
    MASK = 2
    AT = 3
    """How far left its value stands in the number of the row."""
    FIRST = 4
    """Of the last group of a lookup: the row in which its values begin."""
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
    """The one behind the last."""
    MARKS = 2
    """By how much the marks of these states lie before them; only where there are any."""


class Cursor(IntEnum):
    """The places of `WorkerOutput.cursor`."""

    RANGE = 0
    STATE = 1
    """The next state, and the range that it is of."""
    MISSING = 2
    PUT_OFF = 3
    """How many paths are missing, and how many states are put off."""
    STOP = 4
    """Not 0: the worker is to return."""


class PutOff(IntEnum):
    """The columns of `WorkerOutput.put_off`."""

    STATE = 0
    MARKS = 1
    """As in `StateRange`."""


class StateRanges(NamedTuple):
    """Some states of an array, in ranges of neighbours."""

    words: Array
    """Word after word."""
    ranges: Array
    """With the first two columns of `StateRange`."""

    @classmethod
    def of(cls, states: Array) -> StateRanges:
        """All states of an array that has a row of words for each."""
        return cls(states.reshape(-1), np.array([(0, len(states))], np.int64))

    @property
    def size(self) -> int:
        """How many states there are."""
        return int((self.ranges[:, StateRange.BEHIND] - self.ranges[:, StateRange.FIRST]).sum())


class MarkedRanges(NamedTuple):
    """Some states, with what is known of each from the step that led there. Only the newest level has that."""

    words: Array
    """Word after word."""
    marks: Array
    """Of each state, see `Storage`; 0 where nothing is known of it."""
    ranges: Array
    """With the columns of `StateRange`."""

    @classmethod
    def of(cls, states: Array, marks: Array) -> MarkedRanges:
        """All states of an array that has a row of words for each."""
        return cls(states.reshape(-1), marks, np.array([(0, len(states), 0)], np.int64))

    @property
    def unmarked(self) -> StateRanges:
        """The states by themselves."""
        return StateRanges(self.words, np.ascontiguousarray(self.ranges[:, : StateRange.MARKS]))


class Storage(NamedTuple):
    """The visited set: partitions of `room` states each, in the order in which they came, with an index on each."""

    states: Array
    index: Array
    """In each partition: tag << 24 | number of the state + 1, or 0."""
    marks: Array
    """Of the states of the newest level, from the first of it on in each partition: the lowest action that led there,
    and << ACTION_BITS the tables that have the usual outcome there because they had it before."""
    size: Array
    capacity: Array
    """Of the index."""
    level: Array
    """Where the newest level begins in each partition."""
    room: int
    index_room: int
    """States that a partition can take; entries that its index can take."""
    begin: Array
    index_begin: Array
    marks_begin: Array
    """Where each partition begins: its states, its index, its marks."""


class Outbox(NamedTuple):
    """Successors on their way to their partitions, of one worker."""

    states: Array
    marks: Array
    count: Array
    """In each partition."""


class WorkerOutput(NamedTuple):
    """What came of the states that a worker expanded, and how far it is."""

    flags: Array
    """By table, what was met: `MET`, `RAISED`, both or neither. Behind them, of states without steps."""
    enabled: Array
    """By action: states in which some instance is enabled."""
    taken: Array
    """By action."""
    unchanging: Array
    """By action: how often its successor was the same state, or none."""
    missing: Array
    """Paths that are not learned yet: the table, and the registers; 1 + 2 * words + 1 each."""
    put_off: Array
    """States that have to wait for that, with the columns of `PutOff`."""
    cursor: Array
    """See `Cursor`."""


class Scratch(NamedTuple):
    """Room to work in, of one worker, for a batch of states."""

    registers: Array
    """A row for each state: its words, those of the state before, and the step."""
    after: Array
    """The same, a row for each successor."""
    by: Array
    effect: Array
    """Of each successor: the table that led there, and how."""
    live: Array
    steady: Array
    """A row for each state: the tables that are walked there; and those that are known to have the usual outcome."""
    rows: Array
    """Of the masks, for each state."""
    tables: Array
    bases: Array
    outcomes: Array
    """Walks: the table, where its registers begin, and what came of it."""
    ends: Array
    """For each state, how many walks there are up to there, and how many successors."""
    lacking: Array
    """For each state, whether something of it is not learned yet."""
    mixes: Array
    places: Array
    orbits: OrbitScratch

    @classmethod
    def of(cls, words: int, tables: int, orbits: Orbits = NONE) -> Scratch:
        """For states of so many words, so many tables, and these orbits."""
        masks, reach, each = (tables + 63) // 64, 2 * words + 1, BATCH * (tables + 1)
        walks = max(each, WALKS + tables) + 8
        return cls(
            registers=np.zeros(BATCH * reach, np.uint64),
            after=np.zeros(each * reach, np.uint64),
            by=np.zeros(each, np.int64),
            effect=np.zeros(each, np.int64),
            live=np.zeros(BATCH * masks, np.uint64),
            steady=np.zeros(BATCH * masks, np.uint64),
            rows=np.zeros(BATCH * (LOOKUPS + 64 * words + 1), np.uint64),
            tables=np.zeros(walks, np.int64),
            bases=np.zeros(walks, np.int64),
            outcomes=np.zeros(walks, np.int64),
            ends=np.zeros(2 * BATCH, np.int64),
            lacking=np.zeros(BATCH, np.int64),
            mixes=np.zeros(AT_ONCE, np.uint64),
            places=np.zeros(AT_ONCE, np.int64),
            orbits=OrbitScratch.of(words, orbits),
        )
