"""Masks: tables that are known to have the usual outcome, before any table is walked.

The slots of a state lie in *groups* of a few bits. Each value of a group has a set of tables that it decides: their
outcome is the usual one whatever the other slots hold. An action is disabled, an invariant holds. Where it pays,
several groups are looked up together (a *lookup*). A dozen lookups leave a handful of tables to walk in a state.

For a property of steps it is the outcome if the step changes nothing that the property reads. Databases prune in the
same way with bitmap indexes: sets with one bit for each candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any, NamedTuple

import numpy as np

from spec.checking.local.arrays import LOOKUPS, LookupPiece
from spec.checking.local.traversing import clear
from spec.checking.states import splitmix
from spec.language.cells import SlotPlace

GROUP = 9
"""The most bits of a group, unless a single slot is wider."""
LOOKUP = 16
"""The most bits of a lookup: 65,536 rows, of which only those of actual states are touched."""
COMMON = 60
"""Of the most common sets of groups, this many are tried in pairs."""
MIN_GAIN = 0.25
"""The fewest useless walks per state that a lookup must save: it costs about a fifth of a walk."""
MOST_NEW = 0.3
"""The result of lookups is remembered if at most this share of states have one of their own."""
FEWEST = 4
"""The fewest lookups whose result is remembered: to recall it takes as long as two or three."""


class Group(NamedTuple):
    """Adjacent bits of a word."""

    word: int
    shift: int
    width: int


class Lookup(NamedTuple):
    """Some groups that are looked up together."""

    groups: tuple[int, ...]
    bits: int
    """Its groups, as a set."""
    first: int
    """The row in which its values begin."""


Cube = dict[int, tuple[int, int]]
"""By group: the bits that count, and their required values."""


class Masks:
    """The tables that each value of a group decides."""

    def __init__(self, places: Sequence[SlotPlace], tables: int):
        self.words = max(1, (tables + 63) // 64)
        self.groups = _groups(places)
        self.group_of = [
            next(
                number
                for number, group in enumerate(self.groups)
                if group.word == place.word and group.shift <= place.shift < group.shift + group.width
            )
            for place in places
        ]
        self._within = [
            (place.shift - self.groups[number].shift, (1 << place.width) - 1)
            for place, number in zip(places, self.group_of, strict=True)
        ]
        self._bit_of = [1 << group for group in self.group_of]
        self.lookups: list[Lookup] = []
        """Lookups of single groups, then those of several."""
        rows = sum(1 << group.width for group in self.groups)
        self.off = np.empty((rows + (LOOKUPS << LOOKUP), self.words), np.uint64)
        """Room for all possible lookups; memory is taken as they are written."""
        self._used = 0
        self.pieces = np.zeros((0, len(LookupPiece)), np.int64)
        """The lookups for compiled code, see `arrays.LookupPiece`."""
        self.remembered = self.remembered_pieces = 0
        """The number of the first lookups, whose result is remembered, and of their pieces."""
        self.relevant = np.zeros(1 + max((group.word for group in self.groups), default=0), np.uint64)
        """By word, the bits that these lookups read."""
        self._cubes: list[tuple[int, int, Cube]] = []
        """Cubes of several groups that fit into a lookup."""
        self._fits: dict[int, bool] = {}
        for number, group in enumerate(self.groups):
            self._add((number,), np.full((1 << group.width, self.words), -1, np.int64).view(np.uint64))
        self._look_up()

    def learn(self, table: int, reads: Mapping[int, int] | None) -> None:
        """Record that a table has the usual outcome wherever these slots have these codes."""
        if reads is None:
            return
        bits = 0
        for slot in reads:
            bits |= self._bit_of[slot]
        if not self._can_be_looked_up(bits):
            return
        cube: Cube = {}
        for slot, code in reads.items():
            shift, mask = self._within[slot]
            group = self.group_of[slot]
            known, wanted = cube.get(group, (0, 0))
            cube[group] = known | mask << shift, wanted | code << shift
        if len(cube) > 1:
            self._cubes.append((table, bits, cube))
        for lookup in self.lookups:
            if not bits & ~lookup.bits:
                self._clear(lookup, table, cube)

    def _can_be_looked_up(self, bits: int) -> bool:
        """Whether these groups can be part of one lookup."""
        if bits not in self._fits:
            widths = [self.groups[group].width for group in _members(bits)]
            self._fits[bits] = len(widths) < 2 or sum(widths) <= LOOKUP
        return self._fits[bits]

    def _clear(self, lookup: Lookup, table: int, cube: Cube) -> None:
        at = known = wanted = 0
        for group in lookup.groups:
            its_known, its_wanted = cube.get(group, (0, 0))
            known |= its_known << at
            wanted |= its_wanted << at
            at += self.groups[group].width
        clear(self.off, lookup.first + wanted, (1 << at) - 1 & ~known, table)

    def _add(self, groups: tuple[int, ...], off: np.ndarray[Any, Any]) -> Lookup:
        """Add a lookup, with these sets of tables in its rows."""
        self.lookups.append(Lookup(groups, sum(1 << group for group in groups), self._used))
        self._used += len(off)
        self.off[self._used - len(off) : self._used] = off
        return self.lookups[-1]

    def _join(self, groups: tuple[int, ...]) -> None:
        """Add a lookup of several groups, from what is known of each alone, and of some together."""
        off = self._off_by(groups[0])
        for group in groups[1:]:
            off = (self._off_by(group)[:, :, None] & off[:, None, :]).reshape(self.words, -1)
        lookup = self._add(groups, off.T)
        for table, bits, cube in self._cubes:
            if not bits & ~lookup.bits:
                self._clear(lookup, table, cube)

    def _off_by(self, group: int) -> np.ndarray[Any, Any]:
        """By word and value of a single group, the tables that are off."""
        first = self.lookups[group].first
        return self.off[first : first + (1 << self.groups[group].width)].T

    def _look_up(self, states: np.ndarray[Any, Any] | None = None) -> None:
        """Use the joined lookups, and single groups that are in none of them; those that are useful in these states.

        The first ones are those whose result is remembered.
        """
        joined = self.lookups[len(self.groups) :]
        covered = {group for lookup in joined for group in lookup.groups}
        used = joined + [self.lookups[group] for group in range(len(self.groups)) if group not in covered]
        remembered: list[Lookup] = []
        if states is not None:
            rows = {lookup: self._rows_of(lookup, states) for lookup in used}
            used = self._useful(rows)
            remembered = _repeated({lookup: rows[lookup] for lookup in used})
        ordered = remembered + [lookup for lookup in used if lookup not in remembered]
        pieces = [piece for lookup in ordered for piece in self._pieces_of(lookup)]
        self.pieces = np.array([[*piece.values()] for piece in pieces], np.int64).reshape(-1, len(LookupPiece))
        self.remembered, self.remembered_pieces = len(remembered), sum(len(lookup.groups) for lookup in remembered)
        self.relevant = np.zeros_like(self.relevant)
        for group in {self.groups[number] for lookup in remembered for number in lookup.groups}:
            self.relevant[group.word] |= np.uint64((1 << group.width) - 1 << group.shift)

    def _pieces_of(self, lookup: Lookup) -> list[dict[LookupPiece, int]]:
        """A lookup for compiled code."""
        pieces, at = list[dict[LookupPiece, int]](), 0
        for group in (self.groups[number] for number in lookup.groups):
            pieces.append(dict.fromkeys(LookupPiece, 0))
            pieces[-1] |= {
                LookupPiece.WORD: group.word,
                LookupPiece.SHIFT: group.shift,
                LookupPiece.MASK: (1 << group.width) - 1,
                LookupPiece.AT: at,
            }
            at += group.width
        pieces[-1] |= {LookupPiece.FIRST: lookup.first, LookupPiece.LAST: 1}
        return pieces

    def _rows_of(self, lookup: Lookup, states: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The rows of a lookup for these states."""
        rows, at = np.full(len(states), lookup.first, np.uint64), 0
        for group in (self.groups[number] for number in lookup.groups):
            its = states[:, group.word] >> np.uint64(group.shift) & np.uint64((1 << group.width) - 1)
            rows += its << np.uint64(at)
            at += group.width
        return rows

    def _useful(self, rows: Mapping[Lookup, np.ndarray[Any, Any]]) -> list[Lookup]:
        """The lookups, each with its row for each of the states, without those that hardly save a walk in some
        states, because others say the same. Single groups are left out first.
        """
        found = [self.off[its.astype(np.int64)] for its in rows.values()]
        everything = ~np.zeros_like(found[0])
        before = accumulate(found, np.bitwise_and, initial=everything)
        used, after = list[Lookup](), everything
        for lookup, its, others in reversed([*zip(rows, found, before, strict=False)]):
            if np.bitwise_count(others & after & ~its).sum() >= MIN_GAIN * len(its):
                used.append(lookup)
                after = after & its
        return used

    def tune(self, useless: np.ndarray[Any, Any], surveyed: int, states: np.ndarray[Any, Any]) -> None:
        """Add lookups that save useless walks, and leave out useless lookups. Of so many states of a level, some are
        given, with the groups that each useless walk reads.
        """
        width = np.array([group.width for group in self.groups], np.int64)
        left, many = np.unique(useless[useless != 0], return_counts=True)
        while len(self.lookups) < len(self.groups) + LOOKUPS and len(left):
            common = left[np.argsort(-many, kind="stable")[:COMMON]]
            unions = np.unique(common[:, None] | common[None, :])
            members = unions[:, None] >> np.arange(len(width), dtype=np.uint64) & np.uint64(1)
            unions = unions[members.astype(np.int64) @ width <= LOOKUP]
            if not len(unions):
                break
            spared = ((left[None, :] & ~unions[:, None]) == 0) @ many
            best = int(np.argmax(spared))
            if spared[best] < MIN_GAIN * surveyed:
                break
            self._join(tuple(_members(int(unions[best]))))
            kept = left & ~unions[best] != 0
            left, many = left[kept], many[kept]
        self._look_up(states)


