"""Transparency: which actions and properties may run on lazy values; all others get plain ones.

A lazy value is told apart from the plain one that it stands for in two ways only. Code asks for its exact type or its
identity; or an operation refuses it, with one of Python's own exceptions, and code hides this exception or makes
another one of it. (An exception that nobody hides ends the evaluation, which is then repeated on plain values.)

So a rule is *transparent* if all code that it may run is known to do neither. Its author's functions consist of
Python's instructions, which either read a lazy value, or carry it along, or refuse it; but a few of them are not
allowed (`_Code`). Other functions are allowed if they are listed here. Everything else makes a rule *opaque*: it gets
plain values from the start, so every variable that it looks at counts as read in full.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import heapq
import itertools
import logging
import math
import operator
import re
import types
import warnings
from collections.abc import Iterable, Iterator
from dis import Instruction, get_instructions
from enum import Enum
from functools import cached_property, partial
from opcode import opmap
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import transitions

from spec.checking.code.libraries import line, line_of, with_parts
from spec.checking.code.reachable import GENERATED, Named, Reachable, codes_of, contents_of
from spec.checking.model import Model
from spec.language.rules import Action, Property

_SAFE_NAMES: Final = {
    builtins: "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate "
    "filter float format frozenset getattr hasattr hash hex int isinstance issubclass iter len list map max min next "
    "object oct ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum super "
    "tuple zip",
    collections: "ChainMap Counter OrderedDict defaultdict deque namedtuple",
    copy: "copy deepcopy",
    dataclasses: "asdict astuple dataclass field fields is_dataclass replace",
    datetime: "date datetime time timedelta timezone",
    decimal: "Decimal",
    enum: "Enum Flag IntEnum IntFlag StrEnum auto",
    fractions: "Fraction",
    functools: "cache cached_property cmp_to_key lru_cache partial partialmethod reduce total_ordering wraps",
    logging: "Logger critical debug error exception getLogger info log warning",
    re: "compile escape findall finditer fullmatch match search split sub",
    transitions: "Machine",
    types: "MappingProxyType SimpleNamespace",
    warnings: "warn",
}
_SAFE_MODULES: Final = {
    bisect: "",
    heapq: "",
    itertools: "",
    math: "",
    operator: "attrgetter imod is_ is_not methodcaller mod",
}
"""Modules all of whose functions are safe, but for these."""
_SAFE: Final = {
    id(vars(module)[name]) for module, names in _SAFE_NAMES.items() for name in names.split() if name in vars(module)
} | {
    id(each)
    for module, but in _SAFE_MODULES.items()
    for name, each in vars(module).items()
    if callable(each) and not name.startswith("_") and name not in but.split()
}
"""The functions and classes that are known to be safe, by identity: given lazy values, they return what they would
for plain ones, or raise. `getattr` and `hasattr` are among them because a lazy value has its plain value's public
attributes. `type`, `id` and `vars` are not, nor is code that is made of text."""
_SAFE_PACKAGES: Final = ("abc", "collections.abc", "numbers", "spec.language", "typing", "typing_extensions")
"""Modules of types and of the language. Their functions ask `isinstance`, or nothing."""
_SAFE_TYPES: Final = (
    *(bool, int, float, complex, str, bytes, bytearray, type(None), type(...), type(NotImplemented), object, slice),
    *(tuple, list, dict, set, frozenset, collections.deque, collections.OrderedDict, collections.defaultdict, range),
    *(collections.Counter, types.MappingProxyType, types.SimpleNamespace, property, classmethod, staticmethod),
    *(cached_property, partial, re.Pattern, re.Match, decimal.Decimal, fractions.Fraction, logging.Logger),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone, types.GenericAlias),
    *(
        types.UnionType,
        types.MemberDescriptorType,
        types.GetSetDescriptorType,
        type(Named.by),
    ),
)
"""The types of objects whose methods are safe. Of a class derived from one, only if its code is the author's."""
_SAFE_METHODS: Final = {
    *(
        "__bool__",
        "__call__",
        "__class__",
        "__contains__",
        "__doc__",
        "__file__",
        "__getitem__",
        "__hash__",
        "__index__",
    ),
    *("__init__", "__int__", "__iter__", "__len__", "__members__", "__module__", "__name__", "__new__", "__next__"),
    *("__post_init__", "__qualname__", "__repr__", "__setattr__", "__str__"),
    *("__annotations__", "__classcell__", "__firstlineno__", "__orig_bases__", "__static_attributes__"),  # of a class
}
"""Python's own names that code may write after a dot. Not among them are operators with two operands: these answer
NotImplemented where the operator itself would go on, and NotImplemented counts as true."""
HARMLESS: Final = (LookupError, ArithmeticError, StopIteration, AssertionError)
"""Exceptions of Python that may be caught. No operation refuses a lazy value with one of them: a lazy value is found
in dicts and sets by the hash and equality of its plain value, it counts and indexes as its plain value, and it
iterates to the same end. An operation that wants another type raises TypeError; a missing attribute is an
AttributeError; and a lazy value may take more stack, which ends in a RecursionError."""
_UNBOUND: Final = (types.MethodDescriptorType, types.ClassMethodDescriptorType, types.WrapperDescriptorType)
"""Methods of Python's own classes, as in `str.upper`."""
_OF_OTHERS: Final = ("spec.language", "transitions")
"""Modules whose exceptions are harmless because they raise them themselves."""
_REMAINDER: Final = opmap["BINARY_OP"], {6, 19}
"""The instruction, and its arguments for `%` and `%=`."""
_HANDLES, _MATCHES = "PUSH_EXC_INFO", "CHECK_EXC_MATCH"
_NO_EFFECT: Final = {"CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PRECALL"}


