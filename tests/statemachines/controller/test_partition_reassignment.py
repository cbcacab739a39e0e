"""How partitions move: the order of writes and requests, refusals, and a second reassignment."""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller.calls import Call, EventFailure
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.state_change import EventDone
from statemachines.messages.errors import Errors
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS, topic_path
from statemachines.tables.partition import OnlinePartition
from statemachines.tables.replica import NewReplica, OnlineReplica
from tests.statemachines.control import T0, T1
from tests.statemachines.processing import EventCluster


@pytest.fixture
def cluster() -> EventCluster:
    """With the design of 3.9."""
    return cluster_with(ControlDesign())


def cluster_with(design: ControlDesign) -> EventCluster:
    """Brokers 1 to 6; partition 0 is on 1, 2 and 3, led by 1; partition 1 is on 1 alone."""
    cluster = EventCluster((1, 2, 3, 4, 5, 6), design)
    cluster.create_topic("t", (1, 2, 3), (1,))
    cluster.take_over()
    cluster.forget()
    return cluster


def reassign(
    cluster: EventCluster, *targets: tuple[TopicPartition, tuple[int, ...] | None], **interference: Any
) -> Any:
    """An administrator asks; returns the reply."""
    return cluster.process("process_api_partition_reassignment", targets, **interference)


def caught_up(cluster: EventCluster, partition: TopicPartition, *isr: int) -> EventDone:
    """The leader has added replicas to its ISR, and notifies the controller."""
    cluster.leader_writes(partition, isr)
    cluster.forget()
    return cluster.process("process_partition_reassignment_isr_change", partition)


def assigned(cluster: EventCluster, partition: TopicPartition = T0) -> ReplicaAssignment:
    """The assignment in the topic's node, which the controller must know too."""
    written = cluster.data(topic_path("t")).decode("t")[partition]
    assert isinstance(written, ReplicaAssignment)
    assert written == cluster.context.partition_full_replica_assignment(partition)
    return written


# Step by step


def test_a_reassignment_begins_by_adding_replicas(cluster: EventCluster) -> None:
    """The node first; then old replicas get the next epoch, and the new ones are informed as new, twice."""
    assert reassign(cluster, (T0, (4, 5, 6))) == EventDone(((T0, Errors.NONE),))
    assert assigned(cluster) == ReplicaAssignment((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3))
    assert assigned(cluster, T1) == ReplicaAssignment((1,))
    assert cluster.state(T0)[:3] == (1, 1, (1, 2, 3))
    assert cluster.story() == [
        "1+2+3 LeaderAndIsr t-0 led by 1 in 1, ISR 1+2+3",
        "4+5+6 LeaderAndIsr t-0 led by 1 in 1, ISR 1+2+3, new",
        "1+2+3+4+5+6 UpdateMetadata of 1+2+3+4+5+6; t-0 led by 1 in 1",
        *(
            line
            for broker in (4, 5, 6)
            for line in (
                f"{broker} LeaderAndIsr t-0 led by 1 in 1, ISR 1+2+3, new",
                "1+2+3+4+5+6 UpdateMetadata of 1+2+3+4+5+6; t-0 led by 1 in 1",
            )
        ),
    ]
    assert cluster.replica_state(T0, 4) is NewReplica
    assert cluster.context.state.partitions_being_reassigned == {T0}


def test_a_reassignment_waits_until_all_targets_are_in_sync(cluster: EventCluster) -> None:
    """Two of three are not enough; nothing happens."""
    reassign(cluster, (T0, (4, 5, 6)))
    caught_up(cluster, T0, 1, 2, 3, 4, 5)
    assert cluster.sent == []
    assert assigned(cluster).is_being_reassigned


