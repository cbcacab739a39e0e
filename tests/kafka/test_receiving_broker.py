"""A broker that receives a controller's requests beside Kafka's own: generated sequences of commands, and each rule.

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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from statemachines.changes.change import Compared
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import accepts_controller_epoch
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, NO_EPOCH
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import Release
from tests.kafka.conftest import Receivers
from tests.kafka.receiver_comparison import (
    BROKER,
    BROKER_EPOCH,
    OLDER,
    RELEASE,
    Command,
    FailDirectory,
    KafkaReceivers,
    Observation,
    Receive,
    Register,
    Restart,
    ShutDown,
    all_asked,
    as_of,
    asked,
    compare,
    is_contradicted,
    with_other,
)
from tests.kafka.receiver_sequences import Drawing
from tests.mutants import mutated
from tests.statemachines.broker.test_kafka_apis import MUTANTS
from tests.statemachines.control import T0, T1
from tests.statemachines.receiving import EPOCH, Kinds, leader_and_isr_state

LENGTH = 15
CHOICES = 512
"""The approximate maximum of choices in a sequence."""
COMPARED = {rule for rule, its in ControlDesign.changes.items() if Compared.Receiver in its.compared}
"""The rules that Kafka must contradict when they are reversed."""
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
IDS = {"t": 1, "u": 1}


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


# Which requests a broker accepts.

REQUESTS: dict[str, Callable[[int, int], ControlRequest]] = {
    "LeaderAndIsr": lambda epoch, broker: LeaderAndIsrRequest(9, epoch, broker, (), ()),
    "StopReplica": lambda epoch, broker: StopReplicaRequest(9, epoch, broker, False, ()),
    "UpdateMetadata": lambda epoch, broker: UpdateMetadataRequest(9, epoch, broker, (), ()),
}
"""Each request with only a controller's epoch and a broker's epoch."""
EPOCHS = range(4)


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_requests_of_older_controllers_are_refused(
    receiver: KafkaReceivers, request_: Callable[[int, int], ControlRequest]
) -> None:
    """A controller not older than the newest, by `accepts`. After an accepted request its epoch is known."""
    epochs = list(product(EPOCHS, EPOCHS))
    cases = [[Receive(request_(epoch, BROKER_EPOCH)) for epoch in both] for both in epochs]
    for (known, epoch), (sequence, seen) in zip(epochs, all_asked(receiver, cases), strict=True):
        compare(sequence, seen)
        taken = accepts_controller_epoch(known, epoch)
        assert seen[-1]["error"] == ("NONE" if taken else "STALE_CONTROLLER_EPOCH")
        assert seen[-1]["controller_epoch"] == (epoch if taken else known)


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_requests_to_an_earlier_registration_are_refused(
    receiver: KafkaReceivers, request_: Callable[[int, int], ControlRequest]
) -> None:
    """Its own, an unknown later one, or any; otherwise not even the controller's epoch is learned."""
    registered = BROKER_EPOCH + 10
    for epoch in (NO_EPOCH, 0, BROKER_EPOCH, registered - 1, registered, registered + 1):
        sequence, seen = asked(receiver, Register(registered), Receive(request_(7, epoch)))
        compare(sequence, seen)
        stale = NO_EPOCH < epoch < registered
        assert seen[-1]["error"] == ("STALE_BROKER_EPOCH" if stale else "NONE")
        assert seen[-1]["controller_epoch"] == (0 if stale else 7)


# Each rule.


def tell(*alive: int, leader: int | None = None) -> Receive:
    """UpdateMetadata: the live brokers, and the leader of t-0."""
    states = () if leader is None else (UpdateMetadataPartitionState(T0, EPOCH, leader, 0, (1,), 0, (1, 2), ()),)
    return Receive(UpdateMetadataRequest(9, EPOCH, BROKER_EPOCH, states, alive), IDS)


