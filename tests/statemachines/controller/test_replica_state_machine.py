"""How replicas change their states: requests to brokers, how they leave ISRs, and the effects of failures."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import pytest

from statemachines.controller.control_design import ControlDesign
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
OLD = ControlDesign().but(keep_last_isr=False)


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
    """A row of the release takes effect; another pair is logged, and changes and sends nothing."""
    cluster = Cluster(design=ControlDesign(release))
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


def test_an_invalid_change_does_not_stop_the_others(cluster: Cluster) -> None:
    """Of the same broker or another."""
    cluster.context.put_replica_state(on(T0, 1), ReplicaDeletionStarted)
    cluster.replicas_become(OfflineReplica, (T0, 1), (T0, 2))
    assert cluster.replica_state(T0, 2) is OfflineReplica
    assert cluster.causes() == [StateChangeFailure.InvalidTransition]


# New and online


def test_a_new_replica_receives_the_leader(cluster: Cluster) -> None:
    """As new; only this replica, with the known state."""
    cluster.assign(T0, 1, 2, 3, 4, adding=(4,))
    cluster.context.add_live_brokers({4: 104})
    cluster.replicas_become(NewReplica, (T0, 4))
    received = cluster.leader_and_isr()
    assert received.keys() == {(4, T0)}
    state = received[4, T0]
    assert (state.isNew, state.leader, state.leaderEpoch, state.addingReplicas) == (True, 1, 0, (4,))
    assert cluster.replica_state(T0, 4) is NewReplica


def test_a_replica_that_leads_cannot_be_new(cluster: Cluster) -> None:
    """It keeps its state and receives nothing."""
    del cluster.context.state.replica_states[on(T0, 1)]
    cluster.replicas_become(NewReplica, (T0, 1))
    assert cluster.replica_state(T0, 1) is NonExistentReplica
    assert cluster.causes() == [StateChangeFailure.ReplicaLeads]
    assert cluster.sent == []


@pytest.mark.parametrize("target", [NewReplica, OnlineReplica])
def test_without_a_leader_ever_nothing_is_sent(target: ReplicaState) -> None:
    """Only the state changes."""
    cluster = Cluster()
    cluster.assign(T0, 1)
    for each in (NewReplica, target) if target is OnlineReplica else (target,):
        cluster.replicas_become(each, (T0, 1))
    assert cluster.replica_state(T0, 1) is target
    assert cluster.sent == []


def test_a_new_replica_going_online_receives_nothing(cluster: Cluster) -> None:
    """It is online, and joins the assignment if it was not in it."""
    cluster.assign(T0, 1, 2)
    cluster.context.put_replica_state(on(T0, 3), NewReplica)
    cluster.replicas_become(OnlineReplica, (T0, 3))
    assert cluster.context.partition_full_replica_assignment(T0) == ReplicaAssignment((1, 2, 3))
    assert cluster.replica_state(T0, 3) is OnlineReplica
    assert cluster.sent == []


@pytest.mark.parametrize("state", [OnlineReplica, OfflineReplica, ReplicaDeletionIneligible])
def test_a_returning_replica_receives_the_known_state(cluster: Cluster, state: ReplicaState) -> None:
    """Nothing is written, and no leader epoch is incremented."""
    cluster.context.put_replica_state(on(T0, 3), state)
    cluster.replicas_become(OnlineReplica, (T0, 3))
    states = cluster.leader_and_isr()
    assert states.keys() == {(3, T0)}
    assert (states[3, T0].isNew, states[3, T0].leaderEpoch, states[3, T0].controllerEpoch) == (
        False,
        0,
        EPOCH - 1,
    )
    assert cluster.version(T0) == 1


# Offline


def test_a_follower_leaves_the_isr(cluster: Cluster) -> None:
    """The leader stays, in the next epoch; the follower receives StopReplica, and the others the new ISR."""
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.written(T0) == TopicPartitionState(LeaderAndIsr(1, 1, (1, 3)), EPOCH)
    assert cluster.known(T0)[:3] == (1, 1, (1, 3))
    assert cluster.known(T0).partition_epoch == cluster.version(T0) == 2
    received = cluster.leader_and_isr()
    assert received.keys() == {(1, T0), (3, T0)}
    assert {(state.leaderEpoch, state.isr, state.isNew) for state in received.values()} == {(1, (1, 3), False)}
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
    """Without a leader, if it was the leader; so it can lead again."""
    cluster = Cluster()
    cluster.lead(T0, 1, (1,), replicas=(1, 2))
    cluster.replicas_become(OfflineReplica, (T0, 1))
    assert cluster.state(T0)[:3] == (NO_LEADER, 1, (1,))
    assert cluster.replica_state(T0, 1) is OfflineReplica


def test_the_last_of_several_dying_members_stays(cluster: Cluster) -> None:
    """It is the one with the highest id, in any order of the call."""
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
    """The ISR is then empty, and if the permission ends no replica can lead. [B14]"""
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
    """The state that was read is cached with the controller's own epoch, and sent with the old leader epoch."""
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
    """Its replica goes offline without a request to ZooKeeper; the metadata do not contain it."""
    cluster = Cluster()
    cluster.shut_down(3)
    cluster.assign(T0, 1, 2)
    cluster.replicas_become(NewReplica, (T0, 1))
    assert cluster.replicas.handle_state_changes([on(T0, 1)], OfflineReplica) == ChangeDone()
    assert cluster.replica_state(T0, 1) is OfflineReplica
    assert cluster.metadata().keys() == {1, 2, 3}
    assert cluster.metadata()[3].partitionStates == ()
    assert cluster.stopped().keys() == {(1, T0)}


