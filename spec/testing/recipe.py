"""How a generated class is called, and how it is made again by the printed program.

Hypothesis files the examples of a class without source under its name alone, so the name must tell apart the
systems, their variants and their constants, in all processes alike.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from spec.checking.values.literals import Imports, class_name, constructor, literal
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
        """For each action, and each `initial` if the first step chooses, the name of its function in the program."""
        self.class_name = imports.name
        """How the program calls a class."""
        lines = [*imports.lines(), "", f"{self.name} = {call}"]
        lines += unpacked(tuple(self.names.values()), f"{self.name}.actions")
        self.text = "\n".join(lines)

    def imports_with(self, subclass: type) -> list[str]:
        """What a program imports that has a subclass in place of the class."""
        imports = Imports("state")
        imports.name(subclass)
        self._import_parameters(imports)
        return imports.lines()

    def _import_parameters(self, imports: Imports) -> None:
        """Import what the values are made of that steps may have."""
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
    """The call that makes the class, in which classes and functions are called so."""

    def called(other: object) -> str:
        return name(other) if name_of(other) != UNNAMED else UNNAMED

    arguments = [constructor(graph.specification, name), *map(called, others)]
    arguments += [f"{keyword}={called(other)}" for keyword, other in named.items()]
    arguments += [] if graph.bounds else ["bounds=False"]
    return f"{maker.__name__}({', '.join(arguments)})"


def unpacked(names: Sequence[str], value: str) -> list[str]:
    """The lines that give these names to the values of a tuple.

    >>> unpacked(["press"], "Counter.actions")
    ['(press,) = Counter.actions']
    """
    target = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
    if len(target) + len(value) + 3 <= WIDTH:
        return [f"{target} = {value}"] if names else []
    return ["(", *textwrap.wrap(f"{target},", WIDTH, initial_indent="    ", subsequent_indent="    "), f") = {value}"]


def name_of(function: object) -> str:
    """The name of a function or class, as it stands in a program."""
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
