"""One server for all tests that only talk to it; where there is no Java, there is none, and they are skipped."""

import os
from collections.abc import Iterator
from random import SystemRandom

import pytest
from hypothesis import settings

from tests.zookeeper.server import Server, missing


@pytest.fixture(scope="session")
def java() -> None:
    """What a server needs."""
    if missing():
        pytest.skip(missing())


@pytest.fixture(scope="session")
def server(java: None) -> Iterator[Server]:
    """A server for many cases, each below a node of its own."""
    with Server() as server:
        yield server


@pytest.fixture
def first_round(request: pytest.FixtureRequest) -> int:
    """Where walks begin: where somebody wants it, else always or never at the same place, as the profile says."""
    wanted = os.environ.get("ZOOKEEPER_ROUND") or request.config.getoption("--hypothesis-seed")
    if wanted is not None and str(wanted).isdecimal():
        return int(wanted)
    return 0 if settings().derandomize else SystemRandom().randrange(2**32)
