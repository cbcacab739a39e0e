"""Constants as text: for `--set NAME=VALUE`, and in saved traces.

A boolean is `true` or `false`, a string has no quotes, a member of an enumeration is its name, one of several forms
is its printed form. Everything else is as in Python: `None`, `b"x"`, `("x", 2)`, `{1, 2}`, `frozenset({1})`. Sets
are frozen, as constants require. Nothing is run.
"""

from __future__ import annotations

import ast
from enum import Enum
from typing import Any, Final

from spec.checking.values.literals import literal
from spec.language.errors import UsageError, safe_repr
from spec.language.identity import is_same_value
from spec.language.specification import Specification
from spec.language.words import Constant

KEPT: Final = "a boolean, a number, a text, bytes, None, or a tuple or set of these, or a member of its enumeration"
"""The constants that a trace can keep, in words for a message."""


def read(constant: Constant, text: str) -> Any:
    """The value that a text means; the text itself if it does not mean a value of the constant's type."""
    for form in constant.allowed_values or ():
        if _plainly(form) == text:
            return form
    if constant.type is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if constant.type is str:
        return text
    if issubclass(constant.type, Enum):
        return constant.type.__members__.get(text, text)
    try:
        value = _value(ast.parse(text.lstrip(" \t"), mode="eval").body)
        return frozenset(value) if constant.type is frozenset and isinstance(value, list | tuple) else value
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # the last three: {[]}, or too deep
        return text


def written(constant: Constant, value: object) -> str | None:
    """The text for which `read` returns exactly this value; None if there is none."""
    try:
        text = _plainly(value)
        again = read(constant, text)
        return text if type(again) is type(value) and literal(again) == literal(value) else None
    except ValueError:  # an integer with more digits than Python writes
        return None


def settings_of(specification: Specification) -> dict[str, str]:
    """Every constant and switch as text, by name. One that cannot be written is left out if it has its default.
    UsageError if one that cannot be written differs from its default.
    """
    usual = {name: constant.default for name, constant in specification.constants().items()}
    for newest in [*specification.releases.values()][-1:]:
        usual |= newest
    settings = {}
    for name, constant in specification.constants().items():
        value = specification.valuation[name]
        text = written(constant, value)
        if text is not None:
            settings[name] = text
        elif not is_same_value(value, usual[name]):
            raise UsageError(
                f"{name} = {safe_repr(value)}: no trace can be kept, because it cannot be written as {KEPT}"
            )
    return settings


def _plainly(value: object) -> str:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else literal(value)


def _value(written: ast.expr) -> Any:
    """The value of an expression that is not run, with frozen sets; ValueError if it is not a literal."""
    match written:
        case ast.Tuple(elts=parts):
            return tuple(map(_value, parts))
        case ast.List(elts=parts):
            return list(map(_value, parts))
        case ast.Set(elts=parts):
            return frozenset(map(_value, parts))
        case ast.Call(func=ast.Name(id="frozenset" | "set"), args=parts, keywords=[]) if len(parts) <= 1:
            return frozenset(*map(_value, parts))
    return ast.literal_eval(written)
