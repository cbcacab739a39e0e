"""How a controller creates topics, adds partitions, deletes topics, and repeats deletions."""

from __future__ import annotations

import pytest

from statemachines.controller.calls import EventFailure
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.state_change import EventDone
from statemachines.messages.control_requests import StopReplicaRequest, UpdateMetadataRequest
from statemachines.messages.errors import Errors
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicConfig, topic_path
from statemachines.tables.partition import NewPartition, NonExistentPartition, OnlinePartition, PartitionState
from statemachines.tables.replica import (
    NewReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)
from tests.statemachines.control import T0, T1
from tests.statemachines.processing import EventCluster


def started(design: ControlDesign | None = None, live: tuple[int, ...] = (1, 2, 3)) -> EventCluster:
    """Brokers, and no topic yet."""
    cluster = EventCluster(live, design)
    cluster.take_over()
    cluster.forget()
    return cluster


@pytest.fixture
def cluster() -> EventCluster:
    """Brokers 1, 2 and 3, with the newest design."""
    return started()


def with_topic(design: ControlDesign | None = None) -> EventCluster:
    """The same, with two partitions of a topic, led by 1 and 2."""
    cluster = started(design)
    cluster.create_topic("t", (1, 2), (2, 1))
    cluster.configure("t", unclean=None)
    cluster.quietly("process_topic_change")
    return cluster


def deleting(design: ControlDesign | None = None) -> EventCluster:
    """The same, with the topic in deletion: all replicas have received their requests."""
    cluster = with_topic(design)
    cluster.ask_to_delete("t")
    cluster.process("process_topic_deletion")
    return cluster


# Creation


def test_a_new_topic_has_leaders_and_new_replicas(cluster: EventCluster) -> None:
    """The first live replica leads, all live ones are in sync, and all brokers are informed."""
    cluster.create_topic("t", (1, 2), (2, 3))
    assert cluster.process("process_topic_change") == EventDone()
    assert [cluster.state(each)[:3] for each in (T0, T1)] == [(1, 0, (1, 2)), (2, 0, (2, 3))]
    assert cluster.story() == [
        "1 LeaderAndIsr t-0 led by 1 in 0, ISR 1+2, new",
        "2 LeaderAndIsr t-0 led by 1 in 0, ISR 1+2, new; t-1 led by 2 in 0, ISR 2+3, new",
        "3 LeaderAndIsr t-1 led by 2 in 0, ISR 2+3, new",
        "1+2+3 UpdateMetadata of 1+2+3; t-0 led by 1 in 0; t-1 led by 2 in 0",
    ]
    assert cluster.context.partition_state(T0) is OnlinePartition
    assert cluster.replica_state(T0, 2) is OnlineReplica
    assert cluster.context.state.all_topics == {"t"}


def test_a_partition_without_live_replica_stays_new(cluster: EventCluster) -> None:
    """Its replicas are still online: the controller assumes that of new ones."""
    cluster.create_topic("t", (4, 5))
    cluster.process("process_topic_change")
    assert cluster.context.partition_state(T0) is NewPartition
    assert cluster.replica_state(T0, 4) is OnlineReplica
    assert cluster.sent == []


def test_a_topic_deleted_before_it_is_read_has_no_partitions(cluster: EventCluster) -> None:
    """Its name was among the children."""
    cluster.create_topic("t", (1, 2))
    cluster.process("process_topic_change", before={1: lambda: cluster.zookeeper.delete(None, topic_path("t"))})
    assert cluster.context.all_partitions() == ()
    assert cluster.sent == []
    cluster.process("process_topic_change")
    assert cluster.context.state.all_topics == frozenset()


def test_a_topic_deleted_without_the_controller_is_forgotten(cluster: EventCluster) -> None:
    """An operator deleted its nodes by hand: no broker is informed."""
    cluster.create_topic("t", (1, 2))
    cluster.quietly("process_topic_change")
    for path in ("/partitions/0/state", "/partitions/0", "/partitions", ""):
        cluster.zookeeper.delete(None, f"{topic_path('t')}{path}")
    cluster.process("process_topic_change")
    assert cluster.context.all_partitions() == ()
    assert cluster.sent == []


