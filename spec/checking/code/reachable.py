"""The code that a specification's actions and properties may run, and the values they look up; nothing is run here.

A function names globals, attributes of modules, closure variables and defaults. These may name more. The object of a
method call is unknown here. So a name after a dot may be any member of that name in a class whose values the code can
have: the classes of the specification, its states and its values, and those that are named. Where a function calls
`getattr` or the like, any text that it names may be such a name. This finds more than is ever run. It does not find
names that are put together, nor code that is made of text.

Modules that functions import themselves are followed like others. Installed functions, and those of the language and
the checkers, are listed as named; their code is not followed.
"""

from __future__ import annotations

import builtins
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from dis import get_instructions
from enum import Enum
from functools import cache, cached_property, partial, partialmethod
from importlib import import_module
from importlib.util import find_spec, resolve_name
from inspect import getattr_static
from opcode import opmap
from types import CellType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final, NamedTuple
from warnings import catch_warnings

from spec.checking.code.source import classes_of, is_installed_file, is_user_code, modules_of
from spec.language.domains import Domain, EnumerationDomain, MappingDomain
from spec.language.instances import Instance, Instances
from spec.language.part import Part
from spec.language.specification import Specification

_LOAD_GLOBAL: Final = opmap["LOAD_GLOBAL"]
_IMPORT_NAME: Final = opmap["IMPORT_NAME"]
_EXTENDED_ARG: Final = opmap["EXTENDED_ARG"]
_BY_TEXT: Final = {"attrgetter", "getattr", "methodcaller"}
"""Functions that find a member by a text."""
GENERATED: Final = "<string>"
"""The file of the methods that `dataclass` writes."""
A_DEFAULT: Final = "a default"
"""The name reported for the default of a parameter."""


class Named(NamedTuple):
    """A value that a function names."""

    by: Any
    """The function."""
    name: str
    """As written: `LIMIT`, `json.dumps`; a member with its class, `Lease.held`."""
    value: Any
    holder: Mapping[str, Any] | CellType | None
    """Holds it under the last part of its name: a module, a class, an object; a cell; None for a default."""
    of: type | ModuleType | None = None
    """Its class or module, if the name follows a dot."""

    @property
    def now(self) -> Any:
        """What the name means at this moment."""
        if isinstance(self.holder, CellType):
            return contents_of(self.holder)
        return self.value if self.holder is None else self.holder.get(self.name.rpartition(".")[2])


@dataclass(frozen=True)
class Reached:
    """Everything that some functions reach."""

    functions: dict[FunctionType, None] = field(default_factory=dict)
    """The author's functions, in the order found."""
    named: list[Named] = field(default_factory=list)
    """Everything else that these name: values, classes, and functions that are not the author's."""
    wrappers: list[Any] = field(default_factory=list)
    """Callables around the author's functions that are no functions themselves, as `functools.cache` makes them."""


class Reachable:
    """The code that a specification may run."""

    def __init__(self, specification: Specification):
        self.specification = specification
        parts = list(_parts(specification))
        self._objects = parts
        self._classes = {type(part) for part in parts} | {type(part).states for part in parts}
        self._classes |= _classes_of_values([domain for _, domain in specification.variables.values()])
        own = frozenset(cls.__module__.partition(".")[0] for cls in classes_of(specification))
        self._is_the_authors = cache(partial(is_user_code, own=own))

    @cached_property
    def modules(self) -> frozenset[str]:
        """The names of the author's modules."""
        return frozenset(module.__name__ for module in modules_of(self.specification))

    def reached(self, *roots: Any) -> Reached:
        """Everything that these functions, methods, or partial functions reach."""
        search = _Search(self)
        for cls in self._classes:
            search.may_have(cls)
        for one in self._objects:
            search.may_have_members(type(one), vars(one))
        search.waiting += [function for root in roots for function in functions_in(root)]
        return search.run()

    def is_user_code(self, of: FunctionType | type | str) -> bool:
        """Whether a function, a class, or a module (by its name) is the author's.

        A function's `__module__` does not decide: a wrapper takes it from the wrapped function. Methods that
        `dataclass` writes are not the author's.
        """
        if isinstance(of, FunctionType):
            if of.__code__.co_filename == GENERATED and of.__code__.co_name.startswith("__"):
                return False
            return self._is_the_authors(of.__globals__.get("__name__", ""))
        return self._is_the_authors(of if isinstance(of, str) else of.__module__)


