"""A ZooKeeper client that is one socket: requests go out, and frames come in as they stand on the wire.

No thread stands between the socket and the reader, so what is read shows how events and answers were ordered.
Frames carry jute: integers big-endian, strings and buffers behind their length, -1 for none. What is asked
and answered are the values of our own class, so that both can be asked and heard the same way; the requests
that the class has no value for stand here. `CALLS` has a row for each.
"""

import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from struct import Struct
from typing import Any, NamedTuple, Self, TypeAlias

from statemachines.zookeeper.server import (
    Check,
    Code,
    Create,
    Created,
    Delete,
    Event,
    EventType,
    Multi,
    SessionExpired,
    SetData,
    Stat,
)

# What is asked besides writes


class Exists(NamedTuple):
    """Is there a node? The watch is armed in either case."""

    path: str
    watch: bool = False


class Get(NamedTuple):
    """A node's data and stat."""

    path: str
    watch: bool = False


class Children(NamedTuple):
    """The names of a node's children, and its stat."""

    path: str
    watch: bool = False


class SetWatches(NamedTuple):
    """Arm watches again, and tell what was missed since a zxid."""

    seen: int
    data: tuple[str, ...] = ()
    exist: tuple[str, ...] = ()
    child: tuple[str, ...] = ()


class Sync(NamedTuple):
    """Answer when all that was written before is done. To a server that is alone it is a read."""

    path: str


class Ping(NamedTuple):
    """Just answer."""


class Close(NamedTuple):
    """End the session."""


Request: TypeAlias = Create | SetData | Delete | Multi | Exists | Get | Children | SetWatches | Sync | Ping | Close


# What comes back


class Reply(NamedTuple):
    """The answer to a request."""

    zxid: int
    """The transaction that it was; to a read, the last one before it."""
    code: Code
    result: Any = None


Frame: TypeAlias = Event | Reply
Frames: TypeAlias = tuple[Frame, ...]

UNDATED = -1
"""The zxid of an event that set_watches tells."""


# Jute

STAT = Struct(">qqqqiiiqiiq")
OPEN = (1).to_bytes(4) + (31).to_bytes(4) + (5).to_bytes(4) + b"world" + (6).to_bytes(4) + b"anyone"
"""The ACL by which anyone may do anything."""


def integer(value: int) -> bytes:
    return value.to_bytes(4, signed=True)


def long(value: int) -> bytes:
    return value.to_bytes(8, signed=True)


def buffer(value: bytes | None) -> bytes:
    return integer(-1) if value is None else integer(len(value)) + value


def text(value: str) -> bytes:
    return buffer(value.encode())


def texts(values: Iterable[str]) -> bytes:
    values = tuple(values)
    return integer(len(values)) + b"".join(map(text, values))


class Body:
    """A frame, read from left to right."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.place = 0

    def take(self, length: int) -> bytes:
        self.place += length
        assert self.place <= len(self.content), f"a frame of {len(self.content)} bytes should have {self.place}"
        return self.content[self.place - length : self.place]

    def boolean(self) -> bool:
        return self.take(1) != b"\0"

    def integer(self) -> int:
        return int.from_bytes(self.take(4), signed=True)

    def long(self) -> int:
        return int.from_bytes(self.take(8), signed=True)

    def buffer(self) -> bytes | None:
        length = self.integer()
        return None if length == -1 else self.take(length)

    def text(self) -> str:
        return (self.buffer() or b"").decode()

    def texts(self) -> frozenset[str]:
        return frozenset(self.text() for _ in range(self.integer()))

    def stat(self) -> Stat:
        czxid, mzxid, _, _, version, cversion, aversion, owner, length, children, pzxid = STAT.unpack(
            self.take(STAT.size)
        )
        return Stat(czxid, mzxid, pzxid, version, cversion, aversion, owner or None, length, children)


# The table of requests


class Call(NamedTuple):
    """How a request is written, and how its answer is read."""

    opcode: int
    body: Callable[[Any], bytes] = lambda request: b""
    answer: Callable[[Body], Any] = lambda body: None


def operations(request: Multi) -> bytes:
    """Operations each behind a header, and a header for the end."""
    return b"".join(
        integer(CALLS[type(each)].opcode) + b"\0" + integer(-1) + CALLS[type(each)].body(each)
        for each in request.operations
    ) + (integer(-1) + b"\1" + integer(-1))


def results(body: Body) -> tuple[Any, ...]:
    """A result or a code for each operation."""
    return tuple(headed_results(body))


def headed_results(body: Body) -> Iterator[Any]:
    answers = {call.opcode: call.answer for call in CALLS.values()}
    answers[-1] = lambda body: Code(body.integer())
    while True:
        opcode, end, _ = body.integer(), body.boolean(), body.integer()
        if end:
            return
        yield answers[opcode](body)


CALLS: dict[type, Call] = {
    Create: Call(
        15,
        lambda r: text(r.path) + buffer(r.data) + OPEN + integer(r.ephemeral + 2 * r.sequential),
        lambda body: Created(body.text(), body.stat()),
    ),
    SetData: Call(5, lambda r: text(r.path) + buffer(r.data) + integer(r.version), Body.stat),
    Delete: Call(2, lambda r: text(r.path) + integer(r.version)),
    Check: Call(13, lambda r: text(r.path) + integer(r.version)),
    Multi: Call(14, operations, results),
    Exists: Call(3, lambda r: text(r.path) + bytes([r.watch]), Body.stat),
    Get: Call(4, lambda r: text(r.path) + bytes([r.watch]), lambda body: (body.buffer(), body.stat())),
    Children: Call(12, lambda r: text(r.path) + bytes([r.watch]), lambda body: (body.texts(), body.stat())),
    Sync: Call(9, lambda r: text(r.path), Body.text),
    Ping: Call(11),
    SetWatches: Call(101, lambda r: long(r.seen) + texts(r.data) + texts(r.exist) + texts(r.child)),
    Close: Call(-11),
}

NUMBERS = {Ping: -2, SetWatches: -8}
"""Requests that have a number of their own; others are numbered."""
EVENT = -1
"""The number that an event has in place of a request's."""
FOREVER = 2**31 - 1
"""How long a session may be silent; servers grant less."""


