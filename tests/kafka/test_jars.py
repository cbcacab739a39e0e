"""Jars are downloaded once and have the expected hash; an error names a jar that cannot be downloaded."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from spec.kafka import jars
from spec.kafka.jars import Artifact, class_path, locked, releases
from spec.kafka.java import java
from spec.language.errors import EnvironmentFailed, UsageError

ARTIFACT = Artifact("org.example", "small", "1.0")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository on this disk with one jar in it, the only repository, and a release of that jar."""
    try:
        java()
    except UsageError as missing:
        pytest.skip(str(missing))
    place = tmp_path / "repository" / "org" / "example" / "small" / "1.0"
    place.mkdir(parents=True)
    with zipfile.ZipFile(place / "small-1.0.jar", "w") as jar:
        jar.writestr("a", "b")
    (place / "small-1.0.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
        "<artifactId>small</artifactId><version>1.0</version></project>"
    )
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="here"/><resolvers>'
        f'<ibiblio name="here" m2compatible="true" root="{(tmp_path / "repository").as_uri()}"/>'
        "</resolvers></ivysettings>"
    )
    monkeypatch.setenv("KAFKASPEC_IVYSETTINGS", str(settings))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "LOCKS", tmp_path)
    return place


@pytest.fixture
def lock(repository: Path, tmp_path: Path) -> Callable[..., None]:
    """Writes the lock file of the release."""

    def write(digest: str = "") -> None:
        right = hashlib.sha256((repository / "small-1.0.jar").read_bytes()).hexdigest()
        (tmp_path / "9.9.txt").write_text(f"# Kafka 9.9\n{ARTIFACT} {digest or right}\n")

    return write


def test_fetched_once(repository: Path, lock: Callable[..., None], tmp_path: Path) -> None:
    """The second time the repository is not needed, and the cache holds only the jar."""
    lock()
    [jar] = class_path("9.9")
    assert jar.read_bytes() == (repository / "small-1.0.jar").read_bytes()
    shutil.rmtree(repository)
    assert class_path("9.9") == [jar]
    assert {each.name for each in (tmp_path / "cache" / "kafkaspec" / "kafka" / "jars").iterdir()} == {
        "small-1.0.jar",
        ".lock",
    }


@pytest.mark.long
def test_sources_are_another_jar(repository: Path, tmp_path: Path) -> None:
    """Of one artifact, which says so in its name."""
    shutil.copy(repository / "small-1.0.jar", sources := repository / "small-1.0-sources.jar")
    with zipfile.ZipFile(sources, "a") as jar:
        jar.writestr("c", "d")
    digests = {each: hashlib.sha256(each.read_bytes()).hexdigest() for each in repository.glob("*.jar")}
    (tmp_path / "9.9.txt").write_text(
        "".join(
            f"{ARTIFACT}{':sources' if jar == sources else ''} {digest}\n" for jar, digest in sorted(digests.items())
        )
    )
    assert {each.name: each.read_bytes() for each in class_path("9.9")} == {
        each.name: each.read_bytes() for each in digests
    }


@pytest.mark.long
def test_a_jar_that_two_releases_need_is_fetched_once(
    repository: Path, lock: Callable[..., None], tmp_path: Path
) -> None:
    """The second release finds it in the cache."""
    lock()
    fetched = class_path("9.9")
    shutil.rmtree(repository)
    (tmp_path / "9.9.txt").rename(tmp_path / "9.10.txt")
    assert class_path("9.10") == fetched


def test_a_damaged_jar_is_fetched_again(repository: Path, lock: Callable[..., None]) -> None:
    """A jar in the cache is valid only with its hash."""
    lock()
    [jar] = class_path("9.9")
    jar.write_bytes(b"damaged")
    class_path("9.9")
    assert jar.read_bytes() == (repository / "small-1.0.jar").read_bytes()


@pytest.mark.long
def test_another_jar_than_the_one_written_down(lock: Callable[..., None], tmp_path: Path) -> None:
    """It does not reach the cache."""
    lock("0" * 64)
    with pytest.raises(
        UsageError, match=r"^org\.example:small:1\.0: the downloaded file has the SHA-256 .{64}, not 0{64}$"
    ):
        class_path("9.9")
    assert not list((tmp_path / "cache").rglob("*.jar"))


def test_an_unavailable_artifact_is_reported(repository: Path, lock: Callable[..., None]) -> None:
    """One line with its name."""
    lock()
    shutil.rmtree(repository)
    with pytest.raises(
        UsageError, match=r"org\.example#small;1\.0 cannot be downloaded; Ivy downloads Kafka's jars once"
    ):
        class_path("9.9")


def test_a_cache_that_cannot_be_written(
    lock: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says where it is, and which variable names another."""
    lock()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentFailed, match="cannot be written: Not a directory; XDG_CACHE_HOME names another"):
        class_path("9.9")


def test_the_locks_of_kafka() -> None:
    """Each has Kafka itself, of that release, and a hash for each jar; shared jars have the same hash in all."""
    assert "3.9.1" in releases()
    known: dict[str, str] = {}
    for release in releases():
        jars_of_it = locked(release)
        assert [each.version for each in jars_of_it if each.name.startswith("kafka_2.")] == [release]
        assert all(len(digest) == 64 for digest in jars_of_it.values())
        assert all(known.setdefault(each.file, digest) == digest for each, digest in jars_of_it.items())


def test_an_unknown_release_is_refused() -> None:
    """The error names the known ones."""
    with pytest.raises(UsageError, match=r"^Kafka 4\.0\.0 cannot run here; .*3\.9\.1$"):
        locked("4.0.0")


@pytest.mark.parametrize("written", ["a:b", "a:b:", "a:b:c:d:e"])
def test_invalid_coordinates_are_refused(written: str) -> None:
    """The error says how to write them."""
    with pytest.raises(UsageError, match=r"write an artifact as organisation:name:version\[:classifier\]"):
        Artifact.parse(written)
