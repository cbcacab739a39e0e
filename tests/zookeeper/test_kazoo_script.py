"""One script for kazoo clients, run on a real server and on ours in memory: they observe the same, step by step.

Compared: results and errors, every field of a stat but its clocks, the watch events of each client after each step,
the states of connections, and zxids, counted from the first of the script. A real server keeps children, and the
nodes that end with a session, in a hash table's order, so names and the watch events of that step are compared
unordered.
"""

from collections.abc import Callable
from contextlib import ExitStack
from queue import Queue
from threading import Event as Signal
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import KazooState, WatchedEvent, ZnodeStat

from statemachines.zookeeper.frames import ACLS, HEAD, UNIMPLEMENTED, WORLD, framed, integer, text
from tests.zookeeper.server import Server, WalkedServer
from tests.zookeeper.test_served import Served
from tests.zookeeper.wire import Connection

ROOT = "/script"


class Guest:
    """A kazoo client whose every step is recorded."""

    def __init__(self, script: "Script", name: str, root: str) -> None:
        self.script, self.name = script, name
        host, port = script.server.address
        self.kazoo = KazooClient(f"{host}:{port}{root}", timeout=script.server.patience)
        self.states: Queue[str] = Queue()
        self.events: list[Any] = []
        # A method is another object at each access, and kazoo would call each of them.
        self.listener = self.listen
        self.kazoo.add_listener(self.states.put)
        self.kazoo.start(timeout=script.server.patience)
        self.becomes(KazooState.CONNECTED)

    @property
    def session(self) -> int:
        return int(self.kazoo.client_id[0])

    def listen(self, event: WatchedEvent) -> None:
        self.events.append(tuple(event))

    def does(self, method: str, *arguments: Any, watch: bool = False, **options: Any) -> None:
        """Call a method of kazoo's."""
        # A method is another object at each access, and kazoo would call each of them.
        heard = {"watch": self.listener} if watch else {}
        self.script.note(
            self, (method, *arguments), lambda: getattr(self.kazoo, method)(*arguments, **options, **heard)
        )

    def commits(self, *operations: tuple[Any, ...]) -> None:
        """Make a transaction of these."""
        together = self.kazoo.transaction()
        for operation, *arguments in operations:
            getattr(together, operation)(*arguments)
        self.script.note(self, ("commit", *operations), together.commit)

    def becomes(self, state: str) -> list[str]:
        """Wait until the connection is in a state; returns the states on the way."""
        passed = [self.states.get(timeout=self.script.server.patience)]
        while passed[-1] != state:
            passed.append(self.states.get(timeout=self.script.server.patience))
        return passed

    def heard(self) -> list[Any]:
        """All watch events that the server sent before its answer, and that kazoo has delivered."""
        self.kazoo.sync("/")
        called = Signal()
        self.kazoo.handler.callback_queue.put(called.set)
        assert called.wait(self.script.server.patience)
        heard, self.events = self.events, []
        return heard


class Script:
    """The steps on a server, and the observations."""

    def __init__(self, server: WalkedServer, stack: ExitStack) -> None:
        self.server, self.stack = server, stack
        self.seen: list[Any] = []
        self.guests: list[Guest] = []
        self.sessions: dict[int, str] = {}
        self.first_zxid = 0

    def guest(self, name: str, root: str = ROOT) -> Guest:
        guest = Guest(self, name, root)
        self.stack.callback(guest.kazoo.close)
        self.stack.callback(guest.kazoo.stop)
        self.sessions[guest.session] = f"a session of {name}"
        self.guests.append(guest)
        return guest

    def note(self, guest: Guest, step: Any, call: Callable[[], Any]) -> None:
        """Take a step, and record its outcome for all clients."""
        try:
            result = without_order(call()) if step[0] == "get_children" else call()
        except KazooException as failure:
            result = type(failure).__name__
        zxid = guest.kazoo.last_zxid
        heard = {each.name: each.heard() for each in self.guests if each.kazoo.connected}
        if step[0] in ("stop", "expire"):
            heard = {name: sorted(events) for name, events in heard.items()}
        self.seen.append((guest.name, step, self.plain(result), self.counted(zxid), heard))

    def counted(self, zxid: int) -> int:
        """A zxid counted from the first of the script. The server's own nodes have none."""
        return zxid and zxid - self.first_zxid

    def plain(self, value: Any) -> Any:
        """A result without clocks, with the script's own numbers for zxids and sessions."""
        if isinstance(value, ZnodeStat):
            zxids = {name: self.counted(getattr(value, name)) for name in ("czxid", "mzxid", "pzxid")}
            owner = self.sessions.get(value.ephemeralOwner, value.ephemeralOwner)
            return value._replace(ctime=0, mtime=0, ephemeralOwner=owner, **zxids)
        if isinstance(value, Exception):
            return type(value).__name__
        if isinstance(value, list | tuple):
            return [self.plain(each) for each in value]
        return value


def without_order(result: Any) -> Any:
    """The names of children without their order, with the stat of their parent or alone."""
    if isinstance(result, tuple):
        return without_order(result[0]), result[1]
    return sorted(result) if isinstance(result, list) else result


