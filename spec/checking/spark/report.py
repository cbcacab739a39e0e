"""What came of a part of a level; a report on the whole is the sum of the reports on its parts.

Figures add up, and of two findings the lower counts. So it does not matter who expanded or judged which part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from spec.checking.endings import Ending
from spec.checking.exploration import Coverage
from spec.checking.model import EvaluationFailed, Model
from spec.checking.rundir import LevelFile


class Failure(NamedTuple):
    """An evaluation that failed, of a property of states or, without a number, of a step."""

    state: bytes
    number: int
    error: EvaluationFailed


STEP = -1
"""The number of a failure that is not of a property of states."""


@dataclass
class Report:
    """What came of a part of a level: of expanding it, and of the new states to which that led."""

    coverage: tuple[Coverage, ...]
    endings: dict[int, Ending] = field(default_factory=dict)
    """By number of the property, the lowest one."""
    failures: list[Failure] = field(default_factory=list)
    files: list[LevelFile] = field(default_factory=list)
    """Where the new states were written."""

    @classmethod
    def on_nothing(cls, model: Model) -> Report:
        """To begin with."""
        return cls(tuple(Coverage() for _ in model.actions))

    def end(self, number: int, ending: Ending) -> None:
        """A property comes to an end here."""
        if number not in self.endings or ending < self.endings[number]:
            self.endings[number] = ending

    def add(self, other: Report) -> None:
        """Take up what came of another part."""
        for mine, its in zip(self.coverage, other.coverage, strict=True):
            mine.enabled += its.enabled
            mine.taken += its.taken
            mine.new_states += its.new_states
        for number, ending in other.endings.items():
            self.end(number, ending)
        self.failures += other.failures
        self.files += other.files

    @property
    def generated(self) -> int:
        """How many successors were found."""
        return sum(each.taken for each in self.coverage)

    def failure(self) -> EvaluationFailed | None:
        """The failure that somebody who goes state by state would have met first, if any.

        He expands the whole level before he judges the next one, and does not judge by a property any more
        for which he has met a finding.
        """
        met = min((each for each in self.failures if each.number == STEP), default=None, key=_in_order)
        if met is None:
            judging = (each for each in self.failures if not self._ended_before(each))
            met = min(judging, default=None, key=_in_order)
        return met.error if met else None

    def _ended_before(self, failure: Failure) -> bool:
        return failure.number in self.endings and self.endings[failure.number].state < failure.state


def _in_order(failure: Failure) -> tuple[bytes, int]:
    return failure.state, failure.number