def test_until_1_1_a_replica_without_a_leader_ever_did_not_go_offline() -> None:
    """It received StopReplica, and no more happened."""
    cluster = Cluster(design=ControlDesign("1.1"))
    cluster.assign(T0, 1, 2)
    cluster.replicas_become(NewReplica, (T0, 1))
    cluster.replicas_become(OfflineReplica, (T0, 1))
    assert cluster.replica_state(T0, 1) is NewReplica
    assert cluster.stopped().keys() == {(1, T0)}


def test_in_2_4_a_removed_replica_stayed_in_removing_replicas() -> None:
    """It left the replicas, but not `removing_replicas`."""
    cluster = Cluster(design=ControlDesign("2.4"))
    cluster.assign(T0, 1, 2, removing=(2,))
    cluster.context.put_replica_state(on(T0, 2), ReplicaDeletionSuccessful)
    cluster.replicas_become(NonExistentReplica, (T0, 2))
    assert cluster.context.partition_full_replica_assignment(T0) == ReplicaAssignment((1,), (), (2,))


def test_until_2_2_no_broker_was_informed() -> None:
    """When a replica went offline whose partition never had a leader."""
    cluster = Cluster(design=ControlDesign("2.2"))
    cluster.assign(T0, 1, 2)
    cluster.replicas_become(NewReplica, (T0, 1))
    cluster.replicas_become(OfflineReplica, (T0, 1))
    assert cluster.replica_state(T0, 1) is OfflineReplica
    assert cluster.metadata() == {}


def test_for_a_topic_to_be_deleted_nothing_is_sent(cluster: Cluster) -> None:
    """But the ISR is written."""
    cluster.context.queue_topic_deletion({"t"})
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.state(T0).isr == (1, 3)
    assert cluster.leader_and_isr() == {}
    assert cluster.stopped()[2, T0].leaderEpoch == -2
    assert cluster.replica_state(T0, 2) is OfflineReplica


@pytest.mark.parametrize("to_be_deleted", [False, True])
def test_a_partition_whose_state_is_gone_keeps_its_replica(cluster: Cluster, to_be_deleted: bool) -> None:
    """An error unless its topic is in deletion."""
    cluster.zookeeper.delete(None, STATE)
    if to_be_deleted:
        cluster.context.queue_topic_deletion({"t"})
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.replica_state(T0, 2) is OnlineReplica
    assert cluster.causes() == ([] if to_be_deleted else [StateChangeFailure.NoLeaderAndIsr])


