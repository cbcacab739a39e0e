"""How sessions begin and end, what a lost connection costs, and what a client is told when it is back."""

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
    """End the session in one way or the other."""
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


def test_the_id_of_an_ended_session_may_serve_again() -> None:
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
    """All of them in one transaction, whatever they hold, also from a multi or written by others."""
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
    """A path that was an ephemeral once is not the session's any more, whoever re-created it."""
    zk = server()
    zk.create(W, "/e", ephemeral=True)
    zk.delete(C, "/e")
    zk.create(again, "/e")
    end(zk, how)
    assert zk.exists(C, "/e") is not None


@pytest.mark.parametrize("how", ENDS)
def test_a_node_recreated_by_another_session_stays(how: str) -> None:
    """An ephemeral goes with its last owner only."""
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
    """ZOOKEEPER-2985: no watch tells of it, and what is left can be deleted as any other node."""
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
    """Its own watches fire as well, and the events are in its inbox when close answers."""
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
    """None, some or all of its own events arrive, never with holes; others hear all."""
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


def test_queued_events_survive_an_expiry() -> None:
    """Events from before the expiry were sent already; they are lost only with the connection."""
    zk = server("/a")
    zk.exists(W, "/a", watch=True)
    zk.set(C, "/a", b"")
    zk.expire(W)
    assert len(zk.state.events[W]) == 1
    zk.disconnect(W)
    assert zk.take(W) is None


@pytest.mark.parametrize("how", ENDS)
def test_the_end_of_a_session_removes_its_watches(how: str) -> None:
    """An ended session watches nothing, and others go on watching."""
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
    """After its end the session can ask for nothing."""
    zk = server("/a")
    end(zk, how)
    with pytest.raises(SessionExpired):
        end(zk, how)
    with pytest.raises(SessionExpired):
        zk.get(W, "/a")


def test_a_place_is_free_only_after_the_end() -> None:
    """While the old session lives its ephemeral is in the way; after its end the next one may have it."""
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
    """The session lives, its ephemerals stay; what it watched and what it had not taken is gone."""
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


@rows("kind, path, meanwhile, heard, armed", RETURNS)
def test_a_client_that_is_back(kind: str, path: str, meanwhile: str, heard: list[EventType], armed: bool) -> None:
    """W is away while C does this: W's watch is answered by an event, or armed again."""
    zk = server("/n")
    zk.disconnect(W)
    seen = zk.state.zxid
    for change in meanwhile.split(", "):
        zk.multi(C, [MEANWHILE[change]])
    zk.set_watches(W, seen, **{kind: [path]})
    assert inbox(zk) == [(event, path) for event in heard]
    table = zk.state.child_watches if kind == "child" else zk.state.data_watches
    assert table[path] == ({W} if armed else frozenset())


def test_a_watch_that_came_back_fires() -> None:
    """What was armed again fires like any other, an exist watch in the table of the data watches."""
    zk = server("/n", "/p")
    zk.set_watches(W, zk.state.zxid, data=["/n"], exist=["/m"], child=["/p"])
    zk.create(C, "/m")
    zk.set(C, "/n", b"")
    zk.create(C, "/p/c")
    assert inbox(zk) == [(CREATED, "/m"), (DATA, "/n"), (CHILDREN, "/p")]


def test_seen_changes_are_not_repeated() -> None:
    """A change up to the zxid that the client has seen arms; a later one is told."""
    zk = server("/n")
    zk.set(C, "/n", b"")
    zk.set_watches(W, zk.state.zxid, data=["/n"])
    assert inbox(zk) == []
    zk.disconnect(W)
    zk.set_watches(W, zk.state.zxid - 1, data=["/n"])
    assert inbox(zk) == [(DATA, "/n")]


def test_events_of_a_return_come_in_the_order_asked_for() -> None:
    """Data watches, then exist watches, then child watches, each in the order of their paths."""
    zk = server("/b", "/a")
    zk.set_watches(W, 0, data=["/b", "/a"], exist=["/a"], child=["/x", "/b"])
    assert inbox(zk) == [(DATA, "/b"), (DATA, "/a"), (CREATED, "/a"), (DELETED, "/x"), (CHILDREN, "/b")]


def test_the_table_of_returns_says_what_the_server_does() -> None:
    """The three kinds of watches, spelled out."""
    assert {kind: tuple(row) for kind, row in MISSED.items()} == {
        "data": ("data_watches", DELETED, DATA, "mzxid"),
        "exist": ("data_watches", None, CREATED, None),
        "child": ("child_watches", DELETED, CHILDREN, "pzxid"),
    }


# requests under way

PIPELINE: list[Write] = [
    SetData("/a", 1),
    Create("/a"),  # fails, and what follows does not care
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
def test_a_prefix_of_what_was_under_way_takes_effect(served: int, data: int | None, ephemeral: bool) -> None:
    """The first requests took effect in order, the others never; each spends a zxid, failed or not."""
    zk = server("/a")
    before = zk.state.zxid
    zk.drop(W, PIPELINE, served)
    assert zk.get(C, "/a")[0] == data
    assert zk.state.sessions[W] == ({"/e"} if ephemeral else frozenset())
    assert zk.state.zxid == before + served


def test_a_drop_is_a_lost_connection() -> None:
    """Its own events and watches are lost, others hear what took effect."""
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
def test_no_more_is_served_than_was_asked_for(served: int) -> None:
    """A number that is not one of a prefix is refused without a trace."""
    zk = server("/a")
    before, zxid = all_but_zxid(zk), zk.state.zxid
    with pytest.raises(ValueError, match=str(served)):
        zk.drop(W, PIPELINE, served)
    assert (all_but_zxid(zk), zk.state.zxid) == (before, zxid)


# order


def test_each_session_sees_its_own_writes() -> None:
    """Requests are served one at a time: every read sees all writes that were answered before it."""
    zk = server("/a")
    for number in range(20):
        zk.set((W, C)[number % 2], "/a", number)
        assert zk.get(W, "/a")[0] == zk.get(C, "/a")[0] == number
