"""A ZooKeeper for the steps of controllers."""

from __future__ import annotations

import pytest

from statemachines.zookeeper.server import ZooKeeper
from tests.statemachines.electing import set_up


@pytest.fixture
def zookeeper() -> ZooKeeper:
    """A cluster that is set up, with sessions 0 and 1 of two brokers."""
    zookeeper = set_up()
    for session in (0, 1):
        zookeeper.connect(session)
    return zookeeper
