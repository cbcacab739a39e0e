"""A ZooKeeper client that is one socket: requests go out, and frames come in as they are on the wire.

No thread is between the socket and the reader, so the order of events and answers is the server's.
"""

import socket
from collections import deque
from collections.abc import Iterable
from itertools import count
from typing import Any, NamedTuple, Self, TypeAlias

from statemachines.zookeeper.frames import (
    HEAD,
    OPCODES,
    Greeting,
    Jute,
    Opcode,
    Ping,
    Request,
    SetWatches,
    Xid,
    asked_open,
    framed,
    granted,
    read_answer,
    read_event,
    request_frame,
)
from statemachines.zookeeper.server import Code, Event, SessionExpired

# Frames from the server


class Reply(NamedTuple):
    """The answer to a request."""

    zxid: int
    """The request's transaction; for a read, the last one before it."""
    code: Code
    result: Any = None


Frame: TypeAlias = Event | Reply
Frames: TypeAlias = tuple[Frame, ...]

NUMBERS = {Ping: Xid.PING, SetWatches: Xid.SET_WATCHES}
"""Requests with fixed numbers; others are numbered in order."""
FOREVER = 2**31 - 1
"""The requested session timeout; servers grant less."""


class Connection:
    """A connection to a server, for a session of its own or for one that lost its connection.

    Raises SessionExpired if the server does not know the session, ConnectionError if the server hangs up, and
    TimeoutError if it is silent.
    """

    def __init__(
        self,
        address: tuple[str, int],
        patience: float,
        session: int = 0,
        password: bytes = bytes(16),
        seen: int = 0,
    ) -> None:
        self.asked: deque[tuple[int, Opcode]] = deque()
        """Requests not yet answered, by number."""
        self.numbers = count(1)
        self.socket = socket.create_connection(address, patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        try:
            self.socket.sendall(framed(asked_open(FOREVER, Greeting(session, password), seen)))
            self.session, self.password = granted(self._read())
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
        """Send requests without a wait for answers."""
        self.socket.sendall(b"".join(map(self._framed, requests)))

    def receive(self) -> Frame:
        """Wait for the next frame."""
        content = self._read()
        number, zxid, error = HEAD.unpack_from(content)
        body, code = Jute(content, HEAD.size), Code(error)
        if number == Xid.NOTIFICATION:
            return read_event(zxid, body)
        expected, asked = self.asked.popleft()
        assert number == expected, f"an answer to request {number}, where {expected} was expected"
        if asked is Opcode.exists and code is Code.NONODE:
            return Reply(zxid, Code.OK, None)  # not a failure, whatever the request
        return Reply(zxid, code, read_answer(asked, body) if code is Code.OK else None)

    def until_answered(self) -> Frames:
        """All frames up to the next answer, which is the last."""
        frames = [self.receive()]
        while not isinstance(frames[-1], Reply):
            frames.append(self.receive())
        return tuple(frames)

    def ask(self, *requests: Request) -> list[Frames]:
        """For each request all frames up to its answer. All requests are sent at once."""
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

        On return the server has read them and noticed the end. Its answers are lost.
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
        number = NUMBERS.get(type(request)) or next(self.numbers)
        self.asked.append((number, OPCODES[type(request)]))
        return framed(request_frame(number, request))

    def _read(self) -> bytes:
        head = self.stream.read(4)
        content = self.stream.read(int.from_bytes(head))
        if len(head) < 4 or len(content) < int.from_bytes(head):
            raise ConnectionError("the server has ended the connection")
        return content