def test_added_partitions_are_created(cluster: EventCluster) -> None:
    """Older partitions are not touched, even if their replicas in the node have changed."""
    cluster.create_topic("t", (1, 2))
    cluster.quietly("process_topic_change")
    cluster.zookeeper.set(None, topic_path("t"), cluster.assignment((2, 3), (3, 1)))
    cluster.process("process_partition_modifications", "t")
    assert cluster.state(T0)[:3] == (1, 0, (1, 2))
    assert cluster.state(T1)[:3] == (3, 0, (3, 1))
    assert cluster.context.partition_replica_assignment(T0) == (1, 2)
    assert {partition for _, partition in cluster.leader_and_isr()} == {T1}
    cluster.forget()
    cluster.process("process_partition_modifications", "t")
    assert cluster.sent == []


def test_partitions_are_not_added_to_a_topic_in_deletion() -> None:
    """They are removed from its node; until 1.1 they stayed there, and became real later. [B40, KAFKA-6612]"""
    left = []
    for release in ("1.1", "2.0"):
        cluster = deleting(ControlDesign(release))
        cluster.zookeeper.set(None, topic_path("t"), cluster.assignment((1, 2), (2, 1), (3,)))
        cluster.process("process_partition_modifications", "t")
        assert TopicPartition("t", 2) not in cluster.context.all_partitions()
        left.append(len(cluster.data(topic_path("t")).partitions))
    assert left == [3, 2]


def test_a_controller_that_moves_before_the_write_leaves_a_partition_new(cluster: EventCluster) -> None:
    """Its successor creates the state."""
    cluster.create_topic("t", (1, 2))
    processed = cluster.process("process_topic_change", before={2: cluster.elect_another_controller})
    assert processed.failure is EventFailure.ControllerMoved
    assert cluster.context.partition_state(T0) is NewPartition
    assert cluster.replica_state(T0, 1) is NewReplica
    assert not cluster.exists("/brokers/topics/t/partitions")


@pytest.mark.parametrize(("brokers", "said"), [((1, 1), "1"), ((1, -2), "-2")])
def test_an_invalid_assignment_is_refused(cluster: EventCluster, brokers: tuple[int, ...], said: str) -> None:
    """With the partition and the value; the whole read is ignored, and nothing is sent."""
    cluster.create_topic("t", (2, 3), brokers)
    with pytest.raises(ValueError, match=f"replicas of t-1: .*{said}"):
        cluster.process("process_topic_change")
    assert cluster.context.all_partitions() == ()
    assert cluster.sent == []


# Deletion


def test_a_topic_is_deleted_replica_by_replica() -> None:
    """Brokers forget it, replicas stop, leave the ISRs and are deleted; no broker receives the shrunk ISRs."""
    cluster = deleting()
    assert cluster.story() == [
        "1+2+3 UpdateMetadata of 1+2+3; t-0 led by -2 in 0; t-1 led by -2 in 0",
        "1+2 StopReplica t-0; t-1",
        "1+2 StopReplica t-0, delete; t-1, delete",
    ]
    assert cluster.context.partition_state(T0) is NonExistentPartition
    assert set(cluster.context.state.replica_states.values()) == {ReplicaDeletionStarted}
    assert cluster.state(T0)[:3] == (-1, 2, (2,))
    assert {
        state.leaderEpoch
        for _, request in cluster.sent
        if isinstance(request, StopReplicaRequest)
        for state in request.partitionStates
    } == {-2}


@pytest.mark.parametrize(("release", "state"), [("2.0", OnlinePartition), ("2.1", NonExistentPartition)])
def test_until_2_0_partitions_went_last(release: str, state: PartitionState) -> None:
    """When all replicas were deleted, not when the deletion began. [KAFKA-6753]"""
    cluster = deleting(ControlDesign(release))
    assert cluster.context.partition_state(T0) is state
    for broker in (1, 2):
        cluster.deleted(broker, T0, T1)
    assert cluster.context.partition_state(T0) is NonExistentPartition
    assert not cluster.exists(topic_path("t"))


