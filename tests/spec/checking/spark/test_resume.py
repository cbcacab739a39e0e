"""A run of the Spark engine that died at any point, when resumed, ends as if it had not died."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from spec.checking.code.source import digests
from spec.checking.exploration import Options
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine
from spec.language import Specification, UsageError
from tests.spec.checking.runs.test_rundir import tree
from tests.spec.checking.spark.test_engine import asked, comparable, explored, interrupted
from tests.spec.toys import TOYS, Countdown, Jugs, OneWay, Walkers

TOY = "several broken"
"""It has discoveries of every kind, with most of its levels after them."""
POINTS = ["before files", "after files", "before commit", "after commit"]
SOON = [("before commit", 6)]
"""Points at which every test run kills a run; `make long` adds every point of a level, also of the first."""

DYING = """
import os, signal, sys
from pathlib import Path
from spec.checking.runs import rundir
from spec.checking.model import Model
from spec.checking.spark import SparkEngine
from tests.spec.checking.spark.test_engine import asked
from tests.spec.toys import TOYS

toy, path, point, level, driver_level = sys.argv[1:]
levels = 0

def reached(where):
    global levels
    levels += where == "before files"
    if (where, levels) == (point, int(level)):
        os.kill(os.getpid(), signal.SIGKILL)

rundir.reached = reached
model = Model(TOYS[toy])
engine = SparkEngine(Path(path), driver_level=int(driver_level), workers=2)
engine.explore(model, asked(model, keep_going=True), lambda statistics: None)
"""


def kill(path: Path, point: str, level: int, driver_level: int = 1000) -> None:
    """Explore in another process, which is killed at a point of a level."""
    command = [sys.executable, "-c", DYING, TOY, str(path), point, str(level), str(driver_level)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL


def without_attempts(path: Path) -> dict[str, str]:
    """The levels of a run, file by file, and its commits by name."""
    return {
        name: digest if name.startswith("level=") else ""
        for name, digest in tree(path).items()
        if not name.startswith("_spark")
    }


@pytest.mark.parametrize(
    ("point", "level"),
    [
        pytest.param(point, level, marks=() if (point, level) in SOON else pytest.mark.long)
        for level in (6, 1)
        for point in POINTS
    ],
)
@pytest.mark.usefixtures("java")
def test_a_killed_run_is_resumed(point: str, level: int, tmp_path: Path) -> None:
    """Statistics, coverage, discoveries, paths and files are those of a run that was not killed."""
    kill(tmp_path / "killed", point, level)
    resumed = SparkEngine(tmp_path / "killed", resume=True)
    undisturbed = SparkEngine(tmp_path / "undisturbed")
    found = explored(resumed, TOYS[TOY], keep_going=True)
    assert found == explored(undisturbed, TOYS[TOY], keep_going=True)
    assert found == explored(ReferenceEngine(), TOYS[TOY], keep_going=True)
    assert without_attempts(tmp_path / "killed") == without_attempts(tmp_path / "undisturbed")


@pytest.mark.spark
@pytest.mark.long
def test_a_run_killed_between_jobs_is_resumed(tmp_path: Path) -> None:
    """Workers wrote the files of the uncommitted level, and some of them outlive the driver."""
    kill(tmp_path, "after files", 4, driver_level=0)
    found = explored(SparkEngine(tmp_path, resume=True, driver_level=0, workers=2), TOYS[TOY], keep_going=True)
    assert found == explored(ReferenceEngine(), TOYS[TOY], keep_going=True)


def test_an_interrupted_run_is_resumed(tmp_path: Path) -> None:
    """Even twice; the seconds of all its parts are added up."""
    first = interrupted(SparkEngine(tmp_path), Walkers(), 3)
    second = interrupted(SparkEngine(tmp_path, resume=True), Walkers(), 6)
    assert (first.ended, second.ended) == ("interrupted", "interrupted")
    model = Model(Walkers())
    found = SparkEngine(tmp_path, resume=True).explore(model, asked(model, keep_going=True), lambda _: None)
    assert comparable(found) == explored(ReferenceEngine(), Walkers(), keep_going=True)
    assert first.statistics.seconds < second.statistics.seconds < found.statistics.seconds


@pytest.mark.long
def test_bounds_may_change_when_a_run_is_resumed(tmp_path: Path) -> None:
    """With each of them the result is that of a run with these bounds from the beginning."""
    explored(SparkEngine(tmp_path), Walkers(far=6), max_depth=4)
    for bounds in ({"max_states": 50}, {}, {"keep_going": True}, {"max_depth": 3}, {"max_states": 10}):
        found = explored(SparkEngine(tmp_path, resume=True), Walkers(far=6), **bounds)
        assert found == explored(ReferenceEngine(), Walkers(far=6), **bounds)


def test_a_complete_run_answers_again(tmp_path: Path) -> None:
    """Nothing is written then."""
    expected = explored(SparkEngine(tmp_path), TOYS["walkers"])
    before = tree(tmp_path)
    assert explored(SparkEngine(tmp_path, resume=True), TOYS["walkers"]) == expected
    assert tree(tmp_path) == before


# Refused runs.

OTHERS: dict[str, tuple[Specification, str]] = {
    "another system": (Jugs(), "system name was walkers, and is now jugs"),
    "another constant": (Walkers(far=9), "constants far was 1000, and is now 9"),
    "another switch": (Walkers(back=False), "switches back was True, and is now False"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_specification_is_refused(other: str, tmp_path: Path) -> None:
    """One line names the difference, and the directory is unchanged."""
    toy, message = OTHERS[other]
    explored(SparkEngine(tmp_path), Walkers(), max_depth=3)
    before = tree(tmp_path)
    with pytest.raises(UsageError, match=f"holds another run: {message}"):
        explored(SparkEngine(tmp_path, resume=True), toy)
    assert tree(tmp_path) == before


def test_other_properties_are_refused(tmp_path: Path) -> None:
    """The kept levels were not checked for them."""
    model = Model(Walkers())
    few = Options(model.numbers(["type_ok", "not_too_far"]), max_depth=3)
    SparkEngine(tmp_path).explore(model, few, lambda _: None)
    with pytest.raises(UsageError, match="properties on_the_line was not looked at, and is now looked at"):
        SparkEngine(tmp_path, resume=True).explore(model, replace(few, properties=asked(model).properties), print)


def test_a_source_that_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may mean another system with the same name and constants."""
    explored(SparkEngine(tmp_path), Walkers(), max_depth=3)
    before = tree(tmp_path)
    changed = {**digests(Walkers()), "tests.spec.toys": "0" * 64}
    monkeypatch.setattr("spec.checking.runs.run_identity.digests", lambda *_: changed)
    with pytest.raises(UsageError, match=r"the source of tests\.spec\.toys has changed since"):
        explored(SparkEngine(tmp_path, resume=True), Walkers())
    assert tree(tmp_path) == before


