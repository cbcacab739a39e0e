"""ZooKeeper in memory, served on a port of 127.0.0.1 to any client, for tests of programs that use ZooKeeper.

    with ServedZooKeeper() as zookeeper:
        client = KazooClient(zookeeper.hosts)       # or a client in another language
        client.start()
        client.Lock("/lock").acquire()
        zookeeper.expire(client)                    # the lock is free, and the client will soon learn of it

It is `ZooKeeper` with ZooKeeper's own protocol; `connections` says what is left out. The caller controls time: no
session expires until `expire`, however long its client is silent. Session ids count from 1, children are sorted,
times are 0, so clients' replies depend on nothing but the order of their requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from threading import Condition, Thread
from time import monotonic
from typing import Any, ClassVar, Final, Protocol, Self, TypeAlias, TypeVar

from statemachines.zookeeper.connections import Connection, Connections
from statemachines.zookeeper.frames import Request
from statemachines.zookeeper.server import InMemoryState, SessionId, ZooKeeper, ZooKeeperState
from statemachines.zookeeper.tree import ANY_VERSION, BadArguments, Node, Transaction, ZkPath, ZkVersion

T = TypeVar("T")


class HasSession(Protocol):
    """A client that knows its session, as kazoo's does."""

    @property
    def client_id(self) -> tuple[int, bytes] | None:
        """The session's id and its password; None if it has no session."""


Client: TypeAlias = int | HasSession
"""A session, by its id or its client."""


class _StandaloneTransaction(Transaction):
    """A transaction that keeps the server's own nodes."""

    def delete(self, path: ZkPath, version: ZkVersion = ANY_VERSION) -> None:
        if path in OWN_NODES:
            raise BadArguments(f"delete {path}: it is the server's own")
        super().delete(path, version)


class StandaloneZooKeeper(ZooKeeper):
    """ZooKeeper with the nodes that a server has from the start. They were not created, so no counter has them."""

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
    """A server from `__enter__` to `__exit__`, in its own thread. Its methods may be called from any other.

    A client is given as its session's id, or as itself if it has a `client_id`. Methods that affect a client raise
    ValueError if it has no live session. When they return, the effect is complete, and each client has been sent its
    watch events.
    """

    connections: ClassVar[type[Connections]] = Connections
    """The class that serves; another one makes another kind of server, for example one with a fault."""

    address: tuple[str, int]

    def __init__(self) -> None:
        self._connections = self.connections(StandaloneZooKeeper(), self._note_change)
        self._thread: Thread | None = None
        self._changes = 0
        self._changed = Condition()

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="ServedZooKeeper", daemon=True)
        self._thread.start()
        try:
            listen = self._loop.create_server(lambda: Connection(self._connections), "127.0.0.1", 0)
            self._listening = self._await(listen)
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
        """The address in the form for clients: `127.0.0.1:41234`."""
        return f"{self.address[0]}:{self.address[1]}"

    # controls

    def expire(self, client: Client) -> None:
        """End a client's session, and its connection. Its ephemeral nodes are deleted, and it cannot come back."""
        self._to_session(client, self._connections.expire)

    def cut(self, client: Client) -> None:
        """End a client's connection, if it has one. The session continues; the client may come back to it."""
        self._to_session(client, self._connections.cut)

    def lose_reply(self, client: Client, nth: int = 1) -> None:
        """Let a client's next request, or the nth from now, take effect, and end the connection instead of a reply.

        Pings do not count.
        """
        if nth < 1:
            raise ValueError(f"lose_reply: nth is {nth}, allowed are the integers from 1 on")
        self._to_session(client, lambda session: self._connections.lose_reply(session, nth))

    @contextmanager
    def delayed_watches(self, client: Client) -> Iterator[None]:
        """Within this block, the client receives no watch events.

        No reply overtakes an event. So while an event waits, later replies to the client wait after it, though its
        requests take effect. Everything is sent at the end.
        """
        session = self._to_session(client, self._connections.delay)
        try:
            yield
        finally:
            self._do(lambda: self._connections.release(session))

    # queries, even after the end

    def sessions(self) -> list[int]:
        """The live sessions, the oldest first, connected or not."""
        return self._do(lambda: sorted(self._state.sessions))

    def requests(self, client: Client | None = None) -> list[Request]:
        """The requests of a client, or of all clients, in the order of service, without pings."""
        session = None if client is None else _session_of(client)
        asked = self._connections.asked
        return self._do(lambda: [request for asking, request in asked if session in (None, asking)])

    def tree(self) -> dict[ZkPath, Node]:
        """The present nodes by path, in order; without the root and the server's own."""
        nodes = self._state.nodes
        return self._do(lambda: {path: nodes[path] for path in sorted(nodes) if path not in OWN_NODES})

    def wait_until(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Wait until a condition holds. It is checked after each request, and after any other event here.

        Raises:
            TimeoutError: it does not hold after this many seconds.
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

    # the thread

    @property
    def _state(self) -> ZooKeeperState:
        return self._connections.zookeeper.state

    def _to_session(self, client: Client, action: Callable[[SessionId], None]) -> int:
        """Act on a session, and return it."""
        session = _session_of(client)

        def act() -> int:
            live = self._state.sessions
            if session not in live:
                raise ValueError(f"session {session} is not live; {', '.join(map(str, sorted(live))) or 'none'} is")
            action(session)
            return session

        return self._do(act)

    def _do(self, action: Callable[[], T]) -> T:
        """Act between two requests; or after the end."""

        async def act() -> T:
            return action()

        return action() if self._thread is None else self._await(act())

    def _await(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    def _note_change(self) -> None:
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    async def _end(self) -> None:
        self._listening.close()
        await self._connections.close()
        await self._listening.wait_closed()

    def _stop(self) -> None:
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._thread = None
        self._loop.close()


def _session_of(client: Client) -> int:
    if isinstance(client, int):
        return client
    known = client.client_id
    if known is None:
        raise ValueError("the client is not connected, so it has no session; give the session's id")
    return known[0]
