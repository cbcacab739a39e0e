"""What was met in a part of a level; what was met in all of it is what was met in its parts.

Of two findings the lower counts, and of two failures the one that somebody who goes state by state would have met
first. So it does not matter who looked at which part, nor when.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from spec.checking.endings import Ending, FindArrivals, way_to
from spec.checking.model import EvaluationFailed, Model
from spec.checking.paths import failing_along
from spec.checking.symmetry import Symmetry

STEP: Final = -1
"""The number of a failure that is not of a property of states."""


class Failure(NamedTuple):
    """An evaluation that failed, of a property of states or, with the number `STEP`, of a step."""

    state: bytes
    number: int
    error: EvaluationFailed

    @property
    def property(self) -> int | None:
        """The property of states; None if it is of a step."""
        return None if self.number == STEP else self.number


@dataclass
class Met:
    """Where properties came to an end, and what failed."""

    endings: dict[int, Ending] = field(default_factory=dict)
    """By number of the property, the lowest one."""
    failures: list[Failure] = field(default_factory=list)

    def end(self, number: int, ending: Ending) -> None:
        """A property comes to an end here."""
        if number not in self.endings or ending < self.endings[number]:
            self.endings[number] = ending

    def add(self, other: Met) -> None:
        """Take up what was met in another part."""
        for number, ending in other.endings.items():
            self.end(number, ending)
        self.failures += other.failures

    def failure(self) -> Failure | None:
        """The failure that somebody who goes state by state would have met first, if any.

        He expands the whole level before he judges the next one, and does not judge by a property any more
        for which he has met a finding.
        """
        first = _first(each for each in self.failures if each.number == STEP)
        return first or _first(each for each in self.failures if not self._ended_before(each))

    def _ended_before(self, failure: Failure) -> bool:
        return failure.number in self.endings and self.endings[failure.number].state < failure.state


def _first(failures: Iterable[Failure]) -> Failure | None:
    return min(failures, default=None, key=lambda each: (each.state, each.number))


def failed(
    model: Model,
    failure: Failure,
    level: int,
    find_arrivals: FindArrivals,
    looking_for: Sequence[int],
    symmetry: Symmetry | None = None,
) -> EvaluationFailed:
    """A failure in a state of a level, with the shortest way there; these properties of steps were looked at."""
    if not failure.state:  # it was met in the name of the whole level
        return failure.error
    path = way_to(model, level, failure.state, find_arrivals, symmetry)
    return failing_along(model, path, failure.error, failure.property, looking_for)
