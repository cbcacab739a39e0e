"""A replay: named steps, done one by one on a specification that reports what each of them changes and breaks.

A story from a bug report or a book is either a run of the specification, or it is not; the first step that is not
enabled shows which, and its refusal says why. `bound` forbids nothing here, because it concerns the search and not
the system. But values must stay in their domains, so the constants must be large enough for the story.

    replay = Replay(Lease(fencing=False))
    replay.do(Step("acquire", {"client": 1})).changes
    replay.broken

Numbers are those of a trace: the initial state is 1, and a step has the number of the state that it leads to.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from spec import language
from spec.checking.arguments import SpecificationOrClass
from spec.checking.exploration import is_violation, split_properties
from spec.checking.model import DEADLOCK, TYPE_OK, Model, Transition
from spec.checking.traces.paths import as_variables, take_step, trace, trace_along
from spec.checking.traces.trace import Trace, TraceStep
from spec.checking.values.text import PLAIN, Spelling, show
from spec.language.errors import Disabled, DoesNotExist, OutOfDomain, UsageError, represented
from spec.language.rules import Action
from spec.language.state import Values
from spec.language.words import Step, without_bounds


class NotEnabled(UsageError):
    """A step that exists, but is not enabled here."""


class Replay:
    """A run of a specification, up to its current state."""

    def __init__(
        self,
        specification: SpecificationOrClass,
        initial: Mapping[str, Any] | None = None,
        *,
        judging: Collection[str] | None = None,
    ):
        """Begin in the only initial state, or in this one, given as in a trace.

        Args:
            specification: the specification of the run.
            initial: the initial state.
            judging: names of the only properties to evaluate. Others may raise in states on the way to a violation.

        Raises:
            UsageError: there are several initial states, or none like the given one.
        """
        self.model = Model(specification)
        judged = [
            number
            for number, each in enumerate(self.model.properties)
            if each.name != DEADLOCK and (judging is None or each.name in judging)
        ]
        self._of_states, self._of_steps = split_properties(self.model, judged)
        self._first = self._begin(initial)
        self._path: list[tuple[int, int]] = []
        self._decided: dict[str, int] = {}
        self._wrong = ""
        self._values = [self._first]
        self._state: Values
        self._arrive(self._first, ())

    def _begin(self, initial: Mapping[str, Any] | None) -> Values:
        begun = list(self.model.initial_states())
        states = [state for state, _ in begun if state is not None]
        if initial is not None:
            states = [state for state in states if as_variables(self.model, state) == initial]
        if len(states) != 1:
            like = "initial states" if initial is None else "initial states like this"
            outside = "".join(f", and one outside its domain: {wrong}" for _, wrong in begun if wrong)
            name = self.model.specification.name
            raise UsageError(f"a replay begins in one initial state; {name} has {len(states)} {like}{outside}")
        return states[0]

    @property
    def number(self) -> int:
        """The number of states so far, including the initial one."""
        return len(self._path) + 1

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps done so far."""
        return tuple(self.model.actions[action].step(instance) for action, instance in self._path)

    @property
    def outside(self) -> str:
        """The value outside its domain, its place, and what is allowed; empty as long as all are within."""
        return self._wrong

    @property
    def broken(self) -> dict[str, int]:
        """The properties that do not hold in this run, and the number of the state or step that first broke each."""
        return {name: at for name, at in self._decided.items() if is_violation(self.model, self._number_of(name))}

    @property
    def witnessed(self) -> dict[str, int]:
        """The `sometimes` that were seen, and the number of the state or step that first showed each."""
        return {name: at for name, at in self._decided.items() if name not in self.broken}

    @property
    def enabled(self) -> tuple[Step, ...]:
        """The steps that can be done here."""
        return tuple(self.model.actions[taken.action].step(taken.instance) for taken in self._following())

    @property
    def states(self) -> tuple[dict[str, Any], ...]:
        """The states so far as their variables; the last may have values outside their domains."""
        return tuple(as_variables(self.model, values) for values in self._values)

    @property
    def choices(self) -> tuple[tuple[int, int], ...]:
        """The steps so far, by the numbers of action and instance."""
        return tuple(self._path)

    @property
    def reached(self) -> tuple[Values, ...]:
        """The states so far in the form of engines, without one that lies outside the domains."""
        return tuple(self._values[:-1] if self._wrong else self._values)

    def do(self, step: Step) -> TraceStep:
        """Do this step, whatever it breaks, and return what it changed.

        Raises:
            UsageError: there is no such action, or it does not take such parameters.
            NotEnabled: its guard does not hold here.
            EvaluationFailed: an action or a property raised.
        """
        choice = self._choice(step)
        following = self._following({choice})
        if not following:
            raise NotEnabled(f"step {self.number + 1}, {step}: {self._refusal()}")
        with without_bounds():
            done, after, wrong, values = take_step(self.model, self._state, choice)
        self._path.append(choice)
        self._values.append(values)
        if after is None:
            self._wrong = wrong
            self._decided.setdefault(TYPE_OK, self.number)
        else:
            self._arrive(after, following[0].found)
        return done

    def value(self, place: str) -> Any:
        """The value at a place, named as in a trace: `till`, `account[bob].money`; all of `account`, by key.

        Raises:
            UsageError: there is no such place.
        """
        variables = as_variables(self.model, self._state)
        cells = {cell.name: value for cell, value in zip(self.model.layout.cells, self._state, strict=True)}
        if place in variables:
            return variables[place]
        cell = max((each for each in cells if f"{place}.".startswith(f"{each}.")), key=len, default=None)
        if cell is None:
            known = ", ".join(dict.fromkeys([*variables, *cells]))
            raise UsageError(f"there is no place {place}; there are {known}")
        value = cells[cell]
        for field in place[len(cell) :].split(".")[1:]:
            fields = getattr(value, "_fields", ())
            if field not in fields:
                raise UsageError(
                    f"there is no place {place}: {represented(value)} has {', '.join(fields) or 'no fields'}"
                )
            value = getattr(value, field)
        return value

    def trace(self, name: str) -> Trace:
        """The trace to the first violation or witness of a property; or of a deadlock here.

        Raises:
            UsageError: it was neither broken nor witnessed.
        """
        if name == DEADLOCK and not self.enabled:
            return trace(self.model, self._number_of(name), (self._first, tuple(self._path)))
        if name not in self._decided:
            raise UsageError(f"{name} was neither broken nor witnessed; {', '.join(self._decided) or 'nothing'} was")
        with without_bounds():
            path = self._path[: self._decided[name] - 1]
            return trace(self.model, self._number_of(name), (self._first, path))

    @property
    def run(self) -> Trace:
        """The trace of all steps so far, whatever it decides."""
        with without_bounds():
            return trace_along(self.model, (self._first, tuple(self._path)))

    def _arrive(self, state: Values, found: tuple[int, ...]) -> None:
        self._state = state
        for number in sorted((*found, *self.model.found_in(state, self._of_states))):
            self._decided.setdefault(self.model.properties[number].name, self.number)

    def _following(self, only: Collection[tuple[int, int]] = ()) -> list[Transition]:
        """The steps from the last state, or the requested ones among them. No others are tried, because a run may
        avoid an action that raises.
        """
        if self._wrong:
            return []
        model = self.model.replay_choices(only) if only else self.model
        with without_bounds():
            return model.expand(self._state, self._of_steps).steps

    def present(self, action: Action) -> Iterator[Step]:
        """The steps of an action whose parameters are there in the last state."""
        with without_bounds():
            numbers = action.present(self.model.window().load(self._state)).numbers
        return map(action.step, numbers)

    def _number_of(self, name: str) -> int:
        return self.model.numbers([name])[0]

    def _choice(self, step: Step) -> tuple[int, int]:
        """The numbers of the action and of its instance."""
        where = f"step {self.number + 1}, {step}"
        known = [action.name for action in self.model.actions]
        if step.action not in known:
            raise UsageError(f"{where}: there is no action {step.action}; there are {', '.join(known)}")
        number = known.index(step.action)
        action = self.model.actions[number]
        if step.parameters.keys() != action.domains.keys():
            takes = f"takes {', '.join(action.domains)}" if action.domains else "takes no parameters"
            raise UsageError(f"{where}: {step.action} {takes}")
        for name, domain in action.domains.items():
            try:
                domain.rank(step.parameters[name])
            except OutOfDomain as wrong:
                raise UsageError(f"{where}: {name} = {wrong}") from None
        return number, action.instances.number_of(step.parameters)

    def _refusal(self) -> str:
        if self._wrong:
            return f"nothing can follow step {self.number}, which left the domains: {self._wrong}"
        steps = ", ".join(map(str, self.enabled))
        return f"its guard does not hold here; {f'enabled are {steps}' if steps else 'nothing is enabled'}"

    def would(self, step: Step) -> TraceStep | Refusal:
        """What a step would change here, or why it cannot be done. The step is not done.

        Raises:
            UsageError: there is no such action, or it does not take such parameters.
            EvaluationFailed: an action or a property raised.
        """
        choice = self._choice(step)
        if not self._following({choice}):
            return self.refusal(step)
        with without_bounds():
            return take_step(self.model, self._state, choice).shown

    def refusal(self, step: Step) -> Refusal:
        """Why a step cannot be done here.

        Raises:
            UsageError: there is no such action, or it does not take such parameters.
        """
        with without_bounds():
            return refusal(self.model, self._state, self._choice(step))


