"""An archive of Spark's classes, loaded and verified by Java (class data sharing); see `tests.compiling`.

A session with the archive starts in half the time. Tests start many sessions: each killed run has its own.
A different Java cannot use the archive, and runs without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

KEPT: Final = Path(__file__).parents[1] / ".venv" / "spark.jsa"
"""In the installation of these classes."""
OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""The environment variable with Java options for Spark's scripts."""
A_RUN: Final = """
from spec.checking import check
from spec.checking.spark import SparkEngine, session
from tests.spec.toys import TOYS

session.PATIENCE = 600.0  # a busy Java needs a minute to write the archive
check(TOYS["walkers"], engine=SparkEngine(driver_level=0, workers=2), keep_going=True, max_depth=3)
"""


def keep() -> None:
    """Run a check by jobs, whose Java writes the archive of its loaded classes. Without Java, do nothing."""
    subprocess.run(
        [sys.executable, "-c", A_RUN],
        env={**os.environ, OPTIONS: f"-XX:ArchiveClassesAtExit={KEPT}"},
        stdout=subprocess.PIPE,  # read until Java exits too, since it writes the archive at its exit
        stderr=subprocess.DEVNULL,
        check=False,
    )


def share() -> None:
    """Make Spark's Java, in this process and its children, use the archive from now on."""
    if KEPT.exists():
        os.environ.setdefault(OPTIONS, f"-XX:SharedArchiveFile={KEPT} -Xlog:cds=off -Xlog:cds+dynamic=off")
