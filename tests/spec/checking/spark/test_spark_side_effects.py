"""Checks on Spark leave their process unchanged, even two at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spec.checking import check
from tests.spec.toys import Walkers

ROOT = Path(__file__).parents[4]

BY_SPARK = """
import gc, sys, threading
import pyspark.sql
from spec.checking import check
from spec.checking.spark import SparkEngine
from spec.checking.spark.session import SparkCluster
from tests.spec.side_effects import changed, surroundings
from tests.spec.toys import Walkers

def explore():
    met = []

    def look(statistics):
        if statistics.depth == 6 and not met:  # each has run a job, and will run another
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
    each.join(60)  # Py4J's thread notices within a second that its gateway is gone
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
@pytest.mark.long
def test_checks_on_spark_share_a_jvm_and_leave_nothing(tmp_path: Path) -> None:
    """Two checks in two threads are both right, and Java ends with the last one. A person's own session stays."""
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
