"""The versions behind a verdict: kafkaspec, Python, and the libraries that an engine uses."""

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
"""By engine. The reference engine uses none; for a person's own engine they are unknown."""


def versions(engine: str) -> dict[str, str]:
    """By name, as installed here; packages that are not installed are left out."""
    from importlib.metadata import PackageNotFoundError, version  # slower to import than a small check

    found = {"python": platform.python_version()}
    for name in ("kafkaspec", *LIBRARIES.get(engine, ())):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # the sources are only on Python's path
            continue
    return found
