"""Counters that only count: a system with as many states as anybody has memory for, each evaluated quickly.

python -m benchmarks.memory_budgets --engine reference --memory 4G -- benchmarks/counter_grid.py:Counters --set
counters=3

With `--set counters=8 --set copies=63` a state has 8,064 bits, and levels grow no faster than without copies; that
fills the memory of Spark's workers in minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from spec.language import Size, Specification, State, Total, action, constant, integers, require, variable

Place = Annotated[int, "where a counter stands; all that differ by a multiple of their number have the same one"]
Number = Annotated[int, "the number of a counter"]
Height = Annotated[int, "how often it was counted"]


class Heights(State):
    """How far each counter is."""

    at: Total[Place, Height] = variable("How far the counter in each place is.")


class Counters(Specification[Heights]):
    """Every counter is counted, one at a time."""

    counters: int = constant(16, "Counters that are counted apart.", at_least=1)
    copies: int = constant(1, "Places in which each stands; each takes sixteen bits of a state.", at_least=1)
    top: int = constant(2**16 - 1, "Where they stop.", at_least=1)

    def sizes(self) -> Mapping[Any, Size]:
        """As many, and as far."""
        return {
            Number: range(self.counters),
            Place: range(self.counters * self.copies),
            Height: integers(0, self.top),
        }

    @action
    def count(self, s: Heights, number: Number) -> None:
        """Once more."""
        require(s.at[number] < self.top)
        higher = s.at[number] + 1
        for place in range(number, self.counters * self.copies, self.counters):
            s.at[place] = higher
