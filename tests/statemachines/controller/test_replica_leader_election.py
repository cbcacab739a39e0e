"""Leader elections on request: by the node, by an administrator, and by the rebalance."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller.calls import Call, EventFailure
from statemachines.controller.control_design import ControlDesign
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
    """Broker 1 was away: 2 leads partitions that prefer 1, in sync in partition 0 but not in 1; 2 leads its own."""
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
    """With the newest design."""
    return astray()


def elect(cluster: EventCluster, *partitions: TopicPartition, kind: ElectionType = ElectionType.PREFERRED) -> Any:
    """An administrator asks for elections; returns the reply."""
    processed = cluster.process(
        "process_replica_leader_election", partitions, kind, ElectionTrigger.AdminClientTriggered
    )
    return processed.answer


# The request node


def test_the_preferred_replica_is_elected_and_the_isr_stays(cluster: EventCluster) -> None:
    """All replicas are informed; then the node is deleted, and the event is queued again, which sets the watch."""
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
    """But the node is deleted."""
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T1, T2, NOWHERE))
    cluster.process("process_replica_leader_election")
    assert [cluster.state(each).leader for each in (T1, T2)] == [2, 2]
    assert cluster.version(T2) == 1
    assert cluster.sent == []
    assert not cluster.exists(PREFERRED_REPLICA_ELECTION)


def test_without_the_node_only_the_watch_is_set(cluster: EventCluster) -> None:
    """For the next request."""
    queued = len(cluster.queue)
    assert cluster.process("process_replica_leader_election") == EventDone()
    assert len(cluster.queue) == queued


def test_a_partition_that_never_had_a_leader_stops_the_election(cluster: EventCluster) -> None:
    """No replica is elected, and the node stays."""
    cluster.create_topic("u", (4,))
    cluster.quietly("process_topic_change")
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0, NOWHERE))
    assert cluster.process("process_replica_leader_election").failure is EventFailure.NeverLed
    assert cluster.state(T0).leader == 2
    assert cluster.exists(PREFERRED_REPLICA_ELECTION)


def test_the_node_stays_if_the_controller_moves(cluster: EventCluster) -> None:
    """The deletion is refused; nothing is queued."""
    queued = len(cluster.queue)
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0,))
    processed = cluster.process("process_replica_leader_election", before={3: cluster.elect_another_controller})
    assert processed.failure is EventFailure.ControllerMoved
    assert cluster.exists(PREFERRED_REPLICA_ELECTION)
    assert len(cluster.queue) == queued


@pytest.mark.parametrize(("release", "epochs"), [("2.1", [2, 2]), ("2.2", [2, 1])])
def test_until_2_1_a_leading_preferred_replica_was_elected_again(release: str, epochs: list[int]) -> None:
    """In a new leader epoch. [KAFKA-5692]"""
    cluster = astray(ControlDesign(release))
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0, T2))
    cluster.process("process_replica_leader_election")
    assert [cluster.state(each).leader_epoch for each in (T0, T2)] == epochs
    assert not cluster.exists(PREFERRED_REPLICA_ELECTION)


def test_until_2_1_the_node_stayed_with_an_unknown_partition() -> None:
    """The partition gets a state by that; others get their elections."""
    cluster = astray(ControlDesign("2.1"))
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0, NOWHERE))
    assert cluster.process("process_replica_leader_election").failure is EventFailure.NeverLed
    assert cluster.state(T0).leader == 1
    assert cluster.context.state.partition_states[NOWHERE] is NonExistentPartition
    assert cluster.exists(PREFERRED_REPLICA_ELECTION)


def test_the_node_stays_with_a_partition_without_replicas() -> None:
    """The log line would need its preferred replica."""
    cluster = astray()
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0,))
    cluster.process(
        "process_replica_leader_election",
        before={3: lambda: cluster.context.update_partition_full_replica_assignment(T0, ReplicaAssignment(()))},
    )
    assert cluster.exists(PREFERRED_REPLICA_ELECTION)


# By an administrator


def test_an_administrator_is_answered_partition_by_partition(cluster: EventCluster) -> None:
    """With the new leader, or the reason why there was no election."""
    assert dict(elect(cluster, T0, T1, T2, NOWHERE)) == {
        T0: 1,
        T1: Errors.PREFERRED_LEADER_NOT_AVAILABLE,
        T2: Errors.ELECTION_NOT_NEEDED,
        NOWHERE: Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }


@pytest.mark.parametrize(("release", "answer"), [("2.3", Errors.NONE), ("2.4", Errors.ELECTION_NOT_NEEDED)])
def test_until_2_3_an_unnecessary_election_was_no_error(release: str, answer: Errors) -> None:
    """And the reply did not name the leader. [KIP-460]"""
    assert elect(astray(ControlDesign(release)), T2) == ((T2, answer),)


def test_duplicate_partitions_are_answered_once(cluster: EventCluster) -> None:
    """In Kafka they are a set."""
    assert elect(cluster, T0, T0) == ((T0, 1),)


def test_a_topic_in_deletion_has_no_elections(cluster: EventCluster) -> None:
    """For any of the three requests."""
    cluster.context.queue_topic_deletion(["t"])
    assert elect(cluster, T0) == ((T0, Errors.INVALID_TOPIC_EXCEPTION),)
    assert cluster.sent == []


def leaderless() -> EventCluster:
    """Partition 1 has lost the only member of its ISR, but has another replica."""
    cluster = astray()
    cluster.die(2)
    cluster.quietly("process_broker_change")
    assert cluster.state(T1)[:3] == (-1, 2, (2,))
    return cluster


def test_an_administrator_may_have_an_unclean_election() -> None:
    """For a partition whose leader is gone; the new leader must recover."""
    cluster = leaderless()
    answer = elect(cluster, T0, T1, kind=ElectionType.UNCLEAN)
    assert answer == ((T1, 1), (T0, Errors.ELECTION_NOT_NEEDED))
    assert cluster.state(T1)[:3] == (1, 3, (1,))
    assert cluster.context.partition_state(T1) is OnlinePartition


def test_only_administrators_may_elect_uncleanly() -> None:
    """The node only asks for clean elections."""
    cluster = leaderless()
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T1,))
    cluster.process("process_replica_leader_election", None, ElectionType.UNCLEAN, ElectionTrigger.ZkTriggered)
    assert cluster.state(T1).leader == -1


def test_without_live_replicas_an_unclean_election_fails_too() -> None:
    """There is no replica to elect."""
    cluster = leaderless()
    cluster.die(1, 3)
    cluster.quietly("process_broker_change")
    assert elect(cluster, T1, kind=ElectionType.UNCLEAN) == ((T1, Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE),)


def test_leftover_requests_are_an_unknown_error(cluster: EventCluster) -> None:
    """For each partition: the election as a whole has failed."""
    cluster.partitions.batch.add_update_metadata_request_for_brokers((1,))
    assert elect(cluster, T0) == ((T0, Errors.UNKNOWN_SERVER_ERROR),)


def test_newly_permitted_unclean_elections_are_held() -> None:
    """Permitted by default, or for a topic."""
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
    """If the preferred replica is in sync."""
    cluster.process("process_auto_preferred_replica_leader_election")
    assert [cluster.state(each).leader for each in (T0, T1, T2)] == [1, 2, 2]
    assert cluster.log == []


def test_a_small_imbalance_stays(cluster: EventCluster) -> None:
    """All partitions that prefer broker 1 have another leader, but 100 % is not more than the threshold of 100."""
    cluster.controller.leader_imbalance_per_broker_percentage = 100
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.sent == []
    cluster.controller.leader_imbalance_per_broker_percentage = 99
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.state(T0).leader == 1


def test_the_rebalance_leaves_the_node_alone(cluster: EventCluster) -> None:
    """An administrator's request is still there afterwards."""
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0,))
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.exists(PREFERRED_REPLICA_ELECTION)


