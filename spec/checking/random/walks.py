"""Random walks: runs of a specification in which chance decides every step.

The steps of a run depend only on the specification, the seed and the number of the run. So any run can be repeated by
itself, by either walker: the one here, in plain Python, and the one of `local.compiled_walks`, which does the same at
compiled speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple, Protocol

from spec.checking.exploration import is_violation, split_properties
from spec.checking.model import DEADLOCK, EvaluationFailed, Expansion, Model, Path, Transition
from spec.checking.random.chance import SWARM, Chance, Policy
from spec.checking.random.sketch import Sketch, note
from spec.checking.states.packed_state import PackedState


@dataclass(frozen=True)
class Walks:
    """The request to a walker."""

    model: Model
    properties: tuple[int, ...]
    """The numbers of the properties to check. `type_ok` is always among them."""
    steps: int
    """Steps after which a run ends."""
    seed: int
    policy: Policy = SWARM


FAILED: Final = -1
"""Stands for a property's number: an evaluation raised."""


class WalkDiscovery(NamedTuple):
    """The end of a run: a violation, a deadlock, or a failure."""

    run: int
    steps: int
    """Steps that the run had taken by then."""
    property: int
    """The number of the broken property; or FAILED."""


@dataclass
class Tally:
    """Counts over some runs; tallies add up."""

    runs: int = 0
    steps: int = 0
    early: int = 0
    """Runs that ended in a state without a step, or in one closed by a bound."""
    longest: int = 0
    """States of the longest run."""
    enabled: list[int] = field(default_factory=list)
    """By action: states in which it could be chosen."""
    taken: list[int] = field(default_factory=list)
    """By action: steps."""
    witnessed: dict[int, int] = field(default_factory=dict)
    """By number of the property: runs in which it was witnessed."""
    earliest: dict[int, int] = field(default_factory=dict)
    """By number of the property: states up to the first witness, in the run that reached it soonest."""
    sketch: Sketch = field(default_factory=Sketch)
    """A sketch of the visited states."""
    discovery: WalkDiscovery | None = None
    """The discovery that ended the last run, if any."""

    def add(self, other: Tally) -> None:
        """Add the tally of other runs."""
        self.runs += other.runs
        self.steps += other.steps
        self.early += other.early
        self.longest = max(self.longest, other.longest)
        self.enabled = _sum(self.enabled, other.enabled)
        self.taken = _sum(self.taken, other.taken)
        for number, runs in other.witnessed.items():
            self.witnessed[number] = self.witnessed.get(number, 0) + runs
            self.earliest[number] = min(self.earliest.get(number, other.earliest[number]), other.earliest[number])
        self.sketch |= other.sketch
        self.discovery = other.discovery


def _sum(one: list[int], other: list[int]) -> list[int]:
    return [a + b for a, b in zip(one, other, strict=True)] if one else list(other)


OnWalkProgress = Callable[[int, int], None]
"""Called now and then with how many runs and steps are done."""


class Walker(Protocol):
    """Takes random walks."""

    asked: Walks
    seconds_in_python: float
    """Seconds spent in the specification's own code; 0 for a walker that spends all its time there."""

    def walk(self, first: int, last: int, on_progress: OnWalkProgress) -> Tally:
        """Do the runs from the first up to the last, in order, stopping after one that ends with a discovery."""

    def path(self, run: int, steps: int | None = None) -> Path:
        """The path of a run, for so many steps, or to its end."""


