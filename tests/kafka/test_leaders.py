"""Leaders' answers to fetches, what they learn from them, and their ISR changes, beside ReplicaManager and Partition.

2.8.0 runs because of later fixes: KAFKA-12996 and KAFKA-13141.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import pytest

from statemachines.broker.in_sync_replicas import UNKNOWN_OFFSET, may_expire
from statemachines.broker.log.leader_epochs import EpochEndOffset, LeaderEpochs
from statemachines.broker.log.truncation import diverging_epoch
from statemachines.changes.receiving import ReceivingChanges
from statemachines.changes.truncating import LOG_START_FIRST, SKIP_DIVERGING_FETCH
from statemachines.messages.control_requests import LeaderAndIsrPartitionState, LeaderAndIsrRequest
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition
from tests.kafka.conftest import RELEASE, Receivers
from tests.kafka.receiver_comparison import BROKER, BROKER_EPOCH, KafkaReceivers, request_written

FOLLOWER = 2
RELEASES = ("2.8.0", "2.8.2", RELEASE)
Command = dict[str, Any]


def lead(epoch: int, isr: Sequence[int], partition: int = 0) -> Command:
    """Broker 1 becomes leader of a partition of brokers 1 and 2."""
    return leader_and_isr(BROKER, epoch, isr, partition)


def leader_and_isr(leader: int, epoch: int, isr: Sequence[int], partition: int = 0) -> Command:
    """Broker 1 receives who leads a partition of brokers 1 and 2."""
    state = LeaderAndIsrPartitionState(
        partition=TopicPartition("t", partition),
        controllerEpoch=1,
        leader=leader,
        leaderEpoch=epoch,
        isr=tuple(isr),
        partitionEpoch=epoch,
        replicas=(BROKER, FOLLOWER),
    )
    request = LeaderAndIsrRequest(
        controllerId=9, controllerEpoch=1, brokerEpoch=BROKER_EPOCH, partitionStates=(state,), liveLeaders=(leader,)
    )
    return {"do": "receive", "topic_ids": {}, **request_written(request)}


def append(count: int = 1, partition: int = 0) -> Command:
    """It writes records."""
    return {"do": "append", "partition": partition, "count": count}


def fetch(offset: int, last_fetched_epoch: int) -> Command:
    """Broker 2 fetches from the end of its log."""
    return {
        "do": "fetch",
        "partition": 0,
        "follower": FOLLOWER,
        "offset": offset,
        "last_fetched_epoch": last_fetched_epoch,
    }


def seen(kafka: KafkaReceivers, cases: Sequence[Sequence[Command]]) -> list[list[Any]]:
    """The observations of each leader after each command."""
    asked = kafka.of("Leaders", cases, lambda case: {"broker_epoch": BROKER_EPOCH, "commands": case}, a_line=10)
    return [answers for _, answers in asked]


class Leader(NamedTuple):
    """A leader whose log has lost its start, and which has written nothing in its own epoch yet."""

    records: tuple[int, ...]
    """Their epochs."""
    epoch: int
    start: int

    @property
    def epochs(self) -> LeaderEpochs:
        """The epochs as it knows them."""
        return LeaderEpochs.of(self.records).assign(self.epoch, len(self.records)).truncate_from_start(self.start)

    def commands(self) -> Iterator[Command]:
        """The commands that bring it there: it was the leader of each epoch."""
        for each in sorted({*self.records, self.epoch}):
            yield lead(each, isr=[BROKER])
            yield append(self.records.count(each))
        yield {"do": "start_at", "partition": 0, "offset": self.start}

    def answer(self, offset: int, epoch: int, release: str) -> EpochEndOffset | Errors | None:
        """Our answer to a fetch."""
        first = LOG_START_FIRST.at(release)
        return diverging_epoch(self.epochs, len(self.records), offset, epoch, self.start, first)


def answered(kafka: KafkaReceivers, most_records: int) -> Iterator[tuple[Leader, int, int, Any, int]]:
    """Each leader with each fetch, Kafka's answer, and the leader's view of its follower's log end after it."""
    leaders = [
        Leader(records, epoch, start)
        for length in range(most_records + 1)
        for records in combinations_with_replacement((0, 1, 3), length)
        for epoch in ({records[-1], 4} if records else {4})
        for start in range(length + 1)
    ]
    fetches = list(product(range(most_records + 2), range(6)))
    cases = [[*leader.commands(), *(fetch(*each) for each in fetches)] for leader in leaders]
    for leader, observed in zip(leaders, seen(kafka, cases), strict=True):
        for (offset, epoch), after in zip(fetches, observed[-len(fetches) :], strict=True):
            yield leader, offset, epoch, _decoded_answer(after), after["led"]["t-0"]["followers"][str(FOLLOWER)]