@pytest.mark.long
@pytest.mark.usefixtures("java")
def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """Before anything is written: the files of the unfinished level remain."""
    kill(tmp_path, "after files", 5)
    file = next(tmp_path.glob("level=0003/*/*.parquet"))
    file.write_bytes(file.read_bytes()[:-1])
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="is damaged"):
        explored(SparkEngine(tmp_path, resume=True), TOYS[TOY], keep_going=True)
    assert tree(tmp_path) == before


def test_a_run_directory_is_not_reused_without_resume(tmp_path: Path) -> None:
    """Without `resume` it must be empty."""
    explored(SparkEngine(tmp_path), Walkers(), max_depth=3)
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="is not empty"):
        explored(SparkEngine(tmp_path), Walkers())
    assert tree(tmp_path) == before


def test_resuming_without_a_run_directory_is_refused(tmp_path: Path) -> None:
    """Whether the directory is missing or empty; it is not created."""
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(UsageError, match=r"cannot be a run directory|holds no run"):
            explored(SparkEngine(path, resume=True), Walkers())
    assert tree(tmp_path) == {}
    with pytest.raises(UsageError, match="nothing to resume without a run directory"):
        SparkEngine(resume=True)


def test_without_a_run_directory_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The temporary directory is removed, however the run ends."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    explored(SparkEngine(), Countdown())
    interrupted(SparkEngine(), OneWay(), 3)
    assert tree(tmp_path) == {}
