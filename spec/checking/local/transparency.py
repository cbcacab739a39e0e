"""Transparency: finds in their code which actions and properties treat lazy values like plain ones.

A lazy value behaves like the plain one where Python permits it. It cannot have its exact type or its identity. `%`
with a text takes it for one value where a tuple is several. Code that is not written in Python may reject it, or
bypass its methods; and the author's own code may catch such an exception. A rule with such code is *opaque*: it gets
plain values from the start. Cases that are not found here show when paths are compared (`plain_comparison`): then the
rule becomes opaque, and exploring begins again.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from opcode import opmap
from types import FunctionType
from typing import Any, Final

from spec.checking.code.reachable import Named, Reachable, codes_of
from spec.checking.model import Model
from spec.language.rules import Action, Property

ASKS_WHAT_IT_IS: Final = (type, id, eval, exec, compile, memoryview)
"""Functions of Python itself that distinguish a lazy value from a plain one."""
KNOWN: Final = {
    *("abc", "bisect", "builtins", "collections", "copy", "dataclasses", "enum", "functools", "heapq", "itertools"),
    *("logging", "math", "operator", "spec", "transitions", "types", "typing", "typing_extensions"),
}
"""Packages whose functions treat lazy values like plain ones."""
REFUSALS: Final = (TypeError, AttributeError, RecursionError)
"""The exceptions with which code rejects a lazy value."""
_REMAINDER: Final = opmap["BINARY_OP"], {6, 19}
"""The instruction, and its arguments for `%` and `%=`."""


def opaque(model: Model) -> dict[str, str]:
    """The actions and properties that need plain values, by name, with the reason."""
    reachable = model.hidden_state.reachable
    rules: tuple[Action | Property, ...] = (*model.actions, *model.properties)
    runs = {rule.name: rule.instances[0].run for rule in rules if rule.instances}
    every = reachable.reached(*runs.values())
    named: dict[FunctionType, list[Named]] = {}
    for each in every.named:
        named.setdefault(each.by, []).append(each)
    wrong = {
        function: why
        for function in every.functions
        if (why := _opacity(function, named.get(function, []), reachable))
    }
    found = {}
    for name, run in runs.items() if wrong else ():
        reached = reachable.reached(run).functions
        if first := next((function for function in reached if function in wrong), None):
            found[name] = f"{first.__qualname__} {wrong[first]}"
    return found


def _opacity(function: FunctionType, named: list[Named], reachable: Reachable) -> str:
    """What a function does that does not work with lazy values; empty if there is none."""
    for each in named:
        if any(each.value is asks for asks in ASKS_WHAT_IT_IS):
            return f"calls {each.name}"
        if not _is_known(each.value, reachable):
            return f"calls {each.name}, whose behaviour is unknown"
    if _formats(function, named):
        return "puts a text together with %"
    if swallowed := _swallowed(function, named):
        return f"catches {swallowed}"
    return ""


def _is_known(value: Any, reachable: Reachable) -> bool:
    """Whether lazy values are safe here: it is no function, a known one, or the author's, whose code is inspected."""
    if not callable(value) or (isinstance(value, type) and issubclass(value, BaseException)):
        return True
    module = str(getattr(value, "__module__", None) or type(value).__module__)
    return reachable.is_user_code(module) or module.partition(".")[0].removeprefix("_") in KNOWN


def _formats(function: FunctionType, named: list[Named]) -> bool:
    """Whether a text might be formatted with `%`."""
    operators, inner = _REMAINDER, list(codes_of(function.__code__))
    if not any(
        operation == operators[0] and argument in operators[1]
        for code in inner
        for operation, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True)
    ):
        return False
    texts = [*(const for code in inner for const in code.co_consts), *(each.value for each in named)]
    return any(isinstance(text, str | bytes) and "%" in str(text) for text in texts)


def _swallowed(function: FunctionType, named: list[Named]) -> str:
    """The exceptions that a function catches, if the rejection of a lazy value may be among them; otherwise empty."""
    if not any(code.co_exceptiontable for code in codes_of(function.__code__)):
        return ""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function.__code__)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return "something that is not known: its source cannot be read"
    names = {each.name: each.value for each in named}
    for tried in ast.walk(tree):
        if not isinstance(tried, ast.Try | ast.TryStar):
            continue
        for handler in tried.handlers:
            # A handler that raises again hides nothing: the resulting exception is compared.
            if not isinstance(handler.body[-1], ast.Raise) and _may_catch(handler.type, names):
                return "everything" if handler.type is None else ast.unparse(handler.type)
        if any(
            isinstance(node, ast.Return | ast.Break | ast.Continue)
            for end in tried.finalbody
            for node in ast.walk(end)
        ):
            return "everything: its `finally` goes elsewhere"
    return ""


def _may_catch(caught: ast.expr | None, names: dict[str, Any]) -> bool:
    """Whether the rejection of a lazy value might be one of these exceptions."""
    if isinstance(caught, ast.Tuple):
        return any(_may_catch(each, names) for each in caught.elts)
    cls = None if caught is None else names.get(ast.unparse(caught))
    if not isinstance(cls, type):
        return True
    return any(issubclass(refusal, cls) or issubclass(cls, refusal) for refusal in REFUSALS)