def test_after_all_replies_no_node_is_left() -> None:
    """Neither the topic's, nor its configuration, nor the deletion request."""
    cluster = deleting()
    cluster.deleted(1, T0, T1)
    assert cluster.replica_state(T0, 1) is ReplicaDeletionSuccessful
    assert cluster.exists(topic_path("t"))
    cluster.deleted(2, T0, T1)
    for path in (topic_path("t"), "/config/topics/t", "/admin/delete_topics/t"):
        assert not cluster.exists(path)
    state = cluster.context.state
    assert (state.all_topics, state.topics_to_be_deleted, state.topics_with_deletion_started) == (frozenset(),) * 3
    assert state.partition_assignments == {}
    assert state.replica_states == {}


def test_a_deleted_topic_may_be_created_again() -> None:
    """It begins like any new one."""
    cluster = deleting()
    for broker in (1, 2):
        cluster.deleted(broker, T0, T1)
    cluster.quietly("process_topic_change")
    cluster.create_topic("t", (3, 2))
    cluster.process("process_topic_change")
    assert cluster.state(T0)[:3] == (3, 0, (3, 2))


def test_a_failed_deletion_makes_the_topic_wait() -> None:
    """Successful replicas stay so; there is no automatic retry."""
    cluster = deleting()
    cluster.forget()
    cluster.deleted(1, T0, T1)
    cluster.deleted(2, T0, error=Errors.KAFKA_STORAGE_ERROR)
    assert cluster.replica_state(T0, 2) is ReplicaDeletionIneligible
    assert cluster.replica_state(T1, 2) is ReplicaDeletionStarted
    assert cluster.context.state.topics_ineligible_for_deletion == {"t"}
    assert cluster.sent == []


@pytest.mark.parametrize("error", [Errors.NONE, Errors.KAFKA_STORAGE_ERROR])
def test_a_deletion_reply_for_another_topic_is_ignored(error: Errors) -> None:
    """Replicas are deleted by reassignments, too."""
    cluster = with_topic()
    assert cluster.deleted(1, T0, error=error) == EventDone()
    assert cluster.replica_state(T0, 1) is OnlineReplica
    assert (cluster.log, cluster.sent) == ([], [])


def test_after_the_other_replies_the_failed_replica_is_offline_again() -> None:
    """From there it can be retried; but the topic still waits."""
    cluster = deleting()
    cluster.deleted(1, T0, T1)
    cluster.deleted(2, T0, error=Errors.KAFKA_STORAGE_ERROR)
    cluster.forget()
    cluster.deleted(2, T1)
    assert cluster.replica_state(T0, 2) is OfflineReplica
    assert cluster.story() == ["2 StopReplica t-0"]
    assert cluster.exists(topic_path("t"))


def test_a_returning_broker_gets_the_deletion_again() -> None:
    """Only for replicas that it has not deleted yet; then the topic is gone."""
    cluster = deleting()
    cluster.deleted(1, T0, T1)
    cluster.die(2)
    cluster.quietly("process_broker_change")
    assert cluster.replica_state(T0, 2) is OfflineReplica
    assert cluster.context.state.topics_ineligible_for_deletion == {"t"}
    cluster.register(2)
    cluster.process("process_broker_change")
    assert cluster.story()[-1] == "2 StopReplica t-0, delete; t-1, delete"
    cluster.deleted(2, T0, T1)
    assert not cluster.exists(topic_path("t"))


def test_an_error_of_the_whole_request_fails_all_its_replicas() -> None:
    """Whatever it says about single partitions."""
    cluster = deleting()
    errors = ((T0, Errors.NONE), (T1, Errors.NONE))
    cluster.process("process_topic_deletion_stop_replica_response_received", 1, Errors.STALE_CONTROLLER_EPOCH, errors)
    assert cluster.replica_state(T0, 1) is ReplicaDeletionIneligible


def test_the_deletion_of_a_topic_with_a_dead_replica_starts_and_waits() -> None:
    """Live replicas are deleted at once; the dead one is ineligible. Until 2.2 the table had no such row."""
    states = []
    for release in ("2.2", "2.3"):
        cluster = with_topic(ControlDesign(release))
        cluster.die(2)
        cluster.quietly("process_broker_change")
        cluster.ask_to_delete("t")
        cluster.process("process_topic_deletion")
        assert cluster.replica_state(T0, 1) is ReplicaDeletionStarted
        assert cluster.context.state.topics_ineligible_for_deletion == {"t"}
        states.append(cluster.replica_state(T0, 2))
    assert states == [OfflineReplica, ReplicaDeletionIneligible]


