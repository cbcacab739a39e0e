"""A controller's context: online replicas, assignments, leaders, states, and topic deletion."""

from __future__ import annotations

import pickle
from random import Random

import pytest

from election.brokers import InvalidBrokers
from statemachines.controller.context import ControllerContext, InMemoryContext
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import UNASSIGNED, ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.tables.partition import NewPartition, NonExistentPartition, OfflinePartition, OnlinePartition
from statemachines.tables.replica import NonExistentReplica, OfflineReplica, OnlineReplica

T0, T1 = (TopicPartition("t", number) for number in range(2))
U0 = TopicPartition("u", 0)


@pytest.fixture
def context() -> ControllerContext:
    """Brokers 1 and 2 are registered, 3 is not; 1 leads t-0, 2 leads t-1, u-0 has no leader."""
    context = ControllerContext()
    context.set_all_topics(["t", "u"])
    context.add_live_brokers({1: 11, 2: 12})
    for partition, replicas in ((T0, (1, 2)), (T1, (2, 3)), (U0, (3,))):
        context.update_partition_full_replica_assignment(partition, ReplicaAssignment(replicas))
    for partition, leader in ((T0, 1), (T1, 2), (U0, -1)):
        known = LeaderIsrAndControllerEpoch(LeaderAndIsr(leader, 4, (2,)), 1)
        context.put_partition_leadership_info(partition, known)
    return context


def test_a_context_begins_with_the_epoch_before_the_first() -> None:
    """/controller_epoch is created with it. [InitialControllerEpoch]"""
    context = ControllerContext()
    assert (context.state.epoch, context.state.epoch_zk_version) == (0, 0)


# Online


def test_live_brokers(context: ControllerContext) -> None:
    """Registered and not shutting down; one that is shutting down can still receive requests."""
    context.state.shutting_down_broker_ids |= {2, 3}
    assert context.live_broker_ids() == (1,)
    assert context.live_or_shutting_down_broker_ids() == (1, 2)
    assert [context.is_live_broker(broker) for broker in (1, 2, 3)] == [True, False, False]


def test_a_replica_is_online_on_a_live_broker_with_a_working_directory(context: ControllerContext) -> None:
    """On a live broker whose log directory has not failed for that partition; leader -1 is not online."""
    context.state.shutting_down_broker_ids |= {2}
    context.state.replicas_on_offline_dirs[1] = frozenset({T1})
    online = context.is_replica_online
    assert [online(1, T0), online(1, T1), online(2, T0), online(3, T0), online(-1, T0)] == [True] + [False] * 4
    assert [online(broker, T1, include_shutting_down_brokers=True) for broker in (1, 2, 3)] == [False, True, False]


def test_online_and_offline_replicas_are_all_replicas(context: ControllerContext) -> None:
    """Each replica is one or the other."""
    online, offline = context.online_and_offline_replicas()
    assert online == ((T0, 1), (T0, 2), (T1, 2))
    assert offline == ((T1, 3), (U0, 3))


def test_brokers_come_and_go(context: ControllerContext) -> None:
    """With their epochs."""
    context.add_live_brokers({2: 22, 3: 13})
    assert context.state.live_broker_epochs == {1: 11, 2: 22, 3: 13}
    context.remove_live_brokers([1, 7])
    assert context.state.live_broker_epochs == {2: 22, 3: 13}
    context.set_live_brokers({5: 15})
    assert context.state.live_broker_epochs == {5: 15}


# Assignments


def test_replicas_of_a_broker_follow_assignments() -> None:
    """However they change, the index agrees with a scan of all assignments."""
    random = Random(1)
    context = ControllerContext()
    topics, brokers = "tuv", range(5)
    for _ in range(400):
        if random.random() < 0.1:
            context.remove_topic(random.choice(topics))
        else:
            partition = TopicPartition(random.choice(topics), random.randrange(3))
            replicas = tuple(random.sample(brokers, random.randrange(4)))
            context.update_partition_full_replica_assignment(partition, ReplicaAssignment(replicas))
        assignments = context.state.partition_assignments
        for broker in brokers:
            kept = {partition for partition, assigned in assignments.items() if broker in assigned.replicas}
            assert set(context.partitions_on_broker(broker)) == kept
            assert {each.topic_partition for each in context.replicas_on_brokers([broker])} == kept
        for topic in topics:
            assert set(context.partitions_for_topic(topic)) == {each for each in assignments if each.topic == topic}


def test_given_mappings_are_not_copied(context: ControllerContext) -> None:
    """Another context over the same mappings has the same content."""
    other = ControllerContext(context.state)
    assert other.partitions_on_broker(2) == (T0, T1)
    assert other.replicas_for_topic("t") == ((T0, 1), (T0, 2), (T1, 2), (T1, 3))
    assert other.all_partitions() == (T0, T1, U0)


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        (ReplicaAssignment((1, 2, 1)), "replicas of t-0: broker 1 occurs twice"),
        (ReplicaAssignment((1, -2)), "replicas of t-0: -2 is no broker id"),
        (ReplicaAssignment((1, 2), (2, 2)), "adding_replicas of t-0: broker 2 occurs twice"),
        (ReplicaAssignment((1, 2), (), (-1,)), "removing_replicas of t-0: -1 is no broker id"),
    ],
)
def test_a_malformed_assignment_is_refused(
    context: ControllerContext, assignment: ReplicaAssignment, said: str
) -> None:
    """The error names it; nothing changes."""
    context.partitions_on_broker(1)
    before = pickle.dumps(context.state)
    with pytest.raises(InvalidBrokers, match=said):
        context.update_partition_full_replica_assignment(T0, assignment)
    assert pickle.dumps(context.state) == before
    assert context.partitions_on_broker(1) == (T0,)


