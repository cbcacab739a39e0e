"""Facts: the statements of a packed state about interchangeable values, and their images under permutations.

A *fact* is a code in a slot: for example, that broker 2 votes for broker 5. Permutations map facts to facts. Facts
that can be mapped to each other are of one *kind* (an orbit of facts): a vote for another, a vote for oneself. The
*arguments* of a fact are the values that a permutation must fix in order to fix the fact, here 2 and 5, in an order
that permutations preserve. So a kind is a relation, with a table from arguments to facts. Any of the n! permutations
of n values is applied to a fact by one lookup there.

Kinds, arguments and tables are found from two generators of each sort, by following facts; the structure of domains
does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from spec.checking.model import Model
from spec.checking.states.splitmix import MASK, STRIDE, mixed
from spec.checking.symmetry.group import Image
from spec.language.errors import UsageError

Numbers = npt.NDArray[np.int32]

PLACES: Final = 1 << 22
"""The most places in all tables. A relation among three of sixteen values takes 4,096 for each possible statement."""


class MovingSlot(NamedTuple):
    """A slot whose codes change their meaning or their place under some permutation."""

    slot: int
    first: int
    """The number of the fact for its code 0; further codes follow."""
    guard: int
    """The slot that shows whether it is in use; -1 if its own code does."""
    above: int
    """It is in use if the guard's code is greater."""


