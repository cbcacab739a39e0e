"""What a controller does when topics are created, get more partitions, or are to be deleted, and tried again."""

from __future__ import annotations

import pytest

from statemachines.controller.calls import EventFailure
from statemachines.controller.control_design import ControlDesign, control_design_of
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
    """Brokers 1, 2 and 3, as of today."""
    return started()


def with_topic(design: ControlDesign | None = None) -> EventCluster:
    """The same, with two partitions of a topic on 1 and 2."""
    cluster = started(design)
    cluster.create_topic("t", (1, 2), (2, 1))
    cluster.configure("t", unclean=None)
    cluster.quietly("process_topic_change")
    return cluster


def deleting(design: ControlDesign | None = None) -> EventCluster:
    """The same, and the topic is to be deleted: all replicas have been told."""
    cluster = with_topic(design)
    cluster.ask_to_delete("t")
    cluster.process("process_topic_deletion")
    return cluster


# Creation


def test_a_new_topic_has_leaders_and_new_replicas(cluster: EventCluster) -> None:
    """The first live replica leads, all live ones are in sync; all brokers are told of it."""
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
    """Its replicas are online nevertheless: that is what the controller believes of new ones."""
    cluster.create_topic("t", (4, 5))
    cluster.process("process_topic_change")
    assert cluster.context.partition_state(T0) is NewPartition
    assert cluster.replica_state(T0, 4) is OnlineReplica
    assert cluster.sent == []


def test_a_topic_that_goes_before_it_is_read_has_no_partitions(cluster: EventCluster) -> None:
    """Its name was among the children."""
    cluster.create_topic("t", (1, 2))
    cluster.process("process_topic_change", before={1: lambda: cluster.zookeeper.delete(None, topic_path("t"))})
    assert cluster.context.all_partitions() == ()
    assert cluster.sent == []
    cluster.process("process_topic_change")
    assert cluster.context.state.all_topics == frozenset()


def test_a_topic_that_has_gone_without_the_controller_is_forgotten(cluster: EventCluster) -> None:
    """An operator deleted its nodes by hand: no broker is told."""
    cluster.create_topic("t", (1, 2))
    cluster.quietly("process_topic_change")
    for path in ("/partitions/0/state", "/partitions/0", "/partitions", ""):
        cluster.zookeeper.delete(None, f"{topic_path('t')}{path}")
    cluster.process("process_topic_change")
    assert cluster.context.all_partitions() == ()
    assert cluster.sent == []


def test_added_partitions_are_created(cluster: EventCluster) -> None:
    """Those that were there are not touched, even if their replicas are others now."""
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


def test_partitions_are_not_added_to_a_topic_that_goes() -> None:
    """They are taken out of its node again; until 1.1 they stayed there, and came to life later. [B40, KAFKA-6612]"""
    left = []
    for release in ("1.1", "2.0"):
        cluster = deleting(control_design_of(release))
        cluster.zookeeper.set(None, topic_path("t"), cluster.assignment((1, 2), (2, 1), (3,)))
        cluster.process("process_partition_modifications", "t")
        assert TopicPartition("t", 2) not in cluster.context.all_partitions()
        left.append(len(cluster.data(topic_path("t")).partitions))
    assert left == [3, 2]


def test_a_controller_that_moves_before_the_state_is_written(cluster: EventCluster) -> None:
    """Leaves a new partition to its successor."""
    cluster.create_topic("t", (1, 2))
    processed = cluster.process("process_topic_change", before={2: cluster.elect_another_controller})
    assert processed.failure is EventFailure.ControllerMoved
    assert cluster.context.partition_state(T0) is NewPartition
    assert cluster.replica_state(T0, 1) is NewReplica
    assert not cluster.exists("/brokers/topics/t/partitions")


@pytest.mark.parametrize(("brokers", "said"), [((1, 1), "1"), ((1, -2), "-2")])
def test_an_invalid_assignment_is_refused(cluster: EventCluster, brokers: tuple[int, ...], said: str) -> None:
    """By the partition and the value; none of what was read counts, and nothing is sent."""
    cluster.create_topic("t", (2, 3), brokers)
    with pytest.raises(ValueError, match=f"replicas of t-1: .*{said}"):
        cluster.process("process_topic_change")
    assert cluster.context.all_partitions() == ()
    assert cluster.sent == []


