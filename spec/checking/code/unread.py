"""Parameters that an action has not read when its guard fails: it fails for all their values.

An action is a function of the state and its parameters. If it stops at an instruction before it reads a parameter,
it stops there for every value of this parameter. So guards at the beginning of an action are tried once for each
choice of the parameters that they read, as in TLA+.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Mapping
from functools import cache, partial
from math import inf
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any, Final

SETTING_UP: Final = {"MAKE_CELL", "COPY_FREE_VARS"}
"""Instructions at the beginning of a function that name a parameter without reading it."""
READS_ALL: Final = {"locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe"}
"""Names of functions that read parameters unseen."""


class UnreadParameters:
    """The parameters of an action that its method reads last, and where it first reads them. The method may have
    values for other parameters; it is None if instances are not numbered by these. The sizes of the parameters are in
    the order that numbers the instances.
    """

    def __init__(self, method: Callable[..., Any] | None, sizes: Mapping[str, int]):
        while isinstance(method, partial):
            method = method.func
        function = method.__func__ if isinstance(method, MethodType) else method
        self._code = function.__code__ if isinstance(function, FunctionType) else None
        self.blocks: list[tuple[float, int]] = []
        """The instruction before which a parameter and all after it are unread, and the number of their choices;
        most parameters first."""
        limit, block = inf, 1
        for name, size in reversed([*sizes.items()]):
            limit, block = min(limit, _first_read(self._code, name)) if self._code else 0, block * size
            if limit <= 0:
                break
            self.blocks.insert(0, (limit, block))

    def fails_until(self, number: int, raised: TracebackType | None) -> int:
        """The number of the next instance that may not fail like this one, whose guard failed with this traceback."""
        while raised is not None and raised.tb_frame.f_code is not self._code:
            raised = raised.tb_next
        if raised is not None:
            for limit, block in self.blocks:
                if raised.tb_lasti < limit:
                    return number - number % block + block
        return number + 1


@cache
def _first_read(code: CodeType, name: str) -> float:
    """The first instruction at which a parameter may have been read."""
    if name not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] or READS_ALL & {*code.co_names}:
        return 0
    instructions = [*dis.get_instructions(code)]
    limit: float = min((each.offset for each in instructions if _reads(each, name)), default=inf)
    jumps = [each for each in instructions if each.opcode in dis.hasjrel or each.opcode in dis.hasjabs]
    while back := [each.argval for each in jumps if each.offset >= limit and each.argval < limit]:
        limit = min(back)  # a loop may come back here after it has read the parameter
    return limit


def _reads(instruction: dis.Instruction, name: str) -> bool:
    if instruction.opname in SETTING_UP:
        return False
    names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    return name in names and instruction.opcode not in dis.hasconst
