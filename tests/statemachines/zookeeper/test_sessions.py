"""How sessions begin and end, the costs of a lost connection, and the events after a reconnection."""

import itertools

import pytest

from statemachines.zookeeper.server import (
    MISSED,
    Check,
    Create,
    Delete,
    Event,
    EventType,
    Multi,
    Operation,
    SessionExpired,
    SetData,
    Write,
    ZooKeeper,
)
from tests.rows import rows
from tests.statemachines.zookeeper.test_server import C, D, Heard, W, all_but_zxid, inbox, server, stat

CREATED, DELETED = EventType.NodeCreated, EventType.NodeDeleted
DATA, CHILDREN = EventType.NodeDataChanged, EventType.NodeChildrenChanged

ENDS = ["close", "expire"]


def end(zk: ZooKeeper, how: str, session: str = W) -> None:
    """End the session in one of the two ways."""
    if how == "close":
        zk.close(session)
    else:
        zk.expire(session)


# begin


def test_a_new_session_owns_nothing() -> None:
    """It has no ephemerals, no watches, and an empty inbox."""
    zk = ZooKeeper()
    zk.connect(W)
    assert zk.state.sessions == {W: frozenset()}
    assert zk.take(W) is None


def test_a_live_id_is_refused() -> None:
    """No second session gets the id of a live one, and the attempt leaves no trace."""
    zk = server("/a")
    zk.create(W, "/e", ephemeral=True)
    before, zxid = all_but_zxid(zk), zk.state.zxid
    with pytest.raises(ValueError, match="'watcher'"):
        zk.connect(W)
    assert (all_but_zxid(zk), zk.state.zxid) == (before, zxid)


def test_the_id_of_an_ended_session_may_be_used_again() -> None:
    """The new session inherits neither events nor watches nor ephemerals."""
    zk = server("/a")
    zk.create(W, "/e", ephemeral=True)
    zk.exists(W, "/e", watch=True)
    zk.exists(W, "/a", watch=True)
    zk.close(W)
    zk.connect(W)
    zk.set(C, "/a", b"")
    assert zk.take(W) is None
    assert zk.state.sessions[W] == frozenset()


# end


@pytest.mark.parametrize("how", ENDS)
def test_the_end_of_a_session_deletes_its_ephemerals(how: str) -> None:
    """All of them in one transaction, whatever their data, even if created in a multi or written by others."""
    zk = server("/a")
    zk.create(W, "/a/1", b"x", ephemeral=True)
    zk.multi(W, [Create("/a/2", ephemeral=True), SetData("/a/2", b"y")])
    zk.create(W, "/3", ephemeral=True)
    zk.set(C, "/3", b"z")
    zk.create(C, "/a/other", ephemeral=True)
    before = zk.state.zxid
    end(zk, how)
    assert zk.children(C, "/")[0] == {"a"}
    assert zk.children(C, "/a")[0] == {"other"}
    assert zk.state.zxid == before + 1 == stat(zk, "/a").pzxid
    assert W not in zk.state.sessions


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("again", [W, C])
def test_a_node_recreated_as_persistent_stays(how: str, again: str) -> None:
    """A path that once was an ephemeral no longer belongs to the session, whoever re-created it."""
    zk = server()
    zk.create(W, "/e", ephemeral=True)
    zk.delete(C, "/e")
    zk.create(again, "/e")
    end(zk, how)
    assert zk.exists(C, "/e") is not None


@pytest.mark.parametrize("how", ENDS)
def test_a_node_recreated_by_another_session_stays(how: str) -> None:
    """An ephemeral is deleted only with its last owner."""
    zk = server()
    zk.create(W, "/e", ephemeral=True)
    zk.delete(W, "/e")
    zk.create(C, "/e", ephemeral=True)
    end(zk, how)
    assert stat(zk, "/e").ephemeralOwner == C
    end(zk, how, C)
    assert zk.exists(D, "/e") is None


