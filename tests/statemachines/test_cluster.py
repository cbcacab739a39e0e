"""A cluster in memory: events in a fixed order and in any order."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from election import InvalidBrokers, InvalidPartitions, InvalidReplicationFactor
from statemachines import Cluster
from statemachines.broker.kafka_server import AskController
from statemachines.cluster import NotSettled
from statemachines.cluster_controller import ClusterController
from statemachines.cluster_history import Effect, Elected, Failed, Written, unclean_elections
from statemachines.cluster_steps import AdvanceController, AdvanceShutdown, TakeRequest
from statemachines.controller.design import BROKER_IDS
from statemachines.controller.replica_leader_election import ElectionType
from statemachines.controller.state_change import FailedStateChange, StateChangeFailure
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicPartitionState, delete_topics_topic_path
from statemachines.releases import RELEASES
from statemachines.zookeeper.server import Multi
from tests.rows import rows

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SEEDS = (None, 0, 1, 2)
IN_EACH_RELEASE = [*zip(RELEASES, cycle(SEEDS))]
"""With one of the seeds, by which steps are drawn; None takes them in the usual order."""


def with_topic(release: str = "3.9", **options: Any) -> Cluster:
    """Three brokers at rest, and a topic: t-0 prefers broker 1, t-1 broker 2."""
    cluster = Cluster((1, 2, 3), release, **options)
    cluster.create_topic("t", {0: (1, 2, 3), 1: (2, 3, 1)})
    cluster.settle()
    return cluster


def leader(cluster: Cluster, partition: TopicPartition = T0) -> int | None:
    return cluster.partition(*partition).leader


def in_sync(cluster: Cluster, partition: TopicPartition = T0) -> set[int]:
    return {*cluster.partition(*partition).isr}


# Events.


@rows("release", RELEASES)
def test_a_follower_leads_when_its_leader_dies_and_a_returning_broker_joins_the_isr(release: str) -> None:
    cluster = with_topic(release)
    cluster.crash(1)
    cluster.settle()
    assert (leader(cluster), in_sync(cluster), cluster.controller) == (2, {2, 3}, 2)
    cluster.restart(1)
    cluster.settle()
    assert (leader(cluster), in_sync(cluster), cluster.controller) == (2, {1, 2, 3}, 2)
    assert in_sync(cluster, T1) == {1, 2, 3}


@rows("release", RELEASES)
def test_another_controller_continues_where_the_first_stopped(release: str) -> None:
    """A topic is created, and a new controller is elected before the old one has seen it."""
    cluster = with_topic(release)
    cluster.create_topic("u", {0: (3, 1)})
    cluster.fail_over()
    cluster.settle()
    assert [each.controller for each in cluster.history if isinstance(each, Elected)] == [1, 2]
    assert leader(cluster, TopicPartition("u", 0)) == 3
    assert [each.active for each in cluster.controllers.values()] == [False, True, False]


def test_the_write_of_a_replaced_controller_is_refused() -> None:
    cluster = with_topic()
    cluster.create_topic("u", {0: (3, 1)})
    cluster.step(
        next(each for each in cluster.steps() if each == AdvanceController(1, cluster.controllers[1].next_step))
    )
    cluster.fail_over()
    for broker in (2, 1):
        while any(isinstance(each, AdvanceController) and each.broker == broker for each in cluster.steps()):
            cluster.step(AdvanceController(broker, cluster.controllers[broker].next_step))
    assert Failed("process_topic_change was cut short: ControllerMoved") in cluster.history
    assert not cluster.controllers[1].active


def test_a_session_end_costs_the_controller_its_office_and_no_replica_its_log() -> None:
    cluster = with_topic()
    before = cluster.controllers[1].me.broker_epoch
    cluster.expire_session(1)
    cluster.settle()
    assert cluster.controller == 2
    assert cluster.controllers[1].me.broker_epoch > before
    assert in_sync(cluster) == in_sync(cluster, T1) == {1, 2, 3}
    assert unclean_elections(cluster.history) == set()


@rows("release, seed", IN_EACH_RELEASE)
def test_a_leader_whose_session_ends_is_in_sync_again(release: str, seed: int | None) -> None:
    """Whether or not the controller has noticed its failure, in every order."""
    cluster = with_topic(release)
    cluster.expire_session(2)
    cluster.settle(seed)
    assert cluster.controller == 1
    assert in_sync(cluster) == in_sync(cluster, T1) == {1, 2, 3}


@rows("release, seed", [*zip(["1.0", "2.3", "2.4", "2.6", "2.7", "3.9"], cycle(SEEDS))])
def test_a_partition_moves(release: str, seed: int | None) -> None:
    cluster = Cluster((1, 2, 3, 4), release)
    cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    cluster.reassign({("t", 0): (4, 3)})
    cluster.settle(seed)
    now = cluster.partition(*T0)
    assert now.assignment.replicas == (4, 3)
    assert not now.assignment.is_being_reassigned
    assert in_sync(cluster) == {3, 4}
    assert now.leader in (3, 4)
    assert {broker for broker, each in cluster.brokers.items() if T0 in each.replica_manager.state.logs} == {3, 4}


def test_a_topic_is_placed_on_the_brokers_that_are_registered() -> None:
    """From the start index on; the shift places the other replicas further on; and with racks."""
    cluster = Cluster((4, 1, 2, 3), down=(3,))
    cluster.create_topic("t", partitions=4, replication_factor=2)
    cluster.create_topic("u", partitions=2, replication_factor=2, start_index=2, shift=1)
    assert replicas(cluster, "t") == [(1, 2), (2, 4), (4, 1), (1, 4)]
    assert replicas(cluster, "u") == [(4, 2), (1, 4)]
    cluster.settle()
    assert [each.leader for each in cluster.partitions().values()] == [1, 2, 4, 1, 4, 1]
    with_racks = Cluster((1, 2, 3), racks={1: "a", 2: "a", 3: "b"})
    with_racks.create_topic("t", partitions=2, replication_factor=2)
    assert replicas(with_racks, "t") == [(1, 3), (3, 2)]


def test_a_topic_that_cannot_be_placed_is_refused() -> None:
    cluster = Cluster((1, 2, 3), racks={1: "a"})
    with pytest.raises(InvalidReplicationFactor, match="4, allowed are 1 and more, up to the number of brokers, 3"):
        cluster.create_topic("t", partitions=1, replication_factor=4)
    with pytest.raises(InvalidBrokers, match="brokers 2, 3 have none"):
        cluster.create_topic("t", partitions=1, replication_factor=1)
    for named in (
        {},
        {"partitions": 1},
        {"replication_factor": 1},
        {"replicas": {0: (1,)}, "partitions": 1},
        {"replicas": {0: (1,)}, "partitions": 1, "replication_factor": 1},
    ):
        with pytest.raises(ValueError, match="topic t: name its replicas, or partitions and a replication factor"):
            cluster.create_topic("t", **named)
    assert cluster.partitions() == {}
    with pytest.raises(ValueError, match="there is no broker 9; there are 1, 2"):
        Cluster((1, 2), racks={9: "a"})


@rows("release, seed", IN_EACH_RELEASE)
def test_a_topic_gets_partitions(release: str, seed: int | None) -> None:
    """Their placement begins like that of partition 0, and they have leaders."""
    cluster = Cluster((1, 2, 3, 4), release)
    cluster.create_topic("t", {0: (2, 1), 1: (1, 4)})
    cluster.settle()
    cluster.create_partitions("t", 4)
    cluster.settle(seed)
    assert replicas(cluster, "t") == [(2, 1), (1, 4), (4, 2), (1, 3)]
    assert [each.leader for each in cluster.partitions().values()] == [2, 1, 4, 1]


def test_partitions_that_cannot_be_added_are_refused() -> None:
    cluster = with_topic()
    with pytest.raises(ValueError, match="there is no topic 'u'"):
        cluster.create_partitions("u", 2)
    with pytest.raises(InvalidPartitions, match="2, allowed are the integers from 3 on"):
        cluster.create_partitions("t", 2)
    cluster.crash(2)
    cluster.settle()
    with pytest.raises(InvalidReplicationFactor):
        cluster.create_partitions("t", 3)
    cluster.delete_topic("t")
    cluster.settle()
    with pytest.raises(ValueError, match="t is queued for deletion"):
        cluster.create_partitions("t", 3)
    assert replicas(cluster, "t") == [(1, 2, 3), (2, 3, 1)]


@rows("release, refused", [("0.11", ""), ("1.0.0", "tu"), ("2.3", "tu"), ("2.4", "t"), ("3.9", "t")])
def test_partitions_are_not_added_while_others_move(release: str, refused: str) -> None:
    """From 1.0 to 2.3 while any topic moves, later only while this one does; until 0.11 there is no check."""
    cluster = Cluster((1, 2, 3), release)
    for topic in ("t", "u"):
        cluster.create_topic(topic, {0: (1, 2)})
    cluster.settle()
    cluster.reassign({("t", 0): (2, 3)})
    while cluster.partition("t", 0).assignment.replicas == (1, 2):
        cluster.step(cluster.steps()[0])
    for topic in ("t", "u"):
        if topic in refused:
            with pytest.raises(ValueError, match="partitions are being reassigned"):
                cluster.create_partitions(topic, 2)
        else:
            cluster.create_partitions(topic, 2)
    cluster.settle()
    assert {each.topic for each in cluster.partitions() if each.partition == 1} == {"t", "u"} - {*refused}


def replicas(cluster: Cluster, topic: str) -> list[tuple[int, ...]]:
    return [each.assignment.replicas for name, each in cluster.partitions().items() if name.topic == topic]


def test_a_refused_reassignment_is_recorded() -> None:
    cluster = with_topic()
    cluster.crash(3)
    cluster.settle()
    cluster.create_topic("u", {0: (1,)})
    cluster.settle()
    cluster.reassign({("u", 0): (3, 1)})
    cluster.settle()
    assert Failed("the reassignment of u-0 is refused: INVALID_REPLICA_ASSIGNMENT") in cluster.history


@rows("release, seed", IN_EACH_RELEASE)
def test_a_deleted_topic_loses_its_logs(release: str, seed: int | None) -> None:
    cluster = with_topic(release, delete_topic_enable=True)
    cluster.delete_topic("t")
    cluster.settle(seed)
    assert cluster.partitions() == {}
    assert not any(each.replica_manager.state.logs for each in cluster.brokers.values())
    assert not any("t" in path.split("/") for path in cluster.zookeeper.state.nodes)


@rows("seed", SEEDS)
def test_a_preferred_election_moves_the_leader(seed: int | None) -> None:
    cluster = with_topic()
    cluster.crash(1)
    cluster.settle()
    cluster.restart(1)
    cluster.settle()
    cluster.elect([("t", 0), ("t", 1)], ElectionType.PREFERRED)
    cluster.settle(seed)
    assert (leader(cluster), leader(cluster, T1)) == (1, 2)


@rows("release", RELEASES)
def test_the_automatic_rebalance_moves_the_leader(release: str) -> None:
    """First five seconds after the failover, and again after each interval."""
    cluster = with_topic(release)
    for _ in range(2):
        cluster.crash(2)
        cluster.settle()
        cluster.restart(2)
        cluster.settle()
        assert leader(cluster, T1) == 3
        cluster.rebalance()
        cluster.settle()
        assert leader(cluster, T1) == 2


def test_only_an_enabled_controller_rebalances() -> None:
    assert with_topic().controllers[1].rebalance_timer.due_in == (5,)
    assert with_topic().controllers[2].rebalance_timer.due_in == ()
    with pytest.raises(ValueError, match="no controller has a check"):
        with_topic(auto_leader_rebalance=False).rebalance()
    cluster = with_topic()
    cluster.crash(1, 2, 3)
    with pytest.raises(ValueError, match="no controller has a check"):
        cluster.rebalance()


@rows("release, seed", IN_EACH_RELEASE)
def test_a_broker_that_shuts_down_hands_over_its_leaderships(release: str, seed: int | None) -> None:
    cluster = with_topic(release)
    cluster.shut_down(1)
    cluster.settle(seed)
    assert cluster.live == {2, 3}
    assert (leader(cluster), in_sync(cluster)) == (2, {2, 3})
    assert not any(isinstance(each, Failed) for each in cluster.history)


def test_a_broker_stops_in_any_case_and_names_its_remaining_leaderships() -> None:
    cluster = Cluster((1, 2))
    cluster.hold_fetches(2)
    cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    for happens in (cluster.crash, cluster.restart):
        happens(2)
        cluster.settle()
    assert in_sync(cluster) == {1}
    cluster.shut_down(1)
    cluster.settle()
    assert Failed("broker 1 stops, though it still leads t-0") in cluster.history
    refused = [each for each in cluster.history if isinstance(each, FailedStateChange) and each.subject == T0]
    assert len(refused) == 3 + 1, "it asked three times, and its death was the fourth"
    cluster.allow_unclean()
    cluster.settle()
    assert leader(cluster) == 2
    assert unclean_elections(cluster.history) == {T0}


def test_all_die_and_the_last_in_sync_replica_leads_again() -> None:
    cluster = with_topic()
    for broker in (1, 2, 3):
        cluster.crash(broker)
        cluster.settle()
    assert cluster.controller is None
    assert cluster.steps() == ()
    cluster.restart(1)
    cluster.settle()
    assert leader(cluster) is None
    cluster.restart(3)
    cluster.settle()
    assert leader(cluster) == leader(cluster, T1) == 3
    assert in_sync(cluster) == {1, 3}


def test_refused_events_change_nothing() -> None:
    cluster = with_topic()
    done = list(cluster.history)
    with pytest.raises(ValueError, match="there is no broker 9; there are 1, 2, 3"):
        cluster.crash(1, 9)
    with pytest.raises(ValueError, match="broker 2 runs already"):
        cluster.restart(2)
    with pytest.raises(ValueError, match="broker 1 occurs twice"):
        cluster.crash(1, 1)
    with pytest.raises(ValueError, match="is not possible now; possible: nothing"):
        cluster.step(TakeRequest(1, 2, "LeaderAndIsr"))
    assert cluster.live == {1, 2, 3}
    assert cluster.history == done
    cluster.shut_down(2)
    cluster.shut_down(3)
    cluster.settle()
    with pytest.raises(ValueError, match="no other broker that could be controller"):
        cluster.fail_over()
    assert cluster.controller == 1


# Any order.


def test_invariants_hold_in_every_order() -> None:
    """A leader dies and returns: the final leader and ISR do not depend on the order."""
    rests = set()
    for seed in range(20):
        cluster = with_topic()
        cluster.crash(1)
        cluster.settle(seed)
        cluster.restart(1)
        cluster.settle(seed)
        rests.add(tuple((each.leader, frozenset(each.isr)) for each in cluster.partitions().values()))
    assert rests == {((2, frozenset({1, 2, 3})), (2, frozenset({1, 2, 3})))}


HISTORY = """
from statemachines import Cluster
cluster = Cluster((1, 2, 3), "{release}")
cluster.create_topic("a", {{0: (1, 2, 3), 1: (2, 3, 1)}})
cluster.create_topic("b", {{0: (3, 1)}})
cluster.settle(7)
cluster.crash(1)
cluster.delete_topic("b")
cluster.settle(7)
cluster.restart(1)
cluster.settle(7)
print(*cluster.history, sep="\\n")
"""


@pytest.mark.long
def test_a_seed_gives_the_same_history_in_every_process() -> None:
    """Whatever the hash seed there."""

    def printed(release: str, hash_seed: str) -> str:
        program = HISTORY.format(release=release)
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert printed("3.9", "1") == printed("3.9", "2") != ""
    assert printed("2.3", "1") == printed("2.3", "2") != ""


HAPPENINGS: dict[str, Callable[[Cluster, random.Random], object]] = {
    "crash": lambda cluster, chance: cluster.crash(chance.choice(sorted(cluster.live))),
    "restart": lambda cluster, chance: cluster.restart(chance.choice(sorted(cluster.brokers.keys() - cluster.live))),
    "shut down": lambda cluster, chance: cluster.shut_down(chance.choice(sorted(cluster.live))),
    "expire": lambda cluster, chance: cluster.expire_session(chance.choice(sorted(cluster.live))),
    "fail over": lambda cluster, chance: cluster.fail_over(),
    "prefer": lambda cluster, chance: cluster.elect(cluster.partitions()),
    "move": lambda cluster, chance: cluster.reassign({T0: tuple(chance.sample((1, 2, 3, 4), 2))}),
}


def history_is_sound(history: Iterable[Effect]) -> None:
    """Controllers follow each other; a partition's leader epoch never decreases, and its leader is in sync."""
    elected = [each.epoch for each in history if isinstance(each, Elected)]
    assert elected == list(range(1, len(elected) + 1))
    last: dict[str, Any] = {}
    for each in history:
        if isinstance(each, Written) and isinstance(each.data, TopicPartitionState):
            state = each.data.leader_and_isr
            assert state.isr, f"an ISR is empty: {each}"
            assert state.leader in (NO_LEADER, *state.isr), f"the leader is not in sync: {each}"
            before = last.get(each.path)
            if before is not None:
                assert state.leader_epoch >= before.leader_epoch, f"the leader epoch goes back: {each}"
                same = state.leader_epoch == before.leader_epoch
                assert not same or state.leader == before.leader, f"two lead in one epoch: {each}"
            last[each.path] = state


