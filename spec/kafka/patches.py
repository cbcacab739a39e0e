"""Patches of Kafka's own source: applied, compiled against the release's jars, and put before them on the class path.

    patches()                          # ["K1", ...]
    class_path_with("K1", "3.9.1")     # the directory of the patched classes, then the jars

A patch is a unified diff in `patches/`, against the root of Kafka's repository at the tag of `PATCHED_RELEASE`;
`git apply` accepts it there. None of Kafka's source is kept here. The source and the compiler come from the jars of
`locks/compiler/`.
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

PATCHED_RELEASE: Final = "3.9.1"
"""The release of Kafka whose source the patches change."""
PATCHES: Final = Path(__file__).parent / "patches"
SCALA: Final = "core/src/main/scala"
"""The path in Kafka's repository of the files in the jar of sources."""
COMPILER: Final = "scala.tools.nsc.Main"


def patches() -> list[str]:
    """The names of all patches."""
    return sorted((patch.stem for patch in PATCHES.glob("*.diff")), key=lambda name: (len(name), name))


def class_path_with(patch: str, release: str) -> list[Path]:
    """The class path of a patched release: the directory of the patched classes, then the jars.

    Args:
        patch: the name of a patch; if empty, the result is the jars alone.
        release: must be `PATCHED_RELEASE` if a patch is named.

    Raises:
        UsageError: the release has no such patch, it does not apply; Java, the program `patch` or a jar is missing.
        EnvironmentFailed: the patched source does not compile, or the classes cannot be stored.
    """
    jars = class_path(release)
    if not patch:
        return jars
    if patch not in patches() or release != PATCHED_RELEASE:
        raise UsageError(f"Kafka {release} has no patch {patch}; {PATCHED_RELEASE} has {', '.join(patches())}")
    return [_classes(PATCHES / f"{patch}.diff", jars), *jars]


def _classes(patch: Path, jars: Sequence[Path]) -> Path:
    """The directory of the patched classes, which are compiled if they are missing."""
    with_java, tools = java(), class_path(f"compiler/{PATCHED_RELEASE}")
    key = hashlib.sha256("\n".join([with_java.version, *map(str, [*tools, *jars])]).encode() + patch.read_bytes())
    place = cache_directory() / PATCHED_RELEASE
    classes = place / f"{patch.stem}-{key.hexdigest()[:16]}"
    with exclusively(place):
        if not classes.exists():
            with tempfile.TemporaryDirectory(dir=place) as unfinished:
                sources = next(jar for jar in tools if jar.name.endswith("-sources.jar"))
                patched = applied(patch, sources, Path(unfinished) / "sources")
                _compile(patched, [*tools, *jars], with_java, Path(unfinished) / "classes").rename(classes)
    return classes


def applied(patch: Path, sources: Path, into: Path) -> list[Path]:
    """Extract the files that a patch changes, apply it to them, and return them.

    Args:
        patch: a unified diff.
        sources: the jar with the original files.
        into: the directory for the patched files.

    Raises:
        UsageError: the patch does not apply, or the program `patch` is missing.
    """
    names = re.findall(rf"^\+\+\+ b/{SCALA}/(\S+)", patch.read_text(encoding="utf-8"), re.MULTILINE)
    with zipfile.ZipFile(sources) as jar:
        files = [Path(jar.extract(name, into)) for name in names]
    strip = f"-p{SCALA.count('/') + 2}"
    command = ["patch", strip, "--batch", "--fuzz=0", "--directory", str(into), "--input", str(patch)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UsageError("patching Kafka's source needs the program `patch`, and the PATH has none") from None
    if run.returncode:
        raise UsageError(f"{patch.name} does not apply to {sources.name}: {' '.join(run.stdout.split())}")
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
        raise EnvironmentFailed(f"the patched source of Kafka does not compile: {wrong}", "nothing was kept")
    return classes
