"""Counters that only count: a system with as many states as anybody has memory for, each evaluated quickly.

python -m benchmarks.memory --engine reference --memory 4G -- benchmarks/counters.py:Counters --set counters=3
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from spec.language import Size, Specification, State, Total, action, constant, integers, require, variable

Number = Annotated[int, "the number of a counter"]
Height = Annotated[int, "how often it was counted"]


class Heights(State):
    """How far each counter is."""

    at: Total[Number, Height] = variable("How far each counter is.")


class Counters(Specification[Heights]):
    """Every counter is counted, one at a time."""

    counters: int = constant(16, "Counters; each takes sixteen bits of a state.", at_least=1)
    top: int = constant(2**16 - 1, "Where they stop.", at_least=1)

    def sizes(self) -> Mapping[Any, Size]:
        """As many, and as far."""
        return {Number: range(self.counters), Height: integers(0, self.top)}

    @action
    def count(self, s: Heights, number: Number) -> None:
        """Once more."""
        require(s.at[number] < self.top)
        s.at[number] += 1
