"""A walk through a specification: it begins, it takes enabled steps, and each state and step is judged.

The steps are chosen elsewhere. All walks of one specification share its `WalkedGraph`, which remembers the states
that walks came to: walks begin alike, so most of their first steps are looked up and not worked out again.
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
from spec.language.errors import SpecificationError, UsageError, represented
from spec.language.escapes import escaped
from spec.language.state import Values
from spec.language.words import Step, without_bounds

STATES = 4096
"""States that a graph remembers. One with twenty steps of fifty cells takes 10 kB, so this is 40 MB."""

LOOK_AHEAD = 10_000
"""States explored for shortest paths, to what `sometimes` asks for and to what is broken: a few seconds at most."""

FAR = 8
"""States on a path that random steps hardly ever take by themselves."""


class Violation(AssertionError):
    """A property is broken. The message says which, where it was looked at, and what the last step changed."""

    def __init__(self, message: str, trace: Trace | None = None):
        super().__init__(message)
        self.trace = trace
        """How it came about; None where there is not even an initial state."""


Offers = Mapping[str, Mapping[int, Step]]
"""Steps that can be taken: of each action the enabled ones, by the numbers of their instances."""


class InitialStep(NamedTuple):
    """One way to begin: an `initial` with its parameters, and the state that it makes."""

    step: Step
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
    def steps(self) -> Mapping[str, Mapping[int, Transition]]:
        """The enabled steps of each action that has one, by the numbers of their instances."""
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
        """The enabled steps that break a property, or lead where one is broken; mostly none."""
        found: dict[str, dict[int, Step]] = {}
        for name, steps in self.steps.items():
            for number, taken in steps.items():
                if taken.after is None or self._graph.breaks((*taken.found, *self._graph.at(taken.after).found)):
                    found.setdefault(name, {})[number] = self.offers[name][number]
        return found


class WalkedGraph:
    """The state graph of a specification, expanded where walks come."""

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
        self.choices = {action.name: len(action.instances) for action in self.model.actions}
        """How many instances each action has, and how many ways there are to begin, under their names."""
        self.choices |= dict.fromkeys(self.beginnings, len(self.initial_steps))
        self.at = lru_cache(STATES)(lambda state: ExpandedState(self, state))

    @cached_property
    def beginnings(self) -> Offers:
        """The ways to begin."""
        found: dict[str, dict[int, Step]] = {}
        for number, initial_step in enumerate(self.initial_steps):
            found.setdefault(initial_step.step.action, {})[number] = initial_step.step
        return found

    def beginning_in(self, state: Values) -> tuple[str, int] | None:
        """The name and number of a way to begin in a state."""
        for number, initial_step in enumerate(self.initial_steps):
            if initial_step.state == state:
                return initial_step.step.action, number
        return None

    @cached_property
    def _known(self) -> Mapping[int, Path]:
        """Of each property that a look ahead decides, a shortest path to where it is broken, or is seen."""
        options = Options((*self.of_states, *self.of_steps), keep_going=True, max_states=LOOK_AHEAD)
        try:
            with self.bounded():
                found = ReferenceEngine().explore(self.model, options, lambda statistics: None).discoveries
        except (EvaluationFailed, SpecificationError):
            return {}  # a walk will meet it too, and tell its steps
        return {number: each.path for number, each in found.items()}

    @cached_property
    def routes(self) -> tuple[Path, ...]:
        """A shortest path to each `sometimes` that a look ahead finds far away: what its author calls worth reaching.

        Walks come to what is near in any case, and programs that do not follow a route shrink better.
        """
        wanted = [n for n in (*self.of_states, *self.of_steps) if not is_violation(self.model, n)]
        if not wanted:
            return ()
        return tuple(self._known[n] for n in wanted if n in self._known and len(self._known[n][1]) >= FAR)

    @cached_property
    def straight(self) -> Path | None:
        """A shortest path to where a property is broken, if a look ahead finds one."""
        broken = [path for number, path in self._known.items() if is_violation(self.model, number)]
        return min(broken, key=lambda path: len(path[1]), default=None)

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
    for instance, state, wrong in model.begun():
        name = instance.run.__name__ if instance.run.__name__.isidentifier() else "begin"
        found.append(InitialStep(Step(name, instance.parameters), state, wrong))
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

    def offers(self) -> Offers:
        """The steps that are enabled here; before the walk has begun, the ways to begin."""
        return self.graph.beginnings if self.here is None else self.here.offers

    def violating_steps(self) -> Offers:
        """The steps among them that break a property, or lead where one is broken; mostly none."""
        return {} if self.here is None else self.here.violating_steps

    def harmless(self) -> Offers:
        """The steps among them that break nothing."""
        left = {
            name: {
                number: step for number, step in steps.items() if number not in self.violating_steps().get(name, {})
            }
            for name, steps in self.offers().items()
        }
        return {name: steps for name, steps in left.items() if steps}

    def next_on(self, route: Path) -> tuple[str, int] | None:
        """The name and number of the step that comes next on a route; None if it has been left, or is at its end."""
        first, choices = route
        if self.here is None:
            return self.graph.beginning_in(first)
        taken = len(self._path)
        if self._from != first or taken >= len(choices) or self._path != list(choices[:taken]):
            return None
        action, instance = choices[taken]
        return self.graph.model.actions[action].name, instance

    def go(self, step: Step) -> Step:
        """Take an enabled step, or begin; as the graph has it.

        Raises:
            UsageError: it is not offered here.
            Violation: it breaks a property, or a property is broken where it leads.
            EvaluationFailed: a property raised, or an action that was tried where it leads.
        """
        __tracebackhide__ = True  # what failed is the specification; pytest need not show this code
        taken, found = self._taken(step)
        broken = [number for number in found if is_violation(self.graph.model, number)]
        if broken:
            path: Path = (self._from, tuple(self._path))
            with self.graph.bounded():
                told = trace(self.graph.model, min(broken), path)
            raise Violation(violation_text(told), told)
        self.witnessed = tuple(self.graph.model.properties[number].name for number in found)
        assert self.here is not None
        _ = (
            self.here.steps
        )  # worked out now, so that an action that raises here is reported at the step that led here
        return taken

    def _taken(self, step: Step) -> tuple[Step, tuple[int, ...]]:
        """Take a step, or begin: the step, and the numbers of the properties that this decides."""
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
        where = "before the beginning"
        if self.here is not None:
            where = f"where {self.graph.model.show(self.here.state) or 'everything is as at first'}"
        return f"{step} is not enabled {where}; enabled: {', '.join(offered) or 'nothing'}"


def violation_text(told: Trace) -> str:
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
        lines += [f"        {place} = {represented(value)}" for place, value in told.looked_at.items()]
    if last is not None:
        lines += [f"    {sentence}" for sentence in (*last.sentences, *last.views)]
        lines.append(f"    {last.step} changed" if last.changes else f"    {last.step} changed nothing")
        lines += [
            f"        {place} from {represented(old)} to {represented(new)}"
            for place, (old, new) in last.changes.items()
        ]
    return "\n".join(escaped(line) for line in lines if line.strip())