def test_a_reassignment_ends_with_a_new_leader_and_without_old_replicas(cluster: EventCluster) -> None:
    """A new leader; the old ones leave the ISR one by one, stop and delete; then the node is written."""
    reassign(cluster, (T0, (4, 5, 6)))
    caught_up(cluster, T0, 1, 2, 3, 4, 5, 6)
    assert assigned(cluster) == ReplicaAssignment((4, 5, 6))
    assert cluster.state(T0)[:3] == (4, 5, (4, 5, 6))
    everybody = "1+2+3+4+5+6 UpdateMetadata of 1+2+3+4+5+6; t-0 led by 4 in"
    assert cluster.story() == [
        "4+5+6 LeaderAndIsr t-0 led by 4 in 2, ISR 1+2+3+4+5+6",
        f"{everybody} 2",
        "4+5+6 LeaderAndIsr t-0 led by 4 in 5, ISR 4+5+6",
        f"{everybody} 5",
        "1+2+3 StopReplica t-0",
        "1+2+3 StopReplica t-0, delete",
        f"{everybody} 5",
    ]
    assert cluster.replica_states("t") == {
        **{(0, broker): "OnlineReplica" for broker in (4, 5, 6)},
        (1, 1): "OnlineReplica",
    }
    assert cluster.context.state.partitions_being_reassigned == frozenset()


def test_a_remaining_leader_receives_the_new_replicas(cluster: EventCluster) -> None:
    """In the next epoch, so that it no longer takes the removed one into its ISR."""
    reassign(cluster, (T0, (1, 2)))
    assert cluster.state(T0)[:3] == (1, 2, (1, 2))
    assert [line for line in cluster.story() if "LeaderAndIsr" in line] == [
        "1+2 LeaderAndIsr t-0 led by 1 in 1, ISR 1+2+3",
        "1+2 LeaderAndIsr t-0 led by 1 in 2, ISR 1+2",
    ]
    assert "3 StopReplica t-0, delete" in cluster.story()
    assert assigned(cluster) == ReplicaAssignment((1, 2))


def test_reordering_the_replicas_ends_at_once(cluster: EventCluster) -> None:
    """No replica is added or removed; only the preferred one changes."""
    reassign(cluster, (T0, (3, 2, 1)))
    assert assigned(cluster) == ReplicaAssignment((3, 2, 1))
    assert cluster.state(T0)[:3] == (1, 1, (1, 2, 3))


def test_a_dead_leader_among_the_targets_is_replaced(cluster: EventCluster) -> None:
    """By one of the other targets."""
    reassign(cluster, (T0, (1, 4)))
    cluster.leader_writes(T0, (1, 4))
    cluster.die(1)
    cluster.context.remove_live_brokers([1])
    cluster.process("process_partition_reassignment_isr_change", T0)
    assert cluster.state(T0)[0] == 4
    assert assigned(cluster) == ReplicaAssignment((1, 4))


def test_a_starting_broker_receives_the_reassignment_again(cluster: EventCluster) -> None:
    """If a partition moves to it: the leader epoch is incremented once more."""
    reassign(cluster, (T0, (1, 4)))
    cluster.die(4)
    cluster.quietly("process_broker_change")
    epoch = cluster.state(T0).leader_epoch
    cluster.register(4)
    cluster.process("process_broker_change")
    assert cluster.state(T0).leader_epoch == epoch + 1
    assert any(line.startswith("4 LeaderAndIsr t-0") for line in cluster.story())


# A second reassignment


def test_a_second_reassignment_replaces_the_first(cluster: EventCluster) -> None:
    """Replicas that only the first had added are stopped and deleted at once."""
    reassign(cluster, (T0, (1, 2, 4)))
    cluster.forget()
    reassign(cluster, (T0, (1, 2, 5)))
    assert assigned(cluster) == ReplicaAssignment((1, 2, 5, 3), (5,), (3,))
    assert cluster.story()[2:6] == [
        "4 StopReplica t-0",
        "4 StopReplica t-0, delete",
        "1+2+3 LeaderAndIsr t-0 led by 1 in 2, ISR 1+2+3",
        "5 LeaderAndIsr t-0 led by 1 in 2, ISR 1+2+3, new",
    ]
    assert (0, 4) not in cluster.replica_states("t")
    assert cluster.replica_state(T0, 5) is NewReplica


