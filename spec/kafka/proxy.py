"""A proxy between one broker and ZooKeeper, which holds requests back until they are released.

What is held keeps its order: all that the broker sends behind it waits as well, pings too, so the session has to be
long enough. What the server sends is passed on at once.

    async with Proxy(zookeeper.address, holds=lambda request: request.path == "/controller") as proxy:
        held = await proxy.next_held()       # the broker connected to proxy.address, and got as far as this
        reply = await held.release()         # it has been answered; the broker has the answer
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Self, TypeAlias

from spec.kafka.wire import (
    NOTIFICATION,
    Greeting,
    Notification,
    Opcode,
    ReplyFrame,
    RequestFrame,
    framed,
    granted,
    next_frame,
    xid_of,
)

__all__ = ["Address", "HeldRequest", "Proxy"]

Address: TypeAlias = tuple[str, int]
"""A host and its port."""


class HeldRequest:
    """A request that the proxy has, and the server does not have yet."""

    def __init__(self, request: RequestFrame) -> None:
        self.request = request
        self.goes = asyncio.Event()
        self.reply: asyncio.Future[ReplyFrame] = asyncio.get_running_loop().create_future()

    async def release(self) -> ReplyFrame:
        """Let it go, and wait until its reply has been passed on.

        Raises:
            ConnectionError: the connection ended before that.
        """
        self.goes.set()
        return await self.reply

    def fail(self, why: Exception) -> None:
        """It will not be answered. That need not be awaited."""
        if not self.reply.done():
            self.reply.set_exception(why)
            self.reply.exception()

    def __str__(self) -> str:
        return str(self.request)


class Proxy:
    """Takes connections on a port of the kernel's choice, from `__aenter__` to `__aexit__`.

    Args:
        server: where ZooKeeper is.
        holds: whether a request is to be held.
        on_event: told what is passed on of what watches tell.
    """

    address: Address
    greeting = Greeting(0, b"")
    """The session that the server granted last."""

    def __init__(
        self,
        server: Address,
        holds: Callable[[RequestFrame], bool],
        on_event: Callable[[Notification], None] = lambda event: None,
    ) -> None:
        self._server, self._holds, self._on_event = server, holds, on_event
        self._held: asyncio.Queue[HeldRequest] = asyncio.Queue()
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._end_connections)
            listening = await stack.enter_async_context(await asyncio.start_server(self._accept, "127.0.0.1", 0))
            self.address = listening.sockets[0].getsockname()[:2]
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def next_held(self) -> HeldRequest:
        """The next request that is held; wait for it."""
        return await self._held.get()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        this = asyncio.current_task()
        assert this is not None
        self._connections.add(this)
        try:
            await _Connection(self, reader, writer).run()
        except asyncio.CancelledError:
            pass  # asyncio would tell of it, and it is how a proxy ends
        finally:
            self._connections.discard(this)

    async def _end_connections(self) -> None:
        connections = list(self._connections)
        for each in connections:
            each.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


class _Connection:
    """One of the broker's connections, and the one to the server that belongs to it."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.proxy, self.reader, self.writer = proxy, reader, writer
        self.unanswered: dict[int, HeldRequest] = {}

    async def run(self) -> None:
        """Pass on what comes from either side until one of them ends the connection."""
        try:
            server_reader, server_writer = await asyncio.open_connection(*self.proxy._server)
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
            for held in self.unanswered.values():
                held.fail(ConnectionError(f"the connection ended before {held} was answered"))

    async def _requests(self, server: asyncio.StreamWriter) -> None:
        opens = True
        while (content := await next_frame(self.reader)) is not None:
            if not opens:
                await self._hold(content)
            opens = False
            server.write(framed(content))
            await server.drain()

    async def _hold(self, content: bytes) -> None:
        request = RequestFrame.parse(content)
        if self.proxy._holds(request):
            held = self.unanswered[request.xid] = HeldRequest(request)
            self.proxy._held.put_nowait(held)
            await held.goes.wait()

    async def _replies(self, server: asyncio.StreamReader) -> None:
        opens = True
        while (content := await next_frame(server)) is not None:
            self.writer.write(framed(content))
            await self.writer.drain()
            if opens:
                self.proxy.greeting = granted(content)
            elif xid_of(content) == NOTIFICATION:
                self.proxy._on_event(Notification.parse(content))
            elif (held := self.unanswered.pop(xid_of(content), None)) is not None:
                held.reply.set_result(ReplyFrame.parse(content, held.request.operation == Opcode.multi.name))
            opens = False
