"""Kafka's jars: the exact jars of each release, and how they get into the user's cache.

`locks/` lists the jars of a release, one a line with its hash, so that everybody runs the same classes. Ivy, which
comes with pyspark, downloads the missing ones. `KAFKASPEC_IVYSETTINGS` names an Ivy settings file, for jars from a
repository of your own. Releases share the jars that they have in common.

    python -m spec.kafka.jars 3.9.1 org.apache.kafka:kafka_2.13:3.9.1 org.slf4j:slf4j-simple:1.7.36

writes the lock file of a release: the first artifact with its dependencies, as Ivy resolves them, and the others
without theirs. What changes and compiles the source of a release (`patches.py`) has a lock of its own,
`compiler/3.9.1`: the same with `org.scala-lang:scala-compiler:2.13.15 org.apache.kafka:kafka_2.13:3.9.1:sources`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple
from xml.sax.saxutils import quoteattr

from spec.kafka.java import BRIEFLY, java
from spec.language.errors import EnvironmentFailed, UsageError, require

LOCKS: Final = Path(__file__).parent / "locks"
SETTINGS: Final = "KAFKASPEC_IVYSETTINGS"
"""The environment variable that names Ivy's settings."""


class Artifact(NamedTuple):
    """A jar by its coordinates."""

    organisation: str
    name: str
    version: str
    classifier: str = ""
    """Which of its jars, if it is not the one with the classes: `sources`."""

    def __str__(self) -> str:
        return ":".join(filter(None, self))

    @property
    def file(self) -> str:
        """The name of its file."""
        return "-".join(filter(None, self[1:])) + ".jar"

    @classmethod
    def parse(cls, written: str) -> Artifact:
        """The artifact of these coordinates, `organisation:name:version[:classifier]`.

        Raises:
            UsageError: the text has another form.
        """
        parts = written.split(":")
        if len(parts) not in (3, 4) or not all(parts):
            raise UsageError(f"{written}: write an artifact as organisation:name:version[:classifier]")
        return cls(*parts)


def releases() -> list[str]:
    """The releases that have a lock file, oldest first."""
    return sorted(
        (lock.stem for lock in LOCKS.glob("*.txt")), key=lambda name: [int(part) for part in name.split(".")]
    )


def locked(release: str) -> dict[Artifact, str]:
    """The jars of a release, each with its SHA-256.

    Args:
        release: or the name of another lock, such as `compiler/3.9.1`.

    Raises:
        UsageError: the release has no lock file.
    """
    lock = LOCKS / f"{release}.txt"
    if not lock.exists():
        raise UsageError(f"Kafka {release} cannot run here; choose from {', '.join(releases())}")
    lines = [line.split() for line in lock.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {Artifact.parse(artifact): digest for artifact, digest in lines}


def class_path(release: str) -> list[Path]:
    """The jars of a release in the cache; missing or damaged ones are downloaded.

    Args:
        release: or the name of another lock, such as `compiler/3.9.1`.

    Raises:
        UsageError: no such release, no Java, or a jar cannot be downloaded.
        EnvironmentFailed: the cache cannot be written.
    """
    wanted, place = locked(release), cache_directory() / "jars"
    with exclusively(place):
        missing = [each for each, digest in wanted.items() if _digest(place / each.file) != digest]
        if missing:
            _fetch(missing, wanted, place)
    return [place / artifact.file for artifact in wanted]


def cache_directory() -> Path:
    """The directory of everything that belongs to Kafka's releases."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "kafkaspec" / "kafka"


@contextmanager
def exclusively(place: Path) -> Iterator[None]:
    """Lock a directory against other processes that would fill it; create it if it does not exist.

    Raises:
        EnvironmentFailed: it cannot be created.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = (place / ".lock").open("w")
    except OSError as failure:
        raise EnvironmentFailed(
            f"{place} cannot be written: {failure.strerror}", "XDG_CACHE_HOME names another"
        ) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(missing: Sequence[Artifact], wanted: dict[Artifact, str], place: Path) -> None:
    """Have Ivy download the missing jars, and accept those with the expected hash."""
    with tempfile.TemporaryDirectory(dir=place) as unfinished:
        fetched = Path(unfinished)
        _ivy(missing, fetched)
        for artifact in missing:
            jar = fetched / _file_of(artifact)
            if (digest := _digest(jar)) != wanted[artifact]:
                raise UsageError(f"{artifact}: the downloaded file has the SHA-256 {digest}, not {wanted[artifact]}")
            jar.rename(place / artifact.file)


def _file_of(artifact: Artifact) -> str:
    """Where Ivy puts an artifact: two organisations may use one name."""
    return f"{'~'.join(filter(None, artifact))}.jar"


def _ivy(artifacts: Sequence[Artifact], into: Path, whole: Sequence[Artifact] = ()) -> None:
    """Have Ivy put artifacts into a directory, the `whole` ones with their dependencies."""
    dependencies = "".join(
        f"<dependency org={quoteattr(each.organisation)} name={quoteattr(each.name)} rev={quoteattr(each.version)}"
        f' conf="*->{"default" if each in whole else each.classifier or "master"}"/>'
        for each in artifacts
    )
    module = into / "ivy.xml"
    module.write_text(
        f'<ivy-module version="2.0"><info organisation="kafkaspec" module="jars"/>'
        f'<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )
    settings = os.environ.get(SETTINGS)
    command = [
        *(java().command, *BRIEFLY, "-cp", str(_ivy_jar()), "org.apache.ivy.Main"),
        *(("-settings", settings) if settings else ()),
        *("-ivy", str(module), "-confs", "default", "-cache", str(into / "ivy")),
        *("-types", "jar", "bundle", "source"),
        *("-retrieve", f"{into}/[organisation]~[artifact]~[revision](~[classifier]).[ext]"),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    shutil.rmtree(into / "ivy", ignore_errors=True)
    if run.returncode or not all((into / _file_of(artifact)).exists() for artifact in artifacts):
        raise UsageError(f"{_why(run.stdout + run.stderr)}; Ivy downloads Kafka's jars once, from Maven Central")


def _ivy_jar() -> Path:
    require("pyspark")
    pyspark = find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    return next((Path(pyspark.origin).parent / "jars").glob("ivy-*.jar"))


def _why(said: str) -> str:
    """The line of Ivy's output that names the problem."""
    missing = re.findall(r":: (\S+#\S+): not found", said)
    if missing:
        return (
            f"{missing[0]} and {len(missing) - 1} more cannot be downloaded"
            if missing[1:]
            else f"{missing[0]} cannot be downloaded"
        )
    errors = [line.strip() for line in said.splitlines() if re.search("exception|error|failed", line, re.IGNORECASE)]
    return errors[0] if errors else "Ivy fetched nothing"


def _digest(jar: Path) -> str | None:
    return hashlib.sha256(jar.read_bytes()).hexdigest() if jar.exists() else None


def _write_lock(release: str, artifacts: Sequence[Artifact]) -> None:
    with tempfile.TemporaryDirectory() as place:
        fetched = Path(place)
        _ivy(artifacts, fetched, whole=artifacts[:1])
        found = {Artifact(*jar.stem.split("~")): _digest(jar) for jar in fetched.glob("*.jar")}
    kafka, *beside = artifacts
    head = [
        f"# {kafka} with its dependencies, and without theirs {', '.join(map(str, beside))}; each with its SHA-256."
    ]
    lines = [f"{artifact} {digest}" for artifact, digest in sorted(found.items())]
    (LOCKS / f"{release}.txt").write_text("\n".join([*head, *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    _write_lock(sys.argv[1], [Artifact.parse(each) for each in sys.argv[2:]])