class Connection:
    """A connection to a server, for a session of its own or for one that lost its connection.

    Raises SessionExpired where the session is unknown to the server; ConnectionError where the server hangs
    up, TimeoutError where it is silent.
    """

    def __init__(
        self,
        address: tuple[str, int],
        patience: float,
        session: int = 0,
        password: bytes = bytes(16),
        seen: int = 0,
    ) -> None:
        self.asked: deque[tuple[int, type]] = deque()
        """What was asked and not yet answered, under which number."""
        self.numbers = count(1)
        self.socket = socket.create_connection(address, patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        try:
            greeting = integer(0) + long(seen) + integer(FOREVER) + long(session) + buffer(password) + b"\0"
            self.socket.sendall(buffer(greeting))
            answer = self._read()
            answer.take(8)  # its version, and how long the session may be silent
            self.session, self.password = answer.long(), answer.buffer() or b""
            if self.session == 0:
                raise SessionExpired(f"connect: session {session:#x} is not live")
        except BaseException:
            self.hang_up()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()

    def send(self, *requests: Request) -> None:
        """Send requests without waiting for answers."""
        self.socket.sendall(b"".join(map(self._framed, requests)))

    def receive(self) -> Frame:
        """The next frame; wait for it."""
        body = self._read()
        number, zxid, code = body.integer(), body.long(), Code(body.integer())
        if number == EVENT:
            kind, _ = EventType(body.integer()), body.integer()
            return Event(kind, body.text(), zxid)
        expected, asked = self.asked.popleft()
        assert number == expected, f"an answer to request {number} where one to {expected} should be"
        if asked is Exists and code is Code.NONODE:
            return Reply(zxid, Code.OK, None)  # no failure, whoever asks
        return Reply(zxid, code, CALLS[asked].answer(body) if code is Code.OK else None)

    def until_answered(self) -> Frames:
        """All frames up to the next answer, which is the last."""
        frames = [self.receive()]
        while not isinstance(frames[-1], Reply):
            frames.append(self.receive())
        return tuple(frames)

    def ask(self, *requests: Request) -> list[Frames]:
        """For each request all frames up to its answer. They are sent all at once."""
        self.send(*requests)
        return [self.until_answered() for _ in requests]

    def until_hung_up(self) -> Frames:
        """All frames until the server ends the connection."""
        frames = []
        try:
            while True:
                frames.append(self.receive())
        except ConnectionError:
            self.hang_up()
        return tuple(frames)

    def break_off(self, requests: Iterable[Request], whole: int) -> None:
        """Lose the connection in the middle of sending: after so many requests, and half of the next.

        On return the server has read them and noticed. What it said to them is lost.
        """
        frames = [*map(self._framed, requests), b"half"]
        half = frames[whole][: len(frames[whole]) // 2]
        self.socket.sendall(b"".join(frames[:whole]) + half)
        self.socket.shutdown(socket.SHUT_WR)
        self.until_hung_up()

    def hang_up(self) -> None:
        """Close the socket; the server will notice."""
        self.stream.close()
        self.socket.close()

    def _framed(self, request: Request) -> bytes:
        call = CALLS[type(request)]
        number = NUMBERS.get(type(request)) or next(self.numbers)
        self.asked.append((number, type(request)))
        return buffer(integer(number) + integer(call.opcode) + call.body(request))

    def _read(self) -> Body:
        head = self.stream.read(4)
        content = self.stream.read(int.from_bytes(head))
        if len(head) < 4 or len(content) < int.from_bytes(head):
            raise ConnectionError("the server has ended the connection")
        return Body(content)
