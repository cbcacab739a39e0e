"""`kafkaspec replay`: real brokers do what the specification says, or the report says where not; nothing is left."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from spec.checking import check
from spec.kafka.broker_processes import Processes
from spec.kafka.broker_replay import replay
from spec.kafka.jars import class_path, releases
from spec.kafka.java import java
from spec.kafka.proxy import RequestFrame
from spec.kafka.script import Script, actions_of, script_of
from spec.language import Step
from spec.language.errors import UsageError
from spec.systems.controller import ClusterAtWork, ControllerLife
from statemachines.controller.threads import ControllerStep
from statemachines.releases import Release
from tests.tiers import long_unless

COMMAND = str(Path(sys.executable).with_name("kafkaspec"))
NEWEST, WITHOUT_K1 = "3.9.1", "1.0.2"
SINCE_1_1 = [each for each in releases() if Release(WITHOUT_K1) < Release(each) < Release(NEWEST)]
"""The other releases that have the anomaly."""
SOON = 60.0
"""Seconds in which a process must end."""


@pytest.fixture(scope="module")
def processes() -> None:
    """Java with its compiler, and the jars; without them the tests are skipped."""
    try:
        assert java().compiler
        for release in (NEWEST, WITHOUT_K1):
            class_path(release)
    except UsageError as missing:
        pytest.skip(str(missing))


def asked(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in this environment."""
    return subprocess.run(
        [COMMAND, "replay", *arguments], env={**os.environ, **environment}, capture_output=True, text=True
    )


