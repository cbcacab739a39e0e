"""What rules may use of Python's own library: modules that compute from their arguments alone, and a few names.

Anything else of the library is refused before any evaluation: clocks, chance, files, other processes. Names are
followed along the dots, from globals, closures and imports in functions. Installed packages are not inspected, apart
from numpy's random numbers.
"""

from __future__ import annotations

import builtins
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dis import Instruction, get_instructions
from itertools import pairwise
from opcode import opmap
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

from spec.checking.code.reachable import Named, Reached, codes_of, contents_of, imported, with_parts

MODULES: Final = {
    *("abc", "argparse", "array", "ast", "base64", "binascii", "bisect", "calendar", "cmath", "codecs"),
    *("collections", "colorsys", "contextlib", "contextvars", "copy", "copyreg", "dataclasses", "decimal"),
    *("difflib", "dis", "enum", "errno", "fnmatch", "fractions", "functools", "graphlib", "hashlib", "heapq"),
    *("hmac", "html", "inspect", "io", "ipaddress", "itertools", "json", "keyword", "linecache", "logging", "math"),
    *("numbers", "opcode", "operator", "pickle", "pprint", "queue", "re", "reprlib", "sre", "statistics", "string"),
    *("struct", "textwrap", "traceback", "types", "typing", "unicodedata", "unittest", "warnings", "weakref"),
    *("xml", "zlib"),
}
"""Modules whose functions depend on their arguments alone, or report something."""
NAMES: Final = {
    *("datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta", "datetime.timezone"),
    *("datetime.tzinfo", "os.environ", "os.fspath", "os.getenv", "os.path.basename", "os.path.dirname"),
    *("os.path.join", "os.path.split", "os.path.splitext", "pathlib.PurePath", "pathlib.PurePosixPath"),
    *(
        "pathlib.PureWindowsPath",
        "os.write",
        "sys.exc_info",
        "sys.exit",
        "sys.getsizeof",
        "sys.intern",
        "threading.Lock",
    ),
    *("threading.RLock", "threading.allocate_lock", "time.sleep", "uuid.UUID", "uuid.uuid3", "uuid.uuid5"),
}
"""Such names of other modules."""
SEEDED: Final = {
    *("random.Random", "numpy.random.Generator", "numpy.random.PCG64", "numpy.random.RandomState"),
    *("numpy.random.SeedSequence", "numpy.random.default_rng"),
}
"""Sources of chance that repeat themselves if they are given a seed."""
NOT_OF_BUILTINS: Final = frozenset({"__import__", "breakpoint", "id", "input"})
"""Functions of Python itself that depend on more than their arguments."""
CLOCKS: Final = frozenset({"fromtimestamp", "now", "today", "utcfromtimestamp", "utcnow"})
"""Methods of the classes of `datetime` that depend on the clock, or on the time zone."""
PASSED_OVER: Final = {"CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PRECALL", "PUSH_NULL", "RESUME"}
"""Instructions that compute nothing."""
_IMPORT: Final = opmap["IMPORT_NAME"]
DOTS: Final = ("LOAD_ATTR", "LOAD_METHOD")
"""Instructions that look up a name after a dot."""
_C_MODULES: Final = {
    "posix": "os",
    "nt": "os",
    "genericpath": "os.path",
    "posixpath": "os.path",
    "ntpath": "os.path",
    "_thread": "threading",
}


class Use(NamedTuple):
    """A value that a function names, or that is in one: what it may use besides its own variables."""

    by: Any
    """The function."""
    value: Any
    name: str
    """The name that it has or is found under; empty if it is looked up along the dots."""
    at: int = 0
    """The line where it is looked up, if that is known."""
    is_called_bare: bool = False
    """Whether it is called without arguments."""

    @property
    def line(self) -> int:
        """The line where the function first names it."""
        return self.at or line_of(self.by, self.name)


def uses(reached: Reached, is_authors: Callable[[FunctionType], bool]) -> Iterator[Use]:
    """What these functions name, with all that it holds; only functions that `is_authors` accepts are read."""
    named: dict[FunctionType, list[Named]] = defaultdict(list)
    for each in reached.named:
        if not isinstance(each.of, ModuleType):  # these are followed along the dots
            named[each.by].append(each)
    parts: dict[int, list[Any]] = {}
    for function in reached.functions:
        if is_authors(function) and _must_be_read(function):
            for value, at, bare in _looked_up(function):
                yield Use(function, value, "", at, bare)
        for each in named[function]:
            if id(each.value) not in parts:
                parts[id(each.value)] = [*with_parts(each.value)]
            for value in parts[id(each.value)]:
                yield Use(function, value, each.name)


