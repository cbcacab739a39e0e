"""How replicas change their states: what brokers are told, how they leave ISRs, and what stays where that fails."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import pytest

from statemachines.controller.control_design import ControlDesign, control_design_of
from statemachines.controller.kafka_zk_client import ZkBatch, ZkResponse, retry_requests_until_connected
from statemachines.controller.replica_state_machine import ReplicaStateChange
from statemachines.controller.state_change import ChangeDone, FailedStateChange, StateChangeFailure
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import TopicPartitionState
from statemachines.tables.replica import (
    REPLICA,
    NewReplica,
    NonExistentReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
    ReplicaState,
)
from statemachines.zookeeper.tree import Code
from tests.rows import rows
from tests.statemachines.control import EPOCH, T0, T1, Cluster

STATE = "/brokers/topics/t/partitions/0/state"
OLD = ControlDesign(keep_last_isr=False)


@pytest.fixture
def cluster() -> Cluster:
    """Brokers 1, 2 and 3; partition 0 is on all of them, and 1 leads."""
    cluster = Cluster()
    cluster.lead(T0, 1, (1, 2, 3))
    return cluster


def on(partition: TopicPartition, broker: int) -> PartitionAndReplica:
    """A replica."""
    return PartitionAndReplica(partition, broker)


# The table


@rows("release, state, target", product(["2.2", "3.9"], ReplicaState, ReplicaState))
def test_every_transition_is_that_of_the_table(release: str, state: ReplicaState, target: ReplicaState) -> None:
    """What the release has happens; what it has not is logged, changes and sends nothing."""
    cluster = Cluster(design=control_design_of(release))
    cluster.lead(T0, 1, (1, 2, 3))
    cluster.context.put_replica_state(on(T0, 2), state)
    allowed = REPLICA.at(release).allows(state, target)
    cluster.replicas_become(target, (T0, 2))
    assert cluster.replica_state(T0, 2) is (target if allowed else state)
    if allowed:
        assert cluster.log == []
    else:
        failed = FailedStateChange(on(T0, 2), state, target, StateChangeFailure.InvalidTransition)
        assert cluster.log == [failed]
        assert cluster.sent == []


def test_an_invalid_one_does_not_stop_the_others(cluster: Cluster) -> None:
    """Of the same broker or another."""
    cluster.context.put_replica_state(on(T0, 1), ReplicaDeletionStarted)
    cluster.replicas_become(OfflineReplica, (T0, 1), (T0, 2))
    assert cluster.replica_state(T0, 2) is OfflineReplica
    assert cluster.causes() == [StateChangeFailure.InvalidTransition]


# New and online


def test_a_new_replica_receives_the_leader(cluster: Cluster) -> None:
    """As new; it alone, with what is known."""
    cluster.assign(T0, 1, 2, 3, 4, adding=(4,))
    cluster.context.add_live_brokers({4: 104})
    cluster.replicas_become(NewReplica, (T0, 4))
    sent = cluster.leader_and_isr()
    assert sent.keys() == {(4, T0)}
    state = sent[4, T0]
    assert (state.isNew, state.leader, state.leaderEpoch, state.addingReplicas) == (True, 1, 0, (4,))
    assert cluster.replica_state(T0, 4) is NewReplica


def test_a_replica_that_leads_cannot_be_new(cluster: Cluster) -> None:
    """It keeps its state and is told nothing."""
    del cluster.context.state.replica_states[on(T0, 1)]
    cluster.replicas_become(NewReplica, (T0, 1))
    assert cluster.replica_state(T0, 1) is NonExistentReplica
    assert cluster.causes() == [StateChangeFailure.ReplicaLeads]
    assert cluster.sent == []


@pytest.mark.parametrize("target", [NewReplica, OnlineReplica])
def test_a_replica_without_a_leader_causes_no_request(target: ReplicaState) -> None:
    """The state is all."""
    cluster = Cluster()
    cluster.assign(T0, 1)
    for each in (NewReplica, target) if target is OnlineReplica else (target,):
        cluster.replicas_become(each, (T0, 1))
    assert cluster.replica_state(T0, 1) is target
    assert cluster.sent == []


def test_a_new_replica_in_sync_receives_nothing(cluster: Cluster) -> None:
    """It is online, and in the assignment if it was not."""
    cluster.assign(T0, 1, 2)
    cluster.context.put_replica_state(on(T0, 3), NewReplica)
    cluster.replicas_become(OnlineReplica, (T0, 3))
    assert cluster.context.partition_full_replica_assignment(T0) == ReplicaAssignment((1, 2, 3))
    assert cluster.replica_state(T0, 3) is OnlineReplica
    assert cluster.sent == []


@pytest.mark.parametrize("state", [OnlineReplica, OfflineReplica, ReplicaDeletionIneligible])
def test_a_returning_replica_receives_the_known_state(cluster: Cluster, state: ReplicaState) -> None:
    """Nothing is written, and no leader epoch grows."""
    cluster.context.put_replica_state(on(T0, 3), state)
    cluster.replicas_become(OnlineReplica, (T0, 3))
    sent = cluster.leader_and_isr()
    assert sent.keys() == {(3, T0)}
    assert (sent[3, T0].isNew, sent[3, T0].leaderEpoch, sent[3, T0].controllerEpoch) == (False, 0, EPOCH - 1)
    assert cluster.version(T0) == 1


# Offline


def test_a_follower_leaves_the_isr(cluster: Cluster) -> None:
    """The leader stays, in the next epoch; it is told to stop, and the others who is left."""
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.written(T0) == TopicPartitionState(LeaderAndIsr(1, 1, (1, 3)), EPOCH)
    assert cluster.known(T0)[:3] == (1, 1, (1, 3))
    assert cluster.known(T0).partition_epoch == cluster.version(T0) == 2
    sent = cluster.leader_and_isr()
    assert sent.keys() == {(1, T0), (3, T0)}
    assert {(state.leaderEpoch, state.isr, state.isNew) for state in sent.values()} == {(1, (1, 3), False)}
    assert [(key, state.deletePartition) for key, state in cluster.stopped().items()] == [((2, T0), False)]
    assert cluster.replica_state(T0, 2) is OfflineReplica


def test_stop_replica_has_the_epoch_from_before(cluster: Cluster) -> None:
    """It is added before the ISR is written."""
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.stopped()[2, T0].leaderEpoch == 0


def test_an_offline_leader_leaves_no_leader(cluster: Cluster) -> None:
    """Until there is an election."""
    cluster.replicas_become(OfflineReplica, (T0, 1))
    assert cluster.state(T0)[:3] == (NO_LEADER, 1, (2, 3))


def test_the_last_member_stays_in_the_isr() -> None:
    """Without a leader, if that was it; so it can lead again."""
    cluster = Cluster()
    cluster.lead(T0, 1, (1,), replicas=(1, 2))
    cluster.replicas_become(OfflineReplica, (T0, 1))
    assert cluster.state(T0)[:3] == (NO_LEADER, 1, (1,))
    assert cluster.replica_state(T0, 1) is OfflineReplica


def test_the_last_dying_replica_stays_in_the_isr(cluster: Cluster) -> None:
    """It is that of the highest id, in whatever order they are named."""
    cluster.replicas_become(OfflineReplica, (T0, 1), (T0, 3), (T0, 2))
    assert cluster.state(T0)[:3] == (NO_LEADER, 3, (3,))


LAST: list[tuple[bool | None, bool, tuple[int, ...]]] = [
    (None, False, (1,)),
    (False, True, (1,)),
    (True, False, ()),
    (None, True, ()),
]


@pytest.mark.parametrize(("topic", "broker", "isr"), LAST)
def test_until_1_0_the_last_member_left_where_unclean_elections_were_permitted(
    topic: bool | None, broker: bool, isr: tuple[int, ...]
) -> None:
    """The ISR is empty then, and if it is permitted no longer no replica can lead. [B14]"""
    cluster = Cluster(design=OLD, unclean=broker)
    cluster.lead(T0, 1, (1,), replicas=(1, 2))
    cluster.lead(T1, 1, (1, 2))
    if topic is not None:
        cluster.configure("t", topic)
    cluster.replicas_become(OfflineReplica, (T0, 1), (T1, 1))
    assert cluster.state(T0)[:3] == (NO_LEADER, 1, isr)
    assert cluster.state(T1)[:3] == (NO_LEADER, 1, (2,))


def test_until_1_0_an_unreadable_state_keeps_its_isr() -> None:
    """The replica keeps its state."""
    cluster = Cluster(design=OLD)
    cluster.lead(T0, 1, (1,), replicas=(1, 2))
    change = cluster.replicas.handle_state_changes([on(T0, 1)], OfflineReplica)
    assert isinstance(change, ReplicaStateChange)
    responses = retry_requests_until_connected(cluster.zookeeper, None, cluster.replicas.requests(change))
    change = cluster.replicas.answered(change, responses)
    assert isinstance(change, ReplicaStateChange)
    assert change.due is ZkBatch.GetTopicConfigs
    assert cluster.replicas.answered(change, [ZkResponse(Code.SESSIONEXPIRED)]) == ChangeDone()
    assert cluster.replica_state(T0, 1) is OnlineReplica
    assert cluster.causes() == [Code.SESSIONEXPIRED]


def test_an_out_of_sync_replica_goes_offline_without_a_write(cluster: Cluster) -> None:
    """What was read is known from now on, under the controller's own epoch, and told under the old leader epoch."""
    cluster.leader_writes(T0, (1, 3))
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.version(T0) == 2
    known = cluster.context.leadership_of(T0)
    assert known is not None
    assert (known.leader_and_isr.isr, known.leader_and_isr.partition_epoch, known.controller_epoch) == (
        (1, 3),
        2,
        EPOCH,
    )
    assert {state.leaderEpoch for state in cluster.leader_and_isr().values()} == {0}
    assert cluster.replica_state(T0, 2) is OfflineReplica