def rest_is_sound(cluster: Cluster) -> None:
    """The controller's cache equals ZooKeeper, whose leader leads, and no other broker does in that epoch.

    There may be no controller, since brokers may miss the end of the previous one's session (K1). And a former
    controller, elected again, may announce no leader, because of the leftovers in its batch (B21).

    In an older epoch another broker may lead: one that learns that there is no leader continues to lead, and requests
    in a controller's channels are lost with the controller.
    """
    left_over = any(
        isinstance(each, FailedStateChange) and each.cause is StateChangeFailure.BatchNotEmpty
        for each in cluster.history
    )
    if cluster.controller is None or left_over:
        return
    context = cluster.controllers[cluster.controller].context
    for partition, status in cluster.partitions().items():
        known = context.leadership_of(partition)
        assert known is not None
        assert known.leader_and_isr[1:3] == (status.leader_epoch, status.isr), f"the controller is wrong: {partition}"
        leads = {
            broker
            for broker, each in cluster.brokers.items()
            if (hosted := each.replica_manager.state.all_partitions.get(partition)) is not None
            and hosted.is_led_by(broker)
            and hosted.leader_epoch == status.leader_epoch
        }
        assert leads == {status.leader} - {None}, f"{partition}: {status}"


@given(
    st.lists(st.tuples(st.sampled_from(sorted(HAPPENINGS)), st.integers(0, 12)), max_size=8),
    st.integers(0, 2**32),
)
@settings(deadline=None)
def test_leaders_are_in_sync_after_any_events(happenings: Any, seed: int) -> None:
    chance = random.Random(seed)
    cluster = Cluster((1, 2, 3, 4))
    cluster.create_topic("t", {0: (1, 2, 3), 1: (2, 3, 4)})
    cluster.settle(seed)
    for name, steps in happenings:
        try:
            HAPPENINGS[name](cluster, chance)
        except (ValueError, IndexError):  # it is not possible now
            continue
        for _ in range(steps):
            if cluster.steps():
                cluster.step(chance.choice(cluster.steps()))
        history_is_sound(cluster.history)
    cluster.settle(seed)
    history_is_sound(cluster.history)
    rest_is_sound(cluster)


