"""A walk through a specification: it begins, it takes enabled steps, and each state and step is judged.

The steps are chosen elsewhere. All walks of one specification share its `WalkedGraph`, which remembers the states
that walks came to: walks begin alike, so most of their first steps are looked up and not worked out again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple

from spec.checking.arguments import Given
from spec.checking.exploration import Options, is_violation, split
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed, Model, Transition
from spec.checking.paths import Path, trace
from spec.checking.reference import ReferenceEngine
from spec.checking.trace import Trace
from spec.language.errors import Disabled, SpecificationError, UsageError
from spec.language.state import Misplaced, Values
from spec.language.words import Step, without_bounds

STATES = 4096
"""States that a graph remembers. One with twenty steps of fifty cells takes 10 kB, so this is 40 MB."""

LOOK_AHEAD = 10_000
"""States explored before the first walk, for paths to what `sometimes` asks for: a few seconds at most."""

FAR = 8
"""States on a path that random steps hardly ever take by themselves."""


class Violation(AssertionError):
    """A property is broken. The message says which, where it was looked at, and what the last step changed."""

    def __init__(self, message: str, trace: Trace | None = None):
        super().__init__(message)
        self.trace = trace
        """How it came about; None where there is not even an initial state."""


class InitialStep(NamedTuple):
    """One way to begin: an `initial` with its parameters, and the state that it makes."""

    name: str
    parameters: Mapping[str, Any]
    state: Values | None
    """None where a value lies outside its domain."""
    wrong: str


class ExpandedState:
    """A state, the properties that it decides, and the steps that lead away."""

    def __init__(self, graph: WalkedGraph, state: Values):
        self._graph, self.state = graph, state
        self.found = graph.model.found_in(state, graph.of_states)
        """Numbers of the properties of states that it decides: invariants broken, witnesses seen."""

    @cached_property
    def steps(self) -> Mapping[str, tuple[Transition, ...]]:
        """The enabled steps of each action that has one."""
        graph = self._graph
        with graph.bounded():
            expansion = graph.model.expand(self.state, graph.of_steps)
        found: dict[str, tuple[Transition, ...]] = {}
        for taken in expansion.steps:
            name = graph.model.actions[taken.action].name
            found[name] = (*found.get(name, ()), taken)
        return found

    @cached_property
    def breaking(self) -> tuple[Transition, ...]:
        """The enabled steps that break a property, or lead where one is broken."""
        return tuple(
            taken
            for taken in chain.from_iterable(self.steps.values())
            if taken.after is None or self._graph.breaks((*taken.found, *self._graph.at(taken.after).found))
        )


class WalkedGraph:
    """The state graph of a specification, expanded where walks come."""

    at: Callable[[Values], ExpandedState]
    """A state of the graph, expanded."""

    def __init__(self, specification: Given, *, bounds: bool = True):
        self.model, self.bounds = Model(specification), bounds
        self.specification = specification = self.model.specification
        judged = [n for n, each in enumerate(self.model.properties) if each.name != DEADLOCK]
        self.of_states, self.of_steps = split(self.model, judged)
        self.initial_steps = _initial_steps(self.model)
        if not self.initial_steps:
            raise SpecificationError(f"{specification.name}: it has no initial state")
        self.choices = {action.name: len(action.instances) for action in self.model.actions}
        """How many instances each action has, and how many ways there are to begin, under their names."""
        self.choices |= {initial_step.name: len(self.initial_steps) for initial_step in self.initial_steps}
        self.at = lru_cache(STATES)(lambda state: ExpandedState(self, state))

    @cached_property
    def routes(self) -> tuple[Path, ...]:
        """A shortest path to each `sometimes` that a look ahead finds far away: what its author calls worth reaching.

        Walks come to what is near in any case, and programs that do not follow a route shrink better.
        """
        wanted = tuple(n for n in (*self.of_states, *self.of_steps) if not is_violation(self.model, n))
        if not wanted:
            return ()
        options = Options(wanted, keep_going=True, max_states=LOOK_AHEAD)
        try:
            with self.bounded():
                found = ReferenceEngine().explore(self.model, options, lambda statistics: None).discoveries
        except (EvaluationFailed, SpecificationError):
            return ()  # a walk will meet it too, and tell its steps
        return tuple(found[number].path for number in wanted if number in found and found[number].length > FAR)

    def bounded(self) -> AbstractContextManager[None]:
        """While it is open, actions run as this graph has them: within their bounds or without."""
        return nullcontext() if self.bounds else without_bounds()

    @cached_property
    def sole_initial_step(self) -> InitialStep | None:
        """The initial state, if there is but one and nothing is wrong with it."""
        if len(self.initial_steps) > 1:
            return None
        only = self.initial_steps[0]
        broken = only.state is None or self.breaks(self.at(only.state).found)
        return None if broken else only

    def breaks(self, found: Iterable[int]) -> bool:
        """Whether one of these properties, which were decided, is violated."""
        return any(is_violation(self.model, number) for number in found)


def _initial_steps(model: Model) -> tuple[InitialStep, ...]:
    found = []
    window = model.window()
    for instance in model.specification.initials:
        name = instance.run.__name__ if instance.run.__name__.isidentifier() else "begin"
        window.load(model.layout.first())
        window.writable(name)
        try:
            instance(window.s)
            found.append(InitialStep(name, instance.parameters, window.changed(), ""))
        except Misplaced as misplaced:
            found.append(InitialStep(name, instance.parameters, None, str(misplaced)))
        except Disabled:
            continue
    return tuple(found)


class Walk:
    """A walk: the state that it has come to, and the path there."""

    def __init__(self, graph: WalkedGraph):
        self.graph = graph
        self.here: ExpandedState | None = None
        """The state that the walk has come to; None before it has begun."""
        self.witnessed: tuple[str, ...] = ()
        """The `sometimes` seen in the last step, or where it led."""
        self._from: Values = ()
        self._path: list[tuple[int, int]] = []

    def offers(self) -> dict[str, dict[int, Mapping[str, Any]]]:
        """What can be done here: actions by name, with the parameters of each enabled instance by its number.
        Before the walk has begun it is the ways to begin.
        """
        found: dict[str, dict[int, Mapping[str, Any]]] = {}
        if self.here is None:
            for number, initial_step in enumerate(self.graph.initial_steps):
                found.setdefault(initial_step.name, {})[number] = initial_step.parameters
        else:
            for name, steps in self.here.steps.items():
                found[name] = {taken.instance: self._step(taken).parameters for taken in steps}
        return found

    def breaking(self) -> dict[str, dict[int, Mapping[str, Any]]]:
        """Of what is offered the steps that break a property, or lead where one is broken; mostly none."""
        found: dict[str, dict[int, Mapping[str, Any]]] = {}
        if self.here is not None:
            for taken in self.here.breaking:
                step = self._step(taken)
                found.setdefault(step.action, {})[taken.instance] = step.parameters
        return found

    def next_on(self, route: Path) -> tuple[str, int] | None:
        """The name and number of the step that comes next on a route; None if it has been left, or is at its end."""
        first, choices = route
        if self.here is None:
            for number, initial_step in enumerate(self.graph.initial_steps):
                if initial_step.state == first:
                    return initial_step.name, number
        taken = len(self._path)
        if self._from != first or taken >= len(choices) or self._path != list(choices[:taken]):
            return None
        action, instance = choices[taken]
        return self.graph.model.actions[action].name, instance

    def go(self, name: str, parameters: Mapping[str, Any]) -> Step:
        """Take an enabled step, or begin.

        Raises:
            UsageError: it is not offered here.
            Violation: it breaks a property, or a property is broken where it leads.
            EvaluationFailed: a property raised, or an action that was tried where it leads.
        """
        __tracebackhide__ = True  # what failed is the specification; pytest need not show this code
        if self.here is not None:
            for taken in self.here.steps.get(name, ()):
                if self._step(taken).parameters == parameters:
                    self._take(taken)
                    return self._step(taken)
        else:
            for initial_step in self.graph.initial_steps:
                if (initial_step.name, initial_step.parameters) == (name, parameters):
                    self._begin(initial_step)
                    return Step(name, initial_step.parameters)
        raise UsageError(self._refusal(Step(name, parameters)))

    def _step(self, taken: Transition) -> Step:
        return self.graph.model.actions[taken.action].step(taken.instance)

    def _begin(self, initial_step: InitialStep) -> None:
        __tracebackhide__ = True
        if initial_step.state is None:
            raise Violation(f"{TYPE_OK} is broken in the initial state\n    {initial_step.wrong}")
        self._from, self._path = initial_step.state, []
        self._arrive(initial_step.state, ())

    def _take(self, taken: Transition) -> None:
        __tracebackhide__ = True
        self._path.append((taken.action, taken.instance))
        if taken.after is None:
            self._judge(self.graph.model.numbers([TYPE_OK]))
        else:
            self._arrive(taken.after, taken.found)

    def _arrive(self, state: Values, found: tuple[int, ...]) -> None:
        __tracebackhide__ = True
        self.here = self.graph.at(state)
        self._judge((*found, *self.here.found))
        # Worked out now, so that an action that raises here is reported at the step that led here.
        _ = self.here.steps

    def _judge(self, found: tuple[int, ...]) -> None:
        __tracebackhide__ = True
        model = self.graph.model
        broken = [number for number in found if is_violation(model, number)]
        if broken:
            path: Path = (self._from, tuple(self._path))
            with self.graph.bounded():
                told = trace(model, min(broken), path)
            raise Violation(in_words(told), told)
        self.witnessed = tuple(model.properties[number].name for number in found)

    def _refusal(self, step: Step) -> str:
        offered = [str(Step(name, each)) for name, enabled in self.offers().items() for each in enabled.values()]
        where = "before the beginning"
        if self.here is not None:
            where = f"where {self.graph.model.show(self.here.state) or 'everything is as at first'}"
        return f"{step} is not enabled {where}; enabled: {', '.join(offered) or 'nothing'}"


def in_words(told: Trace) -> str:
    """A violation for people: which property, what it states, where it fails, and what the last step changed.

    What the views say of where it led stands with it.
    """
    last = told.steps[-1] if told.steps else None
    lines = [
        f"{told.broken} is broken {f'by {last.step}' if last else 'in the initial state'}",
        f"    {told.sentence}",
    ]
    if told.failing:
        fails = told.failing if told.broken == TYPE_OK else f"It fails for {told.failing}."
        lines.append(f"    {fails}")
    if told.looked_at:
        lines.append("    It looked at")
        lines += [f"        {place} = {value!r}" for place, value in told.looked_at.items()]
    if last is not None:
        lines += [f"    {sentence}" for sentence in (*last.said, *last.views)]
        lines.append(f"    {last.step} changed" if last.changes else f"    {last.step} changed nothing")
        lines += [f"        {place} from {old!r} to {new!r}" for place, (old, new) in last.changes.items()]
    return "\n".join(line for line in lines if line.strip())
