"""On a standalone cluster, a worker may die in the middle of a level and lose everything it held."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.spec.losing_a_worker import PATIENCE


@pytest.mark.spark
@pytest.mark.long
def test_a_cluster_that_loses_a_worker_loses_no_states(tmp_path: Path) -> None:
    """The worker is gone, and with it its processes, its states, and the data it had sent."""
    command = [sys.executable, "-m", "tests.spec.losing_a_worker", str(tmp_path)]
    here = Path(__file__).parents[4]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=2 * PATIENCE)
    assert done.returncode == 0, done.stderr
