"""A broker that receives a controller's requests beside Kafka's own: generated sequences of commands.

Each rule has a transcript (`tests/transcripts/broker`).

Kafka's side is KafkaApis with a ReplicaManager and a LogManager on real directories, of eight releases. After each
command these are equal: the response, with the error of each partition; the partitions that the broker begins to lead
or to follow; the newest controller epoch; each partition's leader, epochs, ISR and assignment, or that it is offline;
the broker that each is fetched from, and the epoch; the existing logs; the metadata cache.

Deliberate disagreements; tests show that each still exists:

    topic ids           are left out here: every request counts as having the ids that its topics always had. In
                        Kafka, another id is INCONSISTENT_TOPIC_ID; a first id is accepted in the same leader epoch;
                        without ids, the request that gives a replica without log its own epoch is stale
    no leader epoch     is sent by no controller; until 2.8 the response is that to an older one
    an empty directory  is left if a configuration is not read; after a restart it is a log, here there is none
    hash maps           decide the order in which Kafka handles partitions, which shows if a request is cut short
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from statemachines.releases import Release
from tests.kafka.conftest import Receivers
from tests.kafka.receiver_comparison import (
    BROKER,
    OLDER,
    RELEASE,
    Command,
    KafkaReceivers,
    Observation,
    Receive,
    all_asked,
    as_of,
    asked,
    compare,
    ours_of,
)
from tests.kafka.receiver_sequences import Drawing
from tests.transcripts.brokers import commands_of
from tests.transcripts.transcript import parsed

LENGTH = 15
CHOICES = 512
"""The approximate maximum of choices in a sequence."""
LONG = int(os.environ.get("RECEIVER_SEQUENCES", 500))
"""The number of sequences in the long test."""
OUTCOMES = {
    "NONE",
    "STALE_BROKER_EPOCH",
    "STALE_CONTROLLER_EPOCH",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "FENCED_LEADER_EPOCH",
    "KAFKA_STORAGE_ERROR",
    "NOT_LEADER_OR_FOLLOWER",
    "UNKNOWN_SERVER_ERROR",
    "led",
    "followed",
    "not fetched",
    "offline",
    "kept without log",
    "log without replica",
    "forgotten",
}
"""Events that many sequences produce: proof that they reach everywhere."""
SINCE = {"NOT_LEADER_OR_FOLLOWER": "3.0.0", "FENCED_LEADER_EPOCH": "2.6.0", "STALE_BROKER_EPOCH": "2.2.0"}
"""Events that older releases do not produce, with the first release that does."""


def commands_from(choices: bytes) -> list[Command]:
    """The sequence of these choices, which Hypothesis can simplify; after the last choice, the simplest ones."""
    remaining = iter(choices)
    return Drawing(lambda below: next(remaining, 0) % below).sequence(LENGTH)


def drawn(seed: int, count: int, release: str = RELEASE) -> Iterable[list[Command]]:
    """So many sequences; each is `Drawing(Random(f"{seed} {number}").randrange, release).sequence(15)`."""
    return (
        as_of(release, Drawing(Random(f"{seed} {number}").randrange, release).sequence(LENGTH))
        for number in range(count)
    )


# Generated.


def test_the_broker_equals_kafkas(receiver: KafkaReceivers, first_seed: int) -> None:
    """Thirty of 15 commands; a failing one is simplified."""
    print(f"seed {first_seed}")

    @seeded(first_seed)
    @settings(max_examples=30, database=None)
    @given(st.binary(min_size=CHOICES, max_size=CHOICES).map(commands_from))
    def both_agree(sequence: list[Command]) -> None:
        compare(*asked(receiver, *sequence))

    both_agree()


@pytest.mark.long
def test_the_broker_equals_kafkas_in_many_sequences(receiver: KafkaReceivers, first_seed: int) -> None:
    """They produce every possible event."""
    print(f"seed {first_seed}")
    assert OUTCOMES - agreed(receiver, first_seed, LONG) == set()


@pytest.mark.long
@pytest.mark.parametrize("release", OLDER)
def test_the_broker_equals_kafkas_in_older_releases(receivers: Receivers, release: str, first_seed: int) -> None:
    """A handful."""
    print(f"seed {first_seed}")
    agreed(receivers(release), first_seed, 10)


@pytest.mark.long
@pytest.mark.parametrize("release", OLDER)
def test_the_broker_equals_kafkas_in_many_sequences_of_older_releases(
    receivers: Receivers, release: str, first_seed: int
) -> None:
    """They produce every event that the release has."""
    print(f"seed {first_seed}")
    not_met = {what for what, first in SINCE.items() if Release(release) < Release(first)}
    assert OUTCOMES - agreed(receivers(release), first_seed, LONG) == not_met


def agreed(kafka: KafkaReceivers, seed: int, count: int) -> set[str]:
    """The events of so many sequences, on which both sides agree."""
    happened: set[str] = set()
    for sequence, seen in all_asked(kafka, drawn(seed, count, kafka.release)):
        compare(sequence, seen, release=kafka.release)
        for now in seen:
            happened.update(what_happened(now))
    return happened


def what_happened(now: Observation) -> Iterator[str]:
    """The notable events in observations of Kafka."""
    yield from (now.get("error", "NONE"), *now.get("partitions", {}).values())
    for name, hosted in now["all_partitions"].items():
        if hosted is None:
            yield "offline"
        elif hosted["leader"] == BROKER:
            yield "led"
        elif hosted["leader"] is not None:
            yield "followed" if name in now["fetchers"] else "not fetched"
        if hosted is not None and name not in now["logs"]:
            yield "kept without log"
    if now["logs"].keys() - now["all_partitions"].keys():
        yield "log without replica"
    if not now["metadata"]["partition_states"] and now["metadata"]["controller_id"] is not None:
        yield "forgotten"


# What one failed read does, and deliberate disagreements.

UNREAD = ("UpdateMetadata", "LeaderAndIsr t-0 led by 2 in 0", "  configuration of t is not read")


def commands(*lines: str) -> list[Command]:
    """The commands of a transcript."""
    return commands_of(parsed("\n".join(["# Title", "", *lines, "----"]))[0], RELEASE)


def disagree(sequence: Sequence[Command], seen: Sequence[Observation]) -> None:
    """Kafka's broker and ours differ after the last command, and not before."""
    compare(sequence[:-1], seen[:-1])
    with pytest.raises(AssertionError):
        compare(sequence, seen)


