"""A controller's channels beside Kafka's own: generated sequences of commands, and each rule.

Kafka's side is ControllerChannelManager with its RequestSendThreads and their network clients, of 3.9.1 and of 2.8.2.
The brokers at the other ends are sockets of this machine, which read, answer and break off as the sequence says.
After each command these are equal: the requests that wait in each queue; those that each broker has read since the
previous command, repeated or new; those answered, with the error; those dropped for lack of a channel; and refusals.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import TypeAlias

import pytest

from statemachines.messages.control_requests import UpdateMetadataRequest
from statemachines.messages.errors import Errors
from tests.kafka.channel_comparison import (
    AddBroker,
    Answer,
    Break,
    Command,
    Misanswer,
    Observation,
    RemoveBroker,
    Send,
    Shutdown,
    Start,
    Startup,
    Stop,
    all_asked,
    compare,
    is_contradicted,
)
from tests.kafka.channel_sequences import Drawing
from tests.kafka.conftest import Receivers
from tests.kafka.receiver_comparison import RELEASE, KafkaReceivers
from tests.statemachines.controller.test_channel_manager import MUTANTS, Kind

OLDER = "2.8.2"
"""The older release whose channels run."""
LENGTH = 25
LONG = int(os.environ.get("CHANNEL_SEQUENCES", 2_000))
"""The number of sequences in the long test."""
OUTCOMES = {"read", "read again", "answered NONE", "refused", "not_sent", "waits", "nothing waits"}
"""Events that many sequences produce: proof that they reach everywhere."""

ObservedSequences: TypeAlias = Sequence[tuple[Sequence[Command], Sequence[Observation]]]
"""Sequences, each with Kafka's observations."""


def drawn(seed: int, count: int) -> Iterable[list[Command]]:
    """So many sequences; each is `Drawing(Random(f"{seed} {number}").randrange).sequence(25)`."""
    return (Drawing(Random(f"{seed} {number}").randrange).sequence(LENGTH) for number in range(count))


# Generated.


def test_channels_equal_kafkas(receiver: KafkaReceivers, first_seed: int) -> None:
    """A handful."""
    print(f"seed {first_seed}")
    agreed(receiver, first_seed, 50)


@pytest.mark.long
def test_channels_equal_kafkas_in_an_older_release(receivers: Receivers, first_seed: int) -> None:
    """The same."""
    print(f"seed {first_seed}")
    agreed(receivers(OLDER), first_seed, 25)


@pytest.mark.long
@pytest.mark.parametrize("release", [RELEASE, OLDER])
def test_channels_equal_kafkas_in_many_sequences(receivers: Receivers, release: str, first_seed: int) -> None:
    """They produce every possible event."""
    print(f"seed {first_seed}")
    assert agreed(receivers(release), first_seed, LONG) >= OUTCOMES


def agreed(kafka: KafkaReceivers, seed: int, count: int) -> set[str]:
    """The events of so many sequences, on which both sides agree."""
    happened: set[str] = set()
    for sequence, seen in all_asked(kafka, drawn(seed, count)):
        compare(sequence, seen, release=kafka.release)
        happened.update(what_happened(seen))
    return happened


def what_happened(seen: Sequence[Observation]) -> Iterator[str]:
    """The notable events in observations of Kafka."""
    read: set[int] = set()
    for now in seen:
        for number in (number for numbers in now["received"].values() for number in numbers):
            yield "read again" if number in read else "read"
            read.add(number)
        yield from (f"answered {error}" for _, _, error in now["answered"])
        yield from (name for name in ("refused", "not_sent") if now[name])
        yield from ("waits" if queue else "nothing waits" for queue in now["queues"].values())


# Each rule.


def send(broker: int, *numbers: int) -> list[Command]:
    """Requests with these numbers."""
    return [Send(broker, UpdateMetadataRequest(9, number, 101, (), ())) for number in numbers]


ANSWER = Answer(1, Errors.NONE)
RULES: dict[str, tuple[list[int], Sequence[Command]]] = {
    "in order": ([1, 2, 3], [Startup((1,)), *send(1, 1, 2, 3), *[ANSWER] * 3]),
    "an error is an answer": ([1, 2], [Startup((1,)), *send(1, 1, 2), Answer(1, Errors.STALE_BROKER_EPOCH), ANSWER]),
    "again, before the next": ([1, 1, 2], [Startup((1,)), *send(1, 1, 2), Break(1), *[ANSWER] * 2]),
    "again and again": ([1, 1, 1], [Startup((1,)), *send(1, 1), Break(1), Break(1), ANSWER]),
    "a connection that breaks before it is read": ([1, 1, 2], [Startup((1,)), *send(1, 1, 2), Break(1, 3), ANSWER]),
    "another request's answer": ([1, 1, 2], [Startup((1,)), *send(1, 1, 2), Misanswer(1), ANSWER]),
    "a broker that is down for a while": ([1, 1, 2], [Startup((1,)), *send(1, 1, 2), Stop(1), Start(1), ANSWER]),
    "one that is not up yet": ([1, 2], [Startup((1,)), Stop(1), *send(1, 1, 2), Start(1), ANSWER]),
    "another broker does not wait": ([2], [Startup((1, 2)), Stop(2), *send(2, 1), *send(1, 2), ANSWER, Start(2)]),
    "waiting requests are dropped": (
        [1, 3],
        [Startup((1,)), *send(1, 1, 2), RemoveBroker(1), AddBroker(1), *send(1, 3)],
    ),
    "also those to a broker that is down": (
        [3],
        [Startup((1,)), Stop(1), *send(1, 1), RemoveBroker(1), Start(1), AddBroker(1), *send(1, 3)],
    ),
    "an existing channel is kept": ([1, 2], [Startup((1,)), *send(1, 1, 2), AddBroker(1), ANSWER]),
    "no channel": ([], [Startup(()), *send(1, 1), AddBroker(1)]),
    "no channel to remove": ([], [Startup(()), RemoveBroker(1)]),
    "the controller resigns": ([1, 3], [Startup((1,)), *send(1, 1, 2), Shutdown(), Startup((1,)), *send(1, 3)]),
    "it resigns while a broker is down": ([], [Startup((1,)), Stop(1), *send(1, 1), Shutdown(), Start(1)]),
}
"""The numbers of the requests that broker 1 reads, from Kafka's channel and from ours, and the commands."""


@pytest.fixture(scope="module")
def ruled(receiver: KafkaReceivers) -> ObservedSequences:
    """The case of each rule, with Kafka's observations."""
    return list(all_asked(receiver, (sequence for _, sequence in RULES.values())))


def test_channel_rules_equal_kafkas(ruled: ObservedSequences) -> None:
    """Kafka's broker reads these requests, and both sides agree."""
    for (name, (reads, _)), (sequence, seen) in zip(RULES.items(), ruled, strict=True):
        compare(sequence, seen)
        assert (name, [number for now in seen for number in now["received"].get("1", ())]) == (name, reads)


@pytest.mark.long
@pytest.mark.parametrize("kind", [kind for kind, _ in MUTANTS], ids=lambda kind: kind.__name__)
def test_kafka_refutes_each_mutant(ruled: ObservedSequences, kind: Kind) -> None:
    """The mutants are those that the scenarios of the core catch."""
    assert any(is_contradicted(sequence, seen, kind) for sequence, seen in ruled)
