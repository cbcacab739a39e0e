"""A check leaves the process in which it runs as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from spec.checking import check, simulate
from spec.checking.auto import AutoEngine
from spec.checking.local import LocalEngine
from tests.spec.surroundings import changed, surroundings
from tests.spec.toys import Walkers

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda: check(Walkers(), engine="reference"), id="reference"),
        pytest.param(lambda: check(Walkers(), engine=LocalEngine(2)), id="local"),
        pytest.param(lambda: check(Walkers(), engine=LocalEngine(2, run_dir=Path("run"))), id="local, kept"),
        pytest.param(lambda: check(Walkers(walkers=5, length=6), engine=AutoEngine(workers=2)), id="auto"),
        pytest.param(lambda: simulate(Walkers(), runs=300, seed=1, workers=2), id="simulate"),
    ],
)
def test_a_check_leaves_its_surroundings_as_they_were(
    work: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings of the interpreter and the process, threads, children, open and temporary files."""
    for name in ("temporary", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path / "here")
    before = surroundings()
    work()
    assert changed(before) == {}


def test_checks_at_the_same_time_leave_the_switch_interval_as_it_was() -> None:
    """Of two that overlap, neither takes what the other has set for what was there before."""
    before = sys.getswitchinterval()
    first, second = Event(), Event()

    def look_first(_: object) -> None:
        first.set()
        second.wait()

    def look_second(_: object) -> None:
        second.set()
        earlier.join()

    def explore(look: Callable[[object], None]) -> None:
        check(Walkers(), engine=LocalEngine(1), on_progress=look)

    earlier, later = Thread(target=explore, args=[look_first]), Thread(target=explore, args=[look_second])
    earlier.start()
    first.wait()
    later.start()
    later.join()
    assert sys.getswitchinterval() == before


BY_SPARK = """
import gc, sys, threading
import pyspark.sql
from spec.checking import check
from spec.checking.spark import SparkEngine
from spec.checking.spark.session import SparkCluster
from tests.spec.surroundings import changed, surroundings
from tests.spec.toys import Walkers

def explore():
    met = []

    def look(statistics):
        if statistics.depth == 6 and not met:  # both have a job behind them, and one before them
            met.append(both.wait())
            session = pyspark.sql.SparkSession.builder.getOrCreate()
            settings.add(session.sparkContext.getConf().get("spark.authenticate"))

    found.append(check(Walkers(), engine=SparkEngine(driver_level=11, workers=1), on_progress=look))
    assert found[-1].jobs.levels > 1 and met

found, settings, both = [], set(), threading.Barrier(2)
before = surroundings()
threads = [threading.Thread(target=explore) for _ in range(2)]
for each in threads:
    each.start()
for each in threads:
    each.join()
gc.collect()
for each in {*threading.enumerate()} - {threading.current_thread()}:
    each.join(60)  # one of Py4J's sees within a second that its gateway is gone
print(*(result.distinct_states for result in found), settings, changed(before))

both, settings = threading.Barrier(1), set()
mine = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
elsewhere = threading.Thread(target=explore)
elsewhere.start()
elsewhere.join()
print(found[-1].distinct_states, settings, mine.range(3).count())
mine.stop()
"""


@pytest.mark.spark
def test_checks_on_spark_share_what_they_start_and_leave_nothing(tmp_path: Path) -> None:
    """Two at once in two threads are both right, and Java ends with the last one; a person's own session stays."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BY_SPARK],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
    )
    states = check(Walkers(), engine="reference").distinct_states
    assert done.stdout.splitlines() == [f"{states} {states} {{'true'}} {{}}", f"{states} {{None}} 3"], done.stderr
