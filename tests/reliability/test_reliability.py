"""A run that is interrupted or killed at any moment ends, once resumed, as if it had never stopped.

The moments fall in large levels: workers are busy, most paths are learned, and no two levels know the same.
`MOMENTS_SEED=... pytest tests/reliability` repeats the same moments.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from spec.checking import Result
from spec.checking.exploration import Statistics
from spec.checking.local import LocalEngine
from tests.reliability.breaking import broken_off, engine, explored, javas, outcome, tasks_lost, workers_at_work
from tests.reliability.moments import WAYS, Moment, drawn
from tests.seeds import seed_of_this_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Ctrl-C may come between the opening of a file and the block that closes it. Python then closes the file and warns.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:Exception ignored in. <_io.FileIO:pytest.PytestUnraisableExceptionWarning"
)

PATIENCE = 360
"""The time limit in seconds for a process to die."""
SEED = seed_of_this_run("MOMENTS_SEED")
MANY = drawn(SEED, local=60, spark=40)


class Unbroken(NamedTuple):
    """A run that was never stopped."""

    outcome: dict[str, Any]
    levels: dict[int, tuple[int, int]]
    """The generated and distinct states at the end of each level."""


@cache
def unbroken(symmetry: bool) -> Unbroken:
    """The expected result of every run."""
    levels: dict[int, tuple[int, int]] = {}

    def on_progress(statistics: Statistics) -> None:
        if statistics.depth:  # before the first level it may report that kernels are compiled
            levels.setdefault(statistics.depth, (statistics.generated, statistics.distinct))

    result = explored(LocalEngine(), symmetry=symmetry, on_progress=on_progress)
    assert result.verdict == "violated"
    assert len(levels) == result.depth
    return Unbroken(outcome(result), levels)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip waiting for the disk, since only processes die here, not the machine."""
    monkeypatch.setattr("spec.checking.runs.rundir._sync", lambda path: None)


def is_a_whole_level(result: Result, symmetry: bool) -> None:
    """An interrupted run reports what any run knows at its depth, including the paths to its discoveries."""
    whole = unbroken(symmetry)
    if not result.depth:
        return
    in_the_end = whole.outcome["generated_states"], whole.outcome["distinct_states"]
    over = result.depth == whole.outcome["depth"]  # the last level may be expanded; that adds no states
    levels = [whole.levels[result.depth], in_the_end] if over else [whole.levels[result.depth]]
    assert (result.generated_states, result.distinct_states) in levels
    known = {each["name"]: each["length"] for each in whole.outcome["properties"]}
    for each in result.properties:
        assert each.length in (None, known[each.name])
    if result.counterexample is not None:
        assert result.counterexample.to_json() == whole.outcome["counterexample"]


def dies(moment: Moment, path: Path) -> bool:
    """Stop a run in a separate process. The moment kills that process, or kills its JVM and makes it fail."""
    said = (moment.engine, moment.breaking, moment.level, moment.share, moment.symmetry, moment.bound or 0, path)
    command = [sys.executable, "-m", "tests.reliability.breaking", *map(str, said)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)
    died = -signal.SIGALRM if moment.breaking == "kill" else 1
    assert done.returncode in (died, 0), done.stderr  # 0: it had ended before
    assert done.returncode != 1 or "EnvironmentFailed: " in done.stderr, done.stderr
    return done.returncode == died


def is_interrupted(moment: Moment, path: Path, session: SparkSession | None) -> bool:
    """Interrupt a run in this process, and check its report."""
    try:
        result = broken_off(moment, path if moment.kept else None, session)
    except KeyboardInterrupt:  # it had reached its bound, so there was no run left to interrupt
        assert moment.bound is not None
        return False
    assert result.verdict == "interrupted" or result.depth in {
        moment.bound,
        unbroken(moment.symmetry).outcome["depth"],
    }
    is_a_whole_level(result, moment.symmetry)
    return result.verdict == "interrupted"


def loses_a_worker(moment: Moment, path: Path, session: SparkSession) -> bool:
    """Kill a Spark worker. Its task is repeated, and the run ends normally."""
    before = tasks_lost(session)
    assert outcome(broken_off(moment, path, session)) == unbroken(moment.symmetry).outcome
    return any(lost for stage, lost in tasks_lost(session).items() if stage not in before)


def go_through(moment: Moment, path: Path, session: SparkSession | None = None) -> bool:
    """Stop a run, resume it, and check that nothing is lost. False: the moment came too late."""
    if moment.breaking == "interrupt":
        took_effect = is_interrupted(moment, path, session)
    elif moment.breaking == "kill-worker":
        assert session is not None
        took_effect = loses_a_worker(moment, path, session)
    else:
        took_effect = dies(moment, path)
    if moment.kept:
        by = engine(moment.engine, path, symmetry=moment.symmetry, session=session)
        resumed = explored(by, symmetry=moment.symmetry, on_progress=lambda _: None)
        assert outcome(resumed) == unbroken(moment.symmetry).outcome
    return took_effect


def repeatable(moment: Moment) -> str:
    """The name of a moment, with the seed that repeats it."""
    return f"{moment}, MOMENTS_SEED={SEED}"


@pytest.mark.long
@pytest.mark.spark
def test_processes_to_kill_are_found(session: SparkSession, tmp_path: Path) -> None:
    """A computing worker and the JVM. If their names were wrong, no test would stop anything."""
    enough = tmp_path / "enough"

    def compute(_: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not enough.exists() and time.monotonic() < end:
            sum(range(10_000))

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(session.sparkContext.parallelize(range(2), 2).foreachPartition, compute)
        try:
            end = time.monotonic() + PATIENCE
            while not any(workers_at_work()):
                assert time.monotonic() < end, "no worker is computing"
        finally:
            enough.touch()
        job.result()
    assert any(javas())


@pytest.fixture(scope="session")
def took_effect() -> dict[Moment, bool]:
    """For each moment tried so far: whether it stopped the run, or came too late."""
    return {}


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("moment", MANY, ids=repeatable)
def test_a_run_stopped_at_many_moments_can_be_resumed(
    moment: Moment, tmp_path: Path, session: SparkSession, took_effect: dict[Moment, bool]
) -> None:
    """A hundred moments."""
    took_effect[moment] = go_through(moment, tmp_path / "run", session)


@pytest.mark.long
@pytest.mark.spark
def test_each_way_stopped_runs_often_enough(took_effect: dict[Moment, bool]) -> None:
    """At least eight times each, without the moments that came too late."""
    if len(took_effect) < len(MANY):
        pytest.skip(f"{len(took_effect)} of {len(MANY)} moments passed before this test")
    often = Counter(way for moment, broke_off in took_effect.items() if broke_off for way in moment.ways)
    assert {way: often[way] for way in WAYS if often[way] < 8} == {}
