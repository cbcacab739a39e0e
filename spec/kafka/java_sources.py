"""Our Java files, and which of them apply to a release of Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from statemachines.releases import Release, line_of

SOURCES: Final = Path(__file__).parent / "java"
"""The folder of all Java files."""


def sources_for(release: str, folder: Path, common: Path | None = None) -> list[Path]:
    """The files in a folder that apply to a release.

    Its subfolders are named `from-X` after the first release that they apply to. Of files with one name, a release
    has the one from the newest folder not newer than itself.

    Args:
        release: of Kafka.
        folder: contains the `from-X` folders.
        common: a folder of files for every release, each overridden by a file of the same name.

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