def lead(
    leader: int, leader_epoch: int, *, unread: tuple[str, ...] = (), failing: str = "", **fields: Any
) -> Receive:
    """LeaderAndIsr: the leader of t-0."""
    states = (leader_and_isr_state(leader, leader_epoch, T0, **fields),)
    request = LeaderAndIsrRequest(9, EPOCH, BROKER_EPOCH, states, (leader,) if leader >= 0 else ())
    return Receive(request, IDS, failing=(failing,) if failing else (), unread=unread)


def sent(command: Receive, **epochs: Any) -> Receive:
    """The request of another controller, or for another registration."""
    return command._replace(request=command.request._replace(**epochs))


def stop(leader_epoch: int, delete: bool = False, failing: str = "") -> Receive:
    """StopReplica: stop t-0, or delete it."""
    states = (StopReplicaPartitionState(T0, leader_epoch, delete),)
    request = StopReplicaRequest(9, EPOCH, BROKER_EPOCH, False, states)
    return Receive(request, IDS, failing=(failing,) if failing else ())


ALL = tell(1, 2, 3)
AHEAD = lead(2, 0, partition_epoch=5)
UNREAD = lead(2, 0, unread=("t",))
RULES: dict[str, tuple[str, Sequence[Command]]] = {
    "it leads": ("NONE", [ALL, lead(1, 0)]),
    "it follows": ("NONE", [ALL, lead(2, 0)]),
    "it leads on": ("NONE", [ALL, lead(1, 0), lead(1, 1)]),
    "it leads, and ceases to fetch": ("NONE", [ALL, lead(2, 0), lead(1, 1)]),
    "the same leader in another epoch": ("NONE", [ALL, lead(2, 0), lead(2, 1)]),
    "the same leader, and an epoch missed": ("NONE", [ALL, lead(2, 0), lead(2, 2)]),
    "an older controller": ("STALE_CONTROLLER_EPOCH", [ALL, sent(lead(2, 0), controllerEpoch=EPOCH - 1)]),
    "a later registration": ("NONE", [ALL, sent(lead(2, 0), brokerEpoch=BROKER_EPOCH + 1)]),
    "an older leader epoch": ("STALE_CONTROLLER_EPOCH", [ALL, lead(2, 3), lead(1, 2)]),
    "the same leader epoch": ("STALE_CONTROLLER_EPOCH", [ALL, lead(2, 3), lead(1, 3)]),
    "no leader epoch": ("NOT_LEADER_OR_FOLLOWER", [ALL, lead(2, NO_EPOCH)]),
    "not one of the replicas": ("UNKNOWN_TOPIC_OR_PARTITION", [ALL, lead(2, 0, replicas=(2, 3))]),
    "a replica that was refused before": (
        "NONE",
        [ALL, lead(2, 0), Restart(), ALL, lead(2, 1, replicas=(2, 3)), lead(2, 2)],
    ),
    "an older partition epoch, to lead": ("NONE", [ALL, AHEAD, lead(1, 1, partition_epoch=4)]),
    "an older partition epoch, to follow": ("NONE", [ALL, AHEAD, lead(3, 1, partition_epoch=4)]),
    "the same partition epoch": ("NONE", [ALL, AHEAD, lead(1, 1, partition_epoch=5)]),
    "a dead leader": ("NONE", [tell(1), lead(2, 0)]),
    "a leader that has died": ("NONE", [ALL, lead(2, 0), tell(1), lead(3, 1)]),
    "nobody leads": ("NONE", [ALL, lead(1, 0), lead(-1, 1)]),
    "a follower whose topic is not read": ("NONE", [ALL, UNREAD]),
    "that follower once more": ("NOT_LEADER_OR_FOLLOWER", [ALL, UNREAD, lead(2, 0)]),
    "that follower in the next epoch": ("NONE", [ALL, UNREAD, lead(2, 1)]),
    "that follower stops": ("NONE", [ALL, UNREAD, stop(0)]),
    "a leader whose topic is not read": ("NONE", [ALL, lead(1, 0, unread=("t",))]),
    "that leader once more": ("NONE", [ALL, lead(1, 0, unread=("t",)), lead(1, 0)]),
    "not read, beside a dead leader": ("UNKNOWN_SERVER_ERROR", [tell(1), UNREAD]),
    "a log that is there needs no read": ("NONE", [ALL, lead(2, 0), Restart(), ALL, UNREAD]),
    "a log that cannot be made": ("KAFKA_STORAGE_ERROR", [ALL, lead(2, 0, failing="t-0")]),
    "nor beside a dead leader": ("KAFKA_STORAGE_ERROR", [tell(1), lead(2, 0, failing="t-0")]),
    "nor of a leader": ("KAFKA_STORAGE_ERROR", [ALL, lead(1, 0, failing="t-0")]),
    "its directory has failed": ("KAFKA_STORAGE_ERROR", [ALL, lead(1, 0), FailDirectory(0), lead(1, 1)]),
    "it stops where its directory has failed": ("KAFKA_STORAGE_ERROR", [ALL, lead(1, 0), FailDirectory(0), stop(0)]),
    "another directory has failed": ("NONE", [ALL, lead(1, 0), FailDirectory(1), lead(1, 1)]),
    "a log where one may lie already": ("KAFKA_STORAGE_ERROR", [ALL, FailDirectory(1), lead(1, 0)]),
    "a new one beside that": ("NONE", [ALL, FailDirectory(1), lead(1, 0, is_new=True)]),
    "a directory that has failed before a restart": (
        "KAFKA_STORAGE_ERROR",
        [ALL, lead(1, 0), FailDirectory(0), Restart(), lead(1, 0)],
    ),
    "a directory that fails with a log that is not open": (
        "NONE",
        [ALL, lead(2, 0), Restart(), ALL, lead(2, 1, replicas=(2, 3)), FailDirectory(0), stop(1)],
    ),
    "a log that was not open when its directory failed": (
        "KAFKA_STORAGE_ERROR",
        [ALL, lead(2, 0), Restart(), ALL, lead(2, 1, replicas=(2, 3)), FailDirectory(0), lead(2, 2)],
    ),
    "it stops": ("NONE", [ALL, lead(2, 3), stop(4)]),
    "it stops in its epoch": ("NONE", [ALL, lead(2, 3), stop(3)]),
    "a late stop": ("FENCED_LEADER_EPOCH", [ALL, lead(2, 3), stop(2)]),
    "a late deletion": ("FENCED_LEADER_EPOCH", [ALL, lead(2, 3), stop(2, delete=True)]),
    "a stop without epoch": ("NONE", [ALL, lead(2, 3), stop(NO_EPOCH)]),
    "a stop as its topic goes": ("NONE", [ALL, lead(2, 3), stop(EPOCH_DURING_DELETE, delete=True)]),
    "a leader that goes": ("NONE", [ALL, lead(1, 3), stop(EPOCH_DURING_DELETE, delete=True)]),
    "it returns": ("NONE", [ALL, lead(1, 3), stop(EPOCH_DURING_DELETE, delete=True), lead(2, 0)]),
    "a replica that is not kept stops": ("NONE", [ALL, stop(0)]),
    "a log from before goes": ("NONE", [ALL, lead(2, 3), Restart(), stop(0, delete=True)]),
    "a log that cannot be deleted": ("KAFKA_STORAGE_ERROR", [ALL, lead(2, 3), stop(3, delete=True, failing="t-0")]),
    "no log to delete": ("NONE", [ALL, stop(3, delete=True, failing="t-0")]),
    "it goes where a directory has failed": ("NONE", [ALL, lead(2, 3), FailDirectory(1), stop(4, delete=True)]),
    "it goes without log there": ("NONE", [ALL, UNREAD, FailDirectory(1), stop(4, delete=True)]),
    "an offline replica is deleted, and returns": (
        "KAFKA_STORAGE_ERROR",
        [ALL, lead(2, 3), FailDirectory(0), stop(4, delete=True), lead(2, 5, is_new=True)],
    ),
    "it shuts down, and follows": ("NONE", [ALL, ShutDown(), lead(2, 0)]),
    "it shuts down, and follows another": ("NONE", [ALL, lead(2, 0), ShutDown(), lead(3, 1)]),
    "it shuts down, and ceases to lead": ("NONE", [ALL, lead(1, 0), ShutDown(), lead(3, 1)]),
    "it shuts down, and leads": ("NONE", [ALL, lead(2, 0), ShutDown(), lead(1, 1)]),
    "it shuts down, and learns of its leader again": (
        "STALE_CONTROLLER_EPOCH",
        [ALL, lead(2, 0), ShutDown(), lead(2, 0)],
    ),
    "it shuts down, and starts": ("NONE", [ALL, lead(2, 0), ShutDown(), Restart(), ALL, lead(2, 1)]),
    "it learns of a leader": ("NONE", [tell(1, 2, leader=2), tell(1, 2, leader=1), tell(1)]),
    "it learns that nobody leads": ("NONE", [tell(1, 2, leader=2), tell(1, 2, leader=-1)]),
    "it learns of a deletion": ("NONE", [tell(1, 2, leader=2), tell(1, 2, leader=LEADER_DURING_DELETE)]),
}
"""Kafka's error for t-0 in the response to the last command, or for the whole response."""