def test_the_deletion_of_an_unknown_topic_is_dropped(cluster: EventCluster) -> None:
    """Its request node is deleted."""
    cluster.ask_to_delete("u")
    assert cluster.process("process_topic_deletion") == EventDone()
    assert not cluster.exists("/admin/delete_topics/u")
    assert cluster.context.state.topics_to_be_deleted == frozenset()


def test_topics_that_may_not_be_deleted_stay() -> None:
    """[delete.topic.enable]"""
    cluster = EventCluster(delete_topic_enable=False)
    cluster.create_topic("t", (1, 2))
    cluster.take_over()
    cluster.forget()
    cluster.ask_to_delete("t")
    cluster.process("process_topic_deletion")
    assert not cluster.exists("/admin/delete_topics/t")
    assert cluster.context.state.topics_to_be_deleted == frozenset()
    assert cluster.sent == []


def test_a_topic_with_a_moving_partition_does_not_wait() -> None:
    """Kafka marks it as ineligible before it queues it, and marks only count for queued topics."""
    cluster = with_topic()
    cluster.quietly("process_api_partition_reassignment", ((T0, (3, 2)),))
    cluster.ask_to_delete("t")
    cluster.process("process_topic_deletion")
    assert cluster.context.state.partitions_being_reassigned == {T0}
    assert cluster.context.state.topics_ineligible_for_deletion == frozenset()
    assert cluster.context.state.topics_with_deletion_started == {"t"}


def test_after_a_failover_the_deletion_waits_for_the_reassignment() -> None:
    """A failover queues topics before it marks them."""
    cluster = with_topic()
    cluster.quietly("process_api_partition_reassignment", ((T0, (3, 2)),))
    cluster.ask_to_delete("t")
    cluster.controller = cluster.made()
    cluster.take_over()
    assert cluster.context.state.topics_ineligible_for_deletion == {"t"}
    assert cluster.context.state.topics_with_deletion_started == frozenset()
    cluster.leader_writes(T0, (1, 2, 3))
    cluster.process("maybe_complete_reassignment", T0)
    assert cluster.context.partition_replica_assignment(T0) == (3, 2)
    assert cluster.context.state.topics_with_deletion_started == {"t"}
    assert cluster.replica_state(T0, 3) is ReplicaDeletionStarted


@pytest.mark.parametrize("forgets", [False, True])
def test_a_recreated_topic_inherits_the_ineligible_mark(forgets: bool) -> None:
    """A broker dies after its reply and marks the topic, which is still deleted; in Kafka the mark stays."""
    cluster = deleting(ControlDesign().but(forget_ineligible=forgets))
    cluster.deleted(1, T0, T1)
    cluster.die(1)
    cluster.quietly("process_broker_change")
    cluster.deleted(2, T0, T1)
    assert not cluster.exists(topic_path("t"))
    cluster.create_topic("t", (2, 3))
    cluster.quietly("process_topic_change")
    cluster.ask_to_delete("t")
    cluster.process("process_topic_deletion")
    assert cluster.context.state.topics_with_deletion_started == ({"t"} if forgets else set())


def test_two_topics_do_not_wait_for_each_other() -> None:
    """One of them has a replica on a dead broker."""
    cluster = with_topic()
    cluster.create_topic("u", (3,))
    cluster.quietly("process_topic_change")
    cluster.die(3)
    cluster.quietly("process_broker_change")
    for topic in ("t", "u"):
        cluster.ask_to_delete(topic)
    cluster.process("process_topic_deletion")
    for broker in (1, 2):
        cluster.deleted(broker, T0, T1)
    assert not cluster.exists(topic_path("t"))
    assert cluster.exists(topic_path("u"))


def test_one_reply_completes_two_deletions(cluster: EventCluster) -> None:
    """From the only broker that has replicas of them."""
    for topic in ("t", "u"):
        cluster.create_topic(topic, (1,))
    cluster.quietly("process_topic_change")
    for topic in ("t", "u"):
        cluster.ask_to_delete(topic)
    cluster.process("process_topic_deletion")
    cluster.deleted(1, T0, TopicPartition("u", 0))
    assert cluster.context.state.topics_to_be_deleted == set()
    assert not any(cluster.exists(topic_path(topic)) for topic in ("t", "u"))