class _Search:
    """One traversal of the code. It finds on the way which classes' values the code can have."""

    def __init__(self, reachable: Reachable):
        self.is_user_code = reachable.is_user_code
        self.found = Reached()
        self.waiting: list[FunctionType] = []
        self.classes = set[type]()
        self.members: dict[str, list[tuple[str, Any, Mapping[str, Any], type]]] = defaultdict(list)
        """By name: members of classes and objects, with their full names and their holders."""
        self.asked: dict[str, FunctionType] = {}
        """Names that followed a dot, and the first function with each."""
        self.looked_into = set[int]()

    def run(self) -> Reached:
        while self.waiting:
            function = self.waiting.pop()
            if function not in self.found.functions:
                self.found.functions[function] = None
                self.look_at(function)
        return self.found

    def look_at(self, function: FunctionType) -> None:
        """Record everything that a function names."""
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if (value := contents_of(cell)) is not None:
                self.name(function, name, value, cell)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.name(function, A_DEFAULT, value, None)
        if not self.is_user_code(function):  # a wrapper around an author's function
            return
        names, attributes = _names_in(function.__code__)
        if not _BY_TEXT.isdisjoint((*names, *attributes)):
            attributes = (*attributes, *_texts(function, names))
        for name in names:
            known = function.__globals__
            if name not in known:
                self.name(function, name, getattr(builtins, name, None), None)
            elif isinstance(known[name], ModuleType):
                for each in _of_module(name, known[name], attributes):
                    self.name(function, *each)
            else:
                self.name(function, name, known[name], known)
        for name in _imported_in(function.__code__, function.__globals__.get("__package__") or ""):
            if (module := imported(name)) is not None:
                for each in _of_module(name, module, attributes):
                    self.name(function, *each)
        for attribute in attributes:
            if attribute not in self.asked:
                self.asked[attribute] = function
                for member in self.members[attribute]:
                    self.name(function, *member)

    def name(
        self,
        by: FunctionType,
        name: str,
        value: Any,
        holder: Mapping[str, Any] | CellType | None,
        of: type | ModuleType | None = None,
    ) -> None:
        """Record one named value."""
        inner = [function for function in functions_in(value) if self.is_user_code(function)]
        self.waiting += inner
        if inner and not isinstance(value, _OF_FUNCTIONS):
            self.found.wrappers.append(value)
        if not inner or isinstance(value, MethodType | partial):  # methods and partials hold values as well
            self.found.named.append(Named(by, name, value, holder, of))
            self.look_into(value)

    def look_into(self, value: Any) -> None:
        """Find the functions that a value holds, and the classes whose values it brings."""
        if isinstance(value, type):
            self.may_have(value)
            return
        if id(value) in self.looked_into or type(value) in PLAIN:
            return
        self.looked_into.add(id(value))
        self.may_have(type(value))
        if self.is_user_code(type(value)) and hasattr(value, "__dict__"):
            self.may_have_members(type(value), vars(value))
        for each in parts_of(value):
            if type(each) in PLAIN:
                continue
            if callable(each):
                self.waiting += [function for function in functions_in(each) if self.is_user_code(function)]
            self.look_into(each)

    def may_have(self, cls: type) -> None:
        """The code may have a value of this class."""
        if cls in self.classes:
            return
        self.classes.add(cls)
        for base in cls.__mro__:
            if base is cls and self.is_user_code(base):
                self.may_have_members(base, vars(base))
            elif base not in self.classes:
                self.may_have(base)

    def may_have_members(self, owner: type, members: Mapping[str, Any]) -> None:
        """A name after a dot may mean one of these; `__add__` or `__hash__` is called without being named."""
        for name, value in members.items():
            full_name = f"{owner.__name__}.{name}"
            if name.startswith("__") and name.endswith("__"):
                self.waiting += [each for each in functions_in(value) if self.is_user_code(each)]
            else:
                self.members[name].append((full_name, value, members, owner))
                if name in self.asked:
                    self.name(self.asked[name], full_name, value, members, owner)


_OF_FUNCTIONS: Final = (FunctionType, MethodType, classmethod, staticmethod, partial, property, cached_property, type)
"""What Python makes of functions, and calls like them."""
PLAIN: Final = frozenset({int, str, bool, float, bytes, type(None)})
"""The types of values that hold nothing."""


def parts_of(value: Any) -> Iterable[Any]:
    """The members of a Python container, a partial function, or a rule with its parameters."""
    match value:
        case dict():
            return [*value, *value.values()]
        case tuple() | list() | set() | frozenset():
            return list(value)
        case MappingProxyType():
            return [*value, *value.values()]
        case deque():
            return list(value)
        case SimpleNamespace():
            return list(vars(value).values())
        case partial() | partialmethod():
            return [value.func, *value.args, *value.keywords.values()]
        case Enum():
            return [value._value_]
        case Instance():
            return [value.run]
        case Instances():
            return value[:1]
    return ()