class Relations:
    """The facts of the states of a model. Values are numbered consecutively, sort after sort. The images are those
    under each permutation of `group.generators`. `report` is called now and then, since this may take long.
    UsageError if the tables would have more than PLACES places.
    """

    def __init__(
        self,
        model: Model,
        sizes: Sequence[int],
        generated_by: Sequence[Sequence[Image]],
        report: Callable[[], None] = lambda: None,
    ):
        self._name, self._sizes, self._report, self._places = model.specification.name, sizes, report, 0
        begins = accumulate(sizes, initial=0)
        self.sort_begins = [begin for begin, size in zip(begins, sizes, strict=False) for _ in range(size)]
        """By value, the first value of its sort."""
        moves = [{image.source: (slot, image) for slot, image in enumerate(each)} for each in generated_by]
        layout = model.layout
        moving = [slot for slot in range(len(layout.slots)) if any(_changes(slot, *each[slot]) for each in moves)]
        codes = [layout.slots[slot].slot.size for slot in moving]
        self.first = dict(zip(moving, accumulate(codes, initial=0), strict=False))
        self.number = sum(codes)
        self._take(self.number * max(1, len(self.sort_begins)))
        self.slot_of = np.repeat(np.array(moving, np.int32), codes)
        """By fact, its slot."""
        self.code_of = np.concatenate([np.arange(size, dtype=np.int32) for size in codes] or [np.zeros(0, np.int32)])
        """By fact, its code."""
        self._neighbours = self._exchanging_neighbours([self._moved(each, moving) for each in moves])
        self.kind_of = np.full(self.number, -1, np.int32)
        """By fact, its kind; -1 for a fact without content, because all facts of its kind are the code 0."""
        bases = self._kinds()
        self._relate(bases)
        guards = _guards(moves)
        self.slots = [
            MovingSlot(slot, first, *(guards.get(slot, (-1, 0)) if self.kind_of[first] >= 0 else (-1, 0)))
            for slot, first in self.first.items()
        ]

    def _take(self, places: int) -> None:
        """Count places of tables; UsageError if there are too many."""
        self._places += places
        if self._places > PLACES:
            raise UsageError(
                f"--symmetry: the relations of interchangeable values in {self._name} need tables of "
                f"{self._places:,} places or more, and {PLACES:,} are allowed; use fewer values"
            )

    # The images of facts.

    def _moved(self, moves: Mapping[int, tuple[int, Image]], moving: Sequence[int]) -> Numbers:
        """By fact, its image under a permutation."""
        found = np.empty(self.number, np.int32)
        for slot in moving:
            target, image = moves[slot]
            first = self.first[slot]
            found[first : first + len(image.codes)] = self.first[target] + np.array(image.codes, np.int32)
        return found

    def _exchanging_neighbours(self, moved: Sequence[Numbers]) -> dict[int, Numbers]:
        """By value, unless it is the last of its sort: the images of facts when it and the next one are exchanged."""
        found, given, begin = dict[int, Numbers](), iter(moved), 0
        for size in self._sizes:
            if size > 1:
                found[begin] = next(given)
            if size > 2:
                turn = next(given)
                back = np.argsort(turn).astype(np.int32)
                for value in range(begin + 1, begin + size - 1):
                    found[value] = turn[found[value - 1][back]]
            begin += size
        return found

    def _exchanged(self, facts: Numbers, one: int, other: int) -> Numbers:
        """The images of facts when these two values of a sort, the lower first, are exchanged."""
        way = [*range(one, other), *range(other - 2, one - 1, -1)]
        for value in way:
            facts = self._neighbours[value][facts]
        return facts

    # Kinds and relations.

    def _kinds(self) -> Numbers:
        """Assign each fact its kind; returns the first fact of each kind."""
        lowest = np.arange(self.number, dtype=np.int32)
        changed = True
        while changed:
            before = lowest
            for exchanged in self._neighbours.values():
                lowest = np.minimum(lowest, lowest[exchanged])
            changed = bool((before != lowest).any())
        says = np.zeros(self.number, bool)
        says[lowest[self.code_of > 0]] = True
        bases = np.flatnonzero(says).astype(np.int32)
        kinds = np.full(self.number, -1, np.int32)
        kinds[bases] = np.arange(len(bases))
        self.kind_of = kinds[lowest]
        return bases

    def _relate(self, bases: Numbers) -> None:
        """Find the arguments of all facts, and the table of each kind, from one fact of each."""
        values, kinds = len(self.sort_begins), len(bases)
        supports = self._supports(bases)
        most = max((len(support) for support in supports), default=0)
        self.arity = np.array([len(support) for support in supports], np.int32)
        """By kind, the number of arguments."""
        self.arguments = np.full((self.number, most), -1, np.int32)
        """By fact, its arguments."""
        self.offset = np.zeros(kinds, np.int64)
        self.stride = np.zeros((kinds, most), np.int64)
        """By kind: the place in the table for the first values of the arguments' sorts, and the distance from there
        to the fact with the next value of an argument."""
        self.salt = np.array([mixed((kind + 1) * STRIDE & MASK) for kind in range(kinds)], np.uint64)
        self.role_salt = np.zeros((kinds, most), np.uint64)
        """By kind and argument: words that distinguish them. Arguments without an order, such as the members of a
        set, share one word."""
        self.tells = np.ones(kinds, bool)
        """Whether arguments of this kind can be distinguished from other values."""
        roles = [[*range(int(arity))] for arity in self.arity]
        together: dict[tuple[int, ...], list[int]] = {}
        for kind, support in enumerate(supports):
            together.setdefault(support, []).append(kind)
        tables, begin = [], 0
        for support, its in together.items():
            sizes = [
                sum(self.sort_begins[value] == self.sort_begins[arg] for value in range(values)) for arg in support
            ]
            entries = prod(sizes)
            self._take(entries * len(its))
            strides = [prod(sizes[at + 1 :]) for at in range(len(sizes))]
            for at, kind in enumerate(its):
                self.offset[kind] = begin + at
                self.stride[kind, : len(support)] = [stride * len(its) for stride in strides]
            table = np.full((entries, len(its)), -1, np.int32)
            self._fill(table, support, strides, bases[its], roles)
            tables.append(table.ravel())
            begin += table.size
        self.table = np.concatenate(tables) if tables else np.zeros(0, np.int32)
        """Facts by their arguments, kind after kind."""
        for kind, its_roles in enumerate(roles):
            for at, role in enumerate(its_roles):
                self.role_salt[kind, at] = mixed(int(self.salt[kind]) ^ (role + 1))

    def _supports(self, bases: Numbers) -> list[tuple[int, ...]]:
        """The arguments of each of these facts.

        Values whose exchange fixes a fact form classes; the arguments are the values outside the largest class.
        """
        values = len(self.sort_begins)
        alike = np.tile(np.arange(values, dtype=np.int32), (len(bases), 1))
        for other in range(values):
            self._report()
            for one in range(self.sort_begins[other], other):
                same = self._exchanged(bases, one, other) == bases
                alike[same, other] = np.minimum(alike[same, other], one)
        known: dict[bytes, tuple[int, ...]] = {}
        return [known.get(row.tobytes()) or known.setdefault(row.tobytes(), self._support(row)) for row in alike]

    def _support(self, alike: Numbers) -> tuple[int, ...]:
        found = list[int]()
        begin = 0
        for size in self._sizes:
            its = alike[begin : begin + size].tolist()
            others = max(its, key=lambda each: (its.count(each), each))
            found += [begin + at for at, each in enumerate(its) if each != others]
            begin += size
        return tuple(found)

    def _fill(
        self, table: Numbers, support: tuple[int, ...], strides: Sequence[int], bases: Numbers, roles: list[list[int]]
    ) -> None:
        """Follow facts with these arguments, one of each kind, to all their images."""

        def row(arguments: tuple[int, ...]) -> int:
            return sum((arg - self.sort_begins[arg]) * stride for arg, stride in zip(arguments, strides, strict=True))

        table[row(support)] = bases
        reached, filled = [support], 0
        while reached:
            arguments = reached.pop()
            facts = table[row(arguments)]
            self._name_arguments(facts, arguments, roles)
            filled += 1
            if not filled % 1024:
                self._report()
            for value in self._beside(arguments):
                following = tuple(
                    value + 1 if arg == value else value if arg == value + 1 else arg for arg in arguments
                )
                at = row(following)
                if table[at, 0] < 0:
                    table[at] = self._neighbours[value][facts]
                    reached.append(following)

    def _beside(self, arguments: tuple[int, ...]) -> Iterator[int]:
        """The values whose exchange with the next one changes the arguments."""
        for value in sorted({*arguments, *(arg - 1 for arg in arguments)}):
            if value in self._neighbours:
                yield value

    def _name_arguments(self, facts: Numbers, arguments: tuple[int, ...], roles: list[list[int]]) -> None:
        if not arguments:
            return
        new = self.arguments[facts, 0] < 0
        self.arguments[facts[new], : len(arguments)] = arguments
        for fact in facts[~new].tolist():
            kind, other = int(self.kind_of[fact]), self.arguments[fact, : len(arguments)].tolist()
            if set(other) != set(arguments):
                self.tells[kind] = False
                continue
            for at, value in enumerate(arguments):
                low, high = sorted((roles[kind][at], roles[kind][other.index(value)]))
                roles[kind] = [low if role == high else role for role in roles[kind]]


def _changes(slot: int, target: int, image: Image) -> bool:
    return target != slot or any(code != its for code, its in enumerate(image.codes))


def _guards(moves: Sequence[Mapping[int, tuple[int, Image]]]) -> dict[int, tuple[int, int]]:
    """By slot, the slot that shows whether it is in use, and the code it must exceed; also for their images."""
    found = {
        slot: (image.guard, image.above) for each in moves for slot, (_, image) in each.items() if image.guard >= 0
    }
    left = [*found]
    while left:
        slot = left.pop()
        guard, above = found[slot]
        for each in moves:
            target = each[slot][0]
            if target not in found:
                found[target] = each[guard][0], above
                left.append(target)
    return found
