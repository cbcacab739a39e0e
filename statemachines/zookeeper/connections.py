"""The connections to a ZooKeeper in memory: clients are served in turn, and failures are injected on command.

Everything runs in one thread, that of an asyncio loop. A request is served completely before the next: its effect,
then the watch events for every client, then its reply.

Left out, besides what the tree leaves out: permissions. ACLs are accepted and dropped, `getACL` says that anyone may
do anything, and digest authentication always succeeds. Requests without a value in `frames` (containers, nodes with a
time to live, setACL, persistent watches, reconfiguration) get UNIMPLEMENTED, as a real server answers a time to live
by default.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final

from statemachines.zookeeper.frames import (
    AUTHFAILED,
    NEW_SESSION,
    UNDATED,
    UNIMPLEMENTED,
    WORLD,
    Auth,
    Children,
    Close,
    Exists,
    Get,
    GetACL,
    Greeting,
    Opening,
    Ping,
    Request,
    RequestFrame,
    SetWatches,
    Sync,
    Unmodelled,
    event_frame,
    framed,
    grant,
    reply_frame,
)
from statemachines.zookeeper.server import Multi, SessionId, ZooKeeper
from statemachines.zookeeper.tree import Check, Code, Create, Delete, SetData, ZooKeeperError

LARGEST: Final = 0xFFFFF
"""The limit of a request in bytes; a longer one ends the connection. [jute.maxbuffer]"""
LEAST_TIMEOUT: Final = 4_000
"""The minimum session timeout in milliseconds; by default two ticks. Here it only sets the interval of pings."""
VERSION: Final = "3.9.5"
"""The server that the tree was compared with."""
WORDS: Final[Mapping[bytes, bytes]] = {
    b"ruok": b"imok",
    b"envi": f"Environment:\nzookeeper.version={VERSION}\n".encode(),
}
"""The four-letter commands that clients use instead of a first frame, with their answers."""


class Connections:
    """All connections to a ZooKeeper, and the sessions that use them.

    Args:
        zookeeper: the served ZooKeeper. Its sessions are numbers, its data bytes or None.
        on_change: called after every event here.
    """

    def __init__(self, zookeeper: ZooKeeper, on_change: Callable[[], None] = lambda: None) -> None:
        self.zookeeper = zookeeper
        self.asked: list[tuple[SessionId, Request]] = []
        """The requests with their sessions, in order; without pings."""
        self._on_change = on_change
        self._new_sessions = count(1)
        self._open: set[Connection] = set()
        self._of_session: dict[SessionId, Connection] = {}
        """The connections of connected sessions."""
        self._losing: dict[SessionId, int] = {}
        """For each session, the number of the reply to lose, counted from now."""
        self._delayed: set[SessionId] = set()

    # injected failures

    def expire(self, session: SessionId) -> None:
        """End a session, and its connection; its client receives no events of its own watches."""
        self.zookeeper.expire(session)
        self.cut(session)

    def cut(self, session: SessionId) -> None:
        """End a session's connection, if it has one."""
        if session in self._of_session:
            self.hang_up(self._of_session[session])
        self.tell()

    def lose_reply(self, session: SessionId, nth: int) -> None:
        """End a session's connection in place of its nth reply from now."""
        self._losing[session] = nth

    def delay(self, session: SessionId) -> None:
        """Hold back a session's watch events, and everything sent to it after them."""
        self._delayed.add(session)

    def release(self, session: SessionId) -> None:
        """Send the frames that were held back."""
        self._delayed.discard(session)
        if session in self._of_session:
            self._of_session[session].send_what_waits()

    def is_delayed(self, session: SessionId) -> bool:
        """Whether its watch events are held back."""
        return session in self._delayed

    async def close(self) -> None:
        """End all connections, and wait until they have ended."""
        for connection in self._open:
            connection.transport.abort()
        while self._open:
            await asyncio.sleep(0)

    # events of connections

    def opened(self, connection: Connection) -> None:
        """A client has connected, and has sent nothing yet."""
        self._open.add(connection)

    def closed(self, connection: Connection) -> None:
        """A connection has ended, closed by either side."""
        self._open.discard(connection)
        self.hang_up(connection)
        self.tell()

    def hang_up(self, connection: Connection) -> None:
        """End a connection. Its session loses its watches, and their pending events."""
        session, connection.session = connection.session, None
        if session is not None:
            del self._of_session[session]
            self.zookeeper.disconnect(session)
        connection.transport.close()

    def greet(self, connection: Connection, opening: Opening) -> None:
        """Open a session, or reconnect a client to its own; refuse an ended session, or another client's."""
        live, (session, password) = self.zookeeper.state.sessions, opening.greeting
        if session == NEW_SESSION.session:
            session = next(number for number in self._new_sessions if number not in live)
            self.zookeeper.connect(session)
        elif session not in live or password != password_of(session):
            connection.send(grant(opening, 0, NEW_SESSION))
            self.hang_up(connection)
            return
        self.cut(session)
        connection.session = session
        self._of_session[session] = connection
        connection.send(grant(opening, max(opening.timeout, LEAST_TIMEOUT), Greeting(session, password_of(session))))
        self.tell()

    def serve(self, connection: Connection, asked: RequestFrame) -> None:
        """Serve a request completely: its effect, its watch events, its reply."""
        session, request = connection.session, asked.request
        if isinstance(request, Ping):
            # It says nothing about the tree, so it need not wait for events.
            connection.write(reply_frame(asked, self.zookeeper.state.zxid))
            return
        self.asked.append((session, request))
        code, result = self._answer(session, request)
        reply = reply_frame(asked, 0 if isinstance(request, Auth) else self.zookeeper.state.zxid, code, result)
        if self._is_lost(session):
            self.hang_up(connection)
        if isinstance(request, SetWatches):
            while event := self.zookeeper.take(session):
                connection.send(event_frame(event._replace(zxid=UNDATED)), is_event=True)
        self.tell()
        connection.send(reply)
        if isinstance(request, Close) or code == AUTHFAILED:
            connection.send_what_waits()
            self.hang_up(connection)

    def tell(self) -> None:
        """Send each client its watch events."""
        for session, connection in self._of_session.items():
            while event := self.zookeeper.take(session):
                connection.send(event_frame(event), is_event=True)
        self._on_change()

    def _is_lost(self, session: SessionId) -> bool:
        left = self._losing.pop(session, 0) - 1
        if left > 0:
            self._losing[session] = left
        return left == 0

    def _answer(self, session: SessionId, request: Request) -> tuple[int, Any]:
        """A code and, if it is OK, a result."""
        try:
            return Code.OK, self._result(session, request)
        except ZooKeeperError as error:
            return error.code, None
        except _Refused as refused:
            return refused.code, None

    def _result(self, session: SessionId, request: Request) -> Any:
        zookeeper = self.zookeeper
        match request:
            case Create(path, data, ephemeral, sequential):
                return zookeeper.create(session, path, data, ephemeral=ephemeral, sequential=sequential)
            case SetData():
                return zookeeper.set(session, *request)
            case Delete():
                zookeeper.delete(session, *request)
            case Multi(operations):
                return zookeeper.multi(session, operations)
            case Exists(path, watch):
                stat = zookeeper.exists(session, path, watch)
                if stat is None:
                    raise _Refused(Code.NONODE)  # clients accept this as an answer
                return stat
            case Get(path, watch):
                return zookeeper.get(session, path, watch)
            case Children(path, watch):
                return zookeeper.children(session, path, watch)
            case GetACL(path):
                return WORLD, zookeeper.get(session, path)[1]
            case SetWatches(seen, data, exist, child):
                zookeeper.set_watches(session, seen, data, exist, child)
            case Sync(path):
                return path
            case Auth(_, scheme, _):
                if scheme != "digest":
                    raise _Refused(AUTHFAILED)
            case Close():
                zookeeper.close(session)
            case Ping() | Check() | Unmodelled():  # pings are answered elsewhere; checks are parts of a multi
                raise _Refused(UNIMPLEMENTED)
        return None


