"""Files of Java of our own, and which of them are meant for a release of Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from statemachines.releases import Release

__all__ = ["SOURCES", "sources_for"]

SOURCES: Final = Path(__file__).parent / "java"
"""The folder of all of them."""


def sources_for(release: str, folder: Path) -> list[Path]:
    """The files in a folder that are meant for a release.

    The folders in it are named `from-X` for the first release that they are meant for. Of files with one name, a
    release has that of the newest folder that is not newer than itself.

    Raises:
        UnknownRelease: there is no such release of Kafka.
    """
    roots = {Release(root.name.removeprefix("from-")): root for root in folder.glob("from-*")}
    files = {
        source.relative_to(roots[since]): source
        for since in sorted(roots)
        if since <= Release(release)
        for source in roots[since].rglob("*.java")
    }
    return sorted(files.values())
