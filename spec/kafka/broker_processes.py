"""Processes of a release: a ZooKeeper server, brokers and an administrator, each a Java that does not outlive us.

    async with Processes("3.9.1") as processes:
        zookeeper = await processes.zookeeper()
        broker = await processes.broker(0, zookeeper.address)
        await broker.value("kafka.controller:type=KafkaController,name=ActiveControllerCount")   # "1"

Each Java reads a pipe of which this process holds the other end (`java/replay/kafkaspec/replay/Kept.java`). When the
pipe ends, also because this process was killed, it removes its directory, if it has one, and halts. All of them
listen on loopback only, on ports of the kernel's choice.
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
from spec.kafka.jars import class_path, locked
from spec.kafka.java import BRIEFLY, java
from spec.kafka.java_sources import SOURCES
from spec.kafka.proxy import Address
from spec.language.errors import EnvironmentFailed

__all__ = ["AdministratorProcess", "BrokerProcess", "ManagedProcess", "LogLine", "Processes", "ZooKeeperProcess"]

OPTIONS: Final = (
    *BRIEFLY,
    "-Xmx384m",
    "-Dzookeeper.4lw.commands.whitelist=*",
    "-Dzookeeper.forceSync=no",  # what is written here may be lost
    "-Dzookeeper.admin.enableServer=false",
)
DETAILED: Final = "kafka.controller"
"""The logger of the controller and its event thread, which tells more than others."""
FORM: Final = re.compile(r"(?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (?P<logger>\S+) - (?P<text>.*)")
"""Of a line of the log, in both bindings of slf4j below."""
SIMPLE: Final = (
    "-Dorg.slf4j.simpleLogger.showThreadName=false",
    f"-Dorg.slf4j.simpleLogger.log.{DETAILED}=debug",
)
UNUSED_BINDING: Final = "logback-"
"""ZooKeeper 3.8 brings it with it; where it is there slf4j would take it."""
LOG4J: Final = f"""
log4j.rootLogger=INFO, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.Target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%p %c - %m%n
log4j.logger.{DETAILED}=DEBUG
"""
"""For releases whose binding is log4j's."""
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
"""Milliseconds for which a broker's session may be silent. While a request of it is held, so are its pings."""
PROPERTIES: Final = "server.properties"
"""The file of a broker's settings, in its directory."""
LONGEST_LINE: Final = 1 << 20
"""Bytes of a line of the log."""


class LogLine(NamedTuple):
    """A line that a process logged."""

    level: str
    logger: str
    text: str

    def __str__(self) -> str:
        return f"{self.level} {self.text} ({self.logger.rpartition('.')[2]})"


class ManagedProcess:
    """A Java that ends with us. What it answers comes on stdout, what it logs on stderr.

    Args:
        name: of what runs in it.
        directory: where it writes. If it does, it is its own, and is removed when we are gone.
        on_log: told each line that it logs.
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
        """End it, at once, as kill -9 does."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        await self._process.wait()
        await self._listening

    async def terminate(self) -> None:
        """Ask it to end, and wait until it has; a broker has its leaders moved first."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        await self._process.wait()
        await self._listening

    async def ended(self) -> EnvironmentFailed:
        """What to say when it has ended; wait for that."""
        await asyncio.wait([self._listening])  # which goes on where this is not waited for any longer
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
        """The attribute Value of the MBean with this name; `absent` if there is none.

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
        """Where it has its logs, each in a directory of its own."""
        return self.directory / "data"


class AdministratorProcess(ManagedProcess):
    """Kafka's own clients, which ask a broker for what an administrator asks for."""

    async def ask(self, request: str) -> str:
        """What came of a request (`java/administrator/kafkaspec/administrator/Administrator.java` has them all).

        Args:
            request: such as `reassign t 2,3`.

        Raises:
            EnvironmentFailed: it has ended.
        """
        return await self._asked(request)


class Processes:
    """The processes of one release, from `__aenter__` to `__aexit__`, whatever happens in between.

    Args:
        release: one whose jars are written down, such as 3.9.1.

    Raises (when it is entered):
        UsageError: there is no Java, no compiler, or a jar cannot be had.
        EnvironmentFailed: what is compiled cannot be kept.
    """

    def __init__(self, release: str) -> None:
        self.release = release

    async def __aenter__(self) -> Self:
        with_java = java()
        jars = [jar for jar in class_path(self.release) if not jar.name.startswith(UNUSED_BINDING)]
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
        """Of this release's own ZooKeeper."""
        return next(each.version for each in locked(self.release) if each.name == "zookeeper")

    async def zookeeper(self) -> ZooKeeperProcess:
        """A ZooKeeper server, which serves.

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
        """A broker, which is being started.

        Args:
            broker: its id.
            zookeeper: where it finds ZooKeeper.
            on_log: told each line that it logs.
            session: milliseconds for which its session may be silent.
            settings: more of its settings, with underscores for dots.
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
        """Start a broker that was stopped, with the logs that it had."""
        await self._start(broker, "broker", str(broker.directory / PROPERTIES))

    async def administrator(self, broker: str) -> AdministratorProcess:
        """An administrator, who asks one broker first; since 2.5; brokers may be of another release.

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
        """What one of the release's own tools prints when it is run to its end.

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
        """What kafka-topics.sh prints, as it comes with 3.9.

        Args:
            broker: the HOST:PORT of the one that is asked.
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
