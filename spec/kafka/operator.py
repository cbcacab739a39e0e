"""A ZooKeeper client for the operator: it looks, and does what a person does with zookeeper-shell.

async with ZooKeeperOperator(address) as operator:
    await operator.get("/controller")
    await operator.delete("/controller")
"""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple, Self

from spec.kafka.proxy import Address
from spec.kafka.wire import (
    NOTIFICATION,
    WORLD,
    Greeting,
    Opcode,
    ReplyFrame,
    asked_open,
    buffer,
    framed,
    granted,
    integer,
    next_frame,
    xid_of,
)
from spec.language.errors import EnvironmentFailed
from statemachines.zookeeper.server import Code

__all__ = ["ZnodeSeen", "ZooKeeperOperator", "end_session", "watchers"]

SILENCE = 600_000
"""Milliseconds for which its session may be silent: longer than it is ever needed."""


class ZnodeSeen(NamedTuple):
    """A znode, as a client reads it."""

    data: str
    version: int
    owner: int
    """The session that owns it; 0 if it is no ephemeral."""


class ZooKeeperOperator:
    """A session of its own, from `__aenter__` to `__aexit__`. One request at a time.

    Raises (in every method):
        EnvironmentFailed: the server has ended the connection.
    """

    def __init__(self, server: Address) -> None:
        self._server = server
        self._number = 0

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(*self._server)
        self._writer.write(framed(asked_open(SILENCE)))
        self.greeting: Greeting = granted(await self._next())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def create(self, path: str, data: str = "") -> None:
        """Create a persistent znode."""
        await self._ask(Opcode.create, buffer(path.encode()) + buffer(data.encode()) + WORLD + integer(0))

    async def delete(self, path: str) -> bool:
        """Delete a znode, whatever its version; False if it was not there."""
        return (await self._ask(Opcode.delete, buffer(path.encode()) + integer(-1), Code.NONODE)).error == 0

    async def get(self, path: str) -> ZnodeSeen | None:
        """A znode, None if it is not there."""
        reply = await self._ask(Opcode.getData, buffer(path.encode()) + b"\0", Code.NONODE)
        if reply.error:
            return None
        data, version, owner = reply.data()
        return ZnodeSeen(data.decode(), version, owner)

    async def children(self, path: str) -> list[str]:
        """The names of a znode's children; none if it is not there."""
        reply = await self._ask(Opcode.getChildren, buffer(path.encode()) + b"\0", Code.NONODE)
        return [] if reply.error else reply.children()

    async def _ask(self, opcode: Opcode, body: bytes, *allowed: Code) -> ReplyFrame:
        self._number += 1
        self._writer.write(framed(integer(self._number) + integer(opcode) + body))
        content = await self._next()
        while xid_of(content) == NOTIFICATION:
            content = await self._next()
        reply = ReplyFrame.parse(content)
        if reply.error and reply.error not in allowed:
            refused = f"ZooKeeper refused the operator's {opcode.name}: {Code(reply.error).name}"
            raise EnvironmentFailed(refused, "nothing was kept")
        return reply

    async def _next(self) -> bytes:
        content = await next_frame(self._reader)
        if content is None:
            raise EnvironmentFailed("ZooKeeper has ended the operator's connection", "nothing was kept")
        return content


async def end_session(server: Address, greeting: Greeting) -> None:
    """End a session, as the server does when it was silent for too long. On return all that it owned is gone.

    Raises:
        EnvironmentFailed: the server has no such session, or does not answer.
    """
    reader, writer = await asyncio.open_connection(*server)
    try:
        writer.write(framed(asked_open(SILENCE, greeting)))
        answer = await next_frame(reader)
        if answer is None or granted(answer).session != greeting.session:
            raise EnvironmentFailed(f"ZooKeeper has no session {greeting}", "nothing was kept")
        writer.write(framed(integer(1) + integer(Opcode.closeSession)))
        while await next_frame(reader) is not None:
            pass
    finally:
        writer.close()


async def watchers(server: Address, path: str) -> set[int]:
    """The sessions whose watch on a path's data is armed at the server, as it says itself in answer to `wchp`."""
    reader, writer = await asyncio.open_connection(*server)
    try:
        writer.write(b"wchp")
        answer = (await reader.read()).decode()
    finally:
        writer.close()
    found = re.search(rf"^{re.escape(path)}\n((?:\t.*\n?)+)", answer, re.MULTILINE)
    unsigned = [int(session, 16) for session in found[1].split()] if found else []
    return {session - 2**64 if session >= 2**63 else session for session in unsigned}
