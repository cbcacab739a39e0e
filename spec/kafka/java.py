"""The Java that runs Kafka's classes, and our Java files that apply to a release of Kafka."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from spec.language.errors import UsageError
from statemachines.releases import Release, line_of

OLDEST = 17
"""The oldest sufficient Java; Spark needs the same."""
BRIEFLY: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
"""Options for a JVM that runs for seconds, where thorough compilation never pays off. They halve the run time."""


@dataclass(frozen=True)
class Java:
    """A Java of sufficient version.

    Args:
        home: the directory that contains its `bin`.
        version: as it reports it, `17.0.15`.
    """

    home: Path
    version: str

    @property
    def command(self) -> str:
        """The command that runs classes."""
        return str(self.home / "bin" / "java")

    @property
    def compiler(self) -> str:
        """The command that compiles them.

        Raises:
            UsageError: this Java has no compiler.
        """
        compiler = self.home / "bin" / "javac"
        if not compiler.exists():
            raise UsageError(f"the Java in {self.home} has no compiler: install a JDK, or set JAVA_HOME to one")
        return str(compiler)


def java() -> Java:
    """The Java that JAVA_HOME names; without it, the one on the PATH.

    Raises:
        UsageError: there is none, or it is too old.
    """
    named = os.environ.get("JAVA_HOME")
    if named:
        home, whence = Path(named), f"JAVA_HOME, {named},"
    else:
        on_path = shutil.which("java")
        if on_path is None:
            raise UsageError("Kafka's classes need Java, and there is no java on the PATH, nor a JAVA_HOME")
        home, whence = Path(on_path).resolve().parents[1], f"the java on the PATH, {on_path},"
    if not (home / "bin" / "java").exists():
        raise UsageError(f"{whence} has no bin/java")
    version = _version_of(home)
    if version is None:
        raise UsageError(f"{whence} does not report its version")
    if int(version.split(".")[0]) < OLDEST:
        raise UsageError(f"{whence} is Java {version}; Kafka's classes need Java {OLDEST} or later")
    return Java(home, version)


@cache
def _version_of(home: Path) -> str | None:
    try:
        said = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = re.search(r'version "([0-9][^"]*)"', said.stderr)
    return found[1] if found else None


# Our files.

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