def test_a_returning_broker_gets_only_its_own_deletions() -> None:
    """A topic that another broker could not delete still waits."""
    cluster = with_topic()
    cluster.create_topic("u", (3,))
    cluster.quietly("process_topic_change")
    cluster.die(3)
    cluster.quietly("process_broker_change")
    for topic in ("t", "u"):
        cluster.ask_to_delete(topic)
    cluster.process("process_topic_deletion")
    cluster.deleted(1, T0, error=Errors.KAFKA_STORAGE_ERROR)
    cluster.register(3)
    cluster.process("process_broker_change")
    assert cluster.context.state.topics_ineligible_for_deletion == {"t"}


@pytest.mark.parametrize(("release", "stopped"), [("2.4", [["t"], ["u"], ["t"], ["u"]]), ("2.5", [["t", "u"]] * 2)])
def test_until_2_4_deletions_began_topic_by_topic(release: str, stopped: list[list[str]]) -> None:
    """Since 2.5 one request stops all replicas on a broker, and another deletes them [KAFKA-9499]."""
    cluster = with_topic(ControlDesign(release))
    cluster.create_topic("u", (1,))
    cluster.quietly("process_topic_change")
    for topic in ("t", "u"):
        cluster.ask_to_delete(topic)
    cluster.process("process_topic_deletion")
    requests = [request for broker, request in cluster.sent if broker == 1]
    topics = [
        sorted({state.partition.topic for state in request.partitionStates})
        for request in requests
        if isinstance(request, StopReplicaRequest)
    ]
    assert sorted(topics) == sorted(stopped)


@pytest.mark.parametrize(("release", "queued"), [("2.6", frozenset()), ("2.7", {"t"})])
def test_until_2_6_a_topic_left_the_queue_before_its_nodes_were_deleted(release: str, queued: frozenset[str]) -> None:
    """If the deletion of the nodes fails, the same controller does not retry [KAFKA-10040]."""
    cluster = deleting(ControlDesign(release))
    cluster.deleted(1, T0, T1)
    cluster.process(
        "process_topic_deletion_stop_replica_response_received",
        2,
        Errors.NONE,
        ((T0, Errors.NONE), (T1, Errors.NONE)),
        before={6: cluster.elect_another_controller},
    )
    assert cluster.exists(topic_path("t"))
    assert cluster.context.state.topics_to_be_deleted == queued
    assert cluster.context.state.topics_with_deletion_started == queued


@pytest.mark.parametrize(("release", "failure"), [("2.6", None), ("3.1", EventFailure.NotAssigned), ("3.2", None)])
def test_from_2_7_to_3_1_a_topic_without_replicas_was_not_queued_again(
    release: str, failure: EventFailure | None
) -> None:
    """The next deletion queues all requested topics; a metric then looks for replicas."""
    cluster = deleting(ControlDesign(release))
    for partition in (T0, T1):
        cluster.context.update_partition_full_replica_assignment(partition, ReplicaAssignment(()))
    cluster.create_topic("u", (3,))
    cluster.quietly("process_topic_change")
    cluster.ask_to_delete("u")
    assert cluster.process("process_topic_deletion").failure is failure
    assert cluster.context.state.topics_to_be_deleted == ({"t", "u"} if failure else {"u"})


def test_a_controller_that_moves_while_nodes_are_deleted() -> None:
    """The deleted nodes are gone; the next controller finds the request for the rest."""
    cluster = deleting()
    cluster.deleted(1, T0, T1)
    processed = cluster.process(
        "process_topic_deletion_stop_replica_response_received",
        2,
        Errors.NONE,
        ((T0, Errors.NONE), (T1, Errors.NONE)),
        before={6: cluster.elect_another_controller},
    )
    assert processed.failure is EventFailure.ControllerMoved
    assert not cluster.exists("/brokers/topics/t/partitions/0/state")
    assert cluster.exists(topic_path("t"))
    assert cluster.exists("/admin/delete_topics/t")
    assert cluster.data("/config/topics/t") == TopicConfig()


def test_metadata_of_a_topic_in_deletion_has_no_leader() -> None:
    """The leader is -2, on which brokers forget it."""
    leaders = {
        state.leader
        for _, request in deleting().sent
        if isinstance(request, UpdateMetadataRequest)
        for state in request.partitionStates
    }
    assert leaders == {-2}
