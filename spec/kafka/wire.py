"""What a proxy looks at in the frames of ZooKeeper that it passes on.

The frames themselves are those of `statemachines.zookeeper.frames`.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from statemachines.zookeeper import frames
from statemachines.zookeeper.frames import HEAD, Jute, Opcode, read_answer, read_event
from statemachines.zookeeper.server import Code, Multi

__all__ = ["NOAUTH", "Notification", "ReplyFrame", "RequestFrame", "next_frame", "refused", "xid_of"]

NOAUTH: Final = -102
"""ZooKeeper's code where an ACL does not let a client do something."""
LARGEST: Final = 64 << 20
"""Bytes of a frame. A length beyond them is no length."""


async def next_frame(stream: asyncio.StreamReader) -> bytes | None:
    """The next frame without its length; None where the connection ends, or carries none of ZooKeeper's frames."""
    try:
        size = int.from_bytes(await stream.readexactly(4), signed=True)
        return await stream.readexactly(size) if 0 <= size <= LARGEST else None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def refused(xid: int, error: int) -> bytes:
    """A reply to a request of this number that has nothing but an error, one of ZooKeeper's codes."""
    return HEAD.pack(xid, 0, error)


def xid_of(content: bytes) -> int:
    """The number of a request, of a reply, or of a notification."""
    return Jute(content).integer()


class RequestFrame(NamedTuple):
    """A request, as far as it is looked at."""

    xid: int
    operation: str
    """A name of `Opcode`; of other requests the number."""
    path: str = ""
    """Of a multi that of its last operation; empty where there is none."""
    watch: bool = False
    parts: tuple[str, ...] = ()
    """The operations of a multi."""

    @classmethod
    def parse(cls, content: bytes) -> RequestFrame:
        """The request in a frame.

        Raises:
            ValueError: it is shorter than it should be.
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
    """A reply, as far as it is looked at."""

    xid: int
    zxid: int
    error: int
    """ZooKeeper's code, 0 for none. Where an operation of a multi failed, its code."""

    @classmethod
    def parse(cls, content: bytes, multi: bool = False) -> ReplyFrame:
        """The reply in a frame; of a `multi`, whose own code is 0 always, the first of its operations' codes."""
        xid, zxid, error = HEAD.unpack_from(content)
        if multi and not error:
            results = read_answer(Opcode.multi, Jute(content, HEAD.size))
            error = next((each for each in results if isinstance(each, Code) and each not in NO_CAUSE), 0)
        return cls(xid, zxid, error)


NO_CAUSE: Final = (Code.OK, Code.RUNTIMEINCONSISTENCY)
"""The codes of operations that did not fail by themselves, in a multi that failed."""


class Notification(NamedTuple):
    """What a watch tells."""

    event: str
    path: str

    @classmethod
    def parse(cls, content: bytes) -> Notification:
        """The notification in a frame."""
        event = read_event(0, Jute(content, HEAD.size))
        return cls(event.type.name, event.path)

    def __str__(self) -> str:
        return f"{self.event} {self.path}"
