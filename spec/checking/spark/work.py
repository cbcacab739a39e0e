"""Work: expand states and evaluate properties. It knows neither Spark nor files.

The driver does it for small levels, and Spark's workers for shares of large ones, with the same result: a `Report`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from spec.checking.exploration import split_properties
from spec.checking.local.arrays import MarkedRanges
from spec.checking.local.visited import Visited
from spec.checking.model import DEADLOCK, Model
from spec.checking.runs.discoveries import Predecessor
from spec.checking.spark.report import Report
from spec.checking.states.packed import ManyStates, Words
from spec.checking.states.packed_state import PackedState
from spec.checking.symmetry.reduction import Symmetry
from spec.checking.symmetry.renamings import ComparisonCounts
from spec.language.state import Values


class Work(ABC):
    """Expands packed states of a model, and evaluates properties in them.

    Args:
        symmetry: gives the representatives of orbits; without it states represent themselves.
    """

    is_plain = False
    """Whether it runs state by state, and learns no paths."""

    def __init__(self, model: Model, properties: Sequence[int], symmetry: Symmetry | None = None):
        self.model, self.properties, self.symmetry = model, tuple(properties), symmetry
        self.words = model.layout.words
        self.deadlock = model.numbers([DEADLOCK])[0]
        self.in_states, self.in_steps = split_properties(model, properties)

    @property
    def width(self) -> int:
        """Bytes of a packed state."""
        return 8 * self.words

    def initial_states(self) -> list[bytes]:
        """The initial states, packed."""
        return [self.pack(state) for state in self.model.first_states()]

    def pack(self, state: Values) -> bytes:
        """A state, or its orbit's representative, as bytes that sort in code order."""
        state = self.symmetry.representative(state) if self.symmetry else state
        return PackedState.of_values(self.model.layout, state).bytes

    @abstractmethod
    def expand(self, states: Words, decided: Collection[int], report: Report) -> MarkedRanges:
        """Take every step from these states, and return the successors; they are valid until the next call.

        Each successor has the action declared first that leads to it. Successors that are among the states themselves
        may be left out: they are not new. After a failure the successors do not matter.

        Raises:
            OutOfMemory: there are too many states; fewer might fit.
        """

    def release(self) -> None:  # noqa: B027 - there may be nothing to free
        """Free the memory of the last expansion."""

    @abstractmethod
    def judge(self, visited: Visited, decided: Collection[int], report: Report) -> None:
        """Evaluate properties in the newest level, which is complete."""

    def compare(self, parts: Sequence[ManyStates], before: int, share: float) -> None:  # noqa: B027 - most learn paths
        """Compare new states one by one, as `Symmetry.examine` does, if the work learns no paths.

        Args:
            parts: the states.
            before: how many were compared before.
            share: the fraction of the states compared in any case that is for these.

        Raises:
            UsageError: values are distinguished.
        """

    def comparisons(self) -> ComparisonCounts:
        """The comparisons since this was last asked."""
        return self.symmetry.renamings.news() if self.symmetry else ComparisonCounts()

    @abstractmethod
    def predecessors(self, states: Words, targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        """The lowest predecessor among these states of each target that is a successor of one."""