@pytest.mark.parametrize("to_be_deleted", [False, True])
def test_a_newer_controller_is_left_alone(cluster: Cluster, to_be_deleted: bool) -> None:
    """Its write stays, and the replica keeps its state; an error even if the topic is in deletion."""
    if to_be_deleted:
        cluster.context.queue_topic_deletion({"t"})
    cluster.zookeeper.set(None, STATE, cluster.written(T0)._replace(controller_epoch=EPOCH + 1))
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.state(T0).isr == (1, 2, 3)
    assert cluster.replica_state(T0, 2) is OnlineReplica
    assert cluster.causes() == [StateChangeFailure.NewerController]


# Conflicts


def test_a_conflicting_write_is_read_again(cluster: Cluster) -> None:
    """The other write may have removed the replica already; the other partition is not repeated."""
    cluster.lead(T1, 1, (1, 2, 3))
    cluster.replicas_become(OfflineReplica, (T0, 2), (T1, 2), before={1: lambda: cluster.leader_writes(T0, (1, 2))})
    assert cluster.state(T0)[:3] == (1, 1, (1,))
    assert cluster.state(T1)[:3] == (1, 1, (1, 3))
    assert [cluster.version(partition) for partition in (T0, T1)] == [3, 2]
    assert {cluster.replica_state(partition, 2) for partition in (T0, T1)} == {OfflineReplica}


def test_a_set_whose_reply_was_lost_is_found_to_be_done(cluster: Cluster) -> None:
    """The second round reads the first round's write: the replica is out, and nothing more is written."""
    cluster.replicas_become(OfflineReplica, (T0, 2), lose={1: (0, 1)})
    assert cluster.state(T0)[:3] == (1, 1, (1, 3))
    assert cluster.version(T0) == 2
    assert cluster.replica_state(T0, 2) is OfflineReplica


def test_until_1_0_a_set_whose_reply_was_lost_is_read_back() -> None:
    """The state that is found equals the intended one, so the write counts."""
    cluster = Cluster(design=ControlDesign("1.0"))
    cluster.lead(T0, 1, (1, 2, 3))
    cluster.replicas_become(OfflineReplica, (T0, 2), lose={1: (0, 1)})
    assert cluster.known(T0)[:3] == (1, 1, (1, 3))
    assert cluster.known(T0).partition_epoch == cluster.version(T0) == 2
    assert cluster.replica_state(T0, 2) is OfflineReplica


def test_a_lost_reply_for_the_last_member_increments_twice() -> None:
    """The replica is still in the ISR."""
    cluster = Cluster()
    cluster.lead(T0, 1, (1,), replicas=(1, 2))
    cluster.replicas_become(OfflineReplica, (T0, 1), lose={1: (0, 1)})
    assert cluster.state(T0)[:3] == (NO_LEADER, 2, (1,))


@pytest.mark.parametrize(("release", "leader"), [("1.0", (3, EPOCH + 1)), ("1.1", (1, EPOCH - 1))])
def test_until_1_0_a_new_replica_receives_the_leader_from_zookeeper(release: str, leader: tuple[int, int]) -> None:
    """Whichever controller wrote that; since 1.1 from the controller's cache."""
    cluster = Cluster(design=ControlDesign(release))
    cluster.lead(T0, 1, (1, 3))
    written = TopicPartitionState(LeaderAndIsr(3, 1, (3,)), EPOCH + 1)
    cluster.zookeeper.set(None, "/brokers/topics/t/partitions/0/state", written)
    cluster.replicas_become(NewReplica, (T0, 2))
    state = cluster.leader_and_isr()[2, T0]
    assert (state.leader, state.controllerEpoch) == leader
    assert cluster.replica_state(T0, 2) is NewReplica