def test_topics_in_deletion_and_brokers_shutting_down_are_left_alone(cluster: EventCluster) -> None:
    """Such a broker is not elected; such a topic has no elections."""
    cluster.quietly("process_controlled_shutdown", 1)
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.sent == []
    other = astray()
    other.context.queue_topic_deletion(["t"])
    other.process("process_auto_preferred_replica_leader_election")
    assert other.sent == []


def test_a_replica_whose_disk_has_failed_does_not_lead_again(cluster: EventCluster) -> None:
    """There is no request for it, though its broker is live and the replica is in the ISR."""
    cluster.context.state.replicas_on_offline_dirs[1] = frozenset({T0})
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.sent == []
    assert cluster.log == []


def test_until_2_0_0_the_rebalance_went_partition_by_partition() -> None:
    """Brokers received each partition separately. [KAFKA-7299]"""
    for release, batches in (("2.0.0", [[T0], [T1]]), ("2.0.1", [[T0, T1]])):
        cluster = astray(ControlDesign(release))
        cluster.leader_writes(T1, (2, 1))
        cluster.process("process_auto_preferred_replica_leader_election")
        assert [cluster.state(each).leader for each in (T0, T1)] == [1, 1]
        requests = [each for broker, each in cluster.sent if broker == 1 and isinstance(each, LeaderAndIsrRequest)]
        assert [[state.partition for state in request.partitionStates] for request in requests] == batches


@pytest.mark.parametrize(("release", "failed"), [("2.5", [T1]), ("2.6", [])])
def test_until_2_5_an_out_of_sync_preferred_replica_was_elected(release: str, failed: list[TopicPartition]) -> None:
    """The election failed, and was logged as an error, again and again [KAFKA-9866]."""
    cluster = astray(ControlDesign(release))
    cluster.process("process_auto_preferred_replica_leader_election")
    assert cluster.state(T0).leader == 1
    assert [failure.subject for failure in cluster.log] == failed


def test_until_3_3_the_rebalance_waited_for_reassignments() -> None:
    """Of any partition. [KAFKA-10149]"""
    leaders = []
    for release in ("3.3", "3.4"):
        cluster = astray(ControlDesign(release))
        cluster.quietly("process_api_partition_reassignment", ((T2, (2, 3)),))
        cluster.process("process_auto_preferred_replica_leader_election")
        leaders.append(cluster.state(T0).leader)
    assert leaders == [2, 1]
