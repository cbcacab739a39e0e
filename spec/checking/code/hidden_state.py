"""Hidden state: everything besides the given state on which actions and properties depend.

They must be functions of the state: an engine evaluates them in its own order, once or several times, here or in
other processes. Chance, clocks, and objects that change when read (an iterator, a file) are rejected by inspection,
before any evaluation, so the error comes in every run. A list, a dict or an object that code only reads is a constant
like any other. So such values are compared with their earlier contents.
"""

from __future__ import annotations

import builtins
import importlib
import io
import random
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator
from datetime import date
from dis import Instruction, get_instructions
from enum import Enum
from functools import cached_property
from opcode import opmap
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

from spec.checking.code.identity import WHY, comparisons, is_identity
from spec.checking.code.reachable import A_DEFAULT, PLAIN, Named, Reachable, Reached, codes_of, functions_in, parts_of
from spec.language.errors import SpecificationError
from spec.language.part import Part
from spec.language.specification import Specification

NONDETERMINISTIC: Final = {
    "builtins": {"id", "input"},
    "random": {"SystemRandom"},
    "time": {
        f"{clock}{unit}"
        for clock in ("time", "monotonic", "perf_counter", "process_time", "thread_time")
        for unit in ("", "_ns")
    },
    "uuid": {"getnode", "uuid1", "uuid4", "uuid6", "uuid7"},
    "os": {"getrandom", "times", "urandom"},
    "secrets": {"randbelow", "token_bytes", "token_hex", "token_urlsafe"},
}
"""By module, the functions that return different values from call to call, or from process to process."""
NONDETERMINISTIC_UP_TO: Final = {
    "builtins.hash": None,
    "random.Random": 0,
    "numpy.random.RandomState": 0,
    "numpy.random.default_rng": 0,
    "time.asctime": 0,
    "time.ctime": 0,
    "time.gmtime": 0,
    "time.localtime": 0,
    "time.strftime": 1,
}
"""Functions that do so if they are called with no more arguments than that."""
NONDETERMINISTIC_MODULES: Final = frozenset({*NONDETERMINISTIC, "datetime", "numpy"})
"""The modules that have such functions."""
CLOCK_METHODS: Final = {"now", "today", "utcnow"}
"""Methods of the classes of `datetime` that read a clock."""
OUTER_STORES: Final = {"STORE_GLOBAL": "global", "STORE_DEREF": "nonlocal"}
"""Instructions, and the Python keywords that lead to them."""
NOT_DETERMINISTIC: Final = "it is not deterministic, and must be a function of the state"
NO_STATE_BETWEEN_STEPS: Final = "a specification keeps nothing between steps"
_IN_PLACE: Final = (list, dict, set, deque, bytearray)
"""Types whose values are changed in place."""


class Finding(NamedTuple):
    """A function's violation of the rules."""

    by: Any
    """The function."""
    does: str
    """`calls random.random`."""
    line: int
    why: str


class Rule(NamedTuple):
    """An action, a property or `initial`, with the callables that are evaluated for it."""

    name: str
    """`action roll`."""
    runs: tuple[Callable[..., Any], ...]