# Deletion


def test_a_topic_is_deleted_replica_by_replica() -> None:
    """Brokers forget it, replicas stop, leave the ISRs and go; no broker is told who is left in them."""
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
    """When all replicas were deleted, not when that began. [KAFKA-6753]"""
    cluster = deleting(control_design_of(release))
    assert cluster.context.partition_state(T0) is state
    for broker in (1, 2):
        cluster.deleted(broker, T0, T1)
    assert cluster.context.partition_state(T0) is NonExistentPartition
    assert not cluster.exists(topic_path("t"))


def test_when_all_have_answered_nothing_is_left() -> None:
    """Of the topic, what is configured for it, and what asked for its deletion."""
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
    """And begins as a new one does."""
    cluster = deleting()
    for broker in (1, 2):
        cluster.deleted(broker, T0, T1)
    cluster.quietly("process_topic_change")
    cluster.create_topic("t", (3, 2))
    cluster.process("process_topic_change")
    assert cluster.state(T0)[:3] == (3, 0, (3, 2))


def test_a_replica_that_could_not_delete_makes_the_topic_wait() -> None:
    """The others that have deleted stay so; nothing is asked again by itself."""
    cluster = deleting()
    cluster.forget()
    cluster.deleted(1, T0, T1)
    cluster.deleted(2, T0, error=Errors.KAFKA_STORAGE_ERROR)
    assert cluster.replica_state(T0, 2) is ReplicaDeletionIneligible
    assert cluster.replica_state(T1, 2) is ReplicaDeletionStarted
    assert cluster.context.state.topics_ineligible_for_deletion == {"t"}
    assert cluster.sent == []


@pytest.mark.parametrize("error", [Errors.NONE, Errors.KAFKA_STORAGE_ERROR])
def test_an_answer_about_a_topic_that_stays_means_nothing(error: Errors) -> None:
    """Replicas are deleted by reassignments, too."""
    cluster = with_topic()
    assert cluster.deleted(1, T0, error=error) == EventDone()
    assert cluster.replica_state(T0, 1) is OnlineReplica
    assert (cluster.log, cluster.sent) == ([], [])


def test_when_the_rest_has_answered_the_replica_is_offline_again() -> None:
    """From where it can be tried; but the topic still waits."""
    cluster = deleting()
    cluster.deleted(1, T0, T1)
    cluster.deleted(2, T0, error=Errors.KAFKA_STORAGE_ERROR)
    cluster.forget()
    cluster.deleted(2, T1)
    assert cluster.replica_state(T0, 2) is OfflineReplica
    assert cluster.story() == ["2 StopReplica t-0"]
    assert cluster.exists(topic_path("t"))


def test_a_broker_that_returns_is_asked_again() -> None:
    """Only for what it has not deleted yet; then the topic goes."""
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


def test_a_failed_request_fails_for_each_partition() -> None:
    """Whatever it says of partitions."""
    cluster = deleting()
    errors = ((T0, Errors.NONE), (T1, Errors.NONE))
    cluster.process("process_topic_deletion_stop_replica_response_received", 1, Errors.STALE_CONTROLLER_EPOCH, errors)
    assert cluster.replica_state(T0, 1) is ReplicaDeletionIneligible


def test_a_topic_with_a_dead_replica_is_begun_and_waits() -> None:
    """Live replicas are deleted at once; the dead one is not deletable. Until 2.2 the table had no such row."""
    states = []
    for release in ("2.2", "2.3"):
        cluster = with_topic(control_design_of(release))
        cluster.die(2)
        cluster.quietly("process_broker_change")
        cluster.ask_to_delete("t")
        cluster.process("process_topic_deletion")
        assert cluster.replica_state(T0, 1) is ReplicaDeletionStarted
        assert cluster.context.state.topics_ineligible_for_deletion == {"t"}
        states.append(cluster.replica_state(T0, 2))
    assert states == [OfflineReplica, ReplicaDeletionIneligible]