class _Refused(Exception):
    """The reply is this code."""

    def __init__(self, code: int) -> None:
        self.code = code


class Connection(asyncio.Protocol):
    """A client's connection: frames come in, and go out in order."""

    transport: asyncio.Transport

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._received = bytearray()
        self._greeted = False
        self._waiting: list[bytes] = []
        """Delayed frames: an event, and everything sent after it."""
        self.session: SessionId | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The client has connected."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._connections.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._connections.closed(self)

    def data_received(self, data: bytes) -> None:
        """Serve the complete frames, one by one."""
        self._received += data
        while (asked := self._next()) is not None:
            if isinstance(asked, Opening):
                self._connections.greet(self, asked)
            else:
                self._connections.serve(self, asked)

    def _next(self) -> Opening | RequestFrame | None:
        """The client's next request, if it is complete and the connection is not closing."""
        try:
            if self.transport.is_closing() or (content := self._next_frame()) is None:
                return None
            if self._greeted:
                return RequestFrame.parse(content)
            self._greeted = True
            return Opening.parse(content)
        except ValueError:  # not a frame of ZooKeeper
            self._connections.hang_up(self)
            return None

    def _next_frame(self) -> bytes | None:
        head = bytes(self._received[:4])
        if len(head) < 4:
            return None
        if not self._greeted and head in WORDS:
            self.transport.write(WORDS[head])
            self.transport.close()
            return None
        length = int.from_bytes(head, signed=True)
        if not 0 <= length <= LARGEST:
            raise ValueError(f"{length} bytes are no frame")
        end = 4 + length
        if len(self._received) < end:
            return None
        content = bytes(self._received[4:end])
        del self._received[:end]
        return content

    def send(self, content: bytes, is_event: bool = False) -> None:
        """Send a frame, after delayed ones."""
        if self._waiting or (is_event and self._connections.is_delayed(self.session)):
            self._waiting.append(content)
        else:
            self.write(content)

    def send_what_waits(self) -> None:
        """Send the delayed frames."""
        waiting, self._waiting = self._waiting, []
        for content in waiting:
            self.write(content)

    def write(self, content: bytes) -> None:
        """Send a frame at once, unless the connection has ended."""
        if not self.transport.is_closing():
            self.transport.write(framed(content))


def password_of(session: SessionId) -> bytes:
    """No secret: a session's password prevents that a client enters another's session by mistake."""
    return int(session).to_bytes(16)
