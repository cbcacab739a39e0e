"""Printed programs: the steps in them, the name of a generated class, and the code that makes it again.

A step is written as a call, `press(by=2)`, where `press` is a function of the machine's `actions`. Hypothesis stores
the examples of a class without source under its name alone. So the name must differ for different systems, variants
and constants, and be the same in all processes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from keyword import iskeyword
from typing import Any, NamedTuple

from spec.checking.values.literals import Imports, class_name, constructor, literal
from spec.language.specification import Specification
from spec.language.words import Step
from spec.testing.walk import WalkedGraph

# Steps.


class CalledStep(NamedTuple):
    """A step, and the name of the function that makes it."""

    name: str
    step: Step
    class_name: Callable[[type], str] = class_name
    """The name of a class in the program."""

    def __repr__(self) -> str:
        arguments = (f"{key}={literal(value, self.class_name)}" for key, value in self.step.parameters.items())
        return f"{self.name}({', '.join(arguments)})"


ActionFunction = Callable[..., CalledStep]
"""A function that makes the step of an action or an `initial` from its parameters."""


def action_function(
    name: str, action: str, doc: str, class_name: Callable[[type], str] = class_name
) -> ActionFunction:
    """The function of an action, with its description.

    >>> action_function("press", "press", "Press the button.")(by=2)
    press(by=2)
    """

    def step_of(**parameters: object) -> CalledStep:
        return CalledStep(name, Step(action, parameters), class_name)

    step_of.__name__ = step_of.__qualname__ = name
    step_of.__doc__ = doc
    return step_of


def free_names(actions: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """A name in a program for each action: its own if that is free, otherwise with underscores appended.

    >>> free_names(["zk.expire", "zk_expire", "state"], ["state"])
    {'zk.expire': 'zk_expire', 'zk_expire': 'zk_expire_', 'state': 'state_'}
    """
    names: dict[str, str] = {}
    used = set(taken)
    for action in actions:
        name = action.replace(".", "_")
        while name in used or iskeyword(name):
            name += "_"
        used.add(name)
        names[action] = name
    return names


# Classes.


DIGEST = 6
"""Hexadecimal digits after a name."""

WIDTH = 118
"""The most characters on a line of the program."""

UNNAMED = "..."
"""The placeholder in a recipe for a function without a name, which its author must fill in."""


class Recipe:
    """How a class was made: the call of the function that makes it, and the imports of a program with it."""

    def __init__(self, maker: Callable[..., Any], graph: WalkedGraph, *others: object, **named: object):
        specification = graph.specification
        call = _call(maker, graph, others, named, class_name)
        self.name = machine_name(specification, call)
        imports = Imports(self.name, "state")
        imports.name(maker, __package__)
        call = _call(maker, graph, others, named, imports.name)
        self._graph = graph
        self._import_parameters(imports)
        taken = {self.name, "state", *imports.names}
        initial = () if graph.sole_initial_step else graph.beginnings
        self.names = free_names([*initial, *(action.name for action in graph.model.actions)], taken)
        """The name in the program of the function of each action, and of each `initial` if the first step chooses."""
        self.class_name = imports.name
        """The name of a class in the program."""
        lines = [*imports.lines(), "", f"{self.name} = {call}"]
        lines += unpacked(tuple(self.names.values()), f"{self.name}.actions")
        self.text = "\n".join(lines)

    def imports_with(self, subclass: type) -> list[str]:
        """The imports of a program that uses a subclass in place of the class."""
        imports = Imports("state")
        imports.name(subclass)
        self._import_parameters(imports)
        return imports.lines()

    def _import_parameters(self, imports: Imports) -> None:
        """Import the classes and functions that the parameters of steps are written with."""
        for action in self._graph.model.actions:
            for domain in action.domains.values():
                for value in domain:
                    literal(value, imports.name)


def _call(
    maker: Callable[..., Any],
    graph: WalkedGraph,
    others: Iterable[object],
    named: Mapping[str, object],
    name: Callable[[Any], str],
) -> str:
    """The call that makes the class, with these names for classes and functions."""

    def called(other: object) -> str:
        return name(other) if name_of(other) != UNNAMED else UNNAMED

    arguments = [constructor(graph.specification, name), *map(called, others)]
    arguments += [f"{keyword}={called(other)}" for keyword, other in named.items()]
    arguments += [] if graph.bounds else ["bounds=False"]
    return f"{maker.__name__}({', '.join(arguments)})"


def unpacked(names: Sequence[str], value: str) -> list[str]:
    """The lines that assign the values of a tuple to these names.

    >>> unpacked(["press"], "Counter.actions")
    ['(press,) = Counter.actions']
    """
    target = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
    if len(target) + len(value) + 3 <= WIDTH:
        return [f"{target} = {value}"] if names else []
    return ["(", *textwrap.wrap(f"{target},", WIDTH, initial_indent="    ", subsequent_indent="    "), f") = {value}"]


def name_of(function: object) -> str:
    """The name of a function or class, as written in a program."""
    name = str(getattr(function, "__name__", ""))
    return name if name.isidentifier() else UNNAMED


def machine_name(specification: Specification, call: str) -> str:
    """A name that is the same in every process: the system's, and a digest of its variant and constants."""
    words = re.findall(r"[A-Za-z0-9]+", specification.name)
    system = type(specification)
    identity = f"{system.__module__}.{system.__qualname__} {literal(specification.valuation)} {call}"
    digest = sha256(identity.encode()).hexdigest()[:DIGEST]
    name = "".join(word[0].upper() + word[1:] for word in words)
    return f"{name if name[:1].isalpha() else 'System' + name}_{digest}"
