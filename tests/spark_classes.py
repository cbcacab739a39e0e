"""Spark's classes as Java keeps them once they are loaded and verified (class data sharing), see `tests.compiling`.

A session that finds them there starts with half the work, and tests start many: each run that is killed has its own.
Java that cannot use what was kept, as another Java would not, goes on without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["keep", "share"]

KEPT: Final = Path(__file__).parents[1] / ".venv" / "spark.jsa"
"""Beside the installation whose classes these are."""
OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""The variable whose options Spark's scripts give to Java."""
A_RUN: Final = """
from spec.checking import check
from spec.checking.spark import SparkEngine
from tests.spec.toys import TOYS

check(TOYS["walkers"], engine=SparkEngine(driver_level=0, workers=2), keep_going=True, max_depth=3)
"""


def keep() -> None:
    """Have a run by jobs, whose Java writes down what it has loaded. Where there is no Java, nothing is kept."""
    subprocess.run(
        [sys.executable, "-c", A_RUN],
        env={**os.environ, OPTIONS: f"-XX:ArchiveClassesAtExit={KEPT}"},
        stdout=subprocess.PIPE,  # and read until Java too is gone, which writes as the last thing it does
        stderr=subprocess.DEVNULL,
        check=False,
    )


def share() -> None:
    """From now on, Spark's Java of this process and of those that it starts takes what is kept."""
    if KEPT.exists():
        os.environ.setdefault(OPTIONS, f"-XX:SharedArchiveFile={KEPT} -Xlog:cds=off -Xlog:cds+dynamic=off")
