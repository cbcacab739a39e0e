"""The outcome of failures, by Kafka's rules."""

from dataclasses import replace
from time import process_time

import pytest

from spec.language.errors import UsageError
from spec.what_if.events import (
    AllowUnclean,
    AnotherController,
    ClusterEvent,
    Crash,
    CreateTopic,
    ElectPreferred,
    Reassign,
    Rebalance,
    Return,
    Shutdown,
)
from spec.what_if.known_cluster import KnownCluster, PartitionStatus
from spec.what_if.prediction import PartitionHealth, Prediction, what_if
from spec.what_if.running_cluster import RunningCluster
from statemachines.cluster_history import Elected, Failed, Sent, Written
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.control_requests import StopReplicaRequest
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicPartitionState
from statemachines.releases import RELEASES, Release
from tests.rows import rows

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def status(*replicas: int, leader: int | None = None, isr: tuple[int, ...] | None = None) -> PartitionStatus:
    isr = replicas if isr is None else isr
    return PartitionStatus(ReplicaAssignment(replicas), isr[0] if leader is None else leader, isr, 4)


def cluster(*partitions: PartitionStatus, live: tuple[int, ...] = (1, 2, 3, 4), controller: int = 4) -> KnownCluster:
    named = {TopicPartition("t", number): each for number, each in enumerate(partitions)}
    return KnownCluster(named, frozenset(live), controller, {"t": 2}, {})


def after(prediction: Prediction, partition: TopicPartition = T0) -> tuple[int | None, tuple[int, ...]]:
    [change] = [each for each in prediction.changes if each.partition == partition]
    return change.after.leader, tuple(sorted(change.after.isr))


def health(prediction: Prediction, partition: TopicPartition = T0) -> PartitionHealth:
    return next(each.health for each in prediction.changes if each.partition == partition)


@pytest.mark.parametrize("release", ["2.0.0", "3.2.0", "3.4.0"])
def test_an_exact_release_is_not_its_line(release: str) -> None:
    """Changes in later releases of the line are not there yet."""
    running = RunningCluster(cluster(status(1, 2)), release)
    assert running.design == ControlDesign(release)
    assert running.design != ControlDesign(release.removesuffix(".0"))


@rows("release", RELEASES)
def test_a_follower_leads_when_its_leader_dies_in_every_release(release: str) -> None:
    prediction = what_if(cluster(status(1, 2, 3)), Crash(1), release=release)
    assert after(prediction) == (2, (2, 3))
    assert health(prediction) is PartitionHealth.Online
    assert prediction.exit_code == 0


@rows("release", RELEASES)
def test_a_returning_broker_rejoins_and_leads_on_request(release: str) -> None:
    begun = cluster(status(1, 2, 3))
    assert after(what_if(begun, Crash(1), Return(1), release=release)) == (2, (1, 2, 3))
    assert after(what_if(begun, Crash(1), Return(1), ElectPreferred(), release=release)) == (1, (1, 2, 3))


def test_the_last_in_sync_stays_in_the_isr_and_the_partition_offline() -> None:
    prediction = what_if(cluster(status(1, 2), status(3, 4)), Crash(1, 2))
    assert after(prediction) == (None, (2,))
    assert prediction.offline == (T0,)
    assert prediction.exit_code == 12
    assert health(prediction, T1) is PartitionHealth.Online


def test_an_out_of_sync_replica_leads_only_if_permitted() -> None:
    begun = cluster(status(1, 2, 3, isr=(1,)))
    assert after(what_if(begun, AllowUnclean(), Crash(1), release="3.9")) == (2, (2,))
    assert after(what_if(begun, Crash(1), release="3.9")) == (None, (1,))


def test_an_unclean_leader_may_have_lost_records() -> None:
    prediction = what_if(cluster(status(1, 2, 3, isr=(1,))), Crash(1), AllowUnclean())
    assert health(prediction) is PartitionHealth.Unclean
    assert "records may be lost, under min ISR (1 of 2)" in str(prediction)
    assert prediction.exit_code == 0


def test_unclean_elections_can_be_permitted_for_one_topic() -> None:
    begun = cluster(status(1, 2, isr=(1,)))
    assert after(what_if(begun, AllowUnclean("t"), Crash(1)))[0] == 2
    with pytest.raises(UsageError, match="there is no topic 'u'"):
        what_if(begun, AllowUnclean("u"))