def life(script: Script) -> None:
    """Everything that kazoo clients do with a server, in some dozens of steps."""
    operator = script.guest("operator", root="")
    operator.kazoo.create(ROOT)
    script.first_zxid = operator.kazoo.last_zxid
    one, two = script.guest("one"), script.guest("two")

    # nodes, versions, and refusals
    one.does("create", "/a", b"x")
    one.does("create", "/a", b"x")
    one.does("create", "/b/c")
    one.does("create", "/a/b", b"", include_data=True)
    one.does("get", "/a")
    one.does("get", "/none")
    one.does("exists", "/a")
    one.does("exists", "/none")
    one.does("set", "/a", b"y", version=0)
    one.does("set", "/a", b"z", version=0)
    one.does("set", "/none", b"")
    one.does("delete", "/a")
    one.does("delete", "/a/b", version=3)
    one.does("delete", "/none")
    one.does("get_children", "/a", include_data=True)
    one.does("get_children", "/none")
    one.does("get_acls", "/a")
    one.does("get_acls", "/none")
    one.does("ensure_path", "/deep/er/still")
    one.does("create", "/made/on/the/way", b"", makepath=True)
    one.does("add_auth", "digest", "one:secret")
    one.does("sync", "/a")
    one.does("create", "/a/\0")

    # sequential and ephemeral nodes
    for path in ("/a/n-", "/a/n-", "/b", "/a/n-"):
        one.does("create", path, b"", sequence=True)
    one.does("delete", "/a/n-0000000002")
    one.does("create", "/a/n-", b"", sequence=True, ephemeral=True)
    one.does("create", "/mine", b"", ephemeral=True, include_data=True)
    one.does("create", "/mine/child")
    one.does("get", "/a")
    two.does("get", "/mine")
    two.does("delete", "/mine")

    # all or nothing
    one.commits(("create", "/t", b"1"), ("set_data", "/t", b"2"), ("check", "/t", 1), ("delete", "/t"))
    one.commits(("create", "/t"), ("check", "/a", 7), ("delete", "/a"))
    one.commits(("check", "/none", 0), ("create", "/t"))
    one.commits(("create", "/t/n-", b"", None, False, True))
    one.commits(("create", "/t"), ("create", "/t/n-", b"", None, True, True))
    one.commits()

    # watches
    two.does("exists", "/w", watch=True)
    two.does("get_children", "/", watch=True)
    one.does("create", "/w")
    two.does("get", "/w", watch=True)
    two.does("get_children", "/w", watch=True)
    one.does("get", "/w", watch=True)
    one.does("set", "/w", b"1")
    one.does("set", "/w", b"2")
    one.does("create", "/w/c")
    two.does("get", "/w", watch=True)
    two.does("get_children", "/w", watch=True)
    one.commits(("delete", "/w/c"), ("delete", "/w"))
    two.does("get", "/w", watch=True)

    # a connection is lost
    one.does("create", "/left", b"", ephemeral=True)
    one.does("exists", "/left", watch=True)
    cut(script, one)
    one.does("get", "/left")
    two.does("set", "/left", b"x")

    # a session ends
    two.does("get", "/left", watch=True)
    two.does("get_children", "/", watch=True)
    expire(script, one)
    two.does("exists", "/left")
    one.does("create", "/left", b"", ephemeral=True)
    two.does("exists", "/left", watch=True)
    two.does("exists", "/a/n-0000000005", watch=True)
    one.does("create", "/a/n-", b"", sequence=True, ephemeral=True)
    script.note(one, ("stop",), one.kazoo.stop)
    two.does("get", "/a")

    # the server's own nodes
    operator.does("get_children", "/zookeeper", include_data=True)
    operator.does("get", "/zookeeper/quota")
    operator.does("delete", "/zookeeper/quota")
    operator.does("delete", "/zookeeper")
    operator.does("delete", "/")
    operator.does("delete", ROOT, recursive=True)


def cut(script: Script, guest: Guest) -> None:
    """Its connection is lost, and it returns to its session."""
    before = guest.session

    def away() -> tuple[list[str], bool]:
        script.server.cut(before)
        return guest.becomes(KazooState.CONNECTED), guest.session == before

    script.note(guest, ("cut",), away)


def expire(script: Script, guest: Guest) -> None:
    """Its session ends, and it opens another."""

    def renewed() -> list[str]:
        script.server.expire(guest.session)
        passed = guest.becomes(KazooState.CONNECTED)
        script.sessions[guest.session] = f"another session of {guest.name}"
        return passed

    script.note(guest, ("expire",), renewed)


def seen_of(server: WalkedServer) -> list[Any]:
    with ExitStack() as stack:
        script = Script(server, stack)
        life(script)
        return script.seen


@pytest.mark.filterwarnings("ignore:No chroot path exists")
def test_kazoo_sees_the_same(server: Server) -> None:
    real = seen_of(server)
    with Served() as served:
        assert len(real) > 60
        for of_real, of_served in zip(real, seen_of(served), strict=True):
            assert of_served == of_real


WITH_A_TTL = integer(1) + integer(21) + text("/ttl") + integer(-1) + ACLS.write(WORLD) + integer(5) + integer(1000, 8)
UNKNOWN = integer(1) + integer(999)


@pytest.mark.parametrize("sent", [WITH_A_TTL, UNKNOWN], ids=["a time to live", "an unknown request"])
def test_requests_outside_the_model_get_the_same_error(sent: bytes, server: Server) -> None:
    """By a code and no content."""
    with Served() as served:
        assert answer(served, sent)[::2] == answer(server, sent)[::2] == (1, UNIMPLEMENTED)


def answer(server: WalkedServer, sent: bytes) -> tuple[int, int, int]:
    """The number, zxid and code of the answer to one request."""
    with Connection(server.address, server.patience) as client:
        client.socket.sendall(framed(sent))
        return HEAD.unpack(client._read())
