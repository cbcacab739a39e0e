"""ZooKeeper in memory, served on a port of 127.0.0.1 to any client, where whatever may go wrong does so on command.

    with ServedZooKeeper() as zookeeper:
        client = KazooClient(zookeeper.hosts)       # or a client in another language
        client.start()
        client.Lock("/lock").acquire()
        zookeeper.expire(client)                    # the lock is free, and the client is about to hear of it

It is `ZooKeeper` behind ZooKeeper's own protocol, in one thread: each request is served completely before the next.
What watches tell is sent to every client before the answer to the request that made them fire.

Time is the caller's. No session expires until `expire` says so, however long its client is silent. Session ids count
from 1, children are sorted, times are 0: what clients hear depends on nothing but the order of their requests.

Left out, besides what the tree leaves out: who may do what. ACLs are taken and forgotten, `getACL` says that anyone
may do anything, and digest authentication always succeeds. Requests without a value in `frames` (containers, nodes
with a time to live, setACL, persistent watches, reconfiguration) are answered UNIMPLEMENTED, as a real server answers
a time to live unless it is configured otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from threading import Condition, Thread
from time import monotonic
from typing import Any, Final, Protocol, Self, TypeAlias, TypeVar

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
from statemachines.zookeeper.server import InMemoryState, Multi, SessionId, ZooKeeper
from statemachines.zookeeper.tree import (
    ANY_VERSION,
    BadArguments,
    Check,
    Code,
    Create,
    Delete,
    Node,
    SetData,
    Transaction,
    ZkPath,
    ZkVersion,
    ZooKeeperError,
)

__all__ = ["Client", "HasSession", "ServedZooKeeper", "StandaloneZooKeeper"]

T = TypeVar("T")

LARGEST: Final = 0xFFFFF
"""Bytes of a request; a longer one ends the connection. [jute.maxbuffer]"""
LEAST_TIMEOUT: Final = 4_000
"""Milliseconds for which a session may be silent at least; by default two ticks. Here it only tells when to ping."""
VERSION: Final = "3.9.5"
"""The server with which the tree was compared."""
WORDS: Final[Mapping[bytes, bytes]] = {
    b"ruok": b"imok",
    b"envi": f"Environment:\nzookeeper.version={VERSION}\n".encode(),
}
"""Commands of four letters that stand in place of the first frame, and their answers: those that clients use."""


class HasSession(Protocol):
    """A client that knows its session, as kazoo's does."""

    @property
    def client_id(self) -> tuple[int, bytes] | None:
        """The session's id and its password; None if it has no session."""


Client: TypeAlias = int | HasSession
"""How a session is named: by its id, or by its client."""


class _StandaloneTransaction(Transaction):
    """A transaction that keeps the server's own nodes."""

    def delete(self, path: ZkPath, version: ZkVersion = ANY_VERSION) -> None:
        if path in OWN_NODES:
            raise BadArguments(f"delete {path}: it is the server's own")
        super().delete(path, version)


class StandaloneZooKeeper(ZooKeeper):
    """ZooKeeper with the nodes that a server has from the start. They were not created, so no counter knows them."""

    transaction = _StandaloneTransaction

    def __init__(self) -> None:
        super().__init__(InMemoryState(nodes=dict(OWN_NODES)))


OWN_NODES: Final[Mapping[ZkPath, Node]] = {
    "/": Node(b"", children=frozenset({"zookeeper"})),
    "/zookeeper": Node(b"", children=frozenset({"config", "quota"})),
    "/zookeeper/config": Node(b""),
    "/zookeeper/quota": Node(b""),
}


