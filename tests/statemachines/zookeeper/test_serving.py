"""ZooKeeper in memory with its own protocol: clients receive the class's results, and the caller's interference.

At the end are servers with one mistake each, with the scenario that detects each of them.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, UnimplementedError

from statemachines.zookeeper.connections import Connection, Connections, password_of
from statemachines.zookeeper.frames import (
    HEAD,
    UNDATED,
    UNIMPLEMENTED,
    Children,
    Close,
    Exists,
    Get,
    Greeting,
    Opening,
    Ping,
    Request,
    SetWatches,
    Sync,
    framed,
    request_frame,
)
from statemachines.zookeeper.server import (
    Create,
    Event,
    EventType,
    Multi,
    SessionExpired,
    SessionId,
    SetData,
    ZooKeeper,
)
from statemachines.zookeeper.serving import ServedZooKeeper
from statemachines.zookeeper.tree import Node, Transaction, ZkPath
from tests.mutants import mutant_tests
from tests.zookeeper.wire import Connection as Client
from tests.zookeeper.wire import Frames, Reply

PATIENCE = 30.0


@pytest.fixture
def server() -> Iterator[ServedZooKeeper]:
    with ServedZooKeeper() as server:
        yield server


def served(kind: type[Connections]) -> ServedZooKeeper:
    """A server of this kind."""

    class Served(ServedZooKeeper):
        connections = kind

    return Served()


def connect(server: ServedZooKeeper, back: Client | None = None) -> Client:
    """A client with a session of its own, or with that of a client that has lost its connection."""
    known = () if back is None else (back.session, back.password)
    return Client(server.address, PATIENCE, *known)


def is_hung_up(client: Client) -> bool:
    try:
        client.ask(Ping())
    except ConnectionError:
        return True
    return False


def is_let_in(server: ServedZooKeeper, session: int, password: bytes) -> bool:
    try:
        Client(server.address, PATIENCE, session, password).hang_up()
    except SessionExpired:
        return False
    return True


def frames_of(client: Client, request: Request) -> Frames:
    """Everything that a client receives, up to the reply."""
    [frames] = client.ask(request)
    return frames


# Scenarios; the right server passes each of them.


def tells_before_it_answers(kind: type[Connections]) -> None:
    """The watch events of a request arrive before its reply, on other connections too."""
    with served(kind) as server, connect(server) as client, connect(server) as other:
        frames_of(client, Create("/a"))
        frames_of(client, Get("/a", watch=True))
        frames_of(other, Get("/a", watch=True))
        changed = Event(EventType.NodeDataChanged, "/a", 4)
        received = (frames_of(client, SetData("/a", b"x"))[0], other.receive())
        assert received == (changed, changed)


def numbers_by_parent(kind: type[Connections]) -> None:
    """A sequential node is numbered by the children that its own parent ever had."""
    with served(kind) as server, connect(server) as client:
        for path in ("/a", "/b", "/a/x"):
            frames_of(client, Create(path))
        for path in ("/a/n-", "/b/n-"):
            frames_of(client, Create(path, sequential=True))
        assert list(server.tree()) == ["/a", "/a/n-0000000001", "/a/x", "/b", "/b/n-0000000000"]


def ends_with_its_session(kind: type[Connections]) -> None:
    """An ephemeral is deleted when its client leaves, and stays when its client only disconnects."""
    with served(kind) as server, connect(server) as client:
        frames_of(client, Create("/a", ephemeral=True))
        client.hang_up()
        with connect(server, back=client) as back:
            assert list(server.tree()) == ["/a"]
            frames_of(back, Close())
            assert server.tree() == {}
            assert server.sessions() == []


def loses_nothing_but_the_reply(kind: type[Connections]) -> None:
    """The request has taken effect, and its client is disconnected; earlier requests are not lost."""
    with served(kind) as server, connect(server) as client:
        server.lose_reply(client.session, nth=2)
        client.send(Create("/a"), Ping(), Create("/b"), Create("/c"))
        assert [type(frame) for frame in client.until_hung_up()] == [Reply, Reply]
        assert list(server.tree()) == ["/a", "/b"]
        with connect(server, back=client) as back:
            frames_of(back, Create("/c"))
        assert list(server.tree()) == ["/a", "/b", "/c"]


def delays_events_and_later_replies(kind: type[Connections]) -> None:
    """An event waits, and so does the reply that must not overtake it; an earlier request gets its reply."""
    with served(kind) as server, connect(server) as client, connect(server) as other:
        frames_of(other, Create("/a"))
        frames_of(client, Get("/a", watch=True))
        with server.delayed_watches(client.session):
            frames_of(client, Sync("/"))
            frames_of(other, SetData("/a", b"x"))
            assert [type(frame) for frame in frames_of(client, Ping())] == [Reply]
            client.send(Get("/a"))
            server.wait_until(lambda: server.requests(client.session)[-1] == Get("/a"))
        assert [type(frame) for frame in client.until_answered()] == [Event, Reply]


def reports_missed_changes(kind: type[Connections]) -> None:
    """A cut drops watches. A returning client gets the missed changes it asks for, without a zxid, then a reply."""
    with served(kind) as server, connect(server) as client, connect(server) as other:
        frames_of(client, Create("/a"))
        frames_of(client, Get("/a", watch=True))
        server.cut(client.session)
        assert client.until_hung_up() == ()
        frames_of(other, SetData("/a", b"x"))
        with connect(server, back=client) as back:
            missed = Event(EventType.NodeDataChanged, "/a", UNDATED)
            assert frames_of(back, SetWatches(3, data=("/a",)))[:-1] == (missed,)


def refuses_an_expired_session(kind: type[Connections]) -> None:
    """Its connection ends, its ephemerals are gone, others are notified, and it cannot return."""
    with served(kind) as server, connect(server) as client, connect(server) as other:
        frames_of(client, Create("/a", ephemeral=True))
        frames_of(client, Exists("/a", watch=True))
        frames_of(other, Exists("/a", watch=True))
        server.expire(client.session)
        assert is_hung_up(client)
        assert other.receive() == Event(EventType.NodeDeleted, "/a", 4)
        assert not is_let_in(server, client.session, client.password)


def keeps_sessions_apart(kind: type[Connections]) -> None:
    """A session's number alone gives no access; its owner may return, which ends the old connection."""
    with served(kind) as server, connect(server) as client:
        assert not is_let_in(server, client.session, bytes(16))
        with connect(server, back=client) as back:
            assert back.session == client.session
            assert is_hung_up(client)


