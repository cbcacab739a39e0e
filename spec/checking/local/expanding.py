"""The compiled loop that expands states: it judges them, and sends their successors off.

Like all kernels, these are plain functions over flat arrays, compiled by numba for each number of words of a state,
and kept on disk. They allocate next to nothing, do not hold Python's lock, and know numbers, not actions or
properties.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from spec.checking.local.arrays import (
    ACTION_BITS,
    BATCH,
    INHERITED,
    LINE,
    MET,
    PARTITION_BITS,
    RAISED,
    WALKS,
    Cursor,
    MarkedRanges,
    Outbox,
    Program,
    PutOff,
    Scratch,
    StateRange,
    WorkerOutput,
)
from spec.checking.local.intrinsics import prefetch
from spec.checking.local.jit import Array, compiled, inlined
from spec.checking.local.outcomes import CLOSED, FAILED, FOUND, LEFT, UNKNOWN, USUAL
from spec.checking.local.representing import Orbits, represent_in
from spec.checking.local.rows import word_of
from spec.checking.local.storing import hash_of
from spec.checking.local.traversing import apply, ask, follow, listed, look_up
from spec.checking.states.packed_state import BYTES

DONE, FULL, ASKS, STOPPED = range(4)
"""All is expanded; the outbox is full; there is much to learn; it was asked to stop."""
_PUT_OFF = len(PutOff)
_listed = inlined(listed)
"""It is called for each state and each successor: as a part it would take some hundredths of the time."""


@inlined
def _bits_from(bits: Array, at: int, words: int, word: int, low: Any) -> Any:
    """64 of these bits, from this one on."""
    found = bits[uint64(at + word)] >> low
    if low != uint64(0) and word + 1 < words:
        found |= bits[uint64(at + word + 1)] << (uint64(64) - low)
    return found


# The stages of expanding a batch of states.


@inlined
def _prefetch(level: MarkedRanges, at: int, marks: int) -> None:
    """Prefetch these states and their marks."""
    for k in range(0, BATCH * level.rows.size, BYTES * LINE):
        prefetch(level.rows.bytes, at * level.rows.size + k)
    for k in range(0, BATCH, LINE):
        prefetch(level.marks, at - marks + k)


@inlined
def _load(words: int, level: MarkedRanges, at: int, some: int, program: Program, scratch: Scratch) -> None:
    """Load these states, each also as the one before: there is no step yet."""
    registers, reach = scratch.registers, 2 * words + 1
    for i in range(some):
        for k in range(words):
            word = word_of(level.rows, at + i, k, words)
            registers[uint64(i * reach + k)] = registers[uint64(i * reach + words + k)] = word
        registers[uint64(i * reach + 2 * words)] = program.step_of[program.actions]


@inlined
def _look_up_masks(words: int, some: int, program: Program, scratch: Scratch) -> None:
    """Find the states' rows of the masks and places in the memo, and prefetch them."""
    registers, rows, reach = scratch.registers, scratch.rows, 2 * words + 1
    lookups, n_masks = program.lookups, program.off.shape[1]
    off, remembered = program.off.reshape(program.off.size), program.remembered
    for i in range(some):
        first = i * (lookups + 1)
        if remembered != 0:
            place = _place_in_memo(words, registers, i * reach, program, scratch.memo)
            rows[first] = place
            prefetch(scratch.memo, place)
        plain = program.remembered_pieces
        look_up(program, plain, program.pieces.shape[0], registers, i * reach, rows, first + remembered)
        for k in range(uint64(first + remembered), uint64(first + lookups)):
            prefetch(off, rows[k] * uint64(n_masks))


