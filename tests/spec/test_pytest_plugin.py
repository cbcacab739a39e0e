"""Kept traces and pinned instances are pytest tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

OWN = '''
from spec.language import *


class Counts(State):
    count: int = variable("How often.", of=lambda self: integers(0, self.top + 1))


class Counter(Specification[Counts]):
    """A counter with a button."""

    top: int = constant(3, "Where it stops.", at_least=1)
    stops: bool = switch(True, "It stops at the top.")

    @action
    def press(self, s):
        require(s.count < self.top + (not self.stops))
        s.count += 1

    @invariant
    def never_beyond(self, s):
        """It never goes beyond the top."""
        return s.count <= self.top
'''
PINNED = """
[[instance]]
name = "counter, four"
system = "own.py:Counter"
constants = { top = 4 }
verdict = "holds"
distinct_states = 5
generated_states = 5
depth = 5
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project: a specification, and a folder of tests with a saved trace and a pinned instance."""
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "pytest.ini").write_text("[pytest]\nkafkaspec_specs =\n    own.py\n")
    tests = tmp_path / "tests"
    tests.mkdir()
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["spec.pytest_plugin"]\n')
    (tests / "instances.toml").write_text(PINNED)
    kept = ["--without", "stops", "--engine", "reference", "--trace", "tests/beyond.itf.json"]
    program = str(Path(sys.executable).with_name("kafkaspec"))
    subprocess.run([program, "check", "own.py:Counter", *kept], cwd=tmp_path, capture_output=True, check=False)
    return tmp_path


def ran(project: Path, *options: str) -> tuple[int, str]:
    """Run pytest there, and return its exit code and output."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", *options, "tests"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_kept_traces_are_tests(project: Path) -> None:
    """With readable names; from another directory too."""
    (project / "tests" / "another.itf.json").write_text('{"#meta": {"format": "ITF"}, "vars": [], "states": []}')
    code, said = ran(project)
    assert code == 0, said
    assert "tests/beyond.itf.json::follows PASSED" in said
    assert "tests/instances.toml::counter, four PASSED" in said
    assert "2 passed" in said
    kept = project / "tests" / "beyond.itf.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()), indent=2))  # in another tool's layout
    (project / "tests" / "instances.toml").write_text(PINNED.replace(":Counter", ""))  # the file has only one class
    elsewhere = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(project), str(project / "tests")],
        cwd=project.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert elsewhere.returncode == 0, elsewhere.stdout
    assert "2 passed" in elsewhere.stdout


def test_an_outdated_trace_fails_with_one_line(project: Path) -> None:
    """The line has the refused step, or the differing figure; there is no traceback of ours.

    Control characters in a foreign name are escaped.
    """
    own = project / "own.py"
    (project / "tests" / "instances.toml").write_text(PINNED.replace("four", "\\u001b[2J"))
    own.write_text(own.read_text().replace("s.count += 1", "s.count = min(s.count + 2, self.top)"))
    code, said = ran(project)
    assert code == 1
    assert "own.py:Counter: state 2: press() leads elsewhere: count is 2, and was recorded as 1" in said
    assert "  distinct_states is 3, but 5 is pinned" in said
    assert "2 failed" in said
    assert "runtest" not in said
    assert r"counter, \x1b[2J:" in said
    assert "\x1b" not in said


@pytest.mark.long
def test_a_file_names_only_code_that_the_configuration_lists(project: Path) -> None:
    """A foreign trace or instance is refused in one line, and its code is not imported."""
    (project / "other.py").write_text(OWN + "open('ran', 'w').close()\n")
    for kept in ("beyond.itf.json", "instances.toml"):
        file = project / "tests" / kept
        file.write_text(file.read_text().replace("own.py:", "other.py:"))
    code, said = ran(project)
    assert code == 1
    for kept in ("beyond.itf.json", "instances.toml"):
        assert f"{kept} names 'other.py:Counter', which is no system of kafkaspec" in said
    assert not (project / "ran").exists()
    (project / "pytest.ini").write_text("[pytest]\nkafkaspec_specs =\n    other\n    other.py:Another\n")
    assert ran(project)[0] == 0


