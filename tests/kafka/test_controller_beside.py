"""A whole controller beside Kafka's own: generated sequences of events, and single cases.

After each command these are equal: the processed and the waiting events, who is controller, the context, every node
of ZooKeeper with its version, the requests to each broker in order, the content left in the three batches of
requests, the answers to brokers and administrators, the requests to ZooKeeper, batch by batch, and the controller's
metrics: its gauges, how many changes of brokers it has timed, how many unclean elections it has marked. Sequences
follow from a seed, which is printed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from benchmarks import controller_events
from spec.kafka.control_values import decoded_event
from spec.kafka.controller_beside import EVENTS, RELEASES, ControllerBeside
from spec.kafka.scripted_cluster import ControlCommand
from spec.kafka.state_machines_beside import RealController
from statemachines.controller.controller_process import ControllerProcess
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.kafka_controller import KafkaController
from statemachines.controller.state_change import EventDone
from statemachines.messages.control_requests import LeaderAndIsrRequest
from statemachines.messages.topic_partition import TopicPartition
from tests.kafka.conftest import RELEASE, RealControllers
from tests.kafka.event_sequences import ALL_EVENTS, EventDrawing
from tests.statemachines.test_event_mutants import MUTANTS

LENGTH = 20
CHOICES = 512
"""The approximate maximum of choices in a sequence."""
LONG = int(os.environ.get("EVENT_SEQUENCES", 2_000))
"""The number of sequences in the long test."""
OLDER = RELEASES[:-1]
EVERY = {*EVENTS.values(), "TopicUncleanLeaderElectionEnable"}
BY_REQUEST = {"ApiPartitionReassignment", "AlterPartitionReceived"}
NOT_MET: Mapping[str, set[str]] = {
    "1.1.1": {*BY_REQUEST, "UncleanLeaderElectionEnable", "TopicUncleanLeaderElectionEnable"},
    "2.2.2": BY_REQUEST,
    "2.4.1": {"AlterPartitionReceived"},
    "2.8.2": {"PartitionReassignmentIsrChange"},
    "3.9.1": {"PartitionReassignmentIsrChange"},
}
"""The events that a release does not have."""
LARGE = {"partitions": 10_000, "brokers": 20}
"""A large cluster."""
Observation = Mapping[str, Any]
"""The observation of Kafka after a command."""


def drawn(seed: int, count: int, release: str = RELEASE) -> Iterable[list[ControlCommand]]:
    """So many sequences; each is `EventDrawing(Random(f"{seed} {number}").randrange, release).sequence(20)`."""
    return (EventDrawing(Random(f"{seed} {number}").randrange, release).sequence(LENGTH) for number in range(count))


def commands_from(choices: bytes) -> list[ControlCommand]:
    """The sequence of these choices, which Hypothesis can simplify; after the last choice, the simplest ones."""
    remaining = iter(choices)
    return EventDrawing(lambda below: next(remaining, 0) % below).sequence(LENGTH)


def asked(kafka: RealController, *sequence: ControlCommand) -> tuple[Sequence[ControlCommand], Sequence[Observation]]:
    """A sequence, and Kafka's observations."""
    [(_, seen)] = kafka.of("Events", [sequence])
    return sequence, seen


def compare(
    sequence: Sequence[ControlCommand],
    seen: Sequence[Observation],
    release: str = RELEASE,
    processor: type[ControllerEventProcessor] = ControllerEventProcessor,
    controller: type[KafkaController] = KafkaController,
) -> ControllerBeside:
    """Run our side beside Kafka's observations; AssertionError names the differences after the first such command."""
    ours = ControllerBeside(release, processor, controller)
    for number, (command, now) in enumerate(zip(sequence, seen, strict=True)):
        disagreements = ours.disagreements(command, now)
        message = "\n".join(["after", *map(str, sequence[: number + 1]), *map(str, disagreements)])
        assert not disagreements, message
    return ours


# Generated.


def test_the_controller_equals_kafkas(real_controller: RealController, first_seed: int) -> None:
    """A hundred of 20 commands; a failing one is simplified."""
    print(f"seed {first_seed}")

    @seeded(first_seed)
    @settings(max_examples=100, database=None)
    @given(st.binary(min_size=CHOICES, max_size=CHOICES).map(commands_from))
    def both_agree(sequence: list[ControlCommand]) -> None:
        compare(*asked(real_controller, *sequence))

    both_agree()


