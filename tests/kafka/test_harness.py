"""The harness does or refuses what it is asked; when it ends it says so, and leaves no process."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from spec.kafka.harness import FAMILIES, Harness, Task, release_run
from spec.kafka.java_process import PATIENCE
from spec.language.errors import EnvironmentFailed, UsageError
from statemachines.releases import line_of
from tests.kafka.conftest import RELEASE

REPOSITORY = Path(__file__).parents[2]
UP: list[dict[str, Any]] = [
    {"action": "start", "broker": 0},
    {"action": "connect", "broker": 0, "session": "session-0.0"},
    {"action": "register_broker", "broker": 0},
]


def test_the_release_is_reported(kafka: Harness) -> None:
    """Kafka, ZooKeeper, and Java."""
    assert kafka.about["ready"] == RELEASE
    assert set(kafka.about) == {"ready", "zookeeper", "java"}


def test_observations_are_decoded(kafka: Harness) -> None:
    """After each step, the observation of ZooKeeper and of each broker."""
    answer = kafka.run(Task(2, UP))
    assert not answer.error
    assert [each["brokers"][0]["doing"] for each in answer.seen] == ["Connect", "RegisterBroker", "WatchController"]
    assert answer.seen[-1]["registrations"] == {"0": {"owner": "session-0.0", "number": 1}}
    assert answer.seen[-1]["brokers"][1] == {"doing": "Start"}


def test_runs_are_reproducible(kafka: Harness) -> None:
    """Each task begins with a cluster of its own."""
    assert kafka.run(Task(2, UP)) == kafka.run(Task(2, UP))


def test_a_step_that_is_not_the_next(kafka: Harness) -> None:
    """Kafka is elsewhere, and the error says where."""
    answer = kafka.run(Task(1, [*UP, {"action": "elect", "broker": 0}, *UP]))
    assert "Elect" in answer.error
    assert "WatchController" in answer.error
    assert len(answer.seen) == len(UP) + 1


def test_a_leader_that_tells_who_does_not_watch(kafka: Harness) -> None:
    """A broker that is not controller does not receive a leader's notification."""
    answer = kafka.run(Task(1, [*UP, {"action": "notify_isr_change", "broker": 0}]))
    assert answer.error == "the broker does not watch the children of /isr_change_notification"


def test_a_request_that_was_not_sent(kafka: Harness) -> None:
    """It does not arrive."""
    answer = kafka.run(Task(1, [*UP, {"action": "deliver_request", "epoch": 1}]))
    assert answer.error == "no controller sent a request under epoch 1"


def test_many_tasks_keep_their_order(kafka: Harness) -> None:
    """Java receives some of them before it has answered."""
    tasks = [Task(1, UP[: 1 + number % 3]) for number in range(50)]
    answers = list(kafka.runs(iter(tasks)))
    assert [task for task, _ in answers] == tasks
    assert [len(answer.seen) for _, answer in answers] == [len(task.steps) for task in tasks]


@pytest.mark.long
def test_a_killed_java_is_reported(kafka: Harness) -> None:
    """In the middle of a run: one line, and no wait."""
    with Harness(RELEASE) as doomed:

        def tasks() -> Iterator[Task]:
            for number in range(100):
                if number == 50:
                    os.kill(doomed.pid, signal.SIGKILL)
                yield Task(1, UP)

        with pytest.raises(EnvironmentFailed, match=r"Kafka 3\.9\.1 has ended with -9; nothing was kept$"):
            list(doomed.runs(tasks()))


def test_an_ended_java_is_reported(kafka: Harness) -> None:
    """A request fails at once, and unwritten input does not fail again on close."""
    with Harness(RELEASE) as doomed:
        os.kill(doomed.pid, signal.SIGKILL)
        os.waitid(os.P_PID, doomed.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(EnvironmentFailed, match="has ended with -9"):
            list(doomed.runs(iter([Task(1, UP)])))


@pytest.mark.long
def test_a_java_that_is_killed_with_much_to_do(kafka: Harness) -> None:
    """Its pending answers are not awaited."""
    with Harness(RELEASE) as doomed:

        def tasks() -> Iterator[Task]:
            os.kill(doomed.pid, signal.SIGSTOP)
            yield from [Task(1, UP)] * 5
            os.kill(doomed.pid, signal.SIGKILL)

        began = monotonic()
        with pytest.raises(EnvironmentFailed, match="has ended with -9"):
            list(doomed.runs(tasks()))
        assert monotonic() - began < PATIENCE / 2


@pytest.mark.long
def test_a_slow_java_times_out(kafka: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """It receives no further question even if it would answer: the answer might be to an earlier question."""
    with Harness(RELEASE) as doomed:
        os.kill(doomed.pid, signal.SIGSTOP)
        monkeypatch.setattr("spec.kafka.java_process.PATIENCE", 0.1)
        with pytest.raises(EnvironmentFailed, match=r"has not answered for 0 s; nothing was kept$"):
            doomed.run(Task(1, UP))
        monkeypatch.undo()
        os.kill(doomed.pid, signal.SIGCONT)
        for _ in range(2):
            with pytest.raises(EnvironmentFailed, match="has not answered in time, and receives no further question"):
                doomed.run(Task(1, UP[:1]))


@pytest.mark.long
def test_malformed_input_is_reported(kafka: Harness) -> None:
    """It ends, and the error has its last words."""
    with Harness(RELEASE) as doomed, pytest.raises(EnvironmentFailed, match=r"has ended with 2 \(malformed: "):
        doomed.run(Task(1, [{"action": "start", "broker": 7}]))


KEEPER = """
import sys
from spec.kafka.state_machines_beside import RealController
from spec.kafka.harness import Harness

with {"Harness": Harness, "RealController": RealController}[sys.argv[1]](sys.argv[2]) as java:
    print(java.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("of", [pytest.param("Harness", marks=pytest.mark.long), "RealController"])
def test_java_ends_with_its_parent(kafka: Harness, of: str) -> None:
    """Even if we are killed, and cannot end it."""
    with subprocess.Popen(
        [sys.executable, "-c", KEEPER, of, RELEASE], cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as keeper:
        assert keeper.stdout is not None
        java = os.pidfd_open(int(keeper.stdout.readline()))
        keeper.kill()
        assert has_ended(java, seconds=30)


def has_ended(process: int, seconds: float) -> bool:
    """Whether a process, given by its file descriptor, ends in time."""
    try:
        return bool(select.select([process], [], [], seconds)[0])
    finally:
        os.close(process)


def test_the_release_of_a_line() -> None:
    """The release of the line that has a lock file."""
    assert release_run("3.9") == release_run("3.9.0") == release_run("3.9.1") == RELEASE


@pytest.mark.parametrize("line", [line for lines in FAMILIES.values() for line in lines])
def test_each_line_that_is_run_has_its_jars(line: str) -> None:
    """They are in a lock file."""
    assert line_of(release_run(line)) == line


def test_a_harness_of_a_release_that_is_not_run() -> None:
    """It is not created: 2.4.1 has a lock file, but its controller was not seen to follow the specification."""
    with pytest.raises(UsageError, match=r"^Kafka 2\.4\.1 cannot run here"):
        Harness("2.4.1")


@pytest.mark.parametrize("name", ["0.10.1", "2.4", "4.0", "x"])
def test_a_release_that_is_not_run(name: str) -> None:
    """The error names those that can run."""
    with pytest.raises(UsageError, match=f"^Kafka {name} cannot run here; .*3.9.1$"):
        release_run(name)