def test_a_reassignment_can_be_cancelled(cluster: EventCluster) -> None:
    """Back to the original replicas; only their order may have changed."""
    reassign(cluster, (T0, (4, 2)))
    assert reassign(cluster, (T0, None)).answer == ((T0, Errors.NONE),)
    assert assigned(cluster) == ReplicaAssignment((2, 1, 3))
    assert cluster.replica_state(T0, 2) is OnlineReplica
    assert (0, 4) not in cluster.replica_states("t")
    assert cluster.context.state.partitions_being_reassigned == frozenset()


# Refusals


@pytest.mark.parametrize("target", [(), (1, 1), (1, -1), (1, 7)])
def test_an_impossible_assignment_is_refused(cluster: EventCluster, target: tuple[int, ...]) -> None:
    """No replica, a duplicate, an invalid broker id, a new replica that is not live; nothing changes."""
    assert reassign(cluster, (T0, target)).answer == ((T0, Errors.INVALID_REPLICA_ASSIGNMENT),)
    assert assigned(cluster) == ReplicaAssignment((1, 2, 3))
    assert cluster.sent == []


def test_a_dead_replica_may_stay_assigned(cluster: EventCluster) -> None:
    """Only new ones must be live."""
    cluster.die(3)
    cluster.quietly("process_broker_change")
    assert reassign(cluster, (T0, (3, 4))).answer == ((T0, Errors.NONE),)


def test_cancelling_or_moving_without_need_is_answered(cluster: EventCluster) -> None:
    """Each partition has a reply of its own."""
    cluster.create_topic("u", (1,))
    cluster.quietly("process_topic_change")
    cluster.context.queue_topic_deletion(["u"])
    u, nowhere = TopicPartition("u", 0), TopicPartition("v", 0)
    answer = reassign(cluster, (T1, None), (u, (2,)), (nowhere, (2,)), (T0, (2, 1, 3))).answer
    assert dict(answer) == {
        T1: Errors.NO_REASSIGNMENT_IN_PROGRESS,
        u: Errors.UNKNOWN_TOPIC_OR_PARTITION,
        nowhere: Errors.UNKNOWN_TOPIC_OR_PARTITION,
        T0: Errors.NONE,
    }


# Failures


def test_a_failed_reassignment_does_not_stop_the_others(cluster: EventCluster) -> None:
    """A newer controller has written the state of one, but the fence holds: an unknown error."""
    path = "/brokers/topics/t/partitions/0/state"
    data = cluster.data(path)
    cluster.zookeeper.set(None, path, data._replace(controller_epoch=99))
    answer = reassign(cluster, (T0, (1, 4)), (T1, (4,))).answer
    assert dict(answer) == {T0: Errors.UNKNOWN_SERVER_ERROR, T1: Errors.NONE}
    assert assigned(cluster, T1).is_being_reassigned


def test_a_topic_that_is_gone_in_zookeeper_is_an_error(cluster: EventCluster) -> None:
    """Its node was deleted by hand, and is not created again."""
    for path in ("/partitions/1/state", "/partitions/1", "/partitions/0/state", "/partitions/0", "/partitions", ""):
        cluster.zookeeper.delete(None, f"{topic_path('t')}{path}")
    assert reassign(cluster, (T0, (1, 4))).answer == ((T0, Errors.UNKNOWN_SERVER_ERROR),)
    assert cluster.context.partition_full_replica_assignment(T0) == ReplicaAssignment((1, 2, 3))


def test_a_controller_that_moves_is_not_an_error_of_a_partition(cluster: EventCluster) -> None:
    """Everything stops, and no administrator gets a reply."""
    processed = reassign(cluster, (T0, (1, 4)), (T1, (4,)), before={1: cluster.elect_another_controller})
    assert processed == EventDone(failure=EventFailure.ControllerMoved)
    assert cluster.data(topic_path("t")) == cluster.assignment((1, 2, 3), (1,))


def test_a_leaders_write_in_between_repeats_the_epoch_increment(cluster: EventCluster) -> None:
    """On top of the leader's write. [updateLeaderEpoch]"""
    reassign(cluster, (T0, (1, 2, 3, 4)), before={4: lambda: cluster.leader_writes(T0, (1, 2))})
    assert cluster.state(T0)[:3] == (1, 1, (1, 2))
    assert cluster.known(T0)[:3] == (1, 1, (1, 2))