def _repeated(rows: Mapping[Lookup, np.ndarray[Any, Any]]) -> list[Lookup]:
    """As many lookups as possible that together have the same rows in many states; none if they are too few. Each
    lookup has its row for each state; no two have a row in common.
    """
    hashes = {lookup: splitmix.mixed(its) for lookup, its in rows.items()}
    together = np.bitwise_xor.reduce([*hashes.values()] or [np.zeros(0, np.uint64)])
    while len(hashes) >= FEWEST and _single(together) > MOST_NEW * len(together):
        some = together[::5]
        worst = min(hashes, key=lambda lookup: _single(some ^ hashes[lookup][::5]))
        together = together ^ hashes.pop(worst)
    return [*hashes] if len(hashes) >= FEWEST else []


def _single(values: np.ndarray[Any, Any]) -> int:
    """The number of values that occur once: their share estimates how often the next value is a new one."""
    _, times = np.unique(values, return_counts=True)
    return int((times == 1).sum())


def _members(bits: int) -> Iterator[int]:
    return (number for number in range(bits.bit_length()) if bits >> number & 1)


def _groups(places: Sequence[SlotPlace]) -> list[Group]:
    """Neighbouring slots: those of one cell as far as they fit, and whole cells together if they fit."""
    groups: list[Group] = []
    for _, cell in groupby(places, key=lambda place: place.cell):
        pieces: list[Group] = []
        for place in cell:
            pieces = _joined(pieces, Group(place.word, place.shift, place.width))
        joined = _joined(groups, pieces[0])
        groups = joined if len(pieces) == 1 and len(joined) == len(groups) else groups + pieces
    return groups


def _joined(groups: list[Group], piece: Group) -> list[Group]:
    """The groups and one more piece, joined to the last group if they are neighbours and it fits."""
    if groups:
        last = groups[-1]
        fits = piece.shift + piece.width == last.shift and last.width + piece.width <= GROUP
        if last.word == piece.word and fits:
            return [*groups[:-1], Group(last.word, piece.shift, last.width + piece.width)]
    return [*groups, piece]
