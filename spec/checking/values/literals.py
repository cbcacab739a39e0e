"""Values and specifications as Python expressions, the same in every process."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from keyword import iskeyword
from typing import Any

from spec.language.errors import LONGEST_INTEGER
from spec.language.identity import is_same_value
from spec.language.sizes import frozen
from spec.language.specification import Specification


def class_name(cls: Any) -> str:
    """A class, or a function, by its name in its module: `Message.Kind`."""
    name: str = cls.__qualname__.rpartition("<locals>.")[2]
    return name


def literal(value: Any, name: Callable[[Any], str] = class_name, in_set: bool = False) -> str:
    """An expression that makes a value. Sets in it are sorted, as their order depends on the process.

    >>> literal((1, frozenset({"b", "a"}), None))
    '(1, frozenset({"a", "b"}), None)'
    >>> literal(frozenset({frozen({"a": 1})}))
    'frozenset({frozen({"a": 1})})'

    Args:
        value: a value of a state, or a constant.
        name: gives the name of a class, and of `frozen`.
        in_set: whether it is part of a set or a key, where a mapping must be frozen.
    """

    def parts(values: Iterable[Any]) -> list[str]:
        return [literal(each, name, in_set) for each in values]

    if isinstance(value, Mapping):
        items = (f"{literal(key, name, in_set=True)}: {literal(part, name, in_set)}" for key, part in value.items())
        written = "{" + ", ".join(items) + "}"
        return f"{name(frozen)}({written})" if in_set else written
    if isinstance(value, frozenset):
        members = sorted(literal(each, name, in_set=True) for each in value)
        return f"frozenset({{{', '.join(members)}}})" if value else "frozenset()"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = zip(value._fields, parts(value), strict=True)
        return f"{name(type(value))}({', '.join(f'{field}={part}' for field, part in fields)})"
    if type(value) is tuple:
        return f"({', '.join(parts(value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Enum):
        cls = name(type(value))
        if value.name in type(value).__members__:
            plain = value.name.isidentifier() and not iskeyword(value.name)
            return f"{cls}.{value.name}" if plain else f"{cls}[{literal(value.name)}]"
        return f"{cls}({literal(value.value)})"  # flags of several members, or of none
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:
        return f"{value:#x}"
    if type(value).__module__ != "builtins":
        name(type(value))  # its `repr` must be such an expression, with the class's name
    written = repr(value)
    return f'"{written[1:-1]}"' if type(value) is str and written[0] == "'" and '"' not in value else written


class Imports:
    """The imports of a program, and its names for them, which differ from the taken ones. If a name is taken already,
    its module is written too.
    """

    def __init__(self, *taken: str):
        self._module_of = dict.fromkeys(taken, "")
        self._names: dict[str, dict[str, None]] = {}
        self._modules: dict[str, None] = {}

    def name(self, cls: Any, module: str = "") -> str:
        """The program's name for a class or function, imported from now on, from its own module or this one."""
        module, name = module or cls.__module__, class_name(cls)
        if module == "builtins":
            return name
        outer = name.partition(".")[0]
        if self._module_of.setdefault(outer, module) != module:
            self._modules[module] = None
            return f"{module}.{name}"
        self._names.setdefault(module, {})[outer] = None
        return name

    @property
    def names(self) -> list[str]:
        """The imported names."""
        return [name for names in self._names.values() for name in names]

    def lines(self) -> list[str]:
        """The import statements, in the order in which modules were first needed."""
        whole = [f"import {module}" for module in self._modules]
        return whole + [f"from {module} import {', '.join(sorted(names))}" for module, names in self._names.items()]


def constructor(specification: Specification, name: Callable[[type], str] = class_name) -> str:
    """The expression that makes a specification: its class, and the constants that differ from their defaults."""
    given = (f"{each}={literal(value, name)}" for each, value in constants_given(specification).items())
    return f"{name(type(specification))}({', '.join(given)})"


def constants_given(specification: Specification) -> dict[str, Any]:
    """The constants and switches that differ from their defaults."""
    usual = {name: constant.default for name, constant in type(specification).constants().items()}
    usual |= specification._fixed
    return {name: value for name, value in specification.valuation.items() if not is_same_value(value, usual[name])}