class TellsLate(Connections):
    """Watch events follow the reply."""

    def tell(self) -> None:
        asyncio.get_running_loop().call_soon(super().tell)


class NumbersAll(Transaction):
    """Sequential numbers do not depend on the parent."""

    def numbered(self, path: ZkPath, parent: Node) -> ZkPath:
        return super().numbered(path, parent._replace(created=self.zxid))


class NumbersAllNodes(Connections):
    def __init__(self, zookeeper: ZooKeeper, on_change: Callable[[], None]) -> None:
        numbering = type("Numbering", (ZooKeeper,), {"transaction": NumbersAll})
        super().__init__(numbering(zookeeper.state), on_change)


class LeavesEphemerals(Connections):
    """A client that leaves only loses its connection."""

    def _result(self, session: SessionId, request: Request) -> Any:
        return None if isinstance(request, Close) else super()._result(session, request)


class LosesTheRequest(Connections):
    """With the reply, it loses the request."""

    def _result(self, session: SessionId, request: Request) -> Any:
        return None if self._losing.get(session) == 1 else super()._result(session, request)


class LosesTheNextReply(Connections):
    """It loses the next reply, whichever was chosen."""

    def lose_reply(self, session: SessionId, nth: int) -> None:
        super().lose_reply(session, 1)


class DelaysNothing(Connections):
    """Watch events are sent at once."""

    def is_delayed(self, session: SessionId) -> bool:
        return False


class RemembersWatches(Connections):
    """The end of a connection does not remove its watches."""

    def hang_up(self, connection: Connection) -> None:
        session, connection.session = connection.session, None
        self._of_session.pop(session, None)
        connection.transport.close()


class LetsTheExpiredListen(Connections):
    """A session ends, but its connection continues."""

    def expire(self, session: SessionId) -> None:
        self.zookeeper.expire(session)
        self.tell()


class LetsAnyoneIn(Connections):
    """Sessions have no passwords."""

    def greet(self, connection: Connection, opening: Opening) -> None:
        session, _ = opening.greeting
        super().greet(connection, opening._replace(greeting=Greeting(session, password_of(session))))


MUTANTS: list[tuple[type[Connections], Callable[[type[Connections]], None]]] = [
    (TellsLate, tells_before_it_answers),
    (NumbersAllNodes, numbers_by_parent),
    (LeavesEphemerals, ends_with_its_session),
    (LosesTheRequest, loses_nothing_but_the_reply),
    (LosesTheNextReply, loses_nothing_but_the_reply),
    (DelaysNothing, delays_events_and_later_replies),
    (RemembersWatches, reports_missed_changes),
    (LetsTheExpiredListen, refuses_an_expired_session),
    (LetsAnyoneIn, keeps_sessions_apart),
]

test_the_server_passes, test_a_mutant_is_caught = mutant_tests(Connections, MUTANTS)


# The caller's view


