"""ZooKeeper's frames: the messages of clients and servers, read and written. [zookeeper.jute; ZooDefs.java]

A connection carries frames, each after its length. The first one in each direction opens the session. Then a client
sends requests, each with a number of its own (`xid`), and receives replies in the order of its requests. Watch events
come between them, as frames with the number -1. Integers are big-endian. Strings and buffers follow their length,
which is -1 for none.

Requests are values: writes are those of the tree, all others are here. `CALLS` has a row for each, with the kinds of
record of the request and of its reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from statemachines.zookeeper.server import Event, Multi
from statemachines.zookeeper.tree import (
    Check,
    Code,
    Create,
    Created,
    Delete,
    EventType,
    Operation,
    OpResult,
    SetData,
    Stat,
    ZkPath,
    Zxid,
)

V = TypeVar("V")

HEAD: Final = Struct(">iqi")
"""The header of a reply: number, zxid, error."""
UNDATED: Final = -1
"""The zxid of an event that a client receives when it comes back."""
UNIMPLEMENTED: Final = -6
AUTHFAILED: Final = -115
"""Error codes that the tree does not have."""


class Xid(IntEnum):
    """Numbers of frames outside a client's own count. [ClientCnxn]"""

    NOTIFICATION = -1
    PING = -2
    AUTH = -4
    SET_WATCHES = -8


class Opcode(IntEnum):
    """The type of a request. [ZooDefs.OpCode]"""

    create = 1
    delete = 2
    exists = 3
    getData = 4  # noqa: N815 - ZooKeeper's name
    setData = 5  # noqa: N815
    getACL = 6  # noqa: N815
    getChildren = 8  # noqa: N815
    sync = 9
    ping = 11
    getChildren2 = 12  # noqa: N815
    check = 13
    multi = 14
    create2 = 15
    auth = 100
    setWatches = 101  # noqa: N815
    setWatches2 = 105  # noqa: N815
    closeSession = -11  # noqa: N815


# Requests that are no writes. They are not tuples, because an `Exists` would equal a `Get` of the same path.


@dataclass(frozen=True)
class Exists:
    """Does a node exist? The watch is set in either case."""

    path: ZkPath
    watch: bool = False


@dataclass(frozen=True)
class Get:
    """A node's data and stat."""

    path: ZkPath
    watch: bool = False


@dataclass(frozen=True)
class Children:
    """The names of a node's children, and its stat."""

    path: ZkPath
    watch: bool = False


@dataclass(frozen=True)
class GetACL:
    """A node's permissions, and its stat."""

    path: ZkPath


@dataclass(frozen=True)
class SetWatches:
    """Set watches again, and report the events missed since a zxid."""

    seen: Zxid
    data: tuple[ZkPath, ...] = ()
    exist: tuple[ZkPath, ...] = ()
    child: tuple[ZkPath, ...] = ()


@dataclass(frozen=True)
class Sync:
    """Reply when all earlier writes are done. For a single server it is a read."""

    path: ZkPath


@dataclass(frozen=True)
class Auth:
    """The client's identity, by its own claim."""

    type: int
    scheme: str
    credential: bytes | None


@dataclass(frozen=True)
class Ping:
    """Just reply."""


@dataclass(frozen=True)
class Close:
    """End the session."""


@dataclass(frozen=True)
class Unmodelled:
    """Any request without a value here, by its opcode."""

    opcode: int


Request: TypeAlias = (
    Create
    | SetData
    | Delete
    | Multi
    | Check
    | Exists
    | Get
    | Children
    | GetACL
    | SetWatches
    | Sync
    | Auth
    | Ping
    | Close
    | Unmodelled
)


# Jute


class Jute:
    """A frame, read from left to right. Raises ValueError if it is too short."""

    def __init__(self, content: bytes, place: int = 0) -> None:
        self.content, self.place = content, place

    def integer(self, size: int = 4) -> int:
        """The next integer, of so many bytes."""
        return int.from_bytes(self._take(size), signed=True)

    def boolean(self) -> bool:
        """The next byte, as a truth value."""
        return self._take(1) != b"\0"

    def buffer(self) -> bytes | None:
        """The next bytes, after their length."""
        length = self.integer()
        return None if length < 0 else self._take(length)

    def text(self) -> str:
        """The next string; an empty one for none."""
        return (self.buffer() or b"").decode()

    def texts(self) -> tuple[str, ...]:
        """The next strings, after their number."""
        return tuple(self.text() for _ in range(self.integer()))

    def _take(self, size: int) -> bytes:
        self.place += size
        if self.place > len(self.content):
            raise ValueError(f"a frame of {len(self.content)} bytes should have {self.place}")
        return self.content[self.place - size : self.place]


