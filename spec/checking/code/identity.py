"""Identity: `is` between values that may be equal without being one object.

A value of the state is made anew now and then: after a step, in another process, from a file. So `is` says of two
equal values whatever Python happens to do, and each engine something else. It is allowed where equal values are
always one object: None, True, False and `...`, classes, functions, members of enumerations, and objects of a class
without `__eq__`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dis import Instruction, get_instructions, stack_effect
from enum import Enum
from inspect import CO_VARARGS, CO_VARKEYWORDS
from opcode import opmap
from types import CodeType, FunctionType
from typing import Any, Final

from spec.checking.code.libraries import DOTS, PASSED_OVER, UNKNOWN, line, value_of
from spec.checking.code.reachable import codes_of

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
