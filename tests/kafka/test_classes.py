"""Java sources are compiled once, and reach the cache complete or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from spec.kafka.java import Java, java
from spec.kafka.java_process import compiled
from spec.language.errors import EnvironmentFailed, UsageError


@pytest.fixture
def with_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    """A Java with its compiler, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    try:
        found = java()
        _ = found.compiler
    except UsageError as missing:
        pytest.skip(str(missing))
    return found


def kept(tmp_path: Path) -> list[str]:
    """The content of the cache, except for its lock."""
    place = tmp_path / "cache" / "kafkaspec" / "kafka" / "9.9"
    return sorted(each.relative_to(place).name for each in place.rglob("*") if each.name != ".lock")


def test_classes_are_compiled_once(tmp_path: Path, with_java: Java) -> None:
    """The second time the classes come from the cache; a changed source is compiled again."""
    source = tmp_path / "A.java"
    source.write_text("class A { }")
    first = compiled("small", [source], "9.9", [], with_java)
    assert kept(tmp_path) == sorted(["A.class", first.name])
    assert compiled("small", [source], "9.9", [], with_java) == first
    source.write_text("class A { int a; }")
    assert compiled("small", [source], "9.9", [], with_java) != first


@pytest.mark.long
def test_a_compile_error_is_reported(tmp_path: Path, with_java: Java) -> None:
    """One line with the first error, and nothing stays in the cache: the corrected source compiles."""
    good, bad = tmp_path / "A.java", tmp_path / "B.java"
    good.write_text("import sun.misc.Unsafe; class A { Unsafe it; }")  # javac warns of this first
    bad.write_text("class B { Nothing it; }")
    with pytest.raises(
        EnvironmentFailed, match=r"^the sources of small do not compile: .*B\.java:1: error: .*; nothing"
    ):
        compiled("small", [good, bad], "9.9", [], with_java)
    assert kept(tmp_path) == []
    bad.write_text("class B { }")
    assert {each.name for each in compiled("small", [good, bad], "9.9", [], with_java).iterdir()} == {
        "A.class",
        "B.class",
    }