def forbidden(use: Use, is_authors: Callable[[str], bool]) -> str:
    """The name of what a rule may not use, or may not call without arguments; empty if it may. `is_authors` tells by
    its name whether a module is the author's.
    """
    value = use.value
    if isinstance(value, Path):
        return "a Path"
    if value is sys.stdin:
        return "sys.stdin"
    if not callable(value) and not isinstance(value, ModuleType):
        return ""
    module, name = _name(value)
    root, full = module.partition(".")[0], f"{module}.{name}" if name else module
    if root == "builtins":
        return name if name in NOT_OF_BUILTINS else ""
    is_known = root in MODULES or full in NAMES or (full in SEEDED and not use.is_called_bare) or is_authors(module)
    if module == "datetime" and "." in name and name.rpartition(".")[2] not in CLOCKS:
        is_known = True
    is_installed = root not in sys.stdlib_module_names and module != "numpy.random"
    return "" if is_known or is_installed else full


UNKNOWN: Final = 0
"""Stands for a value that is not known before code runs."""


def value_of(function: FunctionType, code: CodeType, instruction: Instruction, before: Any) -> Any:
    """What an instruction loads in this code, of the function or inside it; UNKNOWN if only running it would tell. A
    name after a dot is looked up in `before`, the value loaded just before it, if that is a module or a class.
    """
    name = instruction.argval
    match instruction.opname:
        case "LOAD_CONST":
            return name
        case "LOAD_GLOBAL" | "LOAD_NAME":
            return function.__globals__.get(name, getattr(builtins, name, UNKNOWN))
        case "LOAD_DEREF" if name in function.__code__.co_freevars and name not in code.co_cellvars:
            return contents_of((function.__closure__ or ())[function.__code__.co_freevars.index(name)])
        case "LOAD_ATTR" | "LOAD_METHOD" if isinstance(before, ModuleType | type):
            return getattr(before, name, UNKNOWN)
    return UNKNOWN


def line_of(function: FunctionType, name: str) -> int:
    """The line where a function first has the last part of a name."""
    last = name.rpartition(".")[2]
    found = (each for code in codes_of(function.__code__) for each in get_instructions(code) if each.argval == last)
    return line(next(found, None), function.__code__)


def _must_be_read(function: FunctionType) -> bool:
    """Whether the code of a function imports, or names a module or a class with a clock or chance in it."""
    codes = [*codes_of(function.__code__)]
    values = [function.__globals__.get(name) for code in codes for name in code.co_names]
    values += map(contents_of, function.__closure__ or ())
    return any(_IMPORT in code.co_code[::2] for code in codes) or any(
        isinstance(each, ModuleType) or getattr(each, "__module__", None) in ("datetime", "random", "numpy.random")
        for each in values
    )


def name_of(value: Any) -> str:
    """The name of a module, a class or a function, with its module: `json.dumps`, `len`."""
    module, name = _name(value)
    return name if module == "builtins" and name else f"{module}.{name}".removesuffix(".")


def _name(value: Any) -> tuple[str, str]:
    """The module and the name in it of a class or a function; or of a module, with an empty name."""
    if isinstance(value, ModuleType):
        module, name = value.__name__, ""
    else:
        owner, holder = getattr(value, "__self__", None), value
        name = getattr(value, "__qualname__", "")
        if not (owner is None or isinstance(owner, ModuleType)):
            holder = owner if isinstance(owner, type) else type(owner)
            name = f"{holder.__qualname__}.{value.__name__}"
        module = getattr(holder, "__module__", None) or "builtins"
        if getattr(sys.modules.get(module), getattr(value, "__name__", ""), None) is value:
            name = getattr(value, "__name__", "")  # `random.random` is a method of an object
    module = "numpy.random" if module.startswith("numpy.random.") else module
    return _C_MODULES.get(module, module.removeprefix("_")), name


def _looked_up(function: FunctionType) -> Iterator[tuple[Any, int, bool]]:
    """What a function looks up along the dots, with the line, and whether it is called without arguments."""
    inner = dict(zip(function.__code__.co_freevars, map(contents_of, function.__closure__ or ()), strict=True))
    for code in codes_of(function.__code__):
        module = value = brought = None
        listed = [each for each in get_instructions(code) if each.opname not in PASSED_OVER]
        for each, after in pairwise(listed):
            operation, name = each.opname, each.argval
            if operation == "IMPORT_NAME":
                module, brought = imported(name), imported(name.partition(".")[0])
            elif operation == "IMPORT_FROM":
                brought = getattr(module, name, None)
            elif operation.startswith("STORE_") and brought is not None:
                inner[name], brought = brought, None
            if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
                value = inner.get(name, function.__globals__.get(name, getattr(builtins, name, None)))
            elif operation in ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF"):
                value = inner.get(name)
            elif operation in DOTS:
                value = getattr(value, name, None)
            else:
                continue
            has_clocks = isinstance(value, type) and value.__module__ == "datetime"
            if after.opname not in DOTS or not (has_clocks or isinstance(value, ModuleType)):
                yield value, line(each, code), after.opname == "CALL" and not after.arg
                value = None


def line(instruction: Instruction | None, code: CodeType) -> int:
    """The line of an instruction in the source; the first one of the code if it has none."""
    positions = instruction and instruction.positions
    return (positions.lineno if positions else None) or code.co_firstlineno
