"""Kafka's releases: the lines that have the ZooKeeper controller, in order, and the line that a release belongs to.

A *line* is what Kafka develops on one branch: `2.1` is that of 2.1.0 and 2.1.1. Its number has two parts, before 1.0
it has three, `0.10.2` is that of 0.10.2.0 to 0.10.2.2; only the last of these lines, 0.11.0, goes by two.

What a release did differently is said line by line. So the releases of a line are taken for one: a bug-fix release of
any number is its line, whether or not Kafka ever came to that number.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["RELEASES", "Release", "UnknownRelease", "line_of"]

RELEASES: Final = (
    *("0.10.1", "0.10.2", "0.11", "1.0", "1.1"),
    *("2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8"),
    *("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"),
)
"""The lines with the ZooKeeper controller, oldest first."""

_NUMBER = "(0|[1-9][0-9]*)"
_WRITTEN = re.compile(rf"(?P<line>0(\.{_NUMBER}){{1,2}}|[1-9][0-9]*\.{_NUMBER})(\.{_NUMBER})?")


class UnknownRelease(ValueError):
    """It is no release of a line that there is."""


def line_of(name: str, lines: Iterable[str] = RELEASES) -> str:
    """The line that a name means: the one of that name, or that of a release; `0.10` is the last of its lines.

    >>> line_of("2.1"), line_of("2.1.0"), line_of("0.10.2.1"), line_of("0.11.0"), line_of("0.10")
    ('2.1', '2.1', '0.10.2', '0.11', '0.10.2')
    >>> line_of("2", ["2.0", "2.1"])
    Traceback (most recent call last):
    statemachines.releases.UnknownRelease: no release is called 2; there are 2.0, 2.1

    Raises:
        UnknownRelease: there is none.
    """
    lines = tuple(lines)
    written = _WRITTEN.fullmatch(name)
    line = written["line"] if written else name
    for each in lines:
        if each in (name, line) or line == f"{each}.0":
            return each
    of_this = [each for each in lines if written and each.startswith(f"{name}.")]
    if not of_this:
        raise UnknownRelease(f"no release is called {name}; there are {', '.join(lines) or 'none'}")
    return of_this[-1]


@dataclass(frozen=True, order=True, init=False)
class Release:
    """A line of releases, ordered by its numbers: `Release("0.10.2") < Release("0.11") < Release("2.2.1")`.

    `Release("2.2.1")` is `Release("2.2")`, for it is one of that line.
    Raises UnknownRelease if there is no such line.
    """

    numbers: tuple[int, ...]

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "numbers", tuple(map(int, line_of(name).split("."))))

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers))
