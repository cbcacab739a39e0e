"""Paths, which engines find, and the traces along them, which a person reads.

A trace is made by repeating the steps on the specification itself; so every trace is one of the specification.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple

from spec.checking.model import TYPE_OK, EvaluationFailed, Model, Path
from spec.checking.traces.trace import Trace, TraceStep
from spec.checking.traces.views import changed_sentences, sentences
from spec.language.cells import OutOfCell
from spec.language.domains import ABSENT, LEFT_OUT
from spec.language.errors import Disabled, NotApplicable
from spec.language.identity import is_same_value
from spec.language.instances import Instance
from spec.language.state import Values
from spec.language.words import Step, narrated_to


class StepDone(NamedTuple):
    """A step that was done, and its successor."""

    shown: TraceStep
    after: Values | None
    """The successor; None where a value lies outside its domain."""
    out_of_domain: str
    """The value, its place, and what is allowed; empty if there is a successor."""
    values: Values
    """The value of every cell after the step, even one outside its domain."""


def take_step(model: Model, state: Values, choice: tuple[int, int]) -> StepDone:
    """Do a step in a state: the action and the instance with these numbers; Disabled if it is not enabled there."""
    action_number, instance_number = choice
    action = model.actions[action_number]
    instance, said = action.instances[instance_number], list[str]()
    window, after, wrong = model.window(), None, ""
    window.load(state)
    window.writable(action.name)
    changes: dict[str, tuple[Any, Any]] = {}
    with narrated_to(said.append):
        try:
            instance(window.s)
            after = window.changed()
        except OutOfCell as misplaced:
            wrong = str(misplaced)
    if after is None:
        assigned = window.assigned()
        values = tuple(
            assigned[cell.name][1] if cell.name in assigned else old
            for cell, old in zip(model.layout.cells, state, strict=True)
        )
        for place, (old, new) in assigned.items():
            changes.update(differences(place, old, new))
    else:
        values = after
        for cell, old, new in zip(model.layout.cells, state, after, strict=True):
            changes.update(differences(cell.name, old, new))
    views = () if after is None else changed_sentences(sentences(model, state), sentences(model, after))
    shown = TraceStep(
        action.step(instance_number), tuple(said), changes, views, action.lanes(instance_number), model.spelling
    )
    return StepDone(shown, after, wrong, values)


def trace(model: Model, number: int, path: Path) -> Trace:
    """The trace along a path that ends where the property with this number is broken or witnessed."""
    steps = _done(model, path)
    states = [path[0], *(done.after for done in steps if done.after is not None)]
    previous, state = states[-2:] if len(states) > 1 else (path[0], path[0])
    failing, looked_at = _why(model, number, previous, steps[-1].shown.step if steps else None, state)
    judged = model.properties[number]
    wrong = steps[-1].out_of_domain if steps else ""
    return replace(
        _trace(model, path, steps),
        broken=judged.name,
        sentence=judged.doc,
        failing=wrong if judged.name == TYPE_OK else failing,
        looked_at=looked_at,
        witness=judged.kind == "sometimes",
    )


def trace_along(model: Model, path: Path, failing: str = "") -> Trace:
    """The trace along a path that decides no property; at its end an evaluation may fail."""
    return replace(_trace(model, path, _done(model, path)), failing=failing)


@contextmanager
def traced_failures(model: Model) -> Iterator[None]:
    """While this is open, an evaluation that fails at the end of a known path gets the trace along it."""
    try:
        yield
    except EvaluationFailed as failure:
        if failure.path is not None:
            with suppress(EvaluationFailed):  # a nondeterministic step cannot always be repeated
                failure.trace = trace_along(model, failure.path, failure.what)
        raise


def failing_along(
    model: Model, path: Path, failure: EvaluationFailed, number: int | None, looking_for: Sequence[int]
) -> EvaluationFailed:
    """An evaluation's failure, as it occurs at the end of a path that leads there.

    The evaluation is repeated: under symmetry the path ends in another state of the orbit, and a failure from another
    process has lost its source line. Without a property's number, an action failed, or one of the properties of steps
    in `looking_for`.
    """
    try:
        state = [path[0], *(done.after for done in _done(model, path) if done.after is not None)][-1]
        if number is None:
            model.expand(state, looking_for)
        else:
            model.found_in(state, [number])
    except EvaluationFailed as again:
        failure = again
    failure.path = path
    return failure


def _done(model: Model, path: Path) -> list[StepDone]:
    """The steps of a path, done one after the other; EvaluationFailed if one of them is not enabled."""
    state, steps = path[0], list[StepDone]()
    for choice in path[1]:
        try:
            steps.append(take_step(model, state, choice))
        except Disabled:
            step = model.actions[choice[0]].step(choice[1])
            again = "it is not deterministic: it was enabled, but not when repeated for the trace"
            raise EvaluationFailed(str(step), again, model.show(state)) from None
        after = steps[-1].after
        state = state if after is None else after
    return steps


def _trace(model: Model, path: Path, steps: Sequence[StepDone]) -> Trace:
    return Trace(
        broken="",
        sentence="",
        failing="",
        looked_at={},
        initial=as_variables(model, path[0]),
        initial_views=tuple(sentences(model, path[0]).values()),
        steps=tuple(done.shown for done in steps),
        states=tuple(as_variables(model, values) for values in (path[0], *(done.values for done in steps))),
        spelling=model.spelling,
    )


def _holds(instance: Instance, given: Sequence[Any]) -> bool:
    """Whether a property holds there, or does not apply."""
    try:
        return bool(instance(*given))
    except NotApplicable:
        return True


def _why(
    model: Model, number: int, before: Values, step: Step | None, after: Values
) -> tuple[str, Mapping[str, Any]]:
    """The parameters for which a property fails, and the values of the cells that it looked at."""
    judged = model.properties[number]
    if judged.kind == "sometimes":
        return "", {}
    for instance in map(judged.instances.__getitem__, judged.present(model.window().load(after))):
        earlier, now = model.window(), model.window()
        then, here = earlier.load(before), now.load(after)
        given: list[Any] = [then, step, here] if judged.over_steps else [here]
        seen_then, seen_now = earlier.watch(), now.watch()
        if not _holds(instance, given):
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
    """The changes, field by field within records: `broker[0].epoch`, from 0 to 1."""
    if old is LEFT_OUT or is_same_value(old, new):
        return
    fields = getattr(type(old), "_fields", None)
    if fields is None or type(old) is not type(new):
        yield place, (old, new)
        return
    for field, before, after in zip(fields, old, new, strict=True):
        yield from differences(f"{place}.{field}", before, after)


def as_variables(model: Model, state: Values) -> dict[str, Any]:
    """A state as its variables: plain ones by name, mappings as dicts of the existing keys."""
    found: dict[str, Any] = {}
    for name, variable in model.layout.variables.items():
        if isinstance(variable.at, int):
            found[name] = state[variable.at]
        else:
            found[name] = {key: state[at] for key, at in variable.at.items() if state[at] is not ABSENT}
    return found
