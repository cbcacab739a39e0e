"""The abstraction of a state graph: its edges, when only part of each state is visible.

States that look the same become one abstract state. There is an edge from one to another if a reachable step leads
from a state of the first to a state of the second. So every edge is a real step; a path along several edges need not
exist. [existential abstraction; Clarke, Grumberg, Long 1994]

In `edges`, the actions themselves record their edges whenever an engine evaluates one. An engine that remembers an
action's outcome for what the action read evaluates it once for all states that agree there. The abstraction's reads
are among them, so no edge is missed. The same holds for `quotient`, which uses a property of steps: it sees values
as states hold them. An action also sees its own assignments, such as a field that the specification leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from spec.checking.arguments import SpecificationOrClass
from spec.checking.check import silent
from spec.checking.engines import engine_class
from spec.checking.exploration import Engine, OnProgress, Options
from spec.checking.goal import Goal
from spec.checking.model import TYPE_OK, Model
from spec.language.errors import EnvironmentFailed, SpecificationError
from spec.language.instances import Instance, Instances
from spec.language.rules import Action, Property
from spec.language.specification import Specification
from spec.language.state import State
from spec.language.words import Step, narrated_to

Abstraction: TypeAlias = Callable[[State, Step], Hashable]
"""The visible part of a state, before a step and after it; None for a step to skip."""


class Edge(NamedTuple):
    """A step, as far as it is visible."""

    source: Any
    """The view before the step."""
    action: str
    parameters: tuple[tuple[str, Any], ...]
    """By name."""
    sentences: tuple[str, ...]
    """The action's narration."""
    target: Any
    """The view after the step."""


def edges(
    specification: SpecificationOrClass,
    abstraction: Abstraction,
    *,
    max_states: int | None = None,
    engine: Engine | None = None,
    on_progress: OnProgress = silent,
) -> frozenset[Edge]:
    """Explore a specification, and record every edge.

    Args:
        specification: the system, under its constants, or its class, as in `check`.
        abstraction: the visible part of a state. The rules for actions apply to it.
        max_states: stop after the level that reaches this many.
        engine: evaluates one action at a time, in this process; by default the local engine with one worker.
        on_progress: called with statistics now and then.

    Raises:
        EvaluationFailed: an action raised, or broke the rules for actions.
        SpecificationError: the specification is malformed, or a step leads outside its domains.
        EnvironmentFailed: the memory was used up.
    """
    model, found = Model(specification), set[Edge]()
    model = model.with_actions(
        replace(action, instances=action.instances.changed(partial(_noting, found, action, abstraction)))
        for action in model.actions
    )
    _explore(model, [TYPE_OK], max_states, engine or engine_class("local")(workers=1), on_progress)
    return frozenset(found)


def quotient(
    specification: SpecificationOrClass,
    abstraction: Callable[[State], Hashable],
    *,
    max_states: int | None = None,
    engine: Engine,
    on_progress: OnProgress = silent,
) -> frozenset[tuple[Any, str, Any]]:
    """Explore a specification, and record for every step the view before it, its action, and the view after it.

    Args:
        specification: the system, under its constants, or its class, as in `check`.
        abstraction: the visible part of a state. The rules for properties apply to it.
        max_states: stop after the level that reaches this many.
        engine: evaluates one property at a time, in this process.
        on_progress: called with statistics now and then.

    Raises:
        EvaluationFailed: an action or the abstraction raised, or broke the rules for such functions.
        SpecificationError: the specification is malformed, or a step leads outside its domains.
        EnvironmentFailed: the memory was used up.
    """
    found = set[tuple[Any, str, Any]]()

    def note(before: State, step: Step, after: State) -> bool:
        found.add((abstraction(before), step.action, abstraction(after)))
        return False

    noted = _StepRecorder("the view of each step", note=note)
    _explore(Model(specification, noted), [TYPE_OK, noted.written], max_states, engine, on_progress)
    return frozenset(found)


@dataclass(frozen=True)
class _StepRecorder(Goal):
    """A goal that is never reached, but sees each step."""

    note: Callable[[State, Step, State], bool] = lambda before, step, after: False

    def property_of(self, specification: Specification) -> Property:
        """A property that records each step."""
        return Property(self.written, "sometimes", "", True, Instances({}, self.note))


def _explore(
    model: Model, looking_for: list[str], max_states: int | None, engine: Engine, on_progress: OnProgress
) -> None:
    options = Options(model.numbers(looking_for), max_states=max_states)
    match engine.explore(model, options, on_progress).ended:
        case "interrupted":
            raise KeyboardInterrupt
        case "memory":
            raise EnvironmentFailed(f"{model.specification.name}: the memory was used up", "nothing was kept")
        case "found":
            raise SpecificationError(f"{model.specification.name}: a step leads outside its domains; check it")


def _noting(found: set[Edge], action: Action, abstraction: Abstraction, instance: Instance) -> Instance:
    """The instance of an action, which then also records its edges."""
    step = Step(action.name, instance.parameters)

    def run(s: State, **parameters: Any) -> Any:
        source = abstraction(s, step)
        if source is None:
            return instance(s)
        said: list[str] = []
        with narrated_to(said.append):
            returned = instance(s)
        found.add(Edge(source, step.action, tuple(parameters.items()), tuple(said), abstraction(s, step)))
        return returned

    return Instance(instance.parameters, run)
