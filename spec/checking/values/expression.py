"""A Python expression about a state, as a person writes it on the command line: `s.zk.epoch > 2`.

`s` is the state, `self` the specification with its constants. The names of the specification's module are available.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from spec.language.errors import UsageError, error_text
from spec.language.specification import Specification
from spec.language.state import State

GIVEN: Final = ("self", "s")
"""The names with which an expression is evaluated."""


class NotKnown(UsageError):
    """An expression contains an unknown name."""

    def __init__(self, written: str, name: str):
        super().__init__(f"{written}: {name} is not known; s is the state, self the specification")
        self.name = name


def function_of(specification: Specification, written: str) -> Callable[[Specification, State], Any]:
    """The function with this expression as its body. NotKnown if it contains an unknown name, UsageError if it is not
    a Python expression; the message says why.
    """
    try:
        tree = ast.parse(written, mode="eval")
        function = ast.Expression(ast.Lambda(args=_parameters(), body=tree.body))
        code = compile(ast.fix_missing_locations(function), "<expression>", "eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as failure:
        why = failure.msg if isinstance(failure, SyntaxError) else error_text(failure)
        raise UsageError(f"it is not a Python expression: {why}") from None
    known = _names_in(specification)
    for name in _free_names(tree):
        if name not in known and not hasattr(builtins, name):
            raise NotKnown(written, name)
    made: Callable[[Specification, State], Any] = eval(code, dict(known))
    return made


def _parameters() -> ast.arguments:
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in GIVEN], kwonlyargs=[], kw_defaults=[], defaults=[]
    )


def _names_in(specification: Specification) -> Mapping[str, Any]:
    """The names in the modules of a specification's classes; of equal names, the nearest module's wins."""
    known: dict[str, Any] = {}
    for cls in reversed(type(specification).__mro__):
        if not cls.__module__.startswith("spec.language") and cls.__module__ in sys.modules:
            known |= {name: each for name, each in vars(sys.modules[cls.__module__]).items() if name[:2] != "__"}
    return known


def _free_names(tree: ast.Expression) -> Iterator[str]:
    """The names that it reads without binding them, except `self` and `s`."""
    nodes = list(ast.walk(tree))
    bound = {each.id for each in nodes if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    bound |= {each.arg for each in nodes if isinstance(each, ast.arg)} | {*GIVEN}
    return (each.id for each in nodes if isinstance(each, ast.Name) and each.id not in bound)