@rows("release, leads, knows", [("1.1", 2, False), ("2.1", 2, False), ("2.2", 3, True)])
def test_until_2_1_a_quickly_restarted_leader_does_not_know_that_it_leads(
    release: str, leads: int, knows: bool
) -> None:
    """B5: the controller does not notice its absence. Until 1.0 it registers so late that the controller does."""
    cluster = with_topic(release)
    cluster.crash(2)
    cluster.restart(2)
    cluster.settle()
    assert leader(cluster, T1) == leads
    assert (T1 in cluster.brokers[leads].replica_manager.state.all_partitions) is knows


@rows("release, stays", [("0.10.1", True), ("0.11", True), ("1.1", True), ("2.0", False), ("3.9", False)])
def test_until_1_1_a_topic_stays_if_its_deletion_precedes_its_first_controller(release: str, stays: bool) -> None:
    """K9: a new controller has no states of its partitions."""
    cluster = Cluster((1, 2, 3), release)
    cluster.create_topic("t", {0: (1, 2)})
    cluster.delete_topic("t")
    cluster.settle()
    for happens in (partial(cluster.crash, 2), partial(cluster.restart, 2), cluster.fail_over):
        happens()
        cluster.settle()
    assert bool(cluster.partitions()) is stays


def writes(its: ClusterController) -> bool:
    """Whether a controller's next step is a write."""
    requests = () if its.processing is None else its.events.requests(its.processing.awaits)
    return any(isinstance(each, Multi) for each in requests)