def test_one_half_read_replica_has_the_others_refused(receiver: KafkaReceivers) -> None:
    """The whole request is refused, since it names a follower without log in that follower's own epoch. [K5]"""
    sequence, seen = asked(receiver, *commands(*UNREAD, "LeaderAndIsr t-0 led by 2 in 0; t-1 led by 2 in 0"))
    compare(sequence, seen)
    assert seen[-1]["partitions"] == {"t-0": "NOT_LEADER_OR_FOLLOWER", "t-1": "NOT_LEADER_OR_FOLLOWER"}
    assert (seen[-1]["fetchers"], seen[-1]["logs"]) == ({}, {})


@pytest.mark.parametrize(
    ("lines", "ids", "kafkas"),
    [
        pytest.param(
            ["UpdateMetadata", "LeaderAndIsr t-0 led by 2 in 0", "LeaderAndIsr t-0 led by 2 in 1"],
            [{"t": 1}, {"t": 2}],
            "INCONSISTENT_TOPIC_ID",
            id="another id",
        ),
        pytest.param(
            ["UpdateMetadata", "LeaderAndIsr t-0 led by 2 in 0", "LeaderAndIsr t-0 led by 2 in 0"],
            [{}, {"t": 1}],
            "NONE",
            id="the first id",
        ),
        pytest.param(
            [*UNREAD, "LeaderAndIsr t-0 led by 2 in 0"], [{"t": 1}, {}], "STALE_CONTROLLER_EPOCH", id="no id"
        ),
    ],
)
def test_ids_of_topics_are_left_out(
    receiver: KafkaReceivers, lines: Sequence[str], ids: Sequence[dict[str, int]], kafkas: str
) -> None:
    """Kafka's error for ids; ours ignores them."""
    metadata, *leaders = commands(*lines)
    with_ids = [
        each._replace(topic_ids=its) for each, its in zip(leaders, ids, strict=True) if isinstance(each, Receive)
    ]
    sequence, seen = asked(receiver, metadata, *with_ids)
    assert seen[-1]["partitions"] == {"t-0": kafkas}
    disagree(sequence, seen)


@pytest.mark.long
def test_no_controller_sends_no_leader_epoch(receivers: Receivers) -> None:
    """The answer is that of 3.0 and later; until 2.8 it is that to an older epoch."""
    sequence = commands("UpdateMetadata", "LeaderAndIsr t-0 led by 2 in -1")
    answers = []
    for release in (RELEASE, "2.8.2"):
        _, seen = asked(receivers(release), *sequence)
        answers.append(seen[-1]["partitions"]["t-0"])
    assert answers == ["NOT_LEADER_OR_FOLLOWER", "STALE_CONTROLLER_EPOCH"]
    compare(*asked(receivers(RELEASE), *sequence))
    disagree(sequence, seen)


def test_partitions_are_handled_in_the_order_of_the_request(receiver: KafkaReceivers) -> None:
    """If one partition cuts the request short, Kafka does as much in either order."""
    done, differ = [], []
    for line in ("t-0 led by 2 in 0; u-0 led by 4 in 0", "u-0 led by 4 in 0; t-0 led by 2 in 0"):
        sequence, seen = asked(
            receiver, *commands("UpdateMetadata", f"LeaderAndIsr {line}", "  configuration of u is not read")
        )
        assert seen[-1]["error"] == "UNKNOWN_SERVER_ERROR"
        done.append(seen[-1]["logs"])
        *_, ours = ours_of(sequence, seen)
        differ.append(any(ours[name] != seen[-1][name] for name in ours))
    assert done[0] == done[1]
    assert sorted(differ) == [False, True]


def test_a_directory_without_log_becomes_one(receiver: KafkaReceivers) -> None:
    """It is created before the configuration is read; the next process opens it. [LogManager, getOrCreateLog]"""
    sequence, seen = asked(receiver, *commands(*UNREAD, "restart"))
    assert [len(each["logs"]) for each in seen] == [0, 0, 1]
    disagree(sequence, seen)
