"""Kafka's own replica managers and fetchers carry out commands: stories whose outcome is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pytest

from spec.kafka.data_plane_beside import RELEASES, Case, Command, DataPlane, Step, command
from statemachines.releases import Release
from tests.kafka.conftest import of_each_release

Stepped: TypeAlias = Callable[[str], DataPlane]
"""Returns the brokers of a release."""

pytestmark = pytest.mark.long  # `test_data_plane_beside.py` starts the same Java

NEWEST, *OLDER = RELEASES
BROKERS: Final = (1, 2)

each_release = pytest.mark.parametrize(
    "release", [NEWEST, *(pytest.param(each, marks=pytest.mark.long) for each in OLDER)]
)


@pytest.fixture(scope="module")
def stepped() -> Iterator[Stepped]:
    with of_each_release(DataPlane) as data_plane_of:
        yield data_plane_of


def run(kafka: DataPlane, *parts: Sequence[Command], **settings: Any) -> list[Step]:
    """The steps of two brokers."""
    commands = [each for part in parts for each in part]
    [(_, steps)] = kafka.of([Case(brokers=len(BROKERS), commands=commands, **settings)])
    return steps


def start(*brokers: int) -> list[Command]:
    return [command("start", broker=broker) for broker in brokers]


def lead(leader: int, epoch: int, *, to: Sequence[int] = BROKERS, isr: Sequence[int] = BROKERS) -> list[Command]:
    """Brokers hear who leads; the partition epoch is the leader epoch."""
    epochs = {"leader_epoch": epoch, "partition_epoch": epoch, "controller_epoch": 1}
    known: Mapping[str, Any] = {"leader": leader, "isr": isr, "replicas": BROKERS, "live": BROKERS}
    return [command("leader_and_isr", broker=broker, **epochs, **known) for broker in to]


def append(broker: int, value: str, acks: int) -> list[Command]:
    return [command("append", broker=broker, value=value, acks=acks)]


def fetch(follower: int, leader: int, *does: str) -> list[Command]:
    """Steps of a follower's fetcher; where it has sent already, `send` is impossible and changes nothing."""
    return [command(each, follower=follower, leader=leader) for each in does or ("send", "handle", "deliver")]


STARTED: Final = [*start(*BROKERS), *lead(1, 0)]
"""Both run, 1 leads."""


def values(step: Step, broker: int) -> list[str]:
    return [value for value, _ in step.state["brokers"][str(broker)]["log"]]


@each_release
def test_the_loss_of_kip_101(stepped: Stepped, release: str) -> None:
    """Broker 2 restarts before it hears that m1 is committed, and is elected. Until 0.10 it has cut m1 off."""
    m0_everywhere = [*append(1, "m0", 1), *fetch(2, 1) * 4, command("checkpoint", broker=2)]
    m1_committed = [*append(1, "m1", -1), *fetch(2, 1), *fetch(2, 1, "send", "handle")]
    restart = [command("crash", broker=2), *start(2), *lead(1, 0, to=[2])]
    elected = [command("crash", broker=1), *lead(2, 1, to=[2], isr=[2])]
    back = [*start(1), *lead(2, 1, to=[1], isr=[2]), *fetch(1, 2) * 4, command("consume", broker=2, offset=0)]
    steps = run(stepped(release), STARTED, m0_everywhere, m1_committed, restart, elected, back, unclean=True)
    acknowledged = steps[len(STARTED + m0_everywhere + m1_committed) - 1].state["brokers"]["1"]
    assert (acknowledged["completed"], acknowledged["high_watermark"]) == ([["m1", 1, "NONE"]], 2)
    left = ["m0"] if Release(release) < Release("0.11.0.0") else ["m0", "m1"]
    assert steps[-1].answer == {"error": "NONE", "values": left}
    assert [values(steps[-1], broker) for broker in BROKERS] == [left, left]


@each_release
def test_clean_restart(stepped: Stepped, release: str) -> None:
    """A clean shutdown writes the ends of the log; the log and its high watermark are as before."""
    replicated = [*append(1, "m0", 1), *append(1, "m1", 1), *fetch(2, 1) * 4]
    stop = [command("stop", broker=2)]
    before, stopped, _, after = run(stepped(release), STARTED, replicated, stop, start(2), lead(1, 0, to=[2]))[-4:]
    assert "2" not in stopped.state["brokers"]
    assert stopped.state["files"]["2"]["recovery-point-offset-checkpoint"] == 2
    assert stopped.state["files"]["2"]["replication-offset-checkpoint"] == 2
    seen = ("role", "log", "end_offset", "high_watermark", "leader_epoch")
    assert [after.state["brokers"]["2"][name] for name in seen] == [
        before.state["brokers"]["2"][name] for name in seen
    ]
    assert after.state["brokers"]["2"]["recovery_point"] == 2


