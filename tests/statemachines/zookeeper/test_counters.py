"""ZooKeeper without zxids: what a client is told that was away, and how one node is told from the next."""

from __future__ import annotations

from statemachines.controller.design import BROKER_IDS, CONTROLLER
from statemachines.zookeeper.counters import ZooKeeperWithoutZxids
from statemachines.zookeeper.server import Create, Delete, EventType, ZooKeeper
from tests.rows import rows

# What a client is told that was away; real servers know it by zxids.


@rows(
    "there, changes, heard",
    [
        (False, "", []),
        (False, "+", [EventType.NodeCreated]),
        (False, "+-", []),
        (False, "+-+", [EventType.NodeCreated]),
        (True, "", []),
        (True, "-", [EventType.NodeDeleted]),
        (True, "-+", [EventType.NodeDataChanged]),
        (True, "-+-", [EventType.NodeDeleted]),
    ],
)
def test_a_reconnecting_client_receives_changes_or_rearms(there: bool, changes: str, heard: list[EventType]) -> None:
    """The same as real servers tell it: what came and went is as it was."""
    asked, real = ZooKeeperWithoutZxids(), ZooKeeper()
    for servers in (asked, real):
        servers.connect(0)
        if there:
            servers.create(None, CONTROLLER)
        servers.exists(0, CONTROLLER, watch=True)
    seen = real.state.zxid
    real.disconnect(0)
    for servers in (asked, real):
        for change in changes:
            (servers.create if change == "+" else servers.delete)(None, CONTROLLER)
    real.set_watches(0, seen, **{"data" if there else "exist": [CONTROLLER]})
    asked.come_back(0)
    assert [event.type for event in asked.state.events[0]] == heard
    assert [event.type for event in real.state.events[0]] == heard
    assert asked.state.data_watches[CONTROLLER] == real.state.data_watches[CONTROLLER]
    assert (0 in asked.state.data_watches[CONTROLLER]) == (not heard)


def test_a_reconnecting_client_receives_child_changes() -> None:
    """Also if they came and went: what counts is that their parent has changed."""
    servers = ZooKeeperWithoutZxids()
    servers.connect(0)
    servers.create(None, "/brokers")
    servers.create(None, BROKER_IDS)
    servers.children(0, BROKER_IDS, watch=True)
    servers.create(None, f"{BROKER_IDS}/1")
    servers.delete(None, f"{BROKER_IDS}/1")
    servers.come_back(0)
    assert [(event.type, event.path) for event in servers.state.events[0]] == [
        (EventType.NodeChildrenChanged, BROKER_IDS)
    ]


# How one node is told from the next.


def counting() -> ZooKeeperWithoutZxids:
    """Servers that count the nodes at /e, with a session."""
    servers = ZooKeeperWithoutZxids(created={"/e": 0})
    servers.connect(0)
    return servers


def test_counted_nodes_have_their_number_as_czxid() -> None:
    """Which grows from one node to the next, as on real servers, and is answered to the creator and to readers."""
    servers = counting()
    for number in (1, 2):
        assert servers.create(0, "/e", ephemeral=True).stat.czxid == number
        _, stat = servers.get(0, "/e")
        assert stat.czxid == number
        servers.delete(0, "/e")


def test_undone_changes_are_not_counted() -> None:
    """A transaction that fails creates nothing."""
    servers = counting()
    servers.multi(0, [Create("/e"), Delete("/missing")])
    assert servers.created == {"/e": 0}
    assert servers.create(0, "/e").stat.czxid == 1


def test_elsewhere_a_node_has_the_czxid_of_its_transaction() -> None:
    """Only what is to be counted is counted."""
    servers = counting()
    created = servers.create(0, "/f")
    assert created.stat.czxid == servers.state.zxid
    assert servers.created == {"/e": 0}
