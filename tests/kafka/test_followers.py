"""A follower that learns where its log diverges, beside ReplicaFetcherThread over real logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from statemachines.broker.log.leader_epochs import EpochEndOffset
from statemachines.broker.log.replica_log import Record, ReplicaLog
from statemachines.broker.log.truncation import kip_279
from statemachines.changes.truncating import MATCH_FETCH_EPOCH
from statemachines.messages.control_requests import UpdateMetadataRequest
from tests.kafka.conftest import RELEASE, Receivers
from tests.kafka.receiver_comparison import BROKER, BROKER_EPOCH, KafkaReceivers, request_written
from tests.kafka.test_leaders import Command, append, leader_and_isr

LEADER = 2
RELEASES = ("2.8.0", RELEASE)
ALIVE: Command = {
    "do": "receive",
    "topic_ids": {},
    **request_written(UpdateMetadataRequest(9, 1, BROKER_EPOCH, (), (BROKER, LEADER))),
}


def fetch(epoch: int, end_offset: int, log_start: int = 0, meanwhile: Sequence[Command] = ()) -> Command:
    """Broker 1 fetches from broker 2, which answers that the logs of partition 0 diverge there."""
    return {
        "do": "fetch",
        "leader": LEADER,
        "partition": 0,
        "diverging": [epoch, end_offset],
        "log_start": log_start,
        "meanwhile": meanwhile,
    }


def follows(epochs: Sequence[int], epoch: int, partition: int = 0) -> Iterator[Command]:
    """Broker 1 wrote records in these leader epochs, and follows broker 2 in a later one."""
    for each in sorted({*epochs}):
        yield leader_and_isr(BROKER, each, (BROKER, LEADER), partition)
        yield append(epochs.count(each), partition)
    yield leader_and_isr(LEADER, epoch, (BROKER, LEADER), partition)


def last_seen(kafka: KafkaReceivers, cases: Sequence[Sequence[Command]]) -> list[Any]:
    """The last observation of each follower."""
    asked = kafka.of("Followers", cases, lambda case: {"broker_epoch": BROKER_EPOCH, "commands": case}, a_line=10)
    return [answers[-1] for _, answers in asked]


@pytest.mark.parametrize("release", [RELEASE, pytest.param("2.8.0", marks=pytest.mark.long)])
def test_every_answer_equals_kafkas(receivers: Receivers, release: str) -> None:
    """It truncates its log by the rule, in the first round."""
    answers = product(range(4), range(3))
    asked = [(log, EpochEndOffset(*answer)) for log, answer in product([(0, 0), (0, 1), (1, 3)], answers)]
    cases = [[ALIVE, *follows(log, 4), fetch(*answer)] for log, answer in asked]
    for (log, answer), seen in zip(asked, last_seen(receivers(release), cases), strict=True):
        ours = kip_279(ReplicaLog(tuple(Record(offset, epoch) for offset, epoch in enumerate(log))), answer)
        assert seen == {"log_ends": {"t-0": min(ours.offset, len(log))}, "failed": []}, (log, answer)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("follows_more", [True, False])
def test_an_answer_that_arrives_two_leader_epochs_later(
    receivers: Receivers, release: str, follows_more: bool
) -> None:
    """KAFKA-18991: the follower obeys it until 3.9.0, if the fetcher has survived for another partition."""
    more = follows([0], 1, partition=1) if follows_more else ()
    meanwhile = [leader_and_isr(BROKER, 2, [BROKER]), leader_and_isr(LEADER, 3, (BROKER, LEADER))]
    case = [ALIVE, *more, *follows([0], 1), fetch(0, 0, meanwhile=meanwhile)]
    (seen,) = last_seen(receivers(release), [case])
    obeyed = follows_more and not MATCH_FETCH_EPOCH.at(release)
    assert seen["log_ends"]["t-0"] == (0 if obeyed else 1)


def test_a_log_start_beyond_its_own_end(receivers: Receivers) -> None:
    """KAFKA-12996: such an answer, which leaders give until 2.8.0, ends the fetching of the partition."""
    case = [ALIVE, *follows([0], 1), fetch(0, 5, log_start=3)]
    (seen,) = last_seen(receivers("2.8.0"), [case])
    assert seen == {"log_ends": {"t-0": 1}, "failed": ["t-0"]}
