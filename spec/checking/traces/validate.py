"""A recorded trace, followed step by step on a specification: whether it is a run of it with the recorded end.

A kept counterexample is a regression test: it is followed again whenever the specification changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spec.checking.arguments import SpecificationOrClass
from spec.checking.model import DEADLOCK, TYPE_OK, Model
from spec.checking.traces.itf import RecordedState, RecordedTrace
from spec.checking.traces.paths import as_variables
from spec.checking.traces.replay import NotEnabled, Refusal, Replay
from spec.checking.traces.trace import NotebookDisplay, Trace
from spec.checking.values.text import PLAIN, Spelling, encoded, jsonable, show
from spec.language.allowed_values import LISTED
from spec.language.errors import escaped
from spec.language.words import Step

LEFT: Final = 12
"""The exit code for a trace that is not one of the specification."""


@dataclass(frozen=True, repr=False)
class Validation(NotebookDisplay):
    """The result of following a recorded trace."""

    recorded: RecordedTrace
    at: int
    """The number of the last state that was compared; the initial one is 1."""
    left: str
    """How the trace leaves the specification there; empty if it does not."""
    refusal: Refusal | None = None
    """The guard that refuses the next step, if that is how the trace leaves."""
    trace: Trace | None = None
    """The trace, if it is a run of the specification and ends as recorded."""
    spelling: Spelling = field(default=PLAIN, compare=False)
    """How values of the specification are written."""
    replay: Replay | None = field(default=None, compare=False)
    """The run, in its last state; None if the trace leaves the specification."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command line."""
        return LEFT if self.left else 0

    def __repr__(self) -> str:
        return escaped(f"<Validation {self.recorded.system}: {self.left or f'{self.at} states'}>")

    def __str__(self) -> str:
        system, decided = escaped(self.recorded.system), escaped(self.recorded.property)
        if self.left:
            return f"{system}: state {self.at}: {escaped(self.left)}"
        ends = "is witnessed" if self.trace is not None and self.trace.witness else "breaks"
        end = f", and {decided} {ends} in the last, as recorded" if decided else ""
        return f"{system}: this is a run of it, in {self.at} states{end}"

    def to_json(self) -> dict[str, Any]:
        """One JSON object; `guard`, `place` and `looked_at` are included if a guard refuses the next step."""
        why: dict[str, Any] = {}
        if self.refusal is not None:
            why = {**self.refusal._asdict(), "looked_at": jsonable(self.refusal.looked_at, self.spelling)}
        return {
            "verdict": "leaves" if self.left else "follows",
            "system": self.recorded.system,
            "property": self.recorded.property,
            "length": len(self.recorded.states),
            "state": self.at,
            "why": self.left,
            **why,
        }


def validate(recorded: RecordedTrace, specification: SpecificationOrClass) -> Validation:
    """Follow a recorded trace as far as the specification permits it; EvaluationFailed if an action or a property
    raised.
    """
    model = Model(specification)
    first, *rest = recorded.states
    spelling = model.spelling
    begun = [as_variables(model, state) for state, _ in model.initial_states() if state is not None]
    initial = next((each for each in begun if _same(each, first.variables, spelling)), None)
    if initial is None:
        where = _difference(begun[0], first.variables, spelling) if len(begun) == 1 else f"it is none of {len(begun)}"
        return Validation(recorded, 1, f"the specification has no such initial state: {where}")
    replay = Replay(specification, initial, judging=[recorded.property] if recorded.property else None)
    for state in rest:
        number = replay.number + 1
        step = _step(replay, state)
        if isinstance(step, str):
            return Validation(recorded, number, step)
        try:
            replay.do(step)
        except NotEnabled:
            refused = replay.refusal(step)
            return Validation(
                recorded, number, f"{step} cannot be done: {refused.text(spelling)}", refused, spelling=spelling
            )
        if replay.outside and recorded.property != TYPE_OK:
            return Validation(recorded, number, f"{step} leaves the domains: {replay.outside}")
        reached = replay.states[-1]
        if not _same(reached, state.variables, spelling):
            return Validation(
                recorded, number, f"{step} leads elsewhere: {_difference(reached, state.variables, spelling)}"
            )
    wrong = _ends_otherwise(replay, recorded.property)
    if wrong:
        return Validation(recorded, replay.number, wrong)
    shown = replay.trace(recorded.property) if recorded.property else replay.run
    return Validation(recorded, replay.number, "", trace=shown, replay=replay)