def integer(value: int, size: int = 4) -> bytes:
    """An integer in wire format."""
    return value.to_bytes(size, signed=True)


def boolean(value: bool) -> bytes:
    """A truth value in wire format."""
    return b"\1" if value else b"\0"


def buffer(value: bytes | None) -> bytes:
    """Bytes, or a string's bytes, in wire format."""
    return integer(-1) if value is None else integer(len(value)) + value


def text(value: str) -> bytes:
    """A string in wire format."""
    return buffer(value.encode())


def texts(values: Iterable[str]) -> bytes:
    """Strings in wire format."""
    values = tuple(values)
    return integer(len(values)) + b"".join(map(text, values))


def framed(content: bytes) -> bytes:
    """A frame after its length."""
    return buffer(content)


# Kinds of record


class Kind(NamedTuple, Generic[V]):
    """How values of a kind are read and written."""

    read: Callable[[Jute], V]
    write: Callable[[V], bytes]


def record(make: Callable[..., V], **fields: Kind[Any]) -> Kind[V]:
    """The kind of a value with these fields, in order."""

    def read(jute: Jute) -> V:
        return make(**{name: kind.read(jute) for name, kind in fields.items()})

    def write(value: V) -> bytes:
        return b"".join(kind.write(getattr(value, name)) for name, kind in fields.items())

    return Kind(read, write)


def pair(first: Kind[Any], second: Kind[Any]) -> Kind[tuple[Any, Any]]:
    """The kind of two values, one after the other."""
    return Kind(
        lambda jute: (first.read(jute), second.read(jute)),
        lambda values: first.write(values[0]) + second.write(values[1]),
    )


INT: Final = Kind(Jute.integer, integer)
LONG: Final = Kind(lambda jute: jute.integer(8), lambda value: integer(value, 8))
BOOL: Final = Kind(Jute.boolean, boolean)
BUFFER: Final = Kind(Jute.buffer, buffer)
TEXT: Final = Kind(Jute.text, text)
TEXTS: Final = Kind(Jute.texts, texts)
NAMES: Final = Kind(lambda jute: frozenset(jute.texts()), lambda names: texts(sorted(names)))
"""Names of children. A server's have no order; here they are sorted."""
NOTHING: Final[Kind[Any]] = Kind(lambda jute: None, lambda value: b"")

_STAT: Final = Struct(">qqqqiiiqiiq")


def _read_stat(jute: Jute) -> Stat:
    czxid, mzxid, _, _, version, cversion, aversion, owner, length, children, pzxid = _STAT.unpack(
        jute._take(_STAT.size)
    )
    return Stat(czxid, mzxid, pzxid, version, cversion, aversion, owner or None, length, children)


def _write_stat(stat: Stat) -> bytes:
    """Both times are 0, because the tree has no clock."""
    zxids, versions = (stat.czxid, stat.mzxid), (stat.version, stat.cversion, stat.aversion)
    owner = stat.ephemeralOwner or 0
    return _STAT.pack(*zxids, 0, 0, *versions, owner, stat.dataLength, stat.numChildren, stat.pzxid)


STAT: Final = Kind(_read_stat, _write_stat)


class Acl(NamedTuple):
    """A permission of an identity."""

    perms: int
    scheme: str
    id: str


WORLD: Final = (Acl(31, "world", "anyone"),)
"""Anyone may do anything."""
_ACL: Final = record(Acl, perms=INT, scheme=TEXT, id=TEXT)
ACLS: Final[Kind[tuple[Acl, ...]]] = Kind(
    lambda jute: tuple(_ACL.read(jute) for _ in range(jute.integer())),
    lambda acls: integer(len(acls)) + b"".join(map(_ACL.write, acls)),
)

EPHEMERAL: Final = 1
SEQUENTIAL: Final = 2


class _NotModelled(Exception):
    """ZooKeeper has this request, and the tree does not."""


def _read_create(jute: Jute) -> Create:
    """Read a create; its permissions are dropped."""
    path, data, _, flags = jute.text(), jute.buffer(), ACLS.read(jute), jute.integer()
    if flags & ~(EPHEMERAL | SEQUENTIAL):  # a container, or a node with a time to live
        raise _NotModelled
    return Create(path, data, bool(flags & EPHEMERAL), bool(flags & SEQUENTIAL))