ObservedSequences: TypeAlias = Sequence[tuple[Sequence[Command], Sequence[Observation]]]
"""Sequences, each with Kafka's observations."""


@pytest.fixture(scope="module")
def ruled(receiver: KafkaReceivers) -> ObservedSequences:
    """The case of each rule, with Kafka's observations."""
    return ruled_by(receiver)


def test_each_rule(ruled: ObservedSequences) -> None:
    """Kafka gives this error, and both sides agree."""
    for (name, (error, _)), (sequence, seen) in zip(RULES.items(), ruled, strict=True):
        compare(sequence, seen)
        answered = seen[-1]
        assert (name, answered["partitions"].get("t-0", answered["error"])) == (name, error)


UNTIL_2_6, UNTIL_2_4, UNTIL_2_2, UNTIL_2_0 = OLDER[1:], OLDER[2:], OLDER[3:], OLDER[4:]
ANSWERED_OTHERWISE: Mapping[str, Mapping[str, Collection[str]]] = {
    "a later registration": {"UNKNOWN_SERVER_ERROR": ("2.4.1", "2.2.2")},
    "no leader epoch": {"STALE_CONTROLLER_EPOCH": OLDER},
    "a replica that was refused before": {"KAFKA_STORAGE_ERROR": OLDER},
    "a follower whose topic is not read": {"UNKNOWN_SERVER_ERROR": UNTIL_2_6},
    "that follower once more": {"KAFKA_STORAGE_ERROR": ("2.8.2",), "NONE": UNTIL_2_6},
    "that follower in the next epoch": {"KAFKA_STORAGE_ERROR": ("2.8.2",)},
    "that follower stops": {"KAFKA_STORAGE_ERROR": ("2.8.2",)},
    "a leader whose topic is not read": {"UNKNOWN_SERVER_ERROR": UNTIL_2_6},
    "that leader once more": {"KAFKA_STORAGE_ERROR": ("2.8.2",)},
    "a log that is there needs no read": {"UNKNOWN_SERVER_ERROR": UNTIL_2_4},
    "a directory that fails with a log that is not open": {"KAFKA_STORAGE_ERROR": ("2.8.2", "2.6.3")},
    "it stops where its directory has failed": {"NONE": UNTIL_2_4},
    "it stops in its epoch": {"FENCED_LEADER_EPOCH": ("2.8.2", "2.6.3")},
    "a late stop": {"NONE": UNTIL_2_4},
    "a late deletion": {"NONE": UNTIL_2_4},
    "a log that cannot be deleted": {"FENCED_LEADER_EPOCH": ("2.8.2", "2.6.3")},
    "it goes where a directory has failed": {"KAFKA_STORAGE_ERROR": ("2.0.1", "1.1.1")},
    "it goes without log there": {"KAFKA_STORAGE_ERROR": OLDER},
    "an offline replica is deleted, and returns": {"NONE": ("2.0.1", "1.1.1")},
}
"""The errors of older releases, where they differ."""
NEVER_ASKED = {"no leader epoch"}
"""No controller sends these, and we answer as since 3.0; until 2.8 Kafka does not look for a topic id."""
HIDDEN: Mapping[str, set[str]] = {
    "3.9.1": {"truncate_missed_epoch"},
    "2.8.2": {"truncate_missed_epoch", "delete_missing_log", "epoch_after_log"},
    "2.6.3": {"truncate_missed_epoch"},
    "2.4.1": {"truncate_missed_epoch", "stop_at_same_epoch"},
    "2.2.2": {"truncate_missed_epoch", "stop_at_same_epoch"},
    "2.0.1": {"newer_broker_epoch", "stop_at_same_epoch", "delete_missing_log"},
    "1.1.1": {"newer_broker_epoch", "stop_at_same_epoch", "delete_missing_log"},
    "1.0.2": {"newer_broker_epoch", "stop_at_same_epoch"},
}
"""Rules that another rule hides in a release: from 2.7 to 3.0 a replica without log is offline, whatever its epoch;
StopReplica has no epoch until 2.5, and requests have no broker epoch until 2.1."""


