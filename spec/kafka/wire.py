"""ZooKeeper's wire protocol, as far as a proxy has to look at what it passes on, and a small client has to ask.

A connection carries frames, each behind its length. The first in each direction opens the session. From then on a
client sends requests, each with a number of its own (`xid`), and is sent replies in the order of its requests; what a
watch has to tell comes between them as a frame with the number -1. Integers are big-endian, strings and buffers stand
behind their length. [zookeeper.jute; ClientCnxn.java; ZooDefs.java]
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

__all__ = [
    "NOAUTH",
    "NOTIFICATION",
    "Greeting",
    "Notification",
    "Opcode",
    "ReplyFrame",
    "RequestFrame",
    "asked_open",
    "framed",
    "granted",
    "next_frame",
    "refused",
    "xid_of",
]

NOTIFICATION: Final = -1
"""The number of a frame that no request asked for."""
HEAD: Final = Struct(">iqi")
"""Of a reply: number, zxid, error."""
STAT: Final = Struct(">qqqqiiiqiiq")
WORLD: Final = b"\0\0\0\1" + b"\0\0\0\x1f" + b"\0\0\0\5world" + b"\0\0\0\6anyone"
"""The ACL by which anyone may do anything."""
NOAUTH: Final = -102
"""ZooKeeper's code where an ACL does not let a client do something."""
LARGEST: Final = 64 << 20
"""Bytes of a frame. A length beyond them is no length."""


class Opcode(IntEnum):
    """What a request asks for: those that Kafka makes, and those in a multi. [ZooDefs.OpCode]"""

    create = 1
    delete = 2
    exists = 3
    getData = 4  # noqa: N815 - ZooKeeper's name
    setData = 5  # noqa: N815
    getChildren = 8  # noqa: N815
    ping = 11
    getChildren2 = 12  # noqa: N815
    check = 13
    multi = 14
    create2 = 15
    setWatches = 101  # noqa: N815
    setWatches2 = 105  # noqa: N815
    closeSession = -11  # noqa: N815


CREATES: Final = {Opcode.create, Opcode.create2}
READS: Final = {Opcode.exists, Opcode.getData, Opcode.getChildren, Opcode.getChildren2}
"""Requests that name a path, and say whether it is to be watched."""
NAMES_A_PATH: Final = {*CREATES, *READS, Opcode.delete, Opcode.setData, Opcode.check}


class Jute:
    """A frame, read from left to right."""

    def __init__(self, content: bytes, place: int = 0) -> None:
        self.content, self.place = content, place

    def integer(self, size: int = 4) -> int:
        """The next integer, of so many bytes."""
        return int.from_bytes(self._take(size), signed=True)

    def boolean(self) -> bool:
        """The next byte, as a truth value."""
        return self._take(1) != b"\0"

    def buffer(self) -> bytes:
        """The next bytes behind their length; none at all where there are none."""
        return self._take(max(0, self.integer()))

    def text(self) -> str:
        """The next string."""
        return self.buffer().decode()

    def _take(self, size: int) -> bytes:
        self.place += size
        if self.place > len(self.content):
            raise ValueError(f"a frame of {len(self.content)} bytes should have {self.place}")
        return self.content[self.place - size : self.place]


def integer(value: int, size: int = 4) -> bytes:
    """An integer as it is sent."""
    return value.to_bytes(size, signed=True)


def buffer(value: bytes) -> bytes:
    """Bytes, or a string's bytes, as they are sent."""
    return integer(len(value)) + value


def framed(content: bytes) -> bytes:
    """A frame with its length before it."""
    return buffer(content)


async def next_frame(stream: asyncio.StreamReader) -> bytes | None:
    """The next frame without its length; None where the connection ends, or carries none of ZooKeeper's frames."""
    try:
        size = int.from_bytes(await stream.readexactly(4), signed=True)
        return await stream.readexactly(size) if 0 <= size <= LARGEST else None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


class Greeting(NamedTuple):
    """What a session is known by."""

    session: int
    password: bytes

    def __str__(self) -> str:
        return f"{self.session:#x}"


NEW_SESSION: Final = Greeting(0, bytes(16))
"""What a client says that has none."""


