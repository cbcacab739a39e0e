"""A ZooKeeper client for the operator: it reads and writes as a person does with zookeeper-shell.

async with ZooKeeperOperator(address) as operator:
    await operator.get("/controller")
    await operator.delete("/controller")
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, NamedTuple, Self

from spec.kafka.proxy import Address
from spec.kafka.wire import next_frame, xid_of
from spec.language.errors import EnvironmentFailed
from statemachines.zookeeper.frames import (
    HEAD,
    OPCODES,
    Children,
    Close,
    Get,
    Greeting,
    Jute,
    Opcode,
    Request,
    Xid,
    asked_open,
    framed,
    granted,
    read_answer,
    request_frame,
)
from statemachines.zookeeper.server import Code, Create, Delete

SILENCE = 600_000
"""Its session timeout in milliseconds: longer than the client ever lives."""


class ZnodeRead(NamedTuple):
    """A znode as a client reads it."""

    data: str
    version: int
    owner: int
    """The session that owns it; 0 if it is not ephemeral."""


class ZooKeeperOperator:
    """A session, from `__aenter__` to `__aexit__`. One request at a time.

    Raises (in every method):
        EnvironmentFailed: the server has closed the connection.
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
        await self._ask(Create(path, data.encode()), opcode=Opcode.create)  # servers have create2 since 3.5

    async def delete(self, path: str) -> bool:
        """Delete a znode, whatever its version; False if it does not exist."""
        code, _ = await self._ask(Delete(path), Code.NONODE)
        return code is Code.OK

    async def get(self, path: str) -> ZnodeRead | None:
        """A znode; None if it does not exist."""
        code, answer = await self._ask(Get(path), Code.NONODE)
        if code is Code.NONODE:
            return None
        data, stat = answer
        return ZnodeRead((data or b"").decode(), stat.version, stat.ephemeralOwner or 0)

    async def children(self, path: str) -> list[str]:
        """The names of a znode's children; empty if it does not exist."""
        code, answer = await self._ask(Children(path), Code.NONODE)
        return [] if code is Code.NONODE else sorted(answer[0])

    async def _ask(self, request: Request, *allowed: Code, opcode: Opcode | None = None) -> tuple[Code, Any]:
        self._number += 1
        self._writer.write(framed(request_frame(self._number, request, opcode)))
        content = await self._next()
        while xid_of(content) == Xid.NOTIFICATION:
            content = await self._next()
        opcode = opcode or OPCODES[type(request)]
        _, _, error = HEAD.unpack_from(content)
        if not error:
            return Code.OK, read_answer(opcode, Jute(content, HEAD.size))
        if error not in allowed:
            refused = f"ZooKeeper refused the operator's {opcode.name}: {Code(error).name}"
            raise EnvironmentFailed(refused, "nothing was kept")
        return Code(error), None

    async def _next(self) -> bytes:
        content = await next_frame(self._reader)
        if content is None:
            raise EnvironmentFailed("ZooKeeper has ended the operator's connection", "nothing was kept")
        return content


async def end_session(server: Address, greeting: Greeting) -> None:
    """End a session, as the server does after its timeout. On return all nodes that it owned are deleted.

    Raises:
        EnvironmentFailed: the server has no such session, or does not answer.
    """
    reader, writer = await asyncio.open_connection(*server)
    try:
        writer.write(framed(asked_open(SILENCE, greeting)))
        answer = await next_frame(reader)
        if answer is None or granted(answer).session != greeting.session:
            raise EnvironmentFailed(f"ZooKeeper has no session {greeting}", "nothing was kept")
        writer.write(framed(request_frame(1, Close())))
        while await next_frame(reader) is not None:
            pass
    finally:
        writer.close()


async def watchers(server: Address, path: str) -> set[int]:
    """The sessions whose watch on a path's data is armed, by the server's reply to `wchp`."""
    reader, writer = await asyncio.open_connection(*server)
    try:
        writer.write(b"wchp")
        answer = (await reader.read()).decode()
    finally:
        writer.close()
    found = re.search(rf"^{re.escape(path)}\n((?:\t.*\n?)+)", answer, re.MULTILINE)
    unsigned = [int(session, 16) for session in found[1].split()] if found else []
    return {session - 2**64 if session >= 2**63 else session for session in unsigned}
