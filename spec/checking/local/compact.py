"""Tables once more, small: what is walked a hundred million times should lie in the nearest cache.

The trees of `tables` grow path by path and share nothing. They are copied into an array in which equal subtrees are
one, and in which a node looks at several slots of a word at once, its *field*, where all that follows it looks at the
same one next. Outcomes are nodes there too, which look at nothing and lead back to themselves, so that walks side by
side need not ask which of them has ended.

The copy grows as trees do, by path copying: the nodes of a path that was learned are copied once more, behind all
others, and nothing else is. So what was copied before is never changed, and one worker may learn while another still
walks from the roots that there were. Nodes to which no root leads any more stay until there may be twice as many of
them as of others: then all is copied anew.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from spec.checking.local.intrinsics import GATHERS
from spec.checking.local.jit import Array, compiled, inlined

WIDEST = 5
"""Bits of a field of several slots."""
FIELD_BITS = 13
MOST = 1 << (FIELD_BITS - 1)
"""Different fields, at most; then nodes are left as they are."""
WIDE = 1 + (1 << WIDEST)
"""Numbers that a node takes at most, if no slot of it is wider."""
FEW = 1 << 10
"""Nodes that are copied once more, however few there are."""


class Compact(NamedTuple):
    """The tables."""

    code: Array
    """Outcomes, two numbers each: unknown, 0, 1, ... Then nodes: register | field << 8, and where it leads for each
    value."""
    inner: int
    """Where outcomes end, and nodes that look at something begin."""
    root: Array
    """Where each table begins; and an outcome, for walks that are none."""
    fields: Array
    """The bits of each field."""
    registers: Array
    """In which register they lie."""


class _Room(NamedTuple):
    """What a copy is made in, and what is known of it."""

    made: Array
    """The copy, and room behind it."""
    done: Array
    """By node of the trees, where its copy is."""
    equal: Array
    """Where copies are, by hash."""
    fields: Array
    registers: Array
    known: Array
    """Fields by hash. Behind them, how many there are."""
    edges: Array

    @classmethod
    def of(cls, inner: int, numbers: int, used: int, nodes: int) -> _Room:
        """For so many numbers of outcomes and of nodes; the trees take so much code; and for so many nodes."""
        made, known = np.zeros(inner + numbers, np.int32), np.zeros((1 << FIELD_BITS) + 1, np.int32)
        made[1:inner:2] = np.arange(0, inner, 2)
        known[-1] = 1  # field 0 has no bits: it is where outcomes look
        return cls(
            made=made,
            done=np.zeros(used, np.int32),
            equal=np.zeros(1 << (2 * nodes).bit_length(), np.int32),
            fields=np.zeros(1 << FIELD_BITS, np.uint64),
            registers=np.zeros(1 << FIELD_BITS, np.int32),
            known=known,
            edges=np.zeros((2, 1 << 16), np.int32),
        )


class CompactCopy:
    """The copy of the trees of `tables.DecisionTables`, as far as they have grown."""

    def __init__(self) -> None:
        self._room = _Room.of(0, 0, 0, 0)
        self._top = self._inner = self._left = 0
        """Where the copy ends; where outcomes do; and how many nodes may be copied before all are, anew."""

    def of(self, code: Array, used: int, roots: Array, changed: Collection[int], outcomes: int) -> Compact:
        """Of the trees with these roots, of which these nodes lie on paths that were learned since."""
        nodes, leaves = np.array(sorted(changed), np.int32), 2 * (outcomes + 1)
        fits = self._top + _numbers_of(code, nodes) <= len(self._room.made)
        if leaves > self._inner or len(nodes) > self._left or not fits:
            nodes = np.zeros(used, np.int32)
            nodes = nodes[: _nodes_of(code, used, nodes)]
            self._top = self._inner = 2 * leaves
            self._left = 2 * len(nodes) + FEW
            numbers = _numbers_of(code, nodes) + (len(nodes) + FEW) * WIDE
            self._room = _Room.of(self._inner, numbers, 2 * used, self._left)
        self._left -= len(nodes)
        if used > len(self._room.done):
            more = np.zeros(used, np.int32)
            self._room = self._room._replace(done=np.concatenate([self._room.done, more]))
        root, room = np.zeros(len(roots) + 1, np.int32), self._room
        self._top = _copy(code, nodes, roots, root, self._top, self._inner, room)
        fields = room.known[-1]
        return Compact(room.made[: self._top], self._inner, root, room.fields[:fields], room.registers[:fields])


def _numbers_of(code: Array, nodes: Array) -> int:
    """Numbers that copies of these nodes take at most."""
    return int(np.maximum(WIDE, 1 + (1 << (code[nodes] >> 16))).sum())


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
def _copy(code: Array, nodes: Array, roots: Array, root: Array, top: int, inner: int, room: _Room) -> int:
    """Copy these nodes, in order, behind what there is, and say where tables begin; where the copy ends then."""
    made, done, equal, edges = room.made, room.done, room.equal, room.edges
    fields, registers, known = room.fields, room.registers, room.known
    for i in range(nodes.shape[0] - 1, -1, -1):  # a node comes before those to which it leads
        at = nodes[i]
        size = 1 << (code[at] >> 16)
        register = code[at] & 0xFF
        field = ((np.uint64(1) << np.uint64(code[at] >> 16)) - np.uint64(1)) << np.uint64((code[at] >> 8) & 0x3F)
        number = _field(register, field, fields, registers, known)
        for k in range(size):
            edge = code[at + 1 + k]
            edges[0, k] = done[edge] if edge > 0 else -2 * edge
        while True:
            behind = 0
            for k in range(size):
                if edges[0, k] >= inner:
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
                edges[1, k] = made[edge + 1 + its] if edge >= inner else edge
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
    for i in range(roots.shape[0]):
        root[i] = done[roots[i]] if roots[i] > 0 else -2 * roots[i]
    return top
