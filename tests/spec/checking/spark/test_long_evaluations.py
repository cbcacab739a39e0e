"""The driver tells what a worker announces, for as long as the worker does."""

from __future__ import annotations

from pathlib import Path

import pytest

from spec.checking.spark.long_evaluations import LongEvaluations


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that it is."""
    now = [0.0]
    monkeypatch.setattr("spec.checking.spark.long_evaluations.monotonic", lambda: now[0])
    return now


def test_a_line_is_told_for_as_long_as_it_changes(tmp_path: Path, clock: list[float]) -> None:
    """A worker that was killed changes nothing any more, and is not told of for ever."""
    place, seen = tmp_path / "_evaluating-1-a", LongEvaluations(tmp_path)
    assert seen.now() == ""
    place.write_text("10 s: go()")
    assert seen.now() == "10 s: go()"
    clock[0] += 4
    assert seen.now() == "10 s: go()"
    clock[0] += 2
    assert seen.now() == ""
    place.write_text("16 s: go()")
    assert seen.now() == "16 s: go()"
    place.write_text("")  # it is being written
    assert seen.now() == ""


def test_what_a_worker_left_is_removed(tmp_path: Path) -> None:
    """A run directory holds nothing of it when a job has ended."""
    (tmp_path / "_evaluating-1-a").write_text("10 s: go()")
    (tmp_path / "_run.json").touch()
    seen = LongEvaluations(tmp_path)
    assert seen.now()
    seen.forget()
    assert seen.now() == ""
    assert [path.name for path in tmp_path.iterdir()] == ["_run.json"]
