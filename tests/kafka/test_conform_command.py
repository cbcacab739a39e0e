"""`kafkaspec conform`: its output streams and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from spec.kafka.harness import Harness
from tests.tiers import long_unless

COMMAND = str(Path(sys.executable).with_name("kafkaspec"))
CONFORM = [COMMAND, "conform", "controller"]


def asked(*options: str, system: str = "controller", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in this environment."""
    variables: Mapping[str, str] = {**os.environ, **environment}
    return subprocess.run([COMMAND, "conform", system, *options], env=variables, capture_output=True, text=True)


@pytest.mark.long
@pytest.mark.usefixtures("kafka")
def test_conforming_exits_0() -> None:
    """One JSON object, and exit code 0."""
    run = asked("--max-states", "100", "--json", "--set", "brokers=1")
    assert run.returncode == 0, run.stderr
    output = json.loads(run.stdout)
    assert (output["verdict"], output["release"], output["states"]) == ("conforms", "3.9.1", 100)
    assert output["constants"]["brokers"] == 1
    assert output["constants"]["receiving_broker"] is False
    assert output["switches"]["fence_zk"] is True
    assert output["steps"] > output["runs"] == output["classes"] + len(output["divergences"]) > 50
    assert (output["differences"], output["vanished"]) == ([], {})


@pytest.mark.long
@pytest.mark.usefixtures("kafka")
def test_a_deviation_is_printed() -> None:
    """The observed and the specified value, the path, and exit code 12."""
    run = asked("--max-states", "60", "--set", "brokers=1", "--set", "epoch_update=cas_checked", "--release", "3.9.1")
    assert run.returncode == 12, run.stderr
    assert run.stdout.startswith("Differs: controller beside Kafka 3.9.1 (ZooKeeper 3.8.4, Java ")
    assert "brokers.0.doing is ReadEpoch; the specification says CreateController" in run.stdout
    assert "elect(broker=0)" in run.stdout


@pytest.mark.parametrize(
    ("options", "system", "said"),
    long_unless(
        lambda case: case[1] == "replication",
        [
            ([], "replication", "replication: only controller and partitions run beside Kafka's classes"),
            (["--release", "0.10.2"], "controller", "Kafka 0.10.2 cannot run here; "),
            (["--release", "4.0"], "controller", "Kafka 4.0 cannot run here; choose from 0.11.0.3, 1.0.2, 1.1.1"),
            (["--set", "brokers=9"], "controller", "brokers = 9"),
            (["--max-states", "0"], "controller", "Invalid value for '--max-states'"),
            (
                ["--every-edge", "--per-class", "2"],
                "controller",
                "--per-class and --every-edge: --every-edge already",
            ),
        ],
    ),
    ids=["system", "no jars", "no release", "constant", "count", "both"],
)
def test_unavailable_requests_are_refused(options: list[str], system: str, said: str) -> None:
    """One line, on stderr."""
    run = asked(*options, system=system)
    assert run.returncode in (2, 10)
    assert said in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert not run.stdout


def test_a_missing_java_is_reported(tmp_path: Path) -> None:
    """One line, and a JSON object if one was requested."""
    run = asked("--json", JAVA_HOME=str(tmp_path))
    assert run.returncode == 2
    assert run.stderr == f"Error: JAVA_HOME, {tmp_path}, has no bin/java\n"
    assert json.loads(run.stdout) == {"error": f"JAVA_HOME, {tmp_path}, has no bin/java", "exit": 2}


@pytest.mark.long
def test_an_interrupt_exits_130(kafka: Harness) -> None:
    """Exit code 130, one line, and no JVM is left."""
    with subprocess.Popen(CONFORM, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert command.stderr is not None
        first = command.stderr.readline()  # a progress line, so Java runs
        command.send_signal(signal.SIGINT)
        rest, _ = command.stderr.read(), command.wait()
    assert command.returncode == 130, first + rest
    assert rest.splitlines()[-1] == "Error: interrupted; nothing was kept"
