"""Twins: functions of a specification, rewritten, with the same globals, defaults and closure.

Nothing of the author's module is run again, and nothing in it is replaced. A twin is made of the syntax tree from
which the function's code was compiled. That tree is compiled as it stands, too. Unless that gives the very code that
the function has, the file has changed, or something else than the file made the function, and its source is not
known.
"""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from inspect import CO_NESTED
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, Final, NamedTuple, cast

from spec.checking.code.reachable import Reachable, codes_of
from spec.checking.local.folds.aggregates import Aggregates
from spec.checking.local.folds.aggregation import Aggregation
from spec.checking.local.folds.purity import Purity, Speculation
from spec.checking.local.folds.rewriting import (
    ACCUMULATE,
    AGGREGATE,
    CONSUMING,
    DECIDING,
    MEMBERS,
    SET,
    TWIN,
    Scope,
    rewritten,
)
from spec.checking.local.lazy import ReadSlots
from spec.language import part


class Twins:
    """The twins of a specification's functions, made when they are first asked for. They read aggregates; `reads` is
    what the present evaluation has read.
    """

    def __init__(self, reachable: Reachable, aggregates: Aggregates, reads: Callable[[], ReadSlots]):
        self._reachable, self._sources = reachable, Sources()
        self._twins: dict[FunctionType, FunctionType] = {}
        self._made = set[CodeType]()
        """The code of twins, and of the functions inside them."""
        real = {name: getattr(builtins, builtin) for builtin, name in DECIDING.items()}
        purity = Purity(reachable, self._sources.syntax_of)
        aggregation = Aggregation(purity, aggregates, reads)
        ours = {
            MEMBERS: Speculation(purity).members,
            AGGREGATE: aggregation.aggregate,
            ACCUMULATE: aggregation.accumulate,
            TWIN: self.of,
            SET: set,
        }
        self._cells = {name: CellType(value) for name, value in {**real, **ours}.items()}

    def of(self, function: Any) -> Any:
        """What to call instead of this: a twin if it is an author's function or method, otherwise the same."""
        if type(function) is FunctionType:
            twin = self._twins.get(function)
            return self._of(function) if twin is None else twin
        if type(function) is partial:
            return partial(self.of(function.func), *function.args, **function.keywords)
        if type(function) is MethodType and type(function.__func__) is FunctionType:
            return MethodType(self.of(function.__func__), function.__self__)
        return function

    def _of(self, function: FunctionType) -> FunctionType:
        if function.__code__ in self._made:  # a function inside a twin
            return function
        its = function.__globals__.get("__name__")  # the language wraps methods that have `where=` and the like
        twin = None
        if self._reachable.is_user_code(function) or its == part.__name__:
            with suppress(RecursionError):  # it is nested too deeply
                twin = self._rewritten(function)
        self._twins[function] = function if twin is None else twin
        return self._twins[function]

    def _rewritten(self, function: FunctionType) -> FunctionType | None:
        """The twin; None if the function must stay as it is."""
        code, source = function.__code__, self._sources.of_code(function.__code__)
        if source is None:
            return None
        known = {*code.co_freevars, *(CONSUMING & function.__globals__.keys())}
        twin_source = source._replace(node=rewritten(source.node, known))
        made = twin_source.compiled(code, (*code.co_freevars, *self._cells))
        assert made is not None
        self._made.update(codes_of(made))
        cells = {**self._cells, **dict(zip(code.co_freevars, function.__closure__ or (), strict=True))}
        closure = tuple(cells[name] for name in made.co_freevars)
        twin = FunctionType(made, function.__globals__, function.__name__, function.__defaults__, closure)
        twin.__kwdefaults__, twin.__qualname__ = function.__kwdefaults__, function.__qualname__
        return twin


# Sources.


_FUTURE: Final = annotations.compiler_flag
"""The one flag of code for `from __future__ import` that still makes a difference."""
_PARTS: Final = (
    *("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)
"""What makes a code, besides its constants and flags."""


class Source(NamedTuple):
    """The source of a function."""

    node: Scope
    cls: str
    """The class around it, by whose name Python mangles private names."""
    imports: Sequence[ast.stmt]
    """The imports at the top level of its file: the compiler calls what they import in another way than methods."""

    def compiled(self, code: CodeType, variables: Sequence[str]) -> CodeType | None:
        """Code in the place of another: in a class, in a function with these variables; None if it is not found."""
        inner = self.node if isinstance(self.node, ast.FunctionDef) else ast.Expr(self.node)
        given = ast.arguments([], [ast.arg(name) for name in variables], None, [], [], None, [])
        around = ast.FunctionDef("around", given, [ast.ClassDef(self.cls, [], [], [inner], [])], [])
        module = ast.fix_missing_locations(ast.Module([*self.imports, cast("ast.stmt", around)], []))
        found: CodeType | None
        found = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)
        for name in (around.name, self.cls, code.co_name):
            consts = found.co_consts if found else ()
            found = next((each for each in consts if isinstance(each, CodeType) and each.co_name == name), None)
        return found


class Sources:
    """Finds sources, and reads each file once."""

    def __init__(self) -> None:
        self.of_code = cache(self._of_code)
        """The source from which a code was compiled; None if it is not known."""
        self._tree_of = cache(_tree_of)
        self._imports_of = cache(lambda file: tuple(_imports_in(self._tree_of(file))))

    def syntax_of(self, function: FunctionType) -> Scope | None:
        """The syntax tree of a function; None if it is not known."""
        source = self.of_code(function.__code__)
        return None if source is None else source.node

    def _of_code(self, code: CodeType) -> Source | None:
        file = code.co_filename
        for node, cls in _functions_at(self._tree_of(file), code.co_firstlineno, "_"):
            source = Source(node, cls, self._imports_of(file))
            if code.co_name != getattr(node, "name", "<lambda>"):
                continue
            if _is_same(source.compiled(code, code.co_freevars), code):
                return source
        return None


def _tree_of(file: str) -> ast.AST:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _imports_in(node: ast.AST) -> Iterator[ast.stmt]:
    """The imports at the top level of a module, also those under a condition."""
    for each in ast.iter_child_nodes(node):
        match each:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.ImportFrom(module="__future__"):
                pass
            case ast.Import() | ast.ImportFrom():
                yield each
            case ast.stmt() | ast.excepthandler() | ast.match_case():
                yield from _imports_in(each)


def _functions_at(node: ast.AST, line: int, cls: str) -> Iterator[tuple[Scope, str]]:
    """The functions that begin on a line, each with the name of the class around it."""
    for each in ast.iter_child_nodes(node):
        begins = [one.lineno for one in (each, *getattr(each, "decorator_list", ())) if hasattr(one, "lineno")]
        first = min(begins, default=line)
        if isinstance(each, ast.FunctionDef | ast.Lambda) and first == line:
            yield each, cls
        if first <= line <= (getattr(each, "end_lineno", None) or line):
            yield from _functions_at(each, line, each.name if isinstance(each, ast.ClassDef) else cls)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two codes, or constants of them, do the same."""
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return (
            all(getattr(one, name) == getattr(other, name) for name in _PARTS)
            and one.co_flags | CO_NESTED == other.co_flags | CO_NESTED  # it stands in another function
            and len(one.co_consts) == len(other.co_consts)
            and all(map(_is_same, one.co_consts, other.co_consts))
        )
    return type(one) is type(other) and repr(one) == repr(other)
