"""Errors of specifications, of arguments and of the environment; and how values are shown in messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from spec.language.escapes import escaped

LONGEST: Final = 300
"""Characters of a value, or of what an exception says, in a message; what is longer is cut."""
ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
"""Where an object lies in memory, as its `repr` tells."""
LINE_END: Final = re.compile(r"[ \t\r]*\n\s*")
"""Where a message of several lines goes on in the next one."""
LONGEST_INTEGER: Final = 14_000
"""Bits of an integer that Python writes in decimal digits, of which it takes 4,300."""


def safe_repr(value: object) -> str:
    """A value in a message: its `repr` on one line, of bounded length, the same in every run.

    >>> shown([1, "a"]), shown(shown)
    ("[1, 'a']", '<function shown>')
    """
    try:
        return _on_one_line(ADDRESS.sub("", repr(value)))
    except Exception:  # its own, or of an integer that is too long for Python to write
        return f"some {type(value).__name__}"


def printed(value: object) -> str:
    """A value as it prints itself, whole; if it cannot, by its class."""
    try:
        return str(value)
    except Exception:
        return safe_repr(value)


def represented(value: object) -> str:
    """A value as Python represents it, whole; if it cannot, by its class."""
    try:
        return escaped(repr(value))
    except Exception:
        return f"{value:#x}" if isinstance(value, int) else safe_repr(value)


def error_text(failure: BaseException) -> str:
    """An exception in a message: its class, and what it says.

    >>> told(KeyError("x")), told(AssertionError())
    ("KeyError: 'x'", 'AssertionError')
    """
    try:
        words = _on_one_line(str(failure))
    except Exception:
        words = ""
    return f"{type(failure).__name__}: {words}" if words else type(failure).__name__


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text of bounded length.

    >>> shortened("abc", 2), shortened("ab", 2)
    ('ab...', 'ab')
    """
    return text if len(text) <= longest else f"{text[:longest]}..."


def _on_one_line(text: str) -> str:
    return escaped(LINE_END.sub(" ", shortened(text).strip()))


def equal_looking(value: object, meant: Iterable[type]) -> str:
    """What is said of a value that is refused, whose class has the name of one that is meant; of others nothing."""
    cls, name = type(value), type(value).__qualname__
    for each in meant:
        if each is not cls and each.__qualname__ == name:
            if each.__module__ == cls.__module__:
                return f"; {each.__module__} was loaded twice, and its {name} is another than that of this value"
            return f"; it is of {cls.__module__}.{name}, and meant is {each.__module__}.{name}"
    return ""


class SpecificationError(Exception):
    """A mistake in how a specification is written; one line says which word, where, and what is allowed."""


class UsageError(Exception):
    """A request that cannot be met as asked: an unknown name, a value of the wrong type, a missing engine."""


class AssumptionViolated(Exception):
    """Well-typed constants that the specification does not admit."""


class EnvironmentFailed(Exception):
    """The environment failed while an exploration went on: a disk is full, a Java has died.

    One line says what failed; another what is kept, and how to go on.
    """

    def __init__(self, wrong: str, kept: str):
        super().__init__(wrong, kept)
        self.wrong, self.kept = wrong, kept

    def __str__(self) -> str:
        return f"{self.wrong}; {self.kept}"


class EnvironmentWarning(UserWarning):
    """Something in the environment costs time, a file that is no part of the answer, or that a change is noticed."""


class OutOfDomain(Exception):
    """A value that its domain does not hold.

    >>> str(OutOfDomain(3, "an integer of 0..2"))
    '3 is not an integer of 0..2'
    """

    def __init__(self, value: object, allowed: str):
        super().__init__(value, allowed)
        self.value, self.allowed = value, allowed

    def __str__(self) -> str:
        return f"{safe_repr(self.value)} is not {self.allowed}"


class Disabled(BaseException):
    """The action cannot happen in this state."""


class Bounded(Disabled):
    """The action could happen, but a bound that keeps the search finite forbids it."""


class DoesNotExist(Disabled):
    """A parameter ranges over what there is in the state, and that has not this value."""

    def __init__(self, parameter: str, ranges_over: Callable[..., Any]):
        super().__init__(parameter, ranges_over)
        self.parameter, self.ranges_over = parameter, ranges_over


class NotApplicable(BaseException):
    """The property, or the view, is not about this state or this step."""