class HiddenState:
    """Everything besides the state that the rules of a specification read.

    Raises:
        SpecificationError: some of it is chance, a clock, or changes when read.
    """

    def __init__(self, specification: Specification):
        self._rules = list(_rules(specification))
        self.reachable = Reachable(specification)
        """The code that the specification may run."""
        self._name = type(specification).__name__
        reached = self.reachable.reached(*(run for rule in self._rules for run in rule.runs))
        for finding in _findings(reached):
            raise SpecificationError(self._finding_text(finding))
        kept = [each for each in reached.named if not self._is_pythons(each.holder)]
        self._names = [each for each in kept if each.holder is not None]
        self._values = {id(each.value): each for each in kept if self._is_compared(each.value)}
        self._prints = {key: self._print(each.value) for key, each in self._values.items()}

    def require_unchanged(self) -> None:
        """Compare the values that the rules read with their contents when this was made.

        Raises:
            SpecificationError: something has changed.
        """
        if changed := self.changed():
            raise SpecificationError(changed)

    def changed(self) -> str:
        """The first value that has changed since this was made, in one line; empty if none has."""
        for key, each in self._values.items():
            if self._print(each.value) != self._prints[key]:
                return self._finding_text(_changed(each, "was changed"))
        for each in self._names:
            if not each.is_still():
                return self._finding_text(_changed(each, "was assigned"))
        return ""

    def _finding_text(self, finding: Finding) -> str:
        rule, runs = self._rule_that_reaches(finding.by)
        does = finding.does if finding.by in runs else f"runs {finding.by.__name__}, which {finding.does}"
        place = f"{Path(finding.by.__code__.co_filename).name}, line {finding.line}"
        return f"{rule} of {self._name} {does} ({place}): {finding.why}"

    def _rule_that_reaches(self, function: FunctionType) -> tuple[str, set[FunctionType]]:
        """The first rule that runs this function, with the rule's own functions."""
        for rule in self._rules:
            if function in self.reachable.reached(*rule.runs).functions:
                return rule.name, {each for run in rule.runs for each in functions_in(run)}
        return "a rule", set()

    def _is_pythons(self, holder: Any) -> bool:
        """Whether it is an installed module, such as `sys`, whose `stdout` is replaced now and then."""
        if not isinstance(holder, dict) or "__spec__" not in holder:
            return False
        return not self.reachable.is_user_code(holder.get("__name__", ""))

    def _is_compared(self, value: Any) -> bool:
        kind = type(value)
        if kind in PLAIN or kind in (tuple, frozenset):
            return False
        return isinstance(value, _IN_PLACE) or hasattr(kind, "tobytes") or self._is_own(value)

    def _is_own(self, value: Any) -> bool:
        """Whether it is one of the author's objects that may be changed in place."""
        return (
            not isinstance(value, type | tuple | Enum | Part | FunctionType)
            and self.reachable.is_user_code(type(value))
            and hasattr(value, "__dict__")
        )

    def _print(self, value: Any, inside: tuple[int, ...] = ()) -> Any:
        """The comparable content of a value, deep: containers and the author's own objects by their members."""
        if type(value) in PLAIN:
            return value
        if id(value) in inside:
            return "itself"
        inside += (id(value),)
        match value:
            case set() | frozenset():
                return type(value), frozenset(value)
            case defaultdict(default_factory=made) if made is not None:  # looking up a key inserts it
                plain = made()
                return type(value), [self._print(each, inside) for each in value.items() if each[1] != plain]
            case dict():
                return type(value), [self._print(each, inside) for each in value.items()]
            case list() | tuple() | deque():
                return type(value), [self._print(each, inside) for each in value]
            case _ if hasattr(type(value), "tobytes"):
                return value.tobytes()
            case bytearray():
                return bytes(value)
        if self._is_own(value):
            late = {name for name, each in vars(type(value)).items() if isinstance(each, cached_property)}
            return value, {name: self._print(each, inside) for name, each in vars(value).items() if name not in late}
        return _Same(value)


