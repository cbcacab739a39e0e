"""The compiled loops: decision tables are walked, and states are found again or are new.

Plain functions over flat arrays, compiled by numba for each number of words that a state takes and kept on disk.
They allocate next to nothing, hold no lock of Python's, and know neither actions nor properties: only numbers.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from spec.checking.local.intrinsics import gathered, prefetch, trailing_zeros
from spec.checking.local.jit import Array, compiled, inlined
from spec.checking.local.outcomes import CLOSED, EFFECTS, FAILED, FOUND, LEFT, UNKNOWN, USUAL
from spec.checking.local.representing import NONE, Orbits, OrbitScratch, represent_in


class Program(NamedTuple):
    """Decision tables, as `tables.DecisionTables` has them, and which action or property each belongs to."""

    code: Array
    root: Array
    compact: Array
    """The same tables, see `compact`: as they were when this program was made, whatever a worker learns meanwhile."""
    compact_root: Array
    """Where each begins; and the last one, where outcomes do."""
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
    """By table, what was met: 0, `MET` or `RAISED`. Behind them, of states without steps."""
    enabled: Array
    """By action: states in which some instance is enabled."""
    taken: Array
    """By action."""
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
DONE, FULL, ASKS, STOPPED = range(4)
"""All is expanded; the outbox is full; there is much to be learned; it was told to stop."""
ACTION_BITS = 16
INHERITED = 64 - ACTION_BITS
"""Tables whose outcome is handed on from state to state: the last ones of actions and properties of states."""
MET, RAISED = 1, 2
"""Flags: a table had an outcome other than the usual one; an evaluation raised."""
_COPIED = len(CopiedSlot)
_PUT_OFF = len(PutOff)


@inlined
def _outcome(code: Array, at: int, registers: Array) -> int:
    """The outcome of a table, from an edge on; -1 where nothing is known."""
    while at > 0:
        node = uint64(code[uint64(at)])
        value = (registers[node & uint64(0xFF)] >> ((node >> uint64(8)) & uint64(0x3F))) & (
            (uint64(1) << (node >> uint64(16))) - uint64(1)
        )
        at = code[uint64(at) + uint64(1) + value]
    return -1 - at if at < 0 else -1


@inlined
def hash_of(states: Array, at: int, words: int) -> Any:
    """The number by which the partition, place and tag of a state are found."""
    mixed = uint64(0x9E3779B97F4A7C15)
    for k in range(words):
        mixed = (mixed ^ states[at + k]) * uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> uint64(32)
    mixed *= uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> uint64(29))


@compiled
def clear(off: Array, first: int, free: int, table: int) -> None:
    """Take a table out of the rows whose number is `first` and any of the free bits."""
    word, kept = table >> 6, ~(uint64(1) << uint64(table & 63))
    some = np.int64(0)
    while True:
        off[first + some, word] &= kept
        some = (some - free) & free
        if some == 0:
            break


@inlined
def mask(program: Program, registers: Array, live: Array) -> None:
    """Leave only the tables whose outcome is not known to be the usual one."""
    pieces, off = program.pieces, program.off
    row = uint64(0)
    for p in range(uint64(pieces.shape[0])):
        value = (registers[uint64(pieces[p, LookupPiece.WORD])] >> uint64(pieces[p, LookupPiece.SHIFT])) & uint64(
            pieces[p, LookupPiece.MASK]
        )
        row |= value << uint64(pieces[p, LookupPiece.AT])
        if pieces[p, LookupPiece.LAST] != 0:
            row += uint64(pieces[p, LookupPiece.FIRST])
            for m in range(uint64(off.shape[1])):
                live[m] &= off[row, m]
            row = uint64(0)


@inlined
def _look_up(program: Program, states: Array, at: int, rows: Array, first: int) -> None:
    """The rows of the masks for the state that begins here."""
    pieces, number, row = program.pieces, uint64(first), uint64(0)
    for p in range(uint64(pieces.shape[0])):
        value = (
            states[uint64(at) + uint64(pieces[p, LookupPiece.WORD])] >> uint64(pieces[p, LookupPiece.SHIFT])
        ) & uint64(pieces[p, LookupPiece.MASK])
        row |= value << uint64(pieces[p, LookupPiece.AT])
        rows[number] = row + uint64(pieces[p, LookupPiece.FIRST])
        number += uint64(pieces[p, LookupPiece.LAST])
        row &= uint64(pieces[p, LookupPiece.LAST]) - uint64(1)


@inlined
def apply(program: Program, outcome: int, registers: Array, base: int, after: Array, at: int, words: int) -> None:
    """The state that an effect makes of the one in the registers."""
    effects, spans, copies = program.effects, program.spans, program.copies
    for k in range(words):
        kept = registers[base + k] & ~effects[2 * words * outcome + k]
        after[at + k] = kept | effects[2 * words * outcome + words + k]
    for c in range(spans[2 * outcome], spans[2 * outcome + 1]):
        copy = _COPIED * c
        word, shift = registers[base + copies[copy + CopiedSlot.FROM]], uint64(copies[copy + CopiedSlot.FROM_SHIFT])
        moved = (word >> shift) & uint64(copies[copy + CopiedSlot.MASK])
        after[at + copies[copy + CopiedSlot.TO]] |= moved << uint64(copies[copy + CopiedSlot.TO_SHIFT])


@inlined
def represent(shape: Any, orbits: Orbits, states: Array, at: int, scratch: Scratch) -> bool:
    """Put the representative of its orbit in the place of the state that begins here; whether it may be another."""
    return represent_in(shape, orbits, states, at, scratch.orbits)


@inlined
def _next(code: Array, fields: Array, registers: Array, base: Any, at: Any) -> Any:
    """One step of a walk through compact tables; from an outcome it leads back there."""
    node = uint64(code[at])
    value = gathered(registers[base + (node & uint64(0xFF))], fields[node >> uint64(8)])
    return uint64(code[at + uint64(1) + value])


@inlined
def follow(program: Program, registers: Array, number: int, tables: Array, bases: Array, outcomes: Array) -> None:
    """The outcomes of several tables, walked eight at a time: a walk by itself does little but wait for memory."""
    code, root, fields = program.compact, program.compact_root, program.fields
    leaves = uint64(root[root.shape[0] - 1])
    for i in range(number, number + 7):
        tables[i], bases[i] = root.shape[0] - 1, 0
    for i in range(uint64(0), uint64(number), uint64(8)):
        a, b = uint64(root[tables[i]]), uint64(root[tables[i + uint64(1)]])
        c, d = uint64(root[tables[i + uint64(2)]]), uint64(root[tables[i + uint64(3)]])
        e, f = uint64(root[tables[i + uint64(4)]]), uint64(root[tables[i + uint64(5)]])
        g, h = uint64(root[tables[i + uint64(6)]]), uint64(root[tables[i + uint64(7)]])
        at_a, at_b = uint64(bases[i]), uint64(bases[i + uint64(1)])
        at_c, at_d = uint64(bases[i + uint64(2)]), uint64(bases[i + uint64(3)])
        at_e, at_f = uint64(bases[i + uint64(4)]), uint64(bases[i + uint64(5)])
        at_g, at_h = uint64(bases[i + uint64(6)]), uint64(bases[i + uint64(7)])
        while min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h))) < leaves:
            a, b = _next(code, fields, registers, at_a, a), _next(code, fields, registers, at_b, b)
            c, d = _next(code, fields, registers, at_c, c), _next(code, fields, registers, at_d, d)
            e, f = _next(code, fields, registers, at_e, e), _next(code, fields, registers, at_f, f)
            g, h = _next(code, fields, registers, at_g, g), _next(code, fields, registers, at_h, h)
        outcomes[i], outcomes[i + uint64(1)] = a - leaves, b - leaves
        outcomes[i + uint64(2)], outcomes[i + uint64(3)] = c - leaves, d - leaves
        outcomes[i + uint64(4)], outcomes[i + uint64(5)] = e - leaves, f - leaves
        outcomes[i + uint64(6)], outcomes[i + uint64(7)] = g - leaves, h - leaves
    for i in range(uint64(number)):
        outcomes[i] = (np.int64(outcomes[i]) >> 1) - 1


@inlined
def listed(bits: Array, at: int, first: int, last: int, tables: Array, number: int) -> int:
    """List the tables from first up to last whose bit is set behind others; how many there are then."""
    for m in range(first >> 6, (last + 63) >> 6):
        word = bits[at + m]
        if m == first >> 6:
            word &= uint64(0xFFFFFFFFFFFFFFFF) << uint64(first & 63)
        if m == last >> 6:
            word &= (uint64(1) << uint64(last & 63)) - uint64(1)
        while word != uint64(0):
            tables[number] = np.int64(trailing_zeros(word)) + (m << 6)
            word &= word - uint64(1)
            number += 1
    return number


@inlined
def ask(missing: Array, number: int, table: Any, registers: Array, base: int, reach: int) -> int:
    """Write down a path that is not learned, if there is room; how many there are by now."""
    if (number + 1) * (reach + 1) <= missing.shape[0]:
        missing[number * (reach + 1)] = uint64(table)
        for k in range(reach):
            missing[number * (reach + 1) + 1 + k] = registers[base + k]
        number += 1
    return number


@inlined
def _bits_from(bits: Array, at: int, words: int, word: int, low: Any) -> Any:
    """64 of so many words that begin here, from this bit on."""
    found = bits[at + word] >> low
    if low != uint64(0) and word + 1 < words:
        found |= bits[at + word + 1] << (uint64(64) - low)
    return found


# The stages in which a batch of states is expanded.


@inlined
def _look_up_masks(words: int, level: MarkedRanges, at: int, some: int, program: Program, scratch: Scratch) -> None:
    """Which rows of the masks these states have; memory is asked for them."""
    rows, lookups, n_masks = scratch.rows, program.lookups, program.off.shape[1]
    off = program.off.reshape(program.off.size)
    for i in range(some):
        _look_up(program, level.words, (at + i) * words, rows, i * (lookups + 1))
        for k in range(i * (lookups + 1), i * (lookups + 1) + lookups):
            prefetch(off, rows[k] * uint64(n_masks))


@inlined
def _inherited(judging: int) -> Any:
    """The tables whose outcome is handed on, one bit for each; and in which word and bit the first of them is."""
    number = min(INHERITED, judging)
    return (uint64(1) << uint64(number)) - uint64(1), (judging - number) >> 6, uint64((judging - number) & 63)


@inlined
def _list_walks(
    words: int, level: MarkedRanges, at: int, some: int, marks: int, live: Array, program: Program, scratch: Scratch
) -> int:
    """Load the states, and list the tables whose outcome neither masks nor the step before tell; how many walks."""
    registers, rows, left, steady = scratch.registers, scratch.rows, scratch.live, scratch.steady
    reach, lookups, n_masks = 2 * words + 1, program.lookups, program.off.shape[1]
    off = program.off.reshape(program.off.size)
    _, low_word, low_bit = _inherited(program.judging)
    number = 0
    for i in range(some):
        for k in range(words):
            registers[i * reach + k] = level.words[(at + i) * words + k]
            registers[i * reach + words + k] = level.words[(at + i) * words + k]
        registers[i * reach + 2 * words] = program.step_of[program.actions]
        for m in range(n_masks):
            bits = live[m]
            for k in range(i * (lookups + 1), i * (lookups + 1) + lookups):
                bits &= off[rows[k] * uint64(n_masks) + uint64(m)]
            left[i * n_masks + m] = bits
        clean = level.marks[at + i - marks] >> uint64(ACTION_BITS)
        left[i * n_masks + low_word] &= ~(clean << low_bit)
        if low_bit != uint64(0) and low_word + 1 < n_masks:
            left[i * n_masks + low_word + 1] &= ~(clean >> (uint64(64) - low_bit))
        for m in range(i * n_masks, (i + 1) * n_masks):
            steady[m] = ~left[m]
        first = number
        number = listed(left, i * n_masks, 0, program.tables, scratch.tables, number)
        for w in range(first, number):
            scratch.bases[w] = i * reach
        scratch.ends[2 * i] = number
    return number


@inlined
def _take_steps(words: int, some: int, program: Program, output: WorkerOutput, scratch: Scratch) -> int:
    """What is the case in these states, and where do they lead? How many successors there are."""
    registers, after, steady, ends = scratch.registers, scratch.after, scratch.steady, scratch.ends
    flags, cursor = output.flags, output.cursor
    reach, n_masks = 2 * words + 1, program.off.shape[1]
    taken = walk = 0
    for i in range(some):
        first = taken
        closed = asks = False
        for w in range(walk, ends[2 * i]):
            outcome, table = scratch.outcomes[w], scratch.tables[w]
            if outcome == USUAL:
                steady[i * n_masks + (table >> 6)] |= uint64(1) << uint64(table & 63)
            elif outcome == UNKNOWN:
                asks = True
                cursor[Cursor.MISSING] = ask(
                    output.missing, cursor[Cursor.MISSING], table, registers, i * reach, reach
                )
            elif table >= program.judging:
                continue
            elif outcome == FAILED:
                flags[table] = RAISED
                closed = True
            elif table >= program.actions:
                flags[table] = MET
            elif outcome == CLOSED:
                closed = True
            else:
                if outcome == LEFT:
                    flags[table] = MET
                else:
                    apply(program, outcome, registers, i * reach, after, taken * reach, words)
                scratch.effect[taken] = outcome
                scratch.by[taken] = table
                taken += 1
        if taken == first and not closed and not asks:
            flags[program.tables] = MET
        walk = ends[2 * i]
        ends[2 * i + 1] = taken
        scratch.lacking[i] = asks
    return taken


@inlined
def _judge_steps(
    words: int, taken: int, live: Array, program: Program, output: WorkerOutput, scratch: Scratch
) -> None:
    """What is the case about these steps? Those that nothing can be the case about are not walked."""
    registers, after, left, steady = scratch.registers, scratch.after, scratch.live, scratch.steady
    tables, bases, ends, effect = scratch.tables, scratch.bases, scratch.ends, scratch.effect
    step_of, affects, cursor = program.step_of, program.affects, output.cursor
    reach, n_masks = 2 * words + 1, program.off.shape[1]
    successor = state = 0
    while program.judging < program.tables and successor < taken:
        number = 0
        while successor < taken and number < WALKS:
            while ends[2 * state + 1] <= successor:
                state += 1
            if effect[successor] != LEFT:
                base, first = successor * reach, number
                for m in range(program.judging >> 6, n_masks):
                    shaken = affects[effect[successor], m]
                    left[state * n_masks + m] = live[m] & ~(steady[state * n_masks + m] & ~shaken)
                number = listed(left, state * n_masks, program.judging, program.tables, tables, number)
                for w in range(first, number):
                    bases[w] = base
                if first < number:
                    for k in range(words):
                        after[base + words + k] = registers[state * reach + k]
                    after[base + 2 * words] = step_of[scratch.by[successor]]
            successor += 1
        follow(program, after, number, tables, bases, scratch.outcomes)
        for w in range(number):
            outcome, table = scratch.outcomes[w], tables[w]
            if outcome == UNKNOWN:
                cursor[Cursor.MISSING] = ask(output.missing, cursor[Cursor.MISSING], table, after, bases[w], reach)
                owner = 0
                while ends[2 * owner + 1] * reach <= bases[w]:
                    owner += 1
                scratch.lacking[owner] = True
            elif outcome != USUAL:
                output.flags[table] = MET if outcome == FOUND else RAISED


@inlined
def _send_off(
    shape: Any,
    at: int,
    some: int,
    marks: int,
    program: Program,
    outbox: Outbox,
    output: WorkerOutput,
    scratch: Scratch,
    patience: int,
) -> Any:
    """Put successors into the outbox, and put off the states that lack something; why it ends, after how many."""
    words, reach, n_masks = len(shape), 2 * len(shape) + 1, program.off.shape[1]
    room, most_put_off = outbox.marks.shape[0] // PARTITIONS, output.put_off.shape[0] // _PUT_OFF
    after, effect, steady, cursor = scratch.after, scratch.effect, scratch.steady, output.cursor
    affects = program.affects.reshape(program.affects.size)
    handed_on, low_word, low_bit = _inherited(program.judging)
    successor, status, done = 0, DONE, 0
    for i in range(some):
        last = scratch.ends[2 * i + 1]
        if scratch.lacking[i]:
            number = cursor[Cursor.PUT_OFF]
            if number == most_put_off:
                status = ASKS
                break
            output.put_off[_PUT_OFF * number + PutOff.STATE] = at + i
            output.put_off[_PUT_OFF * number + PutOff.MARKS] = marks
            cursor[Cursor.PUT_OFF] = number + 1
            done += 1
            successor = last
            if cursor[Cursor.MISSING] >= patience or number + 1 == most_put_off:
                status = ASKS
                break
            continue
        action = np.int64(-1)
        full = False
        holding = _bits_from(steady, i * n_masks, n_masks, low_word, low_bit) & handed_on
        while successor < last:
            its = np.int64(program.step_of[scratch.by[successor]] & uint64(0xFFFF))
            if its != action:
                action = its
                output.enabled[action] += 1
            output.taken[action] += 1
            if effect[successor] != LEFT:
                base = successor * reach
                shaken = _bits_from(affects, effect[successor] * n_masks, n_masks, low_word, low_bit)
                if program.orbits.permutations > 0 and represent(shape, program.orbits, after, base, scratch):
                    shaken = handed_on
                partition = np.int64(hash_of(after, base, words) >> uint64(64 - PARTITION_BITS))
                place = partition * room + outbox.count[partition]
                for k in range(words):
                    outbox.states[place * words + k] = after[base + k]
                outbox.marks[place] = uint64(action) | (holding & ~shaken) << uint64(ACTION_BITS)
                prefetch(outbox.states, (place + 4) * words)
                prefetch(outbox.marks, place + 8)
                outbox.count[partition] += 1
                full |= outbox.count[partition] >= room - program.actions
            successor += 1
        done += 1
        if full or cursor[Cursor.STOP] != 0:
            status = FULL if full else STOPPED
            break
    return status, done


@compiled
def expand(
    shape: Any,
    level: MarkedRanges,
    live: Array,
    program: Program,
    outbox: Outbox,
    output: WorkerOutput,
    scratch: Scratch,
    patience: int,
) -> int:
    """Judge the states in these ranges by the tables that are live, and send their successors off.

    It begins where the cursor is, and returns why it ends. A state of which something is not learned yet is put off
    as a whole.

    States are worked at in batches, stage by stage: memory is asked early for what is looked up, and walks of several
    states are done together.
    """
    words, ranges, cursor = len(shape), level.ranges, output.cursor
    at_range, at = cursor[Cursor.RANGE], cursor[Cursor.STATE]
    status = DONE
    while at_range < ranges.shape[0]:
        at = max(at, ranges[at_range, StateRange.FIRST])
        while at < ranges[at_range, StateRange.BEHIND]:
            some = min(BATCH, ranges[at_range, StateRange.BEHIND] - at)
            marks = ranges[at_range, StateRange.MARKS]
            _look_up_masks(words, level, at, some, program, scratch)
            walks = _list_walks(words, level, at, some, marks, live, program, scratch)
            follow(program, scratch.registers, walks, scratch.tables, scratch.bases, scratch.outcomes)
            successors = _take_steps(words, some, program, output, scratch)
            _judge_steps(words, successors, live, program, output, scratch)
            status, done = _send_off(shape, at, some, marks, program, outbox, output, scratch, patience)
            at += done
            if status != DONE:
                break
        if status != DONE:
            break
        at_range += 1
        at = 0
    cursor[Cursor.RANGE], cursor[Cursor.STATE] = at_range, at
    return status


@compiled
def post(shape: Any, states: Array, marks: Array, start: int, outbox: Outbox) -> int:
    """Send states off with their marks, from the one with this number on; up to which is returned."""
    words = len(shape)
    room = outbox.marks.shape[0] // PARTITIONS
    for i in range(start, states.shape[0] // words):
        partition = np.int64(hash_of(states, i * words, words) >> uint64(64 - PARTITION_BITS))
        place = partition * room + outbox.count[partition]
        for k in range(words):
            outbox.states[place * words + k] = states[i * words + k]
        outbox.marks[place] = uint64(marks[i])
        outbox.count[partition] += 1
        if outbox.count[partition] == room:
            return i + 1
    return states.shape[0] // words


@inlined
def are_same(states: Array, one: int, others: Array, other: int, words: int) -> bool:
    """Whether two states are the same, word by word."""
    same = True
    for k in range(words):
        same &= states[one + k] == others[other + k]
    return same


@inlined
def place_of(mixed: Any, capacity: int) -> Any:
    """Where in an index of any length a state is looked for first."""
    return np.int64(((mixed & uint64(0xFFFFFFFF)) * uint64(capacity)) >> uint64(32))


@inlined
def tag_of(mixed: Any) -> Any:
    """What an index remembers of a hash beside where the state lies."""
    return ((mixed >> uint64(40)) & uint64(0xFF)) << uint64(TAG_SHIFT)


@compiled
def _index_anew(shape: Any, storage: Storage, partition: int, capacity: int) -> None:
    """Build the index of a partition from its states."""
    words = len(shape)
    base, first = storage.begin[partition], storage.index_begin[partition]
    index = storage.index
    for place in range(first, first + capacity):
        index[place] = 0
    storage.capacity[partition] = capacity
    for number in range(storage.size[partition]):
        mixed = hash_of(storage.states, (base + number) * words, words)
        place = place_of(mixed, capacity)
        while index[first + place] != 0:
            place += 1
            if place == capacity:
                place = 0
        index[first + place] = np.uint32(tag_of(mixed) | uint64(number + 1))


@compiled
def insert(
    shape: Any, storage: Storage, first_partition: int, last_partition: int, sent: Outbox, scratch: Scratch
) -> int:
    """Put into the visited set what all workers sent to the partitions from the first up to the last.

    The partition that is full, or -1. States are looked up some at a time: first each is looked for where it should
    be, so that memory has time to answer.
    """
    words = len(shape)
    states, marks, count = sent.states, sent.marks, sent.count
    workers = count.shape[0] // PARTITIONS
    room = marks.shape[0] // (workers * PARTITIONS)
    most = storage.room
    index, visited, newest = storage.index, storage.states, storage.marks
    mixes, places = scratch.mixes, scratch.places
    actions = (uint64(1) << uint64(ACTION_BITS)) - uint64(1)
    for partition in range(first_partition, last_partition):
        base, first = storage.begin[partition], storage.index_begin[partition]
        capacity, size, level = storage.capacity[partition], storage.size[partition], storage.level[partition]
        mark = storage.marks_begin[partition] - level
        for worker in range(workers):
            start = (worker * PARTITIONS + partition) * room
            stop = start + count[worker * PARTITIONS + partition]
            for begin in range(start, stop, AT_ONCE):
                end = min(begin + AT_ONCE, stop)
                if size + AT_ONCE > most:
                    storage.size[partition] = size
                    return partition
                if 4 * (size + AT_ONCE) >= 3 * capacity:
                    storage.size[partition] = size
                    capacity = min(storage.index_room, max(np.int64(128), capacity + capacity // 2))
                    _index_anew(shape, storage, partition, capacity)
                for i in range(begin, end):
                    mixed = hash_of(states, i * words, words)
                    place = place_of(mixed, capacity)
                    mixes[i - begin], places[i - begin] = mixed, place
                    prefetch(index, first + place)
                for i in range(begin, end):
                    tag, place = tag_of(mixes[i - begin]), places[i - begin]
                    entry = index[first + place]
                    while entry != 0 and (entry & np.uint32(0xFF000000)) != tag:
                        place += 1
                        if place == capacity:
                            place = 0
                        entry = index[first + place]
                    places[i - begin] = place
                    if entry != 0:
                        number = np.int64(entry & np.uint32(0x00FFFFFF)) - 1
                        prefetch(visited, (base + number) * words)
                        if number >= level:
                            prefetch(newest, mark + number)
                for i in range(begin, end):
                    tag, place = tag_of(mixes[i - begin]), places[i - begin]
                    while True:
                        entry = index[first + place]
                        if entry == 0:
                            for k in range(words):
                                visited[(base + size) * words + k] = states[i * words + k]
                            newest[mark + size] = marks[i]
                            size += 1
                            index[first + place] = np.uint32(tag | uint64(size))
                            break
                        if (entry & np.uint32(0xFF000000)) == tag:
                            number = np.int64(entry & np.uint32(0x00FFFFFF)) - 1
                            if are_same(visited, (base + number) * words, states, i * words, words):
                                if number >= level:
                                    one, other = newest[mark + number], marks[i]
                                    action = min(one & actions, other & actions)
                                    newest[mark + number] = action | ((one | other) & ~actions)
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
    for partition in range(PARTITIONS):
        first = storage.marks_begin[partition]
        for i in range(first, first + storage.size[partition] - storage.level[partition]):
            new_states[storage.marks[i] & actions] += 1


@compiled
def survey(shape: Any, states: Array, program: Program, groups_of: Array, vain: Array, scratch: Scratch) -> int:
    """The groups at which each walk in these states looks that ends in the usual outcome; how many walks.

    The groups are given for each field.
    """
    words = len(shape)
    code, root, fields, n_judging = program.compact, program.compact_root, program.fields, program.judging
    leaves = root[root.shape[0] - 1]
    registers, live, tables = scratch.registers, scratch.live, scratch.tables
    number, n_masks = 0, program.off.shape[1]
    for at in range(states.shape[0] // words):
        for k in range(words):
            registers[k] = states[at * words + k]
        for m in range(n_masks):
            live[m] = uint64(0xFFFFFFFFFFFFFFFF)
        mask(program, registers, live)
        for i in range(listed(live, 0, 0, n_judging, tables, 0)):
            node, groups = uint64(root[tables[i]]), uint64(0)
            while node < uint64(leaves):
                groups |= groups_of[uint64(code[node]) >> uint64(8)]
                node = _next(code, fields, registers, uint64(0), node)
            if node - uint64(leaves) == uint64(2):
                vain[number] = groups
                number += 1
    return number


TO_STATE, BY_STEP, OUTSIDE, DEAD, IN_STATE, FAILS = range(6)
"""What is sought: steps to a state, steps and states for which one of the tables has the outcome, steps that leave a
domain, states without steps, states that cannot be expanded because something raises."""
AT_A_TIME = 1 << 19
"""States after which a search returns, if only to let Ctrl-C in."""
BEYOND = 1 << 10
"""States to which it goes on behind the first of which something is unknown: what it asks for is learned together."""


@inlined
def _before(one: Array, at: int, other: Array, its: int, words: int) -> int:
    """-1 if the one state is lower, 1 if it is higher, 0 if they are the same."""
    for k in range(words):
        if one[at + k] != other[its + k]:
            return -1 if one[at + k] < other[its + k] else 1
    return 0


@inlined
def _lowest(
    found: Array, best: Array, number: int, after: Array, before: Array, at: int, table: Any, words: int
) -> None:
    """Keep a find if it is lower than the one with this number: by its end, the state before it, the table."""
    row = 2 * words * number
    order = -1
    if found[number] >= 0:
        order = _before(after, 0, best, row, words)
        if order == 0:
            order = _before(before, at, best, row + words, words)
    if order < 0 or (order == 0 and table < found[number]):
        found[number] = table
        for k in range(words):
            best[row + k] = after[k]
            best[row + words + k] = before[at + k]


@compiled
def seek(
    shape: Any,
    states: Array,
    ranges: Array,
    cursor: Array,
    program: Program,
    what: int,
    tables: Array,
    wanted: int,
    targets: Array,
    found: Array,
    best: Array,
    missing: Array,
    scratch: Scratch,
) -> int:
    """The lowest of what is sought: its end state, then the state before it, then the instance.

    States are gone through from where the cursor is: range and state. `found` has the instance, -1 as long as there
    is none, and `best` the end state and the one before it; of `TO_STATE` they have a row for each of the targets.

    What is not learned yet stops the search soon: the paths are in `missing`, as they are in `WorkerOutput`, their
    number is returned, and the cursor is at the first state that wants one of them.
    """
    words, reach = len(shape), 2 * len(shape) + 1
    code, root, step_of = program.code, program.root, program.step_of
    n_actions, n_targets = program.actions, targets.shape[0] // words
    registers, live, after = scratch.registers, scratch.live, scratch.after
    by_orbits = program.orbits.permutations > 0
    room = missing.shape[0] // (reach + 1)
    hashes = uint64(0)
    for t in range(n_targets):
        hashes |= uint64(1) << (hash_of(targets, t * words, words) & uint64(63))
    n_missing = done = 0
    first_range = first_at = np.int64(-1)
    r, at = cursor[Cursor.RANGE], cursor[Cursor.STATE]
    while r < ranges.shape[0]:
        at = max(at, ranges[r, StateRange.FIRST])
        while at < ranges[r, StateRange.BEHIND]:
            if done == AT_A_TIME or (n_missing > 0 and (n_missing == room or done >= BEYOND)):
                cursor[Cursor.RANGE], cursor[Cursor.STATE] = r, at
                if n_missing > 0:
                    cursor[Cursor.RANGE], cursor[Cursor.STATE] = first_range, first_at
                return n_missing
            asked = n_missing
            for k in range(words):
                registers[k] = states[at * words + k]
                registers[words + k] = registers[k]
            registers[2 * words] = step_of[n_actions]
            if what == IN_STATE:
                for t in range(tables.shape[0]):
                    outcome = _outcome(code, root[tables[t]], registers)
                    if outcome == UNKNOWN:
                        n_missing = ask(missing, n_missing, tables[t], registers, 0, reach)
                    elif outcome == wanted:
                        for k in range(words):
                            after[k] = registers[k]
                        _lowest(found, best, 0, after, registers, 0, 0, words)
            else:
                for m in range(program.off.shape[1]):
                    live[m] = uint64(0xFFFFFFFFFFFFFFFF)
                mask(program, registers, live)
                any_step = False
                for m in range((n_actions + 63) // 64):
                    bits = live[m]
                    while bits != uint64(0):
                        table = np.int64(trailing_zeros(bits)) + 64 * m
                        bits &= bits - uint64(1)
                        if table >= n_actions:
                            break
                        outcome = _outcome(code, root[uint64(table)], registers)
                        if outcome == USUAL:
                            continue
                        any_step = True
                        if outcome == UNKNOWN:
                            n_missing = ask(missing, n_missing, table, registers, 0, reach)
                        elif outcome in (FAILED, LEFT):
                            if what == (FAILS if outcome == FAILED else OUTSIDE):
                                for k in range(words):
                                    after[k] = uint64(0)
                                _lowest(found, best, 0, after, registers, words, table, words)
                        elif outcome >= EFFECTS:
                            apply(program, outcome, registers, 0, after, 0, words)
                            if what == TO_STATE:
                                if by_orbits:
                                    represent(shape, program.orbits, after, 0, scratch)
                                if (hashes >> (hash_of(after, 0, words) & uint64(63))) & uint64(1) != uint64(0):
                                    for t in range(n_targets):
                                        if _before(after, 0, targets, t * words, words) == 0:
                                            _lowest(found, best, t, after, registers, words, table, words)
                            elif what in (BY_STEP, FAILS):
                                for k in range(words):
                                    registers[k] = after[k]
                                registers[2 * words] = step_of[table]
                                hit = False
                                for t in range(tables.shape[0]):
                                    outcome = _outcome(code, root[tables[t]], registers)
                                    if outcome == UNKNOWN:
                                        n_missing = ask(missing, n_missing, tables[t], registers, 0, reach)
                                    hit |= outcome == wanted
                                for k in range(words):
                                    registers[k] = registers[words + k]
                                registers[2 * words] = step_of[n_actions]
                                if hit:
                                    if what == FAILS:
                                        for k in range(words):
                                            after[k] = uint64(0)
                                    elif by_orbits:
                                        represent(shape, program.orbits, after, 0, scratch)
                                    _lowest(found, best, 0, after, registers, words, table, words)
                if what == DEAD and not any_step:
                    for k in range(words):
                        after[k] = registers[k]
                    _lowest(found, best, 0, after, registers, words, 0, words)
            if asked == 0 and n_missing > 0:
                first_range, first_at, done = r, at, 0
            at += 1
            done += 1
        r += 1
        at = 0
    cursor[Cursor.RANGE], cursor[Cursor.STATE] = r, 0
    if n_missing > 0:
        cursor[Cursor.RANGE], cursor[Cursor.STATE] = first_range, first_at
    return n_missing
