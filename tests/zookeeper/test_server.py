"""The real server: its end is reported, and it leaves no process or file."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from statemachines.zookeeper.frames import Get, Ping
from statemachines.zookeeper.server import Code
from tests.zookeeper.comparison import Tally
from tests.zookeeper.machine import Walk, run
from tests.zookeeper.server import Server, ServerGone
from tests.zookeeper.wire import Connection, Reply

REPOSITORY = Path(__file__).parents[2]


def walk_with(server: Server, blow: signal.Signals) -> None:
    """Take walks, and send the server a signal in one of them."""

    class Doomed(Walk):
        steps = 0

        def meant(self, step: Any) -> Any:
            Doomed.steps += 1
            if Doomed.steps == 100:
                server.process.send_signal(blow)
            return super().meant(step)

    run(Doomed, server, Tally(), 0)


@pytest.mark.usefixtures("java")
def test_the_server_serves_at_once() -> None:
    """Once it exists, it answers."""
    with Server() as server, Connection(server.address, server.patience) as connection:
        [[answer]] = connection.ask(Get("/"))
        assert isinstance(answer, Reply)
        assert answer.code is Code.OK


@pytest.mark.usefixtures("java")
def test_nothing_is_left_running() -> None:
    """No process and no file, though the test has failed."""
    with pytest.raises(ZeroDivisionError), Server() as server:
        raise ZeroDivisionError
    assert server.process.returncode is not None
    assert not server.folder.exists()


@pytest.mark.usefixtures("java")
def test_a_server_that_dies_is_missed_at_once() -> None:
    """In the middle of a walk, with a message that says so."""
    with pytest.raises(ServerGone, match="the ZooKeeper server is gone: Java ended with -9"), Server() as server:
        walk_with(server, signal.SIGKILL)
    assert not server.folder.exists()


@pytest.mark.long
@pytest.mark.usefixtures("java")
def test_a_server_that_hangs_is_not_waited_for() -> None:
    """For longer than the patience that was set."""
    message = "the ZooKeeper server has not answered for 0.5 s"
    with Server(
        patience=10
    ) as server:  # the start may take that long on a busy machine, and so may calls of Java's methods
        server.patience = 0.5
        with pytest.raises(ServerGone, match=message):
            walk_with(server, signal.SIGSTOP)
    assert server.process.returncode == -signal.SIGKILL


KEEPER = """
import sys
from tests.zookeeper.server import Server

with Server() as server:
    print(server.address[1], flush=True)
    sys.stdin.read()
"""


@pytest.mark.usefixtures("java")
def test_the_server_ends_with_its_parent(tmp_path: Path) -> None:
    """Even if we are killed, and cannot end it."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", KEEPER], cwd=REPOSITORY, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as keeper:
        assert keeper.stdout is not None
        with Connection(("127.0.0.1", int(keeper.stdout.readline())), patience=30) as connection:
            connection.ask(Ping())
            keeper.kill()
            connection.until_hung_up()


def test_a_java_that_does_not_start_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its output."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'no such option' >&2\nexit 3\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ServerGone, match="Java ended with 3, and said\nno such option"), Server():
        pass


@pytest.mark.long
def test_without_java_the_tests_are_skipped(tmp_path: Path) -> None:
    """And say why."""
    modules = [str(Path(__file__).with_name(f"test_{name}.py")) for name in ("differential", "kazoo", "mutants")]
    pytest_ = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *modules],
        cwd=REPOSITORY,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "a real ZooKeeper server needs Java, and there is no java on the PATH" in pytest_.stdout
    assert not {"passed", "failed", "error"} & set(pytest_.stdout.split())
