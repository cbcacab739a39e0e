"""Which watches a change fires, once and in which order; and that no client reads a change before its event."""

from collections.abc import Callable

import pytest

from statemachines.zookeeper.server import FIRES, Check, Create, Event, EventType, NoNode, SetData, ZooKeeper
from statemachines.zookeeper.tree import name_of, parent_of
from tests.rows import rows
from tests.statemachines.zookeeper.test_server import C, D, Heard, W, code_of, inbox, server

Request = Callable[[ZooKeeper], object]

CREATED, DELETED = EventType.NodeCreated, EventType.NodeDeleted
DATA, CHILDREN = EventType.NodeDataChanged, EventType.NodeChildrenChanged

ARM: dict[str, Request] = {
    "get": lambda zk: zk.get(W, "/n", watch=True),
    "exists": lambda zk: zk.exists(W, "/n", watch=True),
    "children": lambda zk: zk.children(W, "/n", watch=True),
}

CHANGE: dict[str, Request] = {
    "create": lambda zk: zk.create(C, "/n"),
    "delete": lambda zk: zk.delete(C, "/n"),
    "set": lambda zk: zk.set(C, "/n", b"x"),
    "set same": lambda zk: zk.set(C, "/n", None),
    "create child": lambda zk: zk.create(C, "/n/c"),
    "delete child": lambda zk: zk.delete(C, "/n/c"),
    "set child": lambda zk: zk.set(C, "/n/c", b"x"),
    "create grandchild": lambda zk: zk.create(C, "/n/c/g"),
    "create neighbour": lambda zk: zk.create(C, "/nn"),
    "create over it": lambda zk: zk.create(C, "/n"),
    "set at a wrong version": lambda zk: zk.set(C, "/n", b"x", 9),
    "check": lambda zk: zk.multi(C, [Check("/n")]),
}

NEEDS = {
    "create": [],
    "delete child": ["/n", "/n/c"],
    "set child": ["/n", "/n/c"],
    "create grandchild": ["/n", "/n/c"],
}
"""Nodes that exist before the change; for all other changes only /n."""

MATRIX: list[tuple[str, str, list[EventType]]] = [
    ("get", "delete", [DELETED]),
    ("get", "set", [DATA]),
    ("get", "set same", [DATA]),
    ("get", "create child", []),
    ("get", "delete child", []),
    ("get", "set child", []),
    ("get", "create grandchild", []),
    ("exists", "create", [CREATED]),
    ("exists", "delete", [DELETED]),
    ("exists", "set", [DATA]),
    ("exists", "set same", [DATA]),
    ("exists", "create child", []),
    ("exists", "delete child", []),
    ("exists", "set child", []),
    ("exists", "create grandchild", []),
    ("children", "delete", [DELETED]),
    ("children", "set", []),
    ("children", "create child", [CHILDREN]),
    ("children", "delete child", [CHILDREN]),
    ("children", "set child", []),
    ("children", "create grandchild", []),
    ("exists exists", "create", [CREATED]),
    ("get exists", "delete", [DELETED]),
    ("get exists", "set", [DATA]),
    ("get get", "delete", [DELETED]),
    ("exists exists", "set", [DATA]),
    ("children children", "create child", [CHILDREN]),
    ("children children", "delete", [DELETED]),
    ("get children", "delete", [DELETED]),
    ("children get", "delete", [DELETED]),
    ("get children", "set", [DATA]),
    ("get children", "create child", [CHILDREN]),
    ("get children", "delete child", [CHILDREN]),
    ("get children", "set child", []),
    ("get exists children", "delete", [DELETED]),
    *(
        (armed, change, [])
        for armed in ("get", "exists", "children", "get children")
        for change in ("create neighbour", "create over it", "set at a wrong version", "check")
    ),
]


@rows("armed, change, events", MATRIX)
def test_watches_fired_by_each_change(armed: str, change: str, events: list[EventType]) -> None:
    """W sets watches on /n, C makes one change: W receives these events, each of them once."""
    zk = server(*NEEDS.get(change, ["/n"]))
    for how in armed.split():
        ARM[how](zk)
    code_of(lambda: CHANGE[change](zk))
    assert inbox(zk) == [(event, "/n") for event in events]