def test_a_topic_that_permits_unclean_elections_says_so_itself() -> None:
    begun = cluster(status(1, 2, isr=(1,)))
    permitted = KnownCluster(begun.partitions, begun.live, begun.controller, begun.min_isr, {"t": True})
    assert after(what_if(permitted, Crash(1)))[0] == 2


def test_a_lagging_broker_is_not_elected_and_catches_up_on_return() -> None:
    begun = cluster(status(1, 2, 3, isr=(1, 3)))
    assert after(what_if(begun, AnotherController())) == (1, (1, 3)), "alone it does not catch up"
    assert after(what_if(begun, Crash(2), Return(2))) == (1, (1, 2, 3))


def test_a_shutdown_moves_leaders_before_the_broker_goes() -> None:
    prediction = what_if(cluster(status(1, 2, 3), status(2, 1, 3)), Shutdown(1))
    assert after(prediction) == (2, (2, 3))
    assert after(prediction, T1) == (2, (2, 3))
    stopped = [step for step in prediction.steps[0] if isinstance(step, Sent) and step.broker == 1]
    assert any(isinstance(step.request, StopReplicaRequest) for step in stopped), "it must stop following"


def test_a_shutdown_reports_partitions_it_could_not_move() -> None:
    prediction = what_if(cluster(status(1, 2, isr=(1,))), Shutdown(1))
    assert after(prediction) == (None, (1,))
    assert Failed("broker 1 stops, though it still leads t-0") in prediction.steps[0]


def test_the_controller_dies_and_the_next_one_does_the_same() -> None:
    prediction = what_if(cluster(status(1, 2, 3), controller=1), Crash(1))
    assert prediction.steps[0][0] == Elected(2, 2)
    assert after(prediction) == (2, (2, 3))


def test_all_die_and_the_first_that_returns_is_controller() -> None:
    begun = cluster(status(1, 2), live=(1, 2), controller=1)
    dead = what_if(begun, Crash(1, 2))
    assert after(dead)[0] is None
    assert dead.steps[0] == (), "no broker is left to write"
    back = what_if(begun, Crash(1, 2), Return(2))
    assert back.steps[1][0] == Elected(2, 2)
    assert after(back) == (2, (2,))


@rows("release", ["1.0", "2.3", "2.4", "2.6", "2.7", "3.9"])
def test_a_partition_moves(release: str) -> None:
    prediction = what_if(cluster(status(1, 2)), Reassign({T0: (3, 2)}), release=release)
    [change] = prediction.changes
    assert change.after.assignment == ReplicaAssignment((3, 2))
    assert after(prediction) == (3, (2, 3))
    assert "replicas" in str(prediction)


@rows("release", ["1.1", "2.3", "2.4"])
def test_the_leader_epoch_does_not_go_back_while_a_partition_moves(release: str) -> None:
    """A leader writes its own epoch, although until 2.3 the controller does not remember the last one."""
    moved = what_if(cluster(status(1, 2)), Reassign({T0: (1, 3)}), release=release)
    written = [
        each.data.leader_and_isr for each in moved.steps[0] if isinstance(each, Written) and "/state" in each.path
    ]
    assert [state.leader_epoch for state in written] == [5, 5, 6, 7]
    assert moved.changes[0].after.leader_epoch == written[-1].leader_epoch


def test_a_move_to_a_dead_broker_waits_or_is_refused() -> None:
    begun = cluster(status(1, 2), live=(1, 2, 4))
    with pytest.raises(UsageError, match="there is no broker 3; there are 1, 2, 4"):
        what_if(begun, Reassign({T0: (3, 2)}))
    refused = what_if(cluster(status(1, 2)), Crash(3), Reassign({T0: (3, 2)}))
    assert Failed("the reassignment of t-0 is refused: INVALID_REPLICA_ASSIGNMENT") in refused.steps[1]
    assert after(refused) == (1, (1, 2))


def open_moves(prediction: Prediction) -> list[tuple[TopicPartition, bool, tuple[int, ...]]]:
    return [(move.partition, move.is_refused, move.waits_for) for move in prediction.open_moves]