def opaque(model: Model) -> dict[str, str]:
    """The actions and properties that need plain values, by name, each with the reason and its place."""
    reachable = model.hidden_state.reachable
    rules: tuple[Action | Property, ...] = (*model.actions, *model.properties)
    runs = {rule.name: rule.instances[0].run for rule in rules if rule.instances}
    every = reachable.reached(*runs.values())
    named: dict[FunctionType, list[Named]] = {}
    for each in every.named:
        named.setdefault(each.by, []).append(each)
    known = _Known(reachable)
    wrong, formats, texts = dict[FunctionType, str](), dict[FunctionType, str](), set[FunctionType]()
    for function in every.functions:
        code = _Code(function, reachable)
        if why := known.unknown_in(function, named.get(function, [])) or code.reason():
            wrong[function] = why
        elif remainder := code.remainder():
            formats[function] = remainder
        if code.has_format() or any(_is_format(each.value) for each in named.get(function, [])):
            texts.add(function)
    found = {}
    for name, run in runs.items() if wrong or formats else ():
        reached = reachable.reached(run).functions
        # `%` formats a tuple's parts where it meets a text, and a lazy tuple as a whole. Without a text with `%` in
        # all of the rule's code it is a remainder.
        may_format = {} if texts.isdisjoint(reached) else formats
        if first := next((function for function in reached if function in wrong or function in may_format), None):
            found[name] = wrong.get(first) or may_format[first]
    return found


