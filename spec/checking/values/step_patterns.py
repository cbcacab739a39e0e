"""Steps in a person's notation, an action and some of its parameters; and several steps written as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, product
from math import prod
from typing import Any

from spec.checking.values.literals import literal
from spec.checking.values.text import show
from spec.language.domains import Domain
from spec.language.errors import SpecificationError, UsageError, one_meant, printed, represented, safe_repr
from spec.language.rules import Action
from spec.language.words import Step

_TEXT = re.compile(r"""(?<![\w])("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_CALL = re.compile(r"(?P<action>[\w.]+)\s*\((?P<inside>.*)\)", re.DOTALL)


@dataclass(frozen=True)
class StepPattern:
    """Steps of an action, of which some parameters have one of a few values."""

    action: Action
    values: Mapping[str, Sequence[Any]]
    """By parameter."""

    def has(self, step: Step) -> bool:
        """Whether it is one of these steps."""
        return step.action == self.action.name and all(
            step.parameters[name] in values for name, values in self.values.items()
        )

    @property
    def size(self) -> int:
        """How many there are."""
        domains = self.action.domains.items()
        return prod(len(self.values[name]) if name in self.values else domain.size for name, domain in domains)

    def steps(self) -> Iterator[Step]:
        """Each of them, in the order of the action's instances."""
        choices = product(*(self.values.get(name, domain) for name, domain in self.action.domains.items()))
        return (Step(self.action.name, dict(zip(self.action.domains, values, strict=True))) for values in choices)


def action_meant(written: str, actions: Iterable[Action]) -> str:
    """The name of an action or of a rule, in any case; a text that names none is returned as it is."""
    return (
        one_meant(written, dict.fromkeys(chain.from_iterable((each.name, each.rule) for each in actions))) or written
    )


def matching_steps(actions: Iterable[Action], name: str | None, parameters: Mapping[str, str]) -> list[StepPattern]:
    """The steps of the action or rule of this name, by default of every action, that have these parameters, as a
    pattern for each action. Values are written as in a trace, or as in Python; parameters that are not given may have
    any value. UsageError if there are none, or a parameter has too many values to look for one of them.
    """
    known = list(actions)
    name = name and action_meant(name, known)
    meant = [each for each in known if name in (None, each.name, each.rule) and each.instances]
    if not any(name in (None, each.name, each.rule) for each in known):
        raise UsageError(f"there is no action {name}; there are {', '.join(each.name for each in known)}")
    values: dict[str, dict[str, Sequence[Any]]] = {each.name: {} for each in meant}
    for parameter, written in parameters.items():
        meant = [each for each in meant if parameter in each.domains]
        if not meant:
            lacking = f"{name} has no parameter" if name else "no action has a parameter"
            raise UsageError(f"{lacking} {parameter}")
        domains = {each.name: each.domains[parameter] for each in meant}
        found = _written(parameter, written, domains)
        meant = [each for each in meant if found[each.name]]
        for each in meant:
            values[each.name][parameter] = found[each.name]
    return [StepPattern(each, values[each.name]) for each in meant]


def _written(parameter: str, written: str, domains: Mapping[str, Domain[Any]]) -> dict[str, Sequence[Any]]:
    """By action, the values of its parameter that may be written like this; at least one action has some."""
    try:
        listed = {action: [*domain] for action, domain in domains.items()}
    except SpecificationError as wrong:
        raise UsageError(f"{parameter}={written}: {wrong}") from None
    for reads in (lambda value: written in _forms(value), lambda value: written == printed(value)):
        found: dict[str, Sequence[Any]] = {action: [*filter(reads, values)] for action, values in listed.items()}
        if any(found.values()):
            return found
    allowed = ", ".join(dict.fromkeys(show(value) for values in listed.values() for value in values))
    raise UsageError(f"{parameter}={written}: {parameter} is one of {allowed}")


def _forms(value: Any) -> tuple[str, ...]:
    """The forms in which a value may be written."""
    member = (f"{type(value).__name__}.{value.name}",) if isinstance(value, Enum) else ()
    return show(value), show(value, inside=True), literal(value), safe_repr(value), *member


def parameters_in(written: str) -> tuple[str, dict[str, str]] | None:
    """The action and parameters in a text such as `elect(broker=1)`; None for a text of another form.

    >>> parameters_in("reassign(target=(1, 2), by=ann)")
    ('reassign', {'target': '(1, 2)', 'by': 'ann'})
    """
    call = _CALL.fullmatch(written)
    if call is None:
        return None
    parts = [each.partition("=") for each in _parted(call["inside"])]
    if not all(sign and name.strip().isidentifier() for name, sign, _ in parts):
        return None
    return call["action"], {name.strip(): value.strip() for name, _, value in parts}


def _parted(inside: str) -> Iterator[str]:
    """The parts between the commas that are outside brackets."""
    depth = begin = 0
    for at, letter in enumerate(_TEXT.sub(lambda text: " " * len(text[0]), inside)):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            yield inside[begin:at]
            begin = at + 1
    if inside[begin:].strip():
        yield inside[begin:]


def step_list(steps: Sequence[Step]) -> str:
    """Several steps of an action in one, if they are all combinations of their parameters' values.

    >>> step_list([Step("elect", {"broker": 0}), Step("elect", {"broker": 2})])
    'elect(broker=0 or 2)'
    >>> step_list([Step("tell", {"a": 0, "b": 1}), Step("tell", {"a": 1, "b": 0})])
    'tell(a=0, b=1), tell(a=1, b=0)'
    """
    names = steps[0].parameters
    values = {name: list(dict.fromkeys(represented(step.parameters[name]) for step in steps)) for name in names}
    if prod(map(len, values.values())) != len(steps):
        return ", ".join(map(str, steps))
    any_of = (f"{name}={' or '.join(each)}" for name, each in values.items())
    return f"{steps[0].action}({', '.join(any_of)})"