@pytest.mark.parametrize("batch", range(16))
def test_the_next_controller_completes_it(cluster: EventCluster, batch: int) -> None:
    """Wherever a controller fails, the next one reaches the same end: the original replicas are in the node."""
    reassign(cluster, (T0, (4, 5)))
    cluster.leader_writes(T0, (1, 2, 3, 4, 5))
    for number, step in enumerate(cluster.steps("process_partition_reassignment_isr_change", T0)):
        if number == batch:
            break
        step()
    cluster.controller = cluster.made()
    cluster.take_over()
    assert assigned(cluster) == ReplicaAssignment((4, 5))
    assert cluster.state(T0).leader == 4
    assert set(cluster.state(T0).isr) == {4, 5}
    assert cluster.context.state.partitions_being_reassigned == frozenset()


@pytest.mark.parametrize("target", [None, (5,)])
def test_a_second_reassignment_may_lose_the_partition(cluster: EventCluster, target: tuple[int, ...] | None) -> None:
    """A cancellation, or another target: the old replica has died, and the only one in sync is deleted.

    The controller does not ask whether a remaining replica is in sync. Kafka with ZooKeeper does the same, from 2.4
    to 3.9; the KRaft controller refuses it, since it would need an unclean election.
    """
    reassign(cluster, (T1, (4, 6)))
    cluster.leader_writes(T1, (1, 4))
    cluster.die(1)
    cluster.quietly("process_broker_change")
    assert cluster.state(T1)[:3] == (4, 2, (4,))
    assert reassign(cluster, (T1, target)).answer == ((T1, Errors.NONE),)
    assert "4+6 StopReplica t-1, delete" in cluster.story()
    assert (cluster.state(T1).leader, cluster.state(T1).isr) == (-1, (4,))
    assert 4 not in assigned(cluster, T1).replicas
    cluster.register(1)
    cluster.process("process_broker_change")
    assert cluster.state(T1).leader == -1


@pytest.mark.parametrize("target", [None, (5,)])
def test_with_the_proposal_dropping_the_whole_isr_is_refused(target: tuple[int, ...] | None) -> None:
    """The proposal for that case: nothing is written, and nothing deleted."""
    cluster = cluster_with(ControlDesign().but(keep_in_sync=True))
    reassign(cluster, (T1, (4, 6)))
    cluster.leader_writes(T1, (1, 4))
    cluster.die(1)
    cluster.quietly("process_broker_change")
    before = assigned(cluster, T1)
    assert reassign(cluster, (T1, target)).answer == ((T1, Errors.INVALID_REPLICA_ASSIGNMENT),)
    assert (assigned(cluster, T1), cluster.state(T1).leader) == (before, 4)
    assert reassign(cluster, (T1, (4,))).answer == ((T1, Errors.NONE),)


@pytest.mark.parametrize(("keep_leader", "answer"), [(False, Errors.NONE), (True, Errors.INVALID_REPLICA_ASSIGNMENT)])
def test_a_second_reassignment_removes_the_leader(keep_leader: bool, answer: Errors) -> None:
    """No other is elected, though another target is in sync [KAFKA-14808]; a proposal refuses this."""
    cluster = cluster_with(ControlDesign().but(keep_leader=keep_leader))
    reassign(cluster, (T1, (4, 6)))
    cluster.leader_writes(T1, (1, 4))
    cluster.die(1)
    cluster.quietly("process_broker_change")
    cluster.register(1)
    cluster.quietly("process_broker_change")
    cluster.leader_writes(T1, (4, 1))
    assert reassign(cluster, (T1, (6,))).answer == ((T1, answer),)
    assert cluster.state(T1).leader == (4 if keep_leader else -1)
    assert 1 in cluster.state(T1).isr
    assert cluster.context.partition_state(T1) is OnlinePartition
    assert reassign(cluster, (T1, None)).answer == ((T1, Errors.NONE),), "a cancellation elects at once"
    assert cluster.state(T1).leader == 1