def ruled_by(kafka: KafkaReceivers) -> ObservedSequences:
    """The case of each rule, in the form of this release's controllers, with Kafka's observations."""
    return list(all_asked(kafka, (as_of(kafka.release, sequence) for _, sequence in RULES.values())))


@pytest.fixture(scope="module", params=[pytest.param(release, marks=pytest.mark.long) for release in OLDER])
def ruled_before(request: pytest.FixtureRequest, receivers: Receivers) -> tuple[str, ObservedSequences]:
    """An older release, with the case of each rule."""
    release: str = request.param
    return release, ruled_by(receivers(release))


def test_each_rule_in_older_releases(ruled_before: tuple[str, ObservedSequences]) -> None:
    """Some errors differ; both sides agree there, too."""
    release, sequences = ruled_before
    for (name, (error, _)), (sequence, seen) in zip(RULES.items(), sequences, strict=True):
        otherwise = ANSWERED_OTHERWISE.get(name, {})
        expected = next((its for its, releases in otherwise.items() if release in releases), error)
        assert (name, seen[-1]["partitions"].get("t-0", seen[-1]["error"])) == (name, expected)
        if name in NEVER_ASKED:
            assert is_contradicted(sequence, seen, Kinds(), release)
        else:
            compare(sequence, seen, release=release)


