"""Orbits for compiled code: the permutations of `spec.checking.symmetry` in flat arrays.

Neighbouring slots that every permutation moves together, and does not recode, are one *part* of a state here: a
broker's whole log is compared and moved as one number. The tree of the permutations has a level for each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from spec.checking.local.kernels import Orbits
from spec.checking.symmetry import Image, Symmetry
from spec.language.state import Place

NONE = Orbits(
    nodes=np.zeros((0, 4), np.int64),
    branches=np.zeros((0, 2), np.int64),
    takes=np.zeros((0, 8), np.int64),
    codes=np.zeros(0, np.int64),
    moves=np.zeros((0, 3), np.int64),
    spans=np.zeros(1, np.int64),
    kept=np.zeros((0, 1), np.uint64),
)
"""Of a search that does not go by orbits."""


def orbits(symmetry: Symmetry) -> Orbits:
    """The permutations as compiled code takes them."""
    return _Builder(symmetry).built()


@dataclass
class _Node:
    """Permutations that put the same into all parts before this one."""

    permutations: tuple[int, ...]
    branches: list[tuple[int, int]]
    """What is put into this part, and the node behind it."""


class _Builder:
    def __init__(self, symmetry: Symmetry):
        self.images = symmetry.images
        self.places: Sequence[Place] = symmetry.model.layout.slots
        self.words = symmetry.model.layout.words
        self.parts = list(self._parts())
        self.takes: dict[tuple[int, ...], int] = {}
        self.codes: list[int] = []
        self.recoding: dict[tuple[int, ...], int] = {}
        self.nodes: list[_Node] = []

    def built(self) -> Orbits:
        group = tuple(range(len(self.images)))
        self._node(group, 0)
        nodes, branches = [], list[tuple[int, int]]()
        for number, node in enumerate(self.nodes):
            nodes.append((len(branches), len(node.branches), node.permutations[0], self._alone(number)))
            branches += node.branches
        moves, spans = list[tuple[int, int, int]](), [0]
        kept = np.full((len(group), self.words), -1, np.int64).view(np.uint64)
        for number in group:
            for part in self.parts:
                if not self._stays(number, part):
                    target = self.places[part.stop - 1]
                    kept[number, target.word] &= np.uint64(~self._bits(part) & (1 << 64) - 1)
                    moves.append((self._take(number, part), target.word, target.shift))
            spans.append(len(moves))
        return Orbits(
            _rows(nodes, 4),
            _rows(branches, 2),
            _rows(list(self.takes), 8),
            np.array(self.codes or [0], np.int64),
            _rows(moves, 3),
            np.array(spans, np.int64),
            kept,
        )

    def _parts(self) -> Iterator[range]:
        """The slots of each part."""
        first = 0
        for before, slot in pairwise(range(len(self.places))):
            if not all(self._together(images[before], images[slot], before, slot) for images in self.images):
                yield range(first, slot)
                first = slot
        yield range(first, len(self.places))

    def _together(self, one: Image, other: Image, before: int, slot: int) -> bool:
        """Whether a permutation takes two neighbouring slots from neighbouring slots, as they are."""
        places = self.places
        return (
            _as_it_is(one)
            and _as_it_is(other)
            and other.source == one.source + 1
            and places[slot].word == places[before].word
            and places[other.source].word == places[one.source].word
        )

    def _stays(self, number: int, part: range) -> bool:
        return all(self.images[number][slot].source == slot and _as_it_is(self.images[number][slot]) for slot in part)

    def _bits(self, part: range) -> int:
        return sum(((1 << self.places[slot].width) - 1) << self.places[slot].shift for slot in part)

    def _alone(self, number: int) -> int:
        """Where to go on if no other node is left: where its permutations part. -1: they do not, it is decided."""
        while len(self.nodes[number].branches) == 1:
            ((_, number),) = self.nodes[number].branches
        node = self.nodes[number]
        return number if node.branches and len(node.permutations) > 1 else -1

    def _node(self, permutations: tuple[int, ...], at: int) -> int:
        """The tree of these permutations from a part on."""
        number = len(self.nodes)
        self.nodes.append(node := _Node(permutations, []))
        if at < len(self.parts):
            by_take: dict[int, list[int]] = {}
            for permutation in permutations:
                by_take.setdefault(self._take(permutation, self.parts[at]), []).append(permutation)
            node.branches = [(take, self._node(tuple(its), at + 1)) for take, its in by_take.items()]
        return number

    def _take(self, permutation: int, part: range) -> int:
        """What a permutation puts into a part: where it is taken from, and what becomes of it."""
        image, last = self.images[permutation][part.start], self.images[permutation][part.stop - 1]
        source = self.places[last.source]
        width = sum(self.places[slot].width for slot in part)
        row = [source.word, source.shift, (1 << width) - 1, -1, 0, 0, 0, -1]
        if not _as_it_is(image):
            row[3] = self._recoding(image.codes)
            if image.guard >= 0:
                guard = self.places[image.guard]
                row[4:] = [guard.word, guard.shift, (1 << guard.width) - 1, image.above]
        return self.takes.setdefault(tuple(row), len(self.takes))

    def _recoding(self, codes: tuple[int, ...]) -> int:
        if codes not in self.recoding:
            self.recoding[codes] = len(self.codes)
            self.codes += codes
        return self.recoding[codes]


def _as_it_is(image: Image) -> bool:
    """Whether codes stay what they are; it does not matter then whether they are in use."""
    return all(code == at for at, code in enumerate(image.codes))


def _rows(rows: Sequence[tuple[int, ...]], columns: int) -> Any:
    return np.array(rows, np.int64).reshape(-1, columns)
