"""Changes of Kafka's own source: applied, compiled against the release's jars, and put before them on the class path.

    changes()                          # ["K1", ...]
    class_path_with("K1", "3.9.1")     # the classes that the change makes, then the jars

A change is a unified diff in `changes/`, against the root of Kafka's repository at the tag of `CHANGED`: `git apply`
takes it there. None of Kafka's source is kept here: it comes, like the compiler, from the jars of `locks/compiler/`.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from spec.kafka.jars import cache_directory, class_path, exclusively
from spec.kafka.java import BRIEFLY, Java, java
from spec.language.errors import EnvironmentFailed, UsageError

__all__ = ["CHANGED", "applied", "changes", "class_path_with"]

CHANGED: Final = "3.9.1"
"""The release of Kafka whose source is changed."""
CHANGES: Final = Path(__file__).parent / "changes"
SCALA: Final = "core/src/main/scala"
"""Where Kafka's repository has what is in the jar of sources."""
COMPILER: Final = "scala.tools.nsc.Main"


def changes() -> list[str]:
    """The changes that there are, by their names."""
    return sorted((change.stem for change in CHANGES.glob("*.diff")), key=lambda name: (len(name), name))


def class_path_with(change: str, release: str) -> list[Path]:
    """The class path of a release with a change: a directory with its classes, then the jars.

    Args:
        change: its name; empty: none, and the jars are all.
        release: `CHANGED`, if there is a change.

    Raises:
        UsageError: there is no such change of that release, it does not apply, or Java, `patch` or a jar is missing.
        EnvironmentFailed: it does not compile, or cannot be kept.
    """
    jars = class_path(release)
    if not change:
        return jars
    if change not in changes() or release != CHANGED:
        raise UsageError(f"there is no change {change} of Kafka {release}; of {CHANGED} are {', '.join(changes())}")
    return [_classes(CHANGES / f"{change}.diff", jars), *jars]


def _classes(change: Path, jars: Sequence[Path]) -> Path:
    """The directory of the classes that a change makes, compiled if they are not there."""
    with_java, tools = java(), class_path(f"compiler/{CHANGED}")
    key = hashlib.sha256("\n".join([with_java.version, *map(str, [*tools, *jars])]).encode() + change.read_bytes())
    place = cache_directory() / CHANGED
    classes = place / f"{change.stem}-{key.hexdigest()[:16]}"
    with exclusively(place):
        if not classes.exists():
            with tempfile.TemporaryDirectory(dir=place) as unfinished:
                sources = next(jar for jar in tools if jar.name.endswith("-sources.jar"))
                changed = applied(change, sources, Path(unfinished) / "sources")
                _compile(changed, [*tools, *jars], with_java, Path(unfinished) / "classes").rename(classes)
    return classes


def applied(change: Path, sources: Path, into: Path) -> list[Path]:
    """The files that a change is about, changed.

    Args:
        change: a unified diff.
        sources: the jar that has the files as they were.
        into: the directory where they are put.

    Raises:
        UsageError: it does not apply, or there is no `patch`.
    """
    names = re.findall(rf"^\+\+\+ b/{SCALA}/(\S+)", change.read_text(encoding="utf-8"), re.MULTILINE)
    with zipfile.ZipFile(sources) as jar:
        files = [Path(jar.extract(name, into)) for name in names]
    strip = f"-p{SCALA.count('/') + 2}"
    command = ["patch", strip, "--batch", "--fuzz=0", "--directory", str(into), "--input", str(change)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UsageError("Kafka's source is changed by `patch`, and there is none on the PATH") from None
    if run.returncode:
        raise UsageError(f"{change.name} does not apply to {sources.name}: {' '.join(run.stdout.split())}")
    return files


def _compile(sources: Sequence[Path], jars: Sequence[Path], with_java: Java, classes: Path) -> Path:
    classes.mkdir()
    path = os.pathsep.join(map(str, jars))
    run = subprocess.run(
        [
            *(with_java.command, *BRIEFLY, "-Xss8m", "-cp", path, COMPILER),  # the compiler recurses deeply
            *("-nowarn", "-classpath", path, "-d", str(classes), *map(str, sources)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        said = (run.stdout + run.stderr).splitlines()
        wrong = next((line for line in said if ": error: " in line), said[0] if said else "it says nothing")
        raise EnvironmentFailed(f"the changed source of Kafka does not compile: {wrong}", "nothing was kept")
    return classes
