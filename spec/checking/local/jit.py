"""How the loops are compiled: the common part of all modules with compiled functions.

With `KAFKASPEC_KERNELS=python` in the environment they are not compiled: the same functions run as plain Python, some
thousand times slower, and a debugger can step through them. One worker runs in the thread that calls it:

    KAFKASPEC_KERNELS=python python -m pdb -m spec check controller --engine local --workers 1

Inner loops convert a computed index to `uint64`. Otherwise numba tests at each access whether the index is negative,
to count it from the end; these tests take a tenth of the time. A sum of a `uint64` and a signed number is signed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast
from warnings import warn

import numpy as np
from numba import njit, uint64
from numba.core.registry import CPUDispatcher
from numba.core.types.misc import unliteral

from spec.checking.local.kernel_cache import KernelCache
from spec.checking.states.splitmix import FIRST, SECOND
from spec.language.errors import EnvironmentWarning

F = TypeVar("F", bound=Callable[..., Any])
Array = Any
"""A flat array of numpy."""

PLAIN: Final = os.environ.get("KAFKASPEC_KERNELS") == "python"
"""Whether the loops stay Python."""


def inlined(function: F) -> F:
    """Inline a function into the compiled functions that call it.

    numba copies and types its code again at each call. That takes long, but the copy knows the constants of its
    caller: above all the number of words, so loops over words are unrolled. A part can be inlined, too.
    """
    made: F = function if PLAIN else njit(inline="always")(getattr(function, "py_func", function))
    return made


def part(function: F) -> F:
    """Compile a function by itself, once for all compiled functions that call it.

    Python cannot call it: it has none of the code that converts Python's values, which takes as long to compile as a
    small function.
    """
    if PLAIN:
        return function
    options = {"nopython": True, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast("F", _kept(_Part(function, targetoptions=options)))


def compiled(function: F) -> F:
    """Compile a function at its first call, and keep the code on disk if possible.

    numba's reference counting is turned off, because it costs more than the work; so nothing can be allocated inside.
    """
    if PLAIN:
        return _plain(function)
    return cast("F", _kept(njit(nogil=True, _nrt=False)(function)))


def _kept(made: Any) -> Any:
    """The same function, which keeps its code on disk if possible."""
    try:
        made.enable_caching()
    except RuntimeError:  # neither the source's folder nor the home directory is writable
        _not_kept()
        return made
    made._cache._cache_file = KernelCache(made._cache)
    keep = made._cache.save_overload

    def kept(signature: Any, code: Any) -> None:
        try:
            keep(signature, code)
        except OSError:  # the disk is full, or a folder has the name of the file
            _not_kept()

    made._cache.save_overload = kept
    return made


class _Part(CPUDispatcher):  # type: ignore[misc]
    """A function that only compiled code can call."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Types of a call; numbers in the source are of a common type, or each would be compiled for."""
        return super().get_call_template([unliteral(each) for each in args], kws)

    def add_overload(self, compiled: Any) -> None:
        """Let compiled code find it, but not Python, which would jump to address 0."""
        self.overloads[tuple(compiled.signature.args)] = compiled

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is a part of compiled functions: Python cannot call it")


def _plain(function: F) -> F:
    """Words are numbers modulo 2 ** 64; numpy's default would warn of overflow."""

    @wraps(function)
    def run(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return cast("F", run)


def _not_kept() -> None:
    why = "compiled code cannot be kept, and is compiled anew each time: set NUMBA_CACHE_DIR to a place with room"
    warn(why, EnvironmentWarning, stacklevel=1)


@inlined
def mixed(word: Any) -> Any:
    """See `splitmix.mixed`."""
    word = (word ^ (word >> uint64(30))) * uint64(FIRST)
    word = (word ^ (word >> uint64(27))) * uint64(SECOND)
    return word ^ (word >> uint64(31))
