"""A client that outlives its connections: it knows its session, its last zxid, and its watches.

A server forgets a connection's watches. Kafka's client, which is ZooKeeper's own in Java, remembers them and sets
them again on its return. The two tables here say which watch a request leaves, and which watches an event removes
(ZooKeeper's `ClientCnxn` and `ZKWatchManager`). Where that client has a set, this one sorts.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from statemachines.zookeeper.frames import Children, Close, Exists, Get, Ping, Request, SetWatches
from statemachines.zookeeper.server import Code, Event, EventType, SessionExpired
from tests.zookeeper.server import WalkedServer
from tests.zookeeper.wire import Connection, Frame, Frames, Reply

Kind: TypeAlias = Literal["data", "exist", "child"]

FIRES: dict[EventType, tuple[Kind, ...]] = {
    EventType.NodeCreated: ("data", "exist"),
    EventType.NodeDataChanged: ("data", "exist"),
    EventType.NodeDeleted: ("data", "exist", "child"),
    EventType.NodeChildrenChanged: ("child",),
}
"""The type of an event -> the kinds of watches on its path that it removes."""


def kind_left(request: Exists | Get | Children, reply: Reply) -> Kind:
    """The kind of watch that a read leaves. Waiting for a missing node is a kind of its own."""
    if isinstance(request, Children):
        return "child"
    return "exist" if reply.result is None else "data"


class Client:
    """A client of a server. It has no session at first, and after its session has ended."""

    def __init__(self, server: WalkedServer) -> None:
        self.server = server
        self.connection: Connection | None = None
        self.forget()

    def forget(self) -> None:
        """Its session has ended."""
        self.session = 0
        self.password = bytes(16)
        self.seen = 0
        """The zxid of the last answer. Neither events nor pings count."""
        self.watches: dict[Kind, set[str]] = {"data": set(), "exist": set(), "child": set()}

    @property
    def line(self) -> Connection:
        """The connection, which must exist."""
        assert self.connection is not None, "a disconnected client can neither send nor receive"
        return self.connection

    def connect(self) -> None:
        """Open a session, or return to the existing one. Raises SessionExpired if it has ended."""
        try:
            self.connection = Connection(
                self.server.address, self.server.patience, self.session, self.password, self.seen
            )
        except SessionExpired:
            self.forget()
            raise
        self.session, self.password = self.connection.session, self.connection.password

    def armed(self) -> SetWatches:
        """The watches that it sets again on its return."""
        data, exist, child = (tuple(sorted(self.watches[kind])) for kind in ("data", "exist", "child"))
        return SetWatches(self.seen, data, exist, child)

    def come_back(self) -> Frames:
        """Return to the session and its watches: the resulting events, with the answer's zxid, and the answer."""
        self.connect()
        *events, reply = self.ask(self.armed())
        return (*(event._replace(zxid=reply.zxid) for event in events), reply)

    def ask(self, request: Request) -> Frames:
        """All frames up to the answer, which is the last."""
        self.send(request)
        return self.hear(request)

    def send(self, request: Request) -> None:
        """Send a request, without a wait for the answer."""
        self.line.send(request)

    def hear(self, request: Request) -> Frames:
        """All frames up to the answer to a sent request."""
        frames = self.line.until_answered()
        for frame in frames:
            self._note(request, frame)
        return frames

    def _note(self, request: Request, frame: Frame) -> None:
        if isinstance(frame, Event):
            for kind in FIRES[frame.type]:
                self.watches[kind].discard(frame.path)
            return
        if not isinstance(request, Ping):
            self.seen = frame.zxid
        match request:
            case Exists(path, True) | Get(path, True) | Children(path, True) if frame.code is Code.OK:
                self.watches[kind_left(request, frame)].add(path)

    def close(self) -> Frames:
        """End the session: all frames up to the answer, and any after it."""
        return self.ask(Close()) + self.lose()

    def break_off(self, requests: Sequence[Request], whole: int | None) -> None:
        """Lose the connection while sending: after so many requests and half of the next; None: by the server."""
        if whole is None:
            self.line.send(*requests)
            self.server.cut(self.session)
            self.lose()
        else:
            self.line.break_off(requests, min(whole, len(requests)))
            self.connection = None

    def lose(self) -> Frames:
        """All frames until the server ends the connection. Whether the session has ended shows on the next return."""
        frames = self.line.until_hung_up()
        self.connection = None
        return frames

    def hang_up(self) -> None:
        """Close the connection, if there is one, without notice."""
        if self.connection is not None:
            self.connection.hang_up()
            self.connection = None

    def shown(self, frames: Frames) -> Frames:
        """These frames as clients of this kind show them to their users."""
        return frames
