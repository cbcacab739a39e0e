"""How leaders are elected for who asks: the node, an administrator, and the rebalance."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller.calls import Call, EventFailure
from statemachines.controller.control_design import ControlDesign, control_design_of
from statemachines.controller.replica_leader_election import ElectionTrigger, ElectionType
from statemachines.controller.state_change import EventDone
from statemachines.messages.control_requests import LeaderAndIsrRequest
from statemachines.messages.errors import Errors
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import PREFERRED_REPLICA_ELECTION
from statemachines.tables.partition import NonExistentPartition, OnlinePartition
from tests.statemachines.control import T0, T1
from tests.statemachines.processing import EventCluster

T2 = TopicPartition("t", 2)
NOWHERE = TopicPartition("u", 0)


def astray(design: ControlDesign | None = None, unclean: bool = False) -> EventCluster:
    """Broker 1 was away: 2 leads what prefers 1, which is in sync of partition 0, and not of 1; 2 is at home."""
    cluster = EventCluster(design=design, unclean=unclean)
    cluster.create_topic("t", (1, 2, 3), (1, 2), (2, 1))
    cluster.take_over()
    cluster.die(1)
    cluster.quietly("process_broker_change")
    cluster.register(1)
    cluster.quietly("process_broker_change")
    cluster.leader_writes(T0, (2, 3, 1))
    cluster.zookeeper.create(None, "/isr_change_notification/isr_change_", (T0,), sequential=True)
    cluster.quietly("process_isr_change_notification")
    return cluster


@pytest.fixture
def cluster() -> EventCluster:
    """As of today."""
    return astray()


def elect(cluster: EventCluster, *partitions: TopicPartition, kind: ElectionType = ElectionType.PREFERRED) -> Any:
    """An administrator asks for elections; what is answered."""
    processed = cluster.process(
        "process_replica_leader_election", partitions, kind, ElectionTrigger.AdminClientTriggered
    )
    return processed.answer


# By the node


def test_the_preferred_replica_is_elected_and_the_isr_stays(cluster: EventCluster) -> None:
    """All replicas are told; then the node goes, and the event is put again, which arms the watch."""
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0,))
    assert cluster.process("process_replica_leader_election").failure is None
    assert cluster.state(T0)[:3] == (1, 2, (2, 3, 1))
    assert cluster.story() == [
        "1+2+3 LeaderAndIsr t-0 led by 1 in 2, ISR 2+3+1",
        "1+2+3 UpdateMetadata of 1+2+3; t-0 led by 1 in 2",
    ]
    assert not cluster.exists(PREFERRED_REPLICA_ELECTION)
    assert cluster.queue[-1] == Call("process_replica_leader_election")


def test_an_out_of_sync_preferred_replica_is_not_elected(cluster: EventCluster) -> None:
    """The node goes all the same."""
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T1, T2, NOWHERE))
    cluster.process("process_replica_leader_election")
    assert [cluster.state(each).leader for each in (T1, T2)] == [2, 2]
    assert cluster.version(T2) == 1
    assert cluster.sent == []
    assert not cluster.exists(PREFERRED_REPLICA_ELECTION)


def test_without_the_node_the_watch_is_armed_and_that_is_all(cluster: EventCluster) -> None:
    """So that the next one is heard of."""
    queued = len(cluster.queue)
    assert cluster.process("process_replica_leader_election") == EventDone()
    assert len(cluster.queue) == queued


def test_a_partition_that_never_had_a_leader_stops_it(cluster: EventCluster) -> None:
    """No replica is elected, and the node stays."""
    cluster.create_topic("u", (4,))
    cluster.quietly("process_topic_change")
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0, NOWHERE))
    assert cluster.process("process_replica_leader_election").failure is EventFailure.NeverLed
    assert cluster.state(T0).leader == 2
    assert cluster.exists(PREFERRED_REPLICA_ELECTION)


def test_the_node_stays_where_the_controller_moves(cluster: EventCluster) -> None:
    """Its deletion is tried, and refused; nothing is put into the queue."""
    queued = len(cluster.queue)
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0,))
    processed = cluster.process("process_replica_leader_election", before={3: cluster.elect_another_controller})
    assert processed.failure is EventFailure.ControllerMoved
    assert cluster.exists(PREFERRED_REPLICA_ELECTION)
    assert len(cluster.queue) == queued


@pytest.mark.parametrize(("release", "epochs"), [("2.1", [2, 2]), ("2.2", [2, 1])])
def test_until_2_1_a_current_leader_was_elected_again(release: str, epochs: list[int]) -> None:
    """In a new leader epoch. [KAFKA-5692]"""
    cluster = astray(control_design_of(release))
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0, T2))
    cluster.process("process_replica_leader_election")
    assert [cluster.state(each).leader_epoch for each in (T0, T2)] == epochs
    assert not cluster.exists(PREFERRED_REPLICA_ELECTION)


def test_until_2_1_the_node_stayed_with_an_unknown_partition() -> None:
    """Which has come to have a state by that; others are elected for."""
    cluster = astray(control_design_of("2.1"))
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0, NOWHERE))
    assert cluster.process("process_replica_leader_election").failure is EventFailure.NeverLed
    assert cluster.state(T0).leader == 1
    assert cluster.context.state.partition_states[NOWHERE] is NonExistentPartition
    assert cluster.exists(PREFERRED_REPLICA_ELECTION)


def test_the_node_stays_with_a_partition_that_has_no_replica_any_more() -> None:
    """The log would say whether its preferred replica leads now."""
    cluster = astray()
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0,))
    cluster.process(
        "process_replica_leader_election",
        before={3: lambda: cluster.context.update_partition_full_replica_assignment(T0, ReplicaAssignment(()))},
    )
    assert cluster.exists(PREFERRED_REPLICA_ELECTION)


# By an administrator


def test_an_administrator_is_answered_partition_by_partition(cluster: EventCluster) -> None:
    """Who leads now, or why there was no election."""
    assert dict(elect(cluster, T0, T1, T2, NOWHERE)) == {
        T0: 1,
        T1: Errors.PREFERRED_LEADER_NOT_AVAILABLE,
        T2: Errors.ELECTION_NOT_NEEDED,
        NOWHERE: Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }


@pytest.mark.parametrize(("release", "answer"), [("2.3", Errors.NONE), ("2.4", Errors.ELECTION_NOT_NEEDED)])
def test_until_2_3_an_election_that_is_not_needed_was_no_error(release: str, answer: Errors) -> None:
    """Nor did the administrator hear who leads. [KIP-460]"""
    assert elect(astray(control_design_of(release)), T2) == ((T2, answer),)


def test_duplicate_partitions_are_answered_once(cluster: EventCluster) -> None:
    """In Kafka they are a set."""
    assert elect(cluster, T0, T0) == ((T0, 1),)


def test_a_topic_that_goes_has_no_elections(cluster: EventCluster) -> None:
    """Whichever of the three asks."""
    cluster.context.queue_topic_deletion(["t"])
    assert elect(cluster, T0) == ((T0, Errors.INVALID_TOPIC_EXCEPTION),)
    assert cluster.sent == []


def leaderless() -> EventCluster:
    """Partition 1 has lost its only member of the ISR, which is not the only replica."""
    cluster = astray()
    cluster.die(2)
    cluster.quietly("process_broker_change")
    assert cluster.state(T1)[:3] == (-1, 2, (2,))
    return cluster


def test_an_administrator_may_have_an_unclean_election() -> None:
    """Of a partition whose leader is gone; the leader has to recover."""
    cluster = leaderless()
    answer = elect(cluster, T0, T1, kind=ElectionType.UNCLEAN)
    assert answer == ((T1, 1), (T0, Errors.ELECTION_NOT_NEEDED))
    assert cluster.state(T1)[:3] == (1, 3, (1,))
    assert cluster.context.partition_state(T1) is OnlinePartition


def test_only_administrators_may_elect_uncleanly() -> None:
    """A node that asked for one would get a clean election."""
    cluster = leaderless()
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T1,))
    cluster.process("process_replica_leader_election", None, ElectionType.UNCLEAN, ElectionTrigger.ZkTriggered)
    assert cluster.state(T1).leader == -1


def test_an_unclean_election_without_live_replicas_fails() -> None:
    """There is no replica to elect."""
    cluster = leaderless()
    cluster.die(1, 3)
    cluster.quietly("process_broker_change")
    assert elect(cluster, T1, kind=ElectionType.UNCLEAN) == ((T1, Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE),)


def test_leftover_requests_are_an_unknown_error(cluster: EventCluster) -> None:
    """Of each partition: the election as a whole has failed."""
    cluster.partitions.batch.add_update_metadata_request_for_brokers((1,))
    assert elect(cluster, T0) == ((T0, Errors.UNKNOWN_SERVER_ERROR),)


def test_unclean_elections_that_are_permitted_from_now_on_are_held() -> None:
    """By default, or of a topic."""
    for topic in (None, "t"):
        cluster = leaderless()
        cluster.configure("t", unclean=True)
        cluster.process("process_unclean_leader_election_enable", topic)
        assert cluster.state(T1).leader == 1
    cluster = leaderless()
    cluster.configure("t", unclean=True)
    cluster.process("process_unclean_leader_election_enable", "u")
    assert cluster.state(T1).leader == -1


# The rebalance


def test_a_large_imbalance_is_corrected(cluster: EventCluster) -> None:
    """As far as the preferred replica is in sync."""
    cluster.process("process_auto_preferred_replica_leader_election")
    assert [cluster.state(each).leader for each in (T0, T1, T2)] == [1, 2, 2]
    assert cluster.log == []


def test_a_small_imbalance_stays(cluster: EventCluster) -> None:
    """Not more than the percentage: all that prefers broker 1 is led by another, which is not more than 100."""
    cluster.controller.leader_imbalance_per_broker_percentage = 100
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.sent == []
    cluster.controller.leader_imbalance_per_broker_percentage = 99
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.state(T0).leader == 1


def test_the_rebalance_leaves_the_node_alone(cluster: EventCluster) -> None:
    """What an administrator has asked for by it stands there still."""
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0,))
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.exists(PREFERRED_REPLICA_ELECTION)


def test_topics_that_go_and_brokers_that_leave_are_left_alone(cluster: EventCluster) -> None:
    """A broker that is shutting down is not elected; nothing is for a topic that goes."""
    cluster.quietly("process_controlled_shutdown", 1)
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.sent == []
    other = astray()
    other.context.queue_topic_deletion(["t"])
    other.process("process_auto_preferred_replica_leader_election")
    assert other.sent == []


def test_a_replica_whose_disk_has_failed_does_not_lead_again(cluster: EventCluster) -> None:
    """Nothing is asked for of it, though its broker is live and it stands in the ISR."""
    cluster.context.state.replicas_on_offline_dirs[1] = frozenset({T0})
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.sent == []
    assert cluster.log == []


def test_until_2_0_0_it_went_partition_by_partition() -> None:
    """Brokers were told of each partition by itself. [KAFKA-7299]"""
    for release, batches in (("2.0.0", [[T0], [T1]]), ("2.0.1", [[T0, T1]])):
        cluster = astray(control_design_of(release))
        cluster.leader_writes(T1, (2, 1))
        cluster.process("process_auto_preferred_replica_leader_election")
        assert [cluster.state(each).leader for each in (T0, T1)] == [1, 1]
        requests = [each for broker, each in cluster.sent if broker == 1 and isinstance(each, LeaderAndIsrRequest)]
        assert [
            [TopicPartition(state.topicName, state.partitionIndex) for state in request.partitionStates]
            for request in requests
        ] == batches


@pytest.mark.parametrize(("release", "failed"), [("2.5", [T1]), ("2.6", [])])
def test_until_2_5_an_out_of_sync_preferred_replica_was_elected(release: str, failed: list[TopicPartition]) -> None:
    """Which failed, and was logged as an error, again and again [KAFKA-9866]."""
    cluster = astray(control_design_of(release))
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.state(T0).leader == 1
    assert [failure.subject for failure in cluster.log] == failed


def test_until_3_3_it_waited_for_reassignments() -> None:
    """Of whichever partition. [KAFKA-10149]"""
    leaders = []
    for release in ("3.3", "3.4"):
        cluster = astray(control_design_of(release))
        cluster.quietly("process_api_partition_reassignment", ((T2, (2, 3)),))
        cluster.process("process_auto_preferred_replica_leader_election")
        leaders.append(cluster.state(T0).leader)
    assert leaders == [2, 1]
