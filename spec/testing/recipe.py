"""How a generated class is called, and how it is made again by the printed program.

Hypothesis files the examples of a class without source under its name alone, so the name must tell apart the
systems, their variants and their constants, in all processes alike.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from spec.checking.literals import classes_in, constructor, literal
from spec.language.specification import Specification
from spec.testing.steps import free_names
from spec.testing.walk import WalkedGraph

DIGEST = 6
"""Hexadecimal digits behind a name."""

WIDTH = 118
"""Characters on a line of the program."""

UNNAMED = "..."
"""What stands in a recipe for a function without a name, which only its author can give."""


class Recipe:
    """How a class was made, by which call of which function, and what a program needs besides."""

    def __init__(self, maker: Callable[..., Any], graph: WalkedGraph, *others: object, **named: object):
        specification = graph.specification
        arguments = [constructor(specification), *map(name_of, others)]
        arguments += [f"{keyword}={name_of(other)}" for keyword, other in named.items()]
        arguments += [] if graph.bounds else ["bounds=False"]
        self.name = class_name(specification, f"{maker.__name__}({', '.join(arguments)})")
        needed = [type(specification), *others, *named.values(), *classes_of(graph)]
        imports: dict[str, dict[str, None]] = {__package__: {maker.__name__: None}}
        for each in needed:
            if name_of(each) != UNNAMED:
                imports.setdefault(each.__module__, {})[name_of(each)] = None
        taken = {self.name, "state", *(name for names in imports.values() for name in names)}
        initial = () if graph.sole_initial_step else graph.beginnings
        self.names = free_names([*initial, *(action.name for action in graph.model.actions)], taken)
        """For each action, and each `initial` if the first step chooses, the name of its function in the program."""
        lines = [f"from {module} import {', '.join(names)}" for module, names in imports.items()]
        lines += ["", f"{self.name} = {maker.__name__}({', '.join(arguments)})"]
        lines += unpacked(tuple(self.names.values()), f"{self.name}.actions")
        self.text = "\n".join(lines)


def unpacked(names: Sequence[str], value: str) -> list[str]:
    """The lines that give these names to the values of a tuple.

    >>> unpacked(["press"], "Counter.actions")
    ['(press,) = Counter.actions']
    """
    target = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
    if len(target) + len(value) + 3 <= WIDTH:
        return [f"{target} = {value}"] if names else []
    return ["(", *textwrap.wrap(f"{target},", WIDTH, initial_indent="    ", subsequent_indent="    "), f") = {value}"]


def classes_of(graph: WalkedGraph) -> list[type]:
    """The classes of constants and parameters that a program must import."""
    values = [*graph.specification.valuation.values()]
    values += [value for action in graph.model.actions for domain in action.domains.values() for value in domain]
    return list(dict.fromkeys(cls for each in values for cls in classes_in(each)))


def name_of(function: object) -> str:
    """The name of a function or class, as it stands in a program."""
    name = str(getattr(function, "__name__", ""))
    return name if name.isidentifier() else UNNAMED


def class_name(specification: Specification, call: str) -> str:
    """A name that is the same in every process: the system's, and a digest of its variant and constants."""
    words = re.findall(r"[A-Za-z0-9]+", specification.name)
    system = type(specification)
    identity = f"{system.__module__}.{system.__qualname__} {literal(specification.valuation)} {call}"
    digest = sha256(identity.encode()).hexdigest()[:DIGEST]
    name = "".join(word[0].upper() + word[1:] for word in words)
    return f"{name if name[:1].isalpha() else 'System' + name}_{digest}"
