"""Tables once more, in compact form: nodes that are walked a hundred million times should fit the nearest cache.

The trees of `tables` grow path by path and share nothing. They are copied into an array in which equal subtrees are
shared, and in which a node examines several slots of a word at once, its *field*, if all its children examine the
same slot next. Outcomes are nodes too, which examine nothing and lead back to themselves, so walks side by side need
not check which of them has ended.

The copy grows as trees do, by path copying: only the nodes of a learned path are copied again, after all others.
Nodes copied earlier never change, so one worker may learn while another still walks from the earlier roots. Nodes
that no root reaches any more stay until there may be twice as many of them as of others: then everything is copied
anew.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from spec.checking.local.intrinsics import GATHERS
from spec.checking.local.jit import Array, compiled, part

WIDEST = 5
"""The most bits of a field with several slots."""
FIELD_BITS = 13
MOST = 1 << (FIELD_BITS - 1)
"""The most different fields; beyond that, nodes are no longer joined."""
WIDE = 1 + (1 << WIDEST)
"""The most numbers of a node, if it has no wider slot."""
FEW = 1 << 10
"""Nodes that may be copied again, however few there are."""


class Compact(NamedTuple):
    """The tables."""

    code: Array
    """Outcomes, two numbers each: unknown, 0, 1, ... Then nodes: register | field << 8, and a child per value."""
    inner: int
    """The end of outcomes, and the beginning of nodes that examine something."""
    root: Array
    """The root of each table; and an outcome, for walks of no table."""
    fields: Array
    """The bits of each field."""
    registers: Array
    """The register of each field."""


class _Room(NamedTuple):
    """Memory for a copy, and indexes on it."""

    made: Array
    """The copy, and room after it."""
    done: Array
    """By node of the trees, the place of its copy."""
    equal: Array
    """Places of copies, by hash."""
    fields: Array
    registers: Array
    known: Array
    """Fields by hash. After them, the number of fields."""
    edges: Array

    @classmethod
    def of(cls, inner: int, numbers: int, used: int, nodes: int) -> _Room:
        """Memory for so many numbers in outcomes and nodes, so much code in the trees, and so many nodes."""
        made, known = np.zeros(inner + numbers, np.int32), np.zeros((1 << FIELD_BITS) + 1, np.int32)
        made[1:inner:2] = np.arange(0, inner, 2)
        known[-1] = 1  # field 0 has no bits: outcomes examine it
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
        """The ends of the copy and of outcomes; and how many nodes may be copied before all are copied anew."""

    def of(self, code: Array, used: int, roots: Array, changed: Collection[int], outcomes: int) -> Compact:
        """The copy of the trees with these roots; the changed nodes are on paths learned since the last copy."""
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
        room = self._room
        if len(nodes):
            self._top = _copy(code, nodes, self._top, self._inner, room)
        root, fields = np.append(_edges(roots, room.done), 0), room.known[-1]
        return Compact(room.made[: self._top], self._inner, root, room.fields[:fields], room.registers[:fields])


def _edges(edges: Array, done: Array) -> Array:
    """Edges of the trees, or their roots, as edges of the copy."""
    made: Array = np.where(edges > 0, done[np.maximum(edges, 0)], -2 * edges)
    return made


def _numbers_of(code: Array, nodes: Array) -> int:
    """The most numbers that copies of these nodes take."""
    return int(np.maximum(WIDE, 1 + (1 << (code[nodes] >> 16))).sum())


@compiled
def _nodes_of(code: Array, used: int, nodes: Array) -> int:
    """List the places of all nodes; returns their number."""
    number = 0
    at = 1
    while at < used:
        nodes[number] = at
        number += 1
        at += 1 + (1 << (code[at] >> 16))
    return number


@part
def _bits(field: Any) -> int:
    bits = 0
    while field != np.uint64(0):
        field &= field - np.uint64(1)
        bits += 1
    return bits


@part
def _field(register: int, field: Any, fields: Array, registers: Array, known: Array) -> int:
    """The number of a field, which may be new. The number of fields is stored after all known ones."""
    mixed = (field ^ np.uint64(register)) * np.uint64(0x9E3779B97F4A7C15)
    place, places = np.int64(mixed >> np.uint64(64 - FIELD_BITS)), known.shape[0] - 1
    while known[place] != 0 and (fields[known[place]] != field or registers[known[place]] != register):
        place = (place + 1) & (places - 1)
    if known[place] == 0:
        number = known[places]
        fields[number], registers[number], known[place] = field, register, number
        known[places] += 1
    return int(known[place])


@part
def _together(one: Any, other: Any) -> bool:
    """Whether two fields of a register can be joined."""
    both = one | other
    if one & other != np.uint64(0) or _bits(both) > WIDEST:
        return False
    lowest = both & (np.uint64(0) - both)
    return GATHERS or both & (both + lowest) == np.uint64(0)


@compiled
def _copy(code: Array, nodes: Array, top: int, inner: int, room: _Room) -> int:
    """Copy these nodes, in order, after the existing ones; returns the copy's end."""
    made, done, equal, edges = room.made, room.done, room.equal, room.edges
    fields, registers, known = room.fields, room.registers, room.known
    for i in range(nodes.shape[0] - 1, -1, -1):  # a node comes before its children
        at = nodes[i]
        size = 1 << (code[at] >> 16)
        register = code[at] & 0xFF
        field = ((np.uint64(1) << np.uint64(code[at] >> 16)) - np.uint64(1)) << np.uint64((code[at] >> 8) & 0x3F)
        number = _field(register, field, fields, registers, known)
        for k in range(size):
            edge = code[at + 1 + k]
            edges[0, k] = done[edge] if edge > 0 else -2 * edge
        while True:
            child = 0
            for k in range(size):
                if edges[0, k] >= inner:
                    header = made[edges[0, k]]
                    child = header if child == 0 or child == header else -1
            if child <= 0 or (child & 0xFF) != register or not _together(field, fields[child >> 8]):
                break
            both = field | fields[child >> 8]
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
    return top