# Refusals.


LIBRARY_PACKAGES: Final = {Path(language.__file__).parent, Path(__file__).parent}
"""Folders of code that calls an author's code, or is called by it."""


class Refusal(NamedTuple):
    """Why a step cannot be done in a state."""

    guard: str
    """The call that ended it, as in the source, such as `require(self.connected)`; empty if unknown."""
    place: str
    """File and line of the call; empty if unknown."""
    looked_at: Mapping[str, Any]
    """The cells that the action had read by then, with their values."""

    def __str__(self) -> str:
        return self.text(PLAIN)

    def text(self, spelling: Spelling) -> str:
        """The refusal in a line, with values in this spelling."""
        guard = f"{self.guard} ({self.place})" if self.guard else f"a guard ({self.place or 'at an unknown place'})"
        read = ", ".join(f"{cell} = {show(value, spelling)}" for cell, value in self.looked_at.items())
        return f"{guard} does not hold" + (f", where {read}" if read else "")


class RefusedValue(Refusal):
    """A parameter must be a value that exists in the state, and is not; `place` is that of its range."""


def refusal(model: Model, state: Values, choice: tuple[int, int]) -> Refusal:
    """The refusal of the action and instance with these numbers in a state where they are not enabled."""
    action_number, instance_number = choice
    action = model.actions[action_number]
    window = model.window()
    s = window.load(state)
    window.writable(action.name)
    read = window.watch()
    kind, guard, place = Refusal, "", ""
    try:
        action.instances[instance_number](s)
    except DoesNotExist as disabled:
        kind, guard = RefusedValue, f"{disabled.parameter} in its range"
        code = getattr(disabled.ranges_over, "__code__", None)
        place = f"{Path(code.co_filename).name}, line {code.co_firstlineno}" if code else ""
    except Disabled as disabled:
        guard, place = _last_call_of_the_author(disabled)
    looked_at = {cell.name: state[at] for at, cell in enumerate(model.layout.cells) if at in read}
    return kind(guard, place, looked_at)


def _last_call_of_the_author(disabled: Disabled) -> tuple[str, str]:
    """The call in one line, and its place."""
    frames = traceback.extract_tb(disabled.__traceback__)
    frame = next((each for each in reversed(frames) if Path(each.filename).parent not in LIBRARY_PACKAGES), None)
    if frame is None:
        return "", ""
    place = f"{Path(frame.filename).name}, line {frame.lineno}"
    first, last, begin, end = frame.lineno, frame.end_lineno, frame.colno, frame.end_colno
    if first is None or last is None or begin is None or end is None:
        return "", place
    lines = [linecache.getline(frame.filename, number).encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]  # columns are counted in bytes
    lines[0] = lines[0][begin:]
    return " ".join(b"".join(lines).decode().split()), place
