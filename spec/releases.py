"""Kafka's releases, in order, and what each of them has.

One list for all systems. A system says since when each of its constants has a value, and so maps every
release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spec.language.errors import UsageError

RELEASES: Final = (
    *("0.10.1", "0.10.2", "0.11", "1.0", "1.1"),
    *("2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8"),
    *("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"),
)
"""Those with the ZooKeeper controller, oldest first."""


def since(changes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every release with the constants it has, from those that changed and the release that changed them.

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
    """The release that a name means: itself, or the last of its line if it is shorter.

    >>> release_named("0.10", since({})), release_named("3", since({}))
    ('0.10.2', '3.9')

    Raises:
        UsageError: there is none.
    """
    found = [release for release in known if release == name or release.startswith(name + ".")]
    if not found:
        raise UsageError(f"no release is called {name}; there are {', '.join(known) or 'none'}")
    return found[-1]


def valuation(releases: Mapping[str, Mapping[str, Any]], name: str | None = None) -> Mapping[str, Any]:
    """The constants of the release that a name means; without a name, of the newest one there is.

    >>> valuation({"2.0": {"fence_zk": False}, "2.1": {"fence_zk": True}})
    {'fence_zk': True}

    Raises:
        UsageError: there is no such release.
    """
    if name is not None:
        return releases[release_named(name, releases)]
    return list(releases.values())[-1] if releases else {}