class _Known:
    """Which values are known to be safe for code that names them."""

    def __init__(self, reachable: Reachable):
        self.reachable = reachable
        self._unknown: dict[int, Any] = {}
        """By the identity of a value that was looked at, the part of it that is unknown; None if all are known."""

    def unknown_in(self, function: FunctionType, named: Iterable[Named]) -> str:
        """What a function names that is not known to be safe; empty if there is none."""
        for each in named:
            key = id(each.value)
            if key not in self._unknown:
                self._unknown[key] = next((part for part in with_parts(each.value) if not self._is_safe(part)), None)
            unknown = self._unknown[key]
            if unknown is not None:
                does = "calls" if callable(unknown) else "uses"
                inside = "" if unknown is each.value else f", with {_name_of(unknown)} inside"
                return f"{_at(function, line_of(function, each.name))} {does} {each.name}{inside}"
        return ""

    def _is_safe(self, value: Any) -> bool:
        kind = type(value)
        if id(value) in _SAFE or kind in _SAFE_TYPES or isinstance(value, Enum | BaseException):
            return True
        if isinstance(value, ModuleType):
            return False
        if isinstance(value, type):
            return all(map(self._is_safe_class, value.__mro__))
        if isinstance(value, FunctionType):
            return (
                self.reachable.is_user_code(value)
                or value.__code__.co_filename == GENERATED
                or value.__code__ in _OF_NAMED_TUPLES
                or _is_of(value.__globals__.get("__name__"), _SAFE_PACKAGES)
            )
        if isinstance(value, MethodType):
            return self._is_safe(value.__func__)
        if isinstance(value, BuiltinFunctionType | types.MethodWrapperType):
            return not isinstance(value.__self__, ModuleType) and self._is_safe_method(value.__name__, value.__self__)
        if isinstance(
            value, types.MethodDescriptorType | types.ClassMethodDescriptorType | types.WrapperDescriptorType
        ):
            return value.__objclass__ in _SAFE_TYPES and _is_safe_name(value.__name__)
        if isinstance(value, functools._lru_cache_wrapper):
            return self._is_safe(value.__wrapped__)
        return self._is_safe_class(kind)

    def _is_safe_method(self, name: str, of: Any) -> bool:
        return _is_safe_name(name) and self._is_safe(of)

    def _is_safe_class(self, cls: type) -> bool:
        return (
            cls in _SAFE_TYPES
            or id(cls) in _SAFE
            or issubclass(cls, BaseException)
            or self.reachable.is_user_code(cls)
            or _is_of(cls.__module__, (*_SAFE_PACKAGES, "enum"))
        )


_OF_NAMED_TUPLES: Final = {
    each.__code__
    for each in vars(Named).values()
    for each in (getattr(each, "__func__", each),)
    if isinstance(each, FunctionType)
}
"""The code of a NamedTuple's methods, such as `_replace`."""


