"""What the actions and properties of a specification may run, and which values they look up; none of it is run here.

A function names things: globals, attributes of modules, what stands in a closure or a default. What it names may name
more. A method is called on a value of which nothing is known here, so a name behind a dot may be any member of that
name of the classes that are named somewhere, of parts and of values (rapid type analysis). So more is found than is
ever run. What code puts together from text (`getattr`, `eval`) is not found.

Of functions that are installed, of the language and of the checkers it is told that they are named, not what they do.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
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
A_DEFAULT: Final = "a default"
"""The name of a parameter's default, which has none."""
VALUES: Final = (tuple, frozenset, str, int, Enum)
"""What the classes of the values of a state derive from."""
GENERATED: Final = "<string>"
"""The file of the methods that `dataclass` writes."""


class Named(NamedTuple):
    """Something that a function names."""

    by: FunctionType
    name: str
    """As it is written: `LIMIT`, `json.dumps`, `self.held`."""
    value: Any
    of: type | ModuleType | None = None
    """The class or the module that has it, if it stands behind a dot."""


class Reached:
    """What is reached from some functions."""

    def __init__(self) -> None:
        self.functions: dict[FunctionType, None] = {}
        """The author's, in the order in which they are found."""
        self.named: list[Named] = []
        """Everything else that these name: values, classes, and functions that are not the author's."""


class Reachable:
    """What the code of a specification may run."""

    def __init__(self, specification: Specification):
        modules = modules_of(specification)
        self.modules = frozenset(module.__name__ for module in modules)
        """The names of the author's."""
        self._parts = list(_parts(specification))
        classes = chain.from_iterable(map(_classes_in, modules))
        bases = chain.from_iterable(type(part).__mro__ for part in self._parts)
        self._used = [*bases, *(cls for cls in classes if issubclass(cls, VALUES))]
        """The classes of its parts and of values: their methods are called on what nobody names."""
        self._named: dict[FunctionType, list[Named]] = {}
        self._names: dict[CodeType, tuple[list[str], list[str]]] = {}

    def reached(self, *roots: Any) -> Reached:
        """What is reached from these functions, methods, or partial functions."""
        found = Reached()
        search = _Search(self, found)
        for cls in self._used:
            search.use(cls)
        for part in self._parts:
            search.hold(part)
        for root in roots:
            search.waiting += functions_in(root)
        search.run()
        return found

    def named(self, function: FunctionType) -> list[Named]:
        """All that a function names itself, but what stands behind a dot of a value."""
        if function not in self._named:
            self._named[function] = [Named(function, *each) for each in self._named_in(function)]
        return self._named[function]

    def attributes(self, function: FunctionType) -> list[str]:
        """The names behind dots in a function of the author's."""
        return self._names_in(function.__code__)[1] if self.is_the_authors(function) else []

    def is_the_authors(self, function: FunctionType) -> bool:
        """Not by `__module__`, which a wrapper takes from what it is wrapped around; nor what `dataclass` wrote."""
        code = function.__code__
        written = code.co_filename == GENERATED and code.co_name.startswith("__")
        return function.__globals__.get("__name__") in self.modules and not written

    def _named_in(self, function: FunctionType) -> Iterator[tuple[Any, ...]]:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        yield from ((name, cell.cell_contents) for name, cell in cells if _is_filled(cell))
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        yield from ((A_DEFAULT, value) for value in defaults)
        if not self.is_the_authors(function):  # a wrapper around a function of the author's
            return
        names, attributes = self._names_in(function.__code__)
        for name in names:
            value = function.__globals__.get(name, getattr(builtins, name, None))
            if isinstance(value, ModuleType):
                yield from _of_module(name, value, attributes)
            else:
                yield name, value

    def _names_in(self, code: CodeType) -> tuple[list[str], list[str]]:
        if code not in self._names:
            self._names[code] = _names_in(code)
        return self._names[code]


class _Search:
    """What is reached so far, and what is to be looked at."""

    def __init__(self, reachable: Reachable, found: Reached):
        self.reachable, self.found = reachable, found
        self.waiting: list[FunctionType] = []
        self.classes: dict[type, None] = {}
        self.parts: list[Any] = []
        self.attributes: dict[str, FunctionType] = {}
        """Names behind dots, with the first function that has each."""

    def run(self) -> None:
        """Look at all that waits."""
        while self.waiting:
            function = self.waiting.pop()
            if function in self.found.functions:
                continue
            self.found.functions[function] = None
            for each in self.reachable.named(function):
                self.reach(each)
            for name in self.reachable.attributes(function):
                if name not in self.attributes:
                    self.attributes[name] = function
                    for cls in list(self.classes):
                        self.ask(cls, vars(cls), name)
                    for part in self.parts:
                        self.ask(type(part), vars(part), name)

    def reach(self, each: Named) -> None:
        """Something is named."""
        inner = [one for one in functions_in(each.value) if self.reachable.is_the_authors(one)]
        self.waiting += inner
        if not inner or isinstance(each.value, MethodType | partial):  # these hold values as well
            self.found.named.append(each)
        self.use(each.value if isinstance(each.value, type) else type(each.value))

    def use(self, cls: type) -> None:
        """There may be instances of a class: its methods may be called."""
        for base in cls.__mro__:
            if base in self.classes or base.__module__ not in self.reachable.modules:
                continue
            self.classes[base] = None
            for name, member in list(vars(base).items()):
                if name.startswith("__") and name.endswith("__"):  # called without being named
                    self.waiting += filter(self.reachable.is_the_authors, functions_in(member))
            for name in list(self.attributes):
                self.ask(base, vars(base), name)

    def hold(self, part: Part[Any]) -> None:
        """What a part holds may be asked for by its name."""
        self.parts.append(part)

    def ask(self, cls: type, members: Mapping[str, Any], name: str) -> None:
        """A name stands behind a dot; a class has these members, or an instance of it."""
        if name in members:
            self.reach(Named(self.attributes[name], f"{cls.__name__}.{name}", members[name], cls))


def functions_in(value: Any) -> Iterator[FunctionType]:
    """The functions that a callable is made of: a method's, those around which others are wrapped."""
    inner: tuple[Any, ...]
    match value:
        case FunctionType():
            yield value
            inner = (getattr(value, "__wrapped__", None),)
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


def _of_module(name: str, module: ModuleType, attributes: Iterable[str]) -> Iterator[tuple[str, Any, ModuleType]]:
    """What code with these names behind dots may mean of a module."""
    for attribute in attributes:
        value = vars(module).get(attribute)
        if isinstance(value, ModuleType):
            yield from _of_module(f"{name}.{attribute}", value, attributes)
        elif value is not None:
            yield f"{name}.{attribute}", value, module


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
