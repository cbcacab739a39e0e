"""A whole controller of 0.10, 0.11 or 1.0 beside Kafka's own: generated sequences of events, and single cases.

After each command, when nothing is left to do, these are equal: the controller's id, the context, every node of
ZooKeeper with its version, the requests to each broker, the answers to brokers, and the metrics.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from random import Random

import pytest

from spec.kafka.idle_controller_beside import RELEASES, IdleControllerBeside
from spec.kafka.scripted_cluster import ControlCommand, path_of
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH
from statemachines.controller.kafka_zk_client import Exists, ZkRequest, ZkResponse
from statemachines.messages.control_requests import UpdateMetadataRequest
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    TOPICS,
    delete_topics_topic_path,
    topic_path,
)
from statemachines.zookeeper.tree import ZkPath
from tests.kafka.conftest import RealControllers
from tests.kafka.event_sequences import SettledDrawing

LENGTH = 20
LONG = int(os.environ.get("EVENT_SEQUENCES", 2_000)) // 4
"""The number of sequences in the long test."""


def drawn(seed: int, count: int, release: str) -> Iterable[list[ControlCommand]]:
    """So many sequences; each is `SettledDrawing(Random(f"{seed} {number}").randrange, release).sequence(20)`."""
    return (SettledDrawing(Random(f"{seed} {number}").randrange, release).sequence(LENGTH) for number in range(count))


def compare_all(
    real_controllers: RealControllers, sequences: Iterable[Sequence[ControlCommand]], release: str
) -> IdleControllerBeside:
    """Our side, after the last command; AssertionError names the differences from Kafka, if there are any."""
    ours = IdleControllerBeside(release)
    for sequence, seen in real_controllers(release).of("Events", sequences, a_line=5):
        ours = IdleControllerBeside(release)
        for number, (command, now) in enumerate(zip(sequence, seen, strict=True)):
            disagreements = ours.disagreements(command, now)
            message = "\n".join(["after", *map(str, sequence[: number + 1]), *map(str, disagreements)])
            assert not disagreements, message
    return ours


@pytest.mark.parametrize("release", RELEASES)
def test_the_idle_controller_equals_kafkas(real_controllers: RealControllers, release: str, first_seed: int) -> None:
    """A handful."""
    print(f"seed {first_seed}")
    compare_all(real_controllers, drawn(first_seed, 25, release), release)


@pytest.mark.long
@pytest.mark.parametrize("release", RELEASES)
def test_the_idle_controller_equals_kafkas_in_many_sequences(
    real_controllers: RealControllers, release: str, first_seed: int
) -> None:
    """More."""
    print(f"seed {first_seed}")
    compare_all(real_controllers, drawn(first_seed, LONG, release), release)


CLUSTER: list[ControlCommand] = [
    {"do": "wait"},
    {"do": "register", "brokers": [2, 4]},
    {"do": "create_topic", "topic": "c", "partitions": {"15": [2], "21": [2]}},
]
MOVES: ControlCommand = {"do": "reassign_by_node", "targets": {"c-15": [4]}}


ADDED: list[ControlCommand] = [
    *(*CLUSTER, MOVES),
    {"do": "write_reassignment", "targets": {"c-15": [4], "c-21": [4]}},
    {"do": "leader_writes", "partition": "c-15", "isr": [2, 4]},
]
TO_BE_DELETED: list[ControlCommand] = [*CLUSTER, MOVES, {"do": "ask_deletion", "topic": "c"}, {"do": "vacate"}]
AS_ASKED: list[ControlCommand] = [
    *CLUSTER,
    {"do": "reassign_by_node", "targets": {"c-15": [2, 4]}},
    {"do": "ask_deletion", "topic": "c"},
    {"do": "vacate"},
]
LEADERLESS: list[ControlCommand] = [
    {"do": "wait"},
    {"do": "register", "brokers": [2, 4, 7]},
    {"do": "create_topic", "topic": "c", "partitions": {"15": [2], "21": [4, 7]}},
    {"do": "die", "brokers": [2]},
    {"do": "die", "brokers": [7]},
]
LEFT_BEHIND: list[ControlCommand] = [
    *(*CLUSTER, {"do": "depose"}),
    {"do": "ask_deletion", "topic": "h"},
    {"do": "vacate"},
]
WAITS: list[ControlCommand] = [
    *(*CLUSTER, {"do": "die", "brokers": [2]}),
    {"do": "ask_deletion", "topic": "c"},
    *({"do": "depose"}, {"do": "vacate"}),
]
"""A deletion waits for broker 2, and another controller has taken over."""
WITHOUT_LEADER: list[ControlCommand] = [
    {"do": "wait"},
    {"do": "create_topic", "topic": "c", "partitions": {"15": [2]}},
]
"""Broker 2 is not there."""
BOUNCED: list[ControlCommand] = [*CLUSTER, {"do": "bounce", "brokers": [2]}]
IMBALANCED: list[ControlCommand] = [
    {"do": "wait"},
    {"do": "register", "brokers": [2, 4]},
    {"do": "create_topic", "topic": "c", "partitions": {"15": [2, 4]}},
    {"do": "die", "brokers": [2]},
    {"do": "register", "brokers": [2]},
    {"do": "leader_writes", "partition": "c-15", "isr": [4, 2]},
]
ELECTED_THOUGH_DELETED: list[ControlCommand] = [
    *(*IMBALANCED, {"do": "depose"}),
    {"do": "elect_by_node", "partitions": ["c-15"]},
    {"do": "ask_deletion", "topic": "c"},
    {"do": "vacate"},
]
NEVER_LED: list[ControlCommand] = [
    *(*CLUSTER, {"do": "depose"}),
    {"do": "create_topic", "topic": "h", "partitions": {"15": [2]}},
    {"do": "elect_by_node", "partitions": ["h-15"]},
    {"do": "vacate"},
]
MUCH_TO_DO: list[ControlCommand] = [
    {"do": "wait"},
    {"do": "register", "brokers": [2, 4, 7]},
    {"do": "create_topic", "topic": "c", "partitions": {"15": [2, 4]}},
    {"do": "create_topic", "topic": "d", "partitions": {"15": [7]}},
    {"do": "create_topic", "topic": "h", "partitions": {"15": [4, 7]}},
    {"do": "die", "brokers": [4]},
    {"do": "register", "brokers": [4]},
    {"do": "leader_writes", "partition": "h-15", "isr": [7, 4]},
    {"do": "depose"},
    {"do": "die", "brokers": [2]},
    {"do": "ask_deletion", "topic": "d"},
    {"do": "reassign_by_node", "targets": {"c-15": [4, 7]}},
    {"do": "elect_by_node", "partitions": ["h-15"]},
    {"do": "vacate"},
]
"""Another controller leaves a partition that nobody can lead, a deletion, a reassignment and an election."""
NEVER_SEEN: list[ControlCommand] = [
    {"do": "wait"},
    {"do": "register", "brokers": [2, 4]},
    {"do": "depose"},
    {"do": "create_topic", "topic": "c", "partitions": {"15": [2]}},
    {"do": "ask_deletion", "topic": "c"},
    {"do": "vacate"},
    {"do": "die", "brokers": [2]},
    {"do": "register", "brokers": [2]},
    {"do": "depose"},
    {"do": "vacate"},
]


@pytest.mark.parametrize("release", RELEASES)
def test_a_quickly_restarted_leader_receives_no_leader_and_isr(
    real_controllers: RealControllers, release: str
) -> None:
    """B5: ZooKeeper names it as the leader, but it does not know."""
    ours = compare_all(real_controllers, [BOUNCED], release)
    assert not ours.sent


@pytest.mark.parametrize("release", RELEASES)
def test_a_topic_stays_that_is_to_be_deleted_before_a_controller_has_seen_it(
    real_controllers: RealControllers, release: str
) -> None:
    """K9: a new controller has no states of its partitions, even after its broker restarts, or after a failover."""
    ours = compare_all(real_controllers, [NEVER_SEEN], release)
    assert {topic_path("c"), delete_topics_topic_path("c")} <= ours.zookeeper.state.nodes.keys()


@pytest.mark.parametrize("release", RELEASES)
def test_a_partition_added_to_the_reassignment_node_begins(real_controllers: RealControllers, release: str) -> None:
    """It begins at once, while another partition moves, and is still there when that one has arrived."""
    ours = compare_all(real_controllers, [ADDED], release)
    assert ours.context.state.partitions_being_reassigned == {TopicPartition("c", 21)}


@pytest.mark.parametrize("release", RELEASES)
def test_a_move_goes_on_whose_topic_is_to_be_deleted(real_controllers: RealControllers, release: str) -> None:
    """It goes on when another controller takes over; the deletion waits for it."""
    ours = compare_all(real_controllers, [TO_BE_DELETED], release)
    assert ours.context.state.partitions_being_reassigned == {TopicPartition("c", 15)}


@pytest.mark.parametrize("release", RELEASES)
def test_a_reassignment_to_the_current_replicas_does_not_block_deletion(
    real_controllers: RealControllers, release: str
) -> None:
    """It has not completed, but leaves the node when another controller takes over, and the topic is deleted."""
    ours = compare_all(real_controllers, [AS_ASKED], release)
    assert ours.context.state.topics_ineligible_for_deletion == frozenset()


@pytest.mark.parametrize("release", RELEASES[1:])
def test_no_controller_can_take_over(real_controllers: RealControllers, release: str) -> None:
    """A deleted topic has left only its request: each failover fails, and another follows."""
    ours = compare_all(real_controllers, [LEFT_BEHIND], release)
    assert ours.is_endless


def test_until_0_10_no_topic_is_deleted_while_the_request_for_one_is_left(real_controllers: RealControllers) -> None:
    """Its controller does take over, but the thread that deletes topics ends."""
    ours = compare_all(real_controllers, [LEFT_BEHIND], "0.10.2.2")
    assert ours.is_active
    assert ours.is_stuck
    assert delete_topics_topic_path("h") in ours.zookeeper.state.nodes


def test_until_0_10_an_election_that_fails_is_under_way_until_the_next_failover(
    real_controllers: RealControllers,
) -> None:
    """One of its partitions never had a leader. Kafka remembers the election and stops rebalancing, ours does not."""
    failing: ControlCommand = {"do": "elect_by_node", "partitions": ["h-15"]}
    ours = compare_all(real_controllers, [[*CLUSTER, failing]], "0.10.2.2")
    assert ours.is_stuck
    assert PREFERRED_REPLICA_ELECTION in ours.zookeeper.state.nodes
    sequences = [[*IMBALANCED, {"do": "rebalance"}], [*IMBALANCED, failing, {"do": "rebalance"}]]
    (_, balanced), (_, left) = real_controllers("0.10.2.2").of("Events", sequences)
    assert ["znodes" in seen[-1] for seen in (balanced, left)] == [True, False], "whether it is rebalanced"


@pytest.mark.parametrize(("release", "is_endless"), [("0.10.2.2", True), ("0.11.0.3", False), ("1.0.2", False)])
def test_until_0_10_an_election_of_a_new_partition_keeps_all_from_taking_over(
    real_controllers: RealControllers, release: str, is_endless: bool
) -> None:
    """Until 0.10 its state is read before a leader is elected; later, after that."""
    assert compare_all(real_controllers, [NEVER_LED], release).is_endless is is_endless


@pytest.mark.parametrize("release", RELEASES)
def test_a_preferred_leader_of_what_is_to_be_deleted(real_controllers: RealControllers, release: str) -> None:
    """Until 0.10 one is elected when another controller takes over, before the deletion goes on."""
    ours = compare_all(real_controllers, [ELECTED_THOUGH_DELETED], release)
    known = ours.context.state.partition_leadership_info[TopicPartition("c", 15)]
    assert known.leader_and_isr.leader_epoch == (4 if release == "0.10.2.2" else 3)


@pytest.mark.parametrize("release", RELEASES)
def test_partitions_to_be_deleted_are_not_offline(real_controllers: RealControllers, release: str) -> None:
    """A deletion waits for a broker, also for the next controller."""
    sequences = [CLUSTER + [{"do": "die", "brokers": [2]}], WAITS]
    before, after = (compare_all(real_controllers, [sequence], release) for sequence in sequences)
    name = "kafka.controller:type=KafkaController,name=OfflinePartitionsCount"
    assert (before.shown[name], after.shown[name]) == (2, 0)


@pytest.mark.parametrize(("release", "is_read"), [("0.10.2.2", False), ("0.11.0.3", True), ("1.0.2", True)])
def test_until_0_10_the_imbalance_is_not_read_while_a_partition_has_never_led(
    real_controllers: RealControllers, release: str, is_read: bool
) -> None:
    """Its gauge throws an exception."""
    ours = compare_all(real_controllers, [WITHOUT_LEADER], release)
    assert ("kafka.controller:type=KafkaController,name=PreferredReplicaImbalanceCount" in ours.shown) is is_read


class FailingOver(IdleControllerBeside):
    """Records the paths that failovers request, except for checks of existence."""

    def __init__(self, release: str) -> None:
        super().__init__(release)
        self.asked: list[ZkPath] = []

    def _ask(self, *requests: ZkRequest) -> tuple[ZkResponse, ...]:
        event = self.controller.event
        if event is not None and event.method == self.processor.on_controller_failover.__name__:
            self.asked += [path_of(request) for request in requests if not isinstance(request, Exists)]
        return super()._ask(*requests)


def test_a_failover_of_0_10_asks_in_this_order(real_controllers: RealControllers) -> None:
    """Except twice: Kafka sets watches by reads of their own, and reads the requested elections only once."""
    [(_, seen)] = real_controllers("0.10.2.2").of("Events", [MUCH_TO_DO])
    failover, deletions, *_ = seen[-1]["asked"]
    armed = [ISR_CHANGE_NOTIFICATION, TOPICS, DELETE_TOPICS, BROKER_IDS]
    begin = [CONTROLLER, CONTROLLER, CONTROLLER_EPOCH, CONTROLLER_EPOCH, *armed]
    assert failover[: len(begin)] == begin

    ours = FailingOver("0.10.2.2")
    for command, now in zip(MUCH_TO_DO, seen, strict=True):
        ours.asked.clear()
        assert ours.disagreements(command, now) == []
    _read, again, _deleted = (at for at, path in enumerate(ours.asked) if path == PREFERRED_REPLICA_ELECTION)
    del ours.asked[again]
    assert ours.asked == [ISR_CHANGE_NOTIFICATION, *failover[len(begin) :], *deletions]


@pytest.mark.parametrize(("release", "sent"), [("0.11.0.3", True), ("1.0.2", False)])
def test_until_0_11_brokers_hear_of_a_dead_broker_that_led_nothing(
    real_controllers: RealControllers, release: str, sent: bool
) -> None:
    """Since 1.0 not if another partition has no leader, which counts as lost; its removal from the ISR is sent."""
    ours = compare_all(real_controllers, [LEADERLESS], release)
    everything = [
        request
        for request in ours.sent[4]
        if isinstance(request, UpdateMetadataRequest) and len(request.partitionStates) == 2
    ]
    assert bool(everything) is sent