def test_a_reelected_controller_meets_its_leftover_batch() -> None:
    """B21: another was elected while it removed a dead replica from ISRs, and its write was refused.

    Its requests to brokers stay in the batch, and when it is elected again, no replica receives its leader.
    """
    cluster = with_topic()
    cluster.crash(3)
    its = cluster.controllers[1]
    batch = its.events.replica_state_machine.batch
    while not (batch.state.stop_replica and writes(its)):
        its.advance()
    cluster.fail_over()
    while not cluster.controllers[2].active or cluster.controllers[2].is_busy:
        cluster.controllers[2].advance()
    cluster.settle()
    assert batch.state.stop_replica
    cluster.fail_over()
    cluster.settle()
    assert cluster.controller == 1
    assert any(
        isinstance(each, FailedStateChange) and each.cause is StateChangeFailure.BatchNotEmpty
        for each in cluster.history
    )


@rows("release", ["0.10.1", "0.10.2", "0.11", "1.0", "1.1", "3.9"])
def test_a_session_may_end_between_any_two_steps(release: str) -> None:
    """The broker registers anew, and there is a controller; until 1.0 the request is repeated."""
    for steps in range(24):
        cluster = Cluster((1, 2, 3), release)
        cluster.create_topic("t", {0: (1, 2)})
        for _ in range(steps):
            cluster.controllers[1].advance()
        cluster.expire_session(1)
        cluster.settle()
        assert cluster.zookeeper.children(None, BROKER_IDS)[0] == {"1", "2", "3"}, steps
        assert cluster.controller is not None, steps