class _Same:
    """A value that is compared by identity; held, so that no other object can take its address."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]


def _rules(specification: Specification) -> Iterator[Rule]:
    for action in specification.actions:
        yield Rule(f"action {action.name}", tuple(each.run for each in action.instances[:1]))
    for judged in specification.properties:
        yield Rule(f"{judged.kind.replace('_', ' ')} {judged.name}", tuple(each.run for each in judged.instances[:1]))
    yield Rule("initial", tuple(specification.initial_methods))


def _findings(reached: Reached) -> Iterator[Finding]:
    named: dict[FunctionType, list[Named]] = defaultdict(list)
    odd: dict[int, list[Any]] = {}
    """By the `id` of a value, the parts of it that may not be constants."""
    for each in reached.named:
        named[each.by].append(each)
        if id(each.value) not in odd:
            odd[id(each.value)] = [part for part in _with_parts(each.value) if type(part) not in PLAIN]
    for function in reached.functions:
        yield from _stores(function)
        for line in comparisons(function):
            yield Finding(function, "compares by `is`", line, WHY)
        suspected = [each for each in named[function] if any(map(_may_be_chance, odd[id(each.value)]))]
        if suspected or _imports(function):
            yield from _chance(function, suspected)
        for each in named[function]:
            if is_identity(each):
                yield Finding(function, f"calls {each.name}", _line_of(function, each.name), WHY)
            for value in odd[id(each.value)]:
                if what := _changes_as_it_is_read(value):
                    why = f"it changes as it is read; {NO_STATE_BETWEEN_STEPS}"
                    yield Finding(function, f"looks at {each.name}, {what}", _line_of(function, each.name), why)


def _with_parts(value: Any) -> Iterator[Any]:
    """A value and everything it holds, each once."""
    met, waiting = set[int](), [value]
    while waiting:
        each = waiting.pop()
        if id(each) not in met:
            met.add(id(each))
            yield each
            if type(each) not in PLAIN:
                waiting += parts_of(each)


# Values that change when they are read.


def _changes_as_it_is_read(value: Any) -> str:
    """The kind of such a value; empty for any other."""
    if isinstance(value, type | tuple | Enum | FunctionType):
        return ""
    if isinstance(value, random.Random) or _is_of_numpys_chance(value):
        return "a generator of random numbers"
    if isinstance(value, io.IOBase):
        written = value in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__) or value.closed
        return "" if written or not value.readable() else "an open file"
    return f"an iterator ({type(value).__name__})" if isinstance(value, Iterator) else ""


def _is_of_numpys_chance(value: Any) -> bool:
    return type(value).__module__.startswith("numpy.random") and not callable(value)


# State that is kept between steps.


def _stores(function: FunctionType) -> Iterator[Finding]:
    """Assignments to globals and to closure variables."""
    kept = frozenset(function.__code__.co_freevars)
    for code in codes_of(function.__code__):
        if not _has(code, *OUTER_STORES):
            continue
        for each in get_instructions(code):
            name = each.argval
            if each.opname == "STORE_GLOBAL" or (
                each.opname == "STORE_DEREF" and name in kept and name in code.co_freevars
            ):
                yield Finding(
                    function,
                    f"assigns the {OUTER_STORES[each.opname]} {name}",
                    _line(each, code),
                    NO_STATE_BETWEEN_STEPS,
                )


def _changed(named: Named, how: str) -> Finding:
    why = f"its value {how} meanwhile; {NO_STATE_BETWEEN_STEPS}"
    return Finding(named.by, f"looks at {named.name}", _line_of(named.by, named.name), why)


# Chance.


def _describe(value: Any) -> str:
    """The name of a callable, with its module."""
    name, owner = getattr(value, "__name__", ""), getattr(value, "__self__", None)
    if isinstance(owner, random.Random):
        return f"random.{name}"
    if isinstance(owner, type):
        return f"{owner.__module__}.{owner.__name__}.{name}"
    module = getattr(type(owner) if _is_of_numpys_chance(owner) else value, "__module__", None) or ""
    module = "numpy.random" if module.startswith("numpy.random") else module
    return f"{'os' if module in ('posix', 'nt') else module}.{name}"


def _is_chance(value: Any, arguments: int | None) -> bool:
    """Whether a callable, with so many arguments, varies from call to call; None if it is not called."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, random.Random) or _is_of_numpys_chance(owner):
        return True
    if isinstance(owner, type) and issubclass(owner, date) and value.__name__ in CLOCK_METHODS:
        return True
    module, _, name = _describe(value).rpartition(".")
    most = NONDETERMINISTIC_UP_TO.get(f"{module}.{name}")
    return name in NONDETERMINISTIC.get(module, ()) or (
        most is not None and arguments is not None and arguments <= most
    )


def _may_be_chance(value: Any) -> bool:
    """Whether code that names it must be inspected."""
    if isinstance(value, type):
        return issubclass(value, date | random.Random) or _describe(value) in NONDETERMINISTIC_UP_TO
    if not isinstance(value, BuiltinFunctionType | MethodType | FunctionType):
        return False
    return _is_chance(value, None) or _describe(value) in NONDETERMINISTIC_UP_TO


def _imports(function: FunctionType) -> bool:
    """Whether the function itself imports a module with chance in it."""
    return any(
        not NONDETERMINISTIC_MODULES.isdisjoint(name.partition(".")[0] for name in code.co_names)
        and _has(code, "IMPORT_NAME")
        for code in codes_of(function.__code__)
    )