def test_invalid_broker_ids_are_refused(context: ControllerContext) -> None:
    """Together with the valid ones of the call."""
    for change in (context.add_live_brokers, context.set_live_brokers):
        with pytest.raises(InvalidBrokers, match="-1 is no broker id"):
            change({5: 1, -1: 1})
        assert context.state.live_broker_epochs == {1: 11, 2: 12}


# Leaders


def test_partitions_with_offline_leader(context: ControllerContext) -> None:
    """Dead, shutting down, or missing; not of topics queued for deletion."""
    assert context.partitions_with_offline_leader() == (U0,)
    context.state.shutting_down_broker_ids |= {1}
    assert context.partitions_with_offline_leader() == (T0, U0)
    context.queue_topic_deletion({"u"})
    assert context.partitions_with_offline_leader() == (T0,)
    assert context.partitions_with_leaders() == (T0, T1)


def test_partitions_led_by_a_broker(context: ControllerContext) -> None:
    """If other replicas exist, which can lead when the broker shuts down."""
    assert context.partition_leaders_on_broker(1) == (T0,)
    context.update_partition_full_replica_assignment(T0, ReplicaAssignment((1,)))
    assert context.partition_leaders_on_broker(1) == ()


def test_the_leader_epoch_of_stop_replica(context: ControllerContext) -> None:
    """The known one, -1 if there is none, -2 for a deletion."""
    del context.state.partition_leadership_info[T1]
    context.queue_topic_deletion({"u"})
    assert [context.leader_epoch(partition) for partition in (T0, T1, U0)] == [4, -1, -2]


# States


def test_states_of_partitions_and_replicas(context: ControllerContext) -> None:
    """By state, of one topic or of all; an unknown one does not exist."""
    context.put_partition_state(T0, OnlinePartition)
    context.put_partition_state(T1, OfflinePartition)
    context.put_partition_state_if_not_exists(T1, NewPartition)
    context.put_partition_state_if_not_exists(U0, NewPartition)
    assert context.partitions_in_states({OfflinePartition, NewPartition}) == (T1, U0)
    assert context.partitions_in_states({OfflinePartition, NewPartition}, "t") == (T1,)
    assert context.partition_state(TopicPartition("x", 0)) is NonExistentPartition
    first, second = PartitionAndReplica(T0, 1), PartitionAndReplica(T0, 2)
    context.put_replica_state(first, OnlineReplica)
    context.put_replica_state_if_not_exists(first, OfflineReplica)
    context.put_replica_state_if_not_exists(second, OfflineReplica)
    assert context.replicas_in_state("t", OnlineReplica) == (first,)
    assert context.is_any_replica_in_state("t", OfflineReplica)
    assert not context.is_any_replica_in_state("u", OfflineReplica)
    assert not context.are_all_replicas_in_state("t", OnlineReplica)
    context.remove_replica_state(second)
    assert context.replica_state(second) is NonExistentReplica
    context.update_partition_full_replica_assignment(T0, ReplicaAssignment((1,)))
    context.put_replica_state(PartitionAndReplica(U0, 3), OnlineReplica)
    assert context.are_all_replicas_in_state("u", OnlineReplica)


def test_offline_partitions_are_counted_until_their_deletion_starts(context: ControllerContext) -> None:
    """A topic that is only queued for deletion does not matter."""
    for partition in (T0, U0):
        context.put_partition_state(partition, OfflinePartition)
    context.queue_topic_deletion({"t"})
    assert context.offline_partition_count() == 2
    context.begin_topic_deletion({"t"})
    assert context.offline_partition_count() == 1


# Topics


def test_a_topic_is_deleted(context: ControllerContext) -> None:
    """Queued, eligible or not, started, gone; its partitions' states stay, as in Kafka."""
    context.put_partition_state(T0, NonExistentPartition)
    assert not context.is_topic_eligible_for_deletion("t")
    context.queue_topic_deletion({"t"})
    assert context.is_topic_queued_up_for_deletion("t")
    assert context.is_topic_eligible_for_deletion("t")
    context.state.topics_ineligible_for_deletion |= {"t"}
    assert not context.is_topic_eligible_for_deletion("t")
    assert not context.is_topic_deletion_in_progress("t")
    context.begin_topic_deletion({"t"})
    assert context.is_topic_deletion_in_progress("t")
    context.remove_topic("t")
    assert not context.is_topic_queued_up_for_deletion("t")
    assert not context.is_topic_deletion_in_progress("t")
    assert context.all_partitions() == (U0,)
    assert context.partition_full_replica_assignment(T0) == UNASSIGNED
    assert context.leadership_of(T0) is None
    assert context.state.all_topics == {"u"}
    assert context.partition_state(T0) is NonExistentPartition


def test_a_resigned_controller_has_an_empty_context(context: ControllerContext) -> None:
    """Including the index that was made before."""
    assert context.partitions_on_broker(1)
    context.state.epoch, context.state.epoch_zk_version = 3, 3
    context.state.shutting_down_broker_ids |= {1}
    context.queue_topic_deletion({"t"})
    context.reset_context()
    assert context.state == InMemoryContext()
    assert context.partitions_on_broker(1) == ()