def test_a_partition_that_never_had_a_leader() -> None:
    """Its replica is offline, and nothing is asked; the metadata are sent without it."""
    cluster = Cluster()
    cluster.shut_down(3)
    cluster.assign(T0, 1, 2)
    cluster.replicas_become(NewReplica, (T0, 1))
    assert cluster.replicas.handle_state_changes([on(T0, 1)], OfflineReplica) == ChangeDone()
    assert cluster.replica_state(T0, 1) is OfflineReplica
    assert cluster.metadata().keys() == {1, 2, 3}
    assert cluster.metadata()[3].partitionStates == ()
    assert cluster.stopped().keys() == {(1, T0)}


def test_until_1_1_it_did_not_go_offline() -> None:
    """It was told to stop, and that was all."""
    cluster = Cluster(design=control_design_of("1.1"))
    cluster.assign(T0, 1, 2)
    cluster.replicas_become(NewReplica, (T0, 1))
    cluster.replicas_become(OfflineReplica, (T0, 1))
    assert cluster.replica_state(T0, 1) is NewReplica
    assert cluster.stopped().keys() == {(1, T0)}


def test_in_2_4_a_replica_that_is_gone_was_still_to_be_removed() -> None:
    """It left those that keep the partition, and not those that are to leave it."""
    cluster = Cluster(design=control_design_of("2.4"))
    cluster.assign(T0, 1, 2, removing=(2,))
    cluster.context.put_replica_state(on(T0, 2), ReplicaDeletionSuccessful)
    cluster.replicas_become(NonExistentReplica, (T0, 2))
    assert cluster.context.partition_full_replica_assignment(T0) == ReplicaAssignment((1,), (), (2,))