def with_parts(value: Any) -> Iterator[Any]:
    """A value and everything that it holds, each once, without numbers."""
    met, waiting = set[int](), [value]
    while waiting:
        each = waiting.pop()
        if type(each) in (str, bytes):
            yield each
        elif type(each) not in PLAIN and id(each) not in met:
            met.add(id(each))
            yield each
            waiting += parts_of(each)


def functions_in(value: Any) -> Iterator[FunctionType]:
    """The functions that make up a callable, such as a method's function, including wrapped ones."""
    inner: tuple[Any, ...]
    match value:
        case FunctionType():
            yield value
            others = vars(value).get("registry")  # of `functools.singledispatch`
            inner = (vars(value).get("__wrapped__"), *(others.values() if isinstance(others, Mapping) else ()))
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
            inner = (getattr_static(value, "__wrapped__", None),) if callable(value) else ()
    for each in inner:
        if each is not None:
            yield from functions_in(each)


def _of_module(
    name: str, module: ModuleType, attributes: Iterable[str], outer: tuple[ModuleType, ...] = ()
) -> Iterator[tuple[str, Any, Mapping[str, Any], ModuleType]]:
    """The values that code with these dotted names may mean in a module."""
    for attribute in attributes:
        value = vars(module).get(attribute)
        if value is None and "__getattr__" in vars(module):  # a module that imports its parts lazily
            with catch_warnings(action="ignore"), suppress(Exception):
                value = getattr(module, attribute)
        if isinstance(value, ModuleType):
            if value not in outer:
                yield from _of_module(f"{name}.{attribute}", value, attributes, (*outer, module))
        elif value is not None:
            yield f"{name}.{attribute}", value, vars(module), module


def imported(name: str) -> ModuleType | None:
    """A module that a function imports: one of Python or of the author is imported now, others are not."""
    root = name.partition(".")[0]
    with suppress(Exception):
        found = None if name in sys.modules else find_spec(root)
        if found is not None and (root in sys.stdlib_module_names or not is_installed_file(found.origin or "")):
            return import_module(name)
    return sys.modules.get(name)


def _texts(function: FunctionType, names: Iterable[str]) -> Iterator[str]:
    """The texts in a function, and in what it names, that may be the names of members."""
    for code in codes_of(function.__code__):
        yield from (each for each in code.co_consts if isinstance(each, str) and each.isidentifier())
    known = [function.__globals__.get(name) for name in names]
    for value in (*known, *map(contents_of, function.__closure__ or ())):
        yield from (each for each in with_parts(value) if isinstance(each, str) and each.isidentifier())


@cache
def _imported_in(code: CodeType, package: str) -> tuple[str, ...]:
    """The modules that code imports inside a function."""
    found = list[str]()
    for each in codes_of(code):
        listed = [*get_instructions(each)] if _IMPORT_NAME in each.co_code[::2] else []
        for level, _, instruction in zip(listed, listed[1:], listed[2:], strict=False):
            if instruction.opname == "IMPORT_NAME":
                with suppress(ImportError):
                    found.append(resolve_name("." * level.argval + instruction.argval, package))
    return tuple(found)


def _parts(part: Part[Any]) -> Iterator[Part[Any]]:
    """A part and all parts inside it."""
    yield part
    for inner in part.parts.values():
        yield from _parts(inner)


def _classes_of_values(domains: Iterable[Domain[Any] | MappingDomain]) -> set[type]:
    """The classes of the values of domains, and of their parts."""
    found, met, waiting = set[type](), set[int](), list[Any](domains)
    while waiting:
        domain = waiting.pop()
        if id(domain) in met:
            continue
        met.add(id(domain))
        if isinstance(domain, EnumerationDomain):
            found.update(map(type, domain))
        for each in vars(domain).values():
            if isinstance(each, type):
                found.add(each)
            parts = each if isinstance(each, tuple) else each.values() if isinstance(each, dict) else (each,)
            waiting += [part for part in parts if isinstance(part, Domain)]
    return found


def contents_of(cell: CellType) -> Any:
    """The value of a closure variable; None if it has none yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of the functions inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes_of(inner)


@cache
def _names_in(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The globals that code looks up, and all names that may follow a dot."""
    names = dict[str, None]()
    attributes = dict[str, None]()
    for each in codes_of(code):
        attributes.update(dict.fromkeys(each.co_names))
        names.update((each.co_names[at], None) for at in _globals_in(each.co_code))
    return tuple(names), tuple(attributes)


def _globals_in(content: bytes) -> Iterator[int]:
    """The numbers of the names that bytecode looks up as globals."""
    if _LOAD_GLOBAL not in content[::2]:
        return
    high = 0
    for operation, low in zip(content[::2], content[1::2], strict=True):
        if operation == _LOAD_GLOBAL:
            yield (high | low) >> 1  # the lowest bit marks a call
        high = (high | low) << 8 if operation == _EXTENDED_ARG else 0
