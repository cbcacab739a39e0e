"""Extras: optional libraries, which most people do not need."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from spec.language.errors import UsageError

EXTRAS: Final = {
    "hypothesis": "test",
    "kazoo": "zookeeper",
    "pandas": "frames",
    "pyarrow": "frames",
    "pygraphviz": "draw",
    "pyspark": "spark",
}
"""The extra of this project that brings each library."""


def is_installed(library: str) -> bool:
    """Whether a library can be imported; it is not imported here."""
    return find_spec(library) is not None


def how_to_install(library: str) -> str:
    """The line that says which extra brings a library.

    >>> how_to_install("kazoo")
    "kazoo is not installed: pip install '.[zookeeper]' in the checkout brings it"
    """
    return f"{library} is not installed: pip install '.[{EXTRAS[library]}]' in the checkout brings it"


def require(*libraries: str) -> None:
    """Require that these libraries can be imported.

    Raises:
        UsageError: one of them is not installed; the line says which extra brings it.
    """
    for library in libraries:
        if not is_installed(library):
            raise UsageError(how_to_install(library))