@pytest.mark.long
def test_a_malformed_file_fails_with_one_line(project: Path) -> None:
    """A truncated trace, an instance without a figure."""
    kept = project / "tests" / "beyond.itf.json"
    kept.write_text(kept.read_text()[:-20])
    code, said = ran(project)
    assert (code, "beyond.itf.json is not JSON: line " in said) == (1, True)
    (project / "tests" / "instances.toml").write_text(PINNED.replace("depth = 5\n", "").replace("four", "\\u202e"))
    code, said = ran(project)
    assert (code, r"instances.toml: instance counter, \u202e: depth is missing" in said) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PINNED + "colour = 3\n", "instance counter, four: colour is unknown; there are broken, constants, "),
        ("[instance]\nname = 1\n", "write [[instance]], with two brackets, above each"),
        ("[[instance]\n", "is not TOML: "),
    ],
    ids=["an unknown key", "one bracket", "no TOML"],
)
def test_a_bad_file_of_instances_is_refused(text: str, said: str, tmp_path: Path) -> None:
    """In one line."""
    from spec.atlas.instances import instances_in
    from spec.language import UsageError

    file = tmp_path / "instances.toml"
    file.write_text(dedent(text))
    with pytest.raises(UsageError) as refused:
        instances_in(file)
    assert str(refused.value).startswith(str(file))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


LOCKED = """
import threading

import pytest
from kazoo.exceptions import ConnectionLoss


def test_a_lock_is_free_when_its_session_ends(zookeeper_in_memory, zookeeper_client):
    one, two = zookeeper_client(), zookeeper_client(timeout=20.0)
    assert one.Lock("/lock", "one").acquire()
    waiting = threading.Thread(target=two.Lock("/lock", "two").acquire)
    waiting.start()
    zookeeper_in_memory.wait_until(lambda: len(zookeeper_in_memory.tree()) == 3)
    zookeeper_in_memory.expire(one)
    waiting.join()
    [lock] = [path for path in zookeeper_in_memory.tree() if "__lock__" in path]
    assert zookeeper_in_memory.tree()[lock].owner == two.client_id[0]


def test_a_reply_is_lost(zookeeper_in_memory, zookeeper_client):
    client = zookeeper_client()
    zookeeper_in_memory.lose_reply(client)
    with pytest.raises(ConnectionLoss):
        client.create("/a")
    assert list(zookeeper_in_memory.tree()) == ["/a"]


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left():
    threads = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - threads:  # kazoo's threads were stopped, but may still be ending
        thread.join(10)
        assert not thread.is_alive()
"""


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    """A user's project with tests of ZooKeeper clients."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["spec.pytest_plugin"]\n')
    (tmp_path / "tests").mkdir()
    return tmp_path


def test_a_zookeeper_in_memory_is_a_fixture(clients: Path) -> None:
    """With kazoo clients and their faults; no thread outlives its test."""
    (clients / "tests" / "test_locked.py").write_text(LOCKED)
    code, said = ran(clients, "-W", "error")
    assert code == 0, said
    assert "2 passed" in said


def test_clients_need_kazoo(clients: Path) -> None:
    """Without it, one line names the extra; the server does not need it."""
    without = 'import sys\nsys.modules["kazoo"] = None\n'
    (clients / "conftest.py").write_text(without + (clients / "conftest.py").read_text())
    (clients / "tests" / "test_fixtures.py").write_text(
        "def test_server(zookeeper_in_memory):\n    assert zookeeper_in_memory.tree() == {}\n"
        "def test_client(zookeeper_client):\n    pass\n"
    )
    code, said = ran(clients)
    assert code == 1
    assert "1 passed, 1 error" in said
    assert "kazoo is not installed: pip install '.[zookeeper]' in the checkout brings it" in said
    assert "Traceback" not in said
    assert "pytest_plugin.py" not in said
