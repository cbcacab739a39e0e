"""Values and specifications as the Python that makes them, the same in every process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from spec.language.specification import Specification

__all__ = ["classes_in", "constructor", "literal"]


def literal(value: Any) -> str:
    """An expression that makes a value. Sets in it stand sorted, as their order depends on the process.

    >>> literal((1, frozenset({"b", "a"}), None))
    '(1, frozenset({"a", "b"}), None)'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(part)}" for key, part in value.items()) + "}"
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(sorted(map(literal, value)))}}})" if value else "frozenset()"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = zip(value._fields, value, strict=True)
        return f"{type(value).__name__}({', '.join(f'{name}={literal(part)}' for name, part in fields)})"
    if type(value) is tuple:
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    written = repr(value)
    return f'"{written[1:-1]}"' if type(value) is str and written[0] == "'" and '"' not in value else written


def classes_in(value: Any) -> Iterator[type]:
    """The classes that a literal names, which a program must import."""
    if isinstance(value, Mapping):
        yield from (cls for pair in value.items() for each in pair for cls in classes_in(each))
        return
    if isinstance(value, tuple | frozenset):
        yield from (cls for each in value for cls in classes_in(each))
    if not isinstance(value, frozenset) and type(value).__module__ != "builtins":
        yield type(value)


def constructor(specification: Specification) -> str:
    """The expression that makes a specification: its class, and the constants that are not as by default."""
    given = constants_given(specification)
    return f"{type(specification).__name__}({', '.join(f'{name}={literal(value)}' for name, value in given.items())})"


def constants_given(specification: Specification) -> dict[str, Any]:
    """The constants and switches that are not as by default."""
    usual = {name: constant.default for name, constant in type(specification).constants().items()}
    usual |= specification._fixed
    return {name: value for name, value in specification.valuation.items() if value != usual[name]}
