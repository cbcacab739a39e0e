"""How a generated class is called, and how it is made again for a printed program to run.

Hypothesis files the examples of a class without source under its name alone, so the name must tell apart the
systems, their variants and their constants, in all processes alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from hashlib import sha256
from typing import Any

from spec.language.specification import Specification
from spec.testing.walk import WalkedGraph

DIGEST = 6
"""Hexadecimal digits behind a name."""

UNNAMED = "..."
"""What stands in a recipe for a function without a name, which only its author can give."""


class Recipe:
    """How a class was made, by which call of which function, and what a program needs besides."""

    def __init__(self, maker: Callable[..., Any], graph: WalkedGraph, *others: object, **named: object):
        specification = graph.specification
        arguments = [as_code(specification), *map(name_of, others)]
        arguments += [f"{keyword}={name_of(other)}" for keyword, other in named.items()]
        arguments += [] if graph.bounds else ["bounds=False"]
        self.name = class_name(specification, f"{maker.__name__}({', '.join(arguments)})")
        needed = [type(specification), *others, *named.values(), *types_in(graph)]
        imports: dict[str, dict[str, None]] = {__package__: {maker.__name__: None}}
        for each in needed:
            if name_of(each) != UNNAMED:
                imports.setdefault(each.__module__, {})[name_of(each)] = None
        lines = [f"from {module} import {', '.join(names)}" for module, names in imports.items()]
        lines += ["", f"{self.name} = {maker.__name__}({', '.join(arguments)})"]
        self.text = "\n".join(lines)


def types_in(graph: WalkedGraph) -> list[type]:
    """The types of constants and parameters that a program must import."""
    found = [type(value) for value in graph.specification.valuation.values()]
    for action in graph.model.actions:
        found += [type(value) for domain in action.domains.values() for value in domain]
    return [
        each for each in dict.fromkeys(found) if each.__module__ != "builtins" and not issubclass(each, frozenset)
    ]


def name_of(function: object) -> str:
    """The name of a function or class, as it stands in a program."""
    name = str(getattr(function, "__name__", ""))
    return name if name.isidentifier() else UNNAMED


def class_name(specification: Specification, call: str) -> str:
    """A name that is the same in every process: the system's, and a digest of its variant and constants."""
    words = re.findall(r"[A-Za-z0-9]+", specification.name)
    system = type(specification)
    identity = f"{system.__module__}.{system.__qualname__} {steady(specification.valuation)} {call}"
    digest = sha256(identity.encode()).hexdigest()[:DIGEST]
    name = "".join(word[0].upper() + word[1:] for word in words)
    return f"{name if name[:1].isalpha() else 'System' + name}_{digest}"


def as_code(specification: Specification) -> str:
    """The expression that makes a specification: its class, and the constants that are not as by default."""
    usual = {name: constant.default for name, constant in type(specification).constants().items()}
    usual |= specification._fixed
    given = {name: value for name, value in specification.valuation.items() if value != usual[name]}
    return f"{type(specification).__name__}({', '.join(f'{name}={steady(value)}' for name, value in given.items())})"


def steady(value: Any) -> str:
    """A value's representation; sets in it stand sorted, as their order depends on the process."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{steady(key)}: {steady(part)}" for key, part in value.items()) + "}"
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(sorted(map(steady, value)))}}})" if value else "frozenset()"
    if type(value) is tuple:
        return f"({', '.join(map(steady, value))}{',' if len(value) == 1 else ''})"
    return f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else repr(value)