def asked_open(timeout: int, greeting: Greeting = NEW_SESSION) -> bytes:
    """The first frame of a client: it asks for a session, new or its own, that may be silent so many milliseconds."""
    version, seen = integer(0), integer(0, 8)
    return version + seen + integer(timeout) + integer(greeting.session, 8) + buffer(greeting.password) + b"\0"


def granted(content: bytes) -> Greeting:
    """The session that a server grants in its first frame; of number 0 if it grants none."""
    frame = Jute(content, 8)  # behind the version and the timeout
    return Greeting(frame.integer(8), frame.buffer())


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
            ValueError: it is shorter than it should be, or a multi has operations that Kafka does not ask for.
        """
        frame = Jute(content)
        xid, number = frame.integer(), frame.integer()
        if number not in list(Opcode):
            return cls(xid, f"request {number}")
        opcode = Opcode(number)
        if opcode is Opcode.multi:
            operations = list(_operations(frame))
            return cls(xid, opcode.name, operations[-1][1], parts=tuple(" ".join(each) for each in operations))
        path = frame.text() if opcode in NAMES_A_PATH else ""
        return cls(xid, opcode.name, path, frame.boolean() if opcode in READS else False)

    def __str__(self) -> str:
        if self.parts:
            return f"{self.operation}: {', '.join(self.parts)}"
        return " ".join([self.operation, *filter(None, [self.path, "with a watch" if self.watch else ""])])


def _operations(frame: Jute) -> Iterator[tuple[str, str]]:
    """The operations of a multi, each with its path. Each stands behind a header; a header alone ends them."""
    while True:
        number, end, _ = frame.integer(), frame.boolean(), frame.integer()
        if end:
            return
        opcode, path = Opcode(number), frame.text()
        yield opcode.name, path
        if opcode in CREATES:
            frame.buffer()
            for _ in range(frame.integer()):
                frame.integer(), frame.text(), frame.text()
        elif opcode is Opcode.setData:
            frame.buffer()
        frame.integer()  # the flags of a create, elsewhere the version that is expected


class ReplyFrame(NamedTuple):
    """A reply, as far as it is looked at."""

    xid: int
    zxid: int
    error: int
    """ZooKeeper's code, 0 for none. Where an operation of a multi failed, its code."""
    body: bytes

    @classmethod
    def parse(cls, content: bytes, multi: bool = False) -> ReplyFrame:
        """The reply in a frame; of a `multi`, whose own code is 0 always, the first of its operations' codes."""
        xid, zxid, error = HEAD.unpack_from(content)
        body = content[HEAD.size :]
        return cls(xid, zxid, _error_in(body) if multi and not error else error, body)

    def data(self) -> tuple[bytes, int, int]:
        """Of a reply to getData: the node's data, its version, and the session that owns it, 0 for none."""
        frame = Jute(self.body)
        data = frame.buffer()
        _, _, _, _, version, _, _, owner, *_ = STAT.unpack_from(self.body, frame.place)
        return data, version, owner

    def children(self) -> list[str]:
        """Of a reply to getChildren: the names of the children, in order."""
        frame = Jute(self.body)
        return sorted(frame.text() for _ in range(frame.integer()))


def _error_in(body: bytes) -> int:
    """The code of the operation by which a multi failed, 0 if it did not: the others have RUNTIMEINCONSISTENCY."""
    frame, codes = Jute(body), list[int]()
    while frame.integer() == -1 and not frame.boolean():
        frame.integer()
        codes.append(frame.integer())
    return next((code for code in codes if code not in (0, -2)), 0)


class Notification(NamedTuple):
    """What a watch tells."""

    event: str
    path: str

    @classmethod
    def parse(cls, content: bytes) -> Notification:
        """The notification in a frame."""
        frame = Jute(content, HEAD.size)
        kind, _ = frame.integer(), frame.integer()
        return cls(EVENTS.get(kind, f"event {kind}"), frame.text())

    def __str__(self) -> str:
        return f"{self.event} {self.path}"


EVENTS: Final = {1: "NodeCreated", 2: "NodeDeleted", 3: "NodeDataChanged", 4: "NodeChildrenChanged"}
"""[Watcher.Event.EventType]"""
