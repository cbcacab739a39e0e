"""Several operations at once: each sees the earlier ones, all or none take effect, under one zxid."""

import pytest

from statemachines.zookeeper.server import (
    Check,
    Code,
    Create,
    Created,
    Delete,
    EventType,
    Operation,
    OpResult,
    SetData,
    ZooKeeper,
)
from tests.rows import rows
from tests.statemachines.zookeeper.test_server import C, W, all_but_zxid, inbox, server, stat

OK, LATER = Code.OK, Code.RUNTIMEINCONSISTENCY
CREATED, DELETED = EventType.NodeCreated, EventType.NodeDeleted
DATA, CHILDREN = EventType.NodeDataChanged, EventType.NodeChildrenChanged


def codes(results: tuple[OpResult | Code, ...]) -> list[Code]:
    """The code of each result; an operation's own result counts as OK."""
    return [result if isinstance(result, Code) else OK for result in results]


def furnished() -> ZooKeeper:
    """/a with the child b, /v at version 1, /e an ephemeral of W."""
    zk = server("/a", "/a/b", "/v")
    zk.set(C, "/v", b"1")
    zk.create(W, "/e", ephemeral=True)
    return zk


SUCCEED: list[tuple[str, list[Operation]]] = [
    ("nothing", []),
    ("parent, then child", [Create("/n"), Create("/n/m")]),
    ("child deleted, then parent", [Delete("/a/b"), Delete("/a")]),
    ("set at 0, then at 1", [SetData("/a", b"", 0), SetData("/a", b"", 1)]),
    ("a check sees the set before it", [SetData("/a"), Check("/a", 1)]),
    ("a check sees the create before it", [Create("/n"), Check("/n", 0)]),
    ("deleted and created again", [Delete("/v", 1), Create("/v"), Check("/v", 0)]),
    ("created and deleted again", [Create("/n"), Delete("/n", 0)]),
    ("created, set, deleted, created", [Create("/n"), SetData("/n"), Delete("/n", 1), Create("/n")]),
    ("an ephemeral and its data", [Create("/n", ephemeral=True), SetData("/n", b"x", 0)]),
]


@rows("operations", dict(SUCCEED))
def test_each_operation_sees_those_before_it(operations: list[Operation]) -> None:
    """Each operation finds the effects of the previous ones."""
    assert codes(furnished().multi(C, operations)) == [OK] * len(operations)


FAIL: list[tuple[str, list[Operation], list[Code]]] = [
    ("child before parent", [Create("/n/m"), Create("/n")], [Code.NONODE, LATER]),
    ("parent deleted first", [Delete("/a"), Delete("/a/b")], [Code.NOTEMPTY, LATER]),
    ("set at 0 twice", [SetData("/a", b"", 0), SetData("/a", b"", 0)], [OK, Code.BADVERSION]),
    ("created twice", [Create("/n"), Create("/n")], [OK, Code.NODEEXISTS]),
    ("deleted twice", [Delete("/v"), Delete("/v")], [OK, Code.NONODE]),
    (
        "a child for a new ephemeral",
        [Create("/n", ephemeral=True), Create("/n/m")],
        [OK, Code.NOCHILDRENFOREPHEMERALS],
    ),
    ("a bad path", [Check("/a"), Create("n"), Check("/a")], [OK, Code.BADARGUMENTS, LATER]),
    ("a failed check before a write", [Check("/v", 0), SetData("/v", b"")], [Code.BADVERSION, LATER]),
    ("a failed write after a check", [Check("/v", 1), Create("/a")], [OK, Code.NODEEXISTS]),
    ("a check of a missing node", [Check("/n", -1), Create("/n")], [Code.NONODE, LATER]),
    (
        "the first of several counts",
        [Create("/n"), Create("/a"), Check("/v", 0), Delete("/m")],
        [OK, Code.NODEEXISTS, LATER, LATER],
    ),
]