def test_a_stopping_broker_does_not_wait_for_a_dead_controller() -> None:
    """The controller that it knows has stopped meanwhile: it asks the next one."""
    cluster = with_topic()
    cluster.shut_down(2)
    while not isinstance(cluster.brokers[2].shutdown, AskController):
        cluster.step(next(step for step in cluster.steps() if isinstance(step, AdvanceShutdown)))
    cluster.crash(1)
    cluster.settle()
    assert cluster.live == {3}


@rows("release", RELEASES)
def test_a_broker_whose_node_was_made_by_hand_does_not_start(release: str) -> None:
    cluster = with_topic(release)
    cluster.crash(2)
    cluster.settle()
    cluster.zookeeper.create(None, f"{BROKER_IDS}/2")
    cluster.restart(2)
    cluster.settle()
    assert cluster.live == {1, 3}
    assert any("broker 2 stops: its node exists already" in str(each) for each in cluster.history)


@rows("release", ["0.11", "1.0"])
def test_a_cluster_without_a_successful_failover_reports_that_it_does_not_settle(release: str) -> None:
    """A topic's nodes are gone, except its deletion request; real brokers fail over for ever, too."""
    cluster = with_topic(release, delete_topic_enable=True)
    cluster.crash(1, 2, 3)
    cluster.zookeeper.create(None, delete_topics_topic_path("gone"))
    cluster.restart(1, 2, 3)
    with pytest.raises(NotSettled, match="controllers were elected in a row"):
        cluster.settle()


