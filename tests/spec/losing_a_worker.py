"""A standalone cluster loses a worker in the middle of a level, with all of the worker's data.

A process has one Spark session, and the tests have theirs. So this program is a process of its own, and fails loudly.

python -m tests.spec.losing_a_worker DIRECTORY
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import Queue
from select import poll
from threading import Thread
from typing import TYPE_CHECKING

from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine
from tests.spec.checking.spark.test_engine import comparable, exploration, explored
from tests.spec.toys import Announcing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 300
"""A limit in seconds for everything that a test waits for."""


class Daemon:
    """A process of the cluster, with all processes that it starts."""

    def __init__(self, program: str, *arguments: str, says: str, home: Path):
        import pyspark

        package = Path(pyspark.__file__).parent
        command = [str(package / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}", *arguments]
        environment = {
            **os.environ,
            "SPARK_HOME": str(package),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "XDG_CACHE_HOME": str(home / "cache"),
        }
        environment.pop("PYTHONPATH", None)  # the workers must import the packages that Spark sent them
        self.process = subprocess.Popen(
            command,
            cwd=home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        heard: Queue[str] = Queue()
        self.listener = Thread(target=self._listen, args=(says, heard))
        self.listener.start()
        self.said = heard.get(timeout=PATIENCE)
        assert says in self.said, "".join(self.lines)

    def _listen(self, says: str, heard: Queue[str]) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                self.lines.append(line)
                if says in line:
                    heard.put(line)
        heard.put("")

    def members(self) -> list[int]:
        """Return the living processes of its session, which includes all descendants."""
        found = []
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            with suppress(ProcessLookupError, FileNotFoundError):
                alive = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
                if alive and os.getsid(pid) == self.process.pid:
                    found.append(pid)
        return found

    def kill(self) -> None:
        """Kill all of them, starting with the one that might start others."""
        while members := self.members():
            handles = []
            for pid in sorted(members, key=lambda pid: pid != self.process.pid):
                with suppress(ProcessLookupError):
                    handles.append(os.pidfd_open(pid))
                    signal.pidfd_send_signal(handles[-1], signal.SIGKILL)
            for handle in handles:
                dying = poll()
                dying.register(handle)
                dying.poll(PATIENCE * 1000)
                os.close(handle)
        self.process.wait(PATIENCE)
        self.listener.join(PATIENCE)


@contextmanager
def cluster(home: Path) -> Iterator[tuple[SparkSession, list[Daemon]]]:
    """A master, two workers of one core each, and a session on them."""
    from pyspark.sql import SparkSession

    local = ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as until_done:
        master = Daemon("master.Master", *local, "--port", "0", says="Starting Spark master at", home=home)
        until_done.callback(master.kill)
        url = master.said.split()[-1]
        workers = []
        for number in range(2):
            room = ["--cores", "1", "--memory", "600m", "--work-dir", str(home / f"worker{number}")]
            worker = Daemon("worker.Worker", *local, *room, url, says="Successfully registered", home=home)
            until_done.callback(worker.kill)
            workers.append(worker)
        builder = SparkSession.builder.master(url).appName("kafkaspec-test")
        for name, value in {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "500m",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE}s",
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        until_done.callback(session.stop)
        yield session, workers


def lose_a_worker(home: Path) -> None:
    """The result is complete, and no process is left."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    with cluster(home) as (session, workers), socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        toy = Announcing(walkers=4, length=5, driver=os.getpid(), port=server.getsockname()[1])

        def kill_who_announces() -> Daemon:
            connection, _ = server.accept()
            with connection:
                announced = int(connection.recv(100))
                doomed = next(worker for worker in workers if announced in worker.members())
                doomed.kill()
            server.close()  # so that the next worker is not killed
            return doomed

        with ThreadPoolExecutor(1) as pool:
            killed = pool.submit(kill_who_announces)
            engine = SparkEngine(home / "run", session=session, driver_level=0, buckets=5)
            try:
                found = exploration(engine, toy)
            finally:
                with suppress(OSError):  # it is closed after a kill
                    server.shutdown(socket.SHUT_RDWR)
            assert killed.result().members() == []
        assert comparable(found) == explored(ReferenceEngine(), toy)
        assert found.jobs is not None
        assert found.jobs.levels == found.statistics.depth
    assert [worker.members() for worker in workers] == [[], []]


if __name__ == "__main__":
    lose_a_worker(Path(sys.argv[1]))
