"""A proxy between one broker and ZooKeeper, which holds requests back until they are released.

Requests keep their order: everything that the broker sends after a held request waits as well, including pings, so
the session timeout must be long enough. The server's frames pass at once.

    async with Proxy(zookeeper.address, holds=lambda request: request.path == "/controller") as proxy:
        held = await proxy.next_held()       # the broker connected to proxy.address, and got as far as this
        reply = await held.release()         # it has been answered; the broker has the answer
        await (await proxy.next_held()).refuse(NOAUTH)     # the broker has this answer, and the server no request
        await (await proxy.next_held()).lose()             # the server has answered, and the broker no connection

Frames are those of `statemachines.zookeeper.frames`; here are the parts of them that a proxy inspects, and what it
shares with the proxy before a broker (`kafka_proxy`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, Self, TypeAlias, TypeVar

from statemachines.zookeeper import frames
from statemachines.zookeeper.frames import HEAD, Greeting, Jute, Opcode, Xid, framed, granted, read_answer, read_event
from statemachines.zookeeper.server import Code, Multi

# What is inspected.

NOAUTH: Final = -102
"""ZooKeeper's code for a request that an ACL forbids."""
LARGEST: Final = 64 << 20
"""The longest frame in bytes. A greater length is invalid."""


async def next_frame(stream: asyncio.StreamReader) -> bytes | None:
    """The next frame without its length; None at the end of the connection, or if the length is invalid."""
    try:
        size = int.from_bytes(await stream.readexactly(4), signed=True)
        return await stream.readexactly(size) if 0 <= size <= LARGEST else None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def refused(xid: int, error: int) -> bytes:
    """The reply to a request of this number with nothing but an error, one of ZooKeeper's codes."""
    return HEAD.pack(xid, 0, error)


def xid_of(content: bytes) -> int:
    """The number of a request, a reply or a notification."""
    return Jute(content).integer()


class RequestFrame(NamedTuple):
    """The inspected parts of a request."""

    xid: int
    operation: str
    """A name of `Opcode`; the number if there is no name."""
    path: str = ""
    """For a multi, the path of its last operation; empty if there is none."""
    watch: bool = False
    parts: tuple[str, ...] = ()
    """The operations of a multi."""

    @classmethod
    def parse(cls, content: bytes) -> RequestFrame:
        """The request in a frame.

        Raises:
            ValueError: the frame is too short.
        """
        xid, opcode, request, kinds = frames.RequestFrame.parse(content)
        operation = Opcode(opcode).name if opcode in list(Opcode) else f"request {opcode}"
        if isinstance(request, Multi):
            parts = tuple(f"{kind.name} {each.path}" for kind, each in zip(kinds, request.operations, strict=True))
            return cls(xid, operation, request.operations[-1].path if parts else "", parts=parts)
        return cls(xid, operation, getattr(request, "path", ""), getattr(request, "watch", False))

    def __str__(self) -> str:
        if self.parts:
            return f"{self.operation}: {', '.join(self.parts)}"
        return " ".join([self.operation, *filter(None, [self.path, "with a watch" if self.watch else ""])])


class ReplyFrame(NamedTuple):
    """The inspected parts of a reply."""

    xid: int
    zxid: int
    error: int
    """ZooKeeper's code, 0 for none. If an operation of a multi failed, its code."""

    @classmethod
    def parse(cls, content: bytes, multi: bool = False) -> ReplyFrame:
        """The reply in a frame. The code of a `multi` is the first of its operations' codes; its own is always 0."""
        xid, zxid, error = HEAD.unpack_from(content)
        if multi and not error:
            results = read_answer(Opcode.multi, Jute(content, HEAD.size))
            error = next((each for each in results if isinstance(each, Code) and each not in NO_CAUSE), 0)
        return cls(xid, zxid, error)


NO_CAUSE: Final = (Code.OK, Code.RUNTIMEINCONSISTENCY)
"""The codes of operations that were not the cause, in a multi that failed."""


class Notification(NamedTuple):
    """A watch notification."""

    event: str
    path: str

    @classmethod
    def parse(cls, content: bytes) -> Notification:
        """The notification in a frame."""
        event = read_event(0, Jute(content, HEAD.size))
        return cls(event.type.name, event.path)

    def __str__(self) -> str:
        return f"{self.event} {self.path}"


# The proxy.

Address: TypeAlias = tuple[str, int]
"""A host and its port."""


class Fate(Enum):
    """The fate of a held request."""

    released = "the server answers it"
    refused = "the proxy answers it, with an error"
    lost = "the server answers it, and the reply is lost with the connection"
    dropped = "it is lost with the connection"


Asked = TypeVar("Asked")
"""The inspected parts of a request."""
Replied = TypeVar("Replied")
"""What is kept of a reply."""


class Held(Generic[Asked, Replied]):
    """A request that has reached the proxy but not the server. It waits until its fate is decided."""

    def __init__(self, request: Asked) -> None:
        loop = asyncio.get_running_loop()
        self.request = request
        self.fate: asyncio.Future[Fate] = loop.create_future()
        self.reply: asyncio.Future[Replied] = loop.create_future()

    async def release(self) -> Replied:
        """Pass it on, and wait until its reply has been passed back.

        Raises:
            ConnectionError: the connection ended first.
        """
        return await self._meets(Fate.released)

    async def lose(self) -> Replied:
        """Pass it on, wait for its reply, and close the connection instead of passing the reply back.

        Raises:
            ConnectionError: the connection ended before a reply arrived.
        """
        return await self._meets(Fate.lost)

    async def _meets(self, fate: Fate) -> Replied:
        self.fate.set_result(fate)
        return await self.reply

    def fail(self, why: Exception) -> None:
        """Mark it as never to be answered. Nobody needs to await that."""
        if not self.reply.done():
            self.reply.set_exception(why)
            self.reply.exception()

    def __str__(self) -> str:
        return str(self.request)


