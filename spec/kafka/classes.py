"""Compile our own Java or Groovy against a release's jars on first use, and keep the classes in the user's cache."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from spec.kafka.jars import cache_directory, exclusively
from spec.kafka.java import BRIEFLY, Java
from spec.language.errors import EnvironmentFailed

JAVAC: Final = ("-nowarn", "-proc:none", "-encoding", "UTF-8")
GROOVY: Final = ("-Dgroovy.target.indy=false", "org.codehaus.groovy.tools.FileSystemCompiler")
"""Calls by invokedynamic begin to be fast after ten thousand times only."""
AN_ERROR: Final = re.compile(r": error: |\.groovy: \d+: ")


def compiled(what: str, sources: Sequence[Path], release: str, jars: Sequence[Path], with_java: Java) -> Path:
    """The directory of the compiled classes of these sources; compiles them if they are not there.

    Args:
        what: a word for them, used in messages.
        sources: Java files, or Groovy files.
        release: the Kafka release that they are compiled against.
        jars: of that release; Groovy's too, if it compiles them.
        with_java: the JDK that compiles them.

    Raises:
        UsageError: this Java has no compiler.
        EnvironmentFailed: they do not compile, or cannot be stored.
    """
    key = hashlib.sha256("\n".join([with_java.version, *map(str, jars)]).encode())
    for source in sources:
        key.update(source.read_bytes())
    place = cache_directory() / release
    classes = place / f"{what}-{key.hexdigest()[:16]}"
    with exclusively(place):
        if not classes.exists():
            _compile(what, sources, jars, with_java, classes)
    return classes


def _compile(what: str, sources: Sequence[Path], jars: Sequence[Path], with_java: Java, classes: Path) -> None:
    with tempfile.TemporaryDirectory(dir=classes.parent) as place:
        unfinished = Path(place) / classes.name
        path, to = os.pathsep.join(map(str, jars)), ("-d", str(unfinished))
        if all(source.suffix == ".groovy" for source in sources):
            command = [with_java.command, *BRIEFLY, "-cp", path, *GROOVY, *to]
        else:
            command = [with_java.compiler, *(f"-J{option}" for option in BRIEFLY), *JAVAC, *to, "-cp", path]
        run = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
        if run.returncode:
            said = run.stderr.strip().splitlines()
            wrong = next((line for line in said if AN_ERROR.search(line)), said[0])  # warnings come before it
            raise EnvironmentFailed(f"the sources of {what} do not compile: {wrong}", "nothing was kept")
        unfinished.rename(classes)  # the directory appears complete or not at all