def test_requests_are_reported_as_values(server: ServedZooKeeper) -> None:
    """In the order of service; of one client or of all."""
    with connect(server) as one, connect(server) as other:
        frames_of(one, Create("/a", b"x"))
        frames_of(other, Children("/", watch=True))
        frames_of(one, Multi((SetData("/a", b"y", 0),)))
        frames_of(one, Ping())
        assert server.requests(one.session) == [Create("/a", b"x"), Multi((SetData("/a", b"y", 0),))]
        assert server.requests()[1] == Children("/", watch=True)
        assert server.requests()[1:2] != [Get("/", watch=True)]
        assert server.tree() == {"/a": Node(b"y", 1, czxid=3, mzxid=4, pzxid=3)}


def test_a_condition_is_waited_for(server: ServedZooKeeper) -> None:
    """Until it becomes true, or the time is over."""
    with connect(server) as client:
        asking = threading.Thread(target=frames_of, args=(client, Create("/a")))
        asking.start()
        server.wait_until(lambda: "/a" in server.tree())
        asking.join()
        with pytest.raises(TimeoutError, match=r"the condition does not hold after 0\.01 s"):
            server.wait_until(lambda: "/b" in server.tree(), timeout=0.01)


def test_an_absent_client_is_named(server: ServedZooKeeper) -> None:
    with connect(server):
        with pytest.raises(ValueError, match="session 7 is not live; 1 is"):
            server.cut(7)
        with pytest.raises(ValueError, match="the client is not connected"):
            server.expire(KazooClient())
        with pytest.raises(ValueError, match="nth is 0, allowed are the integers from 1 on"):
            server.lose_reply(1, nth=0)


def test_no_thread_or_socket_remains() -> None:
    """Even with connected clients, one of them in the middle of a request."""
    threads, files = set(threading.enumerate()), set(os.listdir("/proc/self/fd"))
    with ServedZooKeeper() as server:
        clients = [connect(server) for _ in range(3)]
        clients[0].socket.sendall(framed(request_frame(1, Get("/")))[:7])
    for client in clients:
        assert client.until_hung_up() == ()
    assert set(threading.enumerate()) <= threads
    assert set(os.listdir("/proc/self/fd")) <= files
    assert server.sessions() == [1, 2, 3]  # its state can still be read


# Input


@pytest.mark.parametrize(
    "sent",
    [framed(b"\0\0"), framed(request_frame(1, Get("/"))[:9]), (1 << 20).to_bytes(4), b"\xff\xff\xff\xff"],
    ids=["no request", "half a path", "too long", "a negative length"],
)
def test_a_client_without_frames_is_disconnected(sent: bytes, server: ServedZooKeeper) -> None:
    """Other clients stay connected."""
    with connect(server) as client, connect(server) as other:
        client.socket.sendall(sent)
        assert client.until_hung_up() == ()
        frames_of(other, Get("/"))
        assert server.sessions() == [1, 2]


def test_a_frame_may_come_in_pieces(server: ServedZooKeeper) -> None:
    with connect(server) as client:
        for byte in framed(request_frame(1, Create("/a"))):
            client.socket.sendall(bytes([byte]))
        server.wait_until(lambda: "/a" in server.tree())


def test_a_server_can_run_inside_asynchronous_code() -> None:
    """Such code has a loop of its own in this thread."""

    async def served() -> list[int]:
        with ServedZooKeeper() as server, connect(server):
            return server.sessions()

    assert asyncio.run(served()) == [1]


def test_unmodelled_requests_are_answered(server: ServedZooKeeper) -> None:
    """With UNIMPLEMENTED, as a real server replies to a time to live; the connection continues."""
    container = request_frame(1, Create("/a"))[:-4] + (4).to_bytes(4)
    with connect(server) as client:
        client.socket.sendall(framed(container))
        assert HEAD.unpack(client._read()) == (1, 1, UNIMPLEMENTED)
        frames_of(client, Get("/"))


@pytest.mark.parametrize(
    ("word", "answer"), [(b"ruok", b"imok"), (b"envi", b"Environment:\nzookeeper.version=3.9.5\n")]
)
def test_four_letter_words_are_answered(word: bytes, answer: bytes, server: ServedZooKeeper) -> None:
    with socket.create_connection(server.address) as asking:
        asking.sendall(word)
        assert asking.makefile("rb").read() == answer


def test_kazoos_authentication_is_accepted(server: ServedZooKeeper) -> None:
    """Permissions are not modelled: kazoo's requests for them succeed, and have no effect."""
    client = KazooClient(server.hosts)
    client.start()
    try:
        client.add_auth("digest", "somebody:secret")
        client.create("/a", acl=[])
        [acl], stat = client.get_acls("/a")
        assert (acl.perms, acl.id.scheme, acl.id.id, stat.aversion) == (31, "world", "anyone", 0)
        with pytest.raises(UnimplementedError):
            client.set_acls("/a", [acl])
        with pytest.raises(AuthFailedError):
            client.add_auth("kerberos", "somebody")
    finally:
        client.stop()
        client.close()
