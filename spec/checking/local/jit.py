"""How the loops are compiled: what every module with compiled functions has in common.

With `KAFKASPEC_KERNELS=python` in the environment they are not: the same functions run as the Python that they are,
some thousand times slower, and a debugger steps through them. One worker runs in the thread that calls it:

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
    """A part of the compiled functions that call it."""
    made: F = function if PLAIN else njit(inline="always")(function)
    return made


def compiled(function: F) -> F:
    """Compiled when it is first called, and kept on disk if there is a place.

    Without numba's counting of references, which costs more than the work; so nothing can be allocated inside.
    """
    if PLAIN:
        return _plain(function)
    options = {"nogil": True, "_nrt": False}
    try:
        made: Any = njit(cache=True, **options)(function)
    except RuntimeError:  # neither beside the source nor in the home directory can anything be written
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
    """Words are numbers modulo 2 ** 64, about which numpy warns by default."""

    @wraps(function)
    def run(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return cast("F", run)


def _not_kept() -> None:
    why = "compiled code cannot be kept, and is compiled anew each time: NUMBA_CACHE_DIR names a place with room"
    warn(why, EnvironmentWarning, stacklevel=1)


@inlined
def mixed(word: Any) -> Any:
    """See `splitmix.mixed`."""
    word = (word ^ (word >> uint64(30))) * uint64(FIRST)
    word = (word ^ (word >> uint64(27))) * uint64(SECOND)
    return word ^ (word >> uint64(31))