def _chance(function: FunctionType, suspected: list[Named]) -> Iterator[Finding]:
    """The functions that a function calls or passes on and that do not always return the same."""
    escaped: list[Any] = []
    made_anew = None
    for loaded in _loads(function):
        if isinstance(loaded.value, ModuleType):
            escaped.append(vars(loaded.value))
        if loaded.value is builtins.object and loaded.arguments == 0:
            made_anew = loaded
        for value in _with_parts(loaded.value):
            if _is_chance(value, loaded.arguments):
                yield Finding(function, f"calls {_name_of(value)}", loaded.line, NOT_DETERMINISTIC)
    if made_anew and any(each.value is builtins.hash for each in suspected):
        yield Finding(function, "calls hash of a new object", made_anew.line, NOT_DETERMINISTIC)
    for each in suspected:
        for value in _with_parts(each.value) if _is_reachable_elsewhere(each, escaped) else ():
            if _is_chance(value, None):
                line = _line_of(function, each.name)
                yield Finding(function, f"calls {_name_of(value)}", line, NOT_DETERMINISTIC)


def _is_reachable_elsewhere(named: Named, escaped: Collection[Any]) -> bool:
    """Whether code can use it without looking it up by its whole name: as a default, as a member of something, or
    through a module that it passes on.
    """
    if named.holder is None:
        return named.name == A_DEFAULT
    if isinstance(named.holder, CellType):
        return False
    return "__spec__" not in named.holder or any(named.holder is each for each in escaped)


def _name_of(value: Any) -> str:
    return _describe(value).removeprefix("builtins.")


class _Loaded(NamedTuple):
    """A value that code looks up; dotted names are followed through modules and classes."""

    value: Any
    line: int
    arguments: int | None
    """The number of arguments it is called with; None if it is not called at once."""


_PASSED_OVER: Final = {"CACHE", "PUSH_NULL", "PRECALL", "NOP", "RESUME", "EXTENDED_ARG"}


def _loads(function: FunctionType) -> Iterator[_Loaded]:
    """The values that a function looks up by names that are known before it runs."""
    known: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            known[name] = cell.cell_contents
        except ValueError:
            continue
    imported: dict[str, Any] = {}
    for code in codes_of(function.__code__):
        instructions = [each for each in get_instructions(code) if each.opname not in _PASSED_OVER]
        module = brought = None
        for at, each in enumerate(instructions):
            operation, name = each.opname, each.argval
            if operation == "IMPORT_NAME":
                module = _module(name)
                brought = _module(name.partition(".")[0])
            elif operation == "IMPORT_FROM":
                brought = getattr(module, name, None)
            elif operation.startswith("STORE_") and brought is not None:
                imported[name] = brought
                brought = None
            elif operation.startswith("LOAD_") and isinstance(name, str):
                if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
                    value = function.__globals__.get(name, getattr(builtins, name, None))
                elif operation in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_CONST", "LOAD_SUPER_ATTR"):
                    continue
                else:
                    value = known.get(name)
                yield _followed(imported.get(name) if value is None else value, instructions, at, code)


def _followed(value: Any, instructions: list[Instruction], at: int, code: CodeType) -> _Loaded:
    """The value loaded there, followed along the dots."""
    line = _line(instructions[at], code)
    at += 1
    while isinstance(value, ModuleType | type) and instructions[at].opname in ("LOAD_ATTR", "LOAD_METHOD"):
        value = getattr(value, instructions[at].argval, None)
        at += 1
    while instructions[at].opname == "LOAD_CONST":  # a constant argument
        at += 1
    called = instructions[at].opname == "CALL"
    return _Loaded(value, line, instructions[at].arg if called else None)


def _module(name: str) -> ModuleType | None:
    """A module that a function imports; chance may be in it."""
    if name.partition(".")[0] not in NONDETERMINISTIC_MODULES:
        return sys.modules.get(name)
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# The place in the source.


def _has(code: CodeType, *operations: str) -> bool:
    used = code.co_code[::2]
    return any(opmap[each] in used for each in operations)


def _line(instruction: Instruction, code: CodeType) -> int:
    positions = instruction.positions
    return (positions.lineno if positions else None) or code.co_firstlineno


def _line_of(function: FunctionType, name: str) -> int:
    """The line where a function first has the last part of a name."""
    last = name.rpartition(".")[2]
    for code in codes_of(function.__code__):
        for each in get_instructions(code):
            if each.argval == last:
                return _line(each, code)
    return function.__code__.co_firstlineno