def test_until_2_2_no_broker_was_notified() -> None:
    """Of a replica whose partition never had a leader."""
    cluster = Cluster(design=control_design_of("2.2"))
    cluster.assign(T0, 1, 2)
    cluster.replicas_become(NewReplica, (T0, 1))
    cluster.replicas_become(OfflineReplica, (T0, 1))
    assert cluster.replica_state(T0, 1) is OfflineReplica
    assert cluster.metadata() == {}


def test_for_a_topic_to_be_deleted_nothing_is_sent(cluster: Cluster) -> None:
    """The ISR is written all the same."""
    cluster.context.queue_topic_deletion({"t"})
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.state(T0).isr == (1, 3)
    assert cluster.leader_and_isr() == {}
    assert cluster.stopped()[2, T0].leaderEpoch == -2
    assert cluster.replica_state(T0, 2) is OfflineReplica


@pytest.mark.parametrize("to_be_deleted", [False, True])
def test_a_partition_whose_state_is_gone_keeps_its_replica(cluster: Cluster, to_be_deleted: bool) -> None:
    """That is an error unless its topic is to be deleted."""
    cluster.zookeeper.delete(None, STATE)
    if to_be_deleted:
        cluster.context.queue_topic_deletion({"t"})
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.replica_state(T0, 2) is OnlineReplica
    assert cluster.causes() == ([] if to_be_deleted else [StateChangeFailure.NoLeaderAndIsr])


