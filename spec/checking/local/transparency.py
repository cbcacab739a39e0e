"""Transparency: which actions and properties may run on lazy values; all others get plain ones.

Code can tell a lazy value from a plain one in two ways only. It asks for the exact type or the identity. Or an
operation rejects the lazy value with one of Python's own exceptions, and code catches this exception. (If no code
catches it, the evaluation ends, and is repeated on plain values.)

So a rule is *transparent* if all code that it may run is known to do neither. Its author's functions consist of
Python's instructions, which read a lazy value, carry it along, or reject it; a few of them are not allowed
(`odd_instruction`). Other functions are allowed if they are listed here. Everything else makes a rule
*opaque*: it gets plain values from the start, so every variable that it looks at counts as read in full.
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
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dis import Instruction, get_instructions
from enum import Enum, Flag
from functools import cached_property, partial
from opcode import opmap
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

import transitions

from spec.checking.code.libraries import DOTS, PASSED_OVER, line, line_of, name_of, uses, value_of
from spec.checking.code.reachable import GENERATED, Named, Reachable, Reached, codes_of, functions_in, with_parts
from spec.checking.code.source import is_ours
from spec.checking.model import Model
from spec.language.rules import Action, Property
from spec.language.specification import Specification

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
    enum: "Enum IntEnum StrEnum auto",
    fractions: "Fraction",
    functools: "cached_property cmp_to_key partial partialmethod reduce total_ordering wraps",
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
    operator: "attrgetter imod is_ is_not length_hint methodcaller mod",
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
    *(types.UnionType, types.MemberDescriptorType, types.GetSetDescriptorType, type(Named.by)),
)
"""The types of objects whose methods are safe. Of a class derived from one, only if its code is the author's."""
_SAFE_METHODS: Final = {
    *("__bool__", "__call__", "__class__", "__contains__", "__doc__", "__file__", "__getitem__", "__hash__"),
    *("__index__", "__init__", "__int__", "__iter__", "__len__", "__members__", "__module__", "__name__", "__new__"),
    *("__next__", "__post_init__", "__qualname__", "__repr__", "__setattr__", "__str__"),
    *("__annotations__", "__classcell__", "__firstlineno__", "__orig_bases__", "__static_attributes__"),  # of a class
}
"""Python's own names that code may write after a dot. Not among them are operators with two operands: these answer
NotImplemented where the operator itself would go on, and NotImplemented counts as true."""
HARMLESS: Final = (LookupError, ArithmeticError, StopIteration, AssertionError)
"""Exceptions of Python that may be caught. No operation refuses a lazy value with one of them: a lazy value is found
in dicts and sets by the hash and equality of its plain value, it counts and indexes as its plain value, and it
iterates to the same end. An operation that wants another type raises TypeError; a missing attribute is an
AttributeError; and a lazy value may take more stack, which ends in a RecursionError."""
_OF_OTHERS: Final = ("spec.language", "transitions")
"""Modules whose exceptions are harmless because they raise them themselves."""
_OF_NAMED_TUPLES: Final = {
    each.__code__
    for each in (getattr(member, "__func__", member) for member in vars(Named).values())
    if isinstance(each, FunctionType)
}
"""The code of a NamedTuple's methods, such as `_replace`."""
_BINARY, _REMAINDER = opmap["BINARY_OP"], {6, 19}
"""The instruction, and its arguments for `%` and `%=`."""
_HANDLES: Final = opmap["PUSH_EXC_INFO"]


def opaque(model: Model, inspects: bool = False) -> dict[str, str]:
    """The actions and properties that need plain values, by name, each with the reason and its place. If the
    specification is ours, only a goal is inspected, unless `inspects`.
    """
    reachable = model.hidden_state.reachable
    ours = () if inspects or not is_ours(model.specification) else _rules(model.specification)
    runs = {rule.name: rule.instances[0].run for rule in _rules(model) if rule.instances and rule not in ours}
    wrong = Inspection(reachable).reasons(reachable.reached(*runs.values()))
    found = {}
    for name, run in runs.items() if wrong else ():
        if why := Inspection.first(wrong, reachable.reached(run)):
            found[name] = why
    return found


def _rules(of: Model | Specification) -> tuple[Action | Property, ...]:
    return *of.actions, *of.properties