def _decoded_answer(answer: Any) -> EpochEndOffset | Errors | None:
    if answer["error"] != "NONE":
        return Errors[answer["error"]]
    return EpochEndOffset(*answer["diverging"]) if "diverging" in answer else None


@pytest.mark.parametrize(
    ("release", "most_records"),
    [
        *((release, 2) for release in ("2.8.0", RELEASE)),
        *(pytest.param(release, 3, marks=pytest.mark.long) for release in RELEASES),
    ],
)
def test_every_fetch_equals_kafkas(receivers: Receivers, release: str, most_records: int) -> None:
    """Answers agree, and so does the leader's new knowledge of its follower."""
    counts_diverging = not SKIP_DIVERGING_FETCH.at(release)
    known, differing, compared = {}, [], 0
    for leader, offset, epoch, kafkas, kafka_knows in answered(receivers(release), most_records):
        ours = leader.answer(offset, epoch, release)
        assert kafkas == ours, (leader, offset, epoch)
        if ours is None or (counts_diverging and isinstance(ours, EpochEndOffset)):
            known[leader] = offset
        assert kafka_knows == known.get(leader, UNKNOWN_OFFSET), (leader, offset, epoch)
        compared += 1
        if ours != leader.answer(offset, epoch, "2.8.0" if LOG_START_FIRST.at(release) else RELEASE):
            differing.append((leader, offset))
    assert compared > 500
    assert differing, "the other rule gives the same results"
    assert all(offset < leader.start for leader, offset in differing)


@pytest.mark.parametrize(("release", "high_watermark"), [("2.8.0", 2), ("2.8.2", 1), (RELEASE, 1)])
def test_a_follower_truncates_committed_records(receivers: Receivers, release: str, high_watermark: int) -> None:
    """KAFKA-13141: the follower's log is as long as the leader's, but its last record is another."""
    case = [lead(0, [BROKER]), append(), lead(1, [BROKER, FOLLOWER]), append(), fetch(2, last_fetched_epoch=0)]
    ((*_, last),) = seen(receivers(release), [case])
    assert last["diverging"] == [0, 1]
    assert last["led"]["t-0"]["high_watermark"] == high_watermark


@pytest.mark.parametrize("release", RELEASES)
def test_an_isr_member_that_is_not_a_replica(receivers: Receivers, release: str) -> None:
    """KAFKA-9672: until 2.8 the task that shrinks ISRs fails at such a member and reaches no later partition."""
    replicas, members, stranger = (BROKER, FOLLOWER), [BROKER, FOLLOWER], 7
    for its in (None, *range(4)):
        isrs = {f"t-{each}": [*members, stranger] if each == its else members for each in range(4)}
        led = [lead(0, isr, partition) for partition, isr in enumerate(isrs.values())]
        case = [*led, *(append(partition=partition) for partition in range(4)), {"do": "expire"}]
        ((*_, after),) = seen(receivers(release), [case])
        looked_at = []
        for name in after["led"]:
            if not may_expire(isrs[name], BROKER, replicas, ReceivingChanges.shrink_with_unassigned.at(release)):
                break
            looked_at.append(name)
        assert after["asked"] == {name: [BROKER] for name in looked_at}
        assert ("failed" in after) == (its is not None and release != RELEASE)