@pytest.mark.parametrize("to_be_deleted", [False, True])
def test_a_newer_controller_is_left_alone(cluster: Cluster, to_be_deleted: bool) -> None:
    """What it wrote stays, and the replica keeps its state; an error also where the topic is to be deleted."""
    if to_be_deleted:
        cluster.context.queue_topic_deletion({"t"})
    cluster.zookeeper.set(None, STATE, cluster.written(T0)._replace(controller_epoch=EPOCH + 1))
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.state(T0).isr == (1, 2, 3)
    assert cluster.replica_state(T0, 2) is OnlineReplica
    assert cluster.causes() == [StateChangeFailure.NewerController]


# Conflicts


def test_a_conflicting_write_is_read_again(cluster: Cluster) -> None:
    """It may have taken the replica out already; the other partition is not asked twice."""
    cluster.lead(T1, 1, (1, 2, 3))
    cluster.replicas_become(OfflineReplica, (T0, 2), (T1, 2), before={1: lambda: cluster.leader_writes(T0, (1, 2))})
    assert cluster.state(T0)[:3] == (1, 1, (1,))
    assert cluster.state(T1)[:3] == (1, 1, (1, 3))
    assert [cluster.version(partition) for partition in (T0, T1)] == [3, 2]
    assert {cluster.replica_state(partition, 2) for partition in (T0, T1)} == {OfflineReplica}


def test_a_set_whose_reply_was_lost_is_found_to_be_done(cluster: Cluster) -> None:
    """The second round reads what the first wrote: the replica is out, and nothing more is written."""
    cluster.replicas_become(OfflineReplica, (T0, 2), lose={1: (0, 1)})
    assert cluster.state(T0)[:3] == (1, 1, (1, 3))
    assert cluster.version(T0) == 2
    assert cluster.replica_state(T0, 2) is OfflineReplica


def test_until_1_0_a_set_whose_reply_was_lost_is_read_back() -> None:
    """What is there is what was to be written, so it counts."""
    cluster = Cluster(design=control_design_of("1.0"))
    cluster.lead(T0, 1, (1, 2, 3))
    cluster.replicas_become(OfflineReplica, (T0, 2), lose={1: (0, 1)})
    assert cluster.known(T0)[:3] == (1, 1, (1, 3))
    assert cluster.known(T0).partition_epoch == cluster.version(T0) == 2
    assert cluster.replica_state(T0, 2) is OfflineReplica


