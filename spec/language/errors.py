"""Errors of specifications, arguments and the environment, and what their messages quote.

Names and values come from files, from a ZooKeeper, and from other people's specifications. A terminal obeys control
characters in them: it moves its cursor, clears its screen, changes the direction of a line. XML allows no such
characters at all, and UTF-8 no lone surrogates. So every character that Python calls not printable is written as in a
Python literal. Text is escaped where it becomes part of a line or a page; colours and line ends of reports are added
afterwards. Output for programs, such as JSON and saved traces, stays exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html import escape
from importlib.util import find_spec
from typing import Any, Final

# Errors.


LONGEST: Final = 300
"""The most characters of a value, or of an exception's text, in a message; the rest is cut."""
ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
"""The memory address in an object's `repr`."""
LINE_END: Final = re.compile(r"[ \t\r]*\n\s*")
"""A line end within a message, with the blanks around it."""
LONGEST_INTEGER: Final = 14_000
"""Bits of the longest integer that Python writes in decimal; its limit is 4,300 digits."""


def safe_repr(value: object) -> str:
    """A value for a message: its `repr` on one line, cut to a bounded length, the same in every run.

    >>> safe_repr([1, "a"]), safe_repr(safe_repr)
    ("[1, 'a']", '<function safe_repr>')
    """
    try:
        return _on_one_line(ADDRESS.sub("", repr(value)))
    except Exception:  # raised by the class, or by an integer too long for Python to write
        return f"some {type(value).__name__}"


def printed(value: object) -> str:
    """The full `str` of a value; its class if `str` raises."""
    try:
        return str(value)
    except Exception:
        return safe_repr(value)


def represented(value: object) -> str:
    """The full `repr` of a value; its class if `repr` raises."""
    try:
        return escaped(repr(value))
    except Exception:
        return f"{value:#x}" if isinstance(value, int) else safe_repr(value)


TOO_DEEP: Final = "RecursionError: maximum recursion depth exceeded"
"""How every exceeded recursion limit is reported."""


def error_text(failure: BaseException) -> str:
    """An exception for a message: its class and its text.

    >>> error_text(KeyError("x")), error_text(AssertionError())
    ("KeyError: 'x'", 'AssertionError')
    """
    if type(failure) is RecursionError:  # its text says where the limit was reached, which depends on the caller
        return TOO_DEEP
    try:
        words = _on_one_line(str(failure))
    except Exception:
        words = ""
    return f"{type(failure).__name__}: {words}" if words else type(failure).__name__


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text, cut to a bounded length.

    >>> shortened("abc", 2), shortened("ab", 2)
    ('ab...', 'ab')
    """
    return text if len(text) <= longest else f"{text[:longest]}..."


def _on_one_line(text: str) -> str:
    return escaped(LINE_END.sub(" ", shortened(text).strip()))


def equal_looking(value: object, meant: Iterable[type]) -> str:
    """The hint for a refused value whose class has the same name as an expected one; empty for any other."""
    cls, name = type(value), type(value).__qualname__
    for each in meant:
        if each is not cls and each.__qualname__ == name:
            if each.__module__ == cls.__module__:
                return f"; {each.__module__} was loaded twice, and this value is of the other {name}"
            return f"; it is a {cls.__module__}.{name}, and a {each.__module__}.{name} is expected"
    return ""


class SpecificationError(Exception):
    """A mistake in the text of a specification; one line says which word, where, and what is allowed."""


class UsageError(Exception):
    """An invalid request: an unknown name, a value of the wrong type, a missing engine."""


class AssumptionViolated(Exception):
    """Constants of the right types that the specification's assumptions exclude."""


class EnvironmentFailed(Exception):
    """The environment failed during an exploration: a disk is full, a Java process died.

    One line says what failed, what was kept, and how to continue.
    """

    def __init__(self, wrong: str, kept: str):
        super().__init__(wrong, kept)
        self.wrong, self.kept = wrong, kept

    def __str__(self) -> str:
        return f"{self.wrong}; {self.kept}"


class EnvironmentWarning(UserWarning):
    """An environment problem that costs time, a side file or a notification, but not the answer."""


class OutOfDomain(Exception):
    """A value outside its domain.

    >>> str(OutOfDomain(3, "an integer of 0..2"))
    '3 is not an integer of 0..2'
    """

    def __init__(self, value: object, allowed: str):
        super().__init__(value, allowed)
        self.value, self.allowed = value, allowed

    def __str__(self) -> str:
        return f"{safe_repr(self.value)} is not {self.allowed}"


class Disabled(BaseException):
    """The action is not enabled in this state."""


class Bounded(Disabled):
    """The action would be enabled, but a bound that keeps the search finite forbids it."""


class DoesNotExist(Disabled):
    """The parameter ranges over a part of the state that does not contain this value."""

    def __init__(self, parameter: str, ranges_over: Callable[..., Any]):
        super().__init__(parameter, ranges_over)
        self.parameter, self.ranges_over = parameter, ranges_over


class NotApplicable(BaseException):
    """The property or view does not apply to this state or step."""


# Text from others.


def escaped(line: str) -> str:
    r"""A line in which every character is seen; a line end in it is escaped, too.

    >>> print(escaped("\x1b[2Jann\u202e\n"), escaped("Zoë 李 \N{CAT}"))
    \x1b[2Jann\u202e\n Zoë 李 🐈
    """
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)


def escaped_lines(text: str) -> str:
    """Several lines, each escaped."""
    return "\n".join(map(escaped, text.split("\n")))


def in_markup(line: str) -> str:
    r"""A line as HTML and XML have it.

    >>> in_markup("<b>\0")
    '&lt;b&gt;\\x00'
    """
    return escape(escaped(line))


# Names as people write them.


def meant(written: str, known: Iterable[str], others: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """The known names that a person may mean; a name itself comes before its forms in another case, and these before
    other names.

    >>> meant("k1", ["K1", "K10"]), meant("kafka-6082", ["B4", "B24"], [("KAFKA-6082", "B4"), ("KAFKA-6082", "B24")])
    (('K1',), ('B4', 'B24'))

    Args:
        written: what the person wrote.
        known: the names.
        others: other names, each with the name of its thing.
    """
    names = tuple(known)
    if written in names:
        return (written,)
    like = written.casefold()
    also = (name for other, name in others if other.casefold() == like)
    return tuple(name for name in names if name.casefold() == like) or tuple(dict.fromkeys(also))


def one_meant(written: str, known: Iterable[str], others: Iterable[tuple[str, str]] = ()) -> str | None:
    """The only known name that a person may mean; None: there is none. UsageError if there are several."""
    found = meant(written, known, others)
    if len(found) > 1:
        raise UsageError(f"{written} may mean {', '.join(found)}; name one of them")
    return found[0] if found else None


# Extras: optional libraries.


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
    """Require that these libraries can be imported; UsageError if one of them is not installed; the line says which
    extra brings it.
    """
    for library in libraries:
        if not is_installed(library):
            raise UsageError(how_to_install(library))
