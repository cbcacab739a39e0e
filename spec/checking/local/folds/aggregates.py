"""Aggregates: results computed from all elements, such as a sum, as graphs of partial results.

A node of the graph asks for a slot, after some partial result: whether a set has an element, say, or which value a
mapping has for a key. All answers lead to the next element, and all ways to the same partial result meet there. So
the graph of n elements has about n nodes for each partial result, while a set of n elements has 2**n subsets. This
is the graph of a sum over the possible elements 1, 1 and 2 of a set:

    so far 0: has the first?   no: so far 0    yes: so far 1
    so far 0: has the second?  no: so far 0    yes: so far 1
    so far 1: has the second?  no: so far 1    yes: so far 2
    so far 0: has the third?   no: 0           yes: 2
    so far 1: has the third?   no: 1           yes: 3
    so far 2: has the third?   no: 2           yes: 4

In the literature these are reduced ordered multi-valued decision diagrams with several terminals.

A path reads an aggregate as it reads a slot; the code is the number of the result. Aggregates are numbered after all
slots. In a decision table a copy of the graph stands in the place of the read (`tables`).


The graphs of aggregates in the form of a decision table's code, to be copied wherever a path reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain
from math import prod
from operator import or_
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np

from spec.checking.local.lazy import ReadSlots, Unknown

LARGEST: Final = 16_384
"""The most edges of a graph, before equal nodes are joined: 64 kB in each place of a table that reads it."""
MANY: Final = 64
"""With more partial results than this, a graph is made only if it has at most half as many as a tree."""
MOST: Final = 10_000
"""The most aggregates of a specification."""


@dataclass(frozen=True)
class Branch:
    """A slot on which the contribution of an element depends."""

    slot: int
    by_code: tuple[Contribution, ...]
    """The contribution for each code, or another branch."""


Contribution = Branch | tuple[Hashable, ...]
"""What an element contributes: the values in order, or the slots that decide which."""


class Node(NamedTuple):
    """A question for a slot, after some partial result."""

    slot: int
    edges: tuple[int, ...]
    """By code, where it leads: to a node; or, counted on after all nodes, to a result."""


class Aggregate:
    """The graph of an aggregate: its nodes, each before those to which it leads, and its results."""

    def __init__(self, nodes: tuple[Node, ...], results: tuple[Any, ...]):
        self.nodes, self.results = nodes, results
        self.sizes = {node.slot: len(node.edges) for node in nodes}
        """The slots that are read, each with its number of codes."""

    def result(self, code_of: Callable[[int], int]) -> int:
        """The number of the result, given the code of each slot."""
        at = 0
        while at < len(self.nodes):
            slot, edges = self.nodes[at]
            at = edges[code_of(slot)]
        return at - len(self.nodes)

    @cached_property
    def _reachable(self) -> list[int]:
        """By node and result, the results to which it may lead, one bit for each."""
        found = [0] * len(self.nodes) + [1 << number for number in range(len(self.results))]
        for at, node in reversed([*enumerate(self.nodes)]):
            found[at] = reduce(or_, (found[edge] for edge in node.edges))
        return found

    def other_codes(self, result: int, known: Mapping[int, int], random: Random) -> dict[int, int] | None:
        """Codes of its slots, chosen at random, with which it has the result of this number, and which include the
        known codes; None if none were found.
        """
        chosen = {slot: known.get(slot, random.randrange(size)) for slot, size in self.sizes.items()}
        at = 0
        while at < len(self.nodes):
            slot, edges = self.nodes[at]
            leading = [code for code, edge in enumerate(edges) if self._reachable[edge] >> result & 1]
            if leading and slot not in known and chosen[slot] not in leading:
                chosen[slot] = random.choice(leading)
            at = edges[chosen[slot]]
        return chosen if at == len(self.nodes) + result else None


class Kind(NamedTuple):
    """A way to aggregate values."""

    start: Hashable
    """The partial result of no value."""
    add: Callable[[Any, Any], Hashable]
    """The partial result after one more value."""
    result: Callable[[Any], Hashable] = lambda partial: partial
    """The result that a partial result becomes in the end. Equal ones must be the same for every purpose."""


def aggregate(kind: Kind, contributions: Iterable[Contribution], largest: int = LARGEST) -> Aggregate | None:
    """An aggregate of what elements contribute; None if it has more edges than the largest."""
    partials: list[Any] = [kind.start]
    levels: list[_Level] = []
    size, ways = 0, 1
    for each in contributions:
        contributed = [*leaves(each)]
        size += len(partials) * len(contributed)
        if size > largest or (len(partials) > MANY and 2 * len(partials) > ways):
            return None
        after = [[reduce(kind.add, values, partial) for values in contributed] for partial in partials]
        levels.append(_Level(each, partials, after))
        partials = [*dict.fromkeys(chain.from_iterable(after))]
        ways *= len(contributed)

    # From the last element to the first: nodes are numbered from 0 on, results from -1 downwards.
    results: dict[Any, int] = {}
    place = {partial: -1 - results.setdefault(kind.result(partial), len(results)) for partial in partials}
    nodes: dict[tuple[int, tuple[int, ...]], int] = {}

    def asked(contribution: Contribution, places: Iterator[int]) -> int:
        """The node that asks what an element contributes; the places are those after each of its contributions."""
        if not isinstance(contribution, Branch):
            return next(places)
        edges = tuple([asked(answer, places) for answer in contribution.by_code])
        return edges[0] if len({*edges}) == 1 else nodes.setdefault((contribution.slot, edges), len(nodes))

    for each, partials, after in reversed(levels):
        place = {
            partial: asked(each, map(place.__getitem__, ends)) for partial, ends in zip(partials, after, strict=True)
        }
    last = len(nodes) - 1
    in_order = [Node(slot, tuple([last - edge for edge in edges])) for slot, edges in reversed(nodes)]
    return Aggregate(tuple(in_order), tuple(results))


class _Level(NamedTuple):
    """The partial results before an element, each with those that follow."""

    contribution: Contribution
    partials: Sequence[Any]
    after: Sequence[Sequence[Any]]


def leaves(contribution: Contribution) -> Iterator[tuple[Hashable, ...]]:
    """What an element may contribute."""
    if isinstance(contribution, Branch):
        for answer in contribution.by_code:
            yield from leaves(answer)
    else:
        yield contribution


def slots_of(contribution: Contribution) -> Iterator[int]:
    """The slot of each question on which a contribution depends."""
    if isinstance(contribution, Branch):
        yield contribution.slot
        for answer in contribution.by_code:
            yield from slots_of(answer)


class Aggregates:
    """The aggregates of a specification, which are numbered after all slots, from `first` on. `codes` says how many
    codes a slot may have whatever others have; 0 if that depends on others.
    """

    def __init__(self, first: int, codes: Sequence[int] = ()):
        self.first, self.codes = first, codes
        self._all: list[Aggregate] = []
        self._number_of: dict[Any, int | None] = {}

    def number_of(self, key: Hashable, make: Callable[[], Aggregate | None]) -> int | None:
        """The number of an aggregate, told from others by its key and made if it is new; None if reading slot by slot
        is not much worse.
        """
        if key not in self._number_of:
            made = make() if len(self._all) < MOST else None
            if made is None or (made.sizes and 2 * len(made.results) > prod(made.sizes.values())):
                self._number_of[key] = None
            else:
                self._number_of[key] = self.first + len(self._all)
                self._all.append(made)
        return self._number_of[key]

    def among(self, slots: Iterable[int]) -> Iterator[tuple[int, Aggregate]]:
        """The aggregates among these slots, by number."""
        return ((slot, self[slot]) for slot in slots if slot >= self.first)

    def slots_of(self, reads: Iterable[int]) -> list[int]:
        """The slots that were read, also in aggregates."""
        return [*chain.from_iterable([slot] if slot < self.first else self[slot].sizes for slot in reads)]

    def __getitem__(self, number: int) -> Aggregate:
        return self._all[number - self.first]

    def read(self, seen: ReadSlots, number: int) -> Any:
        """The result of an aggregate; Unknown if it is not known, and code is only tried."""
        its = self[number]
        if not its.sizes:
            return its.results[0]
        code = seen.get(number)
        if code is None:
            if seen.trying:
                raise Unknown(None)
            for slot in its.sizes:
                seen.within[slot] = seen.code(slot)
            seen[number] = code = its.result(seen.within.__getitem__)
        return its.results[code]


# In the form of a decision table.


NOTHING = 0
"""The form of a node that looks at no bit. It has one edge. Each result is one, since many edges lead there."""


class Graph(NamedTuple):
    """A graph, as if it began at offset 0: nodes first, each before those to which it leads; then results."""

    code: Any
    """The nodes, as in `tables`."""
    edges: Any
    """1 for each edge to another node of the graph, 0 elsewhere."""
    begins: Any
    """The offset of each node and result."""
    results: int
    """The offset of the first result."""
    slots: int
    """The slots that it reads, one bit for each."""

    @classmethod
    def of(cls, aggregate: Aggregate, forms: Sequence[int]) -> Graph:
        """The graph of an aggregate, given the form of each slot in a node."""
        slots = np.array([node.slot for node in aggregate.nodes], np.int64)
        nodes = np.array(forms, np.int64)[slots]
        edges_of = 1 << (nodes >> 16)
        ends = np.cumsum(np.concatenate([edges_of + 1, np.full(len(aggregate.results), 2)]))
        begins = np.concatenate([[0], ends[:-1]])
        code = np.full(ends[-1], NOTHING, np.int32)
        edges = np.zeros_like(code)
        code[begins[: len(nodes)]] = nodes
        for begin, node in zip(begins.tolist(), aggregate.nodes, strict=False):
            its = slice(begin + 1, begin + 1 + len(node.edges))
            code[its], edges[its] = begins[list(node.edges)], 1
        return cls(code, edges, begins, int(begins[len(nodes)]), sum(1 << slot for slot in aggregate.sizes))

    def result(self, at: int, number: int) -> int:
        """The place of the edge from a result, if the graph begins at an offset."""
        return at + self.results + 2 * number + 1
