"""ZooKeeper: sessions, one-shot watches and an inbox of events for each session, around the znode tree.

One request is served at a time, completely. All its watch events are in the clients' inboxes before the method
returns, so no reply overtakes an event: a client that reads a new state has the event about it in its inbox
already.

The state is six variables (`ZooKeeperState`), and every rule is written once, over any storage: dicts if the class
is used alone, a specification's variables while its states are explored. What changes them:

    request              zxid  effect
    create, set, delete   +1   a transaction of its own, even if it fails and changes nothing
    multi                 +1   one transaction, even if it fails, only checks, or is empty
    exists, get, children  0   a reply, possibly with a new watch
    connect               +1   a session begins
    close, expire         +1   a session ends: all its ephemeral nodes are deleted, in one transaction
    disconnect             0   a connection is lost: its watches and untaken events are dropped, the session stays
    set_watches            0   its client is back and sets its watches again

Watches. An entry says that a session watches a path, in one of two tables: `data_watches` (set by exists
and get) or `child_watches` (set by children). Setting one twice makes one entry. `FIRES` lists what a change of
a node fires; a fired watch is gone, and one change never sends a session the same event twice. `MISSED` lists
the events for a client that comes back, in place of those it missed.

Rules for changes of this file. Values are never changed in place: a change assigns a whole value to a
key. The tables of watches and of events are total: they have a value for every key, and an empty value is assigned,
not deleted; a table of watches may have only the keys that clients watch. They are iterated as a whole only when a
connection ends. Zxids are compared in `set_watches` alone, and nothing visible depends on the order of a set.

Observed on a standalone ZooKeeper 3.9.5 server. Left out: what `tree` leaves out; persistent and recursive
watches; passwords and timeouts (the caller of `expire` decides when); whether a session has a connection (the
caller knows when it has lost one); and the ensemble, that is, stale reads.
"""

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from statemachines.zookeeper.tree import (
    ANY_VERSION,
    BadArguments,
    BadVersion,
    Check,
    Code,
    Create,
    Created,
    Delete,
    EventType,
    NoChildrenForEphemerals,
    Node,
    NodeExists,
    NoNode,
    NotEmpty,
    Operation,
    OpResult,
    SessionExpired,
    SessionId,
    SetData,
    Stat,
    Transaction,
    ZkPath,
    ZkVersion,
    ZooKeeperError,
    Zxid,
    parent_of,
    refuse_path,
    stat_of,
)

__all__ = [
    "ANY_VERSION",
    "BadArguments",
    "BadVersion",
    "Check",
    "Code",
    "Create",
    "Created",
    "Delete",
    "Event",
    "EventType",
    "FIRES",
    "InMemoryState",
    "MISSED",
    "Multi",
    "NoChildrenForEphemerals",
    "NoNode",
    "Node",
    "NodeExists",
    "NotEmpty",
    "Operation",
    "OpResult",
    "SessionId",
    "SessionExpired",
    "SetData",
    "Stat",
    "TotalDict",
    "WatchTable",
    "Write",
    "ZkVersion",
    "ZooKeeper",
    "ZooKeeperError",
    "ZooKeeperState",
    "Zxid",
]

K = TypeVar("K")
V = TypeVar("V")


class Event(NamedTuple):
    """A watch event: how a node changed, and in which transaction.

    Clients receive events, and replies, in the order of zxids. An event for a client that comes back has the zxid
    up to which it is true (on the wire it has none, -1).
    """

    type: EventType
    path: ZkPath
    zxid: Zxid = 0


class Multi(NamedTuple):
    """A request of several operations, with all of their effects or none."""

    operations: tuple[Operation, ...]


Write: TypeAlias = Create | SetData | Delete | Multi
"""A write in a client's pipeline."""


# The state


