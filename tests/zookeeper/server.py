"""A real ZooKeeper server: the one in pyspark's jars, in a JVM that we start.

    with Server() as server:
        server.address          # the port was chosen by the kernel
        server.expire(session)  # end a session now, as if it had been silent for too long
        server.cut(session)     # end its connection

The JVM reads a pipe whose other end we hold, and ends with it: no process survives, even if this one is killed. It
may also die, or stop answering. An operation on the server within `server.needed()` then fails with `ServerGone`,
through here or over the wire.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, Self

from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError, Py4JJavaError

JARS = ("zookeeper-3", "zookeeper-jute", "slf4j-api", "metrics-core", "snappy-java", "py4j", "netty-handler-4")
OPTIONS = (
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dzookeeper.forceSync=no",  # this data may be lost
    # One thread reads all connections. So after it has answered a request that was sent after another connection was
    # cut, it will not read from that one again.
    "-Dzookeeper.nio.numSelectorThreads=1",
    "-Dzookeeper.nio.numWorkerThreads=0",
)
TICK = 50
"""Milliseconds."""
LONGEST_SESSION = 600_000
"""Milliseconds: sessions end when a test ends them, not because a machine is slow."""
LAST_GASP = 0.5
"""Seconds between the end of a process's connections and its own end."""


class ServerGone(BaseException):
    """The server has ended, or no longer answers.

    Not an Exception: Hypothesis would go on, and look for the shortest way to a server that has died.
    """


class WalkedServer(Protocol):
    """The parts of a server that walks need."""

    address: tuple[str, int]
    patience: float

    @property
    def gone(self) -> ServerGone | None:
        """The error if the server has ended; None if it lives."""

    def expire(self, session: int, /) -> None:
        """End a session, unless it has ended."""

    def cut(self, session: int, /) -> None:
        """End a session's connection."""

    def needed(self) -> AbstractContextManager[None]:
        """Raise ServerGone if the block fails because the server has ended, and from then on."""


def missing() -> str:
    """Why a server cannot run here; empty if it can."""
    return "" if shutil.which("java") else "a real ZooKeeper server needs Java, and there is no java on the PATH"


def jars() -> list[str]:
    """ZooKeeper's jars, and those that give us access to it."""
    pyspark = find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    folder = Path(pyspark.origin).parent / "jars"
    return [str(next(folder.glob(f"{name}*.jar"))) for name in JARS]


class Server:
    """A ZooKeeper server from `__enter__` to `__exit__`, even if the body fails."""

    process: subprocess.Popen[bytes]
    address: tuple[str, int]
    java: Any
    """Its class path, which includes ZooKeeper's own client."""

    def __init__(self, patience: float = 30) -> None:
        self.patience = patience
        """Seconds to wait for an answer before the server counts as gone."""
        self.gone: ServerGone | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="zookeeper-")))
            self.process = stack.enter_context(self._java())
            stack.callback(self.process.kill)
            with self.needed():
                self.java = stack.enter_context(self._gateway())
                self._serve(self.java)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def expire(self, session: int) -> None:
        """End a session as the server itself does after its timeout. The call may return earlier."""
        self._sessions.setSessionClosing(session)
        self._server.closeSession(session)

    def cut(self, session: int) -> None:
        """End a session's connection. The session goes on."""
        self._factory.closeSession(session, self._reasons.CONNECTION_CLOSE_FORCED)

    @contextmanager
    def needed(self) -> Iterator[None]:
        """Raise ServerGone if the block fails because the server has ended, and from then on."""
        if self.gone is not None:
            raise self.gone
        try:
            yield
        except (OSError, Py4JError) as failure:
            self.gone = self._gone(failure)
            if self.gone is None:
                raise
            raise self.gone from failure

    def _gone(self, failure: Exception) -> ServerGone | None:
        """The error for a failure that means the end of the server."""
        with suppress(subprocess.TimeoutExpired):
            code = self.process.wait(LAST_GASP)
            said = (self.folder / "stderr").read_text(errors="replace")
            return ServerGone(f"the ZooKeeper server is gone: Java ended with {code}, and said\n{said}")
        if isinstance(failure, ConnectionError | Py4JJavaError):
            return None  # it lives, so the failure is a real one
        return ServerGone(f"the ZooKeeper server has not answered for {self.patience} s")

    def _java(self) -> subprocess.Popen[bytes]:
        gateway = ("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0")
        with (self.folder / "stderr").open("wb") as stderr:
            return subprocess.Popen(
                ["java", "-cp", os.pathsep.join(jars()), *OPTIONS, *gateway],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )

    @contextmanager
    def _gateway(self) -> Iterator[Any]:
        assert self.process.stdout is not None
        port, token = (self.process.stdout.readline().decode().strip() for _ in range(2))
        if not token:
            raise ConnectionError("Java did not start")
        parameters = GatewayParameters(
            port=int(port),
            auth_token=token,
            read_timeout=self.patience,
            enable_memory_management=False,  # it would still talk to a dead JVM about garbage collection
        )
        gateway = JavaGateway(gateway_parameters=parameters)
        try:
            yield gateway.jvm
        finally:
            gateway.close()

    def _serve(self, java: Any) -> None:
        """Begin to serve. On return the server answers requests; an open port would not be enough."""
        zookeeper = java.org.apache.zookeeper.server
        data = java.java.io.File(str(self.folder))
        self._reasons = zookeeper.ServerCnxn.DisconnectReason
        self._server = zookeeper.ZooKeeperServer(data, data, TICK)
        self._server.setMinSessionTimeout(TICK)
        self._server.setMaxSessionTimeout(LONGEST_SESSION)
        any_port, any_number = java.java.net.InetSocketAddress("127.0.0.1", 0), 0
        self._factory = zookeeper.NIOServerCnxnFactory.createFactory(any_port, any_number)
        self._factory.startup(self._server)
        self._sessions = self._server.getSessionTracker()
        self.address = ("127.0.0.1", self._factory.getLocalPort())
