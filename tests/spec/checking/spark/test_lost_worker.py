"""On a standalone cluster, a worker may die in the middle of a level, and everything it held with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.spec.losing_a_worker import PATIENCE


@pytest.mark.spark
@pytest.mark.long
def test_a_cluster_that_loses_a_worker_in_the_middle_of_a_level_loses_nothing(tmp_path: Path) -> None:
    """Its machine is gone: the worker, what it started, the states it held, and what it had sent."""
    command = [sys.executable, "-m", "tests.spec.losing_a_worker", str(tmp_path)]
    here = Path(__file__).parents[4]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=2 * PATIENCE)
    assert done.returncode == 0, done.stderr
