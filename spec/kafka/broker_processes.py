"""Processes of a release: a ZooKeeper server, brokers and an administrator, each a JVM; and a ZooKeeper operator.

    async with Processes("3.9.1") as processes:
        zookeeper = await processes.zookeeper()
        broker = await processes.broker(0, zookeeper.address)
        await broker.value("kafka.controller:type=KafkaController,name=ActiveControllerCount")   # "1"
        async with ZooKeeperOperator(zookeeper.address) as operator:
            await operator.delete("/controller")

Each JVM ends with us: it reads a pipe whose other end this process holds (`java/replay/kafkaspec/replay/Kept.java`).
When the pipe closes, even because this process was killed, the JVM removes its directory, if it has one, and halts.
All of them listen on loopback only, on ports that the kernel chooses. The operator reads and writes znodes as a
person does with zookeeper-shell.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from election.ids import BrokerId
from spec.kafka.jars import locked
from spec.kafka.java import BRIEFLY, SOURCES, java
from spec.kafka.java_process import compiled
from spec.kafka.kafka_proxy import KafkaProxy
from spec.kafka.patches import class_path_with
from spec.kafka.proxy import Address, next_frame, xid_of
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

OPTIONS: Final = (
    *BRIEFLY,
    "-Xmx384m",
    "-Dzookeeper.4lw.commands.whitelist=*",
    "-Dzookeeper.forceSync=no",  # this data may be lost
    "-Dzookeeper.admin.enableServer=false",
)
DETAILED: Final = "kafka.controller"
"""The logger of the controller and its event thread, logged in more detail than others."""
FORM: Final = re.compile(r"(?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (?P<logger>\S+) - (?P<text>.*)")
"""A line of the log, in both slf4j bindings below."""
SIMPLE: Final = (
    "-Dorg.slf4j.simpleLogger.showThreadName=false",
    f"-Dorg.slf4j.simpleLogger.log.{DETAILED}=debug",
)
UNUSED_BINDING: Final = "logback-"
"""ZooKeeper 3.8 ships it; slf4j would pick it if it were on the class path."""
LOG4J: Final = f"""
log4j.rootLogger=INFO, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.Target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%p %c - %m%n
log4j.logger.{DETAILED}=DEBUG
"""
"""For releases whose slf4j binding is log4j's."""
BROKER: Final = """
broker.id={broker}
listeners=PLAINTEXT://127.0.0.1:0
zookeeper.connect={host}:{port}
zookeeper.session.timeout.ms={session}
zookeeper.connection.timeout.ms={session}
log.dirs={directory}/data
log.cleaner.enable=false
auto.leader.rebalance.enable=false
num.network.threads=2
num.io.threads=2
background.threads=2
"""
SESSION: Final = 300_000
"""A broker's session timeout in milliseconds. While a request of the broker is held, so are its pings."""
PROPERTIES: Final = "server.properties"
"""The file of a broker's settings, in its directory."""
LISTENS: Final = re.compile(r"Awaiting socket connections on (\S+):(\d+)\.")
"""What a broker logs when it begins to listen."""
LONGEST_LINE: Final = 1 << 20
"""The longest line of the log, in bytes."""


class LogLine(NamedTuple):
    """A line that a process logged."""

    level: str
    logger: str
    text: str

    def __str__(self) -> str:
        return f"{self.level} {self.text} ({self.logger.rpartition('.')[2]})"