@rows("release", RELEASES)
def test_a_move_is_not_finished_while_a_target_broker_is_dead(release: str) -> None:
    begun = cluster(status(1, 5, isr=(1,)), status(1, 2))
    waits = what_if(begun, Reassign({T0: (2, 5), T1: (2, 1)}), release=release)
    if Release("0.11.0.0") <= Release(release) < Release("2.4.0"):  # the tool refuses the plan
        assert (open_moves(waits), waits.exit_code) == ([(T0, True, ()), (T1, True, ())], 12)
        return
    assert (open_moves(waits), waits.exit_code) == ([(T0, False, (5,))], 0)
    assert "1 move is not finished, waiting for broker 5, which is dead: t-0" in str(waits).splitlines()
    assert waits.to_json()["open_moves"][0]["waits_for"] == [5]
    ends = what_if(begun, Reassign({T0: (2, 5)}), Return(5), release=release)
    assert open_moves(ends) == []


def test_a_move_waits_for_those_that_are_not_in_sync_and_for_a_controller() -> None:
    lagging = KnownCluster({T0: status(1, 2, isr=(1,))}, frozenset({1, 2, 3}), 1, {"t": 1}, {})
    assert open_moves(what_if(lagging, Reassign({T0: (3, 2)}))) == [(T0, False, (2,))]
    assert "broker 2, which is not in sync: t-0" in str(what_if(lagging, Reassign({T0: (3, 2)})))
    none = what_if(lagging, Crash(1, 2, 3), Reassign({T0: (3, 2)}))
    assert "1 move is refused, because of: there is no controller: t-0" in str(none).splitlines()


def test_a_refused_move_is_a_failure_with_a_reason() -> None:
    begun = cluster(status(1, 2), status(1, 2))
    refused = what_if(begun, Crash(3), Reassign({T0: (3, 2), T1: (4, 2)}))
    assert (open_moves(refused), refused.offline, refused.exit_code) == ([(T0, True, ())], (), 12)
    assert "1 move is refused, needing broker 3, which is dead: t-0" in str(refused).splitlines()
    waits, second = Reassign({T0: (5, 2)}), Reassign({T0: (1, 4)})
    both = what_if(cluster(status(1, 5, 2, isr=(1, 2))), waits, second, release="0.10.2")
    assert (open_moves(both), both.exit_code) == ([(T0, True, ()), (T0, False, (5,))], 12)
    assert "another one is under way" in both.open_moves[0].reason


@rows("release", ["0.10.2", "1.0", "2.3"])
def test_a_second_plan_is_refused_while_a_partition_moves_until_2_3(release: str) -> None:
    """The tool does not overwrite an existing node, so the first plan stays intact, and waits for a leader."""
    waits, second = Reassign({T0: (3, 2)}), Reassign({T0: (3, 4)})
    begun = replace(cluster(status(1, 2, isr=(1,))), default_unclean=False)
    prediction = what_if(begun, Crash(1), waits, second, release=release)
    [refused] = prediction.steps[2]
    assert refused == Failed("the reassignment is refused: another one is under way in /admin/reassign_partitions")
    [change] = prediction.changes
    assert change.after.assignment == ReplicaAssignment((3, 2, 1))


@rows("release, refused", [("0.10.2", False), ("0.11", True), ("2.3", True)])
def test_the_tool_refuses_dead_brokers_from_0_11_to_2_3(release: str, refused: bool) -> None:
    """KAFKA-5161."""
    prediction = what_if(cluster(status(1, 2)), Crash(3), Reassign({T0: (3, 2)}), release=release)
    assert (Failed("the reassignment is refused: broker 3 is not registered") in prediction.steps[1]) is refused


def test_events_happen_in_their_order() -> None:
    begun = cluster(status(1, 2, 3, isr=(1, 2)))
    assert after(what_if(begun, Crash(1), Crash(2)))[0] is None
    assert after(what_if(begun, Crash(1), Return(1), Crash(2)))[0] == 1


def test_a_partition_that_never_had_a_leader_gets_one() -> None:
    never = PartitionStatus(ReplicaAssignment((1, 2)), None, (), -1)
    assert after(what_if(cluster(never), ElectPreferred())) == (1, (1, 2))


def test_one_of_two_partitions_is_asked_about() -> None:
    begun = cluster(status(1, 2))
    other = KnownCluster({**begun.partitions, TopicPartition("u", 0): status(1)}, begun.live, 4, {"t": 1, "u": 1}, {})
    assert what_if(other, Crash(1)).exit_code == 12
    assert what_if(other.of_topics(["t"]), Crash(1)).exit_code == 0
    with pytest.raises(UsageError, match="there is no topic v; there are t, u"):
        other.of_topics(["v"])


