"""The reference engine: breadth-first search with a dict, one state after the other, nothing clever.

It is the yardstick: every other engine must give its results.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from spec.checking import arguments
from spec.checking.exploration import (
    Coverage,
    Discovery,
    Exploration,
    OnProgress,
    Options,
    Statistics,
    split_properties,
    stops_exploration,
)
from spec.checking.machine.memory import MB, Budget, OutOfMemory, room_to_grow
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed, Model, Path
from spec.checking.runs.interned_values import OccurringValues
from spec.checking.symmetry.reduction import Symmetry
from spec.checking.traces.paths import failing_along
from spec.language.state import Values

OFTEN = 0.05
"""Seconds between two calls of `on_progress` within a level."""
ROOM = 8 * MB
"""Bytes for states; the engine does not begin with less."""
SOON = 50_000
"""New states; more than are found between two checks of the memory."""


class _Predecessor(NamedTuple):
    """The state and the step from it that first reached a state."""

    state: Values
    action: int
    instance: int


class SoFar(NamedTuple):
    """How far an exploration has come."""

    found: Exploration
    """The findings up to the last complete level."""
    reached: dict[Values, Any]
    """The states in the order in which they were found; beyond the last complete level, too."""
    symmetry: Symmetry | None


class ReferenceEngine:
    """Explores in this process.

    Args:
        memory: bytes, or a size like '512M', that this process may take; see `spec.checking.machine.memory` for the
        default.

    Exploring raises the errors of every engine, and UsageError: the memory is below the minimum, or more than the
    machine has.
    """

    name = "reference"

    def __init__(self, memory: int | str | None = None):
        self.memory = arguments.as_memory(memory)
        self._search: _Search | None = None

    def explore(self, model: Model, options: Options, on_progress: OnProgress) -> Exploration:
        """Explore the states, level by level."""
        budget = Budget(self.memory)
        budget.require(ROOM, "the reference engine")
        search = self._search = _Search(model, options, on_progress, budget)
        try:
            found = search.run()
        except KeyboardInterrupt:
            found = search.cut_short("interrupted")
        except OutOfMemory:
            found = search.cut_short("memory")
        return search.with_levels(found)

    @property
    def so_far(self) -> SoFar:
        """How far the latest exploration has come."""
        assert self._search is not None, "an exploration has begun"
        return self._search.so_far()


class _Search:
    def __init__(self, model: Model, options: Options, on_progress: OnProgress, budget: Budget):
        self.model, self.options, self.on_progress, self.budget = model, options, on_progress, budget
        self.pack = model.layout.pack
        self.in_states, self.in_steps = split_properties(model, options.properties)
        self.type_ok, self.deadlock = (model.numbers([name])[0] for name in (TYPE_OK, DEADLOCK))
        self.symmetry = Symmetry(model, options.properties, on_progress) if options.symmetry else None
        self.represent = self.symmetry.representative if self.symmetry else lambda state: state
        self.reached: dict[Values, _Predecessor | None] = {}
        """The states found so far, in that order, each with its lowest predecessor."""
        self.depth = self.generated = 0
        self.coverage = tuple(Coverage() for _ in model.actions)
        self.discoveries: dict[int, Discovery] = {}
        self.levels: list[Statistics] = []
        self.interned = OccurringValues(model.layout)
        self.started = time.perf_counter()
        self.look_again = self.started + OFTEN
        self.last_complete: Exploration = self.report("interrupted")

    def run(self) -> Exploration:
        level = self.first_level()
        while True:
            self.depth += 1
            if self.symmetry:
                self.symmetry.examine([*map(self.pack, level)])
            self.judge_states(level)
            self.last_complete = self.report("interrupted", len(level))
            self.levels.append(self.last_complete.statistics)
            self.interned.in_values(level)
            self.on_progress(self.last_complete.statistics)
            if ended := self.ended(level):
                return self.report(ended, len(level))
            level = self.expand(level)
            if not level:
                return self.report("found" if self.stops_here() else "complete")

    def first_level(self) -> list[Values]:
        for state in self.model.each_first_state():
            self.generated += 1
            self.reached[self.represent(state)] = None
            self.look(len(self.reached), len(self.reached))
        return sorted(self.reached, key=self.pack)

    def ended(self, level: list[Values]) -> str:
        options = self.options
        if self.stops_here():
            return "found"
        if level and options.max_states is not None and len(self.reached) >= options.max_states:
            return "states"
        if level and options.max_depth is not None and self.depth >= options.max_depth:
            return "depth"
        return ""

    def stops_here(self) -> bool:
        return any(stops_exploration(self.model, self.options, number) for number in self.discoveries)

    def judge_states(self, level: list[Values]) -> None:
        """Evaluate properties in each state. The level is sorted, so the first discovery is the lowest."""
        for state in level:
            wanted = [number for number in self.in_states if number not in self.discoveries]
            if not wanted:
                return
            try:
                found = self.model.found_in(state, wanted)
            except EvaluationFailed as failure:
                number = next(number for number in wanted if self.model.properties[number].name == failure.what)
                raise self.failed_in(state, failure, number) from failure.__cause__
            for number in found:
                self.discoveries[number] = Discovery(self.depth, self.path_to(state, number))

    def expand(self, level: list[Values]) -> list[Values]:
        """The next level, sorted; each state has its lowest predecessor, since this level is sorted."""
        following: list[Values] = []
        lowest: dict[int, tuple[int, _Predecessor]] = {}  # per property of steps: end state, and the step to it
        wanted = [number for number in self.in_steps if number not in self.discoveries]
        for done, state in enumerate(level):
            try:
                steps, bounded = self.model.expand(state, wanted)
            except EvaluationFailed as failure:
                raise self.failed_in(state, failure, None, wanted) from failure.__cause__
            enabled = set()
            for taken in steps:
                self.generated += 1
                enabled.add(taken.action)
                coverage = self.coverage[taken.action]
                coverage.taken += 1
                predecessor = _Predecessor(state, taken.action, taken.instance)
                if taken.after is None:
                    lowest.setdefault(self.type_ok, (0, predecessor))
                    continue
                coverage.changing += taken.after != state
                after = self.represent(taken.after)
                for number in taken.found:
                    end = self.pack(after)
                    if number not in lowest or end < lowest[number][0]:
                        lowest[number] = end, predecessor
                if after not in self.reached:
                    self.reached[after] = predecessor
                    coverage.new_states += 1
                    following.append(after)
            for action in enabled:
                self.coverage[action].enabled += 1
            for action in bounded:
                self.coverage[action].bounded += 1
            if not steps and not bounded and self.deadlock in self.options.properties:
                self.discoveries.setdefault(self.deadlock, Discovery(self.depth, self.path_to(state, self.deadlock)))
            self.look(len(level) - done + len(following), len(level) + len(following))
        for number, (end, predecessor) in lowest.items():
            if number not in self.discoveries:
                self.discoveries[number] = Discovery(self.depth + 1, self.path_over(predecessor, number, end))
        return sorted(following, key=self.pack)

    def look(self, queue: int, unsorted: int) -> None:
        """Now and then report progress, and see whether memory is left; OutOfMemory if too little is left to sort so
        many states and to find more.
        """
        if time.perf_counter() >= self.look_again:
            self.on_progress(self.statistics(queue))
            self.look_again = time.perf_counter() + OFTEN
            if self.budget.left < (unsorted * (2 * 8 + 32 + self.model.layout.width // 7)) + room_to_grow(
                self.reached, SOON
            ):
                raise OutOfMemory

    def path_to(self, state: Values, number: int) -> Path:
        """The path to a state in which this property is decided."""
        states, choices = self.states_to(state)
        return self.symmetry.concrete(states, number) if self.symmetry else (states[0], choices)

    def failed_in(
        self, state: Values, failure: EvaluationFailed, number: int | None, looking_for: Sequence[int] = ()
    ) -> EvaluationFailed:
        """A failure in a state, with the path to it; see `failing_along`."""
        states, choices = self.states_to(state)
        path = self.symmetry.path_through(states) if self.symmetry else (states[0], choices)
        return failing_along(self.model, path, failure, number, looking_for)

    def path_over(self, last: _Predecessor, number: int, end: int) -> Path:
        """The path that ends with this step, which decides the property of this number."""
        states, choices = self.states_to(last.state)
        if self.symmetry:
            return self.symmetry.concrete(states, number, end)
        return states[0], [*choices, (last.action, last.instance)]

    def states_to(self, state: Values) -> tuple[list[Values], list[tuple[int, int]]]:
        """The states on the path to this one, which is the last, and the steps between them."""
        states, choices = [state], list[tuple[int, int]]()
        while (predecessor := self.reached[state]) is not None:
            choices.append((predecessor.action, predecessor.instance))
            state = predecessor.state
            states.append(state)
        return states[::-1], choices[::-1]

    def statistics(self, queue: int) -> Statistics:
        seconds = time.perf_counter() - self.started
        return Statistics(self.depth, self.generated, len(self.reached), queue, seconds)

    def with_levels(self, found: Exploration) -> Exploration:
        depth = found.statistics.depth
        return replace(found, levels=tuple(self.levels[:depth]), interned=self.interned.counts(depth))

    def so_far(self) -> SoFar:
        return SoFar(self.with_levels(self.last_complete), self.reached, self.symmetry)

    def cut_short(self, ended: str) -> Exploration:
        """The report of the last complete level."""
        return replace(self.last_complete, ended=ended)

    def report(self, ended: str, queue: int = 0) -> Exploration:
        coverage = tuple(Coverage(**vars(each)) for each in self.coverage)
        statistics, compared = self.statistics(queue), ""
        if self.symmetry is not None:
            compared = self.symmetry.renamings.summary(self.symmetry.renamings.compared, statistics.distinct)
        return Exploration(ended, statistics, coverage, dict(self.discoveries), compared=compared)