def test_a_lost_reply_for_the_last_member_increments_twice() -> None:
    """It is still in the ISR."""
    cluster = Cluster()
    cluster.lead(T0, 1, (1,), replicas=(1, 2))
    cluster.replicas_become(OfflineReplica, (T0, 1), lose={1: (0, 1)})
    assert cluster.state(T0)[:3] == (NO_LEADER, 2, (1,))


@pytest.mark.parametrize(("release", "received"), [("1.0", (3, EPOCH + 1)), ("1.1", (1, EPOCH - 1))])
def test_until_1_0_a_new_replica_receives_the_leader_from_zookeeper(release: str, received: tuple[int, int]) -> None:
    """Whoever wrote that; since 1.1 as the controller knows it."""
    cluster = Cluster(design=control_design_of(release))
    cluster.lead(T0, 1, (1, 3))
    written = TopicPartitionState(LeaderAndIsr(3, 1, (3,)), EPOCH + 1)
    cluster.zookeeper.set(None, "/brokers/topics/t/partitions/0/state", written)
    cluster.replicas_become(NewReplica, (T0, 2))
    state = cluster.leader_and_isr()[2, T0]
    assert (state.leader, state.controllerEpoch) == received
    assert cluster.replica_state(T0, 2) is NewReplica


@pytest.mark.parametrize(("release", "sent"), [("1.0", True), ("1.1", False)])
def test_until_1_0_an_unwritten_state_is_sent(release: str, sent: bool) -> None:
    """The state is gone when the ISR is to be set, and still when it is read again: the others are told that ISR."""
    cluster = Cluster(design=control_design_of(release))
    cluster.lead(T0, 1, (1, 2))
    gone = {1: lambda: cluster.zookeeper.delete(None, "/brokers/topics/t/partitions/0/state")}
    cluster.replicas_become(OfflineReplica, (T0, 2), before=gone)
    assert ((1, T0) in cluster.leader_and_isr()) is sent
    assert cluster.known(T0).partition_epoch == (-1 if sent else 1)
    assert cluster.causes() == ([] if sent else [Code.NONODE])


def test_until_1_0_replicas_change_one_by_one() -> None:
    """Each leaves the ISR when its turn has come, and what has to be told is told in the end."""
    cluster = Cluster(design=control_design_of("1.0"))
    for partition in (T0, T1):
        cluster.lead(partition, 1, (1, 2))
    replicas = [PartitionAndReplica(partition, 2) for partition in (T1, T0)]
    change = cluster.replicas.handle_state_changes(replicas, OfflineReplica)
    asked = []
    while isinstance(change, ReplicaStateChange):
        assert cluster.sent == []
        asked.append((change.due, change.asking))
        responses = retry_requests_until_connected(cluster.zookeeper, None, cluster.replicas.requests(change))
        change = cluster.replicas.answered(change, responses)
    read, written = ZkBatch.GetTopicPartitionStates, ZkBatch.SetTopicPartitionStates
    assert asked == [(read, (T1,)), (written, (T1,)), (read, (T0,)), (written, (T0,))]
    assert cluster.leader_and_isr().keys() == {(1, T0), (1, T1)}


@pytest.mark.parametrize(("release", "logged"), [("1.0", [StateChangeFailure.NoLeaderAndIsr]), ("1.1", [])])
def test_until_1_0_that_it_stays_is_an_error(release: str, logged: list[StateChangeFailure]) -> None:
    """Where there never was a leader, and the topic is not to be deleted."""
    cluster = Cluster(design=control_design_of(release))
    cluster.assign(T0, 1, 2)
    cluster.replicas_become(NewReplica, (T0, 2))
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.causes() == logged
    cluster.context.queue_topic_deletion({"t"})
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.causes() == logged