def test_impossible_calls_are_refused() -> None:
    """In one line; nothing changes."""
    with pytest.raises(ValueError, match="there is no broker 7; there are 1, 2"):
        Cluster((1, 2), down=(7,))
    with pytest.raises(ValueError, match="there is no broker 9"):
        Cluster((1, 2), controller=9)
    cluster = with_topic("2.2")
    with pytest.raises(ValueError, match="cannot be cancelled"):
        cluster.reassign({T0: None})
    assert not cluster.steps()


IMPOSSIBLE: list[tuple[Callable[[Any], object], str]] = [
    (lambda it: it.create_topic("..", {0: (1,)}), "no topic is called '..'"),
    (lambda it: it.create_topic("x" * 250, {0: (1,)}), "has 1 to 249 of"),
    (lambda it: it.create_topic("t", {0: (1,)}), "there is a topic t already"),
    (lambda it: it.create_topic("a_b", {0: (1,)}), "topic a_b collides with a.b"),
    (lambda it: it.create_topic("u", {}), "the partitions of u: {}, allowed are"),
    (lambda it: it.create_topic("u", {0: (1,), 2: (1,)}), r"allowed are the numbers from 0 to 1"),
    (lambda it: it.create_topic("u", {0: ()}), "the replicas of u-0: there are none"),
    (lambda it: it.create_topic("u", {0: (1, 1)}), "the replicas of u-0: broker 1 occurs twice"),
    (lambda it: it.delete_topic("u"), r"there is no topic 'u'; there are \['a.b', 't'\]"),
    (lambda it: it.delete_topic("t/partitions"), "there is no topic 't/partitions'"),
    (lambda it: it.allow_unclean("u"), "there is no topic 'u'"),
    (lambda it: it.reassign({}), "the partitions to reassign: {}"),
    (lambda it: it.create_topic("u", {0: (1, 2), 1: (1,)}), "the partitions of u have 1, 2 replicas"),
    (lambda it: it.reassign({T0: (1, "2")}), "the replicas of t-0: '2' is no broker id"),
    (lambda it: it.allow_unclean("t", "no"), "allowed: 'no', allowed are True and False"),
    (lambda it: it.settle(seed="x"), "seed: 'x', allowed are integers"),
    (lambda it: it.settle(until=1), "until: 1, allowed are functions"),
    (lambda it: it.shut_down(7), "there is no broker 7"),
    (lambda it: it.create_topic("u", partitions="3", replication_factor=1), "partitions: '3', allowed are integers"),
    (lambda it: it.create_topic("u", partitions=1, replication_factor=1, start_index=10**20), "start_index: 1000"),
    (lambda it: it.create_partitions("t", 3.0), r"count: 3\.0, allowed are integers"),
    (lambda it: type(it)((1, 2), auto_leader_rebalance="no"), "auto_leader_rebalance: 'no', allowed are"),
    (lambda it: it.from_znodes([]), r"tree: \[\], allowed are mappings"),
    (lambda it: it.from_znodes({"/controller": 5}), "tree: the data of /controller are no bytes"),
    (lambda it: it.elect(7), "partitions: 7, allowed are pairs"),
    (lambda it: it.elect([("t", -1)]), r"\('t', -1\) is no partition"),
    (lambda it: it.shut_down(1, attempts=-1), "attempts: -1, allowed are"),
    (lambda it: Cluster((1, 2), controller=1, down=(1,)), "cannot be the first controller: it is down"),
]