class ZooKeeperState(Protocol):
    """A ZooKeeper's state, as six variables. Values are immutable and replaced as a whole."""

    @property
    def nodes(self) -> MutableMapping[ZkPath, Node]:
        """Znodes by full path, including the root."""

    @property
    def sessions(self) -> MutableMapping[SessionId, frozenset[ZkPath]]:
        """Live sessions, with the paths of their ephemeral nodes."""

    @property
    def data_watches(self) -> MutableMapping[ZkPath, frozenset[SessionId]]:
        """The sessions that watch a node's presence and data. Total."""

    @property
    def child_watches(self) -> MutableMapping[ZkPath, frozenset[SessionId]]:
        """The sessions that watch a node's children. Total."""

    @property
    def events(self) -> MutableMapping[SessionId, tuple[Event, ...]]:
        """Watch events sent to a session and not yet taken by its client, oldest first. Total."""

    zxid: Zxid
    """The last transaction."""


class TotalDict(dict[K, V]):
    """A mapping with a value for every key, `empty` by default. Empty values are not stored."""

    def __init__(self, empty: V) -> None:
        super().__init__()
        self.empty = empty

    def __missing__(self, key: K) -> V:
        return self.empty

    def __setitem__(self, key: K, value: V) -> None:
        if value:
            super().__setitem__(key, value)
        else:
            self.pop(key, None)


def _nobody() -> MutableMapping[ZkPath, frozenset[SessionId]]:
    return TotalDict(frozenset())


@dataclass
class InMemoryState:
    """The state over dicts: initially a lone root and no session."""

    nodes: MutableMapping[ZkPath, Node] = field(default_factory=lambda: {"/": Node()})
    sessions: MutableMapping[SessionId, frozenset[ZkPath]] = field(default_factory=dict)
    data_watches: MutableMapping[ZkPath, frozenset[SessionId]] = field(default_factory=_nobody)
    child_watches: MutableMapping[ZkPath, frozenset[SessionId]] = field(default_factory=_nobody)
    events: MutableMapping[SessionId, tuple[Event, ...]] = field(default_factory=lambda: TotalDict(()))
    zxid: Zxid = 0


# The two tables of watches

WatchTable: TypeAlias = Literal["data_watches", "child_watches"]
TABLES: Final[tuple[WatchTable, ...]] = ("data_watches", "child_watches")


class Fires(NamedTuple):
    """A change of a node sends the watchers of `node(path)` in `table` an event of this type."""

    table: WatchTable
    node: Callable[[ZkPath], ZkPath]
    type: EventType


def itself(path: ZkPath) -> ZkPath:
    """The changed node."""
    return path


FIRES: dict[EventType, tuple[Fires, ...]] = {
    EventType.NodeCreated: (
        Fires("data_watches", itself, EventType.NodeCreated),
        Fires("child_watches", parent_of, EventType.NodeChildrenChanged),
    ),
    EventType.NodeDataChanged: (Fires("data_watches", itself, EventType.NodeDataChanged),),
    EventType.NodeDeleted: (
        Fires("data_watches", itself, EventType.NodeDeleted),
        Fires("child_watches", itself, EventType.NodeDeleted),
        Fires("child_watches", parent_of, EventType.NodeChildrenChanged),
    ),
}
"""How a node changed -> what fires, in this order. (DataTree.createNode, setData, deleteNode)"""


class Missed(NamedTuple):
    """The event for a client that comes back with a watch; None: no event, the watch is set again."""

    table: WatchTable
    if_missing: EventType | None
    if_changed: EventType
    since: Literal["mzxid", "pzxid"] | None
    """An existing node has changed if this is later than all the client saw; None: if it exists at all."""


MISSED: dict[Literal["data", "exist", "child"], Missed] = {
    "data": Missed("data_watches", EventType.NodeDeleted, EventType.NodeDataChanged, "mzxid"),
    "exist": Missed("data_watches", None, EventType.NodeCreated, None),
    "child": Missed("child_watches", EventType.NodeDeleted, EventType.NodeChildrenChanged, "pzxid"),
}
"""Kind of watch -> the event on its return. (DataTree.setWatches)"""


