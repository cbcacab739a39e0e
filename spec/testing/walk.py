"""A walk through a specification: it begins, takes enabled steps, and checks each state and step.

The caller chooses the steps. All walks of one specification share its `WalkedGraph`, which caches the visited
states: walks begin alike, so most of their first steps are looked up rather than computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, lru_cache
from typing import NamedTuple

from spec.checking.arguments import SpecificationOrClass
from spec.checking.exploration import Options, is_violation, split_properties
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed, Model, Path, Transition
from spec.checking.reference import ReferenceEngine
from spec.checking.traces.paths import trace
from spec.checking.traces.trace import Trace
from spec.language.errors import SpecificationError, UsageError, escaped, represented
from spec.language.state import Values
from spec.language.words import Step, without_bounds

STATES = 4096
"""The most states that a graph caches. A state with twenty steps of fifty cells takes 10 kB, so this is 40 MB."""

LOOK_AHEAD = 10_000
"""The most states explored for shortest paths to each `sometimes` and to violations: a few seconds."""

FAR = 8
"""The length of a path that random steps hardly ever take by themselves."""


class Violation(AssertionError):
    """A property is broken. The message names the property, the values it read, and the changes of the last step."""

    def __init__(self, message: str, trace: Trace | None = None):
        super().__init__(message)
        self.trace = trace
        """The trace to the violation; None if there is not even an initial state."""


Offers = Mapping[str, Mapping[int, Step]]
"""The enabled steps of each action, by the numbers of their instances."""


class InitialStep(NamedTuple):
    """An initial step: an `initial` with its parameters, and the state that it makes."""

    step: Step
    state: Values | None
    """None if a value is outside its domain."""
    wrong: str


class ExpandedState:
    """A state, the properties that it decides, and its outgoing steps."""

    def __init__(self, graph: WalkedGraph, state: Values):
        self._graph, self.state = graph, state
        self.found = graph.model.found_in(state, graph.of_states)
        """The numbers of the state properties that it decides: broken invariants, seen witnesses."""

    @cached_property
    def steps(self) -> Mapping[str, Mapping[int, Transition]]:
        """The enabled steps of each action that has any, by the numbers of their instances."""
        graph = self._graph
        with graph.bounded():
            expansion = graph.model.expand(self.state, graph.of_steps)
        found: dict[str, dict[int, Transition]] = {}
        for taken in expansion.steps:
            found.setdefault(graph.model.actions[taken.action].name, {})[taken.instance] = taken
        return found

    @cached_property
    def offers(self) -> Offers:
        """The enabled steps."""
        actions = self._graph.model.actions
        return {
            name: {number: actions[taken.action].step(number) for number, taken in steps.items()}
            for name, steps in self.steps.items()
        }

    @cached_property
    def violating_steps(self) -> Offers:
        """The enabled steps that break a property or lead to a state that does; usually none."""
        found: dict[str, dict[int, Step]] = {}
        for name, steps in self.steps.items():
            for number, taken in steps.items():
                if taken.after is None or self._graph.breaks((*taken.found, *self._graph.at(taken.after).found)):
                    found.setdefault(name, {})[number] = self.offers[name][number]
        return found


class WalkedGraph:
    """The state graph of a specification, expanded where walks visit it."""

    at: Callable[[Values], ExpandedState]
    """A state of the graph, expanded."""

    def __init__(self, specification: SpecificationOrClass, *, bounds: bool = True):
        self.model, self.bounds = Model(specification), bounds
        self.specification = specification = self.model.specification
        judged = [n for n, each in enumerate(self.model.properties) if each.name != DEADLOCK]
        self.of_states, self.of_steps = split_properties(self.model, judged)
        self.initial_steps = _initial_steps(self.model)
        if not self.initial_steps:
            raise SpecificationError(f"{specification.name}: it has no initial state")
        self.choices = {action.name: action.instances.size for action in self.model.actions}
        """The number of instances of each action and each `initial`, by name."""
        self.choices |= dict.fromkeys(self.beginnings, len(self.initial_steps))
        self.at = lru_cache(STATES)(lambda state: ExpandedState(self, state))

    @cached_property
    def beginnings(self) -> Offers:
        """The initial steps."""
        found: dict[str, dict[int, Step]] = {}
        for number, initial_step in enumerate(self.initial_steps):
            found.setdefault(initial_step.step.action, {})[number] = initial_step.step
        return found

    def beginning_in(self, state: Values) -> tuple[str, int] | None:
        """The name and number of an initial step that leads to this state."""
        for number, initial_step in enumerate(self.initial_steps):
            if initial_step.state == state:
                return initial_step.step.action, number
        return None

    @cached_property
    def _known(self) -> Mapping[int, Path]:
        """A shortest path to the violation or witness of each property that a look ahead decides."""
        options = Options((*self.of_states, *self.of_steps), keep_going=True, max_states=LOOK_AHEAD)
        try:
            with self.bounded():
                found = ReferenceEngine().explore(self.model, options, lambda statistics: None).discoveries
        except (EvaluationFailed, SpecificationError):
            return {}  # a walk will meet it too, and report its steps
        return {number: each.path for number, each in found.items()}

    @cached_property
    def routes(self) -> tuple[Path, ...]:
        """A shortest path to each `sometimes` that a look ahead finds far away: its author marked it as worth
        reaching.

        Walks reach near ones in any case, and programs that do not follow a route shrink better.
        """
        wanted = [n for n in (*self.of_states, *self.of_steps) if not is_violation(self.model, n)]
        if not wanted:
            return ()
        return tuple(self._known[n] for n in wanted if n in self._known and len(self._known[n][1]) >= FAR)

    @cached_property
    def straight(self) -> Path | None:
        """A shortest path to a violation, if a look ahead finds one."""
        broken = [path for number, path in self._known.items() if is_violation(self.model, number)]
        return min(broken, key=lambda path: len(path[1]), default=None)

    def bounded(self) -> AbstractContextManager[None]:
        """A context in which actions run as in this graph: with or without their bounds."""
        return nullcontext() if self.bounds else without_bounds()

    @cached_property
    def sole_initial_step(self) -> InitialStep | None:
        """The initial step, if there is only one and its state breaks nothing."""
        if len(self.initial_steps) > 1:
            return None
        only = self.initial_steps[0]
        broken = only.state is None or self.breaks(self.at(only.state).found)
        return None if broken else only

    def breaks(self, found: Iterable[int]) -> bool:
        """Whether one of these decided properties is violated."""
        return any(is_violation(self.model, number) for number in found)


def _initial_steps(model: Model) -> tuple[InitialStep, ...]:
    found = []
    for instance, state, wrong in model.begun():
        name = instance.run.__name__ if instance.run.__name__.isidentifier() else "begin"
        found.append(InitialStep(Step(name, instance.parameters), state, wrong))
    return tuple(found)


class Walk:
    """A walk: its present state, and the path there."""

    def __init__(self, graph: WalkedGraph):
        self.graph = graph
        self.here: ExpandedState | None = None
        """The present state; None before the walk has begun."""
        self.witnessed: tuple[str, ...] = ()
        """The `sometimes` seen in the last step or in the state after it."""
        self._from: Values = ()
        self._path: list[tuple[int, int]] = []

    def offers(self) -> Offers:
        """The enabled steps; before the walk has begun, the initial steps."""
        return self.graph.beginnings if self.here is None else self.here.offers

    def violating_steps(self) -> Offers:
        """Those of the steps that break a property or lead to a state that does; usually none."""
        return {} if self.here is None else self.here.violating_steps

    def harmless(self) -> Offers:
        """Those of the steps that break nothing."""
        left = {
            name: {
                number: step for number, step in steps.items() if number not in self.violating_steps().get(name, {})
            }
            for name, steps in self.offers().items()
        }
        return {name: steps for name, steps in left.items() if steps}

    def next_on(self, route: Path) -> tuple[str, int] | None:
        """The name and number of the next step on a route; None if the walk has left it or is at its end."""
        first, choices = route
        if self.here is None:
            return self.graph.beginning_in(first)
        taken = len(self._path)
        if self._from != first or taken >= len(choices) or self._path != list(choices[:taken]):
            return None
        action, instance = choices[taken]
        return self.graph.model.actions[action].name, instance

    def go(self, step: Step) -> Step:
        """Take an enabled step or an initial step; returns the step with the graph's own parameters.

        UsageError if the step is not enabled; Violation if the step or the state after it breaks a property;
        EvaluationFailed if a property raised, or an action that was tried in the state after the step.
        """
        __tracebackhide__ = True  # the specification failed; pytest need not show this code
        taken, found = self._taken(step)
        broken = [number for number in found if is_violation(self.graph.model, number)]
        if broken:
            path: Path = (self._from, tuple(self._path))
            with self.graph.bounded():
                failing = trace(self.graph.model, min(broken), path)
            raise Violation(violation_text(failing), failing)
        self.witnessed = tuple(self.graph.model.properties[number].name for number in found)
        assert self.here is not None
        _ = self.here.steps  # computed now, so that an exception in an action is reported at the step that led here
        return taken

    def _taken(self, step: Step) -> tuple[Step, tuple[int, ...]]:
        """Take a step, or begin: the step, and the numbers of the properties that it decides."""
        __tracebackhide__ = True
        if self.here is None:
            for initial_step in self.graph.initial_steps:
                if initial_step.step == step:
                    return step, self._begin(initial_step)
        else:
            for number, offered in self.here.offers.get(step.action, {}).items():
                if offered.parameters == step.parameters:
                    return offered, self._take(self.here.steps[step.action][number])
        raise UsageError(self._refusal(step))

    def _begin(self, initial_step: InitialStep) -> tuple[int, ...]:
        __tracebackhide__ = True
        if initial_step.state is None:
            raise Violation(f"{TYPE_OK} is broken in the initial state\n    {initial_step.wrong}")
        self._from, self._path = initial_step.state, []
        self.here = self.graph.at(initial_step.state)
        return self.here.found

    def _take(self, taken: Transition) -> tuple[int, ...]:
        self._path.append((taken.action, taken.instance))
        if taken.after is None:
            return self.graph.model.numbers([TYPE_OK])
        self.here = self.graph.at(taken.after)
        return (*taken.found, *self.here.found)

    def _refusal(self, step: Step) -> str:
        offered = [str(each) for enabled in self.offers().values() for each in enabled.values()]
        where = "before the first step"
        if self.here is not None:
            shown = self.graph.model.show(self.here.state)
            where = f"in the state {shown or 'in which every variable has its first value'}"
        return f"{step} is not enabled {where}; enabled: {', '.join(offered) or 'nothing'}"


def violation_text(trace: Trace) -> str:
    """A violation for a person: the property, its sentence, the failing values, and the changes of the last step.

    The sentences of the views of the last state are included.
    """
    last = trace.steps[-1] if trace.steps else None
    lines = [
        f"{trace.broken} is broken {f'by {last.step}' if last else 'in the initial state'}",
        f"    {trace.sentence}",
    ]
    if trace.failing:
        fails = trace.failing if trace.broken == TYPE_OK else f"It fails for {trace.failing}."
        lines.append(f"    {fails}")
    if trace.looked_at:
        lines.append("    It looked at")
        lines += [f"        {place} = {represented(value)}" for place, value in trace.looked_at.items()]
    if last is not None:
        lines += [f"    {sentence}" for sentence in (*last.sentences, *last.views)]
        lines.append(f"    {last.step} changed" if last.changes else f"    {last.step} changed nothing")
        lines += [
            f"        {place} from {represented(old)} to {represented(new)}"
            for place, (old, new) in last.changes.items()
        ]
    return "\n".join(escaped(line) for line in lines if line.strip())