def hidden(sequences: ObservedSequences, release: str) -> set[str]:
    """The rules that this release does not contradict when reversed. It contradicts none as it is."""
    sequences = [each for name, each in zip(RULES, sequences, strict=True) if name not in NEVER_ASKED]
    assert not any(is_contradicted(*each, Kinds(), release) for each in sequences)
    return {
        rule for rule in COMPARED if not any(is_contradicted(*each, with_other(rule), release) for each in sequences)
    }


def test_the_newest_release_contradicts_each_rule_turned_round(ruled: ObservedSequences) -> None:
    """Except those that another rule hides."""
    assert hidden(ruled, RELEASE) == HIDDEN[RELEASE]


def test_an_older_release_contradicts_each_rule_turned_round(ruled_before: tuple[str, ObservedSequences]) -> None:
    """Its own rules, and those of the newest."""
    release, sequences = ruled_before
    assert hidden(sequences, release) == HIDDEN[release]


def test_each_rule_that_is_compared_shows_in_some_release() -> None:
    """No rule is hidden in all releases."""
    assert HIDDEN.keys() == {RELEASE, *OLDER}
    assert set.intersection(*HIDDEN.values()) == set()


@pytest.fixture(scope="module")
def some(receiver: KafkaReceivers, ruled: ObservedSequences) -> ObservedSequences:
    """Sequences in which each mutant shows."""
    return [*all_asked(receiver, drawn(0, 15)), *ruled]