class ZooKeeper:
    """A ZooKeeper server over a state of your own, or over a fresh one in memory.

    Sessions have ids chosen by their callers. `session=None` means a client outside the model, for example an
    operator's own client: it may do everything that a session may, but owns no ephemeral node and no watch.

    Methods raise SessionExpired for a session that is not live, before anything else, and ValueError for a request
    that no client can make. Neither has any effect, not even on the zxid.

    Args:
        state: its state; by default a fresh one in memory.
        outliving: a fault: the end of a session deletes none of its ephemeral nodes. [ZOOKEEPER-2985]
    """

    transaction: ClassVar[type[Transaction]] = Transaction
    """The rules of the tree; another class makes another kind of server, for example one with a fault."""

    def __init__(self, state: ZooKeeperState | None = None, outliving: bool = False) -> None:
        self.state: ZooKeeperState = InMemoryState() if state is None else state
        self.outliving = outliving

    # sessions

    def connect(self, session: SessionId) -> None:
        """Open a session with this id and an empty inbox. An ended session's id may be used again."""
        if session is None or session in self.state.sessions:
            raise ValueError(f"connect {session!r}: a new session needs an id that no live session has")
        self._next_zxid()
        self.state.sessions[session] = frozenset()
        self.state.events[session] = ()

    def close(self, session: SessionId, order: Sequence[ZkPath] | None = None) -> None:
        """The client ends its session, as in `expire`, and receives all events of its own watches."""
        self._end("close", session, order, seen=None)

    def expire(self, session: SessionId, order: Sequence[ZkPath] | None = None, seen: int = 0) -> None:
        """The server ends a session: one transaction deletes its ephemeral nodes, then its watches are dropped.

        The nodes are deleted in the given order, sorted by default; a real server's is that of a hash set, so any
        order is possible. The client still receives the first `seen` events of its own watches, before its connection
        ends; any number is possible, and none if the connection was lost before. Older events stay in its inbox;
        `disconnect` drops them. No event reports that the session has expired.
        """
        if seen < 0:
            raise ValueError(f"expire {session!r}: the client cannot see {seen} events")
        self._end("expire", session, order, seen)

    def disconnect(self, session: SessionId) -> None:
        """The connection is lost: the server forgets its watches, and untaken events never arrive.

        The session stays live, with its ephemeral nodes. (For an ended session, only the inbox is emptied.)
        """
        self._forget_watches(session)
        self.state.events[session] = ()

    def set_watches(
        self,
        session: SessionId,
        seen_zxid: Zxid,
        data: Sequence[ZkPath] = (),
        exist: Sequence[ZkPath] = (),
        child: Sequence[ZkPath] = (),
    ) -> None:
        """A client is back, and reports its watches and the last zxid that it saw.

        Each watch is set or answered by an event, as in `MISSED`, in the order of the arguments. As in
        ZooKeeper's Java client, a watch set by `exists` belongs in `data` if the node existed, else in
        `exist`.
        """
        self._require("set_watches", session, owner=True)
        self._catch_up(session, seen_zxid, MISSED["data"], data)
        self._catch_up(session, seen_zxid, MISSED["exist"], exist)
        self._catch_up(session, seen_zxid, MISSED["child"], child)

    def drop(self, session: SessionId, requests: Sequence[Write], served: int) -> None:
        """The connection is lost with requests in flight: the first `served` take effect, none gets a reply.

        Any number is possible, and the client cannot know it. Reads need not be listed: their replies and their
        watches are lost anyway.
        """
        if not 0 <= served <= len(requests):
            raise ValueError(f"drop {session!r}: {served} of {len(requests)} requests cannot be served")
        self._require("drop", session, owner=True)
        for request in requests[:served]:  # a failed one has no effect on the next
            self.multi(session, request.operations if isinstance(request, Multi) else (request,))
        self.disconnect(session)

    def take(self, session: SessionId) -> Event | None:
        """The client takes the oldest event out of its inbox; None if there is none."""
        inbox = self.state.events[session]
        if not inbox:
            return None
        self.state.events[session] = inbox[1:]
        return inbox[0]

    def armed(self, session: SessionId, path: ZkPath) -> set[WatchTable]:
        """The tables in which a session watches a path."""
        tables = ((table, self._watches(table)) for table in TABLES)
        return {table for table, watches in tables if path in watches and session in watches[path]}

    # reads

    def exists(self, session: SessionId | None, path: ZkPath, watch: bool = False) -> Stat | None:
        """The node's stat, None if there is no node. The watch is set in either case.

        Raises BadArguments for a path with a null character.
        """
        path = self._asked("exists", session, path, watch)
        if watch:
            self._arm("data_watches", path, session)
        return stat_of(self.state.nodes[path]) if path in self.state.nodes else None

    def get(self, session: SessionId | None, path: ZkPath, watch: bool = False) -> tuple[Any, Stat]:
        """The node's data and stat. Raises NoNode, and then sets no watch."""
        node = self._read("get", session, path, "data_watches" if watch else None)
        return node.data, stat_of(node)

    def children(self, session: SessionId | None, path: ZkPath, watch: bool = False) -> tuple[frozenset[str], Stat]:
        """The names of the node's children, and its stat. Raises NoNode, and then sets no watch.

        Names have no order: a server's reply is neither sorted nor in order of creation.
        """
        node = self._read("children", session, path, "child_watches" if watch else None)
        return node.children, stat_of(node)

    # writes

    def create(
        self,
        session: SessionId | None,
        path: ZkPath,
        data: Any = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
    ) -> Created:
        """Create a node: an ephemeral one ends with the session; a sequential one gets a number after its path.

        Raises, the first that applies: BadArguments, NoNode (of the parent), NodeExists,
        NoChildrenForEphemerals.
        """
        transaction = self._begin("create", session, ephemeral)
        created = transaction.create(session, path, data, ephemeral, sequential)
        self._commit(transaction)
        return created

    def set(self, session: SessionId | None, path: ZkPath, data: Any, version: ZkVersion = ANY_VERSION) -> Stat:
        """Replace a node's data. Raises, the first that applies: BadArguments, NoNode, BadVersion."""
        transaction = self._begin("set", session)
        stat = transaction.set(path, data, version)
        self._commit(transaction)
        return stat

    def delete(self, session: SessionId | None, path: ZkPath, version: ZkVersion = ANY_VERSION) -> None:
        """Delete a node, whoever owns it.

        Raises, the first that applies: BadArguments, NoNode, BadVersion, NotEmpty.
        """
        transaction = self._begin("delete", session)
        transaction.delete(path, version)
        self._commit(transaction)

    def multi(self, session: SessionId | None, operations: Iterable[Operation]) -> tuple[OpResult | Code, ...]:
        """All operations, each on the effects of those before it, or none of them.

        The reply has a place for each operation: its own result (a Created, a Stat, None for a delete or a
        check). If one fails, the places have codes: OK before it, its own code, RUNTIMEINCONSISTENCY after
        it. That is a reply, not an error: nothing is raised.
        """
        operations = tuple(operations)
        ephemeral = any(isinstance(operation, Create) and operation.ephemeral for operation in operations)
        transaction = self._begin("multi", session, ephemeral)
        results: list[OpResult] = []
        try:
            for operation in operations:
                results.append(transaction.apply(session, operation))  # noqa: PERF401 - a failure needs the count
        except ZooKeeperError as error:
            done, left = len(results), len(operations) - len(results) - 1
            return (Code.OK,) * done + (error.code,) + (Code.RUNTIMEINCONSISTENCY,) * left
        self._commit(transaction)
        return tuple(results)

    # parts of requests

    def _require(self, request: str, session: SessionId | None, owner: bool = False) -> None:
        """Require a live session, or a client outside the model that owns nothing."""
        if session is None:
            if owner:
                raise ValueError(f"{request}: it takes a session to own ephemerals or watches")
        elif session not in self.state.sessions:
            raise SessionExpired(f"{request}: session {session!r} is not live")

    def _next_zxid(self) -> None:
        self.state.zxid += 1

    def _begin(self, request: str, session: SessionId | None, ephemeral: bool = False) -> Transaction:
        """A transaction for the session. Its zxid is spent, whatever the outcome."""
        self._require(request, session, owner=ephemeral)
        self._next_zxid()
        return self.transaction(self.state.nodes, self.state.sessions, self.state.zxid)

    def _commit(self, transaction: Transaction) -> None:
        """Make its changes, then send the watch events."""
        transaction.commit()
        for session, event in self._fired(transaction):
            self._deliver(session, event)

    def _end(self, request: str, session: SessionId, order: Sequence[ZkPath] | None, seen: int | None) -> None:
        """End a session; it receives the first `seen` of its own events, None for all."""
        self._require(request, session, owner=True)
        owned = sorted(self.state.sessions[session])
        if order is None:
            order = owned
        elif sorted(order) != owned:
            raise ValueError(f"{request} {session!r}: its ephemerals are {owned}, not {sorted(order)}")
        transaction = self._begin(request, session)
        for path in () if self.outliving else order:
            transaction.delete(path)
        transaction.commit()
        fired = list(self._fired(transaction))
        own = [event for listener, event in fired if listener == session]
        for listener, event in fired:
            if listener != session:
                self._deliver(listener, event)
        for event in own[:seen]:
            self._deliver(session, event)
        self._forget_watches(session)
        del self.state.sessions[session]

    def _asked(self, request: str, session: SessionId | None, path: ZkPath, watch: bool) -> ZkPath:
        """The path to read: for a server, an empty path is the root's."""
        self._require(request, session, owner=watch)
        refuse_path(request, path)
        return path or "/"

    def _read(self, request: str, session: SessionId | None, path: ZkPath, watch: WatchTable | None) -> Node:
        """An existing node, watched from now on if a table is named."""
        path = self._asked(request, session, path, watch is not None)
        if path not in self.state.nodes:
            raise NoNode(f"{request} {path}: no such node")
        if watch is not None:
            self._arm(watch, path, session)
        return self.state.nodes[path]

    # watches

    def _watches(self, table: WatchTable) -> MutableMapping[ZkPath, frozenset[SessionId]]:
        return self.state.data_watches if table == "data_watches" else self.state.child_watches

    def _arm(self, table: WatchTable, path: ZkPath, session: SessionId) -> None:
        self._watches(table)[path] |= {session}

    def _disarm(self, table: WatchTable, path: ZkPath) -> list[SessionId]:
        """The sessions that watch, in no order, as each has an inbox of its own. A watch fires once, and is gone."""
        watches = self._watches(table)
        if path not in watches:
            return []
        watchers = list(watches[path])
        watches[path] = frozenset()
        return watchers

    def _fired(self, transaction: Transaction) -> Iterator[tuple[SessionId, Event]]:
        """The sessions and events of each change, row by row."""
        for change, path in transaction.changes:
            notified: set[tuple[SessionId, EventType]] = set()
            for table, node, type_ in FIRES[change]:
                for session in self._disarm(table, node(path)):
                    if (session, type_) not in notified:  # it watched both data and children of a deleted node
                        notified.add((session, type_))
                        yield session, Event(type_, node(path), transaction.zxid)

    def _deliver(self, session: SessionId, event: Event) -> None:
        self.state.events[session] += (event,)

    def _forget_watches(self, session: SessionId) -> None:
        for watches in (self.state.data_watches, self.state.child_watches):
            for path in tuple(watches):
                watches[path] -= {session}

    def _catch_up(self, session: SessionId, seen_zxid: Zxid, missed: Missed, paths: Sequence[ZkPath]) -> None:
        """Deliver an event or set the watch, path by path."""
        for path in paths:
            event = self._missed(missed, path, seen_zxid)
            if event is None:
                self._arm(missed.table, path, session)
            else:
                self._deliver(session, Event(event, path, self.state.zxid))

    def _missed(self, missed: Missed, path: ZkPath, seen_zxid: Zxid) -> EventType | None:
        """The event for a client with a watch on this path that has seen everything up to this zxid."""
        if path not in self.state.nodes:
            return missed.if_missing
        if missed.since is None or self._changed(path, missed.since, seen_zxid):
            return missed.if_changed
        return None

    def _changed(self, path: ZkPath, since: Literal["mzxid", "pzxid"], seen_zxid: Zxid) -> bool:
        """Whether an existing node has changed since this zxid."""
        return bool(getattr(self.state.nodes[path], since) > seen_zxid)
