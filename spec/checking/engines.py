"""The engines by name. Each is imported only on request."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Final

from spec.checking.exploration import Engine
from spec.checking.machine.memory import require_address_space
from spec.language.errors import UsageError

ENGINES: Final[Mapping[str, str]] = {
    "auto": "spec.checking.auto:AutoEngine",
    "local": "spec.checking.local:LocalEngine",
    "spark": "spec.checking.spark:SparkEngine",
    "reference": "spec.checking.reference:ReferenceEngine",
}
"""Where each engine is defined, by its name on the command line.

An engine made without arguments has its defaults. All but the reference engine take `workers`, `memory`, `run_dir`
and `resume` by name; it takes `memory`.
"""


def engine_class(name: str) -> Callable[..., Engine]:
    """The class of the engine of this name; UsageError if there is none, or this process has no compiler or too
    little address space for it.
    """
    if name not in ENGINES:
        raise UsageError(f"no engine is called {name}; there are {', '.join(ENGINES)}")
    if name != "reference":  # all others load numpy
        require_address_space()
        require_compiler()
    module, _, cls = ENGINES[name].partition(":")
    found: Callable[..., Engine] = getattr(importlib.import_module(module), cls)
    return found


def require_compiler() -> None:
    """Require that numba may compile. Checked at once, so that the error does not depend on the machine's speed.
    UsageError if numba's compiler is turned off.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}:
        raise UsageError("NUMBA_DISABLE_JIT is set: unset it, or use --engine reference, which needs no compiler")


def engine_named(name: str) -> Engine:
    """The engine of this name, with its defaults; UsageError if there is none, or it cannot run here."""
    return engine_class(name)()
