"""A whole controller of 0.10, 0.11 or 1.0 beside Kafka's own: generated sequences of events, and single cases.

After each command, when nothing is left to do or at most one event was handled, these are equal: the controller's id,
the context, every node of ZooKeeper with its version, the events in the queue with what they hold, the requests to
each broker, the answers to brokers, and the metrics.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Final

import pytest

from election.ids import BrokerId
from spec.kafka import controller_beside
from spec.kafka.idle_controller_beside import RELEASES, IdleControllerBeside
from spec.kafka.scripted_cluster import ControlCommand, path_of
from statemachines.controller.calls import Call, Calls
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.kafka_controller import KafkaController
from statemachines.controller.zk_requests import Exists, ZkRequest, ZkResponse
from statemachines.messages.control_requests import UpdateMetadataRequest
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    TOPICS,
    delete_topics_topic_path,
    topic_path,
)
from statemachines.tables.replica import ReplicaDeletionStarted
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
LED_BY_4_AGAIN: list[ControlCommand] = [
    {"do": "die", "brokers": [2]},
    {"do": "register", "brokers": [2]},
    {"do": "leader_writes", "partition": "c-15", "isr": [4, 2]},
]
FAILED_ELECTION: list[ControlCommand] = [
    *IMBALANCED,
    {"do": "elect_by_node", "partitions": ["c-15", "h-15"]},
    *LED_BY_4_AGAIN,
]
"""There is no partition h-15."""
ELECTED_AGAIN: list[ControlCommand] = [
    {"do": "withdraw", "path": PREFERRED_REPLICA_ELECTION},
    {"do": "elect_by_node", "partitions": ["c-15"]},
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
WITH_QUEUE: Final = RELEASES[1:]
READ_BEFORE: Final[Mapping[str, list[ControlCommand]]] = {
    "another topic": [
        *(*CLUSTER, {"do": "create_topic", "topic": "d", "partitions": {"15": [2]}, "handle": 0}),
        {"do": "create_topic", "topic": "h", "partitions": {"15": [2]}},
    ],
    "a deletion withdrawn": [
        *(*CLUSTER, {"do": "ask_deletion", "topic": "c", "handle": 0}),
        {"do": "withdraw", "path": delete_topics_topic_path("c")},
    ],
    "an election withdrawn": [
        *(*IMBALANCED, {"do": "elect_by_node", "partitions": ["c-15"], "handle": 0}),
        {"do": "withdraw", "path": PREFERRED_REPLICA_ELECTION},
    ],
    "another notification": [
        *(*CLUSTER, {"do": "notify_isr", "partitions": ["c-15"], "handle": 0}),
        {"do": "notify_isr", "partitions": ["c-21"]},
    ],
}
"""A node changes after ZkEventThread has read it, and before the controller's thread handles the event."""
REPLACED: list[ControlCommand] = [
    *(*CLUSTER, {**MOVES, "handle": 0}),
    {"do": "write_reassignment", "targets": {"c-15": [2, 4]}},
]
"""The same of a reassignment, which is read when it is handled since 0.11.0.2."""
RETARGETED: list[ControlCommand] = [
    *(*CLUSTER, {"do": "leader_writes", "partition": "c-15", "isr": [4, 2]}),
    {"do": "vacate", "handle": 0},
    {**MOVES, "handle": 1},
    {"do": "write_reassignment", "targets": {"c-15": [2, 4, 7]}},
]
"""The first move of a failover is complete, and changes of the ISR during it are in the queue behind another move."""
REPORTED: list[ControlCommand] = [
    *(*CLUSTER, {"do": "vacate", "handle": 0}),
    *({"do": "fail_log_dir", "broker": 2}, {"do": "fail_log_dir", "broker": 2}),
]
"""A failed disk is reported before a failover, which deletes the report, and another one after it."""
ELECTED_ANEW: list[ControlCommand] = [*CLUSTER, {"do": "vacate", "handle": 0}, {"do": "wait"}]


class ReadingLate(KafkaController):
    """It reads whatever an event is about when it handles the event, as since 1.1."""

    def _reads_anew(self, event: Call) -> bool:
        return True


