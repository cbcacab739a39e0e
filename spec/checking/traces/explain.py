"""An explanation of a state of a recorded trace: the possible steps, and the guards that refuse the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spec.checking.arguments import SpecificationOrClass
from spec.checking.traces.itf import RecordedTrace
from spec.checking.traces.replay import Refusal, RefusedValue
from spec.checking.traces.trace import Line, Report, TraceStep
from spec.checking.traces.validate import validate
from spec.checking.values.step_patterns import matching_steps, step_list
from spec.checking.values.text import PLAIN, Spelling, jsonable, show
from spec.language.allowed_values import LISTED
from spec.language.errors import UsageError
from spec.language.words import Step


@dataclass(frozen=True, repr=False)
class Explanation(Report):
    """What could happen in a state, and why nothing more."""

    system: str
    state: int
    """The number of the state; the initial one is 1."""
    outcomes: tuple[tuple[Step, TraceStep | Refusal], ...]
    """The steps in question: what each would change, or what refuses it. Steps with values that do not exist in the
    state are included only if there are no others."""
    spelling: Spelling = PLAIN
    """How values are written."""
    brief: bool = False
    """Whether the text leaves out what refused actions had read: for a question about all actions."""

    def __repr__(self) -> str:
        return f"<Explanation of state {self.state} of {self.system}>"

    def lines(self) -> Iterator[Line]:
        """The possible steps, with their changes; then the impossible ones, with what refuses them."""
        yield Line(words=f"{self.system}: state {self.state}")
        for step, outcome in self.outcomes:
            if isinstance(outcome, TraceStep):
                said = f"   {'; '.join(outcome.sentences)}" if outcome.sentences else ""
                yield Line("  ", f"{step} can be done{said}")
                yield from (Line("    ", line, "value") for line in outcome.lines or ["nothing changes"])
        for steps, refusal in self._refused():
            why = f"{refusal.guard or 'a guard'} ({refusal.place or 'at an unknown place'})"
            yield Line("  ", f"{steps} cannot be done: {why}")
            if not self.brief:
                for cell, value in refusal.looked_at.items():
                    yield Line("    ", f"{cell}: {show(value, self.spelling)}", "value")

    def _refused(self) -> Iterator[tuple[str, Refusal]]:
        """The impossible steps, with what refuses them; steps of an action with the same reason are joined."""
        alike: dict[tuple[str, ...], tuple[list[Step], Refusal]] = {}
        for step, outcome in self.outcomes:
            if isinstance(outcome, Refusal):
                read = (
                    ()
                    if self.brief
                    else (f"{cell}: {show(value, self.spelling)}" for cell, value in outcome.looked_at.items())
                )
                reason = (step.action, outcome.guard, outcome.place, *read)
                alike.setdefault(reason, ([], outcome))[0].append(step)
        for steps, refusal in alike.values():
            yield step_list(steps), refusal

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "system": self.system,
            "state": self.state,
            "steps": [_jsonable(*each, self.spelling) for each in self.outcomes],
        }


def explain(
    recorded: RecordedTrace,
    specification: SpecificationOrClass,
    state: int | None = None,
    action: str | None = None,
    parameters: Mapping[str, str] | None = None,
) -> Explanation:
    """Explain a state of a recorded trace, by default the last: this action, by default each, with these parameters
    as a trace shows them; a parameter that is not given may have any value.

    UsageError if the trace has no such state, the specification no such action, or the trace up to there is not one
    of the specification; EvaluationFailed if an action or a property raised.
    """
    length = len(recorded.states)
    at = length if state is None else state
    if not 1 <= at <= length:
        raise UsageError(f"there is no state {at}; the trace has {length}")
    followed = validate(replace(recorded, property="", states=recorded.states[:at]), specification)
    if followed.replay is None:
        raise UsageError(f"the specification does not have this trace: state {followed.at}: {followed.left}")
    replay = followed.replay
    steps = (
        step
        for each in matching_steps(replay.model.actions, action, parameters or {})
        for step in (each.steps() if each.size <= LISTED else filter(each.has, replay.present(each.action)))
    )
    outcomes = tuple((step, replay.would(step)) for step in steps)
    there = tuple(each for each in outcomes if not isinstance(each[1], RefusedValue))
    return Explanation(recorded.system, at, there or outcomes, replay.model.spelling, brief=action is None)


def _jsonable(step: Step, outcome: TraceStep | Refusal, spelling: Spelling) -> dict[str, Any]:
    if isinstance(outcome, TraceStep):
        return {"enabled": True, **outcome.to_json()}
    return {
        "enabled": False,
        "action": step.action,
        "parameters": jsonable(step.parameters, spelling),
        **outcome._asdict(),
        "looked_at": jsonable(outcome.looked_at, spelling),
    }