@each_release
def test_acks_all_waits(stepped: Stepped, release: str) -> None:
    """The producer waits until the follower's next fetch tells that it has the record."""
    steps = run(stepped(release), STARTED, append(1, "m0", -1), fetch(2, 1) * 3)
    appended = steps[len(STARTED)]
    assert appended.answer == {"offset": None, "error": None}
    told = [(step.state["brokers"]["1"]["waiting"], step.state["brokers"]["1"]["completed"]) for step in steps]
    assert told[len(STARTED)] == (["m0"], [])
    assert told[-1] == ([], [["m0", 0, "NONE"]])


@pytest.mark.parametrize(
    "release",
    [NEWEST, *(pytest.param(each, marks=pytest.mark.long) for each in OLDER if Release(each) >= Release("2.1.0"))],
)
def test_a_fenced_fetch(stepped: Stepped, release: str) -> None:
    """A leader that is in a later epoch fences the follower, which gives up until it hears of that epoch."""
    later = lead(1, 1, to=[1])
    steps = run(stepped(release), STARTED, append(1, "m0", 1), later, fetch(2, 1), lead(1, 1, to=[2]), fetch(2, 1))
    handled, delivered = steps[len(STARTED) + 3 :][:2]
    assert (handled.answer["error"], handled.answer["records"]) == ("FENCED_LEADER_EPOCH", [])
    assert (delivered.state["brokers"]["2"]["failed"], values(delivered, 2)) == (True, [])
    assert (steps[-1].state["brokers"]["2"]["failed"], values(steps[-1], 2)) == (False, ["m0"])


@each_release
def test_a_follower_that_lags_leaves_the_isr(stepped: Stepped, release: str) -> None:
    """The leader asks the controller; until 2.6 it writes the ISR into ZooKeeper.

    Until 3.0, a leader that has asked the controller commits m0 with the next record only (KAFKA-13091).
    """
    asks = Release(release) >= Release("2.7.0")
    shrink = [command("advance", milliseconds=100), command("shrink", broker=1)]
    answer = command("answer_isr", broker=1, error="NONE", isr=[1], leader_epoch=0, partition_epoch=1)
    steps = run(stepped(release), STARTED, append(1, "m0", -1), shrink, [answer] if asks else [], append(1, "m1", 1))
    *_, asked, shrunk, appended = (step.state["brokers"]["1"] for step in steps)
    assert (shrunk["isr"], shrunk["partition_epoch"]) == ([1], 1)
    if asks:
        assert asked["isr_requests"] == [{"isr": [1], "leader_epoch": 0, "partition_epoch": 0}]
        assert (asked["isr"], asked["maximal_isr"], asked["waiting"]) == ([1, 2], [1, 2], ["m0"])
    else:
        assert (steps[-1].state["zookeeper"]["isr"], steps[-1].state["zookeeper"]["partition_epoch"]) == ([1], 1)
    assert shrunk["waiting"] == (["m0"] if asks and Release(release) < Release("3.0.0") else [])
    assert appended["completed"] == [["m0", 0, "NONE"]]


@each_release
def test_a_crash_loses_the_end_of_the_log(stepped: Stepped, release: str) -> None:
    """What the machine had not written is gone; checkpoints stay."""
    lost = [command("checkpoint", broker=1), command("crash", broker=1, keep=1), *start(1)]
    steps = run(stepped(release), STARTED, append(1, "m0", 1), append(1, "m1", 1), fetch(2, 1) * 4, lost)
    assert values(steps[-1], 1) == ["m0"]
    assert steps[-1].state["files"]["1"]["replication-offset-checkpoint"] == 2


@pytest.mark.long
@pytest.mark.parametrize("unclean", [False, True])
@pytest.mark.parametrize("release", [each for each in OLDER if Release(each) < Release("2.0.0")])
def test_a_follower_ahead_of_its_leader(stepped: Stepped, release: str, unclean: bool) -> None:
    """Its fetch is out of range, and it cuts its log at the leader's end, or halts if unclean elections are off."""
    ahead = [*append(1, "m0", 1), *fetch(2, 1) * 3, command("crash", broker=1, keep=0), *start(1), *lead(1, 1)]
    steps = run(stepped(release), STARTED, ahead, fetch(2, 1), fetch(2, 1, "handle", "deliver"), unclean=unclean)
    *_, out_of_range, asks, listed, ends = (step.answer for step in steps)
    assert (out_of_range["error"], asks["request"]["kind"]) == ("OFFSET_OUT_OF_RANGE", "list_offsets")
    assert (listed["error"], listed["offset"]) == ("NONE", 0)
    assert ("halted" in ends, values(steps[-1], 2)) == ((False, []) if unclean else (True, ["m0"]))


@pytest.mark.long
@each_release
def test_the_same_again(stepped: Stepped, release: str) -> None:
    """A case has one outcome; a connection that is lost leaves nothing behind."""
    parts = [STARTED, append(1, "m0", 1), fetch(2, 1, "send", "drop", "send", "handle", "drop"), fetch(2, 1) * 2]
    first = run(stepped(release), *parts)
    assert values(first[-1], 2) == ["m0"]
    assert run(stepped(release), *parts) == first