def test_a_fence_that_fails_leaves_a_dirty_batch(cluster: Cluster) -> None:
    """StopReplica stays in it, nothing is sent, and each later change fails until it is cleared. [B21]"""
    handled = cluster.replicas_become(OfflineReplica, (T0, 2), (T0, 3), before={1: cluster.elect_another_controller})
    assert handled == ChangeDone(controller_moved=True)
    assert cluster.sent == []
    assert cluster.known(T0)[:3] == (1, 0, (1, 2, 3))
    assert {cluster.replica_state(T0, broker) for broker in (2, 3)} == {OnlineReplica}
    assert list(cluster.batch.state.stop_replica) == [on(T0, 2)]
    assert cluster.replicas_become(OnlineReplica, (T0, 1)) == ChangeDone()
    assert cluster.log == [FailedStateChange(None, None, OnlineReplica, StateChangeFailure.BatchNotEmpty)]
    cluster.batch.clear()
    cluster.replicas_become(OnlineReplica, (T0, 1))
    assert cluster.leader_and_isr().keys() == {(1, T0)}


def test_a_fence_that_fails_in_the_second_group_keeps_the_first(cluster: Cluster) -> None:
    """What the first broker's replicas were is written and known; what it added is not sent."""
    handled = cluster.replicas_become(OfflineReplica, (T0, 2), (T0, 3), before={3: cluster.elect_another_controller})
    assert handled.controller_moved
    assert cluster.known(T0).isr == (1, 3)
    assert [cluster.replica_state(T0, broker) for broker in (2, 3)] == [OfflineReplica, OnlineReplica]
    assert cluster.sent == []


def test_a_read_state_is_not_cached_before_the_write(cluster: Cluster) -> None:
    """A fence that fails leaves also those as they were that were not to be written."""
    cluster.lead(T1, 1, (1, 2, 3))
    cluster.leader_writes(T1, (1, 3))
    cluster.replicas_become(OfflineReplica, (T0, 2), (T1, 2), before={1: cluster.elect_another_controller})
    assert cluster.known(T1).isr == (1, 2, 3)


@pytest.mark.parametrize(("batch", "code"), [(0, Code.SESSIONEXPIRED), (1, Code.SESSIONEXPIRED), (1, Code.NONODE)])
def test_an_unanswered_replica_keeps_its_state(cluster: Cluster, batch: int, code: Code) -> None:
    """The session has ended, or the fence has nothing to check; the other brokers' replicas follow."""
    cluster.lead(T1, 1, (1, 3))
    change = cluster.replicas.handle_state_changes([on(T0, 2), on(T1, 3)], OfflineReplica)
    for number in range(batch + 1):
        assert isinstance(change, ReplicaStateChange)
        if number == batch:
            change = cluster.replicas.answered(
                change, [ZkResponse(code, results=(code,) * (code is Code.NONODE) * 2)]
            )
        else:
            responses = retry_requests_until_connected(cluster.zookeeper, None, cluster.replicas.requests(change))
            change = cluster.replicas.answered(change, responses)
    assert isinstance(change, ReplicaStateChange)
    cluster.drive(cluster.replicas, change)
    assert cluster.replica_state(T0, 2) is OnlineReplica
    assert cluster.replica_state(T1, 3) is OfflineReplica
    assert cluster.causes() == [code]


# Deletion


def test_the_life_of_a_deletion(cluster: Cluster) -> None:
    """Offline, started, successful, gone: the second StopReplica deletes, and the assignment shrinks at the end."""
    cluster.assign(T0, 1, 2, 3, removing=(3,))
    cluster.replicas_become(OfflineReplica, (T0, 3))
    cluster.sent.clear()
    cluster.replicas_become(ReplicaDeletionStarted, (T0, 3))
    assert [(key, state.deletePartition) for key, state in cluster.stopped().items()] == [((3, T0), True)]
    cluster.sent.clear()
    cluster.replicas_become(ReplicaDeletionSuccessful, (T0, 3))
    cluster.replicas_become(NonExistentReplica, (T0, 3))
    assert cluster.sent == []
    assert cluster.context.partition_full_replica_assignment(T0) == ReplicaAssignment((1, 2))
    assert on(T0, 3) not in cluster.context.state.replica_states