@rows("asked, refused", IMPOSSIBLE)
def test_refusals_name_the_alternatives(asked: Callable[[Cluster], object], refused: str) -> None:
    cluster = with_topic()
    cluster.create_topic("a.b", {0: (1,)})
    before = whole_state(cluster)
    with pytest.raises(ValueError, match=refused):
        asked(cluster)
    assert whole_state(cluster) == before


def test_a_request_to_delete_a_topic_may_be_repeated() -> None:
    """As the tool does, which only prints that there is one."""
    cluster = with_topic()
    cluster.delete_topic("t")
    before = whole_state(cluster)
    cluster.delete_topic("t")
    assert whole_state(cluster) == before


def test_an_unknown_partition_is_a_key_error() -> None:
    for topic, number in (("t", 9), ("u", 0)):
        with pytest.raises(KeyError):
            with_topic().partition(topic, number)


def test_the_tool_refuses_a_partition_that_is_named_twice_until_2_1() -> None:
    with pytest.raises(ValueError, match="partition t-0 occurs twice"):
        with_topic("2.1").elect([("t", 0), ("t", 0)])
    with_topic("2.2").elect([("t", 0), ("t", 0)])


def test_a_dead_broker_is_not_shut_down() -> None:
    cluster = with_topic()
    cluster.crash(3)
    with pytest.raises(ValueError, match="broker 3 does not run"):
        cluster.shut_down(3)


def test_a_replica_may_be_assigned_to_an_unknown_broker() -> None:
    """As in Kafka, which does not check: the broker counts as down."""
    cluster = with_topic()
    cluster.create_topic("u", {0: (9, 1)})
    cluster.settle()
    assert (leader(cluster, TopicPartition("u", 0)), in_sync(cluster, TopicPartition("u", 0))) == (1, {1})


UNKNOWN = "the election of t-7 is refused: UNKNOWN_TOPIC_OR_PARTITION"


@rows(
    "release, elected",
    [
        ("0.10.2", "the election of t-7 is refused: there is no such partition"),
        ("2.3", UNKNOWN),
        ("2.4", UNKNOWN),
        ("3.9", UNKNOWN),
    ],
)
def test_unknown_partitions_are_refused(release: str, elected: str) -> None:
    """By the controller or by the tool; the history has it."""
    cluster = with_topic(release)
    before = cluster.partitions()
    cluster.elect([("t", 7)])
    cluster.settle()
    cluster.reassign({("u", 0): (1, 2)})
    cluster.settle()
    cluster.reassign({T0: (1, 9)})
    cluster.settle()
    printed = [each.what for each in cluster.history if isinstance(each, Failed)]
    checks_brokers = release != "0.10.2"
    assert [each.startswith("the reassignment ") for each in printed] == [False, *[True] * (1 + checks_brokers)]
    assert printed[0] == elected
    assert (cluster.partitions() == before) is checks_brokers


def test_steps_of_different_kinds_are_different() -> None:
    """Python takes tuples of different kinds for equal."""
    cluster = with_topic()
    cluster.crash(1)
    of_controller = cluster.steps()[0]
    with pytest.raises(ValueError, match="is not possible now"):
        cluster.step(AdvanceShutdown(*of_controller))


# Any call.

