"""A sufficient Java is found; for any other the error says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from spec.kafka.java import java
from spec.language.errors import UsageError


def a_java(home: Path, version: str, compiler: bool = True) -> Path:
    """A program that pretends to be a Java of this version."""
    (home / "bin").mkdir(parents=True)
    for name in ("java", "javac") if compiler else ("java",):
        program = home / "bin" / name
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
        program.chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It wins over any Java on the PATH."""
    monkeypatch.setenv("PATH", str(a_java(tmp_path / "other", "18.0.1") / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "jdk", "21.0.1")))
    found = java()
    assert (found.home, found.version) == (tmp_path / "jdk", "21.0.1")
    assert found.command == str(tmp_path / "jdk" / "bin" / "java")
    assert found.compiler == str(tmp_path / "jdk" / "bin" / "javac")


def test_java_on_the_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if it is a symbolic link, as on most systems."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(a_java(tmp_path / "jdk", "17") / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert java().home == tmp_path / "jdk"


def test_a_missing_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither named nor on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(UsageError, match="no java on the PATH, nor a JAVA_HOME"):
        java()


def test_an_invalid_java_home_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=f"^JAVA_HOME, {tmp_path}, has no bin/java$"):
        java()


@pytest.mark.parametrize("version", ["11.0.21", "1.8.0_392"])
def test_an_old_java_is_refused(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names its version and the sufficient ones."""
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "jdk", version)))
    with pytest.raises(UsageError, match=f"is Java {version}; Kafka's classes need Java 17 or later"):
        java()


def test_a_broken_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be executed."""
    home = a_java(tmp_path / "jdk", "17")
    (home / "bin" / "java").chmod(0o644)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(UsageError, match="does not report its version"):
        java()


def test_a_java_without_compiler_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java Runtime Environment only runs compiled code."""
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "jre", "17.0.1", compiler=False)))
    with pytest.raises(UsageError, match="has no compiler: install a JDK"):
        _ = java().compiler