class ServedZooKeeper:
    """A server from `__enter__` to `__exit__`. Its methods may be called from any thread.

    A client is named by its session's id, or by itself if it has a `client_id`. Methods that name a client raise
    ValueError if it has no live session.

    Args:
        zookeeper: what is served, with bytes or None as data; else one that is new.
    """

    address: tuple[str, int]

    def __init__(self, zookeeper: ZooKeeper | None = None) -> None:
        self._zookeeper = StandaloneZooKeeper() if zookeeper is None else zookeeper
        self._new_sessions = count(1)
        self._thread: Thread | None = None
        self._open: set[_Connection] = set()
        self._connections: dict[SessionId, _Connection] = {}
        """The connection of each session that has one."""
        self._asked: list[tuple[SessionId, Request]] = []
        self._losing: dict[SessionId, int] = {}
        """How many requests on a reply is lost."""
        self._delayed: set[SessionId] = set()
        self._changes = 0
        self._changed = Condition()

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="ServedZooKeeper", daemon=True)
        self._thread.start()
        try:
            self._listening = self._await(self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0))
        except BaseException:
            self._stop()
            raise
        self.address = self._listening.sockets[0].getsockname()
        return self

    def __exit__(self, *_: object) -> None:
        self._await(self._end())
        self._stop()

    @property
    def hosts(self) -> str:
        """The address as clients want it: `127.0.0.1:41234`."""
        return f"{self.address[0]}:{self.address[1]}"

    # what the caller does

    def expire(self, client: Client) -> None:
        """End a client's session, and its connection. On return its ephemerals are gone, and others are told.

        The client hears of none of that before it comes back and is refused.
        """
        self._on_session(client, self._expire)

    def cut(self, client: Client) -> None:
        """End a client's connection. The session goes on; the client may come back to it."""
        self._on_session(client, self._cut)

    def lose_reply(self, client: Client, nth: int = 1) -> None:
        """Let a client's next request, or the nth from now, take effect, and end the connection in place of a reply.

        Pings do not count.
        """
        if nth < 1:
            raise ValueError(f"lose_reply: the next request is number 1, and {nth} is before it")
        self._on_session(client, lambda session: self._losing.update({session: nth}))

    @contextmanager
    def delayed_watches(self, client: Client) -> Iterator[None]:
        """Within this, nothing tells a client that a watch has fired.

        No answer overtakes an event. So if one waits, the answers to what the client asks then wait behind it, though
        its requests take effect. All is sent at the end.
        """
        session = self._on_session(client, self._delay)
        try:
            yield
        finally:
            self._do(lambda: self._release(session))

    # what there is to be seen

    def sessions(self) -> list[int]:
        """The live sessions, the oldest first, connected or not."""
        return self._look(lambda: sorted(self._zookeeper.state.sessions))

    def requests(self, client: Client | None = None) -> list[Request]:
        """What a client has asked for, or all clients have, in the order of its being served, without pings."""
        session = client if client is None or isinstance(client, int) else _session_of(client)
        return self._look(lambda: [request for asking, request in self._asked if session in (None, asking)])

    def tree(self) -> dict[ZkPath, Node]:
        """The nodes by path, in order, as they are now; without the root and the server's own."""
        nodes = self._zookeeper.state.nodes
        return self._look(lambda: {path: nodes[path] for path in sorted(nodes) if path not in OWN_NODES})

    def wait_until(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Wait until a condition holds: it is looked at after each request, and after all else that happens here.

        Raises:
            TimeoutError: it does not hold after so many seconds.
        """
        deadline = monotonic() + timeout
        while True:
            before = self._changes
            if condition():
                return
            with self._changed:
                while self._changes == before:
                    if not self._changed.wait(deadline - monotonic()):
                        raise TimeoutError(f"the condition does not hold after {timeout:g} s")

    # in the server's thread

    def _await(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    def _look(self, view: Callable[[], T]) -> T:
        """Look at something between two requests; or when it is all over."""

        async def look() -> T:
            return view()

        return view() if self._thread is None else self._await(look())

    def _do(self, action: Callable[[], T]) -> T:
        """Do something between two requests, and send what comes of it."""

        def act() -> T:
            done = action()
            self._tell()
            return done

        return self._look(act)

    def _on_session(self, client: Client, action: Callable[[SessionId], T]) -> T:
        session = client if isinstance(client, int) else _session_of(client)

        def act() -> T:
            live = self._zookeeper.state.sessions
            if session not in live:
                raise ValueError(f"session {session} is not live; {', '.join(map(str, sorted(live))) or 'none'} is")
            return action(session)

        return self._do(act)

    def _expire(self, session: SessionId) -> None:
        self._zookeeper.expire(session)
        self._cut(session)

    def _cut(self, session: SessionId) -> None:
        if session in self._connections:
            self.hang_up(self._connections[session])

    def _delay(self, session: SessionId) -> SessionId:
        self._delayed.add(session)
        return session

    def _release(self, session: SessionId) -> None:
        self._delayed.discard(session)
        if session in self._connections:
            self._connections[session].send_what_waits()

    def _tell(self) -> None:
        """Send to each client what its watches tell. Then whoever waits for something here may look."""
        for session, connection in self._connections.items():
            while event := self._zookeeper.take(session):
                connection.send(event_frame(event), is_event=True)
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def is_delayed(self, session: SessionId) -> bool:
        """Whether what its watches tell has to wait."""
        return session in self._delayed

    async def _end(self) -> None:
        self._listening.close()
        for connection in self._open:
            connection.transport.abort()
        while self._open:
            await asyncio.sleep(0)
        await self._listening.wait_closed()

    def _stop(self) -> None:
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._thread = None
        self._loop.close()

    # what connections ask for

    def opened(self, connection: _Connection) -> None:
        """A client has connected, and has not said anything yet."""
        self._open.add(connection)

    def closed(self, connection: _Connection) -> None:
        """A connection has ended, by either side."""
        self._open.discard(connection)
        self.hang_up(connection)
        self._tell()

    def hang_up(self, connection: _Connection) -> None:
        """End a connection. Its session loses its watches, and what they would have told."""
        session, connection.session = connection.session, None
        if session is not None:
            del self._connections[session]
            self._zookeeper.disconnect(session)
        connection.transport.close()

    def greet(self, connection: _Connection, opening: Opening) -> None:
        """Open a session, or have a client back in its own; whose session is over, or another's, is refused."""
        live, (session, password) = self._zookeeper.state.sessions, opening.greeting
        if session == NEW_SESSION.session:
            session = next(number for number in self._new_sessions if number not in live)
            self._zookeeper.connect(session)
        elif session not in live or password != _password_of(session):
            connection.send(grant(opening, 0, NEW_SESSION))
            self.hang_up(connection)
            return
        self._cut(session)
        connection.session = session
        self._connections[session] = connection
        connection.send(grant(opening, max(opening.timeout, LEAST_TIMEOUT), Greeting(session, _password_of(session))))
        self._tell()

    def serve(self, connection: _Connection, asked: RequestFrame) -> None:
        """Serve a request completely: its effect, what watches tell of it, its answer."""
        session, request = connection.session, asked.request
        if isinstance(request, Ping):
            # It tells nothing of the tree, so it need not wait for events that do.
            connection.write(reply_frame(asked, self._zookeeper.state.zxid))
            return
        self._asked.append((session, request))
        code, result = self._answer(session, request)
        reply = reply_frame(asked, 0 if isinstance(request, Auth) else self._zookeeper.state.zxid, code, result)
        if self._is_lost(session):
            self.hang_up(connection)
        if isinstance(request, SetWatches):
            while event := self._zookeeper.take(session):
                connection.send(event_frame(event._replace(zxid=UNDATED)), is_event=True)
        self._tell()
        connection.send(reply)
        if isinstance(request, Close) or code == AUTHFAILED:
            connection.send_what_waits()
            self.hang_up(connection)

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
        zookeeper = self._zookeeper
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
                    raise _Refused(Code.NONODE)  # a client takes it for an answer
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
    """The answer is this code."""

    def __init__(self, code: int) -> None:
        self.code = code


class _Connection(asyncio.Protocol):
    """A client's connection: frames come in, and go out in order."""

    transport: asyncio.Transport

    def __init__(self, server: ServedZooKeeper) -> None:
        self._server = server
        self._received = bytearray()
        self._greeted = False
        self._waiting: list[bytes] = []
        """What is delayed: an event, and all that was sent after it."""
        self.session: SessionId | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The client has connected."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._server.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._server.closed(self)

    def data_received(self, data: bytes) -> None:
        """Serve the requests that are complete, one by one, as long as the connection is wanted."""
        self._received += data
        try:
            while not self.transport.is_closing() and (content := self._next_frame()) is not None:
                if self._greeted:
                    self._server.serve(self, RequestFrame.parse(content))
                else:
                    self._greeted = True
                    self._server.greet(self, Opening.parse(content))
        except ValueError:  # no frame of ZooKeeper's
            self._server.hang_up(self)

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
        """Send a frame, once what waits has been sent."""
        if self._waiting or (is_event and self._server.is_delayed(self.session)):
            self._waiting.append(content)
        else:
            self.write(content)

    def send_what_waits(self) -> None:
        """Send what was delayed."""
        waiting, self._waiting = self._waiting, []
        for content in waiting:
            self.write(content)

    def write(self, content: bytes) -> None:
        """Send a frame at once, unless the connection has ended."""
        if not self.transport.is_closing():
            self.transport.write(framed(content))


def _session_of(client: HasSession) -> int:
    known = client.client_id
    if known is None:
        raise ValueError("the client has no session while it is not connected; an id would name it")
    return known[0]


def _password_of(session: SessionId) -> bytes:
    """No secret: a session has one so that nobody comes back to another's by mistake."""
    return int(session).to_bytes(16)
