"""`make check` fails if a result differs from its record, and prints little more than verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from spec.atlas.instances import instances
from spec.checking import Result
from spec.checking.exploration import Jobs
from spec.cli import demonstration
from spec.cli.demonstration import LARGE, differs, main
from spec.language import Specification

TINY = next(each for each in instances() if each.name == "controller, 0.10.2")


def test_pinned_results_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """On an engine without jobs; a line says so."""
    assert not differs(TINY, "reference", "plain Python")
    [line] = capsys.readouterr().out.splitlines()
    assert line.split()[:3] == ["plain", "Python", *TINY.broken]


def test_an_unpinned_result_is_wrong() -> None:
    """Even if it holds."""
    assert differs(replace(TINY, depth=TINY.depth + 1), "reference", "plain Python")


def test_spark_without_a_job_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever its result: it demonstrates nothing of Spark."""
    monkeypatch.setattr(demonstration, "check", lambda *_, **__: replace(TINY.check("reference"), jobs=Jobs(0, 0)))
    assert differs(TINY, "spark", "Spark")
    assert "0 levels as Spark jobs" in capsys.readouterr().out


@pytest.fixture
def without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On small instances, on a machine without Java."""
    pinned = [replace(TINY, name=name) for name in (LARGE, demonstration.SMALL)]
    monkeypatch.setattr(demonstration, "instances", lambda: pinned)
    monkeypatch.setattr(demonstration, "BUGS", ("B36",))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_only_verdicts_are_printed(without_java: None, capfd: pytest.CaptureFixture[str]) -> None:
    """One line for each engine, and a bug with the command that prints its trace; no progress."""
    assert main() == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert out.count(f": {TINY.distinct_states} states, depth {TINY.depth}, ") == 2
    assert out.count("kafkaspec anomalies B36\n") == 1
    assert "Spark is left out: the Spark engine needs Java" in out
    assert out.endswith("Everything came out as pinned.\n")


def test_an_interruption_ends_it(
    without_java: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends as the command does, with one line; nothing further is explored."""
    interrupted: Result = SimpleNamespace(verdict="interrupted")  # type: ignore[assignment]
    asked: list[str] = []

    def explored(subject: Specification, engine: str) -> Result:
        asked.append(engine)
        return interrupted

    monkeypatch.setattr(demonstration, "check", explored)
    assert main() == 130
    assert asked == ["local"]
    assert capsys.readouterr().err.startswith("Error: interrupted")