def _write_create(create: Create) -> bytes:
    flags = EPHEMERAL * create.ephemeral + SEQUENTIAL * create.sequential
    return text(create.path) + buffer(create.data) + ACLS.write(WORLD) + integer(flags)


CREATE: Final = Kind(_read_create, _write_create)


# The table of requests


class Call(NamedTuple):
    """The kinds of a request and of its reply."""

    request: Kind[Any]
    answer: Kind[Any]


def _watching(make: Callable[..., Any]) -> Kind[Any]:
    return record(make, path=TEXT, watch=BOOL)


CALLS: Final[Mapping[Opcode, Call]] = {
    Opcode.create: Call(CREATE, Kind(Jute.text, lambda created: text(created.path))),
    Opcode.create2: Call(CREATE, record(Created, path=TEXT, stat=STAT)),
    Opcode.setData: Call(record(SetData, path=TEXT, data=BUFFER, version=INT), STAT),
    Opcode.delete: Call(record(Delete, path=TEXT, version=INT), NOTHING),
    Opcode.check: Call(record(Check, path=TEXT, version=INT), NOTHING),
    Opcode.exists: Call(_watching(Exists), STAT),
    Opcode.getData: Call(_watching(Get), pair(BUFFER, STAT)),
    Opcode.getChildren: Call(_watching(Children), Kind(NAMES.read, lambda answer: NAMES.write(answer[0]))),
    Opcode.getChildren2: Call(_watching(Children), pair(NAMES, STAT)),
    Opcode.getACL: Call(record(GetACL, path=TEXT), pair(ACLS, STAT)),
    Opcode.setWatches: Call(record(SetWatches, seen=LONG, data=TEXTS, exist=TEXTS, child=TEXTS), NOTHING),
    Opcode.sync: Call(record(Sync, path=TEXT), TEXT),
    Opcode.auth: Call(record(Auth, type=INT, scheme=TEXT, credential=BUFFER), NOTHING),
    Opcode.ping: Call(record(Ping), NOTHING),
    Opcode.closeSession: Call(record(Close), NOTHING),
}
"""All requests but multi, whose operations each follow a header."""

OPCODES: Final[Mapping[type, Opcode]] = {
    Create: Opcode.create2,
    SetData: Opcode.setData,
    Delete: Opcode.delete,
    Check: Opcode.check,
    Multi: Opcode.multi,
    Exists: Opcode.exists,
    Get: Opcode.getData,
    Children: Opcode.getChildren2,
    GetACL: Opcode.getACL,
    SetWatches: Opcode.setWatches,
    Sync: Opcode.sync,
    Auth: Opcode.auth,
    Ping: Opcode.ping,
    Close: Opcode.closeSession,
}
"""The opcode that a client uses for each; the one whose reply has a stat, if there is one."""
OPERATIONS: Final = {Opcode.create, Opcode.create2, Opcode.setData, Opcode.delete, Opcode.check}
"""The operations allowed in a multi."""
FAILED: Final = -1
"""Replaces the opcode of a failed operation in the reply to a multi; also follows the last operation."""


def _header(opcode: int, end: bool = False, error: int = -1) -> bytes:
    return integer(opcode) + boolean(end) + integer(error)


def _headers(jute: Jute) -> Iterator[int]:
    """The opcodes of a multi's parts; the caller must read each part before the next."""
    while True:
        opcode, end, _ = jute.integer(), jute.boolean(), jute.integer()
        if end:
            return
        yield opcode


class RequestFrame(NamedTuple):
    """A request, with its number and its opcode."""

    xid: int
    opcode: int
    request: Request
    parts: tuple[Opcode, ...] = ()
    """For a multi, the opcodes of its operations."""

    @classmethod
    def parse(cls, content: bytes) -> RequestFrame:
        """The request in a frame.

        Raises:
            ValueError: it is too short.
        """
        jute = Jute(content)
        xid, opcode = jute.integer(), jute.integer()
        try:
            if opcode == Opcode.multi:
                operations, parts = _read_operations(jute)
                return cls(xid, opcode, Multi(operations), parts)
            if opcode in CALLS:
                return cls(xid, opcode, CALLS[Opcode(opcode)].request.read(jute))
        except _NotModelled:
            pass
        return cls(xid, opcode, Unmodelled(opcode))


