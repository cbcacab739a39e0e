"""Seeds of randomized tests: given in the environment, or new in each run of the tests."""

from __future__ import annotations

import os


def seed_of_this_run(variable: str) -> int:
    """Return the given seed, or a new one for each run, the same in all processes of that run."""
    if value := os.environ.get(variable):
        return int(value)
    return int(os.environ.get("PYTEST_XDIST_TESTRUNUID", os.urandom(4).hex())[:8], 16)
