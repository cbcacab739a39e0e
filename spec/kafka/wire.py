"""The parts of ZooKeeper's frames that a proxy inspects as it passes them on.

The frames themselves are those of `statemachines.zookeeper.frames`.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from statemachines.zookeeper import frames
from statemachines.zookeeper.frames import HEAD, Jute, Opcode, read_answer, read_event
from statemachines.zookeeper.server import Code, Multi

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