def _read_operations(jute: Jute) -> tuple[tuple[Operation, ...], tuple[Opcode, ...]]:
    operations, parts = list[Operation](), list[Opcode]()
    for opcode in _headers(jute):
        if opcode not in OPERATIONS:
            raise _NotModelled
        parts.append(Opcode(opcode))
        operations.append(CALLS[parts[-1]].request.read(jute))
    return tuple(operations), tuple(parts)


def request_frame(xid: int, request: Request, opcode: Opcode | None = None) -> bytes:
    """A request as a client sends it; `opcode` overrides that of `OPCODES`."""
    return integer(xid) + integer(opcode or OPCODES[type(request)]) + _written(request)


def _written(request: Any) -> bytes:
    if not isinstance(request, Multi):
        return CALLS[OPCODES[type(request)]].request.write(request)
    parts = (_header(OPCODES[type(each)]) + _written(each) for each in request.operations)
    return b"".join(parts) + _header(FAILED, end=True)


# Frames of a server


def reply_frame(asked: RequestFrame, zxid: Zxid, code: int = Code.OK, result: Any = None) -> bytes:
    """A reply to a request; an error has no result."""
    head = HEAD.pack(asked.xid, zxid, code)
    if code != Code.OK:
        return head
    if asked.opcode == Opcode.multi:
        return head + _write_results(asked.parts, result)
    return head + CALLS[Opcode(asked.opcode)].answer.write(result)


def _write_results(parts: Iterable[Opcode], results: Iterable[OpResult | Code]) -> bytes:
    written = [
        _header(FAILED, error=result) + integer(result)
        if isinstance(result, Code)
        else _header(opcode, error=0) + CALLS[opcode].answer.write(result)
        for opcode, result in zip(parts, results, strict=True)
    ]
    return b"".join(written) + _header(FAILED, end=True)


def read_answer(opcode: Opcode, jute: Jute) -> Any:
    """The result of a request with this opcode; for a multi, a result or a code for each operation."""
    if opcode != Opcode.multi:
        return CALLS[opcode].answer.read(jute)
    return tuple(
        Code(jute.integer()) if part == FAILED else CALLS[Opcode(part)].answer.read(jute) for part in _headers(jute)
    )


SYNC_CONNECTED: Final = 3
"""The session state in every watch event. [KeeperState]"""


def event_frame(event: Event) -> bytes:
    """A watch event."""
    head = HEAD.pack(Xid.NOTIFICATION, event.zxid, Code.OK)
    return head + integer(event.type.value) + integer(SYNC_CONNECTED) + text(event.path)


def read_event(zxid: Zxid, jute: Jute) -> Event:
    """A watch event, after the head of its frame."""
    kind, _ = EventType(jute.integer()), jute.integer()
    return Event(kind, jute.text(), zxid)


# Opening a session


class Greeting(NamedTuple):
    """A session's credentials."""

    session: int
    password: bytes

    def __str__(self) -> str:
        return f"{self.session:#x}"


NEW_SESSION: Final = Greeting(0, bytes(16))
"""The greeting of a client without session."""


class Opening(NamedTuple):
    """The first frame of a client: it requests a session, new or its own."""

    greeting: Greeting
    timeout: int
    """The requested session timeout, in milliseconds."""
    seen: Zxid
    reads_only: bool | None
    """Whether a read-only server will do; None if the client is too old to say."""

    @classmethod
    def parse(cls, content: bytes) -> Opening:
        """The first frame of a client. Raises ValueError if it is too short."""
        jute = Jute(content, 4)  # after the version
        seen, timeout, session, password = jute.integer(8), jute.integer(), jute.integer(8), jute.buffer() or b""
        reads_only = jute.boolean() if jute.place < len(content) else None
        return cls(Greeting(session, password), timeout, seen, reads_only)


def asked_open(timeout: int, greeting: Greeting = NEW_SESSION, seen: Zxid = 0) -> bytes:
    """The first frame of a client."""
    version = integer(0)
    session = integer(greeting.session, 8) + buffer(greeting.password)
    return version + integer(seen, 8) + integer(timeout) + session + boolean(False)


def grant(opening: Opening, timeout: int, greeting: Greeting) -> bytes:
    """The first frame of a server, in reply to this opening."""
    version = integer(0)
    may_write = b"" if opening.reads_only is None else boolean(False)
    return version + integer(timeout) + integer(greeting.session, 8) + buffer(greeting.password) + may_write


def granted(content: bytes) -> Greeting:
    """The session granted in a server's first frame; number 0 if it grants none."""
    frame = Jute(content, 8)  # after the version and the timeout
    return Greeting(frame.integer(8), frame.buffer() or b"")