def test_changes_are_read_from_zookeeper() -> None:
    prediction = what_if(cluster(status(1, 2, 3)), Crash(1))
    written = [step.data for step in prediction.steps[0] if isinstance(step, Written)]
    assert [state.leader_and_isr[:3] for state in written if isinstance(state, TopicPartitionState)] == [
        (2, 5, (2, 3))
    ]
    text = prediction.text(with_steps=True)
    assert "ZooKeeper: /brokers/topics/t/partitions/0/state: leader 2, epoch 5, ISR 2,3" in text
    assert "to broker 3: LeaderAndIsr of t-0" in text
    assert "ZooKeeper" not in str(prediction)


def test_controller_log_lines_are_among_the_steps() -> None:
    """They are omitted by default, because the table shows which partitions are offline."""
    prediction = what_if(cluster(status(1)), Crash(1))
    logged = "error: t-0 did not change from OfflinePartition to OnlinePartition: NoLeaderElected"
    assert logged in prediction.text(with_steps=True)
    assert logged in prediction.to_json(with_steps=True)["events"][0]["steps"]
    assert "error" not in str(prediction)


def test_changes_are_sorted_worst_first() -> None:
    offline_before = status(7, 3, isr=(7,))
    rows = (offline_before, status(3, 4), status(1, 2, 4), status(1), status(1, 2))
    prediction = what_if(cluster(*rows), Crash(1))
    assert [each.partition.partition for each in prediction.changes] == [3, 4, 2, 0, 1]
    printed = [row for row in prediction.text(every=True).splitlines() if row.startswith("t-")]
    assert [row.split()[0] for row in printed] == ["t-3", "t-4", "t-2", "t-0", "t-1"]
    few = [row.split()[0] for row in str(prediction).splitlines() if row.startswith("t-")]
    assert few == ["t-3", "t-4", "t-2"], "unchanged offline partitions are counted, and listed on request"
    assert "5 partitions: 2 offline, 1 under min ISR, 2 online; 2 as before" in str(prediction)


@rows(
    "before, event, line",
    [
        (status(1, 2, 3), Crash(1), "t-0        1 -> 2  1,2,3 -> 2,3  online"),
        (status(1, 2), Crash(1), "t-0        1 -> 2  1,2 -> 2  online -> under min ISR (1 of 2)"),
        (status(1), Crash(1), "t-0        1 -> none  1    under min ISR -> offline"),
        (
            status(7, 2, leader=7, isr=(7, 2)),
            AnotherController(),
            "t-0        none -> 2  7,2 -> 2  offline -> under min ISR (1 of 2)",
        ),
        (
            status(1, 2, 3, isr=(1,)),
            Crash(1),
            "t-0        1 -> 2  1 -> 2  under min ISR -> records may be lost, under min ISR (1 of 2)",
        ),
    ],
)
def test_partition_states_before_and_after_are_reported(
    before: PartitionStatus, event: ClusterEvent, line: str
) -> None:
    unclean = replace(cluster(before), default_unclean=line.count("records") > 0)
    assert line in str(what_if(unclean, event)).splitlines()


def test_epochs_continue_where_they_are_known() -> None:
    begun = replace(cluster(status(1, 2, 3), controller=1), controller_epoch=7)
    assert what_if(begun, Crash(1)).steps[0][0] == Elected(2, 8)
    none_alive = replace(cluster(status(1, 2), live=()), controller=None, controller_epoch=7)
    assert what_if(none_alive, Return(2)).steps[0][0] == Elected(2, 8)


@rows("release", ["1.0", "2.2", "2.3", "3.9"])
def test_a_leaderless_partition_keeps_its_epoch_until_it_is_led(release: str) -> None:
    """Its controller has long been in office, so no failover happens first."""
    leaderless = cluster(PartitionStatus(ReplicaAssignment((1, 2)), None, (1,), 4), live=(2, 4))
    assert what_if(leaderless, release=release).changes[0].after.leader_epoch == 4
    assert what_if(leaderless, Return(1), release=release).changes[0].after.leader_epoch == 5


