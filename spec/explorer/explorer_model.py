"""The page's data on a state: its values, sentences and drawings, and its enabled steps."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from spec.checking.model import Choice, Model, Transition
from spec.checking.traces.paths import as_variables
from spec.checking.traces.trace import SYSTEM, from_left_to_right
from spec.checking.traces.validate import Validation
from spec.checking.traces.views import captions, drawings_in, sentences
from spec.checking.values.text import PLAIN, Spelling, fields_of, show
from spec.language.cells import OutOfCell
from spec.language.domains import LEFT_OUT
from spec.language.specification import Specification
from spec.language.state import Values
from spec.language.words import narrated_to, without_bounds

N = TypeVar("N", int, str)
"""The type of a state's name: numbers in a file, strings on a server."""


class EnabledStep(NamedTuple, Generic[N]):
    """An enabled step of a state."""

    action: str
    parameters: Mapping[str, str]
    said: str
    actor: str
    receiver: str
    to: N | None
    """The name of the next state; None if the page cannot go there."""
    wrong: str
    """The value that leaves its domain, if that is the reason."""


@dataclass(frozen=True)
class ExplorerModel:
    """The subject of an exploration: a model, its states to start from, and a trace if there is one."""

    model: Model
    title: str
    sentence: str
    """The description of the trace's property, or of the system."""
    begins: tuple[Values, ...]
    """The initial states, or the first state of the trace."""
    states: tuple[Values, ...] = ()
    """The states of the trace."""
    choices: tuple[Choice, ...] = ()
    """The steps of the trace. The last may leave the domains, and then leads to no state."""
    ending: str = ""
    """The trace's sentence about its last state."""
    _beyond: Mapping[Values, frozenset[Choice]] = field(init=False, repr=False)
    """The steps of the trace by the state before them, including those beyond bounds."""

    def __post_init__(self) -> None:
        done: dict[Values, frozenset[Choice]] = {}
        for state, choice in zip(self.states, self.choices, strict=False):
            done[state] = done.get(state, frozenset()) | {choice}
        object.__setattr__(self, "_beyond", done)

    # Data common to all states.

    @cached_property
    def head(self) -> dict[str, Any]:
        """The data that the page needs before any state."""
        specification = self.model.specification
        return {
            "title": self.title,
            "sentence": self.sentence,
            "settings": {name: show(value) for name, value in specification.valuation.items()},
            "documentation": {
                **{name: doc for name, (doc, _) in specification.variables.items()},
                **{each.name: each.doc for each in self.model.actions},
            },
            "variables": list(specification.variables),
            "captions": [each._asdict() for each in captions(self.model)],
            "lanes": list(self.lanes),
            "ending": self.ending,
        }

    @property
    def lanes(self) -> tuple[str, ...]:
        """All actors and receivers, in the order of a sequence diagram."""
        lanes = [each for action in self.model.actions for each in action.every_lanes]
        return from_left_to_right(name for each in lanes for name in (each.actor or SYSTEM, each.receiver) if name)

    # Data of one state.

    def steps_of(self, state: Values) -> list[Transition]:
        """The steps of a state: those of a search, and those of the trace; EvaluationFailed if an action raised."""
        steps = self.model.expand(state).steps
        missing = self._beyond.get(state, frozenset()) - {(step.action, step.instance) for step in steps}
        if missing:
            with without_bounds():
                beyond = self.model.expand(state).steps
            steps += [step for step in beyond if (step.action, step.instance) in missing]
        return steps

    @cached_property
    def taken(self) -> list[int]:
        """The index of the trace's step among the steps of each of its states but the last; EvaluationFailed if an
        action raised.
        """
        return [
            [(step.action, step.instance) for step in self.steps_of(state)].index(choice)
            for state, choice in zip(self.states, self.choices, strict=False)
        ]

    def values_of(self, state: Values) -> dict[str, Any]:
        """The value of each variable, in the page's form."""
        spelling = self.model.spelling
        return {name: pictured(value, spelling, name) for name, value in as_variables(self.model, state).items()}

    def sentences_of(self, state: Values) -> list[str]:
        """The sentences of the views."""
        return [*sentences(self.model, state).values()]

    def drawings_of(self, state: Values) -> list[Any]:
        """The drawings, in the order of their captions."""
        return list(drawings_in(self.model, state))

    def enabled_step(self, state: Values, step: Transition, to: N | None) -> EnabledStep[N]:
        """An enabled step of this state; `to` is the name of the next state."""
        action, said = self.model.actions[step.action], list[str]()
        window = self.model.window()
        window.load(state)
        window.writable(action.name)
        with narrated_to(said.append), suppress(OutOfCell), without_bounds():
            action.instances[step.instance](window.s)
        lanes, given = action.lanes(step.instance), action.step(step.instance).parameters
        return EnabledStep(
            action=action.name,
            parameters={name: show(value, self.model.spelling) for name, value in given.items()},
            said="; ".join(said),
            actor=lanes.actor,
            receiver=lanes.receiver,
            to=to,
            wrong=step.out_of_domain,
        )


def model_of_system(specification: Specification) -> ExplorerModel:
    """All states that a search reaches from the initial ones."""
    model = Model(specification)
    return ExplorerModel(model, specification.name, _about(specification), tuple(model.first_states()))


def model_of_trace(followed: Validation) -> ExplorerModel:
    """A recorded trace that the specification has, which may exceed bounds, and the states around it."""
    replay, trace = followed.replay, followed.trace
    assert replay is not None, "the specification has the trace"
    assert trace is not None, "a replayed trace is complete"
    system = followed.recorded.system
    return ExplorerModel(
        model=replay.model,
        title=f"{system}: {trace.broken}" if trace.broken else f"{system}: a run of {trace.length} states",
        sentence=trace.sentence or _about(replay.model.specification),
        begins=tuple(replay.reached[:1]),
        states=tuple(replay.reached),
        choices=tuple(replay.choices),
        ending=trace.ending,
    )


def _about(specification: Specification) -> str:
    return (type(specification).__doc__ or "").strip().partition("\n")[0]


def pictured(value: Any, spelling: Spelling = PLAIN, variable: str = "") -> Any:
    """A value in the page's form: text, a list of cells, or the pairs of a `record` or a `mapping`.

    >>> pictured((1, frozenset({2}))), pictured({"ann": None})
    (['1', '{2}'], {'mapping': [['ann', 'none']]})
    """
    if isinstance(value, Mapping):
        return {
            "mapping": [
                [spelling.key(variable, key), pictured(part, spelling)]
                for key, part in value.items()
                if part is not LEFT_OUT
            ]
        }
    if fields := fields_of(value):
        return {"record": [[name, pictured(part, spelling)] for name, part in fields]}
    if type(value) is tuple:
        return [pictured(each, spelling) for each in value]
    return show(value, spelling)
