"""Our ZooKeeper in memory, served on a port: the walks that compare the class with a real server run against it."""

from contextlib import AbstractContextManager, nullcontext, suppress

import pytest

from statemachines.zookeeper.serving import Client, ServedZooKeeper
from tests.zookeeper.comparison import Tally
from tests.zookeeper.machine import Walk, run
from tests.zookeeper.test_kazoo import KazooWalk


class Served(ServedZooKeeper):
    """The server for walks, in place of a real one."""

    patience = 30.0
    gone = None

    def expire(self, client: Client) -> None:
        with suppress(ValueError):  # at the end of a walk all sessions are ended, even ended ones
            super().expire(client)

    def needed(self) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.mark.parametrize("walk", [Walk, KazooWalk])
@pytest.mark.parametrize("walks", [6, pytest.param(500, marks=pytest.mark.long, id="long")])
def test_server_and_class_agree(walk: type[Walk], walks: int, first_round: int) -> None:
    """After each step of three clients: all frames that they receive, in order."""
    tally = Tally()
    with Served() as server:
        run(walk, server, tally, first_round, walks=walks)
    assert tally.steps.total() >= 40 * walks
    assert tally.events.total() >= walks
