"""Twins: functions of a specification, rewritten, with the same globals, defaults and closure.

Nothing of the author's module is run again, and nothing in it is replaced.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from spec.checking.code.reachable import Reachable, codes_of
from spec.checking.local.folds.aggregates import Aggregates
from spec.checking.local.folds.aggregation import Aggregation
from spec.checking.local.folds.purity import Purity
from spec.checking.local.folds.rewriting import (
    ACCUMULATE,
    AGGREGATE,
    CONSUMING,
    DECIDING,
    MEMBERS,
    SET,
    TWIN,
    rewritten,
)
from spec.checking.local.folds.sources import Sources
from spec.checking.local.folds.speculation import Speculation
from spec.checking.local.lazy import ReadSlots
from spec.language import part


class Twins:
    """The twins of a specification's functions, made when they are first asked for.

    Args:
        reachable: finds the functions that a function may run.
        aggregates: receives the aggregates that twins read.
        reads: what the present evaluation has read.
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
