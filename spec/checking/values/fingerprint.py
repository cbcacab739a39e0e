"""The fingerprint of a value: text that is the same in every process, to see whether the value has changed.

Different values have different texts, and so do parts and types: `True`, `1` and `1.0` are three values. The elements
of a set are sorted by their texts, so neither hash seed nor address matters. Long texts are replaced by a digest.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from enum import Enum, EnumMeta
from functools import cached_property, partial
from inspect import getattr_static
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, Final

from spec.language.errors import represented

LONGEST: Final = 80
"""The most letters of a text that is not replaced by a digest."""
_WRITTEN: Final = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented), range)
"""Types whose values Python's `repr` identifies."""


class NoFingerprint(Exception):
    """A value that another process cannot compare: an open file, a generator, a lock."""


def fingerprint(value: Any) -> str:
    """A text that no other value has.

    Raises:
        NoFingerprint: a part of it has none; the message names the part.
    >>> fingerprint([1, True, {"b", "a"}])
    "list(1, True, set('a', 'b'))"
    """
    return Fingerprints().of(value)


class Fingerprints:
    """The fingerprints of several values, whose parts they may share; see `fingerprint`."""

    def __init__(self) -> None:
        self.within: dict[int, int] = {}
        """By identity, the depth of each value that is being written."""
        self.known: dict[int, tuple[Any, str]] = {}
        """By identity, values with their texts; the values are held, or another might get the address."""
        self.outermost = 0
        """The least depth of a value to which a written part refers back."""

    def of(self, value: Any) -> str:
        """The fingerprint of one value."""
        if type(value) in _WRITTEN:
            return _short(represented(value))
        at = id(value)
        if at in self.known:
            return self.known[at][1]
        if at in self.within:
            self.outermost = min(self.outermost, self.within[at])
            return f"<{len(self.within) - self.within[at]} above>"
        depth = self.within[at] = len(self.within)
        outer, self.outermost = self.outermost, depth
        try:
            text = _short(self._composed(value))
        except RecursionError:
            raise NoFingerprint("a value nested too deep") from None
        finally:
            del self.within[at]
        if self.outermost >= depth:
            self.known[at] = value, text
        self.outermost = min(outer, self.outermost)
        return text

    def _composed(self, value: Any) -> str:
        match value:
            case ModuleType():
                return f"module {value.__name__}"
            case EnumMeta():
                return f"{_name(value)}{self._all(value)}"
            case type():
                return f"{_name(value)}{self._all([getattr(value, '_field_defaults', None)])}"
            case Enum():
                return f"{_name(type(value))}.{value.name}{self._all([value.value])}"
            case CodeType():
                return f"code{self._all([value.co_code, value.co_names, value.co_consts])}"
            case CellType():
                return f"cell{self._all([value.cell_contents] if _is_filled(value) else [])}"
            case FunctionType():
                held = value.__code__, value.__closure__, value.__defaults__, value.__kwdefaults__
                return f"{_name(value)}{self._all(held)}"
            case MethodType() | BuiltinFunctionType():
                return f"{_name(value)}{self._all([value.__self__])}"
            case partial():
                return f"partial{self._all([value.func, value.args, value.keywords])}"
        if type(value) in (tuple, list):
            return f"{type(value).__name__}{self._all(value)}"
        if type(value) in (set, frozenset):
            return f"{type(value).__name__}({', '.join(sorted(map(self.of, value)))})"
        if type(value) in (dict, MappingProxyType):
            items = ", ".join(f"{self.of(key)}: {self.of(each)}" for key, each in value.items())
            return f"{type(value).__name__}({items})"
        return self._object(value)

    def _object(self, value: Any) -> str:
        """Any other object, by the data from which it would be copied, without computed attributes."""
        if isinstance(value, os._Environ):
            raise NoFingerprint("the environment")
        try:
            reduced = value.__reduce_ex__(2)
        except Exception:
            raise NoFingerprint(_name(type(value))) from None
        if isinstance(reduced, str):
            return f"{getattr(value, '__module__', '')}.{reduced}"
        made, given, state, elements, items = (*reduced, None, None, None)[:5]
        if isinstance(state, Mapping):
            state = {name: each for name, each in state.items() if not _is_computed(type(value), name)}
        if isinstance(value, set | frozenset):
            given = frozenset(value)
        return f"{_name(type(value))}{self._all([made, given, state, list(elements or ()), list(items or ())])}"

    def _all(self, values: Iterable[Any]) -> str:
        return f"({', '.join(map(self.of, values))})"


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _name(what: Any) -> str:
    return f"{getattr(what, '__module__', None) or 'builtins'}.{getattr(what, '__qualname__', type(what).__name__)}"


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _is_computed(cls: type, name: object) -> bool:
    return isinstance(name, str) and isinstance(getattr_static(cls, name, None), cached_property)
