"""A trace: an initial state, the steps from it, what each of them changed, and what its author says of that.

It is made by doing the steps again, through the specification itself; so a trace that exists is a trace that
the specification has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from spec.checking.model import TYPE_OK, EvaluationFailed, Model
from spec.checking.views import news, sentences
from spec.language.domains import ABSENT, LEFT_OUT, Subset
from spec.language.errors import Disabled, SpecificationError
from spec.language.state import Misplaced, Values
from spec.language.words import Step, listening


@dataclass(frozen=True)
class TraceStep:
    """A step, what the action said, and what it changed: the place, the value before, the value after."""

    step: Step
    said: tuple[str, ...]
    changes: Mapping[str, tuple[Any, Any]]
    views: tuple[str, ...] = ()
    """What the views say of the state that it leads to, and did not say of the one before; nothing where that lies
    outside the domains."""

    def to_json(self) -> dict[str, Any]:
        """A step of the JSON contract; `views` is there if they say something."""
        told = {
            "action": self.step.action,
            "parameters": jsonable(self.step.parameters),
            "changes": {place: [jsonable(old), jsonable(new)] for place, (old, new) in self.changes.items()},
        }
        return {**told, "views": list(self.views)} if self.views else told


@dataclass(frozen=True)
class Trace:
    """How a property comes to be broken, or witnessed."""

    broken: str
    """The name of the property."""
    sentence: str
    """What it states."""
    failing: str
    """With which parameters it fails, and what is wrong if it is a domain that is left; may be empty."""
    looked_at: Mapping[str, Any]
    """What it looked at in the last state, and found there."""
    initial: Mapping[str, Any]
    """The initial state, variable by variable."""
    initial_views: tuple[str, ...]
    """What the views say of it."""
    steps: tuple[TraceStep, ...]

    @property
    def length(self) -> int:
        """How many states it has, the initial one included."""
        return len(self.steps) + 1

    def to_json(self) -> dict[str, Any]:
        """The counterexample of the JSON contract; `initial_views` is there if the views say something of it."""
        views = {"initial_views": list(self.initial_views)} if self.initial_views else {}
        return {
            "property": self.broken,
            "length": self.length,
            "initial": jsonable(self.initial),
            **views,
            "steps": [each.to_json() for each in self.steps],
        }


Path = tuple[Values, Sequence[tuple[int, int]]]
"""An initial state, and the action and instance of each step."""


class Done(NamedTuple):
    """A step that was done, and where it led."""

    told: TraceStep
    after: Values | None
    """The successor; None where a value lies outside its domain."""
    wrong: str
    """Which value, where, and what is allowed; empty if there is a successor."""


def do(model: Model, state: Values, choice: tuple[int, int]) -> Done:
    """Do a step in a state: the action and the instance with these numbers.

    Raises:
        Disabled: it is not enabled there.
    """
    action_number, instance_number = choice
    action = model.actions[action_number]
    instance, said = action.instances[instance_number], list[str]()
    window, after, wrong = model.window(), None, ""
    window.load(state)
    window.writable(action.name)
    changes: dict[str, tuple[Any, Any]] = {}
    with listening(said.append):
        try:
            instance.run(window.s, **instance.parameters)
            after = window.changed()
        except Misplaced as misplaced:
            wrong = str(misplaced)
    if after is None:
        for place, (old, new) in window.assigned().items():
            changes.update(differences(place, old, new))
    else:
        for cell, old, new in zip(model.layout.cells, state, after, strict=True):
            changes.update(differences(cell.name, old, new))
    views = () if after is None else news(sentences(model, state), sentences(model, after))
    return Done(TraceStep(action.step(instance_number), tuple(said), changes, views), after, wrong)


def trace(model: Model, number: int, path: Path) -> Trace:
    """The trace along a path, at whose end the property with this number is broken or witnessed."""
    state, choices = path
    steps, wrong = [], ""
    previous: Values = state
    for choice in choices:
        try:
            told, after, wrong = do(model, state, choice)
        except Disabled:
            step = model.actions[choice[0]].step(choice[1])
            again = "it is not deterministic: it was enabled, and done again for the trace it is not"
            raise EvaluationFailed(str(step), again, model.show(state)) from None
        if after is not None:
            previous, state = state, after
        steps.append(told)
    failing, looked_at = _why(model, number, previous, steps[-1].step if steps else None, state)
    judged = model.properties[number]
    return Trace(
        judged.name,
        judged.doc,
        wrong if judged.name == TYPE_OK else failing,
        looked_at,
        as_variables(model, path[0]),
        tuple(filter(None, sentences(model, path[0]))),
        tuple(steps),
    )


def _why(
    model: Model, number: int, before: Values, step: Step | None, after: Values
) -> tuple[str, Mapping[str, Any]]:
    """With which parameters a property fails, and what it found in the places that it looked at."""
    judged = model.properties[number]
    if judged.kind == "sometimes":
        return "", {}
    for instance in judged.instances:
        earlier, now = model.window(), model.window()
        then, here = earlier.load(before), now.load(after)
        given: list[Any] = [then, step, here] if judged.over_steps else [here]
        seen_then, seen_now = earlier.watch(), now.watch()
        if not instance.run(*given, **instance.parameters):
            failing = ", ".join(f"{name} = {value}" for name, value in instance.parameters.items())
            looked_at = {}
            for at, cell in enumerate(model.layout.cells):
                if at in seen_then:
                    looked_at[f"before, {cell.name}"] = before[at]
                if at in seen_now:
                    looked_at[cell.name] = after[at]
            return failing, looked_at
    return "", {}


def differences(place: str, old: Any, new: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """What changed, as deep inside records as it can be told: `broker[0].epoch`, from 0 to 1."""
    if old is new or old is LEFT_OUT or _alike(old, new):
        return
    fields = getattr(type(old), "_fields", None)
    if fields is None or type(old) is not type(new):
        yield place, (old, new)
        return
    for field, before, after in zip(fields, old, new, strict=True):
        yield from differences(f"{place}.{field}", before, after)


def _alike(old: Any, new: Any) -> bool:
    try:
        return type(old) is type(new) and bool(old == new)
    except SpecificationError:  # one that was never taken over still has what is to be left out
        return False


def as_variables(model: Model, state: Values) -> dict[str, Any]:
    """A state as its variables: plain ones by name, mappings as dicts of the keys that are there."""
    found: dict[str, Any] = {}
    for name, variable in model.layout.variables.items():
        if isinstance(variable.at, int):
            found[name] = state[variable.at]
        else:
            found[name] = {key: state[at] for key, at in variable.at.items() if state[at] is not ABSENT}
    return found


def jsonable(value: Any) -> Any:
    """A value of a state as JSON: records as objects, sets and tuples as lists, absent things as null."""
    if isinstance(value, Enum):
        return value.name
    if value is ABSENT or value is None:
        return None
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "_fields"):
        return {name: jsonable(part) for name, part in zip(value._fields, value, strict=True) if part is not LEFT_OUT}
    if isinstance(value, Mapping):
        return {name_of_key(key): jsonable(part) for key, part in value.items() if part is not LEFT_OUT}
    if isinstance(value, frozenset) and not isinstance(value, Subset):
        return [jsonable(part) for part in sorted(value, key=repr)]
    if isinstance(value, tuple | frozenset):
        return [jsonable(part) for part in value]
    return None if value is LEFT_OUT else str(value)


def name_of_key(key: Any) -> str:
    """A key of a mapping as the name of a JSON member."""
    return key.name if isinstance(key, Enum) else str(key)
