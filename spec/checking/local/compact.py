"""Tables once more, small: what is walked a hundred million times should lie in the nearest cache.

The trees of `tables` grow path by path and share nothing. When something was learned they are copied into an array
in which equal subtrees are one, and in which a node looks at several slots of a word at once, its *field*, where all
that follows it looks at the same one next. Outcomes are nodes there too, which look at nothing and lead back to
themselves, so that walks side by side need not ask which of them has ended. A copy is never changed: one worker may
learn while another still walks through the copy that was made before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spec.checking.local.intrinsics import GATHERS
from spec.checking.local.jit import Array, compiled, inlined

WIDEST = 5
"""Bits of a field of several slots."""
FIELD_BITS = 13
MOST = 1 << (FIELD_BITS - 1)
"""Different fields, at most; then nodes are left as they are."""


class Compact(NamedTuple):
    """The tables."""

    code: Array
    """A node is register | field << 8, and then where it leads for each value."""
    root: Array
    """Where each table begins. The last one is where outcomes do, two numbers each: unknown, 0, 1, ..."""
    fields: Array
    """The bits of each field."""
    registers: Array
    """In which register they lie."""


def compact(code: Array, used: int, roots: Array, outcomes: int) -> Compact:
    """The trees with these roots, of `tables.DecisionTables`."""
    nodes = np.zeros(used, np.int32)
    number = _nodes_of(code, used, nodes)
    room = used + number * (1 + (1 << WIDEST)) + 2 * (outcomes + 1) + (1 << WIDEST)
    made, root = np.zeros(room, np.int32), np.zeros(len(roots) + 1, np.int32)
    done, equal = np.zeros(used, np.int32), np.zeros(1 << max(4, used.bit_length()), np.int32)
    fields, registers = np.zeros(1 << FIELD_BITS, np.uint64), np.zeros(1 << FIELD_BITS, np.int32)
    known = np.zeros((1 << FIELD_BITS) + 1, np.int32)
    known[-1] = 1  # field 0 has no bits: it is where outcomes look
    edges = np.zeros((2, 1 << 16), np.int32)
    length = _compact(
        code, nodes[:number], roots, outcomes + 1, made, root, done, equal, fields, registers, known, edges
    )
    return Compact(made[:length].copy(), root, fields[: known[-1]].copy(), registers[: known[-1]].copy())


@compiled
def _nodes_of(code: Array, used: int, nodes: Array) -> int:
    """Where nodes are; how many."""
    number = 0
    at = 1
    while at < used:
        nodes[number] = at
        number += 1
        at += 1 + (1 << (code[at] >> 16))
    return number


@inlined
def _bits(field: Any) -> int:
    bits = 0
    while field != np.uint64(0):
        field &= field - np.uint64(1)
        bits += 1
    return bits


@inlined
def _field(register: int, field: Any, fields: Array, registers: Array, known: Array) -> int:
    """The number of a field, which may be a new one. How many there are stands behind all that are known."""
    mixed = (field ^ np.uint64(register)) * np.uint64(0x9E3779B97F4A7C15)
    place, places = np.int64(mixed >> np.uint64(64 - FIELD_BITS)), known.shape[0] - 1
    while known[place] != 0 and (fields[known[place]] != field or registers[known[place]] != register):
        place = (place + 1) & (places - 1)
    if known[place] == 0:
        number = known[places]
        fields[number], registers[number], known[place] = field, register, number
        known[places] += 1
    return int(known[place])


@inlined
def _together(one: Any, other: Any) -> bool:
    """Whether two fields of a register can be one."""
    both = one | other
    if one & other != np.uint64(0) or _bits(both) > WIDEST:
        return False
    lowest = both & (np.uint64(0) - both)
    return GATHERS or both & (both + lowest) == np.uint64(0)


@compiled
def _compact(
    code: Array,
    nodes: Array,
    roots: Array,
    leaves: int,
    made: Array,
    new: Array,
    done: Array,
    equal: Array,
    fields: Array,
    registers: Array,
    known: Array,
    edges: Array,
) -> int:
    top = 1
    for i in range(nodes.shape[0] - 1, -1, -1):  # a node comes before those to which it leads
        at = nodes[i]
        size = 1 << (code[at] >> 16)
        register = code[at] & 0xFF
        field = ((np.uint64(1) << np.uint64(code[at] >> 16)) - np.uint64(1)) << np.uint64((code[at] >> 8) & 0x3F)
        number = _field(register, field, fields, registers, known)
        for k in range(size):
            edge = code[at + 1 + k]
            edges[0, k] = done[edge] if edge > 0 else edge
        while True:
            behind = 0
            for k in range(size):
                if edges[0, k] > 0:
                    header = made[edges[0, k]]
                    behind = header if behind == 0 or behind == header else -1
            if behind <= 0 or (behind & 0xFF) != register or not _together(field, fields[behind >> 8]):
                break
            both = field | fields[behind >> 8]
            if known[known.shape[0] - 1] > MOST:
                break
            joined = _field(register, both, fields, registers, known)
            size = 1 << _bits(both)
            for k in range(size):
                mine = its = at_mine = at_its = 0
                left = both
                bit = 0
                while left != np.uint64(0):
                    lowest = left & (np.uint64(0) - left)
                    if field & lowest != np.uint64(0):
                        mine |= ((k >> bit) & 1) << at_mine
                        at_mine += 1
                    else:
                        its |= ((k >> bit) & 1) << at_its
                        at_its += 1
                    bit += 1
                    left &= left - np.uint64(1)
                edge = edges[0, mine]
                edges[1, k] = made[edge + 1 + its] if edge > 0 else edge
            for k in range(size):
                edges[0, k] = edges[1, k]
            field, number = both, joined
        made[top] = register | number << 8
        mixed = np.uint64(made[top])
        for k in range(size):
            made[top + 1 + k] = edges[0, k]
            mixed = (mixed ^ np.uint64(edges[0, k])) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(29)
        place = np.int64(mixed & np.uint64(equal.shape[0] - 1))
        while equal[place] != 0:
            same = True
            for k in range(size + 1):
                same &= made[equal[place] + k] == made[top + k]
            if same:
                break
            place = (place + 1) & (equal.shape[0] - 1)
        if equal[place] == 0:
            equal[place] = top
            top += size + 1
        done[at] = equal[place]
    at = 1
    while at < top:
        size = 1 << _bits(fields[made[at] >> 8])
        for k in range(1, size + 1):
            if made[at + k] <= 0:
                made[at + k] = top - 2 * made[at + k]
        at += size + 1
    for i in range(roots.shape[0]):
        new[i] = done[roots[i]] if roots[i] > 0 else top - 2 * roots[i]
    new[roots.shape[0]] = top
    for i in range(leaves):
        made[top + 2 * i] = 0
        made[top + 2 * i + 1] = top + 2 * i
    return top + 2 * leaves