@rows(
    "armed, change, left",
    [
        ("get children", "set", (set(), {W})),
        ("get children", "create child", ({W}, set())),
        ("get children", "delete", (set(), set())),
        ("get exists", "set", (set(), set())),
        ("get children", "set at a wrong version", ({W}, {W})),
        ("get children", "check", ({W}, {W})),
    ],
)
def test_watches_left_by_each_change(armed: str, change: str, left: tuple[object, object]) -> None:
    """A change removes the watches that it fires, from both tables if the node is deleted, and leaves the rest."""
    zk = server("/n")
    for how in armed.split():
        ARM[how](zk)
    code_of(lambda: CHANGE[change](zk))
    assert (zk.state.data_watches["/n"], zk.state.child_watches["/n"]) == left


@pytest.mark.parametrize("how", ARM)
def test_a_watch_fires_once(how: str) -> None:
    """The second change finds no watch."""
    zk = server("/n")
    ARM[how](zk)
    for request in ("create child", "set", "set", "delete child", "delete", "create", "delete"):
        code_of(lambda request=request: CHANGE[request](zk))  # type: ignore[misc]
    assert len(inbox(zk)) == 1


def test_a_watch_armed_again_fires_again() -> None:
    """A client that reads with a watch after each event is notified of each change."""
    zk = server("/n")
    for version in range(3):
        zk.get(W, "/n", watch=True)
        zk.set(C, "/n", None, version)
    assert inbox(zk) == [(DATA, "/n")] * 3


@pytest.mark.parametrize("how", ["get", "children"])
def test_a_failed_read_sets_no_watch(how: str) -> None:
    """After NoNode from get or children, the node's creation and deletion fire nothing."""
    zk = server()
    with pytest.raises(NoNode):
        ARM[how](zk)
    zk.create(C, "/n")
    zk.delete(C, "/n")
    assert inbox(zk) == []


def test_a_read_without_a_watch_sets_none() -> None:
    """Only a read that asks for a watch sets one."""
    zk = server("/n")
    zk.exists(W, "/n")
    zk.get(W, "/n")
    zk.children(W, "/n")
    zk.delete(C, "/n")
    assert inbox(zk) == []


def test_a_sessions_own_writes_fire_its_own_watches() -> None:
    """The event is in the inbox when the write returns."""
    zk = server("/n")
    zk.get(W, "/n", watch=True)
    zk.set(W, "/n", b"own")
    assert inbox(zk) == [(DATA, "/n")]


# order


def test_a_creation_precedes_its_parents_event() -> None:
    """Create: NodeCreated, then the parent's NodeChildrenChanged with the parent's path."""
    zk = server("/a")
    zk.children(W, "/a", watch=True)
    zk.exists(W, "/a/b", watch=True)
    zk.create(C, "/a/b")
    assert inbox(zk) == [(CREATED, "/a/b"), (CHILDREN, "/a")]


@pytest.mark.parametrize("how", [["exists"], ["children"], ["exists", "children"], ["children", "exists"]])
def test_a_deletion_precedes_its_parents_event(how: list[str]) -> None:
    """Delete: one NodeDeleted, from either table, then the parent's NodeChildrenChanged."""
    zk = server("/n")
    zk.children(W, "/", watch=True)
    for each in how:
        ARM[each](zk)
    zk.delete(C, "/n")
    assert inbox(zk) == [(DELETED, "/n"), (CHILDREN, "/")]


def test_each_session_receives_its_own_event() -> None:
    """One by its data watch, another by its child watch, the third by both: one NodeDeleted each."""
    zk = server("/n")
    zk.exists(W, "/n", watch=True)
    zk.children(C, "/n", watch=True)
    zk.exists(D, "/n", watch=True)
    zk.children(D, "/n", watch=True)
    zk.delete(None, "/n")
    assert inbox(zk, W) == inbox(zk, C) == inbox(zk, D) == [(DELETED, "/n")]


