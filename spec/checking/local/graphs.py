"""The graphs of aggregates in the form of a decision table's code, to be copied wherever a path reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spec.checking.local.folds.aggregates import Aggregate

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