@pytest.mark.parametrize("how", ENDS)
def test_the_ephemerals_of_a_faulty_server_outlive_their_session(how: str) -> None:
    """ZOOKEEPER-2985: no watch fires, and the leftover can be deleted like any other node."""
    zk = ZooKeeper(outliving=True)
    for session in (W, C):
        zk.connect(session)
    zk.create(W, "/e", ephemeral=True)
    zk.exists(C, "/e", watch=True)
    end(zk, how)
    assert W not in zk.state.sessions
    assert zk.state.nodes["/e"].owner == W
    assert zk.take(C) is None
    zk.delete(None, "/e")
    assert zk.take(C) == Event(DELETED, "/e", zk.state.zxid)


@pytest.mark.parametrize("how", ENDS)
def test_other_sessions_see_the_end(how: str) -> None:
    """NodeDeleted for each ephemeral, the parent's NodeChildrenChanged once, after the first."""
    zk = server("/a")
    for path in ("/a/1", "/a/2"):
        zk.create(W, path, ephemeral=True)
        zk.exists(C, path, watch=True)
    zk.children(C, "/a", watch=True)
    end(zk, how)
    assert {event.zxid for event in zk.state.events[C]} == {zk.state.zxid}
    assert inbox(zk, C) == [(DELETED, "/a/1"), (CHILDREN, "/a"), (DELETED, "/a/2")]


@pytest.mark.parametrize("how", ENDS)
def test_ephemerals_go_in_any_order(how: str) -> None:
    """Each order of the ephemerals is possible, and gives its own order of events."""
    paths = ("/1", "/2", "/3")
    for order in itertools.permutations(paths):
        zk = server()
        for path in paths:
            zk.create(W, path, ephemeral=True)
            zk.exists(C, path, watch=True)
        if how == "close":
            zk.close(W, order)
        else:
            zk.expire(W, order)
        assert inbox(zk, C) == [(DELETED, path) for path in order]


@rows("order", [[], ["/1"], ["/1", "/1"], ["/1", "/2", "/3"], ["/1", "/a"]])
def test_an_order_is_one_of_all_its_ephemerals(order: list[str]) -> None:
    """An order with too few, too many, or others' paths is refused without a trace."""
    zk = server("/a")
    zk.create(W, "/1", ephemeral=True)
    zk.create(W, "/2", ephemeral=True)
    before, zxid = all_but_zxid(zk), zk.state.zxid
    with pytest.raises(ValueError, match="ephemerals"):
        zk.expire(W, order)
    assert (all_but_zxid(zk), zk.state.zxid) == (before, zxid)


def test_a_closing_session_receives_all_its_events() -> None:
    """Its own watches fire as well, and the events are in its inbox when close returns."""
    zk = server()
    zk.children(W, "/", watch=True)
    for path in ("/1", "/2"):
        zk.create(W, path, ephemeral=True)
        zk.exists(W, path, watch=True)
    assert inbox(zk) == [(CHILDREN, "/")]
    zk.children(W, "/", watch=True)
    zk.close(W)
    assert inbox(zk) == [(DELETED, "/1"), (CHILDREN, "/"), (DELETED, "/2")]


@rows("seen", range(5))
def test_an_expired_session_receives_a_prefix_of_its_events(seen: int) -> None:
    """None, some or all of its own events arrive, but always a prefix; others receive all."""
    zk = server()
    for path in ("/1", "/2"):
        zk.create(W, path, ephemeral=True)
        for session in (W, C):
            zk.exists(session, path, watch=True)
    for session in (W, C):
        zk.children(session, "/", watch=True)
    everything: Heard = [(DELETED, "/1"), (CHILDREN, "/"), (DELETED, "/2")]
    zk.expire(W, seen=seen)
    assert inbox(zk, W) == everything[:seen]
    assert inbox(zk, C) == everything


def test_a_negative_prefix_is_refused() -> None:
    """A negative number of events is refused."""
    zk = server()
    with pytest.raises(ValueError, match="-1"):
        zk.expire(W, seen=-1)
    assert W in zk.state.sessions


def test_events_in_the_inbox_survive_an_expiry() -> None:
    """Events from before the expiry were sent already; only the loss of the connection loses them."""
    zk = server("/a")
    zk.exists(W, "/a", watch=True)
    zk.set(C, "/a", b"")
    zk.expire(W)
    assert len(zk.state.events[W]) == 1
    zk.disconnect(W)
    assert zk.take(W) is None