class HeldRequest(Held[RequestFrame, ReplyFrame]):
    """A held request to ZooKeeper."""

    error = 0
    """The error with which it is refused."""

    async def refuse(self, error: int) -> ReplyFrame:
        """Answer it with one of ZooKeeper's errors, after the requests before it. The server never receives it.

        Raises:
            ConnectionError: the connection ended first.
        """
        self.error = error
        return await self._meets(Fate.refused)


H = TypeVar("H", bound=Held[Any, Any])


class AnyProxy(Generic[H]):
    """Accepts connections on a port that the kernel chooses, from `__aenter__` to `__aexit__`."""

    address: Address

    def __init__(self) -> None:
        self._held: asyncio.Queue[H] = asyncio.Queue()
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = self._listening.sockets[0].getsockname()[:2]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()
        connections = list(self._connections)
        for each in connections:
            each.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def next_held(self) -> H:
        """Wait for the next held request."""
        return await self._held.get()

    def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AnyConnection[H]:
        raise NotImplementedError

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        this = asyncio.current_task()
        assert this is not None
        self._connections.add(this)
        try:
            await self._connection(reader, writer).run()
        except asyncio.CancelledError:
            pass  # asyncio would report it, but a proxy always ends so
        finally:
            self._connections.discard(this)


class AnyConnection(Generic[H]):
    """A connection to a proxy, with the proxy's connection to the server."""

    def __init__(self, server: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        self.holding: H | None = None
        self.unanswered: dict[int, H | None] = {}
        """Whether each request that the server has yet to answer was held; in order."""

    async def run(self) -> None:
        """Pass frames both ways until one side closes the connection."""
        try:
            server_reader, server_writer = await asyncio.open_connection(*self.server)
        except OSError:
            self.writer.close()
            return
        ways = [
            asyncio.create_task(self._requests(server_writer)),
            asyncio.create_task(self._replies(server_reader)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self.writer.close()
            server_writer.close()
            for held in filter(None, [*self.unanswered.values(), self.holding]):
                held.fail(ConnectionError(f"the connection ended before {held} was answered"))

    async def _requests(self, server: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    async def _replies(self, server: asyncio.StreamReader) -> None:
        raise NotImplementedError

    async def _pass_on(self, content: bytes) -> None:
        self.writer.write(framed(content))
        await self.writer.drain()


class Proxy(AnyProxy[HeldRequest]):
    """A proxy before a ZooKeeper server.

    Args:
        server: ZooKeeper's address.
        holds: whether to hold a request.
        on_event: receives each watch notification that is passed on.
    """

    greeting = Greeting(0, b"")
    """The session that the server granted last."""

    def __init__(
        self,
        server: Address,
        holds: Callable[[RequestFrame], bool],
        on_event: Callable[[Notification], None] = lambda event: None,
    ) -> None:
        super().__init__()
        self._server, self._holds, self._on_event = server, holds, on_event

    def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> _Connection:
        return _Connection(self, reader, writer)


class _Connection(AnyConnection[HeldRequest]):
    """One of the broker's connections."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__(proxy._server, reader, writer)
        self.proxy = proxy
        self.all_answered = asyncio.Event()
        self.all_answered.set()

    async def _requests(self, server: asyncio.StreamWriter) -> None:
        opens = True
        while (content := await next_frame(self.reader)) is not None:
            if opens or await self._goes(content):
                server.write(framed(content))
                await server.drain()
            opens = False

    async def _goes(self, content: bytes) -> bool:
        """Hold a request, if required, until its fate is decided: whether it goes to the server."""
        request = RequestFrame.parse(content)
        held = self.holding = HeldRequest(request) if self.proxy._holds(request) else None
        if held is not None:
            self.proxy._held.put_nowait(held)
            if await asyncio.shield(held.fate) is Fate.refused:
                await self._refuse(held)
                return False
        if request.xid > 0:  # other numbers are pings and the like, answered out of order
            self.unanswered[request.xid] = held
            self.all_answered.clear()
        return True

    async def _refuse(self, held: HeldRequest) -> None:
        """Wait for the earlier replies: a client accepts replies only in the order of its requests."""
        await self.all_answered.wait()
        content = refused(held.request.xid, held.error)
        await self._pass_on(content)
        held.reply.set_result(ReplyFrame.parse(content))

    async def _replies(self, server: asyncio.StreamReader) -> None:
        opens = True
        while (content := await next_frame(server)) is not None:
            held = None if opens else self.unanswered.get(xid_of(content))
            lost = held is not None and held.fate.result() is Fate.lost
            if not lost:
                await self._pass_on(content)
            if opens:
                self.proxy.greeting = granted(content)
            elif xid_of(content) == Xid.NOTIFICATION:
                self.proxy._on_event(Notification.parse(content))
            else:
                self._is_answered(content)
            if lost:
                return
            opens = False

    def _is_answered(self, content: bytes) -> None:
        held = self.unanswered.pop(xid_of(content), None)
        if held is not None:
            held.reply.set_result(ReplyFrame.parse(content, held.request.operation == Opcode.multi.name))
        if not self.unanswered:
            self.all_answered.set()
