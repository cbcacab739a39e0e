"""Arguments of the checkers: each is converted to one form, or rejected with a one-line error.

The command line passes that form. A notebook may pass a class for an instance, one name for several, a numpy
integer, or a path as a string. An argument with only one possible meaning is accepted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from operator import index
from pathlib import Path
from typing import Final, SupportsIndex

from spec.checking.machine.memory import size_of
from spec.language.errors import UsageError
from spec.language.specification import Specification

SpecificationOrClass = Specification | type[Specification]
"""A specification; a class stands for an instance with its defaults."""
Directory = str | os.PathLike[str]
"""The path of a directory."""
MOST_WORKERS: Final = 1_024
"""More threads or tasks are a mistake: each takes memory of its own."""


def as_specification(given: object, release: object = None) -> Specification:
    """The specification given. A class stands for an instance with its defaults, or with those of the release.
    UsageError if it is no specification or does not know the release, AssumptionViolated if its constants violate an
    assumption.
    """
    if isinstance(given, type) and issubclass(given, Specification):
        return given() if release is None else given.of_release(_of(given, release))
    if not isinstance(given, Specification):
        raise UsageError(f"specification = {given!r}: it must be a specification, as Lease() or Lease(clients=3)")
    if release is not None:
        _of(type(given), release)
    return given


def _of(system: type[Specification], release: object) -> str:
    """A release that a system knows."""
    if not isinstance(release, str) or release not in system.releases:
        known = ", ".join(map(repr, system.releases)) or "none"
        raise UsageError(f"release = {release!r}: {system.name} has {known}")
    return release


def as_names(of: str, given: object) -> tuple[str, ...]:
    """Names; a single name stands for a tuple of one. UsageError if they are not names."""
    each = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(name, str) for name in each):
        raise UsageError(f"{of} = {given!r}: it must be names, as ['one', 'another']")
    return tuple(map(str, each))


def as_integer(of: str, given: object, least: int = 1, most: int | None = None) -> int:
    """A whole number: anything Python can use as an index, except a boolean; UsageError if it is not a whole number,
    or out of range.
    """
    allowed = f"{least} or more" + ("" if most is None else f", up to {most}")
    try:
        value = index(given) if isinstance(given, SupportsIndex) and not isinstance(given, bool) else None
    except TypeError:  # a numpy array of several numbers
        value = None
    if value is None:
        raise UsageError(f"{of} = {given!r}: it must be a whole number, {allowed}")
    if value < least or (most is not None and value > most):
        raise UsageError(f"{of} = {value}: it must be {allowed}")
    return value


def as_bound(of: str, given: object) -> int | None:
    """A positive whole number, or None for no bound; UsageError if it is neither."""
    return None if given is None else as_integer(of, given)


def as_workers(given: object) -> int | None:
    """The number of workers; None for one per core. UsageError if it is not a valid number of workers."""
    return None if given is None else as_integer("workers", given, most=MOST_WORKERS)


def as_memory(given: object) -> int | None:
    """Bytes, or a size as a person writes it; None for the engine's default.

    Raises:
        UsageError: it is neither.

    >>> as_memory("512M"), as_memory(1 << 20), as_memory(None)
    (536870912, 1048576, None)
    """
    if not isinstance(given, str):
        return None if given is None else as_integer("memory", given)
    size = size_of(given)
    if not size:
        raise UsageError(f"memory = {given!r}: it must be a number of bytes, or a size like '512M' or '8G'")
    return size


def as_path(of: str, given: object) -> Path | None:
    """A path, or None; UsageError if it is not a path."""
    if given is None or isinstance(given, Path):
        return given
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        raise UsageError(f"{of} = {given!r}: it must be a path")
    return Path(path)
