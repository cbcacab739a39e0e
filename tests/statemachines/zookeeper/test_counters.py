"""ZooKeeper without zxids: the events of a returning client, and the identity of a node."""

from __future__ import annotations

from statemachines.controller.design import BROKER_IDS, CONTROLLER
from statemachines.zookeeper.counters import ZooKeeperWithoutZxids
from statemachines.zookeeper.server import Create, Delete, EventType, ZooKeeper
from tests.rows import rows

# The events of a returning client, which real servers know by zxids.


@rows(
    "there, changes, received",
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
def test_a_reconnecting_client_receives_or_rearms(there: bool, changes: str, received: list[EventType]) -> None:
    """As from real servers; a node that was created and deleted in between counts as unchanged."""
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
    assert [event.type for event in asked.state.events[0]] == received
    assert [event.type for event in real.state.events[0]] == received
    assert asked.state.data_watches[CONTROLLER] == real.state.data_watches[CONTROLLER]
    assert (0 in asked.state.data_watches[CONTROLLER]) == (not received)


def test_a_reconnecting_client_receives_child_changes() -> None:
    """Even if they were created and deleted: the parent has changed."""
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


# The identity of a node.


def counting() -> ZooKeeperWithoutZxids:
    """Servers that count the nodes at /e, with a session."""
    servers = ZooKeeperWithoutZxids(created={"/e": 0})
    servers.connect(0)
    return servers


def test_the_count_of_a_counted_node_is_its_czxid() -> None:
    """It grows from one node to the next, as on real servers; the creator and readers receive it."""
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


def test_an_uncounted_node_has_the_czxid_of_its_transaction() -> None:
    """Only the chosen paths are counted."""
    servers = counting()
    created = servers.create(0, "/f")
    assert created.stat.czxid == servers.state.zxid
    assert servers.created == {"/e": 0}
