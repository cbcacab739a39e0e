"""How the fields of a stat change, and which requests take a zxid."""

from collections.abc import Callable

import pytest

from statemachines.zookeeper.server import Check, Create, Created, Delete, SetData, Stat, ZooKeeper
from tests.rows import rows
from tests.statemachines.zookeeper.test_server import C, W, code_of, server, stat

Request = Callable[[ZooKeeper], object]


def test_a_new_nodes_stat() -> None:
    """Three zxids of the creation, all counters at zero, and the length of the data."""
    zk = server()
    z = zk.state.zxid + 1
    fresh = Stat(
        czxid=z,
        mzxid=z,
        pzxid=z,
        version=0,
        cversion=0,
        aversion=0,
        ephemeralOwner=None,
        dataLength=3,
        numChildren=0,
    )
    assert zk.create(C, "/a", b"abc") == Created("/a", fresh)
    assert stat(zk, "/a") == fresh


MOVES: list[tuple[str, Request, dict[str, int]]] = [
    ("setData", lambda zk: zk.set(C, "/a", b"1234"), {"mzxid": 1, "version": 1, "dataLength": 3}),
    ("setData, the same", lambda zk: zk.set(C, "/a", b"1"), {"mzxid": 1, "version": 1}),
    ("child created", lambda zk: zk.create(C, "/a/c"), {"pzxid": 1, "cversion": 1, "numChildren": 1}),
    (
        "ephemeral child created",
        lambda zk: zk.create(C, "/a/c", ephemeral=True),
        {"pzxid": 1, "cversion": 1, "numChildren": 1},
    ),
    (
        "sequential child created",
        lambda zk: zk.create(C, "/a/c", sequential=True),
        {"pzxid": 1, "cversion": 1, "numChildren": 1},
    ),
    ("child set", lambda zk: zk.set(C, "/a/b", b""), {}),
    ("grandchild created", lambda zk: zk.create(C, "/a/b/y"), {}),
    ("grandchild deleted", lambda zk: zk.delete(C, "/a/b/x"), {}),
    ("child deleted", lambda zk: zk.delete(C, "/a/e"), {"pzxid": 1, "cversion": 1, "numChildren": -1}),
    ("neighbour created", lambda zk: zk.create(C, "/aa"), {}),
    ("check", lambda zk: zk.multi(C, [Check("/a", 0)]), {}),
    ("child that exists already", lambda zk: code_of(lambda: zk.create(C, "/a/b")), {}),
    ("read", lambda zk: zk.get(C, "/a", watch=True), {}),
]


@rows("request_, moved", {name: row for name, *row in MOVES})
def test_changes_of_a_stat(request_: Request, moved: dict[str, int]) -> None:
    """A request changes these fields of /a by these amounts, a zxid to its own, and no other field."""
    zk = server()
    zk.create(C, "/a", b"1")
    for path in ("/a/b", "/a/b/x", "/a/e"):
        zk.create(C, path)
    before = stat(zk, "/a")
    request_(zk)
    expected = {
        name: zk.state.zxid if name.endswith("zxid") else getattr(before, name) + by for name, by in moved.items()
    }
    assert stat(zk, "/a") == before._replace(**expected)


def test_a_node_created_again_is_a_new_one() -> None:
    """After delete and create, no field of the old stat is left."""
    zk = server("/a", "/a/b")
    zk.set(C, "/a", b"x")
    zk.delete(C, "/a/b")
    zk.delete(C, "/a")
    created = zk.create(C, "/a").stat
    z = zk.state.zxid
    assert created == stat(zk, "/a") == Stat(z, z, z, 0, 0, 0, None, 0, 0)


def test_cversion_counts_created_and_deleted_children() -> None:
    """The cversion is created + deleted children, so 2 * created - numChildren."""
    zk = server("/a")
    for name in "xyz":
        zk.create(C, f"/a/{name}")
    zk.delete(C, "/a/x")
    assert (stat(zk, "/a").cversion, stat(zk, "/a").numChildren) == (4, 2)


@pytest.mark.parametrize("data", [None, b"", 12, "text"])
def test_data_that_are_not_bytes_have_no_length(data: object) -> None:
    """The length is 0 for None, for no bytes, and for values that no server could hold."""
    assert server().create(C, "/a", data).stat.dataLength == 0


