"""One server for all tests that only talk to it; without Java they are skipped."""

import os
from collections.abc import Iterator
from random import SystemRandom

import pytest
from hypothesis import settings

from tests.zookeeper.server import Server, missing


@pytest.fixture(scope="session")
def java() -> None:
    """Skips tests if a server cannot run."""
    if missing():
        pytest.skip(missing())


@pytest.fixture(scope="session")
def server(java: None) -> Iterator[Server]:
    """A server for many cases, each below a node of its own."""
    with Server() as server:
        yield server


@pytest.fixture
def first_round(request: pytest.FixtureRequest) -> int:
    """The first round of walks: the requested one, otherwise random or constant, as the profile says."""
    wanted = os.environ.get("ZOOKEEPER_ROUND") or request.config.getoption("--hypothesis-seed")
    if wanted is not None and str(wanted).isdecimal():
        return int(wanted)
    return 0 if settings().derandomize else SystemRandom().randrange(2**32)
