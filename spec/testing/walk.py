"""A walk through a specification: it begins, it takes enabled steps, and each state and step is judged.

Who chooses the steps is not known here. All walks of one specification share its `Ground`, which remembers the
places it has seen: walks begin alike, so most of their first steps are looked up and not worked out again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple

from spec.checking.arguments import Given
from spec.checking.exploration import Options, is_violation, split
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed, Model, Taken
from spec.checking.paths import Path, trace
from spec.checking.reference import ReferenceEngine
from spec.checking.trace import Trace
from spec.language.errors import Disabled, SpecificationError, UsageError
from spec.language.state import Misplaced, Values
from spec.language.words import Step, without_bounds

PLACES = 4096
"""How many places a ground remembers. One with twenty steps of fifty cells takes 10 kB, so this is 40 MB."""


LOOK_AHEAD = 10_000
"""States explored before the first walk, for ways to what `sometimes` asks for: a few seconds at most."""

FAR = 8
"""States on a way that random steps hardly ever go by themselves."""


class Violation(AssertionError):
    """A property is broken. The message says which, where it was looked at, and what the last step changed."""

    def __init__(self, message: str, trace: Trace | None = None):
        super().__init__(message)
        self.trace = trace
        """How it came about; None where there is not even an initial state."""


class Beginning(NamedTuple):
    """One way to begin: the `initial` that it is, and where it leads."""

    name: str
    parameters: Mapping[str, Any]
    state: Values | None
    """None where a value lies outside its domain."""
    wrong: str


class Place:
    """A state, what is decided there, and the steps that lead away."""

    def __init__(self, ground: Ground, state: Values):
        self._ground, self.state = ground, state
        self.found = ground.model.found_in(state, ground.of_states)
        """The properties of states that it decides: invariants broken, witnesses seen."""

    @cached_property
    def steps(self) -> Mapping[str, tuple[Taken, ...]]:
        """The enabled steps of each action that has one."""
        ground = self._ground
        with ground.bounded():
            expansion = ground.model.expand(self.state, ground.of_steps)
        found: dict[str, tuple[Taken, ...]] = {}
        for taken in expansion.steps:
            name = ground.model.actions[taken.action].name
            found[name] = (*found.get(name, ()), taken)
        return found

    @cached_property
    def breaking(self) -> tuple[Taken, ...]:
        """The enabled steps that break a property, or lead where one is broken."""
        return tuple(
            taken
            for taken in chain.from_iterable(self.steps.values())
            if taken.after is None or self._ground.breaks((*taken.found, *self._ground.at(taken.after).found))
        )


class Ground:
    """A specification to walk on."""

    at: Callable[[Values], Place]
    """The place of a state."""

    def __init__(self, specification: Given, *, bounds: bool = True):
        self.model, self.bounds = Model(specification), bounds
        self.specification = specification = self.model.specification
        judged = [n for n, each in enumerate(self.model.properties) if each.name != DEADLOCK]
        self.of_states, self.of_steps = split(self.model, judged)
        self.beginnings = _beginnings(self.model)
        if not self.beginnings:
            raise SpecificationError(f"{specification.name}: it has no initial state")
        self.choices = {action.name: len(action.instances) for action in self.model.actions}
        """How many instances each action has, and how many ways there are to begin, under their names."""
        self.choices |= {beginning.name: len(self.beginnings) for beginning in self.beginnings}
        self.at = lru_cache(PLACES)(lambda state: Place(self, state))

    @cached_property
    def routes(self) -> tuple[Path, ...]:
        """A shortest way to each `sometimes` that a look ahead finds far away: what its author calls worth reaching.

        What is near is come by in any case, and programs that do not follow a route shrink better.
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
        """While it is open, actions run as on this ground: within their bounds or without."""
        return nullcontext() if self.bounds else without_bounds()

    @cached_property
    def sole_beginning(self) -> Beginning | None:
        """The initial state, if there is but one and nothing is wrong with it."""
        if len(self.beginnings) > 1:
            return None
        only = self.beginnings[0]
        broken = only.state is None or self.breaks(self.at(only.state).found)
        return None if broken else only

    def breaks(self, found: Iterable[int]) -> bool:
        """Whether one of these properties, which were decided, is bad news."""
        return any(is_violation(self.model, number) for number in found)


def _beginnings(model: Model) -> tuple[Beginning, ...]:
    found = []
    window = model.window()
    for instance in model.specification.initials:
        name = instance.run.__name__ if instance.run.__name__.isidentifier() else "begin"
        window.load(model.layout.first())
        window.writable(name)
        try:
            instance.run(window.s, **instance.parameters)
            found.append(Beginning(name, instance.parameters, window.changed(), ""))
        except Misplaced as misplaced:
            found.append(Beginning(name, instance.parameters, None, str(misplaced)))
        except Disabled:
            continue
    return tuple(found)


