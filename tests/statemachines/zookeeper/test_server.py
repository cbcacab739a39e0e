"""The ZooKeeper class over states of different kinds, and helpers for its other tests."""

import copy
import itertools
import pickle
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, TypeVar

import pytest

from statemachines.zookeeper.server import (
    Code,
    Create,
    Event,
    EventType,
    InMemoryState,
    Multi,
    Node,
    NodeExists,
    SessionId,
    SetData,
    Stat,
    TotalDict,
    ZooKeeper,
    ZooKeeperError,
)

W, C, D = "watcher", "changer", "third"

Heard = list[tuple[EventType, str]]

K = TypeVar("K")
V = TypeVar("V")


def server(*paths: str, kind: type[ZooKeeper] = ZooKeeper) -> ZooKeeper:
    """A server with the sessions W, C and D, and these nodes, created by C."""
    zk = kind()
    for session in (W, C, D):
        zk.connect(session)
    for path in paths:
        zk.create(C, path)
    return zk


def inbox(zk: ZooKeeper, session: SessionId = W) -> Heard:
    """Take all events from a session's inbox."""
    taken = iter(lambda: zk.take(session), None)
    return [(event.type, event.path) for event in taken if event is not None]


def stat(zk: ZooKeeper, path: str) -> Stat:
    """The stat of an existing node."""
    found = zk.exists(None, path)
    assert found is not None
    return found


def code_of(request: Callable[[], object]) -> Code:
    """The code with which a request ends."""
    try:
        request()
    except ZooKeeperError as error:
        return error.code
    return Code.OK


def all_but_zxid(zk: ZooKeeper) -> InMemoryState:
    """A copy of the state at zxid 0, to be compared with one taken later."""
    kept = copy.deepcopy(zk.state)
    kept.zxid = 0
    assert isinstance(kept, InMemoryState)
    return kept


# states of other kinds


class Fixed(MutableMapping[K, V]):
    """A mapping whose keys are fixed: roughly a specification's variable."""

    def __init__(self, keys: list[K], default: V | None = None) -> None:
        self.slots: dict[K, V | None] = dict.fromkeys(keys, default)

    def __contains__(self, key: object) -> bool:
        return key in self.slots and self.slots[key] is not None

    def __getitem__(self, key: K) -> V:
        value = self.slots[key]
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        assert key in self.slots, f"{key!r} is outside the domain"
        self.slots[key] = value

    def __delitem__(self, key: K) -> None:
        assert self.slots[key] is not None
        self.slots[key] = None

    def __iter__(self) -> Iterator[K]:
        return iter(self.slots)

    def __len__(self) -> int:
        return len(self.slots)


class Placeholder:
    """The value of a field that a specification does not keep: arithmetic returns it, any other use fails."""

    def _swallow(self, _: object) -> "Placeholder":
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __or__ = __ror__ = __and__ = __rand__ = _swallow

    def _refuse(self, *_: object) -> Any:
        raise AssertionError("a rule looked at a value that is not kept")

    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __hash__ = __bool__ = __len__ = __format__ = __str__ = _refuse
    __iter__ = __contains__ = __int__ = __index__ = _refuse


class SpecifiedState:
    """Total or partial mappings over fixed keys, without zxids and without counts of children."""

    def __init__(self, paths: list[str], sessions: list[SessionId]) -> None:
        kept_nowhere: Any = Placeholder()
        self.nodes: MutableMapping[str, Node] = Fixed(paths)
        self.sessions: MutableMapping[SessionId, frozenset[str]] = Fixed(sessions)
        self.data_watches: MutableMapping[str, frozenset[SessionId]] = Fixed(paths, frozenset())
        self.child_watches: MutableMapping[str, frozenset[SessionId]] = Fixed(paths, frozenset())
        self.events: MutableMapping[SessionId, tuple[Event, ...]] = Fixed(sessions, ())
        self.zxid: int = kept_nowhere
        self.nodes["/"] = Node(
            children=kept_nowhere,
            created=kept_nowhere,
            czxid=kept_nowhere,
            mzxid=kept_nowhere,
            pzxid=kept_nowhere,
        )


def test_a_fresh_server_holds_the_root_and_nothing_else() -> None:
    """A fresh server has an empty root at version 0, no session, and is at zxid 0."""
    zk = ZooKeeper()
    assert zk.get(None, "/") == (None, Stat(0, 0, 0, 0, 0, 0, None, 0, 0))
    assert zk.state == InMemoryState()


def test_servers_share_nothing() -> None:
    """A node of one server does not exist in the next."""
    first, second = server("/a"), ZooKeeper()
    assert first.state != second.state == InMemoryState()


def test_a_server_runs_over_the_given_state() -> None:
    """Two servers over one state are one server."""
    state = InMemoryState()
    ZooKeeper(state).connect(W)
    ZooKeeper(state).create(W, "/a", b"here")
    assert ZooKeeper(state).get(W, "/a")[0] == b"here"


def test_old_values_stay_unchanged() -> None:
    """No value is changed in place, so kept copies stay the same."""
    zk = server("/a")
    zk.exists(W, "/a", watch=True)
    zk.children(W, "/a", watch=True)
    old_state = zk.state
    kept = [dict(mapping) for mapping in (old_state.nodes, old_state.sessions, old_state.data_watches)]
    copies = copy.deepcopy(kept)
    zk.create(W, "/a/b", ephemeral=True)
    zk.set(C, "/a", b"x")
    zk.close(W)
    assert kept == copies