@inlined
def _place_in_memo(words: int, registers: Array, at: int, program: Program, memo: Array) -> Any:
    """The place of a state's relevant bits."""
    mixed = uint64(0x9E3779B97F4A7C15)
    for k in range(words):
        mixed = (mixed ^ (registers[uint64(at + k)] & program.relevant[k])) * uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> uint64(32)
    entry = words + program.off.shape[1]
    places = uint64(memo.shape[0] // entry)
    return (((mixed * uint64(0x94D049BB133111EB)) >> uint64(32)) * places >> uint64(32)) * uint64(entry)


@inlined
def _recall(words: int, i: int, program: Program, scratch: Scratch) -> Any:
    """The place of the tables that remembered lookups leave, for a state in the registers; found anew if need be."""
    registers, rows, memo = scratch.registers, scratch.rows, scratch.memo
    n_masks, relevant, base = program.off.shape[1], program.relevant, i * (2 * words + 1)
    first = i * (program.lookups + 1)
    place = rows[first]
    known = True
    for k in range(words):
        known &= memo[place + uint64(k)] == registers[uint64(base + k)] & relevant[k]
    if not known:
        look_up(program, 0, program.remembered_pieces, registers, base, rows, first)
        for k in range(words):
            memo[place + uint64(k)] = registers[uint64(base + k)] & relevant[k]
        for m in range(n_masks):
            bits = uint64(0xFFFFFFFFFFFFFFFF)
            for k in range(first, first + program.remembered):
                bits &= program.off[rows[k], m]
            memo[place + uint64(words + m)] = bits
    return place + uint64(words)


@inlined
def _inherited(judging: int) -> Any:
    """A bit for each table whose outcome is passed on; and the word and bit of the first one."""
    number = min(INHERITED, judging)
    return (uint64(1) << uint64(number)) - uint64(1), (judging - number) >> 6, uint64((judging - number) & 63)


@inlined
def _list_walks(
    words: int, level: MarkedRanges, at: int, some: int, marks: int, live: Array, program: Program, scratch: Scratch
) -> int:
    """List the tables that neither masks nor the step before decide; the number of walks."""
    rows, left, steady = scratch.rows, scratch.live, scratch.steady
    reach, lookups, n_masks = 2 * words + 1, program.lookups, program.off.shape[1]
    off = program.off.reshape(program.off.size)
    _, low_word, low_bit = _inherited(program.judging)
    number = 0
    for i in range(some):
        row = i * (lookups + 1)
        for m in range(n_masks):
            bits = live[m]
            for k in range(uint64(row + program.remembered), uint64(row + lookups)):
                bits &= off[rows[k] * uint64(n_masks) + uint64(m)]
            left[uint64(i * n_masks + m)] = bits
        if program.remembered != 0:
            place = _recall(words, i, program, scratch)
            for m in range(n_masks):
                left[uint64(i * n_masks + m)] &= scratch.memo[place + uint64(m)]
        clean = level.marks[uint64(at + i - marks)] >> uint64(ACTION_BITS)
        left[uint64(i * n_masks + low_word)] &= ~(clean << low_bit)
        if low_bit != uint64(0) and low_word + 1 < n_masks:
            left[uint64(i * n_masks + low_word + 1)] &= ~(clean >> (uint64(64) - low_bit))
        for m in range(uint64(i * n_masks), uint64((i + 1) * n_masks)):
            steady[m] = ~left[m]
        first = number
        number = _listed(left, i * n_masks, 0, program.tables, scratch.tables, number)
        for w in range(uint64(first), uint64(number)):
            scratch.bases[w] = i * reach
        scratch.ends[2 * i] = number
    return number


@inlined
def _take_steps(words: int, some: int, program: Program, output: WorkerOutput, scratch: Scratch) -> int:
    """Evaluate the walks' outcomes in these states, and make the successors; their number."""
    registers, after, steady, ends = scratch.registers, scratch.after, scratch.steady, scratch.ends
    flags, cursor = output.flags, output.cursor
    reach, n_masks = 2 * words + 1, program.off.shape[1]
    taken = walk = forbidden = 0
    for i in range(some):
        first, first_forbidden = taken, forbidden
        raises = asks = False
        for w in range(uint64(walk), uint64(ends[2 * i])):
            outcome, table = scratch.outcomes[w], scratch.tables[w]
            if outcome == USUAL:
                steady[uint64(i * n_masks + (table >> 6))] |= uint64(1) << uint64(table & 63)
            elif outcome == UNKNOWN:
                asks = True
                cursor[Cursor.MISSING] = ask(
                    output.missing, cursor[Cursor.MISSING], table, registers, i * reach, reach
                )
            elif table >= program.judging:
                continue
            elif outcome == FAILED:
                flags[table] |= RAISED
                raises = True
            elif table >= program.actions:
                flags[table] |= MET
            elif outcome == CLOSED:
                its = program.step_of[uint64(table)] & uint64(0xFFFF)
                if forbidden == first_forbidden or its != scratch.forbidden[uint64(forbidden - 1)]:
                    scratch.forbidden[uint64(forbidden)] = its
                    forbidden += 1
            else:
                if outcome == LEFT:
                    flags[table] |= MET
                else:
                    apply(program, outcome, registers, i * reach, after, taken * reach, words)
                scratch.effect[uint64(taken)] = outcome
                scratch.by[uint64(taken)] = table
                taken += 1
        if taken == first and forbidden == first_forbidden and not raises and not asks:
            flags[program.tables] |= MET
        walk = ends[2 * i]
        ends[2 * i + 1] = taken
        scratch.ends_forbidden[i] = forbidden
        scratch.lacking[i] = asks
    return taken


@inlined
def _judge_steps(
    words: int, taken: int, live: Array, program: Program, output: WorkerOutput, scratch: Scratch
) -> None:
    """Evaluate properties of these steps, except those that must have the usual outcome."""
    registers, after, left, steady = scratch.registers, scratch.after, scratch.live, scratch.steady
    tables, bases, ends, effect = scratch.tables, scratch.bases, scratch.ends, scratch.effect
    step_of, affects, cursor = program.step_of, program.affects, output.cursor
    reach, n_masks = 2 * words + 1, program.off.shape[1]
    successor = state = 0
    while program.judging < program.tables and successor < taken:
        number = 0
        while successor < taken and number < WALKS:
            while ends[uint64(2 * state + 1)] <= successor:
                state += 1
            if effect[uint64(successor)] != LEFT:
                base, first = successor * reach, number
                for m in range(program.judging >> 6, n_masks):
                    shaken = affects[uint64(effect[uint64(successor)]), uint64(m)]
                    unshaken = steady[uint64(state * n_masks + m)] & ~shaken
                    left[uint64(state * n_masks + m)] = live[uint64(m)] & ~unshaken
                number = _listed(left, state * n_masks, program.judging, program.tables, tables, number)
                for w in range(uint64(first), uint64(number)):
                    bases[w] = base
                if first < number:
                    for k in range(words):
                        after[uint64(base + words + k)] = registers[uint64(state * reach + k)]
                    after[uint64(base + 2 * words)] = step_of[uint64(scratch.by[uint64(successor)])]
            successor += 1
        follow(program, after, number, tables, bases, scratch.outcomes)
        for w in range(uint64(number)):
            outcome, table = scratch.outcomes[w], tables[w]
            if outcome == UNKNOWN:
                cursor[Cursor.MISSING] = ask(output.missing, cursor[Cursor.MISSING], table, after, bases[w], reach)
                owner = 0
                while ends[2 * owner + 1] * reach <= bases[w]:
                    owner += 1
                scratch.lacking[owner] = True
            elif outcome != USUAL:
                output.flags[table] |= MET if outcome == FOUND else RAISED


@inlined
def _are_same(words: int, after: Array, base: int, registers: Array, its: int) -> bool:
    """Whether a successor is the same as its state."""
    same = True
    for k in range(words):
        same &= after[uint64(base + k)] == registers[uint64(its + k)]
    return same


@inlined
def _send_off(
    shape: Any,
    at: int,
    some: int,
    marks: int,
    program: Program,
    orbits: Orbits | None,
    outbox: Outbox,
    output: WorkerOutput,
    scratch: Scratch,
    patience: int,
) -> Any:
    """Put successors into the outbox, and defer the states that lack something; why it ends, and the number done.

    A successor that equals its state is not sent, because that state was visited. It counts as taken.
    """
    words, reach, n_masks = len(shape), 2 * len(shape) + 1, program.off.shape[1]
    room, most_put_off = outbox.room, output.put_off.shape[0] // _PUT_OFF
    registers, after, effect, steady = scratch.registers, scratch.after, scratch.effect, scratch.steady
    cursor = output.cursor
    affects = program.affects.reshape(program.affects.size)
    handed_on, low_word, low_bit = _inherited(program.judging)
    successor, status, done, forbidden = 0, DONE, 0, 0
    for i in range(some):
        last, first_forbidden, forbidden = scratch.ends[2 * i + 1], forbidden, scratch.ends_forbidden[i]
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
        for k in range(uint64(first_forbidden), uint64(forbidden)):
            output.bounded[scratch.forbidden[k]] += 1
        action = np.int64(-1)
        full = False
        holding = _bits_from(steady, i * n_masks, n_masks, low_word, low_bit) & handed_on
        while successor < last:
            its = np.int64(program.step_of[uint64(scratch.by[uint64(successor)])] & uint64(0xFFFF))
            if its != action:
                action = its
                output.enabled[uint64(action)] += 1
            output.taken[uint64(action)] += 1
            base = successor * reach
            if effect[uint64(successor)] != LEFT and not _are_same(words, after, base, registers, i * reach):
                shaken = _bits_from(affects, effect[uint64(successor)] * n_masks, n_masks, low_word, low_bit)
                if represent_in(orbits, after, base):
                    shaken = handed_on
                partition = np.int64(hash_of(after, base, words) >> uint64(64 - PARTITION_BITS))
                place = (partition * room + outbox.count[uint64(partition)]) * (words + 1)
                for k in range(words):
                    outbox.records[uint64(place + k)] = after[uint64(base + k)]
                outbox.records[uint64(place + words)] = uint64(action) | (holding & ~shaken) << uint64(ACTION_BITS)
                prefetch(outbox.records, place + 3 * (words + 1))
                outbox.count[uint64(partition)] += 1
                full |= outbox.count[uint64(partition)] >= room - program.actions
            else:
                output.unchanging[uint64(action)] += 1
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
    orbits: Orbits | None,
    outbox: Outbox,
    output: WorkerOutput,
    scratch: Scratch,
    patience: int,
) -> int:
    """Judge the states in these ranges by the live tables, and send off their successors.

    It begins at the cursor, and returns the reason to end. A state about which something is not learned yet is
    deferred as a whole.

    States are processed in batches, stage by stage: memory for lookups is prefetched, and walks of several states are
    done together.
    """
    words, ranges, cursor = len(shape), level.ranges, output.cursor
    at_range, at = cursor[Cursor.RANGE], cursor[Cursor.STATE]
    status = DONE
    while at_range < ranges.shape[0]:
        at = max(at, ranges[at_range, StateRange.FIRST])
        while at < ranges[at_range, StateRange.BEHIND]:
            some = min(BATCH, ranges[at_range, StateRange.BEHIND] - at)
            marks = ranges[at_range, StateRange.MARKS]
            _prefetch(level, at + 2 * BATCH, marks)
            _load(words, level, at, some, program, scratch)
            _look_up_masks(words, some, program, scratch)
            walks = _list_walks(words, level, at, some, marks, live, program, scratch)
            follow(program, scratch.registers, walks, scratch.tables, scratch.bases, scratch.outcomes)
            successors = _take_steps(words, some, program, output, scratch)
            _judge_steps(words, successors, live, program, output, scratch)
            status, done = _send_off(shape, at, some, marks, program, orbits, outbox, output, scratch, patience)
            at += done
            if status != DONE:
                break
        if status != DONE:
            break
        at_range += 1
        at = 0
    cursor[Cursor.RANGE], cursor[Cursor.STATE] = at_range, at
    return status
