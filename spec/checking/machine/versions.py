"""Versions of what came to a verdict: kafkaspec, Python, and the libraries on which an engine's answer rests."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Final

COMPILED: Final = ("numba", "llvmlite", "numpy")
LIBRARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "local": COMPILED,
    "spark": (*COMPILED, "pyspark", "pyarrow"),
    "simulation": COMPILED,
}
"""By engine. The reference engine, and one of a person's own, has none that we know of."""


def versions(engine: str) -> dict[str, str]:
    """By name, as they are installed here; what is not installed is left out."""
    from importlib.metadata import PackageNotFoundError, version  # takes longer than to check a small system

    found = {"python": platform.python_version()}
    for name in ("kafkaspec", *LIBRARIES.get(engine, ())):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # as where the sources are on Python's path, and nothing more
            continue
    return found