@pytest.mark.long
@pytest.mark.parametrize("kinds", [kinds for kinds, _ in MUTANTS], ids=mutated)
def test_kafka_refutes_each_mutant(some: ObservedSequences, kinds: Kinds) -> None:
    """The mutants are those that the scenarios of the core catch."""
    assert any(is_contradicted(sequence, seen, kinds) for sequence, seen in some)


def test_one_half_read_replica_has_the_others_refused(receiver: KafkaReceivers) -> None:
    """The whole request is refused, since it names a follower without log in that follower's own epoch. [K5]"""
    both = (leader_and_isr_state(2, 0, T0), leader_and_isr_state(2, 0, T1))
    sequence, seen = asked(
        receiver, ALL, UNREAD, Receive(LeaderAndIsrRequest(9, EPOCH, BROKER_EPOCH, both, (2,)), IDS)
    )
    compare(sequence, seen)
    assert seen[-1]["partitions"] == {"t-0": "NOT_LEADER_OR_FOLLOWER", "t-1": "NOT_LEADER_OR_FOLLOWER"}
    assert (seen[-1]["fetchers"], seen[-1]["logs"]) == ({}, {})


# Disagreements.


def with_ids(ids: dict[str, int], command: Receive) -> Receive:
    """The request with other topic ids."""
    return command._replace(topic_ids=ids)


@pytest.mark.parametrize(
    ("sequence", "kafkas"),
    [
        pytest.param([ALL, lead(2, 0), with_ids({"t": 2}, lead(2, 1))], "INCONSISTENT_TOPIC_ID", id="another id"),
        pytest.param([ALL, with_ids({}, lead(2, 0)), lead(2, 0)], "NONE", id="the first id"),
        pytest.param([ALL, UNREAD, with_ids({}, lead(2, 0))], "STALE_CONTROLLER_EPOCH", id="no id"),
    ],
)
def test_ids_of_topics_are_left_out(receiver: KafkaReceivers, sequence: Sequence[Command], kafkas: str) -> None:
    """Kafka's error for ids; ours ignores them."""
    _, seen = asked(receiver, *sequence)
    compare(sequence[:-1], seen[:-1])
    assert seen[-1]["partitions"] == {"t-0": kafkas}
    with pytest.raises(AssertionError):
        compare(sequence, seen)


def test_partitions_are_handled_in_the_order_of_the_request(receiver: KafkaReceivers) -> None:
    """If one partition cuts the request short, Kafka does as much in either order."""
    followed, cut_short = leader_and_isr_state(2, 0, T0), leader_and_isr_state(4, 0, TopicPartition("u", 0))
    done = []
    differs = []
    for states in ((followed, cut_short), (cut_short, followed)):
        request = LeaderAndIsrRequest(9, EPOCH, BROKER_EPOCH, states, (2, 4))
        sequence, seen = asked(receiver, ALL, Receive(request, IDS, unread=("u",)))
        assert seen[-1]["error"] == "UNKNOWN_SERVER_ERROR"
        done.append(seen[-1]["logs"])
        differs.append(is_contradicted(sequence, seen, Kinds()))
    assert done[0] == done[1]
    assert differs.count(True) == 1


def test_a_directory_without_log_becomes_one(receiver: KafkaReceivers) -> None:
    """It is created before the configuration is read; the next process opens it. [LogManager, getOrCreateLog]"""
    sequence, seen = asked(receiver, ALL, UNREAD, Restart())
    compare(sequence[:-1], seen[:-1])
    assert [len(each["logs"]) for each in seen] == [0, 0, 1]
    with pytest.raises(AssertionError, match="logs: Kafka"):
        compare(sequence, seen)
