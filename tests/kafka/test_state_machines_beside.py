"""A controller's state machines beside Kafka's own: generated sequences of commands, and single cases.

After each command these are equal: the context, every node of ZooKeeper with its version, the requests to each broker
in order, the content left in the batch, the results of elections, failures with their causes, and the requests to
ZooKeeper. Sequences follow from a seed, which is printed.

Deliberate disagreements; tests show that each still exists, and docs/kafka.md has their reasons:

    brokers in a hash map     5 and 1, which fail at once, are handled in this order; here by id
    a replica stops twice     in one batch: until 2.5 both StopReplicas are sent; here one, which deletes if one does
    an unknown state          triggerOnlinePartitionStateChange(topic) throws; here it is NonExistentPartition
    the last replica's end    NonExistentReplica of the only replica of a topic not queued for deletion: for a metric,
                              Kafka looks for the first of no replicas, and throws; here the replica is gone
    queued again at the end   a topic is queued again when its last replica is gone: the same metric, 2.7 to 3.2.0
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from election.ids import BrokerId
from spec.kafka.control_values import DECODED, decoded_requests
from spec.kafka.scripted_cluster import AGAIN
from spec.kafka.state_machines_beside import (
    RELEASES,
    ControlCommand,
    MachineDriver,
    RealController,
    StateMachineClasses,
)
from statemachines.changes.control import Stops
from statemachines.controller.calls import Await
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.controller.zk_requests import ZkRequest
from statemachines.messages.control_requests import (
    LeaderAndIsrRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import EPOCH_DURING_DELETE, LEADER_DURING_DELETE
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import Release
from statemachines.tables.partition import PARTITION, OfflinePartition, OnlinePartition, PartitionState
from statemachines.tables.replica import REPLICA, NewReplica, NonExistentReplica, ReplicaState
from statemachines.tables.table import Table, TableState
from statemachines.zookeeper.server import Multi
from statemachines.zookeeper.tree import Check
from tests.kafka.conftest import RELEASE, RealControllers
from tests.kafka.control_comparison import EVERY_PAIR, OUTCOMES, Observation, Tally, compare, missing, report, rows
from tests.kafka.control_sequences import BROKERS, Drawing

LENGTH = 20
CHOICES = 512
"""The approximate maximum of choices in a sequence."""
OLDER = RELEASES[:-1]
LONG = int(os.environ.get("CONTROL_SEQUENCES", 2_000))
"""The number of sequences in the long test."""


def drawn(seed: int, count: int, release: str = RELEASE) -> Iterable[list[ControlCommand]]:
    """So many sequences; each is `Drawing(Random(f"{seed} {number}").randrange, release).sequence(20)`."""
    return (Drawing(Random(f"{seed} {number}").randrange, release).sequence(LENGTH) for number in range(count))


def commands_from(choices: bytes) -> list[ControlCommand]:
    """The sequence of these choices, which Hypothesis can simplify; after the last choice, the simplest ones."""
    remaining = iter(choices)
    return Drawing(lambda below: next(remaining, 0) % below).sequence(LENGTH)


def asked(kafka: RealController, *sequence: ControlCommand) -> tuple[Sequence[ControlCommand], Sequence[Observation]]:
    """A sequence, and Kafka's observations."""
    [(_, seen)] = kafka.of("StateMachines", [sequence])
    return sequence, seen


# Generated.


def test_state_machines_equal_kafkas(real_controller: RealController, first_seed: int) -> None:
    """A hundred of 20 commands, after those that start a cluster; a failing one is simplified."""
    print(f"seed {first_seed}")

    @seeded(first_seed)
    @settings(max_examples=100, database=None)
    @given(st.binary(min_size=CHOICES, max_size=CHOICES).map(commands_from))
    def both_agree(sequence: list[ControlCommand]) -> None:
        compare(*asked(real_controller, *sequence))

    both_agree()


@pytest.mark.parametrize("release", OLDER)
def test_state_machines_equal_kafkas_in_older_releases(
    real_controllers: RealControllers, release: str, first_seed: int
) -> None:
    """A handful for each."""
    print(f"seed {first_seed}")
    for sequence, seen in real_controllers(release).of("StateMachines", drawn(first_seed, 12, release)):
        compare(sequence, seen, release)