@rows("release", RELEASES)
def test_unclean_elections_have_the_releases_default(release: str) -> None:
    begun = cluster(status(1, 2, isr=(1,)))
    before_0_11 = release.startswith("0.10")
    prediction = what_if(begun, Crash(1), release=release)
    assert after(prediction)[0] == (2 if before_0_11 else None)
    assert any("unclean elections are permitted" in each for each in begun.assumed_of(release)) is before_0_11
    assert f"by default in {release}" in str(prediction)
    for said in (True, False):
        described = replace(begun, default_unclean=said)
        assert after(what_if(described, Crash(1), release=release))[0] == (2 if said else None)
        assert described.assumed_of(release) == ()
    assert after(what_if(replace(begun, unclean={"t": False}), Crash(1), release=release))[0] is None


def test_as_json() -> None:
    found = what_if(cluster(status(1, 2, 3)), Crash(1)).to_json(with_steps=True)
    assert found["exit"] == 0
    assert found["events"][0]["event"] == "crash of 1"
    assert found["events"][0]["steps"]
    [partition] = found["partitions"]
    assert partition["before"]["leader"] == 1
    assert partition["after"] == {
        "replicas": [1, 2, 3],
        "adding_replicas": [],
        "removing_replicas": [],
        "leader": 2,
        "leader_epoch": 5,
        "isr": [2, 3],
    }
    assert "steps" not in what_if(cluster(status(1)), Crash(2)).to_json()["events"][0]


def test_a_created_topic_is_placed_on_live_brokers_and_led() -> None:
    prediction = what_if(cluster(status(1, 2)), Crash(4), CreateTopic("u", 3, 2), Crash(1))
    new = {each.partition: each for each in prediction.changes if each.partition.topic == "u"}
    assert [each.after.assignment.replicas for _, each in sorted(new.items())] == [(1, 2), (2, 3), (3, 1)]
    assert [after(prediction, each)[0] for each in sorted(new)] == [2, 2, 3]
    assert {str(each.health_before) for each in new.values()} == {"not there"}
    assert what_if(cluster(status(1, 2)), CreateTopic("u", 1, 2), AllowUnclean("u"), Crash(1, 2)).exit_code == 12


@pytest.mark.parametrize(("partitions", "leads"), [(9, 1), (10, 2)])
def test_the_controller_rebalances_leadership_on_its_own(partitions: int, leads: int) -> None:
    """One of nine that prefer broker 1 is more than a tenth of them; one of ten is not."""
    begun = cluster(status(1, 2, leader=2), *[status(1, 2)] * (partitions - 1))
    assert after(what_if(begun, Rebalance()))[0] == leads
    assert after(what_if(begun, ElectPreferred()))[0] == 1


@rows(
    "event, says",
    [
        (Crash(), "no broker is named"),
        (Crash(1, 1), "1 is named twice"),
        (Crash(9), "there is no broker 9; there are 1, 2, 3, 4"),
        (Return(1), "broker 1 runs already"),
        (Shutdown(7, 8), "there is no broker 7, 8"),
        (CreateTopic("u", 1, 5), "replication factor .*5, allowed are 1 and more, up to the number of brokers, 4"),
        (CreateTopic("t", 1, 1), "there is a topic t already"),
        (Reassign({TopicPartition("u", 0): (1,)}), "there is no such partition"),
    ],
)
def test_impossible_events_are_refused(event: ClusterEvent, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        what_if(cluster(status(1, 2)), event)


def test_a_dead_broker_does_not_die_again() -> None:
    with pytest.raises(UsageError, match="crash of 1: broker 1 does not run"):
        what_if(cluster(status(1, 2)), Crash(1), Crash(1))


def test_a_failover_needs_two_brokers() -> None:
    with pytest.raises(UsageError, match="no other broker"):
        what_if(cluster(status(1), live=(1,), controller=1), AnotherController())


@pytest.mark.long
def test_a_topic_is_laid_out_in_linear_time() -> None:
    """A topic of 32 times as many partitions takes about 45 times as long, garbage collection included."""

    def seconds(partitions: int) -> float:
        there = {TopicPartition("t", number): status(1) for number in range(partitions)}
        at_rest = KnownCluster(there, frozenset(), None, {"t": 1}, {})
        begun = process_time()
        RunningCluster(at_rest)
        return process_time() - begun

    assert min(seconds(32_000) for _ in range(3)) < 90 * min(seconds(1_000) for _ in range(3))