@pytest.mark.long
@pytest.mark.usefixtures("processes")
def test_k1_is_reproduced_on_brokers(tmp_path: Path) -> None:
    """On 3.9.1: step by step with the broker's log, and at the end there is no controller."""
    run = asked("K1", "--on", NEWEST, "--afterwards", "1", TMPDIR=str(tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith("K1 on Kafka 3.9.1 (ZooKeeper 3.8.4, Java ")
    in_order = [
        *("Its specification: controller_exists is violated, in 15 states", "2  start(broker=0)"),
        *("8  register_controller(broker=0", "broker 0 sends multi: create /controller, setData /controller_epoch"),
        *("broker 0 hears NodeCreated /controller", "9  operator_deletes_controller()"),
        *("13  handle_event(broker=0)   ControllerChange", "14  watch_controller(broker=0)"),
        *("ZooKeeper answers NONODE", "15  maybe_resign(broker=0)   there is none: it resigns"),
        "broker 0 logs INFO [Controller id=0] Resigned (KafkaController)",
    ]
    place = 0
    for each in in_order:
        place = run.stdout.find(each, place)
        assert place >= 0, each
    assert rows(run.stdout) == {
        "/controller": ("absent", "absent"),
        "/controller_epoch": ("1", "1"),
        "/brokers/ids/0": ("by its session", "by its session"),
        "broker 0: session": ("CONNECTED", "CONNECTED"),
        "broker 0: ActiveControllerCount": ("0", "0"),
        "broker 0: watch on /controller": ("armed", "armed"),
    }
    last = "As specified: K1 happens on Kafka 3.9.1; no further request for 1 s"
    assert run.stdout.splitlines()[-1] == last
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.usefixtures("processes")
def test_k1_is_absent_when_fixed(tmp_path: Path) -> None:
    """On 1.0.2, whose listener puts a Reelect: after the same interference there is a controller."""
    run = asked("K1", "--on", "1.0", "--afterwards", "1", "--json", TMPDIR=str(tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr
    output = json.loads(run.stdout)
    assert (output["release"], output["specified"], output["happens"]) == (WITHOUT_K1, "holds", False)
    assert (output["as_specified"], output["departure"], output["afterwards"]) == (True, "", 1.0)
    assert output["versions"]["zookeeper"] == "3.8.4"
    compared = {each["what"]: (each["specified"], each["seen"]) for each in output["compared"]}
    assert compared["/controller"] == ("broker 0", "broker 0")
    assert compared["/controller_epoch"] == ("3", "3")
    assert compared["broker 0: ActiveControllerCount"] == ("1", "1")
    actions = [each["action"] for each in output["steps"]]
    assert actions.count("operator_deletes_controller") == 2
    assert actions[-1] == "handle_event"
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("release", ["2.1.1", NEWEST])
def test_k1_with_two_brokers(release: str, tmp_path: Path) -> None:
    """One loses the race to another whose session ends; its log announces another election, which never comes."""
    run = asked("K1a", "--on", release, "--afterwards", "1", TMPDIR=str(tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr
    assert "ZooKeeper answers BADVERSION" in run.stdout
    assert "just resigned, this will result in another round of election" in run.stdout
    assert rows(run.stdout)["/controller"] == ("absent", "absent")
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("release", SINCE_1_1)
def test_k1_on_other_releases(release: str) -> None:
    """It happens since 1.1, where the handler of a creation puts a ControllerChange instead of a Reelect."""
    script = script_of("K1", release)
    assert script.happens
    outcome = replay(script, afterwards=1)
    assert outcome.as_specified, outcome


OTHERS = {
    "zombie": ("B4", "2.0.1", True, {"/controller_epoch": "2", "the partition's state": "of epoch 1, at version 1"}),
    "zombie, fenced": (
        "B4",
        NEWEST,
        False,
        {"/controller_epoch": "2", "the partition's state": "of epoch 0, at version 0"},
    ),
    "lost reply": (
        "B20",
        WITHOUT_K1,
        True,
        {"/controller_epoch": "2", "the partition's state": "of epoch 1, at version 1"},
    ),
    "lost reply, checked": ("B20", "1.1.1", False, {"/controller_epoch": "1"}),
    "failed failover": ("B24", NEWEST, True, {"/controller": "absent", "broker 0: ActiveControllerCount": "0"}),
    "deletes another's node": (
        "B43",
        "1.1.1",
        True,
        {"/controller": "absent", "broker 1: ActiveControllerCount": "1"},
    ),
    "deletes its own": ("B43", "2.1.1", False, {"/controller": "broker 1", "broker 1: ActiveControllerCount": "1"}),
    "one failing request": (
        "K1b",
        "1.1.1",
        True,
        {"/controller": "absent", "broker 0: watch on /controller": "armed"},
    ),
    "one failing request, since 2.1": ("K1b", "2.1.1", False, {"/controller": "broker 0"}),
}
"""Other anomalies, on a release that has each and on one that does not, with the final observations."""


@pytest.mark.long
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(("name", "release", "happens", "seen"), OTHERS.values(), ids=OTHERS)
def test_other_anomalies(name: str, release: str, happens: bool, seen: dict[str, str], tmp_path: Path) -> None:
    """Failing requests, lost replies, a partition whose leader is dead."""
    run = asked(name, "--on", release, "--afterwards", "1", TMPDIR=str(tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr
    how = "happens" if happens else "does not happen"
    assert run.stdout.splitlines()[-1].startswith(f"As specified: {name} {how} on Kafka {release}")
    assert {what: of for what, (_, of) in rows(run.stdout).items() if what in seen} == seen
    assert not list(tmp_path.iterdir())


def of_another_kafka(script: Script) -> Script:
    """The same, by the specification of a Kafka that never existed: it elects if there is no controller."""
    subject = type(script.specification).of_release(
        "3.9", **{**script.anomaly.constants, "elect_if_none": True, "elections": 5}
    )
    result = check(subject, properties=[script.anomaly.property], max_depth=3)
    start, delete = (step for step in script.interference)
    return replace(script, specification=subject, result=result, steps=(), interference=(start, delete))


@pytest.mark.long
@pytest.mark.usefixtures("processes")
def test_kafka_goes_another_way() -> None:
    """The report says where: what the specification expects, and what did not come."""
    script = of_another_kafka(script_of("K1", NEWEST))
    outcome = replay(script, afterwards=0, patience=15)
    assert (outcome.as_specified, outcome.exit_code) == (False, 12)
    assert outcome.steps[-1].step == Step("maybe_resign", {"broker": 0})
    assert str(outcome).splitlines()[-1] == "Differs: no broker sends a request, for 15 s"


class Mute(ControllerLife):
    """Brokers do not read who is controller."""

    def can_ask(self, s: ClusterAtWork, broker: int, do: ControllerStep) -> bool:
        return do is not ControllerStep.MaybeResign and super().can_ask(s, broker, do)


@pytest.mark.long
@pytest.mark.usefixtures("processes")
def test_kafka_asks_for_more() -> None:
    """The report includes a request after the last step, if the specification expects none."""
    script = script_of("K1", NEWEST)
    mute = Mute(**script.specification.valuation)
    outcome = replay(replace(script, specification=mute, steps=script.steps[:-1]), afterwards=SOON)
    assert outcome.departure == (
        "broker 0 sends getData /controller with a watch; the specification expects no further request"
    )


@pytest.mark.long
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all_processes(tmp_path: Path, by: signal.Signals) -> None:
    """One line, exit code 130, and no process is left."""
    with running(tmp_path) as (command, ends):
        command.send_signal(by)
        _, said = command.communicate(timeout=SOON)
        assert (
            said.strip().splitlines()[-1] == "Error: interrupted; nothing was kept"
        )  # after progress, if it is slow
        assert command.returncode == 130
        assert all(has_ended(end) for end in ends)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.usefixtures("processes")
def test_a_kill_ends_all_processes(tmp_path: Path) -> None:
    """Nobody stops the processes, and still none is left, nor their files."""
    with running(tmp_path) as (command, ends):
        command.kill()
        assert all(has_ended(end) for end in ends)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(("victim", "name"), [(0, "ZooKeeper"), (1, "broker 0")])
def test_a_process_that_is_killed(tmp_path: Path, victim: int, name: str) -> None:
    """One line, exit code 74, and the other process ends as well."""
    with running(tmp_path) as (command, ends):
        signal.pidfd_send_signal(ends[victim], signal.SIGKILL)
        _, said = command.communicate(timeout=SOON)
        assert re.fullmatch(rf"Error: {name} has ended with -9( \(.*\))?; nothing was kept\n", said)
        assert command.returncode == 74
        assert all(has_ended(end) for end in ends)
    assert not list(tmp_path.iterdir())


@contextmanager
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """The command during a replay, with the file descriptors of its processes: ZooKeeper and a broker."""
    with subprocess.Popen(
        [COMMAND, "replay", "K1", "--on", NEWEST, "--afterwards", "600"],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout is not None
        ends = list[int]()
        for line in command.stdout:
            if found := re.search(r"is process (\d+)$", line):
                ends.append(os.pidfd_open(int(found[1])))
            if "8  register_controller" in line:
                break
        try:
            yield command, ends
        finally:
            command.kill()
            for end in ends:
                os.close(end)


def has_ended(process: int) -> bool:
    """Whether a process, by its file descriptor, ends in time."""
    return bool(select.select([process], [], [], SOON)[0])


def rows(output: str) -> dict[str, tuple[str, str]]:
    """The final table: the value, as specified, and as observed."""
    cells = [re.split(r" {2,}", line.strip()) for line in output.splitlines() if re.match(r"  [/bt]", line)]
    return {what: (specified, seen) for what, specified, seen in cells}


@pytest.mark.parametrize(
    ("arguments", "said"),
    long_unless(
        lambda case: len(case[0]) == 1,
        [
            (["B1", "--on", NEWEST], "Error: B1 cannot be replayed; choose from B4, B20, B24, B43, K1, K1a, K1b"),
            (["K1a", "--on", "2.0"], "Error: K1a can be replayed since Kafka 2.1"),
            (["B99", "--on", NEWEST], "Error: no anomaly is called B99; there are "),
            (["K1", "--on", "0.11"], "Error: K1 can be replayed since Kafka 1.0"),
            (["K1", "--on", "0.10.2"], "Error: Kafka 0.10.2 cannot run here; choose from 0.11.0.3, 1.0.2, "),
            (["K1", "--on", "4.0"], "Error: no release is called 4.0; there are "),
            (["K1"], "Error: K1 is an anomaly: name a release of Kafka"),
            (["K1", "--on", NEWEST, "--afterwards", "-1"], "Error: Invalid value for '--afterwards'"),
        ],
    ),
    ids=["no mapping", "no steps", "no anomaly", "too old", "no jars", "no release", "no option", "negative"],
)
def test_unavailable_requests_are_refused(arguments: list[str], said: str) -> None:
    """One line, and exit code 2."""
    run = asked(*arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(said)
    assert len(run.stderr.splitlines()) == 1


def test_a_missing_java_is_reported(tmp_path: Path) -> None:
    """One line, and a JSON object if one was requested."""
    run = asked("K1", "--on", NEWEST, "--json", JAVA_HOME=str(tmp_path))
    assert run.returncode == 2
    assert run.stderr == f"Error: JAVA_HOME, {tmp_path}, has no bin/java\n"
    assert json.loads(run.stdout) == {"error": f"JAVA_HOME, {tmp_path}, has no bin/java", "exit": 2}


def test_the_script_of_a_counterexample() -> None:
    """If the anomaly happens, the brokers do exactly its steps."""
    script = script_of("K1", "3.9")
    assert (script.release, script.happens, len(script.steps), script.prelude) == (NEWEST, True, 14, ())
    assert [step.action for step in script.interference] == ["start", "operator_deletes_controller"]


def test_a_release_is_known_by_its_line() -> None:
    """As elsewhere."""
    assert script_of("K1", "3.9.0").release == NEWEST


@pytest.mark.usefixtures("processes")
def test_zookeeper_release_is_the_one_kafka_ships() -> None:
    """The one whose jar comes with the release of Kafka."""
    assert [Processes(release).zookeeper_version for release in (NEWEST, WITHOUT_K1)] == ["3.8.4", "3.8.4"]


def test_requests_without_a_step() -> None:
    """The specification does not have them."""
    assert actions_of(RequestFrame(1, "getData", "/feature", watch=True)) == ()
    assert actions_of(RequestFrame(1, "create", "/brokers/ids")) == ()
    assert actions_of(RequestFrame(1, "getData", "/brokers/ids/0")) == ()
    assert actions_of(RequestFrame(1, "create", "/brokers/ids/0")) == ("register_broker",)
