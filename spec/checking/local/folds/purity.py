"""Purity: which bodies may be tried for elements and values that the state may not have, and trying them.

A body is *pure* if nobody notices that it was evaluated: it assigns to nothing outside itself, changes nothing in
place, says nothing, and consumes no iterator. Its syntax must have only the forms listed here. The functions that it
may run (`spec.checking.code.reachable`) must have only these as well, and whatever else it calls must be listed. The
variables around it must hold values that stay the same when they are used.

Everything else that code reads is constant by the rules of a specification (`spec.checking.code.hidden_state`).
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from functools import cache
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, Final

from spec.checking.code.reachable import PLAIN, Reachable, Reached
from spec.checking.local.lazy import Lazy, LazySet, lazy_record
from spec.language.cells import TotalMapping
from spec.language.domains import Subset
from spec.language.part import Part
from spec.language.state import State
from spec.language.words import bound, require, where

_EXPRESSIONS: Final = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred, ast.Call, ast.keyword),
    *(ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.boolop, ast.operator, ast.unaryop, ast.cmpop),
    *(ast.Tuple, ast.List, ast.Set, ast.Dict, ast.JoinedStr, ast.FormattedValue, ast.Lambda, ast.arguments, ast.arg),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.expr_context),
)
_STATEMENTS: Final = (
    *(ast.Return, ast.If, ast.For, ast.Pass, ast.Continue, ast.Break, ast.Expr, ast.Assign, ast.AnnAssign),
    *(ast.AugAssign, ast.Raise, ast.Assert),
)
"""The forms of a pure function. One that loops with `while` might not end for an element that no set has."""
_OF_TURNS: Final = (ast.Assign, ast.AugAssign, ast.Continue, ast.Expr, ast.For, ast.If, ast.Pass, ast.Return)
"""The statements of a loop's turn that does nothing but assign to variables, or return."""
_IN_PLACE: Final = frozenset(
    name
    for kind in (list, set, dict)
    for name in dir(kind)
    if not name.startswith("_") and not (hasattr(tuple, name) or hasattr(frozenset, name))
) - {"get", "items", "keys", "values"}
"""Methods that change a container."""
_PURE_MEMBERS: Final = frozenset(
    name for kind in (tuple, frozenset, str, int) for name in dir(kind) if not name.startswith("_")
) | {"get", "items", "keys", "values", "_replace", "_asdict"}
_PURE: Final = frozenset(
    {
        *(abs, all, any, bool, dict, divmod, enumerate, filter, float, frozenset, int, isinstance, issubclass, len),
        *(list, map, max, min, ord, pow, range, repr, reversed, round, set, slice, sorted, str, sum, tuple, zip),
        *(require, bound, where, Exception, ArithmeticError, AssertionError, KeyError, RuntimeError, ValueError),
        *(itertools.accumulate, itertools.chain, itertools.combinations, itertools.groupby, itertools.pairwise),
        *(itertools.permutations, itertools.product, itertools.starmap, itertools.zip_longest),
        *(each for each in vars(math).values() if callable(each)),
    }
)
"""Functions and classes that may be called."""


def is_pure(node: ast.AST, local: Collection[str]) -> bool:
    """Whether an expression has only pure forms, as far as its syntax says, and calls none of these variables."""
    return all(isinstance(each, _EXPRESSIONS) and _is_pure_form(each, local) for each in ast.walk(node))


def is_pure_turn(loop: ast.For, local: Collection[str]) -> bool:
    """Whether a loop's body does nothing but assign to variables, or return.

    `+=` changes a list in place. The variables that a turn gets hold simple values, but others must be its own.
    """
    others = _bound_in(loop.target) | _bound_otherwise(loop.body)
    return all(
        isinstance(each, _EXPRESSIONS + _OF_TURNS)
        and _is_pure_form(each, local)
        and not (isinstance(each, ast.AugAssign) and not others.isdisjoint(_bound_in(each.target)))
        for statement in loop.body
        for each in ast.walk(statement)
    )


