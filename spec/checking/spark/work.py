"""What is done to states: they are expanded, and they are judged. It knows neither Spark nor files.

The driver does it to small levels and Spark's workers to shares of large ones, with the same outcome, because a
`Report` on a level is the sum of the reports on its parts: figures add up, and of two findings the lower counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spec.checking.endings import Arrival, Ending
from spec.checking.exploration import Coverage, split
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed, Model
from spec.checking.rundir import LevelFile
from spec.language.errors import SpecificationError
from spec.language.state import Values


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


class Work:
    """A model at work on packed states."""

    def __init__(self, model: Model, properties: Sequence[int]):
        self.model = model
        self.width = 8 * model.layout.words
        """Bytes of a packed state."""
        self.in_states, self.in_steps = split(model, properties)
        self.type_ok = model.numbers([TYPE_OK])[0]
        deadlock = model.numbers([DEADLOCK])[0]
        self.deadlock = deadlock if deadlock in properties else None

    def pack(self, state: Values) -> bytes:
        """A state as bytes that are ordered as codes are."""
        return self.model.layout.pack(state).to_bytes(self.width, "big")

    def unpack(self, packed: bytes) -> Values:
        """The state that was packed."""
        return self.model.layout.unpack(int.from_bytes(packed, "big"))

    def report(self) -> Report:
        """A report on nothing."""
        return Report(tuple(Coverage() for _ in self.model.actions))

    def initial_states(self) -> list[bytes]:
        """The states to begin with, in code order.

        Raises:
            SpecificationError: one is outside its domain.
        """
        found = []
        for state, wrong in self.model.initial_states():
            if state is None:
                raise SpecificationError(f"the initial state is outside its domain: {wrong}")
            found.append(self.pack(state))
        return sorted(found)

    def expand(
        self, states: Iterable[bytes], decided: Collection[int], report: Report, reached: dict[Values, int]
    ) -> None:
        """Take every step from these states, in code order; `reached` gains the states they lead to.

        With each stands the action declared first that leads there. After a failure nothing more is expanded.
        States are reached many times, and packing them costs more than looking them up: `packed` does it after.
        """
        wanted = [number for number in self.in_steps if number not in decided]
        for packed in states:
            try:
                steps, closed = self.model.expand(self.unpack(packed), wanted)
            except EvaluationFailed as error:
                report.failures.append(Failure(packed, STEP, error))
                return
            for action in {taken.action for taken in steps}:
                report.coverage[action].enabled += 1
            for taken in steps:
                action = taken.action
                report.coverage[action].taken += 1
                if taken.after is None:
                    report.end(self.type_ok, Ending(b"", packed, action, taken.instance))
                    continue
                for number in taken.found:
                    report.end(number, Ending(self.pack(taken.after), packed, action, taken.instance))
                if action < reached.get(taken.after, action + 1):
                    reached[taken.after] = action
            if not steps and not closed and self.deadlock is not None:
                report.end(self.deadlock, Ending(packed))

    def packed(self, reached: Mapping[Values, int]) -> dict[bytes, int]:
        """What was reached, packed."""
        return {self.pack(state): action for state, action in reached.items()}

    def judge(self, states: Iterable[bytes], decided: Collection[int], report: Report) -> None:
        """Look at these states, in code order, until every property has come to an end."""
        wanted = [number for number in self.in_states if number not in decided]
        for packed in states:
            if not wanted:
                return
            state = self.unpack(packed)
            try:
                found = self.model.found_in(state, wanted)
            except EvaluationFailed:
                found = tuple(self._judge_one_by_one(packed, wanted, report))
                wanted = [number for number in wanted if number not in found]
                continue
            for number in found:
                report.end(number, Ending(packed))
                wanted.remove(number)

    def _judge_one_by_one(self, packed: bytes, wanted: Sequence[int], report: Report) -> Iterator[int]:
        """Those that end here, in a finding or in a failure: one may fail where another was found earlier."""
        state = self.unpack(packed)
        for number in wanted:
            try:
                if self.model.found_in(state, [number]):
                    report.end(number, Ending(packed))
                    yield number
            except EvaluationFailed as error:
                report.failures.append(Failure(packed, number, error))
                yield number

    def arrivals(self, states: Iterable[bytes], targets: Collection[bytes]) -> dict[bytes, Arrival]:
        """How some of the targets are reached from these states, which are in code order: the lowest way of each."""
        found: dict[bytes, Arrival] = {}
        for packed in states:
            for taken in self.model.expand(self.unpack(packed)).steps:
                if taken.after is None:
                    continue
                after = self.pack(taken.after)
                if after in targets:
                    found.setdefault(after, Arrival(packed, taken.action, taken.instance))
            if len(found) == len(targets):
                break
        return found