def test_a_deletion_that_fails_waits(cluster: Cluster) -> None:
    """Ineligible, and nothing is sent."""
    for target in (OfflineReplica, ReplicaDeletionStarted):
        cluster.replicas_become(target, (T0, 3))
    cluster.sent.clear()
    cluster.replicas_become(ReplicaDeletionIneligible, (T0, 3))
    assert cluster.replica_state(T0, 3) is ReplicaDeletionIneligible
    assert cluster.sent == []


# Start-up


def test_startup_notifies_live_replicas_and_removes_dead_ones() -> None:
    """A follower that died with the last controller leaves the ISR. [KAFKA-3143]"""
    cluster = Cluster(live=(1, 2))
    cluster.lead(T0, 1, (1, 2, 3))
    cluster.context.state.replica_states.clear()
    cluster.drive(cluster.replicas, cluster.replicas.startup())
    assert cluster.state(T0)[:3] == (1, 1, (1, 2))
    assert [cluster.replica_state(T0, broker) for broker in (1, 2, 3)] == [OnlineReplica] * 2 + [OfflineReplica]
    first = [request for _, request in cluster.sent if type(request).__name__ == "LeaderAndIsrRequest"][:2]
    assert [request.partitionStates[0].leaderEpoch for request in first] == [0, 0]
    assert cluster.stopped() == {}, "it is not registered"


def test_until_2_2_the_dead_stayed_in_the_isr() -> None:
    """And could not be deleted either, as far as the controller knew. [B25]"""
    cluster = Cluster(live=(1, 2), design=control_design_of("2.2"))
    cluster.lead(T0, 1, (1, 2, 3))
    assert cluster.drive(cluster.replicas, cluster.replicas.startup()) == ChangeDone()
    assert cluster.state(T0).isr == (1, 2, 3)
    assert cluster.replica_state(T0, 3) is ReplicaDeletionIneligible


# Values, and what is refused


def test_a_change_is_a_value(cluster: Cluster) -> None:
    """It can be hashed, compared, stored, and gone on with by another machine over the same context."""
    change = cluster.replicas.handle_state_changes([on(T0, 2), on(T0, 3)], OfflineReplica)
    steps = 0
    while isinstance(change, ReplicaStateChange):
        stored = pickle.loads(pickle.dumps(change))
        assert stored == change
        assert hash(stored) == hash(change)
        other = type(cluster.replicas)(cluster.context, cluster.batch)
        change = other.answered(
            stored, retry_requests_until_connected(cluster.zookeeper, None, other.requests(stored))
        )
        steps += 1
    assert steps == 4
    assert cluster.state(T0)[:3] == (1, 2, (1,))


REFUSED: list[tuple[list[PartitionAndReplica], Any, str]] = [
    ([on(TopicPartition("x", 7), 1)], OnlineReplica, "no partition x-7"),
    ([on(T0, 1), on(T0, 1)], OnlineReplica, "t-0 on 1 occurs twice"),
    ([on(T0, -1)], OnlineReplica, "-1 is no broker id"),
    ([on(T0, 1)], 2, "2 is no state of replicas"),
]


@pytest.mark.parametrize(("replicas", "target", "said"), REFUSED)
def test_impossible_changes_are_refused(
    cluster: Cluster, replicas: list[PartitionAndReplica], target: Any, said: str
) -> None:
    """One error that names it, and nothing has changed."""
    before = pickle.dumps((cluster.context.state, cluster.batch.state))
    with pytest.raises(ValueError, match=said):
        cluster.replicas.handle_state_changes(replicas, target)
    assert pickle.dumps((cluster.context.state, cluster.batch.state)) == before