class Walk:
    """Somebody on the ground: where they are, and how they came there."""

    def __init__(self, ground: Ground):
        self.ground = ground
        self.place: Place | None = None
        """None before it has begun."""
        self.witnessed: tuple[str, ...] = ()
        """The `sometimes` seen in the last step, or where it led."""
        self._from: Values = ()
        self._path: list[tuple[int, int]] = []

    def offers(self) -> dict[str, dict[int, Mapping[str, Any]]]:
        """What can be done here: actions by name, with the parameters of each enabled instance by its number.
        Before the beginning it is the ways to begin.
        """
        found: dict[str, dict[int, Mapping[str, Any]]] = {}
        if self.place is None:
            for number, beginning in enumerate(self.ground.beginnings):
                found.setdefault(beginning.name, {})[number] = beginning.parameters
        else:
            for name, steps in self.place.steps.items():
                found[name] = {taken.instance: self._step(taken).parameters for taken in steps}
        return found

    def breaking(self) -> dict[str, dict[int, Mapping[str, Any]]]:
        """Of what is offered the steps that break a property, or lead where one is broken; mostly none."""
        found: dict[str, dict[int, Mapping[str, Any]]] = {}
        if self.place is not None:
            for taken in self.place.breaking:
                step = self._step(taken)
                found.setdefault(step.action, {})[taken.instance] = step.parameters
        return found

    def next_on(self, route: Path) -> tuple[str, int] | None:
        """The name and number of the step that comes next on a route; None if it has been left, or is at its end."""
        first, choices = route
        if self.place is None:
            for number, beginning in enumerate(self.ground.beginnings):
                if beginning.state == first:
                    return beginning.name, number
        taken = len(self._path)
        if self._from != first or taken >= len(choices) or self._path != list(choices[:taken]):
            return None
        action, instance = choices[taken]
        return self.ground.model.actions[action].name, instance

    def go(self, name: str, parameters: Mapping[str, Any]) -> Step:
        """Take an enabled step, or begin.

        Raises:
            UsageError: it is not offered here.
            Violation: it breaks a property, or a property is broken where it leads.
            EvaluationFailed: a property raised, or an action that was tried where it leads.
        """
        __tracebackhide__ = True  # what failed is the specification; pytest need not show this code
        if self.place is not None:
            for taken in self.place.steps.get(name, ()):
                if self._step(taken).parameters == parameters:
                    self._take(taken)
                    return self._step(taken)
        else:
            for beginning in self.ground.beginnings:
                if (beginning.name, beginning.parameters) == (name, parameters):
                    self._begin(beginning)
                    return Step(name, beginning.parameters)
        raise UsageError(self._refusal(Step(name, parameters)))

    def _step(self, taken: Taken) -> Step:
        return self.ground.model.actions[taken.action].step(taken.instance)

    def _begin(self, beginning: Beginning) -> None:
        __tracebackhide__ = True
        if beginning.state is None:
            raise Violation(f"{TYPE_OK} is broken in the initial state\n    {beginning.wrong}")
        self._from, self._path = beginning.state, []
        self._arrive(beginning.state, ())

    def _take(self, taken: Taken) -> None:
        __tracebackhide__ = True
        self._path.append((taken.action, taken.instance))
        if taken.after is None:
            self._judge(self.ground.model.numbers([TYPE_OK]))
        else:
            self._arrive(taken.after, taken.found)

    def _arrive(self, state: Values, found: tuple[int, ...]) -> None:
        __tracebackhide__ = True
        self.place = self.ground.at(state)
        self._judge((*found, *self.place.found))
        # Worked out now, so that an action that raises here is reported at the step that led here.
        _ = self.place.steps

    def _judge(self, found: tuple[int, ...]) -> None:
        __tracebackhide__ = True
        model = self.ground.model
        broken = [number for number in found if is_violation(model, number)]
        if broken:
            path: Path = (self._from, tuple(self._path))
            with self.ground.bounded():
                told = trace(model, min(broken), path)
            raise Violation(in_words(told), told)
        self.witnessed = tuple(model.properties[number].name for number in found)

    def _refusal(self, step: Step) -> str:
        offered = [str(Step(name, each)) for name, enabled in self.offers().items() for each in enabled.values()]
        where = "before the beginning"
        if self.place is not None:
            where = f"where {self.ground.model.show(self.place.state) or 'everything is as at first'}"
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
