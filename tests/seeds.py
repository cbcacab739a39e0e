"""Seeds of tests that draw by lot: given in the environment, or other ones in each run of the tests."""

from __future__ import annotations

import os


def seed_of_this_run(variable: str) -> int:
    """The one that is given; or another one each time, the same for all processes of one run of the tests."""
    if given := os.environ.get(variable):
        return int(given)
    return int(os.environ.get("PYTEST_XDIST_TESTRUNUID", os.urandom(4).hex())[:8], 16)