@pytest.mark.parametrize(("release", "is_sent"), [("1.0", True), ("1.1", False)])
def test_until_1_0_an_unwritten_state_is_sent(release: str, is_sent: bool) -> None:
    """The state's node is gone before the ISR is set, and at the next read: the others receive that ISR anyway."""
    cluster = Cluster(design=ControlDesign(release))
    cluster.lead(T0, 1, (1, 2))
    gone = {1: lambda: cluster.zookeeper.delete(None, "/brokers/topics/t/partitions/0/state")}
    cluster.replicas_become(OfflineReplica, (T0, 2), before=gone)
    assert ((1, T0) in cluster.leader_and_isr()) is is_sent
    assert cluster.known(T0).partition_epoch == (-1 if is_sent else 1)
    assert cluster.causes() == ([] if is_sent else [Code.NONODE])


def test_until_1_0_replicas_change_one_by_one() -> None:
    """Each leaves the ISR in its turn, and all requests are sent at the end."""
    cluster = Cluster(design=ControlDesign("1.0"))
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
def test_until_1_0_an_unchanged_replica_is_an_error(release: str, logged: list[StateChangeFailure]) -> None:
    """If there never was a leader, and the topic is not in deletion."""
    cluster = Cluster(design=ControlDesign(release))
    cluster.assign(T0, 1, 2)
    cluster.replicas_become(NewReplica, (T0, 2))
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.causes() == logged
    cluster.context.queue_topic_deletion({"t"})
    cluster.replicas_become(OfflineReplica, (T0, 2))
    assert cluster.causes() == logged


def test_a_failed_fence_leaves_a_dirty_batch(cluster: Cluster) -> None:
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


def test_a_failed_fence_in_the_second_group_keeps_the_first(cluster: Cluster) -> None:
    """The states of the first broker's replicas are written and cached; its requests are not sent."""
    handled = cluster.replicas_become(OfflineReplica, (T0, 2), (T0, 3), before={3: cluster.elect_another_controller})
    assert handled.controller_moved
    assert cluster.known(T0).isr == (1, 3)
    assert [cluster.replica_state(T0, broker) for broker in (2, 3)] == [OfflineReplica, OnlineReplica]
    assert cluster.sent == []


def test_a_read_state_is_not_cached_before_the_write(cluster: Cluster) -> None:
    """A failed fence also leaves partitions unchanged that needed no write."""
    cluster.lead(T1, 1, (1, 2, 3))
    cluster.leader_writes(T1, (1, 3))
    cluster.replicas_become(OfflineReplica, (T0, 2), (T1, 2), before={1: cluster.elect_another_controller})
    assert cluster.known(T1).isr == (1, 2, 3)


@pytest.mark.parametrize(("batch", "code"), [(0, Code.SESSIONEXPIRED), (1, Code.SESSIONEXPIRED), (1, Code.NONODE)])
def test_a_replica_without_reply_keeps_its_state(cluster: Cluster, batch: int, code: Code) -> None:
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
    """As ineligible, and nothing is sent."""
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
    cluster = Cluster(live=(1, 2), design=ControlDesign("2.2"))
    cluster.lead(T0, 1, (1, 2, 3))
    assert cluster.drive(cluster.replicas, cluster.replicas.startup()) == ChangeDone()
    assert cluster.state(T0).isr == (1, 2, 3)
    assert cluster.replica_state(T0, 3) is ReplicaDeletionIneligible


# Values and refusals


def test_a_change_is_a_value(cluster: Cluster) -> None:
    """It can be hashed, compared, stored, and continued by another machine over the same context."""
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
    """One error with the value; nothing changes."""
    before = pickle.dumps((cluster.context.state, cluster.batch.state))
    with pytest.raises(ValueError, match=said):
        cluster.replicas.handle_state_changes(replicas, target)
    assert pickle.dumps((cluster.context.state, cluster.batch.state)) == before