@pytest.mark.long
@pytest.mark.parametrize(("release", "share"), [(RELEASE, 1), *((old, 4) for old in OLDER)])
def test_state_machines_equal_kafkas_in_many_sequences(
    real_controllers: RealControllers, release: str, share: int, first_seed: int
) -> None:
    """Those of the newest release take every row of both tables, and produce every possible event."""
    print(f"seed {first_seed}")
    tally = Tally()
    kafka = real_controllers(release)
    for sequence, seen in kafka.of("StateMachines", drawn(first_seed, LONG // share, release)):
        compare(sequence, seen, release, tally=tally)
    if release == RELEASE:
        assert rows(PARTITION, REPLICA) - tally.taken.keys() == set()
        assert OUTCOMES - tally.happened.keys() == set()


@pytest.mark.parametrize(("release", "throws"), [("2.8.2", True), (RELEASE, False)])
def test_a_topic_is_queued_again_when_its_last_replica_is_gone(
    real_controllers: RealControllers, release: str, throws: bool
) -> None:
    """From 2.7 to 3.2.0 a metric looks for the preferred replica; the queued topics are the same."""
    gone = ("OfflineReplica", "ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "NonExistentReplica")
    sequence: list[ControlCommand] = [
        {"do": "brokers_up", "brokers": [[1, 101]]},
        {"do": "assign", "partition": "t-0", "replicas": [1], "adding": [], "removing": []},
        partitions_to("NewPartition"),
        replicas_to("NewReplica", 1),
        partitions_to("OnlinePartition"),
        {"do": "queue_deletion", "topics": ["t"]},
        *(replicas_to(state, 1) for state in gone),
        {"do": "queue_deletion", "topics": ["t"]},
    ]
    kafka = real_controllers(release)
    [(_, seen)] = kafka.of("StateMachines", [sequence])
    compare(sequence, seen, release)
    assert ("thrown" in seen[-1]) == throws
    if not throws:  # no match would not fail it
        seen[-1]["thrown"] = {"thrown": "NoSuchElementException", "message": "None.get"}
        with pytest.raises(AssertionError, match="exception"):
            compare(sequence, seen, release)


# Every pair of states.

COMES_UP: list[ControlCommand] = [
    {"do": "brokers_up", "brokers": [[broker, 100 + broker] for broker in BROKERS]},
    {"do": "assign", "partition": "t-0", "replicas": [1, 2], "adding": [], "removing": []},
]


def partitions_to(target: str, *partitions: str, strategy: str | None = None, **meanwhile: Any) -> ControlCommand:
    """Move partitions to a state."""
    strategy = "offline" if target == "OnlinePartition" and strategy is None else strategy
    these = list(partitions or ("t-0",))
    return {
        "do": "change_partitions",
        "partitions": these,
        "target": target,
        "strategy": strategy,
        "allow_unclean": False,
        **meanwhile,
    }


def replicas_to(target: str, *brokers: int, **meanwhile: Any) -> ControlCommand:
    """Move replicas of t-0 to a state."""
    return {"do": "change_replicas", "replicas": [["t-0", each] for each in brokers], "target": target, **meanwhile}


TRIGGERED_AGAIN: list[ControlCommand] = [
    *COMES_UP,
    partitions_to("NewPartition"),
    partitions_to("OfflinePartition"),
    {"do": "remove_topic", "topic": "t"},
    {"do": "assign", "partition": "t-1", "replicas": [1, 2], "adding": [], "removing": []},
    partitions_to("NewPartition", "t-1"),
    {"do": "trigger", "topic": "t"},
]
"""A topic with an offline partition is removed; a topic of the same name has another partition, and is triggered."""


def way(table: Table[Any], to: TableState) -> list[TableState]:
    """The states on the way to this one, except the first; a partition was online before it is offline."""
    ways: dict[TableState, list[TableState]] = {table.initial: []}
    while to not in ways:
        latest = next(state for state in reversed(ways) if set(table.targets(state)) - ways.keys())
        target = next(state for state in table.targets(latest) if state not in ways)
        ways[target] = [*ways[latest], target]
    return ways[to]


def pairs(release: str) -> list[list[ControlCommand]]:
    """For each pair of states of a table, a sequence that reaches the first and then requests the second.

    Replicas disappear while the topic is queued for deletion: otherwise the last one's end is a known disagreement.
    """
    partitions = [
        [*COMES_UP, *(partitions_to(each.name) for each in (*way(PARTITION, source), target))]
        for source, target in product(PartitionState, repeat=2)
    ]
    replica = REPLICA.at(release)
    replicas = [
        [
            *COMES_UP,
            partitions_to("NewPartition"),
            partitions_to("OnlinePartition"),
            {"do": "queue_deletion", "topics": ["t"]},
            *(replicas_to(each.name, 2) for each in (*way(replica, source), target)),
        ]
        for source, target in product(ReplicaState, repeat=2)
    ]
    return [*partitions, *replicas]


@pytest.mark.parametrize("release", [RELEASE, *(pytest.param(old, marks=pytest.mark.long) for old in OLDER)])
def test_every_pair_of_states(real_controllers: RealControllers, release: str) -> None:
    """Rows are taken, all other pairs refused; a report says so, and names what is missing."""
    tally = Tally()
    kafka = real_controllers(release)
    for sequence, seen in kafka.of("StateMachines", pairs(release)):
        compare(sequence, seen, release, tally=tally)
    assert tally.taken.keys() == rows(PARTITION, REPLICA.at(release))
    assert tally.refused.keys() == EVERY_PAIR - tally.taken.keys()
    assert report({release: tally}).endswith("none")
    del tally.taken[OnlinePartition, OfflinePartition], tally.refused[NewReplica, NonExistentReplica]
    assert missing({release: tally}) == [
        f"{release}: OnlinePartition -> OfflinePartition is not taken",
        f"{release}: NewReplica -> NonExistentReplica is not refused",
    ]


# Cases that were in doubt.

BROUGHT_UP: list[ControlCommand] = [
    *COMES_UP,
    partitions_to("NewPartition"),
    replicas_to("NewReplica", 1, 2),
    partitions_to("OnlinePartition"),
    replicas_to("OnlineReplica", 1, 2),
]
BOTH: list[ControlCommand] = [
    *COMES_UP,
    {"do": "assign", "partition": "t-1", "replicas": [1, 2], "adding": [], "removing": []},
    partitions_to("NewPartition", "t-0", "t-1"),
]
MOVES: ControlCommand = {"do": "newer_controller"}
EXPIRES: ControlCommand = {"do": "expire"}


@pytest.mark.parametrize("brokers", [(1, 2), (2, 1)])
def test_the_last_member(real_controller: RealController, brokers: tuple[int, ...]) -> None:
    """Of the members of the ISR that die together one stays, the same one in any order of the brokers."""
    down = {"do": "brokers_down", "brokers": [1, 2]}
    ours = compare(*asked(real_controller, *BROUGHT_UP, down, replicas_to("OfflineReplica", *brokers)))
    [known] = ours.context.state.partition_leadership_info.values()
    assert known.leader_and_isr[:3] == (-1, 2, (2,))


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("first", "then", "moved"), [(MOVES, EXPIRES, True), (EXPIRES, MOVES, False)])
def test_a_fence_and_the_end_of_a_session_in_one_batch(
    real_controller: RealController, first: ControlCommand, then: ControlCommand, moved: bool, batch: int
) -> None:
    """The first bad answer decides: ControllerMoved, or a failure of the whole batch."""
    change = partitions_to("OnlinePartition", "t-0", "t-1", meanwhile=[[batch, 0, first], [batch, 1, then]])
    sequence, seen = asked(real_controller, *BOTH, change)
    compare(sequence, seen)
    assert seen[-1].get("moved", False) is moved
    assert [failed["code"] for failed in seen[-1]["log"]] == ([] if moved else ["SESSIONEXPIRED"] * 2)


def test_a_topic_that_is_to_be_deleted(real_controller: RealController) -> None:
    """UpdateMetadata has -2 as its leader, and no epoch or version; StopReplica has an epoch that overrides any
    other.

    No broker is informed that a replica has left its ISR.
    """
    queued = {"do": "queue_deletion", "topics": ["t"]}
    sequence, seen = asked(
        real_controller, *BROUGHT_UP, queued, replicas_to("OnlineReplica", 2), replicas_to("OfflineReplica", 2)
    )
    compare(sequence, seen)
    [metadata] = decoded_requests(seen[-2]["sent"])[1]
    assert isinstance(metadata, UpdateMetadataRequest)
    assert metadata.partitionStates == (
        UpdateMetadataPartitionState(TopicPartition("t", 0), 0, LEADER_DURING_DELETE, 0, (1, 2), 0, (1, 2), ()),
    )
    [(broker, [stop])] = decoded_requests(seen[-1]["sent"]).items()
    assert (broker, stop.partitionStates[0].leaderEpoch) == (2, EPOCH_DURING_DELETE)
    assert seen[-1]["partition_leadership_info"]["t-0"][0][:3] == [1, 1, [1]]


def test_a_dirty_batch(real_controller: RealController) -> None:
    """A controller that is deposed during a change leaves it; elected again, it is blocked until it is cleared."""
    sequence = [
        *BROUGHT_UP,
        replicas_to("OfflineReplica", 2, meanwhile=[[1, 0, MOVES]]),
        {"do": "fail_over"},
        {"do": "start_replicas"},
        {"do": "start_partitions"},
        partitions_to("OnlinePartition", strategy="preferred"),
        {"do": "clear_batch"},
        partitions_to("OnlinePartition", strategy="preferred"),
    ]
    _, seen = asked(real_controller, *sequence)
    compare(sequence, seen)
    assert seen[6]["moved"]
    assert [bool(each["sent"]) for each in seen[6:]] == [False, False, False, False, False, False, True]


def test_a_create_whose_reply_is_lost(real_controller: RealController) -> None:
    """The partition has a leader in ZooKeeper but stays new, until another controller reads the state."""
    sequence = [
        *COMES_UP,
        partitions_to("NewPartition"),
        partitions_to("OnlinePartition", lost=[[2, 0, 1]]),
        partitions_to("OnlinePartition"),
        {"do": "fail_over"},
        {"do": "start_replicas"},
        {"do": "start_partitions"},
    ]
    _, seen = asked(real_controller, *sequence)
    ours = compare(sequence, seen)
    assert [each.get("partition_states", {}).get("t-0") for each in seen[2:]] == [
        *("NewPartition", None, None, None, None, "OnlinePartition"),
    ]
    assert [each["code"] for each in seen[3]["log"]] == ["NODEEXISTS"]
    assert ours.context.state.partition_states


def test_another_writes_before_a_lost_create_is_repeated(real_controller: RealController) -> None:
    """The created node is gone by then, and is created again."""
    deleted = {"do": "delete_state", "partition": "t-0"}
    sequence = [
        *COMES_UP,
        partitions_to("NewPartition"),
        partitions_to("OnlinePartition", lost=[[2, 0, 1]], meanwhile=[[2, AGAIN, deleted]]),
    ]
    _, seen = asked(real_controller, *sequence)
    compare(sequence, seen)
    assert seen[-1]["partition_states"] == {"t-0": "OnlinePartition"}
    assert seen[-1]["log"] == []


# Differences between releases.

STOPS: list[ControlCommand] = [
    *BOTH,
    replicas_to("NewReplica", 1, 2),
    partitions_to("OnlinePartition", "t-0", "t-1"),
    {
        "do": "send_requests",
        "added": [
            ["stop_replica", "t-1", [2], False],
            ["leader_and_isr", "t-0", [2], False],
            ["stop_replica", "t-0", [2], True],
        ],
    },
]
"""The second broker receives each kind of request, and each kind of StopReplica."""


class SendsStopsFirst(ControllerBrokerRequestBatch):
    """StopReplica goes before LeaderAndIsr and UpdateMetadata."""

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        self._send_stop_replica_requests(controller_epoch)
        super().send_requests_to_brokers(controller_epoch)


class StopsInTheOrderOfPartitions(ControllerBrokerRequestBatch):
    """Replicas that stop one by one do so in the order of partitions, in whatever order they were added."""

    def _registered(self, requests: Any, by_partition: bool = True) -> Any:
        return super()._registered(requests)


class StopsOneByOne(ControllerBrokerRequestBatch):
    """Replicas that keep their logs also stop one by one, as in 1.1."""

    def _parted(self, states: Any) -> Any:
        self.design = self.design.but(stop_replica_grouping=Stops.behind_empty)
        return super()._parted(states)


class StopsBeforeItDeletes(ControllerBrokerRequestBatch):
    """Of two StopReplicas the one that deletes comes last."""

    def _parted(self, states: Any) -> Any:
        return reversed(list(super()._parted(states)))


@pytest.mark.parametrize(
    ("release", "mutants", "stops"),
    [
        ("0.10.2.2", (SendsStopsFirst, StopsOneByOne), [["t-1"], ["t-0"]]),
        ("1.0.2", (SendsStopsFirst, StopsOneByOne), [["t-1"], ["t-0"]]),
        ("1.1.1", (SendsStopsFirst, StopsInTheOrderOfPartitions), [[], ["t-1"], ["t-0"]]),
        ("2.2.2", (SendsStopsFirst, StopsInTheOrderOfPartitions), [[], ["t-1"], ["t-0"]]),
        ("2.4.1", (SendsStopsFirst, StopsBeforeItDeletes), [["t-0"], ["t-1"]]),
        ("2.8.2", (SendsStopsFirst,), [["t-0", "t-1"]]),
        (RELEASE, (SendsStopsFirst,), [["t-0", "t-1"]]),
    ],
)
def test_the_place_of_each_stop(
    real_controllers: RealControllers,
    release: str,
    mutants: Iterable[type[ControllerBrokerRequestBatch]],
    stops: list[list[str]],
) -> None:
    """After LeaderAndIsr and UpdateMetadata: deletions alone and last until 1.0, one by one until 2.2, deletions
    first until 2.5, then all in one.
    """
    [(_, seen)] = real_controllers(release).of("StateMachines", [STOPS])
    compare(STOPS, seen, release)
    leader_and_isr, metadata, *stopped = decoded_requests(seen[-1]["sent"])[2]
    assert isinstance(leader_and_isr, LeaderAndIsrRequest)
    assert isinstance(metadata, UpdateMetadataRequest)
    assert [[str(each.partition) for each in stop.partitionStates] for stop in stopped] == stops
    for mutant in mutants:
        with pytest.raises(AssertionError, match="requests to brokers"):
            compare(STOPS, seen, release, StateMachineClasses(batch=mutant))


@pytest.mark.parametrize(
    ("release", "again"), [("0.10.2.2", False), ("1.0.2", False), ("1.1.1", True), (RELEASE, True)]
)
def test_a_preferred_replica_that_leads_is_not_elected_until_1_0(
    real_controllers: RealControllers, release: str, again: bool
) -> None:
    """Only its state is read; since 1.1 it leads in a new leader epoch, and each replica is informed."""
    sequence = [*BROUGHT_UP, partitions_to("OnlinePartition", strategy="preferred")]
    [(_, seen)] = real_controllers(release).of("StateMachines", [sequence])
    compare(sequence, seen, release)
    assert bool(seen[-1]["sent"]) is again
    assert len(seen[-1]["asked"]) == (2 if again else 1)
    assert seen[-1]["log"] == []


LEAVES: ControlCommand = {"do": "shut_down", "brokers": [1]}


@pytest.mark.parametrize(
    ("release", "writes"), [("0.10.2.2", 1), ("0.11.0.3", 1), ("1.0.2", 1), ("1.1.1", 2), (RELEASE, 2)]
)
def test_a_set_whose_reply_is_lost_is_read_back_until_1_0(
    real_controllers: RealControllers, release: str, writes: int
) -> None:
    """The controller finds its own write; since 1.1 it considers it another's, and elects again."""
    shutdown = partitions_to("OnlinePartition", strategy="controlled-shutdown", lost=[[1, 0, 1]])
    sequence = [*BROUGHT_UP, LEAVES, shutdown]
    [(_, seen)] = real_controllers(release).of("StateMachines", [sequence])
    ours = compare(sequence, seen, release)
    [known] = ours.context.state.partition_leadership_info.values()
    assert (known.leader_and_isr.leader, known.leader_and_isr.leader_epoch) == (2, writes)


@pytest.mark.parametrize(
    ("release", "requests"), [("0.10.2.2", [1, 1, 1, 1]), ("1.0.2", [1, 1, 1, 1]), ("1.1.1", [2, 2, 2, 2])]
)
def test_partitions_change_one_by_one_until_1_0(
    real_controllers: RealControllers, release: str, requests: list[int]
) -> None:
    """A write before the second read is no conflict; since 1.1 both reads have been made by then."""
    writes = {"do": "leader_writes", "partition": "t-1", "isr": [2]}
    change = partitions_to(
        "OnlinePartition", "t-0", "t-1", strategy="controlled-shutdown", meanwhile=[[1, 0, writes]]
    )
    sequence = [*BOTH, partitions_to("OnlinePartition", "t-0", "t-1"), LEAVES, change]
    [(_, seen)] = real_controllers(release).of("StateMachines", [sequence])
    compare(sequence, seen, release)
    assert [len(batch) for batch in seen[-1]["asked"]] == requests


DIE_TOGETHER: list[ControlCommand] = [
    {"do": "brokers_up", "brokers": [[1, 101]]},
    *(
        {"do": "assign", "partition": partition, "replicas": [1], "adding": [], "removing": []}
        for partition in ("t-0", "t-1", "u-0", "v-0")
    ),
    partitions_to("NewPartition", "t-0", "t-1", "u-0", "v-0"),
    partitions_to("OnlinePartition", "t-0", "t-1", "u-0", "v-0"),
    {"do": "brokers_down", "brokers": [1]},
]
BETWEEN_READS: list[tuple[tuple[str, ...], list[Any]]] = [
    # partitions to elect for; the request before which another client acts, and how
    (("t-0", "t-1"), [1, 1, {"do": "delete_state", "partition": "t-0"}]),
    (("t-1", "t-0"), [1, 1, {"do": "delete_state", "partition": "u-0"}]),
    (("t-0", "t-1", "u-0", "v-0"), [1, 3, {"do": "configure", "topic": "t", "unclean": True}]),
    (("t-0", "t-1"), [1, 1, {"do": "configure", "topic": "t", "unclean": True}]),
    (("t-0", "t-1"), [1, 1, MOVES]),
    (("t-0", "t-1"), [1, 1, EXPIRES]),
]


@pytest.mark.parametrize(("release", "reads_of_t"), [("1.1.1", 2), ("2.2.2", 2), ("2.4.1", 1), (RELEASE, 1)])
def test_a_topic_is_read_for_each_partition_until_2_3(
    real_controllers: RealControllers, release: str, reads_of_t: int
) -> None:
    """Without a replica in sync, two partitions read their topic's configuration twice; others can write between."""
    sequences: list[list[ControlCommand]] = [
        [*DIE_TOGETHER, partitions_to("OnlinePartition", *partitions, meanwhile=[row])]
        for partitions, row in BETWEEN_READS
    ]
    kafka = real_controllers(release)
    for sequence, seen in kafka.of("StateMachines", sequences):
        compare(sequence, seen, release)
        assert seen[-1]["asked"][1].count("/config/topics/t") == reads_of_t


@pytest.mark.parametrize("release", ["1.1.1", "2.2.2", "2.4.1", RELEASE])
@pytest.mark.parametrize("permitted", [False, True], ids=["no leader again", "a leader afterwards"])
def test_a_conflict_repeats_what_has_failed_until_2_3(
    real_controllers: RealControllers, release: str, permitted: bool
) -> None:
    """Until then a leaderless partition gets another election; a leader then counts, but the failure is returned."""
    others: list[Any] = [[2, 0, {"do": "leader_writes", "partition": "u-0", "isr": [4, 2]}]]
    if permitted:
        others.append([3, 0, {"do": "configure", "topic": "t", "unclean": True}])
    sequence: list[ControlCommand] = [
        {"do": "brokers_up", "brokers": [[2, 102], [4, 104]]},
        *(
            {"do": "assign", "partition": partition, "replicas": [2, 4], "adding": [], "removing": []}
            for partition in ("t-0", "u-0")
        ),
        partitions_to("NewPartition", "t-0", "u-0"),
        partitions_to("OnlinePartition", "t-0", "u-0"),
        {"do": "leader_writes", "partition": "t-0", "isr": [2]},
        {"do": "brokers_down", "brokers": [2]},
        partitions_to("OfflinePartition", "t-0", "u-0"),
        partitions_to("OnlinePartition", "t-0", "u-0", meanwhile=others),
    ]
    [(_, seen)] = real_controllers(release).of("StateMachines", [sequence])
    compare(sequence, seen, release)
    again = Release(release) < Release("2.4.0")
    assert seen[-1]["partition_states"]["t-0"] == ("OnlinePartition" if permitted and again else "OfflinePartition")
    assert len(seen[-1]["log"]) == (2 if again and not permitted else 1)


# Deliberate disagreements.


def differs(kafka: RealController, *sequence: ControlCommand) -> set[str]:
    """The differences after the last command of a sequence, which agrees until then."""
    _, seen = asked(kafka, *sequence)
    ours = compare(sequence[:-1], seen[:-1], kafka.release)
    return {disagreement.what for disagreement in ours.disagreements(sequence[-1], seen[-1])}


def test_brokers_in_a_hash_map(real_controller: RealController) -> None:
    """The fifth comes before the first, and so is not the last member of the ISR."""
    sequence: list[ControlCommand] = [
        {"do": "brokers_up", "brokers": [[broker, 100 + broker] for broker in (1, 5)]},
        {"do": "assign", "partition": "t-0", "replicas": [1, 5], "adding": [], "removing": []},
        partitions_to("NewPartition"),
        replicas_to("NewReplica", 1, 5),
        partitions_to("OnlinePartition"),
        replicas_to("OfflineReplica", 1, 5),
    ]
    assert "partition_leadership_info" in differs(real_controller, *sequence)


@pytest.mark.parametrize("release", RELEASES)
def test_a_replica_that_stops_twice_in_a_batch(real_controllers: RealControllers, release: str) -> None:
    """No change of states causes this, but a caller of the batch could."""
    stops = [["stop_replica", "t-0", [2], delete] for delete in (False, True)]
    both = {"do": "send_requests", "added": stops}
    different = {"requests to brokers"} if Release(release) < Release("2.6.0") else set()
    assert differs(real_controllers(release), *COMES_UP, both) == different


@pytest.mark.parametrize("release", ["2.2.2", "2.4.1", "2.8.2", RELEASE])
def test_a_partition_of_an_earlier_topic_is_triggered_until_2_2(
    real_controllers: RealControllers, release: str
) -> None:
    """Its state stays when the topic is removed; until 2.2 Kafka finds a topic's partitions by their states."""
    sequence, seen = asked(real_controllers(release), *TRIGGERED_AGAIN)
    compare(sequence, seen, release)
    elected_for = any("/brokers/topics/t/partitions/0/state" in requests for requests in seen[-1]["asked"])
    assert elected_for is (Release(release) < Release("2.3.0"))


def test_a_state_that_is_unknown(real_controller: RealController) -> None:
    """A topic's partitions have no state after a failover, until the state machine starts; Kafka throws."""
    sequence, seen = asked(real_controller, *COMES_UP, {"do": "fail_over"}, {"do": "trigger", "topic": "t"})
    compare(sequence, seen)
    assert seen[-1]["thrown"]["thrown"] == "NoSuchElementException"


def test_the_end_of_the_last_replica(real_controller: RealController) -> None:
    """Kafka throws if the topic is not queued for deletion, and goes on; the state stays, the assignment is empty."""
    alone: ControlCommand = {"do": "assign", "partition": "t-0", "replicas": [2], "adding": [], "removing": []}
    lives = ("NewReplica", "OnlineReplica", "OfflineReplica", "ReplicaDeletionStarted", "ReplicaDeletionSuccessful")
    sequence: list[ControlCommand] = [
        *(COMES_UP[0], alone, partitions_to("NewPartition"), partitions_to("OnlinePartition")),
        *(replicas_to(state, 2) for state in lives[1:]),
        replicas_to("NonExistentReplica", 2),
    ]
    sequence.insert(3, replicas_to("NewReplica", 2))
    assert differs(real_controller, *sequence) == {"replica_states"}


# Mistakes.


def less(value: Any) -> Any:
    """An observation with one element removed; None if that is impossible."""
    match value:
        case bool():
            return not value
        case dict() | list() if value:
            return dict(list(value.items())[:-1]) if isinstance(value, dict) else value[:-1]
    return None


def test_an_altered_observation_is_detected(real_controller: RealController) -> None:
    """Removing one element of any of Kafka's observations is noticed."""
    sequence, seen = asked(
        real_controller,
        *BROUGHT_UP,
        partitions_to("OnlinePartition", strategy="preferred"),
        partitions_to("NewPartition"),
        {"do": "fail_directories", "broker": 3, "partitions": ["t-0"]},
        {"do": "shut_down", "brokers": [4]},
        replicas_to("OfflineReplica", 1, 2, meanwhile=[[2, 0, MOVES]]),
        *({"do": do, "topics": ["t"]} for do in ("queue_deletion", "begin_deletion", "mark_ineligible")),
    )
    compare(sequence, seen)
    noticed = set()
    for number, now in enumerate(seen):
        parts = {f"left {name}": {**now["left"], name: less(part)} for name, part in now.get("left", {}).items()}
        for name, fewer in {**{name: less(value) for name, value in now.items()}, **parts}.items():
            altered_name = name.partition(" ")[0]
            if name in ("epoch", "left") or fewer is None or (altered_name == "left" and None in fewer.values()):
                continue
            altered = [*seen[:number], {**now, altered_name: fewer}, *seen[number + 1 :]]
            with pytest.raises(AssertionError):
                compare(sequence, altered)
            noticed.add(name)
    left = {
        f"left {part}" for part in ("leader_and_isr", "stop_replica", "update_metadata", "update_metadata_brokers")
    }
    assert noticed == {*DECODED, *left, "asked", "log", "moved", "results", "sent"} - {"epoch", "left"}


class TellsTheLiveAlone(ControllerBrokerRequestBatch):
    """A broker that is shutting down receives no more requests. [1.1, 2.0, KAFKA-7482]"""

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        for broker in self.context.state.shutting_down_broker_ids:
            self.context.remove_live_brokers([broker])
        super().send_requests_to_brokers(controller_epoch)


class ForgetsBrokerEpochs(ControllerBrokerRequestBatch):
    """Requests are for any broker with the id. [until 2.1, KAFKA-7235]"""

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        send = self.send
        self.send = lambda broker, request: send(broker, request._replace(brokerEpoch=-1))
        super().send_requests_to_brokers(controller_epoch)


class ClearsTheBatchFirst(ControllerBrokerRequestBatch):
    """A change forgets the leftovers of an earlier one, so no batch is dirty. [proposed: KAFKA-12315]"""

    def new_batch(self) -> None:
        self.clear()


class LastMemberLeaves(ReplicaStateMachine):
    """The last member of an ISR leaves it, too. [until 1.0, KAFKA-5642]"""

    def _isr_without(self, replica: BrokerId, isr: tuple[BrokerId, ...], unclean: bool) -> tuple[BrokerId, ...]:
        return super()._isr_without(replica, isr, True)


class IsNotFenced(MachineDriver):
    """Writes are not fenced, and the responses are padded as if they were. [until 2.0, KAFKA-6082]"""

    def requests(self, awaits: Await | None) -> tuple[ZkRequest, ...]:
        return tuple(
            Multi((Check(CONTROLLER_EPOCH), *request.operations[1:])) if isinstance(request, Multi) else request
            for request in super().requests(awaits)
        )


MUTANTS = {
    "TellsTheLiveAlone": StateMachineClasses(batch=TellsTheLiveAlone),
    "ForgetsBrokerEpochs": StateMachineClasses(batch=ForgetsBrokerEpochs),
    "ClearsTheBatchFirst": StateMachineClasses(batch=ClearsTheBatchFirst),
    "LastMemberLeaves": StateMachineClasses(replicas=LastMemberLeaves),
    "IsNotFenced": StateMachineClasses(driver=IsNotFenced),
}


@pytest.mark.long
@pytest.mark.parametrize("kinds", MUTANTS.values(), ids=MUTANTS)
def test_each_mutant_is_refuted(recorded: list[tuple[Any, Any]], kinds: StateMachineClasses) -> None:
    """By Kafka, in one of some generated sequences."""
    with pytest.raises(AssertionError):
        compare_all(recorded, kinds)


def compare_all(
    recorded: Iterable[tuple[Sequence[ControlCommand], Sequence[Observation]]], kinds: StateMachineClasses
) -> None:
    """Compare sequences, one after the other."""
    for sequence, seen in recorded:
        compare(sequence, seen, kinds=kinds)


@pytest.fixture(scope="module")
def recorded(real_controller: RealController) -> list[tuple[Any, Any]]:
    """Generated sequences, with Kafka's observations."""
    return list(real_controller.of("StateMachines", drawn(0, 300)))