@pytest.mark.parametrize(("release", "known"), [("2.3", 0), ("2.4", 1)])
def test_an_epoch_that_was_incremented_is_known_since_2_4(release: str, known: int) -> None:
    """In earlier releases, brokers and clients still received the previous one [KAFKA-9212]."""
    remembers = ControlDesign(release).remember_epoch
    cluster = cluster_with(ControlDesign().but(remember_epoch=remembers))
    reassign(cluster, (T1, (4,)))
    assert cluster.state(T1).leader_epoch == 1
    assert cluster.context.leader_epoch(T1) == known


@pytest.mark.parametrize(("release", "new"), [("2.6", False), ("2.7", True)])
def test_since_2_7_added_replicas_are_notified_at_once(release: str, new: bool) -> None:
    """Earlier, only as NewReplica: after a log directory failure the replica was offline by then [KAFKA-10314]."""
    cluster = cluster_with(ControlDesign(release))
    reassign(cluster, (T0, (4, 1)))
    lines = [line for line in cluster.story() if "LeaderAndIsr" in line and "4" in line.split()[0]]
    assert [line.endswith(", new") for line in lines] == [new, True]


def test_a_third_reassignment_elects_a_deleted_replica(cluster: EventCluster) -> None:
    """Moved back to a deleted replica: still in the ISR, it leads without a log; the old one is deleted too."""
    reassign(cluster, (T1, (4, 6)))
    cluster.leader_writes(T1, (1, 4))
    cluster.die(1)
    cluster.quietly("process_broker_change")
    reassign(cluster, (T1, None))
    cluster.register(1)
    cluster.quietly("process_broker_change")
    reassign(cluster, (T1, (4,)))
    assert (cluster.state(T1).leader, cluster.state(T1).isr) == (4, (4,))
    assert assigned(cluster, T1) == ReplicaAssignment((4,))
    assert "1 StopReplica t-1, delete" in cluster.story()


def test_a_leader_that_shrinks_its_isr_as_it_ends_loses_the_partition(cluster: EventCluster) -> None:
    """Until 2.6, where leaders write ISRs themselves: between the read of the ISR and the election.

    No target is in sync any more, so the election fails, and the controller ignores that. The leader leaves as the
    last member of the ISR, loses its assignment, and deletes its log: no replica can ever lead.
    """
    reassign(cluster, (T1, (4,)))
    cluster.leader_writes(T1, (1, 4))
    shrinks = {2: lambda: cluster.leader_writes(T1, (1,))}
    cluster.process("process_partition_reassignment_isr_change", T1, before=shrinks)
    assert (cluster.state(T1).leader, cluster.state(T1).isr) == (-1, (1,))
    assert assigned(cluster, T1) == ReplicaAssignment((4,))
    assert "1 StopReplica t-1, delete" in cluster.story()


# The request node


def test_a_reassignment_in_the_node_is_started(cluster: EventCluster) -> None:
    """It stays until the reassignment has ended; then it is deleted, and the event is queued again."""
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T0, (4, 1)),))
    cluster.process("process_zk_partition_reassignment")
    assert assigned(cluster) == ReplicaAssignment((4, 1, 2, 3), (4,), (2, 3))
    assert cluster.data(REASSIGN_PARTITIONS) == ((T0, (4, 1)),)
    caught_up(cluster, T0, 1, 2, 3, 4)
    assert assigned(cluster) == ReplicaAssignment((4, 1))
    assert not cluster.exists(REASSIGN_PARTITIONS)
    assert cluster.queue[-1] == Call("process_zk_partition_reassignment")


def test_the_next_controller_starts_it_once() -> None:
    """The failover does not also resume the node's reassignment, though it is under way by then."""
    cluster = EventCluster((1, 2, 3))
    cluster.create_topic("t", (1, 2))
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T0, (3, 2)),))
    cluster.take_over()
    assert assigned(cluster).target_replicas == (3, 2)
    assert cluster.state(T0).leader_epoch == 1


def test_changes_of_a_state_are_watched_during_a_reassignment() -> None:
    """From the beginning to the end, as long as leaders write their ISRs themselves."""
    cluster = cluster_with(ControlDesign("2.6"))
    watched: set[TopicPartition] = set()
    vars(cluster.controller.handlers).update(watch_isr=watched.add, unwatch_isr=watched.discard)
    reassign(cluster, (T0, (4, 2)))
    assert watched == {T0}
    caught_up(cluster, T0, 1, 2, 3, 4)
    assert watched == set()


