"""A goal: a check shows the shortest path to it. The engine looks for a property that stands for it.

A goal is a witness of the specification; a step of an action, possibly with some parameters, `elect(broker=1)`; or a
predicate on states in Python, written like the body of a `sometimes`: `s` is the state, `self` the specification with
its constants, and the names of the specification's module are available.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from spec.checking.values.expression import NotKnown, function_of
from spec.checking.values.step_patterns import action_meant, matching_steps, parameters_in
from spec.language.errors import UsageError, one_meant
from spec.language.instances import Instances
from spec.language.rules import Property
from spec.language.specification import Specification
from spec.language.state import State
from spec.language.words import Step


@dataclass(frozen=True)
class Goal:
    """A witness by its name, steps of some actions, or a predicate with its function.

    It belongs to no instance of a specification, so it can be sent to another process with one.
    """

    written: str
    """As the user wrote it; the name of the property."""
    predicate: Callable[[Specification, State], Any] | None = None
    actions: frozenset[str] = frozenset()
    """Their names."""
    codes: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    """By action and parameter, the numbers of the values meant; a parameter that is not there may have any value."""

    @classmethod
    def of(cls, specification: Specification, written: str) -> Goal:
        """The goal for a name or a predicate: a witness first, then an action, then a predicate; UsageError if no
        witness or action has this name or takes such parameters, and it is not a predicate: not Python, or with an
        unknown name.
        """
        written = " ".join(map(str.strip, written.strip().splitlines()))
        if witness := one_meant(written, _witnesses(specification)):
            return cls(witness)
        action, parameters = parameters_in(written) or (written, {})
        action = action_meant(action, specification.actions)
        named = frozenset(each.name for each in specification.actions if action in (each.name, each.rule))
        if not named:
            try:
                return cls(written, function_of(specification, written))
            except NotKnown as wrong:
                raise UsageError(_unknown(specification, written, wrong.name)) from None
            except UsageError as wrong:
                raise UsageError(f"{written} cannot be shown: {wrong}") from None
        if not parameters:
            return cls(written, actions=named)
        try:
            meant = matching_steps(specification.actions, action, parameters)
        except UsageError as wrong:
            raise UsageError(f"{written} cannot be shown: {wrong}") from None
        codes = {
            each.action.name: {
                name: tuple(map(each.action.domains[name].rank, values)) for name, values in each.values.items()
            }
            for each in meant
        }
        return cls(written, actions=frozenset(codes), codes=codes)

    def property_of(self, specification: Specification) -> Property:
        """The property that is witnessed where the goal is reached."""
        if self.predicate is not None:
            return Property(
                self.written, "sometimes", "", False, Instances({}, partial(self.predicate, specification))
            )
        if self.actions:
            doc = next(each.doc for each in specification.actions if each.name in self.actions)
            meant = {
                each.name: {
                    name: tuple(map(each.domains[name].unrank, codes))
                    for name, codes in self.codes.get(each.name, {}).items()
                }
                for each in specification.actions
                if each.name in self.actions
            }
            return Property(self.written, "sometimes", doc, True, Instances({}, partial(_is_taken, meant)))
        return _witnesses(specification)[self.written]


def _witnesses(specification: Specification) -> dict[str, Property]:
    return {each.name: each for each in specification.properties if each.kind == "sometimes"}


def _is_taken(values: Mapping[str, Mapping[str, tuple[Any, ...]]], before: State, step: Step, after: State) -> bool:
    """Whether this is a step of one of these actions, whose parameters have one of these values."""
    return step.action in values and all(
        step.parameters[name] in those for name, those in values[step.action].items()
    )


def _unknown(specification: Specification, written: str, name: str) -> str:
    """The message for a predicate with an unknown name."""
    kinds = {each.name: each.kind.replace("_", " ") for each in specification.properties}
    if written in kinds:
        article = "an" if kinds[written][0] in "aeiou" else "a"
        return f"{written} cannot be shown: it is {article} {kinds[written]}, and a check shows how it breaks"
    if not written.replace(".", "").isidentifier():
        return f"{written} cannot be shown: {name} is not known; s is the state, self the specification"
    witnesses = ", ".join(each.name for each in specification.properties if each.kind == "sometimes") or "none"
    actions = ", ".join(each.name for each in specification.actions)
    return (
        f"{written} cannot be shown: {specification.name} has the witnesses {witnesses}, and the actions {actions}; "
        "or write a predicate on its state s"
    )