NAMES = st.sampled_from(["t", "u", "a.b", "a_b", ".", "..", "", "t/partitions", "a b", "x" * 249, "x" * 250])
PLAIN = st.none() | st.booleans() | st.integers(-2, 5) | st.floats() | NAMES | st.text(max_size=2)
ANYTHING = st.recursive(
    PLAIN | st.frozensets(PLAIN, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(PLAIN | st.tuples(PLAIN, PLAIN), inner, max_size=3)
    ),
    max_leaves=6,
)
BROKER = st.integers(1, 4) | ANYTHING
REPLICAS = st.lists(st.integers(0, 5), max_size=3) | ANYTHING
NUMBER = st.integers(-1, 2) | ANYTHING
PARTITION = st.tuples(NAMES, st.integers(-1, 2))
TOPIC = NAMES | ANYTHING
STEP: st.SearchStrategy[Any] = st.builds(AdvanceController, BROKER, st.just("NodeChildrenChanged /brokers/topics"))
ARGUMENTS: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "crash": st.lists(BROKER, max_size=3).map(tuple),
    "restart": st.lists(BROKER, max_size=3).map(tuple),
    "shut_down": st.tuples(BROKER) | st.tuples(BROKER, ANYTHING),
    "expire_session": st.tuples(BROKER),
    "create_topic": st.tuples(TOPIC, st.dictionaries(st.integers(0, 2), REPLICAS, max_size=3) | ANYTHING),
    "delete_topic": st.tuples(TOPIC),
    "reassign": st.tuples(st.dictionaries(PARTITION, st.none() | REPLICAS, max_size=2) | ANYTHING),
    "elect": st.tuples(st.lists(PARTITION | ANYTHING, max_size=2) | ANYTHING)
    | st.tuples(st.lists(PARTITION), st.sampled_from(ElectionType) | ANYTHING),
    "allow_unclean": st.tuples(TOPIC),
    "set_min_insync_replicas": st.tuples(TOPIC, NUMBER),
    "fail_over": st.just(()),
    "bounce": st.tuples(BROKER) | st.tuples(BROKER, ANYTHING),
    "produce": st.tuples(TOPIC, NUMBER, PLAIN, st.sampled_from([0, 1, -1, "all"]) | ANYTHING, BROKER),
    "consume": st.tuples(TOPIC, NUMBER, st.integers(-1, 3) | ANYTHING, BROKER),
    "logs": st.tuples(TOPIC, NUMBER),
    "checkpoint": st.lists(BROKER, max_size=3).map(tuple),
    "expire_isrs": st.just(()),
    "advance": st.tuples(st.floats(-1, 40)) | st.tuples(PLAIN | st.floats(min_value=86_401), ANYTHING),
    "hold_fetches": st.tuples(BROKER) | st.tuples(BROKER, PARTITION | ANYTHING),
    "resume_fetches": st.tuples(BROKER) | st.tuples(BROKER, PARTITION | ANYTHING),
    "step": st.tuples(STEP | ANYTHING),
    "settle": st.tuples(ANYTHING),
}


def refusal(of: Callable[[], object]) -> ValueError | None:
    """The refusal; None: the call succeeds."""
    try:
        of()
    except ValueError as refused:
        return refused
    return None


def whole_state(cluster: Cluster) -> Any:
    """Everything that a refused call may not change."""
    return list(cluster.history), dict(cluster.zookeeper.state.nodes), cluster.steps(), cluster.live


@given(st.sampled_from(RELEASES), st.data())
@settings(deadline=None)
def test_every_call_succeeds_or_is_refused_in_one_line(release: str, data: st.DataObject) -> None:
    cluster = with_topic(release)
    cluster.create_topic("a.b", {0: (1,)})
    for name, arguments in data.draw(st.lists(st.sampled_from(sorted(ARGUMENTS)).flatmap(asked), max_size=4)):
        before = whole_state(cluster)
        refused = refusal(partial(getattr(cluster, name), *arguments))
        assert refused is None or whole_state(cluster) == before
        assert "\n" not in str(refused)
    cluster.settle()
    assert not cluster.steps()
    cluster.partitions()


def asked(method: str) -> st.SearchStrategy[tuple[str, tuple[Any, ...]]]:
    return st.tuples(st.just(method), ARGUMENTS[method])


@given(
    st.fixed_dictionaries(
        {"brokers": st.frozensets(st.integers(0, 3)) | st.lists(st.integers(-1, 4), max_size=3) | ANYTHING},
        optional={
            "release": st.sampled_from(RELEASES) | ANYTHING,
            "down": st.lists(BROKER, max_size=2) | ANYTHING,
            "controller": BROKER,
            "unclean": ANYTHING,
            "min_insync_replicas": st.integers(-1, 3) | ANYTHING,
        },
    )
)
@settings(deadline=None)
def test_a_cluster_is_made_as_described_or_refused_in_one_line(arguments: dict[str, Any]) -> None:
    refused = refusal(lambda: Cluster(**arguments))
    assert "\n" not in str(refused)
    if refused is not None:
        return
    cluster = Cluster(**arguments)
    cluster.settle()
    assert not cluster.steps()
    assert cluster.controller is not None or not cluster.live