@pytest.mark.parametrize("how", ENDS)
def test_the_end_of_a_session_removes_its_watches(how: str) -> None:
    """An ended session watches nothing, and others continue to watch."""
    zk = server("/a")
    for session in (W, C):
        zk.exists(session, "/a", watch=True)
        zk.children(session, "/a", watch=True)
    end(zk, how)
    assert zk.state.data_watches == zk.state.child_watches == {"/a": {C}}
    zk.delete(C, "/a")
    assert zk.take(W) is None


@pytest.mark.parametrize("how", ENDS)
def test_a_session_ends_once(how: str) -> None:
    """After its end, every request of the session is refused."""
    zk = server("/a")
    end(zk, how)
    with pytest.raises(SessionExpired):
        end(zk, how)
    with pytest.raises(SessionExpired):
        zk.get(W, "/a")


def test_a_place_is_free_only_after_the_end() -> None:
    """While the old session lives, its ephemeral is in the way; after its end the next one may take the path."""
    zk = server()
    zk.create(W, "/controller", W, ephemeral=True)
    assert zk.exists(C, "/controller", watch=True) is not None
    zk.disconnect(W)
    assert stat(zk, "/controller").ephemeralOwner == W
    zk.expire(W)
    assert inbox(zk, C) == [(DELETED, "/controller")]
    assert zk.create(C, "/controller", C, ephemeral=True).stat.ephemeralOwner == C


# connections


def test_a_lost_connection_loses_watches_and_events_only() -> None:
    """The session lives, its ephemerals stay; its watches and waiting events are gone."""
    zk = server("/a")
    zk.create(W, "/e", ephemeral=True)
    zk.exists(W, "/a", watch=True)
    zk.set(C, "/a", b"")
    zk.exists(W, "/a", watch=True)
    zk.children(W, "/a", watch=True)
    zk.exists(C, "/e", watch=True)
    zk.disconnect(W)
    zk.delete(C, "/a")
    assert zk.take(W) is None
    assert zk.state.sessions[W] == {"/e"}
    assert zk.state.data_watches == {"/e": {C}}
    assert zk.get(W, "/e")[1].ephemeralOwner == W


RETURNS: list[tuple[str, str, str, list[EventType], bool]] = [
    ("data", "/n", "nothing", [], True),
    ("data", "/n", "set", [DATA], False),
    ("data", "/n", "delete", [DELETED], False),
    ("data", "/n", "delete, create", [DATA], False),
    ("data", "/n", "create child", [], True),
    ("exist", "/m", "nothing", [], True),
    ("exist", "/m", "create it", [CREATED], False),
    ("exist", "/m", "create it, delete it", [], True),
    ("exist", "/n", "nothing", [CREATED], False),
    ("child", "/n", "nothing", [], True),
    ("child", "/n", "set", [], True),
    ("child", "/n", "create child", [CHILDREN], False),
    ("child", "/n", "create child, delete child", [CHILDREN], False),
    ("child", "/n", "delete", [DELETED], False),
    ("child", "/n", "delete, create", [CHILDREN], False),
]

MEANWHILE: dict[str, Operation] = {
    "set": SetData("/n"),
    "delete": Delete("/n"),
    "create": Create("/n"),
    "create child": Create("/n/c"),
    "delete child": Delete("/n/c"),
    "create it": Create("/m"),
    "delete it": Delete("/m"),
    "nothing": Check("/n"),
}


@rows("kind, path, meanwhile, received, armed", RETURNS)
def test_a_returning_client(kind: str, path: str, meanwhile: str, received: list[EventType], armed: bool) -> None:
    """C makes the changes while W is away: W's watch gives an event, or is set again."""
    zk = server("/n")
    zk.disconnect(W)
    seen = zk.state.zxid
    for change in meanwhile.split(", "):
        zk.multi(C, [MEANWHILE[change]])
    zk.set_watches(W, seen, **{kind: [path]})
    assert inbox(zk) == [(event, path) for event in received]
    table = zk.state.child_watches if kind == "child" else zk.state.data_watches
    assert table[path] == ({W} if armed else frozenset())


