"""A run that is interrupted or killed at any moment ends, once it has gone on, as if nothing had happened.

Where levels are large: workers are in the middle of something, most paths are learned, and what one level knows fits
no other. `MOMENTS_SEED=... pytest tests/reliability` does the same moments again.
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

# Ctrl-C may come between the opening of a file and the block that closes it. Python closes it then, and says so.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:Exception ignored in. <_io.FileIO:pytest.PytestUnraisableExceptionWarning"
)

PATIENCE = 360
"""Seconds in which a process has died."""
SEED = seed_of_this_run("MOMENTS_SEED")
SOME = drawn(SEED, local=11, spark=1)
MANY = drawn(SEED + 1, local=60, spark=40)


class Unbroken(NamedTuple):
    """A run that nobody broke off."""

    outcome: dict[str, Any]
    levels: dict[int, tuple[int, int]]
    """By depth, the states generated and found when it was whole."""


@cache
def unbroken(symmetry: bool) -> Unbroken:
    """What every run must come to."""
    levels: dict[int, tuple[int, int]] = {}

    def on_progress(statistics: Statistics) -> None:
        if statistics.depth:  # before the first level it may be told that kernels are compiled
            levels.setdefault(statistics.depth, (statistics.generated, statistics.distinct))

    result = explored(LocalEngine(), symmetry=symmetry, on_progress=on_progress)
    assert result.verdict == "violated"
    assert len(levels) == result.depth
    return Unbroken(outcome(result), levels)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine does not die here, so nobody waits for its disk."""
    monkeypatch.setattr("spec.checking.runs.rundir._sync", lambda path: None)


def is_a_whole_level(result: Result, symmetry: bool) -> None:
    """What an interrupted run tells is what any run knows that has come so far, paths to its discoveries included."""
    whole = unbroken(symmetry)
    if not result.depth:
        return
    in_the_end = whole.outcome["generated_states"], whole.outcome["distinct_states"]
    over = result.depth == whole.outcome["depth"]  # the last level may be expanded, which only leads back
    levels = [whole.levels[result.depth], in_the_end] if over else [whole.levels[result.depth]]
    assert (result.generated_states, result.distinct_states) in levels
    known = {each["name"]: each["length"] for each in whole.outcome["properties"]}
    for each in result.properties:
        assert each.length in (None, known[each.name])
    if result.counterexample is not None:
        assert result.counterexample.to_json() == whole.outcome["counterexample"]


def dies(moment: Moment, path: Path) -> bool:
    """Break a run off in a process of its own, which does not outlive it or, without its Java, is at a loss."""
    said = (moment.engine, moment.breaking, moment.level, moment.share, moment.symmetry, moment.bound or 0, path)
    command = [sys.executable, "-m", "tests.reliability.breaking", *map(str, said)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)
    died = -signal.SIGALRM if moment.breaking == "kill" else 1
    assert done.returncode in (died, 0), done.stderr  # 0: it was done before
    assert done.returncode != 1 or "EnvironmentFailed: " in done.stderr, done.stderr
    return done.returncode == died


def is_interrupted(moment: Moment, path: Path, session: SparkSession | None) -> bool:
    """Interrupt a run in this process; what it tells then is true."""
    try:
        result = broken_off(moment, path if moment.kept else None, session)
    except KeyboardInterrupt:  # when it had come to its bound: there is no run any more that could be interrupted
        assert moment.bound is not None
        return False
    assert result.verdict == "interrupted" or result.depth in {
        moment.bound,
        unbroken(moment.symmetry).outcome["depth"],
    }
    is_a_whole_level(result, moment.symmetry)
    return result.verdict == "interrupted"


def loses_a_worker(moment: Moment, path: Path, session: SparkSession) -> bool:
    """Kill a worker of Spark's. Its task is done again, and the run ends as any other."""
    before = tasks_lost(session)
    assert outcome(broken_off(moment, path, session)) == unbroken(moment.symmetry).outcome
    return any(lost for stage, lost in tasks_lost(session).items() if stage not in before)


def go_through(moment: Moment, path: Path, session: SparkSession | None = None) -> bool:
    """Break a run off, go on with it, and see that nothing is lost. False: the moment came too late."""
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
    """The name of a moment, with the seed that has it come again."""
    return f"{moment}, MOMENTS_SEED={SEED}"


@pytest.mark.parametrize("moment", [each for each in SOME if each.engine == "local"], ids=repeatable)
def test_a_run_of_the_local_engine_is_broken_off(moment: Moment, tmp_path: Path) -> None:
    """Some moments, others each time."""
    go_through(moment, tmp_path / "run")


@pytest.mark.spark
@pytest.mark.parametrize("moment", [each for each in SOME if each.engine == "spark"], ids=repeatable)
def test_a_run_of_spark_is_broken_off(moment: Moment, tmp_path: Path, session: SparkSession) -> None:
    """With the driver, a worker, or Java."""
    go_through(moment, tmp_path / "run", session)


@pytest.mark.spark
def test_what_is_to_be_killed_is_there(session: SparkSession, tmp_path: Path) -> None:
    """A worker that computes, and Java: whatever looks for another name breaks nothing off."""
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
                assert time.monotonic() < end, "no worker computes"
        finally:
            enough.touch()
        job.result()
    assert any(javas())


@pytest.fixture(scope="session")
def took_effect() -> dict[Moment, bool]:
    """Of the hundred, those that were tried so far: whether the run was broken off, or was over before."""
    return {}


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("moment", MANY, ids=repeatable)
def test_a_run_is_broken_off(
    moment: Moment, tmp_path: Path, session: SparkSession, took_effect: dict[Moment, bool]
) -> None:
    """A hundred moments."""
    took_effect[moment] = go_through(moment, tmp_path / "run", session)


@pytest.mark.long
@pytest.mark.spark
def test_a_run_is_broken_off_in_each_way_often_enough(took_effect: dict[Moment, bool]) -> None:
    """At least eight times, beside the moments that came too late: the hundred are not tried in vain."""
    if len(took_effect) < len(MANY):
        pytest.skip(f"{len(took_effect)} of {len(MANY)} moments went well before it")
    often = Counter(way for moment, broke_off in took_effect.items() if broke_off for way in moment.ways)
    assert {way: often[way] for way in WAYS if often[way] < 8} == {}