def test_an_impossible_reassignment_leaves_the_node(cluster: EventCluster) -> None:
    """The rest stays. The node is checked less than an administrator's request: a new replica may be dead."""
    nowhere = TopicPartition("v", 0)
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T0, (4, 1)), (nowhere, (1,)), (T1, (7,))))
    cluster.process("process_zk_partition_reassignment")
    assert cluster.data(REASSIGN_PARTITIONS) == ((T0, (4, 1)), (T1, (7,)))
    assert assigned(cluster, T1) == ReplicaAssignment((7, 1), (7,), (1,))


def test_an_administrator_replaces_the_reassignment_of_the_node(cluster: EventCluster) -> None:
    """The partition leaves the node, and its target there no longer counts."""
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T0, (4, 1)), (T1, (4,))))
    cluster.process("process_zk_partition_reassignment")
    reassign(cluster, (T0, (5, 1)))
    assert cluster.data(REASSIGN_PARTITIONS) == ((T1, (4,)),)
    assert assigned(cluster).target_replicas == (5, 1)


def test_a_changed_target_stays_in_the_node(cluster: EventCluster) -> None:
    """A node is read at its creation, not when it changes; the finished target is not the one in the node."""
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T0, (4, 1)),))
    cluster.process("process_zk_partition_reassignment")
    cluster.zookeeper.set(None, REASSIGN_PARTITIONS, ((T0, (5, 1)),))
    caught_up(cluster, T0, 1, 2, 3, 4)
    assert cluster.data(REASSIGN_PARTITIONS) == ((T0, (5, 1)),)


def test_without_the_node_nothing_is_done(cluster: EventCluster) -> None:
    """The watch is set."""
    assert cluster.process("process_zk_partition_reassignment") == EventDone()
    assert cluster.sent == []


def test_a_node_deleted_during_a_rewrite_is_created_again(cluster: EventCluster) -> None:
    """[setOrCreatePartitionReassignment]"""
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T0, (4, 1)), (T1, (4,))))
    cluster.process("process_zk_partition_reassignment")
    reassign(cluster, (T0, (5, 1)), before={2: lambda: cluster.zookeeper.delete(None, REASSIGN_PARTITIONS)})
    assert cluster.data(REASSIGN_PARTITIONS) == ((T1, (4,)),)


# ISR change notifications


def test_a_notification_completes_a_caught_up_reassignment(cluster: EventCluster) -> None:
    """All brokers receive the ISR; then the notification is deleted."""
    reassign(cluster, (T0, (4, 1)))
    cluster.leader_writes(T0, (1, 2, 3, 4))
    cluster.forget()
    path = cluster.zookeeper.create(None, "/isr_change_notification/isr_change_", (T0, T1), sequential=True).path
    cluster.process("process_isr_change_notification")
    assert cluster.story()[0].startswith("1+2+3+4+5+6 UpdateMetadata")
    assert assigned(cluster) == ReplicaAssignment((4, 1))
    assert not cluster.exists(path)


def test_until_2_6_a_notification_completed_no_reassignment() -> None:
    """The controller watched the states of moving partitions, which gave an event [KAFKA-10521]."""
    cluster = cluster_with(ControlDesign("2.6"))
    reassign(cluster, (T0, (4, 1)))
    cluster.leader_writes(T0, (1, 2, 3, 4))
    cluster.zookeeper.create(None, "/isr_change_notification/isr_change_", (T0,), sequential=True)
    cluster.process("process_isr_change_notification")
    assert assigned(cluster).is_being_reassigned
    cluster.process("process_partition_reassignment_isr_change", T0)
    assert assigned(cluster) == ReplicaAssignment((4, 1))


def test_an_empty_notification_is_deleted(cluster: EventCluster) -> None:
    """And brokers receive nothing."""
    path = cluster.zookeeper.create(None, "/isr_change_notification/isr_change_", (), sequential=True).path
    cluster.process("process_isr_change_notification")
    assert cluster.sent == []
    assert not cluster.exists(path)