class ManagedProcess:
    """A JVM that ends with us. It answers on stdout and logs on stderr.

    Args:
        name: of the program that runs in it.
        directory: where it writes, if it does; this directory is its own, and is removed when this process ends.
        on_log: receives each line that it logs.
    """

    def __init__(self, name: str, directory: Path, on_log: Callable[[LogLine], None] = lambda line: None) -> None:
        self.name, self.directory, self._on_log = name, directory, on_log
        self._last = ""

    async def start(self, command: list[str]) -> None:
        """Start it."""
        self._process: Process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=LONGEST_LINE, start_new_session=True
        )
        self._listening = asyncio.create_task(self._listen())

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    async def stop(self) -> None:
        """Kill it at once, as kill -9 does."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        await self._process.wait()
        await self._listening

    async def terminate(self) -> None:
        """Ask it to end, and wait until it has. A broker first moves its leaders away."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        await self._process.wait()
        await self._listening

    async def ended(self) -> EnvironmentFailed:
        """Wait until it has ended; return the error that says so."""
        await asyncio.wait([self._listening])  # the listening goes on if this wait is cancelled
        code = await self._process.wait()
        return EnvironmentFailed(
            f"{self.name} has ended with {code}" + (f" ({self._last})" if self._last else ""), "nothing was kept"
        )

    async def answer(self) -> str:
        """The next line of its stdout.

        Raises:
            EnvironmentFailed: it has ended.
        """
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise await self.ended()
        return line.decode().strip()

    async def value(self, name: str) -> str:
        """The attribute Value of the MBean with this name; `absent` if no MBean has it.

        Raises:
            EnvironmentFailed: it has ended.
        """
        return await self._asked(name)

    async def _asked(self, line: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        return await self.answer()

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            said = line.decode(errors="replace").strip()
            if found := FORM.search(said):
                self._on_log(LogLine(**found.groupdict()))
            self._last = said or self._last


class ZooKeeperProcess(ManagedProcess):
    """A ZooKeeper server."""

    address: Address


class BrokerProcess(ManagedProcess):
    """A Kafka broker."""

    @property
    def data(self) -> Path:
        """Its log directory, with one subdirectory for each log."""
        return self.directory / "data"


class AdministratorProcess(ManagedProcess):
    """Kafka's own clients, which send a broker the requests of an administrator."""

    async def ask(self, request: str) -> str:
        """The result of a request (`java/administrator/kafkaspec/administrator/Administrator.java` lists them all).

        Args:
            request: such as `reassign t 2,3`.

        Raises:
            EnvironmentFailed: it has ended.
        """
        return await self._asked(request)


class Processes:
    """The processes of one release, from `__aenter__` to `__aexit__`, even if the body fails.

    Args:
        release: one with a lock file, such as 3.9.1.
        patch: the name of a patch of Kafka's source (`spec.kafka.patches`); none by default.

    Raises (when it is entered):
        UsageError: no Java, no compiler, or a jar cannot be downloaded.
        EnvironmentFailed: compiled classes cannot be stored.
    """

    def __init__(self, release: str, patch: str = "") -> None:
        self.release, self.patch = release, patch

    async def __aenter__(self) -> Self:
        with_java = java()
        jars = [jar for jar in class_path_with(self.patch, self.release) if not jar.name.startswith(UNUSED_BINDING)]
        classes = compiled("replay", sorted((SOURCES / "replay").rglob("*.java")), self.release, jars, with_java)
        path = os.pathsep.join(map(str, [classes, *jars]))
        self.java_version = with_java.version
        self._java, self._jars = with_java, jars
        self._options = [with_java.command, *OPTIONS, *SIMPLE, "-cp"]
        self._path = path
        self._stack = AsyncExitStack()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def zookeeper_version(self) -> str:
        """The version of this release's own ZooKeeper."""
        return next(each.version for each in locked(self.release) if each.name == "zookeeper")

    async def zookeeper(self) -> ZooKeeperProcess:
        """A ZooKeeper server, ready for clients.

        Raises:
            EnvironmentFailed: it ended.
        """
        process = ZooKeeperProcess("ZooKeeper", self._directory())
        await self._start(process, "zookeeper")
        process.address = "127.0.0.1", int(await process.answer())
        return process

    async def broker(
        self,
        broker: BrokerId,
        zookeeper: Address,
        on_log: Callable[[LogLine], None] = lambda line: None,
        session: int = SESSION,
        behind: KafkaProxy | None = None,
        **settings: object,
    ) -> BrokerProcess:
        """A broker, which may still be starting.

        Args:
            broker: its id.
            zookeeper: the address of its ZooKeeper.
            on_log: receives each line that it logs.
            session: its session timeout in milliseconds.
            behind: a proxy for all that is sent to it; none by default.
            settings: further settings, with underscores for dots.
        """

        def heard(line: LogLine) -> None:
            if behind is not None and (found := LISTENS.search(line.text)):
                behind.broker = found[1], int(found[2])
            on_log(line)

        if behind is not None:
            settings["advertised_listeners"] = "PLAINTEXT://{}:{}".format(*behind.address)
        process = BrokerProcess(f"broker {broker}", self._directory(), heard)
        host, port = zookeeper
        properties = process.directory / PROPERTIES
        properties.write_text(
            BROKER.format(broker=broker, host=host, port=port, session=session, directory=process.directory)
            + "".join(f"{name.replace('_', '.')}={value}\n" for name, value in settings.items())
        )
        await self.start_again(process)
        return process

    async def start_again(self, broker: BrokerProcess) -> None:
        """Restart a broker that was stopped, with its old logs."""
        await self._start(broker, "broker", str(broker.directory / PROPERTIES))

    async def administrator(self, broker: str) -> AdministratorProcess:
        """An administrator, which contacts this broker first. Since 2.5; brokers may be of another release.

        Args:
            broker: its HOST:PORT.
        """
        sources = sorted((SOURCES / "administrator").rglob("*.java"))
        classes = compiled("administrator", sources, self.release, self._jars, self._java)
        process = AdministratorProcess("the administrator", Path(tempfile.gettempdir()))
        path = os.pathsep.join(map(str, [classes, *self._jars]))
        await process.start([*self._options, path, "kafkaspec.administrator.Administrator", broker])
        self._stack.push_async_callback(process.stop)
        return process

    async def tool(self, main: str, *arguments: str) -> str:
        """The output of one of the release's own tools, run to its end.

        Args:
            main: its class, such as `kafka.admin.ConfigCommand`.
            arguments: as on its command line.
        """
        path = os.pathsep.join(map(str, self._jars))
        process = await asyncio.create_subprocess_exec(
            *(*self._options, path, main, *arguments), stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
        )
        printed, _ = await process.communicate()
        return printed.decode()

    async def describe_topics(self, broker: str) -> str:
        """The output of kafka-topics.sh of release 3.9.

        Args:
            broker: the HOST:PORT that it contacts.
        """
        return await self.tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", broker, "--describe")

    def _directory(self) -> Path:
        directory = Path(tempfile.mkdtemp(prefix="kafkaspec-"))
        self._stack.callback(shutil.rmtree, directory, ignore_errors=True)
        return directory

    async def _start(self, process: ManagedProcess, *what: str) -> None:
        log4j = process.directory / "log4j.properties"
        log4j.write_text(LOG4J)
        java_command, *options = self._options
        await process.start(
            [
                *(java_command, f"-Dlog4j.configuration=file:{log4j}", *options, self._path),
                *("kafkaspec.replay.Kept", str(process.directory), *what),
            ]
        )
        self._stack.push_async_callback(process.stop)


# The operator.

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
