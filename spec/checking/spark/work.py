"""Work: states are expanded and judged. It knows neither Spark nor files.

The driver does it to small levels and Spark's workers to shares of large ones, with the same outcome: a `Report`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from spec.checking.exploration import split_properties
from spec.checking.local.arrays import MarkedRanges
from spec.checking.local.visited import Visited
from spec.checking.model import DEADLOCK, TYPE_OK, Model
from spec.checking.runs.discoveries import Predecessor
from spec.checking.spark.report import Report
from spec.checking.states.packed import Words
from spec.checking.states.packed_state import PackedState
from spec.checking.symmetry.reduction import Symmetry
from spec.checking.symmetry.renamings import ComparisonCounts
from spec.language.state import Values


class Work(ABC):
    """Expands and judges packed states of a model.

    Args:
        symmetry: gives the representatives of orbits; without it states stand for themselves.
    """

    is_plain = False
    """Whether it runs state by state, and learns no paths."""

    def __init__(self, model: Model, properties: Sequence[int], symmetry: Symmetry | None = None):
        self.model, self.properties, self.symmetry = model, tuple(properties), symmetry
        self.words = model.layout.words
        self.in_states, self.in_steps = split_properties(model, properties)
        self.type_ok = model.numbers([TYPE_OK])[0]
        deadlock = model.numbers([DEADLOCK])[0]
        self.deadlock = deadlock if deadlock in properties else None

    @property
    def width(self) -> int:
        """Bytes of a packed state."""
        return 8 * self.words

    def initial_states(self) -> list[bytes]:
        """The states to begin with, packed."""
        return [self.pack(state) for state in self.model.first_states()]

    def pack(self, state: Values) -> bytes:
        """A state, or the one that stands for its orbit, as bytes that are ordered as codes are."""
        state = self.symmetry.representative(state) if self.symmetry else state
        return PackedState.of_values(self.model.layout, state).bytes

    def unpack(self, packed: bytes) -> Values:
        """The state that was packed."""
        return PackedState.of_bytes(self.model.layout, packed).values

    @abstractmethod
    def expand(self, states: Words, decided: Collection[int], report: Report) -> MarkedRanges:
        """Take every step from these states, and give the successors; they are valid until the next call.

        Each successor has the action declared first that leads to it. Of the states themselves those that are
        successors, too, may be left out: they are not new. After a failure the successors do not matter.

        Raises:
            OutOfMemory: the states are too many; fewer might do.
        """

    def release(self) -> None:  # noqa: B027 - there may be none
        """Give back the memory of what was expanded last."""

    @abstractmethod
    def judge(self, visited: Visited, decided: Collection[int], report: Report) -> None:
        """Look at the newest level, which is complete."""

    def compare(self, parts: Sequence[Words], before: int, share: float) -> ComparisonCounts:
        """Compare new states one by one, if the work learns no paths, and tell what was compared.

        Args:
            parts: the states.
            before: how many were compared before.
            share: the part of as many as may be compared yet that is for these.

        Raises:
            UsageError: values are told apart.
        """
        return self.by_permutations

    @property
    def by_permutations(self) -> ComparisonCounts:
        """What was compared under permutations alone, see `ComparisonCounts`."""
        return self.symmetry.renamings.compared._replace(states=0) if self.symmetry else ComparisonCounts()

    @abstractmethod
    def predecessors(self, states: Words, targets: Collection[bytes]) -> dict[bytes, Predecessor]:
        """For each target to which a step from these states leads, its lowest predecessor among them."""
