"""Hidden state: everything besides the given state on which actions and properties depend.

They must be functions of the state: an engine evaluates them in its own order, once or several times, here or in
other processes. A list says what they may use of Python's library (`libraries`). All values that rules reach in the
author's modules are constants: their contents are compared before, during and after a search (`digest`).

*Outside of this process.* Files and other processes are refused when a rule turns to them: an audit hook notices what
rules open, list or start. Python reports such an event before it happens, and the hook looks for a rule on the stack.
So rules that do nothing of the kind pay nothing. Python may read the modules that a rule imports, and the source for
a traceback.

*Identity.* A value of the state is made anew now and then: after a step, in another process, from a file. So `is`
says of two equal values whatever Python happens to do, and each engine something else. It is allowed where equal
values are always one object: None, True, False and `...`, classes, functions, members of enumerations, and objects of
a class without `__eq__`.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Set
from contextlib import contextmanager
from decimal import getcontext
from dis import Instruction, get_instructions, stack_effect
from enum import Enum
from functools import cached_property
from inspect import CO_VARARGS, CO_VARKEYWORDS
from opcode import opmap
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from spec.checking.code.digest import CannotTell, Digest, members_of
from spec.checking.code.libraries import DOTS, PASSED_OVER, UNKNOWN, forbidden, line, line_of, uses, value_of
from spec.checking.code.reachable import A_DEFAULT, Named, Reachable, Reached, codes_of, contents_of, functions_in
from spec.checking.code.source import classes_of, is_installed_file, is_ours
from spec.language.errors import SpecificationError, safe_repr
from spec.language.specification import Specification

NOTHING_KEPT: Final = "a specification keeps nothing between steps"
MORE: Final = "it may depend on more than the state"
EARLY: Final = 3
"""The levels after which a search that lasts is compared for the first time."""
LONG: Final = 0.5
"""The seconds after which a search lasts."""


class Rule(NamedTuple):
    """An action, a property or `initial`, with the callables that are evaluated for it."""

    name: str
    """`action roll`."""
    runs: tuple[Callable[..., Any], ...]


class HiddenState:
    """Everything besides the state that the rules of a specification read. If the specification is ours, nothing is
    inspected and compared, unless `inspects`. SpecificationError if they may not use some of it, or it cannot be told
    whether it changes.
    """

    def __init__(self, specification: Specification, inspects: bool = False):
        self._specification = specification
        self._rules = list(_rules(specification))
        self.reachable = Reachable(specification)
        """The code that the specification may run."""
        self._heard = ""
        self._looked_early = False
        self._inspects = inspects or not is_ours(specification)
        if self._inspects:
            self._inspect()

    @cached_property
    def _reached(self) -> Reached:
        return self.reachable.reached(*(run for rule in self._rules for run in rule.runs))

    @property
    def modules(self) -> set[str]:
        """The names of the modules whose functions the rules may run."""
        return {str(each.__globals__.get("__name__")) for each in self._reached.functions}

    def _inspect(self) -> None:
        reached = self._reached
        self.require_allowed(reached)
        named = [each for each in reached.named if self._is_compared(each)]
        named += [Named(each, each.__name__, each, None) for each in reached.functions]
        named += [
            Named(by, name, value, by.__globals__)
            for by in filter(self.reachable.is_user_code, reached.functions)
            for name in by.__code__.co_names
            if isinstance(value := by.__globals__.get(name), FunctionType)  # another may be assigned
        ]
        named += [Named(next(functions_in(each)), "what it keeps", each, None) for each in reached.wrappers]
        places = {(id(each.holder or each.value), each.name): each for each in reversed(named)}
        self._named = [*reversed(places.values())]
        """The first of each place."""
        for rule in self._rules:
            for each in self._functions_of(rule):
                watch(each.__code__, self)
        try:
            self._before = self._digest()
        except CannotTell as unknown:
            raise SpecificationError(self._cannot_tell(unknown)) from None

    def require_allowed(self, reached: Reached) -> None:
        """Require that functions use only what rules may use; SpecificationError if one does not."""
        for use in uses(reached, self.reachable.is_user_code):
            if wrong := forbidden(use, self.reachable.is_user_code):
                raise SpecificationError(self._sentence(use.by, f"uses {wrong}", use.line, MORE))
            if use.value is operator.is_ or use.value is operator.is_not:
                does = f"compares by operator.{use.value.__name__}"
                raise SpecificationError(self._sentence(use.by, does, use.line, WRITE_EQUALS))
        for each in reached.functions if reached.wrappers else ():
            if any("cache_info" in code.co_names for code in codes_of(each.__code__)):
                line = line_of(each, "cache_info")
                raise SpecificationError(self._sentence(each, "asks a cache for cache_info", line, MORE))
        for each in reached.functions:
            for line in comparisons(each):
                raise SpecificationError(self._sentence(each, "compares by `is`", line, WRITE_EQUALS))

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """While this is open, nothing of it may change. If anything fails meanwhile, a change is the reason.
        SpecificationError if something has changed.
        """
        try:
            yield
        except SpecificationError:
            raise
        except Exception as failure:
            if changed := self.changed():
                raise SpecificationError(changed) from failure
            raise
        self.require_unchanged()

    def look_early(self, depth: int, seconds: float) -> None:
        """Compare once when a search has come to some depth and lasts, so that a long one does not end in vain;
        SpecificationError if something has changed.
        """
        if depth > EARLY and seconds >= LONG and not self._looked_early:
            self._looked_early = True
            self.require_unchanged()

    def require_unchanged(self) -> None:
        """Compare everything with its content when this was made; SpecificationError if something has changed."""
        if changed := self.changed():
            raise SpecificationError(changed)

    def changed(self) -> str:
        """What has changed first since this was made, in one line; empty if nothing has."""
        if self._heard or not self._inspects:
            return self._heard
        try:
            changed = next(self._digest().changed_since(self._before), None)
        except CannotTell as unknown:
            return self._cannot_tell(unknown)
        return "" if changed is None else self._about(changed, "", f"it was changed meanwhile; {NOTHING_KEPT}")

    def hear(self, code: CodeType, line: int, event: str) -> str:
        """Keep in mind that this code of a rule turned to something outside; returns a sentence on it."""
        by = next(each for rule in self._rules for each in self._functions_of(rule) if each.__code__ == code)
        self._heard = self._heard or self._sentence(by, f"causes {event}", line, MORE)
        return self._heard

    def _digest(self) -> Digest:
        values: dict[Hashable, Any] = {number: self._now(each) for number, each in enumerate(self._named)}
        name = type(self._specification).__name__
        values[f"{name} itself"] = self._specification
        for cls in filter(self.reachable.is_user_code, classes_of(self._specification)):
            values |= {f"{cls.__name__}.{member}": value for member, value in members_of(cls)}
        numbers = getcontext().copy()
        numbers.clear_flags()
        values["the context of decimal numbers"] = numbers
        return Digest(values, self.reachable.is_user_code)

    def _now(self, named: Named) -> Any:
        if named.value is globals:  # they may be read and written by any name
            return {name: each for name, each in named.by.__globals__.items() if not name.startswith("__")}
        return named.now

    def _is_compared(self, named: Named) -> bool:
        """Whether it is a value in the author's modules: not in an installed one, such as `sys.stdout`."""
        holder = named.holder
        if holder is None:
            return named.name == A_DEFAULT or named.value is globals
        if not isinstance(holder, Mapping) or "__spec__" not in holder:
            return True
        return self.reachable.is_user_code(holder.get("__name__", ""))

    def _cannot_tell(self, unknown: CannotTell) -> str:
        return self._about(unknown.name, f", {unknown}", f"it cannot be told whether it changes; {NOTHING_KEPT}")

    def _about(self, name: Hashable, what: str, why: str) -> str:
        """A sentence on a value with this name in a digest."""
        if not isinstance(name, int):
            return f"{name}{what}: {why}"
        named = self._named[name]
        return self._sentence(named.by, f"looks at {named.name}{what}", line_of(named.by, named.name), why)

    def _sentence(self, by: Any, does: str, line: int, why: str) -> str:
        """What a function does wrong, with the first rule that runs it."""
        reaching = (each for each in self._rules if by in self.reachable.reached(*each.runs).functions)
        rule = next(reaching, None)
        if rule is None or by not in self._functions_of(rule):
            does = f"runs {by.__name__}, which {does}"
        place = f"{Path(by.__code__.co_filename).name}, line {line}"
        return f"{rule.name if rule else 'a rule'} of {type(self._specification).__name__} {does} ({place}): {why}"

    def _functions_of(self, rule: Rule) -> set[FunctionType]:
        """The author's own functions that a rule is made of."""
        found, waiting = set[FunctionType](), [each for run in rule.runs for each in functions_in(run)]
        while waiting:
            function = waiting.pop()
            if self.reachable.is_user_code(function):
                found.add(function)
            else:  # the language wraps it
                inner = map(contents_of, function.__closure__ or ())
                waiting += [each for value in inner for each in functions_in(value)]
        return found