def test_the_parents_event_is_independent_of_the_nodes() -> None:
    """A session that watches a node and its parent gets both events."""
    zk = server("/a", "/a/b")
    zk.children(W, "/a", watch=True)
    zk.children(W, "/a/b", watch=True)
    zk.create(C, "/a/b/c")
    zk.delete(C, "/a/b/c")
    zk.delete(C, "/a/b")
    assert inbox(zk) == [(CHILDREN, "/a/b"), (CHILDREN, "/a")]


def test_events_come_in_the_order_of_zxids() -> None:
    """Events across paths and tables are queued in the order of their transactions, whose zxids they have."""
    zk = server("/a", "/b")
    first = zk.state.zxid + 1
    zk.children(W, "/", watch=True)
    zk.get(W, "/b", watch=True)
    zk.exists(W, "/c", watch=True)
    zk.set(C, "/b", b"x")
    zk.multi(C, [Create("/c"), SetData("/c", b"y")])
    assert zk.state.events[W] == (
        Event(DATA, "/b", first),
        Event(CREATED, "/c", first + 1),
        Event(CHILDREN, "/", first + 1),
    )


def test_the_event_arrives_before_the_change_is_read() -> None:
    """When C's write returns, W's event is in W's inbox before W can make a request."""
    zk = server("/n")
    for number in range(5):
        zk.get(W, "/n", watch=True)
        zk.set(C, "/n", number)
        heard = zk.state.events[W]
        data, stat = zk.get(W, "/n")
        assert (data, heard[-1].zxid) == (number, stat.mzxid)


def test_taking_events() -> None:
    """Events are taken one at a time, oldest first; an empty inbox gives None."""
    zk = server("/a", "/b")
    zk.get(W, "/a", watch=True)
    zk.get(W, "/b", watch=True)
    zk.set(C, "/b", None)
    zk.set(C, "/a", None)
    heard: Heard = []
    while event := zk.take(W):
        heard.append((event.type, event.path))
    assert heard == [(DATA, "/b"), (DATA, "/a")]
    assert zk.take(W) is None


# the table itself


def test_the_table_of_fired_watches_is_total() -> None:
    """Each way to change a node has its row; a change of children follows from them and has none."""
    assert set(FIRES) == set(EventType) - {CHILDREN}


def test_the_table_says_what_the_server_does() -> None:
    """The rows, spelled out: the watches that a change of /a/b fires, in order."""
    rows = {change: [(fires.table, fires.node("/a/b"), fires.type) for fires in FIRES[change]] for change in FIRES}
    assert rows == {
        CREATED: [("data_watches", "/a/b", CREATED), ("child_watches", "/a", CHILDREN)],
        DATA: [("data_watches", "/a/b", DATA)],
        DELETED: [
            ("data_watches", "/a/b", DELETED),
            ("child_watches", "/a/b", DELETED),
            ("child_watches", "/a", CHILDREN),
        ],
    }


def test_event_types_have_zookeepers_numbers() -> None:
    """The four types that a server sends, as on the wire."""
    assert {event.name: event.value for event in EventType} == {
        "NodeCreated": 1,
        "NodeDeleted": 2,
        "NodeDataChanged": 3,
        "NodeChildrenChanged": 4,
    }


@pytest.mark.parametrize(("path", "parent"), [("/", "/"), ("/a", "/"), ("/a/b", "/a"), ("/a/b/c", "/a/b")])
def test_the_parent_of_a_path(path: str, parent: str) -> None:
    """The parent is the path before the last slash, or the root at the top. The rest is the name."""
    assert parent_of(path) == parent
    assert f"{parent.rstrip('/')}/{name_of(path)}" == path


def test_armed_watches_are_listed() -> None:
    """The tables in which a path is watched, by session; empty if no table has the path."""
    zk = server("/a")
    zk.exists(W, "/a", watch=True)
    zk.children(W, "/a", watch=True)
    zk.exists(D, "/b", watch=True)
    assert [zk.armed(session, path) for session in (W, D) for path in ("/a", "/b")] == [
        {"data_watches", "child_watches"},
        set(),
        set(),
        {"data_watches"},
    ]