class PlainWalker:
    """Walks on the model itself, in plain Python; used also where decision tables cannot hold a model."""

    def __init__(self, asked: Walks):
        self.asked, self.model = asked, asked.model
        self.initial = asked.model.first_states()
        self.in_states, self.in_steps = split_properties(asked.model, asked.properties)
        dead = asked.model.numbers([DEADLOCK])[0]
        self.deadlock = dead if dead in asked.properties else None
        self.seconds_in_python = 0.0

    def walk(self, first: int, last: int, on_progress: OnWalkProgress) -> Tally:
        """Do the runs from the first up to the last, in order, stopping after one that ends with a discovery.

        Raises:
            EvaluationFailed: an action or property raised, or broke the rules for such functions.
        """
        actions = len(self.model.actions)
        tally = Tally(enabled=[0] * actions, taken=[0] * actions)
        registers = bytearray(tally.sketch.registers)
        for number in range(first, last):
            run = _Run(self, number)
            try:
                while run.goes_on():
                    note(registers, run.words())
                    on_progress(tally.runs, tally.steps + len(run.choices))
            except EvaluationFailed as failure:
                failure.path = run.first, run.choices
                failure.add_note(f"in run {number} of seed {self.asked.seed}")
                raise
            tally.runs += 1
            tally.steps += len(run.choices)
            tally.early += run.early
            tally.longest = max(tally.longest, run.length)
            for action in run.enabled:
                tally.enabled[action] += 1
            for action, _ in run.choices:
                tally.taken[action] += 1
            for witness, length in run.seen.items():
                tally.witnessed[witness] = tally.witnessed.get(witness, 0) + 1
                tally.earliest[witness] = min(tally.earliest.get(witness, length), length)
            if run.broken is not None:
                tally.discovery = WalkDiscovery(number, len(run.choices), run.broken)
                break
        tally.sketch = Sketch(bytes(registers))
        return tally

    def path(self, run: int, steps: int | None = None) -> Path:
        """The path of a run, for so many steps, or to its end."""
        again = _Run(self, run)
        while again.goes_on():
            pass
        return again.first, again.choices[:steps]


class _Run:
    """A run, up to its current state."""

    def __init__(self, walker: PlainWalker, number: int):
        self.walker, self.model = walker, walker.model
        self.chance = Chance(walker.asked.seed, number)
        policy = walker.asked.policy
        self.weights = [self.chance.weight(policy, action) for action in range(len(self.model.actions))]
        self.first = self.state = walker.initial[self.chance.below(len(walker.initial))]
        self.choices: list[tuple[int, int]] = []
        self.enabled: list[int] = []
        """The actions that could be chosen, in all states together."""
        self.seen: dict[int, int] = {}
        self.broken: int | None = None
        self.early = self.outside = False
        self.arrived = False

    @property
    def length(self) -> int:
        """States so far, including one outside its domain."""
        return len(self.choices) + 1

    def words(self) -> Iterable[int]:
        """The state, packed."""
        return PackedState.of_values(self.model.layout, self.state).words

    def goes_on(self) -> bool:
        """Do the next step, and evaluate properties in the new state; False if the run is over."""
        if not self.arrived:
            self.arrived = True
            self.judge(self.model.found_in(self.state, self.walker.in_states))
            return True
        if self.broken is not None or len(self.choices) == self.walker.asked.steps:
            return False
        expansion = self.model.expand(self.state)
        if not expansion.steps:
            self.early = True
            if not expansion.bounded:
                self.broken = self.walker.deadlock
            return False
        taken = self.chosen(expansion)
        choice = taken.action, taken.instance
        if taken.after is None:
            self.choices.append(choice)
            self.broken = 0
            return False
        found = self.model.found_on(self.state, choice, taken.after, self.walker.in_steps)
        self.choices.append(choice)
        self.state = taken.after
        self.judge((*found, *self.model.found_in(self.state, self.walker.in_states)))
        return True

    def chosen(self, expansion: Expansion) -> Transition:
        """One of the steps: first an action is chosen, then one of its instances."""
        by_action = [list(steps) for _, steps in groupby(expansion.steps, lambda taken: taken.action)]
        weights = [self.weights[steps[0].action] for steps in by_action]
        if self.walker.asked.policy.by_instance:
            weights = [weight * len(steps) for weight, steps in zip(weights, by_action, strict=True)]
        self.enabled += [steps[0].action for steps in by_action]
        left = self.chance.below(sum(weights))
        for weight, steps in zip(weights, by_action, strict=True):
            if left < weight:
                return steps[self.chance.below(len(steps))]
            left -= weight
        raise AssertionError("weights add up to their sum")

    def judge(self, found: Iterable[int]) -> None:
        """Record the properties that were decided; of several broken ones, the one declared first."""
        for number in sorted(found):
            if not is_violation(self.model, number):
                self.seen.setdefault(number, self.length)
            elif self.broken is None:
                self.broken = number
