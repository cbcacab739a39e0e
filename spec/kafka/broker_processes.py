"""Processes of a release: a ZooKeeper server, brokers and an administrator. Each is a JVM that ends with us.

    async with Processes("3.9.1") as processes:
        zookeeper = await processes.zookeeper()
        broker = await processes.broker(0, zookeeper.address)
        await broker.value("kafka.controller:type=KafkaController,name=ActiveControllerCount")   # "1"

Each JVM reads a pipe whose other end this process holds (`java/replay/kafkaspec/replay/Kept.java`). When the pipe
closes, even because this process was killed, the JVM removes its directory, if it has one, and halts. All of them
listen on loopback only, on ports that the kernel chooses.
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
from typing import Final, NamedTuple, Self

from election.ids import BrokerId
from spec.kafka.classes import compiled
from spec.kafka.jars import locked
from spec.kafka.java import BRIEFLY, java
from spec.kafka.java_sources import SOURCES
from spec.kafka.patches import class_path_with
from spec.kafka.proxy import Address
from spec.language.errors import EnvironmentFailed

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
        **settings: object,
    ) -> BrokerProcess:
        """A broker, which may still be starting.

        Args:
            broker: its id.
            zookeeper: the address of its ZooKeeper.
            on_log: receives each line that it logs.
            session: its session timeout in milliseconds.
            settings: further settings, with underscores for dots.
        """
        process = BrokerProcess(f"broker {broker}", self._directory(), on_log)
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