class _Code:
    """The instructions of one of the author's functions, and of the functions inside it."""

    def __init__(self, function: FunctionType, reachable: Reachable):
        self.function, self.reachable = function, reachable
        self._codes = tuple(codes_of(function.__code__))
        self._closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def reason(self) -> str:
        """Which instruction does not work with lazy values, with its place; empty if all do."""
        if self.function.__name__ == "__del__":
            return f"{_at(self.function, self.function.__code__.co_firstlineno)} is run when nobody knows"
        for code in self._codes:
            names = (*code.co_names, *(each for each in code.co_consts if isinstance(each, str)))
            for name in names:
                if not _is_safe_name(name):
                    return f"{_at(self.function, line_of(self.function, name))} names {name}"
            used = code.co_code[::2]
            if opmap["IMPORT_NAME"] in used:
                return f"{_at(self.function, _line_of_operation(code, 'IMPORT_NAME'))} imports a module"
            if opmap[_HANDLES] in used or any(isinstance(self._global(name), ModuleType) for name in code.co_names):
                for does, line in self._odd(code):
                    return f"{_at(self.function, line)} {does}"
        return ""

    def remainder(self) -> str:
        """The place of a `%`; empty if there is none."""
        operation, arguments = _REMAINDER
        for code in self._codes:
            pairs = zip(code.co_code[::2], code.co_code[1::2], strict=True)
            if any(each == operation and argument in arguments for each, argument in pairs):
                return f"{_at(self.function, _line_of_operation(code, 'BINARY_OP'))} may format a text by %"
        return ""

    def has_format(self) -> bool:
        """Whether a text in the code has a `%`."""
        return any(map(_is_format, (const for code in self._codes for const in code.co_consts)))

    def _global(self, name: str) -> Any:
        return self.function.__globals__.get(name, getattr(builtins, name, None))

    def _odd(self, code: CodeType) -> Iterator[tuple[str, int]]:
        """Modules that are passed on, and exceptions that may be hidden, with their lines."""
        instructions = [each for each in get_instructions(code) if each.opname not in _NO_EFFECT]
        number_of = {each.offset: number for number, each in enumerate(instructions)}
        for number, each in enumerate(instructions):
            if each.opname == _HANDLES and (caught := self._caught(code, instructions, number_of, number + 1)):
                yield caught, line(each, code)
            elif each.opname == "LOAD_GLOBAL":
                after, value = self._loaded(code, instructions, number)
                if isinstance(value, ModuleType):
                    yield f"passes the module {value.__name__} on", line(instructions[after], code)

    def _caught(self, code: CodeType, instructions: list[Instruction], number_of: dict[int, int], number: int) -> str:
        """What handlers catch that begin here, if a refusal may be among it; empty if not.

        Each handler loads its exceptions and compares; if none matches, the exception is raised again. Code that
        does anything else with an exception belongs to `with`, to `finally`, or to a bare `except`.
        """
        while True:
            first, loaded = number, list[Any]()
            while instructions[number].opname.startswith("LOAD_"):
                number, value = self._loaded(code, instructions, number)
                loaded.append(value)
            if instructions[number].opname == "BUILD_TUPLE":
                number += 1
            if instructions[number].opname != _MATCHES:
                raised_again = instructions[number].opname == "RERAISE" and number == first
                return "" if raised_again else "has a `with`, a `finally`, or an `except` that catches everything"
            for caught in _flat(loaded):
                if not self._is_harmless(caught):
                    return f"catches {_name_of(caught) if isinstance(caught, type) else 'what is not known'}"
            number = number_of[instructions[number + 1].argval]

    def _loaded(self, code: CodeType, instructions: list[Instruction], number: int) -> tuple[int, Any]:
        """The value loaded here, followed along the dots through modules and classes; and the next instruction."""
        each, value = instructions[number], None
        if each.opname == "LOAD_GLOBAL":
            value = self._global(each.argval)
        elif each.opname == "LOAD_DEREF" and code is self.function.__code__ and each.argval in self._closure:
            value = contents_of(self._closure[each.argval])
        number += 1
        while instructions[number].opname in ("LOAD_ATTR", "LOAD_METHOD"):
            known = isinstance(value, ModuleType | type)
            value = getattr(value, instructions[number].argval, None) if known else None
            number += 1
        return number, value

    def _is_harmless(self, caught: Any) -> bool:
        return isinstance(caught, type) and (
            issubclass(caught, HARMLESS)
            or _is_of(caught.__module__, _OF_OTHERS)
            or self.reachable.is_user_code(caught)
        )


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for each in values:
        if isinstance(each, tuple):
            yield from _flat(each)
        else:
            yield each


def _is_format(value: Any) -> bool:
    return isinstance(value, str | bytes) and "%" in str(value)


def _is_safe_name(name: str) -> bool:
    return not (name.startswith("__") and name.endswith("__") and name.isidentifier()) or name in _SAFE_METHODS


def _is_of(module: Any, packages: Iterable[str]) -> bool:
    return any(module == package or str(module).startswith(f"{package}.") for package in packages)


def _name_of(value: Any) -> str:
    return getattr(value, "__qualname__", None) or f"a {type(value).__qualname__}"


# The place in the source.


def _at(function: FunctionType, line: int) -> str:
    return f"{function.__qualname__} ({Path(function.__code__.co_filename).name}, line {line})"


def _line_of_operation(code: CodeType, name: str) -> int:
    return next(line(each, code) for each in get_instructions(code) if each.opname == name)