class Inspection:
    """Finds code that is not known to be safe for lazy values."""

    def __init__(self, reachable: Reachable):
        self._reachable, self._safe = reachable, _Safe(reachable)

    def reasons(self, every: Reached) -> dict[FunctionType, tuple[str, str]]:
        """By function, why it needs plain values, and why if there is a text with `%`; only those that do."""
        wrong, formats = dict[FunctionType, str](), dict[FunctionType, str]()
        for use in uses(every, self._reachable.is_user_code):
            if use.by not in wrong and not self._safe.is_safe(use.value):
                wrong[use.by] = f"{_at(use.by, use.line)} uses {_name_of(use.value)}"
        for wrapper in every.wrappers:
            for function in functions_in(wrapper) if not self._safe.is_safe(wrapper) else ():
                wrong[function] = f"{_at(function, function.__code__.co_firstlineno)} is in {_name_of(wrapper)}"
        for function in every.functions:
            for code in codes_of(function.__code__):
                if found := self._safe.odd_instruction(function, code):
                    wrong.setdefault(function, found)
                pairs = zip(code.co_code[::2], code.co_code[1::2], strict=True)
                if any(operation == _BINARY and argument in _REMAINDER for operation, argument in pairs):
                    formats[function] = f"{_at(function, code.co_firstlineno)} may format a text by %"
        return {each: (wrong.get(each, ""), formats.get(each, "")) for each in (*wrong, *formats)}

    @staticmethod
    def first(reasons: Mapping[FunctionType, tuple[str, str]], reached: Reached) -> str:
        """The first reason in the code of a rule; empty if there is none.

        `%` formats a tuple's parts where it meets a text, and a lazy tuple as a whole. Without a text with `%` in all
        of the code it is a remainder.
        """
        formats = any(_is_format(const) for each in reached.functions for const in _constants(each)) or any(
            map(_is_format, (part for each in reached.named for part in with_parts(each.value)))
        )
        for function in reached.functions:
            always, with_texts = reasons.get(function, ("", ""))
            if always or (with_texts and formats):
                return always or with_texts
        return ""