def _rules(specification: Specification) -> Iterator[Rule]:
    for action in specification.actions:
        yield Rule(f"action {action.name}", tuple(each.run for each in action.instances[:1]))
    for judged in specification.properties:
        yield Rule(f"{judged.kind.replace('_', ' ')} {judged.name}", tuple(each.run for each in judged.instances[:1]))
    yield Rule("initial", tuple(specification.initial_methods))


# Outside of this process.


INSIDE: Final = {
    *("array", "builtins", "code", "compile", "cpython", "ctypes", "exec", "function", "gc", "import", "marshal"),
    *("object", "pickle", "sys", "time"),
    *("builtins.id", "object.__getattr__"),
}
"""The first words of the events that concern this process alone, and the events that are frequent."""
READERS: Final = frozenset({"importlib", "linecache", "logging", "warnings", "zipimport"})
"""Packages of Python that may open files meanwhile."""
_WATCHED: Final = dict[CodeType, WeakSet[Any]]()
"""By the code of a rule, who hears of it."""
_FILES: Final = set[str]()
"""The files with that code: asking for a name first is much faster, since Python hashes code anew each time."""


def watch(code: CodeType, watcher: Any) -> None:
    """From now on this code, and what it calls, may not turn to anything outside; `watcher.hear` finds the words."""
    if not _WATCHED:
        sys.addaudithook(_refuse)  # for good: Python cannot remove it
    _FILES.add(code.co_filename)
    _WATCHED.setdefault(code, WeakSet()).add(watcher)


