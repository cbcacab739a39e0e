"""What was met in a part of a level; what was met in all of it is what was met in its parts.

Of two findings the lower counts, and of two failures the one that somebody who goes state by state would have met
first. So it does not matter who looked at which part, nor when.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from spec.checking.endings import Ending
from spec.checking.model import EvaluationFailed

STEP: Final = -1
"""The number of a failure that is not of a property of states."""


class Failure(NamedTuple):
    """An evaluation that failed, of a property of states or, with the number `STEP`, of a step."""

    state: bytes
    number: int
    error: EvaluationFailed


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

    def failure(self) -> EvaluationFailed | None:
        """The failure that somebody who goes state by state would have met first, if any.

        He expands the whole level before he judges the next one, and does not judge by a property any more
        for which he has met a finding.
        """
        first = _first(each for each in self.failures if each.number == STEP)
        return first or _first(each for each in self.failures if not self._ended_before(each))

    def _ended_before(self, failure: Failure) -> bool:
        return failure.number in self.endings and self.endings[failure.number].state < failure.state


def _first(failures: Iterable[Failure]) -> EvaluationFailed | None:
    first = min(failures, default=None, key=lambda each: (each.state, each.number))
    return first.error if first else None
