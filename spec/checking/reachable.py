"""What the actions and properties of a specification may run, and which values they look up; none of it is run here.

A function names things: globals, attributes of modules, what stands in a closure or a default. What it names may name
more. A method is called on a value of which nothing is known here, so a name behind a dot may be any member of that
name of the author's classes. So more is found than is ever run. What code puts together from text (`getattr`, `eval`)
is not found.

Of functions that are installed, of the language and of the checkers it is told that they are named, not what they do.
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import getattr_static
from itertools import chain
from opcode import opmap
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

from spec.checking.source import modules_of
from spec.language.part import Part
from spec.language.specification import Specification

_LOAD_GLOBAL: Final = opmap["LOAD_GLOBAL"]
_EXTENDED_ARG: Final = opmap["EXTENDED_ARG"]


class Named(NamedTuple):
    """Something that a function names."""

    by: FunctionType
    name: str
    """As it is written: `LIMIT`, `json.dumps`, `self.held`."""
    value: Any


@dataclass(frozen=True)
class Reached:
    """What is reached from some functions."""

    functions: dict[FunctionType, None] = field(default_factory=dict)
    """The author's, in the order in which they are found."""
    named: list[Named] = field(default_factory=list)
    """Everything else that these name: values, classes, and functions that are not the author's."""


class Reachable:
    """What the code of a specification may run."""

    def __init__(self, specification: Specification):
        modules = modules_of(specification)
        self.modules = frozenset(module.__name__ for module in modules)
        """The names of the author's."""
        self._members: dict[str, list[tuple[type, Any]]] = defaultdict(list)
        """By name, the members of the author's classes, and what the parts of the specification hold."""
        self._named: dict[FunctionType, list[Named]] = {}
        for cls in dict.fromkeys(chain.from_iterable(map(_classes_in, modules))):
            for name, member in vars(cls).items():
                self._members[name].append((cls, member))
        for part in _parts(specification):
            for name, value in vars(part).items():
                self._members[name].append((type(part), value))
        self._unasked = [
            function
            for name, members in self._members.items()
            if name.startswith("__") and name.endswith("__")
            for _, member in members
            for function in functions_in(member)
        ]
        """What is called without being named: `__add__`, `__hash__`."""

    def reached(self, *roots: Any) -> Reached:
        """What is reached from these functions, methods, or partial functions."""
        found = Reached()
        waiting = [*self._unasked, *(function for root in roots for function in functions_in(root))]
        while waiting:
            function = waiting.pop()
            if function in found.functions:
                continue
            found.functions[function] = None
            for each in self.named(function):
                inner = [one for one in functions_in(each.value) if self._is_the_authors(one)]
                waiting += inner
                if not inner:
                    found.named.append(each)
        return found

    def _is_the_authors(self, function: FunctionType) -> bool:
        """Not by `__module__`, which a wrapper takes from what it is wrapped around."""
        return function.__globals__.get("__name__") in self.modules

    def named(self, function: FunctionType) -> list[Named]:
        """All that a function names itself."""
        if function not in self._named:
            self._named[function] = [Named(function, *each) for each in self._names(function)]
        return self._named[function]

    def _names(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        yield from ((name, cell.cell_contents) for name, cell in cells if _is_filled(cell))
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        yield from (("a default", value) for value in defaults)
        if not self._is_the_authors(function):  # a wrapper around a function of the author's
            return
        names, attributes = _names_in(function.__code__)
        for name in names:
            value = function.__globals__.get(name, getattr(builtins, name, None))
            if isinstance(value, ModuleType):
                yield from _of_module(name, value, attributes)
            else:
                yield name, value
        for attribute in attributes:
            for cls, member in self._members.get(attribute, ()):
                yield f"{cls.__name__}.{attribute}", member


def functions_in(value: Any) -> Iterator[FunctionType]:
    """The functions that a callable is made of: a method's, those around which others are wrapped."""
    inner: tuple[Any, ...]
    match value:
        case FunctionType():
            yield value
            return
        case MethodType() | classmethod() | staticmethod():
            inner = (value.__func__,)
        case partial():
            inner = (value.func, *value.args, *value.keywords.values())
        case property():
            inner = (value.fget, value.fset, value.fdel)
        case cached_property():
            inner = (value.func,)
        case type():
            inner = ()
        case _:
            inner = (getattr_static(value, "__wrapped__", None),)
    for each in inner:
        if each is not None:
            yield from functions_in(each)


def _of_module(name: str, module: ModuleType, attributes: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """What code with these names behind dots may mean of a module."""
    for attribute in attributes:
        value = vars(module).get(attribute)
        if isinstance(value, ModuleType):
            yield from _of_module(f"{name}.{attribute}", value, attributes)
        elif value is not None:
            yield f"{name}.{attribute}", value


def _parts(part: Part[Any]) -> Iterator[Part[Any]]:
    """A part, and those inside it."""
    yield part
    for inner in part.parts.values():
        yield from _parts(inner)


def _classes_in(module: ModuleType) -> Iterator[type]:
    """The classes that are written in a module, those inside others among them."""
    waiting = [value for value in vars(module).values() if isinstance(value, type)]
    while waiting:
        cls = waiting.pop()
        if cls.__module__ == module.__name__:
            yield cls
            waiting += [value for value in vars(cls).values() if isinstance(value, type) and value is not cls]


def _is_filled(cell: CellType) -> bool:
    """Whether a name of a closure has a value by now."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes_of(inner)


def _names_in(code: CodeType) -> tuple[list[str], list[str]]:
    """The globals that code looks up, and all names that may stand behind a dot."""
    names = dict[str, None]()
    attributes = dict[str, None]()
    for each in codes_of(code):
        attributes.update(dict.fromkeys(each.co_names))
        names.update((each.co_names[at], None) for at in _globals_in(each.co_code))
    return list(names), list(attributes)


def _globals_in(content: bytes) -> Iterator[int]:
    """The numbers of the names that bytecode looks up as globals."""
    high = 0
    for operation, low in zip(content[::2], content[1::2], strict=True):
        if operation == _LOAD_GLOBAL:
            yield (high | low) >> 1  # the lowest bit tells whether it is about to be called
        high = (high | low) << 8 if operation == _EXTENDED_ARG else 0
