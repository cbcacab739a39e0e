"""Values by release of Kafka: the constants of a system, or the record from which it reads them.

A Kafka system iterates over release lines and also knows their exact releases. Your own system may use any names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from spec.language.errors import UsageError
from statemachines.releases import EXACT, RELEASES, Release, UnknownRelease, line_of

__all__ = ["RELEASES", "ByRelease", "distinct", "release_named", "since", "valuation"]


T = TypeVar("T")


class ByRelease(Mapping[str, T]):
    """A value for each of Kafka's releases. Iteration yields the lines; exact releases are also keys.

    >>> fixed = ByRelease(lambda release: Release(release) >= Release("2.0.1"))
    >>> fixed["2.0"], fixed["2.0.0"], "2.0.7" in fixed, list(fixed) == list(RELEASES)
    (True, False, False, True)
    """

    def __init__(self, of: Callable[[str], T]) -> None:
        self.of = of

    def __getitem__(self, release: str) -> T:
        try:
            return self.of(release)
        except UnknownRelease:
            raise KeyError(release) from None

    def __iter__(self) -> Iterator[str]:
        return iter(RELEASES)

    def __len__(self) -> int:
        return len(RELEASES)


def since(changes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The constants of every release, from the constants that each listed release changed.

    >>> every = since({"0.10.1": {"fence_zk": False}, "2.1": {"fence_zk": True}})
    >>> every["2.0"], every["3.9"]
    ({'fence_zk': False}, {'fence_zk': True})
    """
    for release in changes:
        if release not in RELEASES:
            raise ValueError(f"{release} is none of Kafka's releases {', '.join(RELEASES)}")
    valuation: dict[str, Any] = {}
    every = {}
    for release in RELEASES:
        valuation = valuation | dict(changes.get(release, {}))
        every[release] = valuation
    return every


def release_named(name: str, known: Mapping[str, Any]) -> str:
    """The release that a name means, among those of a system. The system's own names come first.

    A release of Kafka is returned as its line, unless the exact release has other constants.

    >>> release_named("0.10", since({})), release_named("2.8.1", since({}))
    ('0.10.2', '2.8')

    Raises:
        UsageError: there is no such release.
    """
    own = tuple(known)
    if not own:
        raise UsageError(f"release {name}: the system has no releases; leave this option out")
    if name in own:
        return name
    try:
        line = line_of(name)
    except UnknownRelease as unknown:
        if own == RELEASES:
            raise UsageError(str(unknown)) from None
        line = ""
    if line not in own:
        raise UsageError(f"no release is called {name}; there are {', '.join(own)}")
    exact = Release(name).exact
    return exact if known.get(exact, known[line]) != known[line] else line


def distinct(releases: Mapping[str, Any]) -> Iterator[str]:
    """The releases of a system in order, each after the exact releases of its line that differ from it.

    >>> list(distinct({"2.0": 1, "2.1": 2}))
    ['2.0', '2.1']
    """
    for release, its in releases.items():
        yield from (exact for exact in EXACT.get(release, ()) if releases.get(exact, its) != its)
        yield release


def valuation(releases: Mapping[str, Mapping[str, Any]], name: str | None = None) -> Mapping[str, Any]:
    """The constants of the release that a name means; without a name, of the newest release.

    >>> valuation({"2.0": {"fence_zk": False}, "2.1": {"fence_zk": True}})
    {'fence_zk': True}

    Raises:
        UsageError: there is no such release.
    """
    if name is not None:
        return releases[release_named(name, releases)]
    return list(releases.values())[-1] if releases else {}