@pytest.mark.parametrize("release", WITH_QUEUE)
@pytest.mark.parametrize("case", READ_BEFORE.values(), ids=list(READ_BEFORE))
def test_an_event_holds_what_was_read_before_it_was_queued(
    real_controllers: RealControllers, case: list[ControlCommand], release: str
) -> None:
    """The controller acts on it, though it is out of date, and one that reads later does something else."""
    compare_all(real_controllers, [case], release)
    late = IdleControllerBeside(release, controller=ReadingLate)
    assert differs_in_effect(real_controllers, case, late)


@pytest.mark.long
def test_an_event_of_a_reassignment_holds_nothing(
    real_controllers: RealControllers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 0.11.0.3 as in 1.0: the partition moves to the later targets. One that holds the earlier does not."""
    for release in WITH_QUEUE:
        ours = compare_all(real_controllers, [REPLACED], release)
        assert ours.context.state.partition_assignments[TopicPartition("c", 15)].replicas == (2, 4)
    carries = ControlDesign("0.11.0.3").but(carry_reassignment=True)
    monkeypatch.setattr(controller_beside, "ControlDesign", lambda release: carries)
    assert differs_in_effect(real_controllers, REPLACED, IdleControllerBeside("0.11.0.3"))


def differs_in_effect(
    real_controllers: RealControllers, sequence: Sequence[ControlCommand], ours: IdleControllerBeside
) -> bool:
    """Whether our side contradicts Kafka's even if the events in the queue are not compared."""
    [(_, seen)] = real_controllers(ours.release).of("Events", [sequence])
    effects = [{name: value for name, value in now.items() if name != "queue"} for now in seen]
    return any(ours.disagreements(command, now) for command, now in zip(sequence, effects, strict=True))


class ForgetsTargets(ControllerEventProcessor):
    """Its changes of an ISR are events without the targets of the move, as since 1.1."""

    def process_partition_reassignment_isr_change(
        self, partition: TopicPartition, target: tuple[BrokerId, ...] | None = None
    ) -> Calls:
        return self.maybe_complete_reassignment(partition)


@pytest.mark.parametrize("release", WITH_QUEUE)
def test_a_change_of_an_isr_holds_the_targets_of_its_move(real_controllers: RealControllers, release: str) -> None:
    """They are in sync, so the next move of the partition goes on, though its own targets are not."""
    compare_all(real_controllers, [RETARGETED], release)
    forgets = IdleControllerBeside(release, processor=ForgetsTargets)
    assert differs_in_effect(real_controllers, RETARGETED, forgets)


@pytest.mark.long
def test_a_failed_disk_is_noticed_after_a_failover_that_deletes_reports(real_controllers: RealControllers) -> None:
    """In 1.0 the watch is set after the deletion, which would fire an earlier one."""
    ours = compare_all(real_controllers, [REPORTED], "1.0.2")
    assert ours.sent
    assert not [path for path in ours.zookeeper.state.nodes if path.startswith(f"{LOG_DIR_EVENT_NOTIFICATION}/")]


@pytest.mark.parametrize("release", WITH_QUEUE)
def test_the_events_in_the_queue_are_compared(real_controllers: RealControllers, release: str) -> None:
    """With what they hold: ZkEventThread has read both topics, and the controller knows one."""
    ours = compare_all(real_controllers, [READ_BEFORE["another topic"][:-1]], release)
    assert ours.kafkas["queue"] == [("TopicChange", ["c", "d"])]


@pytest.mark.parametrize("release", WITH_QUEUE)
def test_who_is_controller_changes_when_the_event_is_handled(real_controllers: RealControllers, release: str) -> None:
    """And not when ZkEventThread reads that there is none."""
    ours = compare_all(real_controllers, [ELECTED_ANEW[:-1]], release)
    assert ours.kafkas["active"] == (True, 9)
    assert ours.kafkas["queue"] == [("Reelect",)]
    compare_all(real_controllers, [ELECTED_ANEW], release)


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


@pytest.mark.long
def test_until_0_10_no_topic_is_deleted_while_the_request_for_one_is_left(real_controllers: RealControllers) -> None:
    """Its controller does take over, but the thread that deletes topics ends."""
    ours = compare_all(real_controllers, [LEFT_BEHIND], "0.10.2.2")
    assert ours.is_active
    assert ours.is_stuck
    assert delete_topics_topic_path("h") in ours.zookeeper.state.nodes


@pytest.mark.parametrize(
    ("release", "then", "leader"),
    [
        ("0.10.2.2", [{"do": "rebalance"}], 4),
        ("0.11.0.3", [{"do": "rebalance"}], 2),
        ("0.10.2.2", ELECTED_AGAIN, 4),
        ("0.11.0.3", ELECTED_AGAIN, 2),
        ("0.10.2.2", [{"do": "vacate"}, *LED_BY_4_AGAIN, {"do": "rebalance"}], 2),
    ],
)
def test_until_0_10_an_election_that_fails_is_in_progress_until_a_failover(
    real_controllers: RealControllers, release: str, then: list[ControlCommand], leader: BrokerId
) -> None:
    """One of its partitions never had a leader: leaders are not rebalanced, and c-15 is not elected again."""
    ours = compare_all(real_controllers, [[*FAILED_ELECTION, *then]], release)
    known = ours.context.state.partition_leadership_info[TopicPartition("c", 15)]
    assert known.leader_and_isr.leader == leader
    assert not (then is ELECTED_AGAIN and PREFERRED_REPLICA_ELECTION in ours.zookeeper.state.nodes)


@pytest.mark.long
def test_until_0_10_an_election_in_progress_may_keep_its_controller_from_taking_over(
    real_controllers: RealControllers,
) -> None:
    """Its node is gone, and one of its partitions is still unknown."""
    ours = compare_all(real_controllers, [[*FAILED_ELECTION, ELECTED_AGAIN[0], {"do": "vacate"}]], "0.10.2.2")
    assert ours.is_endless


@pytest.mark.long
def test_until_0_10_a_deletion_waits_for_an_election_in_progress(real_controllers: RealControllers) -> None:
    """It does when it is noticed again, because of another request."""
    other: ControlCommand = {"do": "ask_deletion", "topic": "d"}
    sequence = [*FAILED_ELECTION, {"do": "ask_deletion", "topic": "c"}, other]
    ours = compare_all(real_controllers, [sequence], "0.10.2.2")
    assert ours.context.state.topics_ineligible_for_deletion == {"c"}


@pytest.mark.long
def test_until_0_10_a_deletion_does_not_wait_after_an_election(real_controllers: RealControllers) -> None:
    """A failover elects for a partition of a topic to be deleted, whose other partition is on a dead broker."""
    other: ControlCommand = {"do": "extend_topic", "topic": "c", "partitions": {"21": [7]}}
    sequence = [*ELECTED_THOUGH_DELETED[:-1], other, ELECTED_THOUGH_DELETED[-1]]
    ours = compare_all(real_controllers, [sequence], "0.10.2.2")
    assert ours.context.replica_state(PartitionAndReplica(TopicPartition("c", 15), 2)) is ReplicaDeletionStarted


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
        self.read: list[ZkPath] = []

    def _ask(self, *requests: ZkRequest) -> tuple[ZkResponse, ...]:
        event = self.controller.event
        if event is not None and event.method == self.processor.on_controller_failover.__name__:
            self.read += [path_of(request) for request in requests if not isinstance(request, Exists)]
        return super()._ask(*requests)


@pytest.mark.long
def test_a_failover_of_0_10_asks_in_this_order(real_controllers: RealControllers) -> None:
    """Except twice: Kafka sets watches by reads of their own, and reads the requested elections only once."""
    [(_, seen)] = real_controllers("0.10.2.2").of("Events", [MUCH_TO_DO])
    failover, deletions, *_ = seen[-1]["asked"]
    armed = [ISR_CHANGE_NOTIFICATION, TOPICS, DELETE_TOPICS, BROKER_IDS]
    begin = [CONTROLLER, CONTROLLER, CONTROLLER_EPOCH, CONTROLLER_EPOCH, *armed]
    assert failover[: len(begin)] == begin

    ours = FailingOver("0.10.2.2")
    for command, now in zip(MUCH_TO_DO, seen, strict=True):
        ours.read.clear()
        assert ours.disagreements(command, now) == []
    _read, again, _deleted = (at for at, path in enumerate(ours.read) if path == PREFERRED_REPLICA_ELECTION)
    del ours.read[again]
    assert ours.read == [ISR_CHANGE_NOTIFICATION, *failover[len(begin) :], *deletions]


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
