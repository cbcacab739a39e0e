"""Discoveries of a level, or of a part of it; merging those of the parts gives those of the level.

Of two discoveries of a property the lower counts; of two failures, the one that the reference engine, which goes
state by state, would have met first. So the result depends neither on which worker did which part, nor on the timing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from spec.checking.model import EvaluationFailed, Model
from spec.checking.runs.discoveries import FindPredecessors, PathEnd, path_to
from spec.checking.symmetry.reduction import Symmetry
from spec.checking.traces.paths import failing_along

STEP: Final = -1
"""The number of a failure that does not belong to a property of states."""


class LocatedFailure(NamedTuple):
    """An evaluation that failed in a packed state: of a property of states or, with the number `STEP`, of a step."""

    state: bytes
    number: int
    error: EvaluationFailed

    @property
    def property(self) -> int | None:
        """The number of the property of states; None for a step."""
        return None if self.number == STEP else self.number


@dataclass
class LevelDiscoveries:
    """The properties that were decided, and the evaluations that failed."""

    ends: dict[int, PathEnd] = field(default_factory=dict)
    """By number of the property, the lowest end of a path that decides it."""
    failures: list[LocatedFailure] = field(default_factory=list)

    def discover(self, number: int, end: PathEnd) -> None:
        """Record that a property is decided at this end."""
        if number not in self.ends or end < self.ends[number]:
            self.ends[number] = end

    def merge(self, other: LevelDiscoveries) -> None:
        """Merge with the discoveries of another part."""
        for number, end in other.ends.items():
            self.discover(number, end)
        self.failures += other.failures

    def first_failure(self) -> LocatedFailure | None:
        """The failure that the reference engine would have met first, if any.

        It expands the whole level before it evaluates properties in the next one, and no longer evaluates a property
        that has a discovery.
        """
        first = _first(each for each in self.failures if each.number == STEP)
        return first or _first(
            each
            for each in self.failures
            if not (each.number in self.ends and self.ends[each.number].state < each.state)
        )


def _first(failures: Iterable[LocatedFailure]) -> LocatedFailure | None:
    return min(failures, default=None, key=lambda each: (each.state, each.number))


def failed(
    model: Model,
    failure: LocatedFailure,
    level: int,
    find_predecessors: FindPredecessors,
    looking_for: Sequence[int],
    symmetry: Symmetry | None = None,
) -> EvaluationFailed:
    """A failure in a state of a level, with the shortest path to it. `looking_for` are the properties of steps."""
    if not failure.state:  # the failure concerns the whole level
        return failure.error
    path = path_to(model, level, failure.state, find_predecessors, symmetry)
    return failing_along(model, path, failure.error, failure.property, looking_for)