def test_a_sessions_end_counts_each_child_at_its_parent() -> None:
    """Two ephemerals deleted: cversion + 2, the pzxid of the one transaction; the empty parent stays."""
    zk = server("/a")
    zk.create(W, "/a/1", ephemeral=True)
    zk.create(W, "/a/2", ephemeral=True)
    before = stat(zk, "/a")
    zk.close(W)
    assert stat(zk, "/a") == before._replace(pzxid=zk.state.zxid, cversion=4, numChildren=0)


def test_a_set_returns_the_new_stat() -> None:
    """The stat of a read right after it."""
    zk = server("/a", "/a/b")
    assert zk.set(C, "/a", b"xy") == stat(zk, "/a")


def test_each_result_of_a_multi_has_the_stat_of_its_moment() -> None:
    """Create, child, set: version 0, then 1; the child counts in the stats after its creation."""
    zk = server()
    created, _, changed, checked, last = zk.multi(
        C, [Create("/a"), Create("/a/b"), SetData("/a", b"x"), Check("/a", 1), SetData("/a", b"xy")]
    )
    z = zk.state.zxid
    assert isinstance(created, Created)
    assert created.stat == Stat(z, z, z, 0, 0, 0, None, 0, 0)
    assert changed == Stat(z, z, z, 1, 1, 0, None, 1, 1)
    assert checked is None
    assert last == stat(zk, "/a") == Stat(z, z, z, 2, 1, 0, None, 2, 1)


SPENDS: list[tuple[str, Request, int]] = [
    ("create", lambda zk: zk.create(C, "/n"), 1),
    ("create, NodeExists", lambda zk: zk.create(C, "/a"), 1),
    ("create, NoNode", lambda zk: zk.create(C, "/n/m"), 1),
    ("create, NoChildrenForEphemerals", lambda zk: zk.create(C, "/e/k"), 1),
    ("create, BadArguments", lambda zk: zk.create(C, "a"), 1),
    ("set", lambda zk: zk.set(C, "/a", b""), 1),
    ("set, NoNode", lambda zk: zk.set(C, "/n", b""), 1),
    ("set, BadVersion", lambda zk: zk.set(C, "/a", b"", 4), 1),
    ("delete", lambda zk: zk.delete(C, "/e"), 1),
    ("delete, NotEmpty", lambda zk: zk.delete(C, "/a"), 1),
    ("delete, BadVersion", lambda zk: zk.delete(C, "/a", 4), 1),
    ("multi", lambda zk: zk.multi(C, [Create("/n"), Create("/n/m"), Delete("/e")]), 1),
    ("multi that fails", lambda zk: zk.multi(C, [Create("/n"), Create("/n")]), 1),
    ("multi of checks", lambda zk: zk.multi(C, [Check("/a", 0), Check("/a", 0)]), 1),
    ("multi of checks that fails", lambda zk: zk.multi(C, [Check("/a", 4)]), 1),
    ("empty multi", lambda zk: zk.multi(C, []), 1),
    ("connect", lambda zk: zk.connect("new"), 1),
    ("close", lambda zk: zk.close(C), 1),
    ("close with ephemerals", lambda zk: zk.close(W), 1),
    ("expire", lambda zk: zk.expire(C), 1),
    ("expire with ephemerals", lambda zk: zk.expire(W), 1),
    ("exists", lambda zk: zk.exists(C, "/a", watch=True), 0),
    ("exists, missing", lambda zk: zk.exists(C, "/n", watch=True), 0),
    ("get", lambda zk: zk.get(C, "/a", watch=True), 0),
    ("get, NoNode", lambda zk: zk.get(C, "/n"), 0),
    ("children", lambda zk: zk.children(C, "/a", watch=True), 0),
    ("children, NoNode", lambda zk: zk.children(C, "/n"), 0),
    ("set_watches", lambda zk: zk.set_watches(C, 0, ["/a"], ["/a"], ["/a", "/n"]), 0),
    ("disconnect", lambda zk: zk.disconnect(C), 0),
    ("take", lambda zk: zk.take(C), 0),
    ("drop, one of two served", lambda zk: zk.drop(C, [SetData("/a"), Delete("/e")], 1), 1),
    ("drop, a failure and a success", lambda zk: zk.drop(C, [Delete("/a"), Delete("/e")], 2), 2),
]


@rows("request_, spent", {name: row for name, *row in SPENDS})
def test_the_requests_that_take_a_zxid(request_: Request, spent: int) -> None:
    """Every write takes one, even a failed one, and so do a session's begin and end; a read takes none."""
    zk = server("/a", "/a/b")
    zk.create(W, "/e", ephemeral=True)
    before = zk.state.zxid
    code_of(lambda: request_(zk))
    assert zk.state.zxid == before + spent