def _is_pure_form(node: ast.AST, local: Collection[str]) -> bool:
    match node:
        case ast.Attribute(_, member, context):
            return isinstance(context, ast.Load) and member not in _IN_PLACE
        case ast.Subscript(ctx=context):
            return isinstance(context, ast.Load)
        case ast.Call(ast.Name(name)):
            return name not in local
        case ast.Call(function):
            return isinstance(function, ast.Attribute)
        case ast.comprehension():
            return not node.is_async
    return True


def called_members(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    """The names after a dot that are called in these, without those that are pure whatever has them."""
    found = dict.fromkeys(
        each.func.attr
        for node in nodes
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
    )
    return tuple(name for name in found if name not in _PURE_MEMBERS)


class Purity:
    """Tells which probes are pure. `node_of` finds the syntax tree of a function; None if its source is not known."""

    def __init__(self, reachable: Reachable, node_of: Callable[[FunctionType], ast.AST | None]):
        self._reachable, self._node_of = reachable, node_of
        self._known: dict[tuple[CodeType, int], bool] = {}
        """By code, and by the globals: equal code may stand in two modules."""
        self._is_pure_function = cache(self._judged)

    def of(self, probe: FunctionType, calls: Collection[str]) -> bool:
        """Whether a probe that calls these members is pure in any state; its variables are another question."""
        key = probe.__code__, id(probe.__globals__)
        known = self._known.get(key)
        if known is None:
            # Not the probe itself: looking into its variables would read the state.
            closure = tuple(CellType() for _ in probe.__code__.co_freevars)
            stand_in = FunctionType(probe.__code__, probe.__globals__, closure=closure)
            reached = self._reachable.reached(stand_in)
            functions = [each for each in reached.functions if each is not stand_in]
            known = self._known[key] = (
                not reached.wrappers  # a cache would keep results for assumed values
                and all(map(self._is_pure_function, functions))
                and all(self._may_be_named(each.value) for each in reached.named)
                and {*calls, *(name for each in functions for name in self._calls_of(each))} <= _names(reached)
            )
        return known

    def _calls_of(self, function: FunctionType) -> tuple[str, ...]:
        node = self._node_of(function)
        return called_members(node.body if isinstance(node, ast.FunctionDef) else [node] if node else ())

    def _may_be_named(self, value: Any) -> bool:
        """Whether a value may be called, or is none that could be."""
        if not callable(value) or isinstance(value, MethodType):  # a method's function is judged by itself
            return True
        if isinstance(value, type) and self._reachable.is_user_code(value):
            return True
        try:
            return value in _PURE
        except TypeError:
            return False

    def _judged(self, function: FunctionType) -> bool:
        node = self._node_of(function)
        if isinstance(node, ast.Lambda):
            return is_pure(node.body, _bound_in(node))
        if not isinstance(node, ast.FunctionDef):
            return False
        local, fresh = _bound_in(node), _fresh_names(node)
        return all(
            isinstance(each, _EXPRESSIONS + _STATEMENTS)
            and _is_pure_form(each, local)
            and not (isinstance(each, ast.AugAssign) and not fresh.issuperset(_bound_in(each.target)))
            for statement in node.body
            for each in ast.walk(statement)
        )


def _bound_in(function: ast.AST) -> set[str]:
    return {
        each.arg if isinstance(each, ast.arg) else each.id
        for each in ast.walk(function)
        if isinstance(each, ast.arg) or (isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    }


def _fresh_names(function: ast.FunctionDef) -> set[str]:
    """Variables that hold nothing but what the function itself made, so that it may change them in place."""
    parameters = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
    stores = {
        each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return stores - _bound_otherwise(function.body) - parameters


def _bound_otherwise(body: Sequence[ast.stmt]) -> set[str]:
    """Variables that these statements bind to something that they have not made themselves."""
    nodes = [each for statement in body for each in ast.walk(statement)]
    made = (ast.Constant, ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.BinOp)
    assigned = {
        id(each.targets[0]): isinstance(each.value, made)
        for each in nodes
        if isinstance(each, ast.Assign) and len(each.targets) == 1
    }
    augmented = {id(each.target) for each in nodes if isinstance(each, ast.AugAssign)}
    stores = [each for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    return {each.id for each in stores if id(each) not in augmented and not assigned.get(id(each))}


def _names(reached: Reached) -> set[str]:
    """The names after a dot that are known to mean something that is judged."""
    return {each.__name__ for each in reached.functions} | {each.name.rpartition(".")[2] for each in reached.named}


def stays(value: Any) -> bool:
    """Whether a value, and all that it holds, stays the same when it is read, asked and iterated over."""
    kind = type(value)
    if kind in PLAIN or kind is range or issubclass(kind, Lazy | State | Part | TotalMapping | Enum | type):
        return True
    if issubclass(kind, tuple):
        is_plain = kind is tuple or (hasattr(kind, "_fields") and lazy_record(kind) is not None)
        return is_plain and all(map(stays, tuple.__iter__(value)))
    if kind in (frozenset, Subset):
        return all(map(stays, frozenset.__iter__(value)))
    if kind in (list, set):
        return all(map(stays, value))
    return kind is dict and all(map(stays, value)) and all(map(stays, value.values()))


# Trying bodies.


PATIENCE: Final = 100
"""Elements that all mattered to a body, after which it is no longer tried."""
BREADTH: Final = 4_096
"""The most elements for which a body within a body is tried, counted for all elements of the outer set."""


class Speculation:
    """Tries the bodies of folds before memberships are read."""

    def __init__(self, purity: Purity):
        self._purity = purity
        self._in_vain: dict[CodeType, int] = {}
        """By probe, how many elements it was tried for as long as all of them mattered; -1 if some did not."""

    def members(
        self, of: Any, probe: Callable[[Any], Iterator[Any]], calls: Collection[str], holds: bool = True
    ) -> Any:
        """What a fold iterates over, without elements that do not matter to it. Anything but a state's set remains as
        it is. The probe is a generator for one element, which yields something true if the element matters; it says
        what the fold does only if it `holds`.
        """
        if type(of) is not LazySet or not holds:
            return of
        assert isinstance(probe, FunctionType)
        return self._mattering(of, probe) if self._purity.of(probe, calls) else of

    def _mattering(self, of: LazySet, probe: FunctionType) -> Iterator[Any]:
        seen, may_be_tried = of._seen, variables_stay(probe)
        for element, member in zip(of._lens.order, of._members, strict=True):
            if type(member) is bool:
                there = member
            elif member in seen or not may_be_tried or self._matters(of, probe, element):
                there = seen[member] == 1
            else:
                there = False
                seen.left_out.add(member)
            if there:
                yield element
                may_be_tried = variables_stay(probe)  # others may have assigned to them

    def _matters(self, of: LazySet, probe: FunctionType, element: Any) -> bool:
        """Whether an element matters, or nobody can say without reading more.

        A path must read the same whenever it is recorded. So a body is given up only if no element was ever left out.
        """
        seen, in_vain = of._seen, self._in_vain.get(probe.__code__, 0)
        trying, elements = seen.trying, len(of._members)
        if in_vain >= PATIENCE or trying * elements > BREADTH:
            return True
        seen.trying = max(trying, 1) * elements
        try:
            matters = any(probe(element))
        except KeyboardInterrupt:
            raise
        except BaseException:  # also that more must be read; if the element is a member, its turn raises again
            matters = True
        finally:
            seen.trying = trying
        if in_vain >= 0:
            self._in_vain[probe.__code__] = in_vain + 1 if matters else -1
        return matters


def variables_stay(function: FunctionType) -> bool:
    """Whether the variables around a function hold values that stay the same when they are used."""
    closure = function.__closure__
    return closure is None or all(map(_cell_stays, function.__code__.co_freevars, closure))


def _cell_stays(name: str, cell: Any) -> bool:
    if name.startswith("."):  # ours
        return True
    try:
        return stays(cell.cell_contents)
    except ValueError:  # not assigned yet
        return True