def _step(replay: Replay, state: RecordedState) -> Step | str:
    """The step that led to a state; or an error message."""
    actions = replay.model.actions
    action = next((each for each in actions if each.name == state.action), None)
    if action is None:
        known = ", ".join(each.name for each in actions)
        return f"there is no action {state.action}; there are {known}"
    its = action.instances
    for step in map(action.step, range(its.size)) if its.size <= LISTED else replay.present(action):
        if _same(step.parameters, state.picks, replay.model.spelling):
            return step
    given = ", ".join(f"{name}={_plain(value)}" for name, value in state.picks.items())
    domains = ", ".join(f"{name} of {domain}" for name, domain in action.domains.items())
    return f"there is no {state.action}({given}); it takes {domains or 'no parameters'}"


def _ends_otherwise(replay: Replay, decided: str) -> str:
    """The error in the end; empty if it is as recorded."""
    if not decided:
        return ""
    if decided == DEADLOCK:
        return f"it is not a deadlock: {replay.enabled[0]} can be done" if replay.enabled else ""
    known = [each.name for each in replay.model.properties]
    if decided not in known:
        return f"there is no property {decided}; there are {', '.join(known)}"
    found = {**replay.broken, **replay.witnessed}
    if decided not in found:
        return f"{decided} is neither broken nor witnessed at the end"
    return f"{decided} was already decided by state {found[decided]}" if found[decided] < replay.number else ""


def _same(variables: Mapping[str, Any], recorded: Mapping[str, Any], spelling: Spelling) -> bool:
    return {name: encoded(value, spelling) for name, value in variables.items()} == recorded


def _difference(variables: Mapping[str, Any], recorded: Mapping[str, Any], spelling: Spelling) -> str:
    """The first place where they differ, with both values."""
    for name, value in variables.items():
        if name not in recorded:
            return f"{name} is not recorded"
        ours, theirs = encoded(value, spelling), recorded[name]
        if ours != theirs:
            return next(_differences(name, ours, theirs), f"{name} differs")
    return f"the specification has no {next(name for name in recorded if name not in variables)}"


def _differences(place: str, ours: Any, theirs: Any) -> Iterator[str]:
    if ours == theirs:
        return
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        if "tag" in ours and ours["tag"] == theirs["tag"]:
            yield from _among(place + ".", "", ours["value"], theirs["value"])
            return
        if "#map" in ours:
            yield from _among(
                place + "[", "]", *({_plain(k): value for k, value in each["#map"]} for each in (ours, theirs))
            )
            return
    yield f"{place} is {_plain(ours)}, and was recorded as {_plain(theirs)}"


def _among(begin: str, end: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    for name in [*ours, *(each for each in theirs if each not in ours)]:
        place = f"{begin}{name}{end}"
        if name not in ours or name not in theirs:
            yield f"{place} is {'there, and was not' if name in ours else 'not there, and was'}"
        else:
            yield from _differences(place, ours[name], theirs[name])


def _plain(expression: Any) -> str:
    """An expression of ITF, in the form of a trace."""
    if isinstance(expression, bool | str):
        return show(expression)
    if isinstance(expression, list):
        return f"({', '.join(map(_plain, expression))})"
    if not isinstance(expression, dict):
        return str(expression)
    if "#bigint" in expression:
        return str(expression["#bigint"])
    if "#set" in expression:
        return f"{{{', '.join(map(_plain, expression['#set']))}}}"
    if "#map" in expression:
        return f"{{{', '.join(f'{_plain(key)}: {_plain(value)}' for key, value in expression['#map'])}}}"
    if expression == {"#tup": []}:
        return "none"
    if expression.keys() == {"tag", "value"} and isinstance(expression["value"], dict):
        parts = ", ".join(f"{name}={_plain(part)}" for name, part in expression["value"].items())
        return f"{expression['tag']}({parts})"
    if expression.keys() == {"tag", "value"}:
        return f"{expression['tag']}.{expression['value']}"
    return str(expression)
