"""Independent counters: a system with more states than fit in any memory, each evaluated quickly.

python -m benchmarks.memory_budgets --engine reference --memory 4G -- benchmarks/counter_grid.py:Counters --set
counters=3

With `--set counters=8 --set copies=63` a state has 8,064 bits, and levels grow no faster than without copies; this
fills the memory of Spark's workers in minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from spec.language import Size, Specification, State, Total, action, constant, integers, require, variable

Place = Annotated[int, "a place of a counter; places that differ by a multiple of their number are copies"]
Number = Annotated[int, "the number of a counter"]
Height = Annotated[int, "a counter's value"]


class Heights(State):
    """The value of each counter."""

    at: Total[Place, Height] = variable("The value of the counter in each place.")


class Counters(Specification[Heights]):
    """Every counter counts, one at a time."""

    counters: int = constant(16, "Independent counters.", at_least=1)
    copies: int = constant(1, "Copies of each; each takes sixteen bits of a state.", at_least=1)
    top: int = constant(2**16 - 1, "The value at which they stop.", at_least=1)

    def sizes(self) -> Mapping[Any, Size]:
        """The numbers of counters and places, and the range of values."""
        return {
            Number: range(self.counters),
            Place: range(self.counters * self.copies),
            Height: integers(0, self.top),
        }

    @action
    def count(self, s: Heights, number: Number) -> None:
        """Increment a counter and its copies."""
        require(s.at[number] < self.top)
        higher = s.at[number] + 1
        for place in range(number, self.counters * self.copies, self.counters):
            s.at[place] = higher
