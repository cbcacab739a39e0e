"""A client that outlives its connections: it knows its session, what it saw last, and which watches it has.

A server forgets watches with the connection. Kafka's client, which is ZooKeeper's own in Java, remembers them
and asks for them again when it is back; what a request leaves behind, and what an event takes away, are the
two tables here (ZooKeeper's `ClientCnxn` and `ZKWatchManager`). Where that client has a set, this one sorts.
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
"""What happened to a path -> the kinds of watches on it that are gone."""


def kind_left(request: Exists | Get | Children, reply: Reply) -> Kind:
    """The kind of watch that a read leaves. To wait for a node that is missing is a kind of its own."""
    if isinstance(request, Children):
        return "child"
    return "exist" if reply.result is None else "data"


class Client:
    """A client of a server. At first, and when its session is over, it has no session."""

    def __init__(self, server: WalkedServer) -> None:
        self.server = server
        self.connection: Connection | None = None
        self.forget()

    def forget(self) -> None:
        """Its session is over."""
        self.session = 0
        self.password = bytes(16)
        self.seen = 0
        """The zxid of the last answer. Neither events nor pings count."""
        self.watches: dict[Kind, set[str]] = {"data": set(), "exist": set(), "child": set()}

    @property
    def line(self) -> Connection:
        """The connection that there must be."""
        assert self.connection is not None, "a client that is away can neither ask nor hear"
        return self.connection

    def connect(self) -> None:
        """Open a session, or come back to the one that there is. Raises SessionExpired if it is over."""
        try:
            self.connection = Connection(
                self.server.address, self.server.patience, self.session, self.password, self.seen
            )
        except SessionExpired:
            self.forget()
            raise
        self.session, self.password = self.connection.session, self.connection.password

    def armed(self) -> SetWatches:
        """What it asks for when it is back."""
        data, exist, child = (tuple(sorted(self.watches[kind])) for kind in ("data", "exist", "child"))
        return SetWatches(self.seen, data, exist, child)

    def come_back(self) -> Frames:
        """Come back to the session and its watches: what is told of them, dated by the answer, and the answer."""
        self.connect()
        *told, reply = self.ask(self.armed())
        return (*(event._replace(zxid=reply.zxid) for event in told), reply)

    def ask(self, request: Request) -> Frames:
        """All that is heard up to the answer, which is the last."""
        self.send(request)
        return self.hear(request)

    def send(self, request: Request) -> None:
        """Ask, and do not yet wait for the answer."""
        self.line.send(request)

    def hear(self, request: Request) -> Frames:
        """All that is heard up to the answer to a request that was sent."""
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
        """End the session: all that is heard up to the answer, and whatever else comes."""
        return self.ask(Close()) + self.lose()

    def break_off(self, requests: Sequence[Request], whole: int | None) -> None:
        """Lose the connection while sending: after so many requests and half of the next, or when the server does."""
        if whole is None:
            self.line.send(*requests)
            self.server.cut(self.session)
            self.lose()
        else:
            self.line.break_off(requests, min(whole, len(requests)))
            self.connection = None

    def lose(self) -> Frames:
        """Hear the server to its end of the connection. Whether the session is over, one will be told."""
        frames = self.line.until_hung_up()
        self.connection = None
        return frames

    def hang_up(self) -> None:
        """Lose the connection, if there is one, without a word."""
        if self.connection is not None:
            self.connection.hang_up()
            self.connection = None

    def shown(self, frames: Frames) -> Frames:
        """What of these frames clients of this kind show to who uses them."""
        return frames
