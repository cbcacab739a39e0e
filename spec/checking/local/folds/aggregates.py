"""Aggregates: what comes of a set's members all together, such as their sum, as graphs of partial results.

A node of the graph asks whether the set has an element, after some partial result. Both answers lead to the next
element, and all ways to the same partial result meet there. So the graph of n elements has about n nodes for each
partial result, while the set has 2**n subsets. This is the graph of a sum over the possible elements 1, 1 and 2:

    so far 0: has the first?   no: so far 0    yes: so far 1
    so far 0: has the second?  no: so far 0    yes: so far 1
    so far 1: has the second?  no: so far 1    yes: so far 2
    so far 0: has the third?   no: 0           yes: 2
    so far 1: has the third?   no: 1           yes: 3
    so far 2: has the third?   no: 2           yes: 4

In the literature these are reduced ordered decision diagrams with several terminals (MTBDD).

A path reads an aggregate as it reads a slot; the code is the number of the result. Aggregates are numbered after all
slots. In a decision table a copy of the graph stands in the place of the read (`tables`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from random import Random
from typing import Any, Final, NamedTuple

from spec.checking.local.lazy import ReadSlots, Unknown

LARGEST: Final = 4_096
"""The most nodes of a graph: the number of members of a set of 90 elements has that many."""
MANY: Final = 64
"""With more partial results than this, a graph is made only if it has at most half as many as a tree."""
MOST: Final = 10_000
"""The most aggregates of a specification."""


class Part(NamedTuple):
    """What an element contributes if the set has it."""

    slot: int | None
    """The slot of its membership; None if the set is known to have it."""
    values: tuple[Hashable, ...]
    """What it contributes, in order."""


class Node(NamedTuple):
    """A question whether the set has an element, after some partial result."""

    slot: int
    without: int
    having: int
    """Where each answer leads: to a node; or, counted on after all nodes, to a result."""


class Aggregate:
    """The graph of an aggregate.

    Args:
        nodes: each before those to which it leads.
        results: the results.
    """

    def __init__(self, nodes: tuple[Node, ...], results: tuple[Any, ...]):
        self.nodes, self.results = nodes, results
        self.slots = tuple(dict.fromkeys(node.slot for node in nodes))
        """The memberships that are read."""

    def result(self, code_of: Callable[[int], int]) -> int:
        """The number of the result, given the code of each slot."""
        at = 0
        while at < len(self.nodes):
            at = self.nodes[at][1 + code_of(self.nodes[at].slot)]
        return at - len(self.nodes)

    @cached_property
    def _reachable(self) -> list[int]:
        """By node and result, the results to which it may lead, one bit for each."""
        found = [0] * len(self.nodes) + [1 << number for number in range(len(self.results))]
        for at, node in reversed([*enumerate(self.nodes)]):
            found[at] = found[node.without] | found[node.having]
        return found

    def other_members(self, result: int, known: Mapping[int, int], random: Random) -> dict[int, int] | None:
        """Codes of its slots, chosen at random, with which it has this result; None if none were found.

        Args:
            result: the number of the result.
            known: the codes that must stay, by slot.
            random: makes the choices.
        """
        chosen, at = {slot: known.get(slot, random.randrange(2)) for slot in self.slots}, 0
        while at < len(self.nodes):
            node = self.nodes[at]
            if node.slot not in known and not self._reachable[node[1 + chosen[node.slot]]] >> result & 1:
                chosen[node.slot] ^= 1
            at = node[1 + chosen[node.slot]]
        return chosen if at == len(self.nodes) + result else None


class Kind(NamedTuple):
    """A way to aggregate values."""

    start: Hashable
    """The partial result of no value."""
    add: Callable[[Any, Any], Hashable]
    """The partial result after one more value."""
    result: Callable[[Any], Hashable] = lambda partial: partial
    """The result that a partial result becomes in the end. Equal ones must be the same for every purpose."""


def aggregate(kind: Kind, parts: Iterable[Part], largest: int = LARGEST) -> Aggregate | None:
    """An aggregate of what these elements contribute; None if it has more nodes than the largest."""

    def after(partial: Any, values: Iterable[Any]) -> Any:
        for value in values:
            partial = kind.add(partial, value)
        return partial

    partials = [kind.start]
    levels: list[_Level] = []
    size = 0
    for slot, values, certain in _steps(parts):
        if slot is None:
            partials = [after(kind.start, certain)]
            continue
        size += len(partials)
        if size > largest or (len(partials) > MANY and 2 * len(partials) > 1 << len(levels)):
            return None
        without = [after(partial, certain) for partial in partials] if certain else partials
        having = [after(partial, values) for partial in partials]
        if certain:
            having = [after(partial, certain) for partial in having]
        levels.append(_Level(slot, partials, without, having))
        partials = [*dict.fromkeys(chain(without, having))]

    # From the last element to the first: nodes are numbered from 0 on, results from -1 downwards.
    results: dict[Any, int] = {}
    place = {partial: -1 - results.setdefault(kind.result(partial), len(results)) for partial in partials}
    nodes: dict[tuple[int, int, int], int] = {}
    for slot, partials, without, having in reversed(levels):
        above: dict[Any, int] = {}
        for partial, one, other in zip(partials, without, having, strict=True):
            node = slot, place[one], place[other]
            above[partial] = node[1] if node[1] == node[2] else nodes.setdefault(node, len(nodes))
        place = above
    last = len(nodes) - 1
    in_order = [Node(slot, last - one, last - other) for slot, one, other in reversed(nodes)]
    return Aggregate(tuple(in_order), tuple(results))


class _Level(NamedTuple):
    """The partial results before an element, each with those that follow."""

    slot: int
    partials: Sequence[Any]
    without: Sequence[Any]
    having: Sequence[Any]


def _steps(parts: Iterable[Part]) -> Iterator[tuple[int | None, tuple[Any, ...], tuple[Any, ...]]]:
    """The elements that the set may have; with each, what it contributes, and those after it that the set has."""
    slot: int | None = None
    values: tuple[Any, ...] = ()
    certain: tuple[Any, ...] = ()
    for part in parts:
        if part.slot is None:
            certain += part.values
        else:
            yield slot, values, certain
            slot, values, certain = part.slot, part.values, ()
    yield slot, values, certain


class Aggregates:
    """The aggregates of a specification, which are numbered after all slots.

    Args:
        first: the number of the first one.
    """

    def __init__(self, first: int):
        self.first = first
        self._all: list[Aggregate] = []
        self._number_of: dict[Any, int | None] = {}

    def number_of(self, key: Hashable, make: Callable[[], Aggregate | None]) -> int | None:
        """The number of an aggregate; None if reading the memberships one by one is not much worse.

        Args:
            key: what tells the aggregate from others.
            make: makes it, if it is new.
        """
        if key not in self._number_of:
            made = make() if len(self._all) < MOST else None
            if made is None or (made.slots and 2 * len(made.results) > 1 << len(made.slots)):
                self._number_of[key] = None
            else:
                self._number_of[key] = self.first + len(self._all)
                self._all.append(made)
        return self._number_of[key]

    def among(self, slots: Iterable[int]) -> Iterator[tuple[int, Aggregate]]:
        """The aggregates among these slots, by number."""
        return ((slot, self[slot]) for slot in slots if slot >= self.first)

    def __getitem__(self, number: int) -> Aggregate:
        return self._all[number - self.first]

    def read(self, seen: ReadSlots, number: int) -> Any:
        """The result of an aggregate.

        Raises:
            Unknown: it is not known, and code is only tried.
        """
        its = self[number]
        if not its.slots:
            return its.results[0]
        code = seen.get(number)
        if code is None:
            if seen.trying:
                raise Unknown(None)
            for slot in its.slots:
                seen.within[slot] = seen.code(slot)
            seen[number] = code = its.result(seen.within.__getitem__)
        return its.results[code]
