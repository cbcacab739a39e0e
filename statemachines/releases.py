"""Kafka's releases that have the ZooKeeper controller, in order, and their lines.

A *line* is a release branch of Kafka: `2.1` has 2.1.0 and 2.1.1. Its number has two parts. Before 1.0 it has three,
such as `0.10.2` for 0.10.2.0 to 0.10.2.2; only the last of these lines, 0.11.0, is called by two.

The name of a line means its last release, with all fixes of the line. [Maven Central: org.apache.kafka, kafka_2.11 to
2.3, kafka_2.13 since]
"""

from dataclasses import dataclass
from typing import Final

_LAST: Final = {
    "0.10.1": "0.10.1.1",
    "0.10.2": "0.10.2.2",
    "0.11": "0.11.0.3",
    "1.0": "1.0.2",
    "1.1": "1.1.1",
    "2.0": "2.0.1",
    "2.1": "2.1.1",
    "2.2": "2.2.2",
    "2.3": "2.3.1",
    "2.4": "2.4.1",
    "2.5": "2.5.1",
    "2.6": "2.6.3",
    "2.7": "2.7.2",
    "2.8": "2.8.2",
    "3.0": "3.0.2",
    "3.1": "3.1.2",
    "3.2": "3.2.3",
    "3.3": "3.3.2",
    "3.4": "3.4.1",
    "3.5": "3.5.2",
    "3.6": "3.6.2",
    "3.7": "3.7.2",
    "3.8": "3.8.1",
    "3.9": "3.9.2",
}
"""The last release of each line; those before it are numbered from 0 on."""


def _until(last: str) -> tuple[str, ...]:
    head, _, number = last.rpartition(".")
    return tuple(f"{head}.{each}" for each in range(int(number) + 1))


EXACT: Final = {line: _until(last) for line, last in _LAST.items()}
"""The releases of each line, oldest first."""
RELEASES: Final = tuple(EXACT)
"""The lines with the ZooKeeper controller, oldest first."""

_LINE: Final = {release: line for line, releases in EXACT.items() for release in releases}
_BEGUN: Final = {releases[0].removesuffix(".0"): releases for releases in EXACT.values()}
_MEANT: Final = {**{release: release for release in _LINE}, **_LAST, "0.10": _LAST["0.10.2"], "0.11.0": _LAST["0.11"]}
"""The release that a name means."""
_THERE_ARE: Final = f"there are {', '.join(RELEASES)}"


class UnknownRelease(ValueError):
    """Kafka has no release of this name with the ZooKeeper controller."""


def numbers(name: str) -> tuple[int, ...]:
    """The numbers of an exact release, for comparison; it may be older than all that are modelled here.

    >>> numbers("0.8.2.0") < numbers("0.10.1.1") < numbers("2.10.0")
    True
    """
    return tuple(map(int, name.split(".")))


@dataclass(frozen=True, order=True, init=False)
class Release:
    """A release, ordered by its numbers: `Release("0.10.2.1") < Release("0.11.0.0") < Release("2.2.1")`.

    A line means its last release, and `0.10` the last of its lines. The last release of a line prints as the line,
    any other with all its numbers.

    >>> Release("2.2") == Release("2.2.2"), str(Release("2.2.2")), str(Release("2.2.1"))
    (True, '2.2', '2.2.1')

    Raises:
        UnknownRelease: there is no such release.
    """

    numbers: tuple[int, ...]

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise UnknownRelease(f"no release is called {name!r}, which is no string; {_THERE_ARE}")
        meant = _MEANT.get(name)
        if meant is None:
            line = name.rpartition(".")[0]
            known = f"of {line} there are {', '.join(_BEGUN[line])}" if line in _BEGUN else _THERE_ARE
            raise UnknownRelease(f"no release is called {name}; {known}{_beyond(name)}")
        object.__setattr__(self, "numbers", numbers(meant))

    @property
    def exact(self) -> str:
        """All its numbers."""
        return ".".join(map(str, self.numbers))

    @property
    def line(self) -> str:
        """Its line."""
        return _LINE[self.exact]

    def __str__(self) -> str:
        return self.line if self.exact == EXACT[self.line][-1] else self.exact


def _beyond(name: str) -> str:
    """A hint for a release that is older or newer than all of these; empty for others."""
    if not all(part.isdecimal() for part in name.split(".")):
        return ""
    if numbers(name) >= (4,):
        return f". Kafka {name} has no ZooKeeper; the last release with ZooKeeper is {RELEASES[-1]}"
    is_older = numbers(name) < numbers(EXACT[RELEASES[0]][0])
    return f". Kafka {name} is older than the modelled releases; the nearest is {RELEASES[0]}" if is_older else ""


def line_of(name: str) -> str:
    """The line with this name, or the line of the release with this name.

    >>> line_of("2.1"), line_of("2.1.0"), line_of("0.10.2.1"), line_of("0.11.0"), line_of("0.10")
    ('2.1', '2.1', '0.10.2', '0.11', '0.10.2')

    Raises:
        UnknownRelease: there is no such release.
    """
    return Release(name).line


def since_when(first: str) -> str:
    """An exact release in words; the first release of a line prints as the line.

    >>> since_when("2.1.0"), since_when("3.0.1"), since_when("0.11.0.0"), since_when("0.8.2.0")
    ('2.1', '3.0.1', '0.11', '0.8.2')
    """
    return _LINE.get(first, first.removesuffix(".0")) if first.endswith(".0") else first
