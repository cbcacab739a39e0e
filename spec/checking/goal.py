"""A goal: a check shows the shortest path to it. The engine looks for a property that stands for it.

A goal is a witness of the specification; a step of an action, possibly with some parameters, `elect(broker=1)`; or a
predicate on states in Python, written like the body of a `sometimes`: `s` is the state, `self` the specification with
its constants, and the names of the specification's module are available.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from spec.checking.values.expression import NotKnown, function_of
from spec.checking.values.step_patterns import matching_steps, parameters_in
from spec.language.errors import UsageError
from spec.language.rules import Instance, Property
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
    steps: tuple[tuple[int, int], ...] = ()
    """The steps meant, by the numbers of action and instance; empty for all steps of these actions."""

    @classmethod
    def of(cls, specification: Specification, written: str) -> Goal:
        """The goal for a name or a predicate: a witness first, then an action, then a predicate.

        Raises:
            UsageError: no witness or action has this name or takes such parameters, and it is not a predicate: not
                Python, or with an unknown name.
        """
        written = " ".join(map(str.strip, written.strip().splitlines()))
        if _witness(specification, written) is not None:
            return cls(written)
        action, parameters = parameters_in(written) or (written, {})
        named = frozenset(each.name for each in specification.actions if action in (each.name, each.rule))
        if not named:
            return cls(written, _predicate(specification, written))
        try:
            meant = matching_steps(specification.actions, action, parameters) if parameters else []
        except UsageError as wrong:
            raise UsageError(f"{written} cannot be shown: {wrong}") from None
        steps = tuple(
            (number, at)
            for number, each in enumerate(specification.actions)
            for at in range(len(each.instances))
            if each.step(at) in meant
        )
        return cls(written, actions=named, steps=steps)

    def property_of(self, specification: Specification) -> Property:
        """The property that is witnessed where the goal is reached."""
        if self.predicate is not None:
            return Property(
                self.written, "sometimes", "", False, (Instance({}, partial(self.predicate, specification)),)
            )
        if self.actions:
            doc = next(each.doc for each in specification.actions if each.name in self.actions)
            meant = tuple(specification.actions[number].step(at) for number, at in self.steps)
            is_taken = Instance({}, partial(_is_taken, self.actions, meant))
            return Property(self.written, "sometimes", doc, True, (is_taken,))
        found = _witness(specification, self.written)
        assert found is not None
        return found


def _witness(specification: Specification, name: str) -> Property | None:
    found = (each for each in specification.properties if each.name == name and each.kind == "sometimes")
    return next(found, None)


def _is_taken(actions: frozenset[str], steps: tuple[Step, ...], before: State, step: Step, after: State) -> bool:
    """Whether this is a step of these actions; if `steps` are given, one of those."""
    return step.action in actions and (not steps or step in steps)


def _predicate(specification: Specification, written: str) -> Callable[[Specification, State], Any]:
    """The predicate as a function.

    Raises:
        UsageError: it is not a predicate.
    """
    try:
        return function_of(specification, written)
    except NotKnown as wrong:
        raise UsageError(_unknown(specification, written, wrong.name)) from None
    except UsageError as wrong:
        raise UsageError(f"{written} cannot be shown: {wrong}") from None


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
