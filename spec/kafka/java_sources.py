"""Files of Java of our own, and which of them are meant for a release of Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from statemachines.releases import Release, line_of

__all__ = ["SOURCES", "sources_for"]

SOURCES: Final = Path(__file__).parent / "java"
"""The folder of all of them."""


def sources_for(release: str, folder: Path, common: Path | None = None) -> list[Path]:
    """The files in a folder that are meant for a release.

    The folders in it are named `from-X` for the first release that they are meant for. Of files with one name, a
    release has that of the newest folder that is not newer than itself.

    Args:
        release: of Kafka.
        folder: the one that has them.
        common: a folder of files that every release has, unless there is one of that name for it.

    Raises:
        UnknownRelease: there is no such release of Kafka.
    """
    roots = {Release(root.name.removeprefix("from-")): root for root in folder.glob("from-*")}
    line = Release(line_of(release))
    meant = [roots[since] for since in sorted(roots) if since <= line]
    files = {
        source.relative_to(root): source
        for root in ([common, *meant] if common else meant)
        for source in root.rglob("*.java")
    }
    return sorted(files.values())
