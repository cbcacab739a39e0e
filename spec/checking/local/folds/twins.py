"""Twins: functions of a specification, rewritten, with the same globals, defaults and closure.

A twin is made from the function's source, and nothing of the author's module is run again. The source is compiled
once as it stands, too: unless that gives the very code that the function has, the file has changed, or something else
than the file made the function, and there is no twin.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import linecache
from collections.abc import Iterator, Mapping
from functools import cache, partial, reduce
from inspect import CO_NESTED
from operator import or_
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, Final, NamedTuple, cast

from spec.checking.code.reachable import Reachable, codes_of
from spec.checking.local.folds.purity import Purity
from spec.checking.local.folds.rewriting import CONSUMING, DECIDING, MEMBERS, TWIN, Scope, rewritten
from spec.checking.local.folds.speculation import Speculation
from spec.language import part

_SEES_LOCALS: Final = {"dir", "eval", "exec", "locals", "vars"}
"""Builtins that see the variables of their caller, among which a twin has its own."""
_FUTURE: Final = reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))

_PARTS: Final = (
    *("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)
"""What makes a code, besides its constants and flags."""


class Twins:
    """The twins of a specification's functions, made when they are first asked for."""

    def __init__(self, reachable: Reachable):
        self._reachable = reachable
        self._twins: dict[FunctionType, FunctionType] = {}
        self._made = set[CodeType]()
        """The code of twins, and of the functions inside them."""
        real = {name: getattr(builtins, builtin) for builtin, name in DECIDING.items()}
        members = Speculation(Purity(reachable, syntax_of)).members
        self._cells = {name: CellType(value) for name, value in {**real, MEMBERS: members, TWIN: self.of}.items()}

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
        twin = self._rewritten(function) if self._reachable.is_user_code(function) or its == part.__name__ else None
        self._twins[function] = function if twin is None else twin
        return self._twins[function]

    def _rewritten(self, function: FunctionType) -> FunctionType | None:
        code, source = function.__code__, _source_of(function.__code__)
        if source is None or any(
            isinstance(each, ast.Name) and each.id in _SEES_LOCALS for each in ast.walk(source.node)
        ):
            return None
        known = {*code.co_freevars, *(CONSUMING & function.__globals__.keys())}
        twin_source = source._replace(node=rewritten(source.node, known))
        made = _compiled(twin_source, code, (*code.co_freevars, *self._cells))
        self._made.update(codes_of(made))
        cells: Mapping[str, CellType] = {
            **self._cells,
            **dict(zip(code.co_freevars, function.__closure__ or (), strict=True)),
        }
        closure = tuple(cells[name] for name in made.co_freevars)
        twin = FunctionType(made, function.__globals__, function.__name__, function.__defaults__, closure)
        twin.__kwdefaults__, twin.__qualname__ = function.__kwdefaults__, function.__qualname__
        return twin


class Source(NamedTuple):
    """The source of a function."""

    node: Scope
    cls: str
    """The class around it, by whose name Python mangles private names."""


def syntax_of(function: FunctionType) -> ast.AST | None:
    """The syntax tree of a function; None if its source is not known."""
    source = _source_of(function.__code__)
    return None if source is None else source.node


@cache
def _source_of(code: CodeType) -> Source | None:
    """The source from which this code was compiled."""
    for node, cls in _functions_at(_tree_of(code.co_filename), code.co_firstlineno, "_"):
        if code.co_name == (node.name if isinstance(node, ast.FunctionDef) else "<lambda>"):
            source = Source(node, cls)
            if _is_same(_compiled(source, code, code.co_freevars), code):
                return source
    return None


@cache
def _tree_of(file: str) -> ast.AST:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


@cache
def _imports_of(file: str) -> tuple[ast.stmt, ...]:
    """The statements of a file that import at its top level."""
    found, waiting = list[ast.stmt](), [_tree_of(file)]
    while waiting:
        match waiting.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.expr():
                pass
            case ast.ImportFrom(module="__future__"):  # the flags of a code have these
                pass
            case (ast.Import() | ast.ImportFrom()) as found_one:
                found.append(found_one)
            case other:
                waiting += ast.iter_child_nodes(other)
    return tuple(found)


def _functions_at(node: ast.AST, line: int, cls: str) -> Iterator[tuple[Scope, str]]:
    """The functions that begin on a line, each with the name of the class around it."""
    for each in ast.iter_child_nodes(node):
        first = min(
            (one.lineno for one in (each, *getattr(each, "decorator_list", ())) if hasattr(one, "lineno")),
            default=line,
        )
        if isinstance(each, ast.FunctionDef | ast.Lambda) and first == line:
            yield each, cls
        if first <= line <= (getattr(each, "end_lineno", None) or line):
            yield from _functions_at(each, line, each.name if isinstance(each, ast.ClassDef) else cls)


def _compiled(source: Source, code: CodeType, closure: tuple[str, ...]) -> CodeType:
    """The code of a function, compiled where this code was: in a class, in a function with these variables."""
    inner = source.node if isinstance(source.node, ast.FunctionDef) else ast.Expr(source.node)
    cls = ast.ClassDef(source.cls, [], [], [inner], [])
    around = ast.FunctionDef(
        "around", ast.arguments([], [ast.arg(name) for name in closure], None, [], [], None, []), [cls], []
    )
    # The compiler calls what is imported at the top of a module in another way than methods.
    module = ast.fix_missing_locations(ast.Module([*_imports_of(code.co_filename), cast("ast.stmt", around)], []))
    found: CodeType = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)
    for name in (around.name, source.cls, code.co_name):
        found = next(each for each in found.co_consts if isinstance(each, CodeType) and each.co_name == name)
    return found


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