class Executed:
    """Notices the author's functions that a rule runs and that reading did not find; for use in a `with` statement.

    Reading follows names. It does not find a name that is put together, a callback that a library calls, or a method
    of a metaclass. Such code is found when it runs on plain values, and this happens in time: each path that held a
    lazy value is repeated on plain ones, and both run the same code up to the first rejection.

    Args:
        model: the model; nothing is watched if its specification is ours.
        watches: whether to watch nevertheless.
    """

    def __init__(self, model: Model, watches: bool = False):
        self._hidden_state, self._reachable = model.hidden_state, model.hidden_state.reachable
        self._inspection = Inspection(self._reachable)
        self._watches = watches or not is_ours(model.specification)
        self._found: dict[str, dict[int, CodeType]] = {}
        """By rule, the code that was found so far, by identity."""
        self._known: dict[int, CodeType] | None = None
        """That of the present rule; None if nothing is watched."""
        self._new = list[FunctionType]()
        self._before: Any = None

    def begin(self, rule: str | None, run: Callable[..., Any]) -> None:
        """Watch the evaluations of this rule from now on; with None, watch nothing."""
        self._new.clear()
        self._known = None
        if self._watches and rule is not None:
            if rule not in self._found:
                reached = self._reachable.reached(run).functions
                self._found[rule] = {id(code): code for each in reached for code in codes_of(each.__code__)}
            self._known = self._found[rule]

    def __enter__(self) -> None:
        if self._known is not None:
            self._before = sys.getprofile()
            sys.setprofile(self._look)

    def __exit__(self, *_: object) -> None:
        if self._known is not None:
            sys.setprofile(self._before)

    def _look(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and self._known is not None and id(code) not in self._known:
            self._known[id(code)] = code
            closure = tuple(CellType(frame.f_locals.get(name)) for name in code.co_freevars)
            function = FunctionType(code, frame.f_globals, code.co_name, None, closure)
            if self._reachable.is_user_code(function):
                self._new.append(function)

    def why_not(self) -> str:
        """Why a function that has run needs plain values; empty if none does. SpecificationError if a rule may not do
        what it does.
        """
        for function in self._new:
            reached = self._reachable.reached(function)
            self._hidden_state.require_allowed(reached)
            if why := Inspection.first(self._inspection.reasons(reached), reached):
                return why
        return ""


class _Safe:
    """Which values and instructions are known to be safe for lazy values."""

    def __init__(self, reachable: Reachable):
        self._is_authors = reachable.is_user_code
        self._known: dict[int, tuple[Any, bool]] = {}
        """By identity. The values are held: another might get the address."""

    def is_safe(self, value: Any) -> bool:
        """Whether code may name a value. A container's parts are asked for one by one."""
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = value, self._is_known(value)
        return found[1]

    def _is_known(self, value: Any) -> bool:
        kind = type(value)
        if id(value) in _SAFE or kind in _SAFE_TYPES or isinstance(value, Enum | BaseException):
            return True
        match value:
            case ModuleType():
                return False  # it is passed on, and its functions are found by names that are not known
            case type():
                keeps = issubclass(value, Flag)  # a class of flags keeps the values for which it makes members
                return not keeps and all(map(self._is_safe_class, value.__mro__))
            case FunctionType():
                its = value.__globals__.get("__name__")
                own = self._is_authors(value) or value.__code__ in _OF_NAMED_TUPLES or _is_of(its, _SAFE_PACKAGES)
                return own or value.__code__.co_filename == GENERATED
            case MethodType():
                return self.is_safe(value.__func__)
            case BuiltinFunctionType() | MethodWrapperType():
                of = value.__self__
                return not isinstance(of, ModuleType) and _is_safe_name(value.__name__) and self.is_safe(of)
            case MethodDescriptorType() | ClassMethodDescriptorType() | WrapperDescriptorType():
                return value.__objclass__ in _SAFE_TYPES and _is_safe_name(value.__name__)
            case functools._lru_cache_wrapper():
                return False  # it keeps lazy values, and gives them to rules that need plain ones
        return self._is_safe_class(kind)

    def _is_safe_class(self, cls: type) -> bool:
        known = cls in _SAFE_TYPES or id(cls) in _SAFE or issubclass(cls, BaseException)
        return known or self._is_authors(cls) or _is_of(cls.__module__, (*_SAFE_PACKAGES, "enum"))

    def odd_instruction(self, function: FunctionType, code: CodeType) -> str:
        """What code does that is not known to be safe, with its place; empty if there is nothing."""
        if function.__name__ == "__del__":
            return f"{_at(function, code.co_firstlineno)} runs at any time"
        for name in (*code.co_names, *(each for each in code.co_consts if isinstance(each, str))):
            if not _is_safe_name(name):
                return f"{_at(function, line_of(function, name))} names {name}"
        if _HANDLES in code.co_code[::2]:
            instructions = [each for each in get_instructions(code) if each.opname not in PASSED_OVER]
            for number, each in enumerate(instructions):
                if each.opcode == _HANDLES and (caught := self._caught(function, code, instructions, number + 1)):
                    return f"{_at(function, line(instructions[number + 1], code))} {caught}"
        return ""

    def _caught(self, function: FunctionType, code: CodeType, instructions: list[Instruction], number: int) -> str:
        """What handlers catch that begin here, if a refusal may be among it; empty if not.

        Each handler loads its exceptions and compares; if none matches, the exception is raised again. Code that
        does anything else with an exception belongs to `with`, to `finally`, or to a bare `except`.
        """
        while True:
            first, value, loaded = number, None, list[Any]()
            for each in instructions[number:]:
                if each.opname.startswith("LOAD_"):
                    value = value_of(function, code, each, value)
                    if instructions[number + 1].opname not in DOTS:
                        loaded.append(value)
                elif each.opname != "BUILD_TUPLE":
                    break
                number += 1
            if instructions[number].opname != "CHECK_EXC_MATCH":
                raised_again = instructions[number].opname == "RERAISE" and number == first
                return "" if raised_again else "has a `with`, a `finally`, or an `except` that catches everything"
            for caught in _flat(loaded):
                if not self._is_harmless(caught):
                    return f"catches {name_of(caught) if isinstance(caught, type) else 'what is not known'}"
            target = instructions[number + 1].argval  # of the jump if it is none of these
            number = next(at for at, each in enumerate(instructions) if each.offset >= target)

    def _is_harmless(self, caught: Any) -> bool:
        return isinstance(caught, type) and (
            issubclass(caught, HARMLESS) or _is_of(caught.__module__, _OF_OTHERS) or self._is_authors(caught)
        )


def _constants(function: FunctionType) -> Iterator[Any]:
    for code in codes_of(function.__code__):
        yield from code.co_consts


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for each in values:
        yield from _flat(each) if isinstance(each, tuple) else (each,)


def _is_format(value: Any) -> bool:
    return isinstance(value, str | bytes) and "%" in str(value)


def _is_safe_name(name: str) -> bool:
    return not (name.startswith("__") and name.endswith("__") and name.isidentifier()) or name in _SAFE_METHODS


def _is_of(module: Any, packages: Iterable[str]) -> bool:
    return any(module == package or str(module).startswith(f"{package}.") for package in packages)


def _name_of(value: Any) -> str:
    return name_of(value) if callable(value) or isinstance(value, ModuleType) else f"a {type(value).__qualname__}"


def _at(function: FunctionType, line: int) -> str:
    return f"{function.__qualname__} ({Path(function.__code__.co_filename).name}, line {line})"