def _refuse(
    event: str,
    given: tuple[Any, ...],
    inside: Set[str] = INSIDE,  # a default is still there when Python ends
    watched: dict[CodeType, WeakSet[Any]] = _WATCHED,
    files: Set[str] = _FILES,
    this_frame: Callable[[int], FrameType | None] = sys._getframe,
) -> None:
    """Refuse an event if a rule causes it."""
    if event in inside or event.partition(".")[0] in inside:
        return
    cause = frame = this_frame(1)
    while frame is not None and not (frame.f_code.co_filename in files and frame.f_code in watched):
        frame = frame.f_back
    if frame is None or (event == "open" and isinstance(given[0], str) and is_installed_file(given[0])):
        return
    while cause is not None and cause is not frame:
        if str(cause.f_globals.get("__name__")).partition(".")[0] in READERS:
            return
        cause = cause.f_back
    told = [
        each.hear(frame.f_code, frame.f_lineno, f"{event}({safe_repr(given[0]) if given else ''})")
        for each in watched[frame.f_code]
    ]
    if told:
        raise SpecificationError(told[0])


# Identity.


WRITE_EQUALS: Final = "equal values need not be one object: write `==`"
_BY_IDENTITY: Final[object] = object.__eq__


def comparisons(function: FunctionType) -> Iterator[int]:
    """The lines in which a function compares by `is`, and neither side is allowed.

    In `__eq__` it only saves time.
    """
    for code in codes_of(function.__code__):
        if opmap["IS_OP"] not in code.co_code[::2] or function.__name__ in ("__eq__", "__ne__"):
            continue
        instructions = [each for each in get_instructions(code) if each.opname not in ("CACHE", "EXTENDED_ARG")]
        for at, each in enumerate(instructions):
            if each.opname == "IS_OP":
                right = _start(instructions, at)
                left = _start(instructions, right)
                sides = instructions[left:right], instructions[right:at]
                if not any(_is_one_object(_value(function, code, side, instructions)) for side in sides):
                    yield line(each, code)


def _start(instructions: list[Instruction], end: int) -> int:
    """Where the operand begins whose last instruction is before this one, if it has no branch."""
    depth, at = 0, end
    while depth < 1 and at:
        at -= 1
        each = instructions[at]
        depth += stack_effect(each.opcode, each.arg, jump=False)
    return at


def _value(function: FunctionType, code: CodeType, side: list[Instruction], every: list[Instruction]) -> Any:
    """The value of an operand, if it is known before the code runs. For the class of a value, `type` stands in."""
    first, *others = [each for each in side if each.opname not in PASSED_OVER]
    flags = code.co_flags
    given = code.co_argcount + code.co_kwonlyargcount + bool(flags & CO_VARARGS) + bool(flags & CO_VARKEYWORDS)
    if first.opname == "LOAD_FAST" and not others and first.argval not in code.co_varnames[:given]:
        stores = [at for at, each in enumerate(every) if each.opname == "STORE_FAST" and each.argval == first.argval]
        made = [_value(function, code, every[_start(every, at) : at], []) is object for at in stores]
        return object if made and all(made) else UNKNOWN  # as in `missing = object()`
    value = value_of(function, code, first, UNKNOWN)
    if others and others[-1].argval == "__class__":
        return type
    if others and others[-1].opname == "CALL" and (value is type or value is object):
        return value
    for each in others:
        value = value_of(function, code, each, value) if each.opname in DOTS else UNKNOWN
    return value


def _is_one_object(value: Any) -> bool:
    """Whether whatever equals a value is this very object."""
    return isinstance(value, bool | type | Enum) or type(value).__eq__ is _BY_IDENTITY