@rows("operations, expected", {name: row for name, *row in FAIL})
def test_a_failure_is_reported_operation_by_operation(operations: list[Operation], expected: list[Code]) -> None:
    """OK before the failed operation, its own code, RuntimeInconsistency after it; nothing is raised."""
    assert furnished().multi(C, operations) == tuple(expected)


@rows("operations", {name: operations for name, operations, _ in FAIL})
def test_a_failed_multi_leaves_no_trace(operations: list[Operation]) -> None:
    """No node, no counter, no ephemeral, no watch has changed; one zxid is spent."""
    zk = furnished()
    for path in ("/", "/a", "/v", "/n"):
        zk.exists(W, path, watch=True)
    zk.children(W, "/", watch=True)
    before, zxid = all_but_zxid(zk), zk.state.zxid
    zk.multi(C, operations)
    assert (all_but_zxid(zk), zk.state.zxid) == (before, zxid + 1)


def test_each_operation_has_its_own_kind_of_result() -> None:
    """A create returns path and stat, a set its stat, a delete and a check nothing."""
    zk = furnished()
    created, changed, deleted, checked = zk.multi(
        C, [Create("/n-", sequential=True), SetData("/v", b""), Delete("/e"), Check("/v", 2)]
    )
    assert isinstance(created, Created)
    assert created.path == "/n-0000000003"
    assert changed == stat(zk, "/v")
    assert deleted is checked is None


def test_an_empty_multi_has_no_results() -> None:
    """No operations, no results."""
    assert furnished().multi(C, []) == ()


def test_operations_may_be_any_iterable() -> None:
    """It is iterated once."""
    zk = furnished()
    assert len(zk.multi(C, (Create(f"/n{i}") for i in range(3)))) == 3


def test_sequence_numbers_continue_within_a_multi() -> None:
    """Sequential creates in one multi get one number after the other."""
    zk = server("/a")
    created = zk.multi(C, [Create("/a/s-", sequential=True), Create("/a/x"), Create("/a/t-", sequential=True)])
    assert [result.path for result in created if isinstance(result, Created)] == [
        "/a/s-0000000000",
        "/a/x",
        "/a/t-0000000002",
    ]


def test_a_failed_multi_returns_its_sequence_numbers() -> None:
    """A number that no client saw is used again."""
    zk = server("/a")
    zk.multi(C, [Create("/a/s-", sequential=True), Check("/a", 9)])
    assert zk.create(C, "/a/s-", sequential=True).path == "/a/s-0000000000"


def test_one_zxid_for_all() -> None:
    """All nodes that a multi touches have its zxid."""
    zk = furnished()
    zk.multi(C, [Create("/a/n"), SetData("/v", b""), Delete("/a/b")])
    z = zk.state.zxid
    assert (stat(zk, "/a/n").czxid, stat(zk, "/v").mzxid, stat(zk, "/a").pzxid) == (z, z, z)


def test_delete_and_create_in_one_multi_make_a_new_node() -> None:
    """The new node has this zxid, version 0, and counters that start again."""
    zk = furnished()
    zk.multi(C, [Delete("/v"), Create("/v", b"new")])
    found = stat(zk, "/v")
    z = zk.state.zxid
    assert (found.czxid, found.mzxid, found.pzxid, found.version) == (z, z, z, 0)
    assert stat(zk, "/").numChildren == 3


def test_create_and_delete_in_one_multi_leave_a_mark_on_the_parent() -> None:
    """The node is gone, but the parent's cversion has grown by two and its sequence number by one."""
    zk = server("/a")
    zk.multi(C, [Create("/a/n"), Delete("/a/n")])
    assert (stat(zk, "/a").cversion, stat(zk, "/a").numChildren) == (2, 0)
    assert zk.create(C, "/a/s", sequential=True).path == "/a/s0000000001"


def test_an_ephemeral_created_and_deleted_has_no_owner() -> None:
    """An ephemeral deleted within its multi, or replaced by a persistent node, is not the session's."""
    zk = furnished()
    zk.multi(W, [Create("/n", ephemeral=True), Delete("/n"), Delete("/e"), Create("/e")])
    assert zk.state.sessions[W] == frozenset()
    zk.close(W)
    assert zk.exists(C, "/e") is not None