def test_a_restored_watch_fires() -> None:
    """It fires like any other; an exist watch is in the table of the data watches."""
    zk = server("/n", "/p")
    zk.set_watches(W, zk.state.zxid, data=["/n"], exist=["/m"], child=["/p"])
    zk.create(C, "/m")
    zk.set(C, "/n", b"")
    zk.create(C, "/p/c")
    assert inbox(zk) == [(CREATED, "/m"), (DATA, "/n"), (CHILDREN, "/p")]


def test_seen_changes_are_not_repeated() -> None:
    """A change up to the zxid that the client has seen sets the watch; a later one is an event."""
    zk = server("/n")
    zk.set(C, "/n", b"")
    zk.set_watches(W, zk.state.zxid, data=["/n"])
    assert inbox(zk) == []
    zk.disconnect(W)
    zk.set_watches(W, zk.state.zxid - 1, data=["/n"])
    assert inbox(zk) == [(DATA, "/n")]


def test_events_of_a_reconnection_come_in_the_requested_order() -> None:
    """Data watches, then exist watches, then child watches, each in the order of their paths."""
    zk = server("/b", "/a")
    zk.set_watches(W, 0, data=["/b", "/a"], exist=["/a"], child=["/x", "/b"])
    assert inbox(zk) == [(DATA, "/b"), (DATA, "/a"), (CREATED, "/a"), (DELETED, "/x"), (CHILDREN, "/b")]


def test_the_table_of_missed_changes() -> None:
    """The three kinds of watches, spelled out."""
    assert {kind: tuple(row) for kind, row in MISSED.items()} == {
        "data": ("data_watches", DELETED, DATA, "mzxid"),
        "exist": ("data_watches", None, CREATED, None),
        "child": ("child_watches", DELETED, CHILDREN, "pzxid"),
    }


# requests in flight

PIPELINE: list[Write] = [
    SetData("/a", 1),
    Create("/a"),  # fails, without effect on the next ones
    SetData("/a", 2),
    Multi((SetData("/a", 3), Create("/e", ephemeral=True))),
    Multi((SetData("/a", 4), Check("/a", 0))),  # fails as a whole
    Delete("/e"),
]


@rows(
    "served, data, ephemeral",
    [
        (0, None, False),
        (1, 1, False),
        (2, 1, False),
        (3, 2, False),
        (4, 3, True),
        (5, 3, True),
        (6, 3, False),
    ],
)
def test_a_prefix_of_the_requests_in_flight_takes_effect(served: int, data: int | None, ephemeral: bool) -> None:
    """The first requests take effect in order, the others never; each of the first takes a zxid, failed or not."""
    zk = server("/a")
    before = zk.state.zxid
    zk.drop(W, PIPELINE, served)
    assert zk.get(C, "/a")[0] == data
    assert zk.state.sessions[W] == ({"/e"} if ephemeral else frozenset())
    assert zk.state.zxid == before + served


def test_a_drop_is_a_lost_connection() -> None:
    """Its own events and watches are lost; others are notified of the effects."""
    zk = server("/a", "/b")
    for session in (W, C):
        zk.get(session, "/a", watch=True)
        zk.get(session, "/b", watch=True)
    zk.drop(W, [SetData("/a")], 1)
    zk.set(C, "/b", b"")
    assert inbox(zk, W) == []
    assert inbox(zk, C) == [(DATA, "/a"), (DATA, "/b")]
    assert W in zk.state.sessions


@pytest.mark.parametrize("served", [-1, 7])
def test_an_impossible_prefix_is_refused(served: int) -> None:
    """A number that is not the length of a prefix is refused without a trace."""
    zk = server("/a")
    before, zxid = all_but_zxid(zk), zk.state.zxid
    with pytest.raises(ValueError, match=str(served)):
        zk.drop(W, PIPELINE, served)
    assert (all_but_zxid(zk), zk.state.zxid) == (before, zxid)


# order


def test_each_session_sees_its_own_writes() -> None:
    """Requests are served one at a time: every read sees all writes with an earlier reply."""
    zk = server("/a")
    for number in range(20):
        zk.set((W, C)[number % 2], "/a", number)
        assert zk.get(W, "/a")[0] == zk.get(C, "/a")[0] == number
