"""The command `what-if`: order of events, exit codes, and printed lines."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.rows import rows
from tests.spec.cli.test_commands import Answer, Ask, ask, run  # noqa: F401 - `ask` is a fixture

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


Asked: TypeAlias = Callable[[str], Answer]


@pytest.fixture
def asked(ask: Ask, topics: str) -> Asked:  # noqa: F811
    """Call the command's entry point for the cluster, with these options."""
    return lambda options: ask("what-if", topics, *options.split())


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.json"
    path.write_text('{"version":1,"partitions":[{"topic":"t","partition":1,"replicas":[2,1]}]}')
    return str(path)


def happened(answer: Answer) -> list[str]:
    return [each["event"] for each in answer.json()["events"]]


def test_events_happen_in_the_given_order(asked: Asked) -> None:
    first = asked("--crash 1 --return 1 --crash 3 --prefer --json")
    assert happened(first) == ["crash of 1", "return of 1", "crash of 3", "election of preferred leaders"]
    assert first.code == 0
    other = asked("--crash=3 --crash=1 --json")
    assert happened(other) == ["crash of 3", "crash of 1"]
    assert other.code == 12


def test_an_assumption_is_printed(asked: Asked) -> None:
    assert "assumed: alive: 1, 2, 3" in asked("").out
    assert "assumed: alive" not in asked("--live 1,2,3").out


def test_a_description_can_come_from_stdin(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(DESCRIBED.encode())))
    assert ask("what-if", "-", "--crash", "1,3").code == 12


def test_a_plan_is_read(asked: Asked, plan: str) -> None:
    assert "3,1 -> 2,1" in asked(f"--reassign {plan}").out


def test_an_older_controller(asked: Asked) -> None:
    assert asked("--release 2.8.1 --json").json()["release"] == "2.8"


@rows(
    "options, code, first",
    [
        ("--crash 1", 0, "1 topic, 2 partitions, brokers 1, 2, 3 alive, controller 1, Kafka 3.9"),
        ("--crash 1,3 -v --steps", 12, "1 topic, 2 partitions, brokers 1, 2, 3 alive"),
        ("--topic t --release 2.8", 0, "1 topic, 2 partitions, brokers 1, 2, 3 alive, controller 1, Kafka 2.8"),
        ("--crash 2 --any-order", 0, "in any order, Kafka 3.9: crash of 2"),
        ("--topic t --crash 3 --isr t-1=3 --any-order", 12, "in any order, Kafka 3.9: crash of 3"),
        ("--crash 2 --failover --any-order --max-states 9", 20, "in any order, Kafka 3.9: crash of 2; controller"),
        ("--create-topic u:2:3 --crash 1", 0, "1 topic, 2 partitions, "),
        ("--create-topic u:2", 2, "Error: --create-topic takes NAME:PARTITIONS:REPLICATION_FACTOR"),
        ("--crash one", 2, "Error: --crash takes brokers, like 1,3, not 'one'"),
        ("--crash 1,,3", 2, "Error: --crash takes brokers"),
        ("--crash 9", 2, "Error: crash of 9: there is no broker 9; there are 1, 2, 3"),
        ("--return 1", 2, "Error: return of 1: broker 1 runs already"),
        ("--return 1 --any-order", 2, "Error: --any-order: these events cannot all happen to t-0"),
        ("--reassign {plan} --crash 2 --any-order", 0, "in any order, Kafka 3.9: reassignment of 1 partition; crash"),
        (
            "--reassign {plan} --prefer --any-order",
            2,
            "Error: t-1 moves; --any-order explores that with --crash",
        ),
        ("--isr t-0", 2, "Error: --isr takes TOPIC-PARTITION=BROKERS"),
        ("--isr t-0=1 --isr t-0=2", 2, "Error: --isr t-0: (1,) and (2,) are different values"),
        ("--min-isr 0", 2, "Error: --min-isr takes a number of at least 1"),
        ("--min-isr u=2", 2, "Error: --min-isr u: there is no such topic"),
        ("--release 4.0", 2, "Error: no release is called 4.0"),
        ("--reassign /nowhere/plan.json", 2, "Error: /nowhere/plan.json cannot be read"),
        ("--topic u", 2, "Error: there is no topic u"),
        ("--max-states 9", 2, "Error: --max-states needs --any-order"),
        ("--steps --any-order", 2, "Error: --steps and --any-order"),
        ("-v --any-order", 2, "Error: --verbose and --any-order"),
        (
            "--unclean-topic t --release 2.0",
            2,
            "Error: unclean elections are permitted for t: this is an event only since 2.1; a controller of ",
        ),
        ("--unclean-default --no-unclean", 2, "Error: --unclean-default and --no-unclean"),
        ("--unclean-default --isr t-1=3 --crash 3", 0, "1 topic, 2 partitions, brokers 1, 2, 3 alive"),
        ("--burn 1", 2, "Error: No such option"),
    ],
)
def test_the_command_has_an_exit_code_and_a_first_line(
    asked: Asked, plan: str, options: str, code: int, first: str
) -> None:
    """The answer is on stdout; a mistake is one line on stderr, and prints nothing more."""
    answer = asked(options.format(plan=plan))
    output, other = (answer.err, answer.out) if code == 2 else (answer.out, answer.err)
    assert (answer.code, other) == (code, "")
    assert output.startswith(first)
    assert code != 2 or output.count("\n") == 1


@rows(
    "options, code, first",
    [
        ("--crash 1,3", 12, "1 topic, 2 partitions"),
        ("--crash 2 --any-order --max-states 9", 20, "in any order, Kafka 3.9: crash of 2"),
        ("--crash 9", 2, "Error: crash of 9: there is no broker 9"),
    ],
)
def test_a_process_prints_the_same(topics: str, options: str, code: int, first: str) -> None:
    answer = run(*f"what-if {topics} {options}".split())
    assert answer.code == code
    assert (answer.err if code == 2 else answer.out).startswith(first)


def test_steps_and_unchanged_partitions_are_printed_on_request(asked: Asked) -> None:
    few, every, steps = (asked(f"--crash 2 {option}").out for option in ("", "-v", "--steps"))
    assert "t-0        1       1,2,3 -> 1,3  online" in few.splitlines()
    assert "t-1" not in few
    assert "t-1        3       3,1           online" in every.splitlines()
    assert "   ZooKeeper: /brokers/topics/t/partitions/0/state: leader 1, epoch 1, ISR 1,3" in steps
    assert "   to broker 1: LeaderAndIsr of t-0" in steps
    assert "ZooKeeper" not in few
    as_json = asked("--crash 2 --steps --json").json()
    assert len(as_json["events"][0]["steps"]) > 3


def test_unclean_elections_have_the_releases_default(asked: Asked) -> None:
    crash = "--isr t-1=3 --live 1,2,3 --crash 3 --release 0.10"
    unsafe, safe = asked(crash), asked(f"{crash} --no-unclean")
    assert "assumed: unclean elections are permitted by default in 0.10.2" in unsafe.out
    assert (unsafe.code, "records may be lost" in unsafe.out) == (0, True)
    assert (safe.code, "assumed: unclean" in safe.out) == (12, False)