def test_a_registration() -> None:
    """A broker's registration, an ephemeral create and then a set at 0: version 1, czxid and mzxid of the multi."""
    zk = server("/ids")
    assert codes(zk.multi(W, [Create("/ids/1", None, ephemeral=True), SetData("/ids/1", b"{}", 0)])) == [OK, OK]
    found = stat(zk, "/ids/1")
    z = zk.state.zxid
    assert (found.version, found.czxid, found.mzxid, found.ephemeralOwner) == (1, z, z, W)


def test_an_election() -> None:
    """Create the controller and set the epoch: once; a second one gets NodeExists, a zombie BadVersion."""
    zk = server("/controller_epoch")
    elect: list[Operation] = [
        Create("/controller", ephemeral=True),
        SetData("/controller_epoch", b"1", 0),
    ]
    assert codes(zk.multi(W, elect)) == [OK, OK]
    assert stat(zk, "/controller_epoch").version == 1
    assert codes(zk.multi(C, elect)) == [Code.NODEEXISTS, LATER]
    zk.expire(W)
    assert codes(zk.multi(C, elect)) == [OK, Code.BADVERSION]
    zombie: list[Operation] = [Check("/controller_epoch", 0), Create("/written")]
    assert codes(zk.multi(C, zombie)) == [Code.BADVERSION, LATER]


# events


def test_events_come_in_the_order_of_the_operations() -> None:
    """The events of each operation as if it were alone, in order, all with the same zxid."""
    zk = server("/a", "/b")
    for path in ("/a", "/b", "/c"):
        zk.exists(W, path, watch=True)
    zk.children(W, "/", watch=True)
    zk.multi(C, [SetData("/b"), Create("/c"), Delete("/a")])
    assert {event.zxid for event in zk.state.events[W]} == {zk.state.zxid}
    assert inbox(zk) == [(DATA, "/b"), (CREATED, "/c"), (CHILDREN, "/"), (DELETED, "/a")]


@pytest.mark.parametrize(
    ("present", "watch_children", "operations", "heard"),
    [
        (False, False, [Create("/n"), SetData("/n")], [(CREATED, "/n")]),
        (False, True, [Create("/n"), Delete("/n")], [(CREATED, "/n"), (CHILDREN, "/")]),
        (True, False, [Delete("/n"), Create("/n")], [(DELETED, "/n")]),
        (True, False, [SetData("/n"), SetData("/n"), Delete("/n")], [(DATA, "/n")]),
    ],
)
def test_a_watch_fires_once_within_a_multi(
    present: bool, watch_children: bool, operations: list[Operation], heard: list[tuple[EventType, str]]
) -> None:
    """The first operation that fires a watch consumes it; later ones find none."""
    zk = server(*(["/n"] if present else []))
    zk.exists(W, "/n", watch=True)
    if watch_children:
        zk.children(W, "/", watch=True)
    zk.multi(C, operations)
    assert inbox(zk) == heard


def alone(zk: ZooKeeper, operation: Operation) -> OpResult:
    """The operation as a request of its own."""
    match operation:
        case Create(path, data, ephemeral, sequential):
            return zk.create(C, path, data, ephemeral=ephemeral, sequential=sequential)
        case SetData(path, data, version):
            return zk.set(C, path, data, version)
        case Delete(path, version):
            zk.delete(C, path, version)
        case Check():
            raise AssertionError("a check is no request")
    return None


@pytest.mark.parametrize(
    "operation", [Create("/n", b"", True), Create("/s", b"", False, True), SetData("/v", b"", 1), Delete("/e")]
)
def test_a_multi_of_one_is_that_operation(operation: Operation) -> None:
    """A single operation has the same result and state, alone or as a multi."""
    one, other = furnished(), furnished()
    for zk in (one, other):
        zk.children(W, "/", watch=True)
        zk.exists(W, "/v", watch=True)
    assert (alone(one, operation),) == other.multi(C, [operation])
    assert one.state == other.state
