"""The graphs of aggregates in the form of a decision table's code, to be copied wherever a path reads them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
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
        nodes, results = len(aggregate.nodes), len(aggregate.results)
        begins = np.append(np.arange(nodes) * 3, 3 * nodes + np.arange(results) * 2)
        code = np.full(3 * nodes + 2 * results, NOTHING, np.int32)
        asked = np.fromiter(chain.from_iterable(aggregate.nodes), np.int64, 3 * nodes).reshape(-1, 3)
        each = code[: 3 * nodes].reshape(-1, 3)
        each[:, 0] = np.array(forms, np.int64)[asked[:, 0]]
        each[:, 1:] = begins[asked[:, 1:]]
        edges = np.zeros_like(code)
        edges[: 3 * nodes].reshape(-1, 3)[:, 1:] = 1
        return cls(code, edges, begins, 3 * nodes, sum(1 << slot for slot in aggregate.slots))

    def result(self, at: int, number: int) -> int:
        """The place of the edge from a result, if the graph begins at an offset."""
        return at + self.results + 2 * number + 1