def test_a_topic_that_there_is_not_is_not_deleted(cluster: EventCluster) -> None:
    """What asks for it goes."""
    cluster.ask_to_delete("u")
    assert cluster.process("process_topic_deletion") == EventDone()
    assert not cluster.exists("/admin/delete_topics/u")
    assert cluster.context.state.topics_to_be_deleted == frozenset()


def test_topics_that_cannot_be_deleted_stay() -> None:
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


def test_a_topic_whose_partition_moves_does_not_wait() -> None:
    """It is marked to wait before it is queued, and marks count for queued topics alone: so it is in Kafka."""
    cluster = with_topic()
    cluster.quietly("process_api_partition_reassignment", ((T0, (3, 2)),))
    cluster.ask_to_delete("t")
    cluster.process("process_topic_deletion")
    assert cluster.context.state.partitions_being_reassigned == {T0}
    assert cluster.context.state.topics_ineligible_for_deletion == frozenset()
    assert cluster.context.state.topics_with_deletion_started == {"t"}


def test_with_another_controller_it_waits_until_that_has_ended() -> None:
    """That one queues topics before it marks them."""
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
def test_a_topic_waits_that_had_to_wait_in_an_earlier_life(forgets: bool) -> None:
    """A broker dies behind its answer and marks the topic, which is deleted all the same; the mark stays in Kafka."""
    cluster = deleting(ControlDesign(forget_ineligible=forgets))
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


def test_two_topics_go_with_one_answer(cluster: EventCluster) -> None:
    """Of the only broker that has replicas of them."""
    for topic in ("t", "u"):
        cluster.create_topic(topic, (1,))
    cluster.quietly("process_topic_change")
    for topic in ("t", "u"):
        cluster.ask_to_delete(topic)
    cluster.process("process_topic_deletion")
    cluster.deleted(1, T0, TopicPartition("u", 0))
    assert cluster.context.state.topics_to_be_deleted == set()
    assert not any(cluster.exists(topic_path(topic)) for topic in ("t", "u"))


def test_a_broker_that_returns_is_asked_for_what_it_has_alone() -> None:
    """Another topic, which another broker could not delete, waits on."""
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
    """Since 2.5 all replicas on a broker stop with one request, and are deleted with one [KAFKA-9499]."""
    cluster = with_topic(control_design_of(release))
    cluster.create_topic("u", (1,))
    cluster.quietly("process_topic_change")
    for topic in ("t", "u"):
        cluster.ask_to_delete(topic)
    cluster.process("process_topic_deletion")
    requests = [request for broker, request in cluster.sent if broker == 1]
    topics = [
        sorted({state.topicName for state in request.partitionStates})
        for request in requests
        if isinstance(request, StopReplicaRequest)
    ]
    assert sorted(topics) == sorted(stopped)


@pytest.mark.parametrize(("release", "queued"), [("2.6", frozenset()), ("2.7", {"t"})])
def test_until_2_6_a_topic_was_not_queued_while_its_nodes_went(release: str, queued: frozenset[str]) -> None:
    """If that fails, the same controller does not try again [KAFKA-10040]."""
    cluster = deleting(control_design_of(release))
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
    """When another one is to be deleted, all that are asked for are queued; a metric then looks for replicas."""
    cluster = deleting(control_design_of(release))
    for partition in (T0, T1):
        cluster.context.update_partition_full_replica_assignment(partition, ReplicaAssignment(()))
    cluster.create_topic("u", (3,))
    cluster.quietly("process_topic_change")
    cluster.ask_to_delete("u")
    assert cluster.process("process_topic_deletion").failure is failure
    assert cluster.context.state.topics_to_be_deleted == ({"t", "u"} if failure else {"u"})


def test_a_controller_that_moves_while_nodes_go() -> None:
    """What is gone is gone; the next one finds what asked for the rest."""
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


def test_metadata_of_a_topic_that_goes_is_of_no_leader() -> None:
    """-2, by which brokers forget it."""
    leaders = {
        state.leader
        for _, request in deleting().sent
        if isinstance(request, UpdateMetadataRequest)
        for state in request.partitionStates
    }
    assert leaders == {-2}
