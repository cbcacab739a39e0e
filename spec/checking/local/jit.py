"""How the loops are compiled: the common part of all modules with compiled functions.

With `KAFKASPEC_KERNELS=python` in the environment they are not compiled: the same functions run as plain Python, some
thousand times slower, and a debugger can step through them. One worker runs in the thread that calls it:

    KAFKASPEC_KERNELS=python python -m pdb -m spec check controller --engine local --workers 1
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast
from warnings import warn

import numpy as np
from numba import njit, uint64

from spec.checking.local.kernel_cache import KernelCache
from spec.checking.states.splitmix import FIRST, SECOND
from spec.language.errors import EnvironmentWarning

F = TypeVar("F", bound=Callable[..., Any])
Array = Any
"""A flat array of numpy."""

PLAIN: Final = os.environ.get("KAFKASPEC_KERNELS") == "python"
"""Whether the loops stay Python."""


def inlined(function: F) -> F:
    """Inline a function into the compiled functions that call it."""
    made: F = function if PLAIN else njit(inline="always")(function)
    return made


def compiled(function: F) -> F:
    """Compile a function at its first call, and keep the code on disk if possible.

    numba's reference counting is turned off, because it costs more than the work; so nothing can be allocated inside.
    """
    if PLAIN:
        return _plain(function)
    options = {"nogil": True, "_nrt": False}
    try:
        made: Any = njit(cache=True, **options)(function)
    except RuntimeError:  # neither the source's folder nor the home directory is writable
        _not_kept()
        return njit(**options)(function)
    made._cache._cache_file = KernelCache(made._cache)
    keep = made._cache.save_overload

    def kept(signature: Any, code: Any) -> None:
        try:
            keep(signature, code)
        except OSError:  # the disk is full, or a folder has the name of the file
            _not_kept()

    made._cache.save_overload = kept
    return made


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