def test_a_state_can_be_copied_and_pickled() -> None:
    """A state in memory survives copying and pickling, defaults included."""
    zk = server("/a")
    zk.exists(W, "/a", watch=True)
    zk.set(C, "/a", b"x")
    for again in (copy.deepcopy(zk.state), pickle.loads(pickle.dumps(zk.state))):
        assert again == zk.state
        assert again.events["whoever"] == ()


def test_empty_values_are_not_stored_in_memory() -> None:
    """After all watches have fired and all events are taken, the tables in memory are empty again."""
    zk = server("/a")
    zk.exists(W, "/a", watch=True)
    zk.children(W, "/a", watch=True)
    zk.delete(C, "/a")
    assert inbox(zk) == [(EventType.NodeDeleted, "/a")]
    assert (zk.state.data_watches, zk.state.child_watches, zk.state.events) == ({}, {}, {})


def test_total_mappings_answer_for_every_key() -> None:
    """A key without a value has the empty one, and a lookup does not store it."""
    total: TotalDict[str, tuple[int, ...]] = TotalDict(())
    assert total["a"] == ()
    total["a"] += (1,)
    assert total == {"a": (1,)}
    total["a"] = ()
    assert total == {}
    assert "a" not in total


@pytest.mark.parametrize("sessions", [[1, 2], [(0, 0), (0, 1)], ["a", "b"], [0, -1]])
def test_a_session_is_any_orderable_value(sessions: list[SessionId]) -> None:
    """Numbers (0 too), strings and tuples serve as session ids."""
    zk = ZooKeeper()
    one, other = sessions
    zk.connect(one)
    zk.connect(other)
    zk.create(one, "/a", ephemeral=True)
    assert stat(zk, "/a").ephemeralOwner == one
    for session in sessions:
        zk.exists(session, "/a", watch=True)
    zk.close(one)
    assert inbox(zk, one) == inbox(zk, other) == [(EventType.NodeDeleted, "/a")]


def test_a_server_runs_over_fixed_keys_and_placeholders() -> None:
    """A registration, an election, an expiry, a lost connection: none needs zxids or counts of children."""
    zk = ZooKeeper(SpecifiedState(["/", "/ids", "/ids/1", "/epoch", "/controller"], [W, C]))
    zk.connect(W)
    zk.connect(C)
    zk.create(None, "/ids")
    zk.create(None, "/epoch", 0)
    assert zk.multi(W, [Create("/ids/1", ephemeral=True), SetData("/ids/1", b"w", 0)])[1] is not Code.OK
    with pytest.raises(NodeExists):
        zk.create(C, "/ids/1", ephemeral=True)
    _, before = zk.get(W, "/epoch")
    zk.multi(W, [Create("/controller", W, ephemeral=True), SetData("/epoch", 1, before.version)])
    failed = zk.multi(C, [SetData("/epoch", 1, before.version), Create("/controller", C, ephemeral=True)])
    assert failed == (Code.BADVERSION, Code.RUNTIMEINCONSISTENCY)
    assert zk.exists(C, "/controller", watch=True)
    assert zk.children(C, "/ids", watch=True)[0] == {"1"}
    zk.drop(W, [Multi((SetData("/epoch", 2),)), SetData("/epoch", 3)], 1)
    zk.expire(W)
    assert inbox(zk, C) == [
        (EventType.NodeDeleted, "/controller"),
        (EventType.NodeChildrenChanged, "/ids"),
    ]
    assert zk.get(C, "/epoch")[0] == 2
    assert W not in zk.state.sessions


def test_inboxes_do_not_depend_on_set_order() -> None:
    """The inboxes do not depend on the order in which sessions connected and watched."""
    seen = set()
    for order in itertools.permutations((W, C, D)):
        zk = server("/a", "/b")
        for session in order:
            zk.exists(session, "/a/e", watch=True)
            zk.children(session, "/b", watch=True)
        zk.create(C, "/b/2", ephemeral=True)
        zk.create(C, "/a/e", ephemeral=True)
        zk.expire(C)
        seen.add(tuple(tuple(inbox(zk, session)) for session in (W, D)))
    assert len(seen) == 1


def test_errors_name_the_operation_and_its_obstacle() -> None:
    """An error's line names the operation, the path, and the actual value instead of the expected one."""
    zk = server("/a", "/a/b")
    zk.create(W, "/e", ephemeral=True)
    said = []
    for request in (
        lambda: zk.create(C, "/x/y"),
        lambda: zk.create(C, "/a"),
        lambda: zk.create(C, "/e/f"),
        lambda: zk.set(C, "/a", None, 7),
        lambda: zk.delete(C, "/a"),
        lambda: zk.delete(C, "/"),
        lambda: zk.get(C, "/x"),
        lambda: zk.get("no session", "/x"),
    ):
        with pytest.raises(ZooKeeperError) as raised:
            request()
        said.append(str(raised.value))
    assert said == [
        "create /x/y: its parent /x does not exist",
        "create /a: it exists already",
        "create /e/f: /e is ephemeral, of session 'watcher'",
        "set /a: expected version 7, it is at 0",
        "delete /a: it has children, b",
        "delete '/': not a path for this operation",
        "get /x: no such node",
        "get: session 'no session' is not live",
    ]
