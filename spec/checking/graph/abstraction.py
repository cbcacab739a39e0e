"""The abstraction of a state graph: what leads to what, where only some of each state is seen.

States in which the same is seen become one abstract state. There is an edge from one to another if a step that can be
reached leads from a state of the first to a state of the second. So every edge is a step that there is; a path along
several of them need not be. [existential abstraction; Clarke, Grumberg, Long 1994]

`edges` has the actions themselves note them, whenever an engine evaluates one. An engine that remembers what comes of
what an action has read evaluates it once for all states that agree in that; what is seen is among what is read, so it
misses none. So does `quotient`, by a property of steps: it sees values as states have them, where an action sees
what it has assigned, such as a field that the specification leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from spec.checking.arguments import SpecificationOrClass
from spec.checking.check import silent
from spec.checking.engines import engine_class
from spec.checking.exploration import Engine, OnProgress, Options
from spec.checking.goal import Goal
from spec.checking.model import TYPE_OK, Model
from spec.language.errors import EnvironmentFailed, SpecificationError
from spec.language.rules import Instance, Property
from spec.language.specification import Specification
from spec.language.state import State
from spec.language.words import Step, narrated_to

Abstraction: TypeAlias = Callable[[State, Step], Hashable]
"""What is seen of a state, before a step and after it; None of a step that is passed over."""


class Edge(NamedTuple):
    """A step, as far as it is seen."""

    source: Any
    """What was seen before."""
    action: str
    parameters: tuple[tuple[str, Any], ...]
    """By name."""
    sentences: tuple[str, ...]
    """What the action said."""
    target: Any
    """What was seen afterwards."""


def edges(
    specification: SpecificationOrClass,
    abstraction: Abstraction,
    *,
    max_states: int | None = None,
    engine: Engine | None = None,
    on_progress: OnProgress = silent,
) -> frozenset[Edge]:
    """Explore a specification, and note every edge.

    Args:
        specification: the system, under its constants, or its class, as in `check`.
        abstraction: what is seen of a state. It is held to what an action is held to.
        max_states: stop after the level with which so many are reached.
        engine: one that evaluates an action at a time, in this process; by default the local engine with one worker.
        on_progress: told now and then how far it is.

    Raises:
        EvaluationFailed: an action raised, or did what it must not.
        SpecificationError: the specification is not well made, or a step leads outside its domains.
        EnvironmentFailed: the memory was reached.
    """
    model, found = Model(specification), set[Edge]()
    model = model.with_actions(
        replace(
            action,
            instances=tuple(
                _noting(found, action.step(number), instance, abstraction)
                for number, instance in enumerate(action.instances)
            ),
        )
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
    """Explore a specification, and note for every step what is seen before it, its action, and what is seen after it.

    Args:
        specification: the system, under its constants, or its class, as in `check`.
        abstraction: what is seen of a state. It is held to what a property is held to.
        max_states: stop after the level with which so many are reached.
        engine: one that evaluates a property at a time, in this process.
        on_progress: told now and then how far it is.

    Raises:
        EvaluationFailed: an action or the abstraction raised, or did what it must not.
        SpecificationError: the specification is not well made, or a step leads outside its domains.
        EnvironmentFailed: the memory was reached.
    """
    found = set[tuple[Any, str, Any]]()

    def note(before: State, step: Step, after: State) -> bool:
        found.add((abstraction(before), step.action, abstraction(after)))
        return False

    noted = _StepRecorder("what is seen of each step", note=note)
    _explore(Model(specification, noted), [TYPE_OK, noted.written], max_states, engine, on_progress)
    return frozenset(found)


@dataclass(frozen=True)
class _StepRecorder(Goal):
    """A goal that is never reached: it is told of each step."""

    note: Callable[[State, Step, State], bool] = lambda before, step, after: False

    def property_of(self, specification: Specification) -> Property:
        """One that takes note."""
        return Property(self.written, "sometimes", "", True, (Instance({}, self.note),))


def _explore(
    model: Model, looking_for: list[str], max_states: int | None, engine: Engine, on_progress: OnProgress
) -> None:
    options = Options(model.numbers(looking_for), max_states=max_states)
    match engine.explore(model, options, on_progress).ended:
        case "interrupted":
            raise KeyboardInterrupt
        case "memory":
            raise EnvironmentFailed(f"{model.specification.name}: the memory was reached", "nothing was kept")
        case "found":
            raise SpecificationError(f"{model.specification.name}: a step leads outside its domains; check it")


def _noting(found: set[Edge], step: Step, instance: Instance, abstraction: Abstraction) -> Instance:
    """The instance of an action that takes this step, if it notes each edge that it is."""

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
