"""The command: events in their order, exit codes, lines."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spec.cli import kafkaspec
from spec.language.errors import UsageError

DESCRIBED = (
    "Topic: t\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
    "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
    "\tTopic: t\tPartition: 1\tLeader: 3\tReplicas: 3,1\tIsr: 3,1\n"
)


@pytest.fixture
def topics(tmp_path: Path) -> str:
    path = tmp_path / "topics.txt"
    path.write_text(DESCRIBED)
    return str(path)


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(kafkaspec, ["what-if", *arguments], input=given)


def found(result: Result) -> dict[str, object]:
    return dict(json.loads(result.stdout))


def test_events_happen_in_the_order_in_which_they_are_given(topics: str) -> None:
    first = run(topics, "--crash", "1", "--return", "1", "--crash", "3", "--prefer", "--json")
    assert [each["event"] for each in json.loads(first.stdout)["events"]] == [
        "crash of 1",
        "return of 1",
        "crash of 3",
        "election of preferred leaders",
    ]
    assert first.exit_code == 0
    other = run(topics, "--crash=3", "--crash=1", "--json")
    assert [each["event"] for each in json.loads(other.stdout)["events"]] == ["crash of 3", "crash of 1"]
    assert other.exit_code == 12


def test_an_assumption_is_told(topics: str) -> None:
    assert "assumed: alive: 1, 2, 3" in run(topics).stdout
    assert "assumed: alive" not in run(topics, "--live", "1,2,3").stdout


def test_standard_input_will_do() -> None:
    assert run("-", "--crash", "1,3", given=DESCRIBED).exit_code == 12


def test_a_plan_is_read(topics: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"version":1,"partitions":[{"topic":"t","partition":1,"replicas":[2,1]}]}')
    assert "3,1 -> 2,1" in run(topics, "--reassign", str(plan)).stdout


def test_an_older_controller(topics: str) -> None:
    assert found(run(topics, "--release", "2.8.1", "--json"))["release"] == "2.8"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--crash", "one"], "--crash takes brokers, like 1,3, not 'one'"),
        (["--crash", "1,,3"], "--crash takes brokers"),
        (["--crash", "9"], "there is no broker 9; there are 1, 2, 3"),
        (["--isr", "t-0"], "--isr takes TOPIC-PARTITION=BROKERS"),
        (["--isr", "t-0=1", "--isr", "t-0=2"], "are two values"),
        (["--min-isr", "0"], "--min-isr takes a number from 1 on"),
        (["--min-isr", "u=2"], "--min-isr u: there is no such topic"),
        (["--release", "4.0"], "no release is called 4.0"),
        (["--reassign", "/nowhere/plan.json"], "cannot be read"),
        (["--topic", "u"], "there is no topic u"),
    ],
)
def test_mistakes_are_told_in_a_line(topics: str, options: list[str], says: str) -> None:
    result = run(topics, *options)
    assert isinstance(result.exception, UsageError)
    assert says in str(result.exception)
    assert "\n" not in str(result.exception)
