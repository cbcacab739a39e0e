"""Helpers in a module of their own, for random systems to call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


class Unfit(Exception):
    """A failure, in this module's own words."""


def translated(do: Callable[[], Any]) -> Any:
    """The result of a call; another exception if it refuses."""
    try:
        return do()
    except (TypeError, AttributeError) as error:
        raise Unfit from error


def fitting(do: Callable[[], Any], otherwise: Any = None) -> Any:
    """The result of a call, or another value if that was said not to fit."""
    try:
        return translated(do)
    except Unfit:
        return otherwise


def found(do: Callable[[], Any], otherwise: Any = None) -> Any:
    """The result of a call, or another value if something was missing."""
    try:
        return do()
    except LookupError:
        return otherwise


class Quiet:
    """A context that hides whatever goes wrong."""

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *failure: object) -> bool:
        return True


@cache
def kept(value: Any) -> bool:
    """Whether a value is a tuple. (A cache confuses 1 and True, so its result must be the same for both.)"""
    return isinstance(value, tuple)


@cache
def hashed(value: Any) -> tuple[int, bool]:
    """A value's hash, and whether it is 1."""
    return hash(value), value == 1