@pytest.mark.long
def test_the_controller_equals_kafkas_in_many_sequences(real_controller: RealController, first_seed: int) -> None:
    """Every event occurs."""
    print(f"seed {first_seed}")
    assert EVERY - agreed(real_controller, first_seed, LONG, RELEASE) == NOT_MET[RELEASE]


@pytest.mark.parametrize("release", OLDER)
def test_the_controller_equals_kafkas_in_older_releases(
    real_controllers: RealControllers, release: str, first_seed: int
) -> None:
    """A handful for each."""
    print(f"seed {first_seed}")
    kafka = real_controllers(release)
    agreed(kafka, first_seed, 12, release)


@pytest.mark.long
@pytest.mark.parametrize("release", OLDER)
def test_the_controller_equals_kafkas_in_many_sequences_of_older_releases(
    real_controllers: RealControllers, release: str, first_seed: int
) -> None:
    """A quarter as many as of the newest; again every event of the release occurs."""
    print(f"seed {first_seed}")
    kafka = real_controllers(release)
    assert EVERY - agreed(kafka, first_seed, LONG // 4, release) == NOT_MET[release]


def agreed(kafka: RealController, seed: int, count: int, release: str) -> set[str]:
    """The events of so many sequences, on which both sides agree."""
    met: set[str] = set()
    for sequence, seen in kafka.of("Events", drawn(seed, count, release)):
        compare(sequence, seen, release)
        met.update(decoded_event(event)[0] for now in seen for event in now["handled"])
    return met


# Single cases.


def and_all(command: ControlCommand) -> ControlCommand:
    """A command, with all events that follow from it."""
    return {**command, "handle": ALL_EVENTS}


COMES_UP: list[ControlCommand] = [
    and_all({"do": "wait"}),
    and_all({"do": "register", "brokers": [1]}),
    and_all({"do": "create_topic", "topic": "a", "partitions": {"0": [2]}}),
    and_all({"do": "create_topic", "topic": "e", "partitions": {"0": [1]}}),
]
"""The only broker of topic a is dead."""
DELETES = [
    and_all({"do": "ask_deletion", "topic": "e"}),
    and_all({"do": "answer", "broker": 1, "errors": {}}),
]


FAILS: list[ControlCommand] = [
    and_all({"do": "reassign", "targets": {"a-0": [1]}}),
    and_all({"do": "ask_deletion", "topic": "a"}),
]
"""The reassignment fails after U2, since a-0 never had a leader."""


def topics(seen: Sequence[Observation]) -> set[str]:
    """The topics that exist at the end."""
    znodes = next(now["znodes"] for now in reversed(seen) if "znodes" in now)
    return {topic for topic in "aei" if f"/brokers/topics/{topic}" in znodes}


def test_a_replica_without_state_blocks_deletions(real_controller: RealController) -> None:
    """The resumption of deletions fails with it: another topic, with nothing wrong, is not deleted either."""
    for before, left in (([], {"a"}), (FAILS, {"a", "e"})):
        sequence, seen = asked(real_controller, *COMES_UP, *before, *DELETES)
        compare(sequence, seen)
        assert topics(seen) == left


def test_a_replica_without_state_fails_every_failover(real_controller: RealController) -> None:
    """Its topic's node has the reassignment: each controller resumes it, and fails, as there is no leader.

    There never will be one, because the topic is queued for deletion, even though its broker returns.
    """
    come = {"do": "register", "brokers": [2], "handle": 40}
    sequence, seen = asked(real_controller, *COMES_UP, *FAILS, {"do": "vacate", "handle": 40}, come)
    compare(sequence, seen)
    for now in seen[-2:]:
        assert sum(event == ["Reelect"] for event in now["handled"]) > len(sequence)


def test_a_request_leaves_a_watch_for_the_node(real_controller: RealController) -> None:
    """A reassignment by request ends one by the node; the next node causes two events."""
    sequence, seen = asked(
        real_controller,
        *COMES_UP,
        and_all({"do": "create_topic", "topic": "i", "partitions": {"0": [1]}}),
        and_all({"do": "reassign_by_node", "targets": {"i-0": [2]}}),
        {"do": "reassign", "targets": {"i-0": [1]}, "handle": 1},
        and_all({"do": "reassign_by_node", "targets": {"i-0": [2]}}),
    )
    compare(sequence, seen)
    assert sum(event == ["ZkPartitionReassignment"] for event in seen[-1]["handled"]) == 2


@pytest.mark.long
def test_a_controller_that_has_resigned_hears_of_the_node_that_it_asks_for(real_controllers: RealControllers) -> None:
    """Another one increments the epoch meanwhile, so /controller is not deleted, and the next read of it is believed.

    The waiting events are then processed with an empty context, and request the node; its creation is an event.
    """
    sequence, seen = asked(
        real_controllers("2.2.2"),
        and_all({"do": "create_topic", "topic": "a", "partitions": {"0": [2]}}),
        and_all({"do": "elect_by_node", "partitions": ["a-0"]}),  # it fails, and so does every failover
        and_all({"do": "vacate"}),
        {**and_all({"do": "rebalance"}), "meanwhile": [[10, 0, {"do": "newer_controller"}]]},
        {"do": "reassign_by_node", "targets": {"a-0": [1]}, "handle": 0},
    )
    ours = compare(sequence, seen, "2.2.2")
    assert ours.is_active
    assert not ours.context.state.live_broker_epochs
    assert seen[-1]["queue"] == [["PartitionReassignment"]]


MOVED_AND_GONE: list[ControlCommand] = [
    and_all({"do": "register", "brokers": [2, 10]}),
    and_all({"do": "create_topic", "topic": "c", "partitions": {"15": [10]}}),
    {"do": "reassign_by_node", "targets": {"c-15": [2]}, "handle": 0},
    and_all({"do": "ask_deletion", "topic": "c"}),
    {"do": "answer", "broker": 2, "errors": {}, "handle": 0},
    and_all({"do": "die", "brokers": [2]}),
    and_all({"do": "answer", "broker": 10, "errors": {}}),
    {"do": "register", "brokers": [2], "handle": 1},
]
"""A topic is deleted as it moves, and the broker to which it moves restarts."""


@pytest.mark.parametrize(("release", "reads"), [("1.1.1", False), ("2.2.2", True)])
def test_a_partition_that_is_assigned_no_more_is_moved_on_since_2_0(
    real_controllers: RealControllers, release: str, reads: bool
) -> None:
    """It is still being reassigned: its topic's node, which does not exist, must be written."""
    sequence, seen = asked(real_controllers(release), *MOVED_AND_GONE)
    compare(sequence, seen, release)
    assert (["/brokers/topics/c"] in seen[-1]["asked"]) is reads


WITHOUT_CHANNELS: list[ControlCommand] = [
    and_all({"do": "wait"}),
    and_all({"do": "register", "brokers": [2]}),
    {"do": "vacate", "handle": 0},
    {**and_all({"do": "fail_log_dir", "broker": 2}), "meanwhile": [[7, 0, {"do": "newer_controller"}]]},
    and_all({"do": "bounce", "brokers": [2]}),
]
"""Another one increments the epoch in a failover, which aborts; /controller is believed, and a broker restarts."""


@pytest.mark.parametrize(("release", "knows"), [("2.2.2", False), ("2.4.1", True)])
def test_a_controller_whose_failover_broke_off_has_no_channels(
    real_controllers: RealControllers, release: str, knows: bool
) -> None:
    """Until 2.2 none, so it does not learn of the brokers; since then it has the earlier ones."""
    ours = compare(*asked(real_controllers(release), *WITHOUT_CHANNELS), release)
    assert ours.is_active
    assert (2 in ours.context.state.live_broker_epochs) is knows


BOUNCED: list[ControlCommand] = [
    and_all({"do": "wait"}),
    and_all({"do": "register", "brokers": [1, 2]}),
    and_all({"do": "create_topic", "topic": "e", "partitions": {"0": [1, 2]}}),
    and_all({"do": "bounce", "brokers": [1]}),
]


@pytest.mark.parametrize(("release", "sent"), [("1.1.1", False), ("2.2.2", True)])
def test_until_2_1_a_quickly_restarted_leader_receives_no_leader_and_isr(
    real_controllers: RealControllers, release: str, sent: bool
) -> None:
    """B5: ZooKeeper names it as the leader, but it does not know."""
    ours = compare(*asked(real_controllers(release), *BOUNCED), release)
    assert any(isinstance(request, LeaderAndIsrRequest) for request in ours.sent.get(1, ())) is sent


COMES_FIRST = (and_all({"do": "wait"}),)
NEVER_SEEN: list[ControlCommand] = [
    and_all({"do": "register", "brokers": [1, 2]}),
    and_all({"do": "depose"}),
    and_all({"do": "create_topic", "topic": "e", "partitions": {"0": [1]}}),
    and_all({"do": "ask_deletion", "topic": "e"}),
    and_all({"do": "vacate"}),
    and_all({"do": "answer", "broker": 1, "errors": {}}),
]


@pytest.mark.parametrize(("release", "left"), [("1.1.1", {"e"}), ("2.2.2", set())])
def test_until_1_1_a_topic_stays_that_is_to_be_deleted_before_a_controller_has_seen_it(
    real_controllers: RealControllers, release: str, left: set[str]
) -> None:
    """K9: a new controller has no states of its partitions."""
    sequence, seen = asked(real_controllers(release), *NEVER_SEEN)
    compare(sequence, seen, release)
    assert topics(seen) == left


ON_BOTH: ControlCommand = and_all({"do": "create_topic", "topic": "e", "partitions": {"0": [1, 2]}})
DIES, RETURNS = (and_all({"do": what, "brokers": [1]}) for what in ("die", "register"))
UNCLEAN: list[ControlCommand] = [
    *COMES_FIRST,
    and_all({"do": "register", "brokers": [1, 2]}),
    ON_BOTH,
    and_all({"do": "configure", "topic": "e", "unclean": True}),
    and_all({"do": "leader_writes", "partition": "e-0", "isr": [1]}),
    DIES,
]
"""Broker 2 has left the ISR when broker 1 dies; the topic's configuration may allow it to lead."""
GOES_AND_COMES: list[ControlCommand] = [
    and_all({"do": "wait"}),
    and_all({"do": "register", "brokers": [1, 2]}),
    ON_BOTH,
    and_all({"do": "ask_deletion", "topic": "e"}),
    and_all({"do": "answer", "broker": 1, "errors": {}}),
    DIES,
    and_all({"do": "answer", "broker": 2, "errors": {}}),
    RETURNS,
    ON_BOTH,
    and_all({"do": "ask_deletion", "topic": "e"}),
    *(and_all({"do": "answer", "broker": broker, "errors": {}}) for broker in (1, 2)),
]
"""Topic e is deleted, though broker 1 dies after its answer; it is created again, and queued for deletion again."""


@pytest.mark.parametrize(("dies", "left"), [(False, set()), (True, {"e"})])
def test_a_topic_waits_that_had_to_wait_in_an_earlier_life(
    real_controller: RealController, dies: bool, left: set[str]
) -> None:
    """K8: a broker that is down makes the topic ineligible, but it is deleted; the next one is ineligible, too."""
    unless = [command for command in GOES_AND_COMES if dies or command not in (DIES, RETURNS)]
    sequence, seen = asked(real_controller, *unless)
    ours = compare(sequence, seen)
    assert topics(seen) == left
    assert ours.context.state.topics_ineligible_for_deletion == left


@pytest.mark.parametrize("release", OLDER)
def test_older_releases_share_the_finding(real_controllers: RealControllers, release: str) -> None:
    """K8. In 2.4 another replica stays in the ISR of a topic that is deleted, so only the topics are compared."""
    kafka = real_controllers(release)
    [(_, seen)] = kafka.of("Events", [GOES_AND_COMES])
    assert topics(seen) == {"e"}


def test_a_partition_of_a_topic_that_is_gone_is_taken_for_one_that_moves(real_controller: RealController) -> None:
    """Its topic was deleted as it moved, since deletion does not wait for that, and was created again."""
    on_one = and_all({"do": "create_topic", "topic": "e", "partitions": {"0": [1]}})
    sequence, seen = asked(
        real_controller,
        *GOES_AND_COMES[:2],
        on_one,
        and_all({"do": "reassign", "targets": {"e-0": [2]}}),
        and_all({"do": "ask_deletion", "topic": "e"}),
        *(and_all({"do": "answer", "broker": broker, "errors": {}}) for broker in (1, 2)),
        on_one,
    )
    ours = compare(sequence, seen)
    assert ours.context.state.partitions_being_reassigned == {TopicPartition("e", 0)}
    assert not ours.context.partition_full_replica_assignment(TopicPartition("e", 0)).is_being_reassigned


# Metrics.


def gauge(ours: ControllerBeside, name: str) -> int:
    """Our gauge, after the comparison with Kafka's."""
    return ours.shown[f"kafka.controller:type=KafkaController,name={name}"]


@pytest.mark.parametrize(("release", "shown"), [("2.4.1", 0), ("2.8.2", -2), (RELEASE, 0)])
def test_a_topic_that_is_queued_again_makes_the_imbalance_negative(
    real_controllers: RealControllers, release: str, shown: int
) -> None:
    """From 2.7.0 to 3.2.0: topic e waits for broker 1, and is subtracted at each change of /admin/delete_topics.

    Topic a does not exist: its node is created, and deleted again.
    """
    sequence = [
        and_all({"do": "register", "brokers": [2]}),
        ON_BOTH,
        and_all({"do": "ask_deletion", "topic": "e"}),
        and_all({"do": "ask_deletion", "topic": "a"}),
    ]
    ours = compare(*asked(real_controllers(release), *COMES_FIRST, *sequence), release)
    assert gauge(ours, "PreferredReplicaImbalanceCount") == shown


@pytest.mark.parametrize("release", ["2.4.1", RELEASE])
def test_topics_with_equally_many_replicas_to_delete_count_once(
    real_controllers: RealControllers, release: str
) -> None:
    """Kafka adds up the set of their numbers."""
    sequence = [
        and_all({"do": "register", "brokers": [2]}),
        *(and_all({"do": "create_topic", "topic": topic, "partitions": {"0": [2]}}) for topic in "ae"),
        *(and_all({"do": "ask_deletion", "topic": topic}) for topic in "ae"),
    ]
    ours = compare(*asked(real_controllers(release), *COMES_FIRST, *sequence), release)
    assert (gauge(ours, "TopicsToDeleteCount"), gauge(ours, "ReplicasToDeleteCount")) == (2, 1)


@pytest.mark.parametrize("release", RELEASES)
def test_an_unclean_election_is_marked(real_controllers: RealControllers, release: str) -> None:
    """Of a broker that has left the ISR."""
    ours = compare(*asked(real_controllers(release), *UNCLEAN), release)
    assert ours.controller.stats.unclean_leader_election_rate.count == 1


# Many partitions.


@pytest.mark.long
def test_ten_thousand_partitions(real_controller: RealController) -> None:
    """On twenty brokers, one of which dies: writes and requests are the same, in the numbers that the benchmark
    states.

    Not compared is the final deletion of a topic: its replicas go offline broker by broker, and a hash map orders
    twenty of these differently. The benchmark's brokers obey, so its cluster differs once one has shut down.
    """
    commands, places = controller_events.day_of_kafka(**LARGE)
    _, seen = asked(real_controller, *commands)
    ours = ControllerBeside(real_controller.release)
    for command, now in zip(commands[:-1], seen, strict=False):
        different = [disagreement.what for disagreement in ours.disagreements(command, now)]
        assert different == [], command["do"]
    assert len(ours.context.state.partition_leadership_info) == LARGE["partitions"]
    sent = {name: sum(map(len, seen[place]["sent"].values())) for name, place in places.items()}
    days = zip(controller_events.EVENTS.items(), controller_events.day(**LARGE), strict=True)
    benchmark = {name: rest.events[its].sent for (name, its), rest in days}
    for name in ("takes over", "broker dies", "broker returns", "broker shuts down"):
        assert sent[name] == benchmark[name], name


@pytest.mark.long
def test_the_benchmark_beside_kafka(
    real_controller: RealController, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each event by which the controller learns of something has Kafka's seconds in its last column."""
    size = ["--partitions", "240", "--brokers", "6"]
    monkeypatch.setattr("sys.argv", ["controller_events", *size, "--kafka", real_controller.release])
    controller_events.main()
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[-1] == "Kafka's"
    beside = [line for line in lines if len(line) == len(head)]
    assert [line.split()[-7] for line in beside] == list(controller_events.EVENTS.values())
    assert all(float(line.split()[-1]) > 0 for line in beside)


# Mistakes.


def less(value: Any) -> Any:
    """An observation with one element removed; None if that is impossible."""
    match value:
        case dict() if value:
            return dict(list(value.items())[:-1])
        case list() if value:
            return value[:-1]
    return None


def test_an_altered_observation_is_detected(real_controller: RealController) -> None:
    """Removing one element of any of Kafka's observations is noticed."""
    sequence, seen = asked(
        real_controller,
        *COMES_UP,
        {"do": "shut_down", "broker": 1, "epoch": "now", "handle": 1},
        {"do": "answer", "broker": 1, "errors": {"e-0": 56}, "handle": 1},
        and_all({"do": "reassign", "targets": {"a-0": [1]}}),
        and_all({"do": "ask_deletion", "topic": "e"}),
        {"do": "register", "brokers": [2, 3], "handle": 0},
        and_all({"do": "create_topic", "topic": "i", "partitions": {"0": [2]}}),
        {"do": "die", "brokers": [2], "meanwhile": [[2, 0, {"do": "depose"}]], "handle": 1},
    )
    compare(sequence, seen)
    noticed = set()
    for number, now in enumerate(seen):
        for name, value in now.items():
            if less(value) is None or name in ("epoch", "active", "left_in_batches", "registered"):
                continue
            altered = [*seen[:number], {**now, name: less(value)}, *seen[number + 1 :]]
            with pytest.raises(AssertionError):
                compare(sequence, altered)
            noticed.add(name)
    assert noticed >= {"gauges", "stats"}
    assert noticed >= {"handled", "queue", "asked", "sent", "answers", "znodes", "partition_states", "replica_states"}


@pytest.mark.parametrize(("release", "broker", "topic"), [("2.2.2", 2, "c"), (RELEASE, 1, "e")])
def test_the_place_of_a_stop_is_compared(
    real_controllers: RealControllers, release: str, broker: int, topic: str
) -> None:
    """A StopReplica that is sent before all earlier requests of the event is noticed."""
    sequence = [
        and_all({"do": "wait"}),
        and_all({"do": "register", "brokers": [broker]}),
        and_all({"do": "create_topic", "topic": topic, "partitions": {"15": [broker]}}),
        and_all({"do": "ask_deletion", "topic": topic}),
    ]
    [(_, seen)] = real_controllers(release).of("Events", [sequence])
    compare(sequence, seen, release)
    *before, last = seen[-1]["sent"][str(broker)]
    assert last[0] == "StopReplicaRequest"
    altered = {**seen[-1], "sent": {**seen[-1]["sent"], str(broker): [last, *before]}}
    with pytest.raises(AssertionError, match="requests to brokers"):
        compare(sequence, [*seen[:-1], altered], release)


@pytest.mark.long
@pytest.mark.parametrize("mutant", [mutant for mutant, _ in MUTANTS], ids=lambda mutant: mutant.__name__)
def test_each_mutant_is_refuted(recorded: list[Any], mutant: type[ControllerEventProcessor]) -> None:
    """By Kafka, in one of some generated sequences."""
    with pytest.raises(AssertionError):
        compare_all(recorded, mutant)


def compare_all(
    recorded: Iterable[Any],
    processor: type[ControllerEventProcessor] = ControllerEventProcessor,
    controller: type[KafkaController] = KafkaController,
) -> None:
    """Compare sequences, one after the other."""
    for sequence, seen in recorded:
        compare(sequence, seen, processor=processor, controller=controller)


class RemembersItsTerm(KafkaController):
    """It only stops being active."""

    def resign(self, me: ControllerProcess) -> ControllerProcess:
        return me.resigned()


class StaysWhenItsFailoverFails(KafkaController):
    """It only logs the failure."""

    def _failed_over(self, processed: EventDone) -> None:
        self.me = self.me.with_steps()._replace(failover_done=True)


@pytest.mark.long
@pytest.mark.parametrize("mutant", [RemembersItsTerm, StaysWhenItsFailoverFails])
def test_each_election_mutant_is_refuted(recorded: list[Any], mutant: type[KafkaController]) -> None:
    """By Kafka, in one of the same sequences, in which controllers are elected, replaced, and elected again."""
    with pytest.raises(AssertionError):
        compare_all(recorded, controller=mutant)


@pytest.fixture(scope="module")
def recorded(real_controller: RealController) -> list[Any]:
    """Generated sequences, with Kafka's observations."""
    return list(real_controller.of("Events", drawn(0, 400)))
