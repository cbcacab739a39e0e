"""The compiled loops through decision tables: the tables to walk, the ends of walks, the results of effects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from spec.checking.local.arrays import CopiedSlot, LookupPiece, Program, Scratch
from spec.checking.local.intrinsics import gathered, trailing_zeros
from spec.checking.local.jit import Array, compiled, inlined, part
from spec.checking.local.outcomes import USUAL

_COPIED = len(CopiedSlot)


@compiled
def clear(off: Array, first: int, free: int, table: int) -> None:
    """Remove a table from the rows with number `first` and any combination of the free bits."""
    word, kept = table >> 6, ~(uint64(1) << uint64(table & 63))
    if first + free >= off.shape[0] or word >= off.shape[1]:
        raise IndexError("no such row or table")
    some = np.int64(0)
    while True:
        off[first + some, word] &= kept
        some = (some - free) & free
        if some == 0:
            break


@part
def mask(program: Program, registers: Array, live: Array) -> None:
    """Leave only the tables that are not known to have the usual outcome."""
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
def look_up(program: Program, begin: int, end: int, registers: Array, at: int, rows: Array, first: int) -> None:
    """Find the rows of the masks for the state in these registers, by these pieces."""
    pieces, number, row = program.pieces, uint64(first), uint64(0)
    for p in range(uint64(begin), uint64(end)):
        value = (
            registers[uint64(at) + uint64(pieces[p, LookupPiece.WORD])] >> uint64(pieces[p, LookupPiece.SHIFT])
        ) & uint64(pieces[p, LookupPiece.MASK])
        row |= value << uint64(pieces[p, LookupPiece.AT])
        rows[number] = row + uint64(pieces[p, LookupPiece.FIRST])
        number += uint64(pieces[p, LookupPiece.LAST])
        row &= uint64(pieces[p, LookupPiece.LAST]) - uint64(1)


@part
def outcome_at(code: Array, at: int, registers: Array) -> int:
    """The outcome of a table, from an edge on; -1 if it is unknown."""
    while at > 0:
        node = uint64(code[uint64(at)])
        value = (registers[node & uint64(0xFF)] >> ((node >> uint64(8)) & uint64(0x3F))) & (
            (uint64(1) << (node >> uint64(16))) - uint64(1)
        )
        at = code[uint64(at) + uint64(1) + value]
    return -1 - at if at < 0 else -1


@part
def next_node(code: Array, fields: Array, registers: Array, base: Any, at: Any) -> Any:
    """One step of a walk through compact tables; an outcome leads back to itself."""
    node = uint64(code[at])
    value = gathered(registers[base + (node & uint64(0xFF))], fields[node >> uint64(8)])
    return uint64(code[at + uint64(1) + value])


@part
def follow(program: Program, registers: Array, number: int, tables: Array, bases: Array, outcomes: Array) -> None:
    """The outcomes of several tables, walked eight at a time: a single walk mostly waits for memory."""
    code, root, fields = program.compact, program.compact_root, program.fields
    inner = uint64(program.inner)
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
        while max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h))) >= inner:
            a, b = next_node(code, fields, registers, at_a, a), next_node(code, fields, registers, at_b, b)
            c, d = next_node(code, fields, registers, at_c, c), next_node(code, fields, registers, at_d, d)
            e, f = next_node(code, fields, registers, at_e, e), next_node(code, fields, registers, at_f, f)
            g, h = next_node(code, fields, registers, at_g, g), next_node(code, fields, registers, at_h, h)
        outcomes[i], outcomes[i + uint64(1)] = a, b
        outcomes[i + uint64(2)], outcomes[i + uint64(3)] = c, d
        outcomes[i + uint64(4)], outcomes[i + uint64(5)] = e, f
        outcomes[i + uint64(6)], outcomes[i + uint64(7)] = g, h
    for i in range(uint64(number)):
        outcomes[i] = (np.int64(outcomes[i]) >> 1) - 1


@compiled
def survey(words: int, states: Array, program: Program, groups_of: Array, useless: Array, scratch: Scratch) -> int:
    """The groups that each useless walk in these states reads, one that ends in the usual outcome; their number.

    `groups_of` has the groups of each field.
    """
    code, root, fields, n_judging = program.compact, program.compact_root, program.fields, program.judging
    inner, usual = uint64(program.inner), uint64(2 * (USUAL + 1))
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
            while node >= inner:
                groups |= groups_of[uint64(code[node]) >> uint64(8)]
                node = next_node(code, fields, registers, uint64(0), node)
            if node == usual:
                useless[number] = groups
                number += 1
    return number


@part
def listed(bits: Array, at: int, first: int, last: int, tables: Array, number: int) -> int:
    """Append the tables from first up to last whose bit is set; the new number of tables."""
    for m in range(first >> 6, (last + 63) >> 6):
        word = bits[uint64(at + m)]
        if m == first >> 6:
            word &= uint64(0xFFFFFFFFFFFFFFFF) << uint64(first & 63)
        if m == last >> 6:
            word &= (uint64(1) << uint64(last & 63)) - uint64(1)
        while word != uint64(0):
            tables[uint64(number)] = np.int64(trailing_zeros(word)) + (m << 6)
            word &= word - uint64(1)
            number += 1
    return number


@part
def ask(missing: Array, number: int, table: Any, registers: Array, base: int, reach: int) -> int:
    """Record a missing path, if there is room; the number of missing paths."""
    if (number + 1) * (reach + 1) <= missing.shape[0]:
        missing[number * (reach + 1)] = uint64(table)
        for k in range(reach):
            missing[number * (reach + 1) + 1 + k] = registers[base + k]
        number += 1
    return number


@inlined
def apply(program: Program, outcome: int, registers: Array, base: int, after: Array, at: int, words: int) -> None:
    """Apply an effect to the state in the registers."""
    effects, spans, copies = program.effects, program.spans, program.copies
    for k in range(words):
        kept = registers[uint64(base + k)] & ~effects[uint64(2 * words * outcome + k)]
        after[uint64(at + k)] = kept | effects[uint64(2 * words * outcome + words + k)]
    for c in range(spans[uint64(2 * outcome)], spans[uint64(2 * outcome + 1)]):
        copy = uint64(_COPIED * c)
        source, target = base + copies[copy + uint64(CopiedSlot.FROM)], at + copies[copy + uint64(CopiedSlot.TO)]
        moved = registers[uint64(source)] >> uint64(copies[copy + uint64(CopiedSlot.FROM_SHIFT)])
        moved &= uint64(copies[copy + uint64(CopiedSlot.MASK)])
        after[uint64(target)] |= moved << uint64(copies[copy + uint64(CopiedSlot.TO_SHIFT)])
