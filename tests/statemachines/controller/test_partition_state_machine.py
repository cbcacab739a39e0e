"""How partitions change their states: reads, writes, requests, the context, and the effects of failures."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.kafka_zk_client import GetData, ZkBatch, ZkResponse, retry_requests_until_connected
from statemachines.controller.partition_state_machine import (
    CONTROLLED_SHUTDOWN,
    OFFLINE,
    PREFERRED,
    REASSIGN,
    UNCLEAN_OFFLINE,
    PartitionLeaderElectionStrategy,
    PartitionStateChange,
)
from statemachines.controller.request_batch import RequestsNotSent
from statemachines.controller.state_change import ChangeDone, FailedStateChange, StateChangeFailure
from statemachines.messages.control_requests import LeaderAndIsrRequest
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicPartitionState
from statemachines.tables.partition import (
    PARTITION,
    NewPartition,
    NonExistentPartition,
    OfflinePartition,
    OnlinePartition,
    PartitionState,
)
from statemachines.zookeeper.server import Multi
from statemachines.zookeeper.tree import Check, Code, SetData
from tests.rows import rows
from tests.statemachines.control import EPOCH, EPOCH_ZK_VERSION, T0, T1, T2, Cluster

READ, CONFIGURED, SET = ZkBatch.GetTopicPartitionStates, ZkBatch.GetTopicConfigs, ZkBatch.SetTopicPartitionStates


@pytest.fixture
def cluster() -> Cluster:
    """Brokers 1, 2 and 3."""
    return Cluster()


# The table


@pytest.mark.parametrize("target", list(PartitionState))
@pytest.mark.parametrize("state", list(PartitionState))
def test_every_transition_is_that_of_the_table(
    cluster: Cluster, state: PartitionState, target: PartitionState
) -> None:
    """A row takes effect; another pair is logged, changes and sends nothing, and other partitions continue."""
    for partition in (T0, T1):
        cluster.lead(partition, 1, (1, 2, 3))
    cluster.context.put_partition_state(T0, state)
    if state is NewPartition:
        cluster.zookeeper.delete(None, "/brokers/topics/t/partitions/0/state")
    allowed = PARTITION.allows(state, target)
    cluster.become(target, T0, strategy=OFFLINE)
    assert cluster.context.partition_state(T0) is (target if allowed else state)
    if allowed:
        assert cluster.log == []
    else:
        assert cluster.log == [FailedStateChange(T0, state, target, StateChangeFailure.InvalidTransition)]
        assert cluster.sent == []


def test_an_invalid_change_does_not_stop_the_others(cluster: Cluster) -> None:
    """T0 is new already."""
    cluster.assign(T0, 1, 2)
    cluster.assign(T1, 1, 2)
    cluster.become(NewPartition, T0)
    cluster.become(NewPartition, T0, T1)
    assert cluster.context.partition_state(T1) is NewPartition
    assert cluster.causes() == [StateChangeFailure.InvalidTransition]


# New partitions


def test_a_new_partition_gets_its_first_leader(cluster: Cluster) -> None:
    """The first online replica leads, all online ones are in sync and informed as new; there is no election."""
    cluster.assign(T0, 4, 2, 1)
    cluster.become(NewPartition, T0)
    assert cluster.become(OnlinePartition, T0, strategy=OFFLINE) == ChangeDone()
    assert cluster.written(T0) == TopicPartitionState(LeaderAndIsr(2, 0, (2, 1)), EPOCH)
    assert cluster.known(T0) == LeaderAndIsr(2, 0, (2, 1), partition_epoch=0)
    received = cluster.leader_and_isr()
    assert received.keys() == {(1, T0), (2, T0)}
    assert all(state.isNew and state.replicas == (4, 2, 1) for state in received.values())
    assert cluster.metadata()[3].partitionStates[0].offlineReplicas == (4,)
    assert cluster.context.partition_state(T0) is OnlinePartition


def test_a_broker_shutting_down_is_in_no_first_isr(cluster: Cluster) -> None:
    """It is not online."""
    cluster.shut_down(1)
    cluster.assign(T0, 1, 2)
    cluster.become(NewPartition, T0)
    cluster.become(OnlinePartition, T0, strategy=OFFLINE)
    assert cluster.state(T0)[:3] == (2, 0, (2,))


def test_a_replica_with_failed_directory_is_in_no_first_isr(cluster: Cluster) -> None:
    """For that partition; it leads the other one."""
    cluster.context.state.replicas_on_offline_dirs[1] = frozenset({T0})
    for partition in (T0, T1):
        cluster.assign(partition, 1, 2)
    cluster.become(NewPartition, T0, T1)
    cluster.become(OnlinePartition, T0, T1, strategy=OFFLINE)
    assert [cluster.state(partition).leader for partition in (T0, T1)] == [2, 1]


def test_a_new_partition_without_online_replica_stays_new(cluster: Cluster) -> None:
    """There is no request to ZooKeeper."""
    cluster.assign(T0, 4, 5)
    cluster.become(NewPartition, T0)
    assert isinstance(cluster.partitions.handle_state_changes([T0], OnlinePartition, OFFLINE), ChangeDone)
    assert cluster.context.partition_state(T0) is NewPartition
    assert cluster.causes() == [StateChangeFailure.NoLiveReplica]
    assert cluster.sent == []


def test_a_create_whose_reply_was_lost_leaves_the_partition_new(cluster: Cluster) -> None:
    """The client repeats the create and finds its own node; no broker receives the leader. [B37]"""
    cluster.assign(T0, 1, 2)
    cluster.become(NewPartition, T0)
    cluster.become(OnlinePartition, T0, strategy=OFFLINE, lose={2: (0, 1)})
    assert cluster.state(T0)[:3] == (1, 0, (1, 2))
    assert cluster.context.partition_state(T0) is NewPartition
    assert cluster.context.leadership_of(T0) is None
    assert cluster.causes() == [Code.NODEEXISTS]
    assert cluster.sent == []


def test_a_create_whose_reply_was_lost_leads_to_an_election() -> None:
    """As proposed: in one more leader epoch, which its replicas receive. [B37]"""
    cluster = Cluster(design=ControlDesign().but(elect_if_created=True))
    cluster.assign(T0, 1, 2)
    cluster.become(NewPartition, T0)
    cluster.become(OnlinePartition, T0, strategy=OFFLINE, lose={2: (0, 1)})
    assert cluster.state(T0)[:3] == (1, 1, (1, 2))
    assert cluster.context.partition_state(T0) is OnlinePartition
    assert cluster.leader_and_isr()[2, T0].leaderEpoch == 1


def test_a_lost_reply_for_the_parent_nodes_does_no_harm(cluster: Cluster) -> None:
    """They may exist already."""
    cluster.assign(T0, 1, 2)
    cluster.become(NewPartition, T0)
    cluster.become(OnlinePartition, T0, strategy=OFFLINE, lose={0: (0, 1), 1: (0, 1)})
    assert cluster.context.partition_state(T0) is OnlinePartition


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_a_fenced_create_ends_the_change(cluster: Cluster, batch: int) -> None:
    """In any of the three batches; the later elections do not begin."""
    cluster.assign(T0, 1, 2)
    cluster.lead(T1, 4, (1, 2, 4), replicas=(4, 1, 2))
    cluster.become(NewPartition, T0)
    handled = cluster.become(
        OnlinePartition, T0, T1, strategy=OFFLINE, before={batch: cluster.elect_another_controller}
    )
    assert handled == ChangeDone(controller_moved=True)
    assert cluster.context.partition_state(T0) is NewPartition
    assert cluster.context.partition_state(T1) is OfflinePartition
    assert cluster.sent == []


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_a_create_without_reply_fails_only_the_new_partitions(cluster: Cluster, batch: int) -> None:
    """In any of the three batches; the elections follow. [catch in initializeLeaderAndIsrForPartitions]"""
    cluster.assign(T0, 1, 2)
    cluster.lead(T1, 4, (1, 2, 4), replicas=(4, 1, 2))
    cluster.become(NewPartition, T0)
    gone: list[int] = []

    def without_epoch() -> None:
        cluster.zookeeper.delete(None, CONTROLLER_EPOCH)
        gone.append(batch)

    change = cluster.partitions.handle_state_changes([T0, T1], OnlinePartition, OFFLINE)
    for number in range(batch + 1):
        assert isinstance(change, PartitionStateChange)
        if number == batch:
            without_epoch()
        responses = retry_requests_until_connected(cluster.zookeeper, None, cluster.partitions.requests(change))
        change = cluster.partitions.answered(change, responses)
    assert isinstance(change, PartitionStateChange)
    assert (change.due, change.asking) == (READ, (T1,))
    assert cluster.log == [FailedStateChange(T0, NewPartition, OnlinePartition, Code.NONODE)]


# Elections


def test_an_election_reads_and_then_sets_at_the_read_version(cluster: Cluster) -> None:
    """Two batches: the set is at the version that was read, with the next leader epoch, fenced."""
    cluster.lead(T0, 4, (4, 2, 3), leader_epoch=6, replicas=(4, 3, 2))
    change = cluster.partitions.handle_state_changes([T0], OnlinePartition, OFFLINE)
    assert isinstance(change, PartitionStateChange)
    path = "/brokers/topics/t/partitions/0/state"
    assert cluster.partitions.requests(change) == (GetData(path),)
    change = cluster.partitions.answered(change, [ZkResponse(Code.OK, cluster.written(T0), 1)])
    assert isinstance(change, PartitionStateChange)
    new = TopicPartitionState(LeaderAndIsr(3, 7, (2, 3)), EPOCH)
    fence = Check(CONTROLLER_EPOCH, EPOCH_ZK_VERSION)
    assert cluster.partitions.requests(change) == (Multi((fence, SetData(path, new, 1))),)
    assert cluster.context.partition_state(T0) is OfflinePartition, "not before it has been written"
    assert cluster.drive(cluster.partitions, change).results == ((T0, LeaderAndIsr(3, 7, (2, 3), partition_epoch=2)),)
    assert cluster.written(T0) == new
    assert cluster.known(T0).partition_epoch == cluster.version(T0) == 2
    assert cluster.context.partition_state(T0) is OnlinePartition


def test_receivers_of_an_election(cluster: Cluster) -> None:
    """The online replicas, but not as new; and all brokers get the metadata."""
    cluster.lead(T0, 4, (4, 2, 3), replicas=(4, 3, 2))
    cluster.become(OnlinePartition, T0, strategy=OFFLINE)
    received = cluster.leader_and_isr()
    assert received.keys() == {(2, T0), (3, T0)}
    assert {(state.leader, state.leaderEpoch, state.partitionEpoch, state.isNew) for state in received.values()} == {
        (3, 1, 2, False)
    }
    assert cluster.metadata().keys() == {1, 2, 3}


def test_until_2_0_writes_are_not_fenced() -> None:
    """A replaced controller still writes. [B4]"""
    cluster = Cluster(design=ControlDesign().but(fence_zk=False))
    cluster.lead(T0, 4, (4, 2), replicas=(4, 2))
    cluster.elect_another_controller()
    assert not cluster.become(OnlinePartition, T0, strategy=OFFLINE).controller_moved
    assert cluster.state(T0).leader == 2


STRATEGIES: list[tuple[PartitionLeaderElectionStrategy, int, tuple[int, ...], set[int]]] = [
    (OFFLINE, 3, (3, 4), {3, 4}),
    (PREFERRED, -1, (), set()),
    (REASSIGN, 4, (1, 2, 3, 4), {4}),
    (CONTROLLED_SHUTDOWN, 3, (1, 3, 4), {2, 3, 4}),
]


@pytest.mark.parametrize(("strategy", "leader", "isr", "sent"), STRATEGIES, ids=[each[0].name for each in STRATEGIES])
def test_each_strategy_elects_its_leader(
    strategy: PartitionLeaderElectionStrategy, leader: int, isr: tuple[int, ...], sent: set[int]
) -> None:
    """1 is dead, 2 shuts down, and the partition moves from 3 to 4."""
    cluster = Cluster(live=(2, 3, 4))
    cluster.shut_down(2)
    cluster.lead(T0, 2, (1, 2, 3, 4))
    cluster.assign(T0, 1, 2, 3, 4, adding=(4,), removing=(1, 2, 3))
    ((_, outcome),) = cluster.become(OnlinePartition, T0, strategy=strategy).results
    if leader == -1:
        assert outcome is StateChangeFailure.NoLeaderElected
        assert cluster.sent == []
        assert cluster.version(T0) == 1
    else:
        assert cluster.state(T0)[:3] == (leader, 1, isr)
        assert {broker for broker, _ in cluster.leader_and_isr()} == sent


def test_a_broker_that_is_shutting_down_is_not_elected(cluster: Cluster) -> None:
    """With any strategy, though it is first and in sync."""
    cluster.shut_down(1)
    cluster.lead(T0, 3, (1, 2, 3))
    for strategy in (OFFLINE, CONTROLLED_SHUTDOWN, REASSIGN):
        cluster.become(OnlinePartition, T0, strategy=strategy)
        assert cluster.state(T0).leader == 2


def test_an_election_takes_dead_replicas_out_of_the_isr(cluster: Cluster) -> None:
    """The replicas that the offline strategy finds dead."""
    cluster.lead(T0, 4, (5, 2, 4, 3), replicas=(4, 5, 2, 3))
    cluster.become(OnlinePartition, T0, strategy=OFFLINE)
    assert cluster.state(T0).isr == (2, 3)


# Unclean elections


UNCLEAN: list[tuple[PartitionLeaderElectionStrategy, bool | None, bool, bool, list[ZkBatch]]] = [
    # strategy, topic setting, broker setting: whether there is a leader; the batches
    (OFFLINE, None, False, False, [READ, CONFIGURED]),
    (OFFLINE, None, True, True, [READ, CONFIGURED, SET]),
    (OFFLINE, False, True, False, [READ, CONFIGURED]),
    (OFFLINE, True, False, True, [READ, CONFIGURED, SET]),
    (UNCLEAN_OFFLINE, False, False, True, [READ, SET]),
    (REASSIGN, True, True, False, [READ]),
]


@rows("strategy, topic, broker, elected, batches", UNCLEAN)
def test_permission_for_unclean_elections(
    strategy: PartitionLeaderElectionStrategy,
    topic: bool | None,
    broker: bool,
    elected: bool,
    batches: list[ZkBatch],
) -> None:
    """The administrator decides, else the topic, else the broker; settings are read only if they matter."""
    cluster = Cluster(unclean=broker)
    cluster.lead(T0, 4, (4,), replicas=(4, 2, 3))
    if topic is not None:
        cluster.configure("t", topic)
    asked = []
    change = cluster.partitions.handle_state_changes([T0], OnlinePartition, strategy)
    while isinstance(change, PartitionStateChange):
        asked.append(change.due)
        responses = retry_requests_until_connected(cluster.zookeeper, None, cluster.partitions.requests(change))
        change = cluster.partitions.answered(change, responses)
    assert asked == batches
    state = cluster.state(T0)
    if elected:
        assert state == LeaderAndIsr(2, 1, (2,), LeaderRecoveryState.RECOVERING)
        assert cluster.written(T0).controller_epoch == EPOCH
        assert cluster.leader_and_isr()[3, T0].leaderRecoveryState is LeaderRecoveryState.RECOVERING
    else:
        assert state[:3] == (4, 0, (4,))
        assert cluster.causes() == [StateChangeFailure.NoLeaderElected]


@rows(
    "release, answered, elected",
    [
        ("2.4", [None], True),
        ("2.3", [None, None], True),
        ("2.3", [None, Code.NONODE], False),
        ("2.3", [Code.NONODE, None], True),
        ("2.3", [None, Code.SESSIONEXPIRED], False),
        ("2.3", [Code.SESSIONEXPIRED, None], False),
    ],
)
def test_until_2_3_a_topic_is_read_for_each_partition(
    release: str, answered: list[Code | None], elected: bool
) -> None:
    """The latest reply counts for all of them, and a failure outweighs any reply; None: unclean is permitted."""
    cluster = Cluster(design=ControlDesign(release))
    for partition in (T0, T1):
        cluster.lead(partition, 4, (4,), replicas=(4, 2))
    cluster.configure("t", True)
    change = cluster.partitions.handle_state_changes([T0, T1], OnlinePartition, OFFLINE)
    assert isinstance(change, PartitionStateChange)
    states = retry_requests_until_connected(cluster.zookeeper, None, cluster.partitions.requests(change))
    change = cluster.partitions.answered(change, states)
    assert isinstance(change, PartitionStateChange)
    read = retry_requests_until_connected(cluster.zookeeper, None, cluster.partitions.requests(change))
    configs = [config if code is None else ZkResponse(code) for config, code in zip(read, answered, strict=True)]
    cluster.drive(cluster.partitions, cluster.partitions.answered(change, configs))
    state = OnlinePartition if elected else OfflinePartition
    assert [cluster.context.partition_state(partition) for partition in (T0, T1)] == [state] * 2


def test_until_3_1_there_is_no_recovery_state() -> None:
    """The state does not contain it."""
    cluster = Cluster(design=ControlDesign().but(leader_recovery=False))
    cluster.lead(T0, 4, (4,), replicas=(4, 2))
    cluster.become(OnlinePartition, T0, strategy=UNCLEAN_OFFLINE)
    assert cluster.state(T0).leader_recovery_state is LeaderRecoveryState.RECOVERED


def test_recovery_continues_through_a_clean_election(cluster: Cluster) -> None:
    """The leader must end it."""
    cluster.lead(T0, 1, (1, 2))
    path = "/brokers/topics/t/partitions/0/state"
    recovering = cluster.state(T0)._replace(leader_recovery_state=LeaderRecoveryState.RECOVERING)
    cluster.zookeeper.set(None, path, cluster.written(T0)._replace(leader_and_isr=recovering))
    cluster.become(OnlinePartition, T0, strategy=PREFERRED)
    assert cluster.state(T0).leader_recovery_state is LeaderRecoveryState.RECOVERING


def test_topic_configuration_is_read_only_without_online_isr(cluster: Cluster) -> None:
    """One topic is read once, and the failed read permits nothing; the other's partition needs no permission."""
    u0 = TopicPartition("u", 0)
    for partition in (T0, T1):
        cluster.lead(partition, 4, (4,), replicas=(4, 2))
    cluster.lead(u0, 4, (4, 2), replicas=(4, 2))
    change = cluster.partitions.handle_state_changes([T0, T1, u0], OnlinePartition, OFFLINE)
    assert isinstance(change, PartitionStateChange)
    responses = retry_requests_until_connected(cluster.zookeeper, None, cluster.partitions.requests(change))
    change = cluster.partitions.answered(change, responses)
    assert isinstance(change, PartitionStateChange)
    assert cluster.partitions.requests(change) == (GetData("/config/topics/t"),)
    change = cluster.partitions.answered(change, [ZkResponse(Code.SESSIONEXPIRED)])
    cluster.drive(cluster.partitions, change)
    assert [cluster.context.partition_state(each) for each in (T0, T1, u0)] == [
        OfflinePartition,
        OfflinePartition,
        OnlinePartition,
    ]
    assert cluster.causes() == [Code.SESSIONEXPIRED, StateChangeFailure.NoLeaderElected] * 2


# Conflicts


def test_a_conflicting_write_is_read_again(cluster: Cluster) -> None:
    """The leader is elected again from the other's write; partitions without conflict are not repeated."""
    for partition in (T0, T1):
        cluster.lead(partition, 4, (4, 1, 2), replicas=(4, 1, 2))
    handled = cluster.become(
        OnlinePartition, T0, T1, strategy=OFFLINE, before={1: lambda: cluster.leader_writes(T0, (4, 2))}
    )
    assert cluster.state(T0)[:3] == (2, 1, (2,))
    assert cluster.state(T1)[:3] == (1, 1, (1, 2))
    assert dict(handled.results) == {T0: cluster.known(T0), T1: cluster.known(T1)}
    assert [cluster.version(partition) for partition in (T0, T1)] == [3, 2]
    assert cluster.log == []


@pytest.mark.parametrize(("release", "receivers"), [("1.0", {1, 2}), ("1.1", {2}), ("2.0", {2}), ("2.1", {1, 2})])
def test_a_broker_shutting_down_receives_the_new_leader(release: str, receivers: set[int]) -> None:
    """Except in two releases."""
    cluster = Cluster(design=ControlDesign(release))
    cluster.shut_down(1)
    cluster.lead(T0, 1, (1, 2))
    cluster.become(OnlinePartition, T0, strategy=CONTROLLED_SHUTDOWN)
    assert {broker for broker, _ in cluster.leader_and_isr()} == receivers


def test_until_2_3_a_conflict_repeated_the_election_of_all() -> None:
    """A partition that was written already gets one more election and leader epoch; a new one does not."""
    cluster = Cluster(design=ControlDesign("2.3"))
    for partition in (T0, T1):
        cluster.lead(partition, 4, (4, 1, 2), replicas=(4, 1, 2))
    cluster.assign(T2, 1, 2)
    cluster.become(NewPartition, T2)
    conflict = {4: lambda: cluster.leader_writes(T0, (4, 2))}
    cluster.become(OnlinePartition, T0, T1, T2, strategy=OFFLINE, before=conflict)
    assert cluster.state(T2)[:3] == (1, 0, (1, 2))
    assert cluster.state(T0)[:3] == (2, 1, (2,))
    assert cluster.state(T1)[:3] == (1, 2, (1, 2))
    assert [cluster.version(partition) for partition in (T0, T1)] == [3, 3]
    assert cluster.leader_and_isr()[1, T1].leaderEpoch == 2


def test_a_repeated_failure_is_recorded_once() -> None:
    """So the results of a waiting change cannot outgrow its partitions."""
    cluster = Cluster(design=ControlDesign("2.3"))
    cluster.lead(T0, 4, (4,), replicas=(4, 1))
    cluster.lead(T1, 4, (4, 1, 2), replicas=(4, 1, 2))
    change = cluster.partitions.handle_state_changes([T0, T1], OnlinePartition, OFFLINE)
    conflicts = 0
    while isinstance(change, PartitionStateChange):
        if change.due is SET:
            assert change.results == ((T0, StateChangeFailure.NoLeaderElected),)
            if conflicts < 2:
                cluster.leader_writes(T1, (4, 2))
                conflicts += 1
        requests = cluster.partitions.requests(change)
        change = cluster.partitions.answered(
            change, retry_requests_until_connected(cluster.zookeeper, None, requests)
        )
    assert conflicts == 2
    assert dict(change.results)[T0] is StateChangeFailure.NoLeaderElected


def test_conflicts_are_retried_without_limit(cluster: Cluster) -> None:
    """Each write of another causes another round."""
    cluster.lead(T0, 4, (4, 1, 2), replicas=(4, 1, 2))
    again = {number: lambda: cluster.leader_writes(T0, (4, 1, 2)) for number in range(1, 40, 2)}
    cluster.become(OnlinePartition, T0, strategy=OFFLINE, before=again)
    assert cluster.version(T0) == 22
    assert cluster.state(T0)[:3] == (1, 1, (1, 2))


def test_a_set_whose_reply_was_lost_increments_the_leader_epoch_twice(cluster: Cluster) -> None:
    """The client repeats the write, and finds its own state."""
    cluster.lead(T0, 4, (4, 1, 2), replicas=(4, 1, 2))
    cluster.become(OnlinePartition, T0, strategy=OFFLINE, lose={1: (0, 1)})
    assert cluster.state(T0)[:3] == (1, 2, (1, 2))
    assert cluster.leader_and_isr()[1, T0].leaderEpoch == 2


@pytest.mark.parametrize(("release", "leader_epoch"), [("1.0", 0), ("1.1", 1), ("2.1", 1)])
def test_until_1_0_a_preferred_replica_that_leads_is_not_elected(release: str, leader_epoch: int) -> None:
    """Nothing is written or sent, and the partition is online."""
    cluster = Cluster(design=ControlDesign(release))
    cluster.lead(T0, 1, (1, 2, 3))
    cluster.become(OnlinePartition, T0, strategy=PREFERRED)
    assert cluster.state(T0).leader_epoch == leader_epoch
    assert bool(cluster.sent) is (leader_epoch == 1)
    assert cluster.log == []
    assert cluster.context.partition_state(T0) is OnlinePartition


def test_until_1_0_partitions_change_one_by_one() -> None:
    """Each is read and written in its turn; an earlier failure takes no turn."""
    cluster = Cluster(live=(1, 2), design=ControlDesign("1.0"))
    cluster.assign(T0, 3)
    cluster.become(NewPartition, T0)
    cluster.lead(T1, 1, (1, 2))
    cluster.lead(T2, 1, (1, 2))
    cluster.shut_down(1)
    change = cluster.partitions.handle_state_changes((T0, T1, T2), OnlinePartition, CONTROLLED_SHUTDOWN)
    asked = []
    while isinstance(change, PartitionStateChange):
        asked.append((change.due, change.asking))
        responses = retry_requests_until_connected(cluster.zookeeper, None, cluster.partitions.requests(change))
        change = cluster.partitions.answered(change, responses)
    assert asked == [(READ, (T1,)), (SET, (T1,)), (READ, (T2,)), (SET, (T2,))]
    assert cluster.causes() == [StateChangeFailure.NoLiveReplica]
    assert {broker for broker, _ in cluster.leader_and_isr()} == {1, 2}
    assert {partition: cluster.context.partition_state(partition) for partition in (T0, T1, T2)} == {
        T0: NewPartition,
        T1: OnlinePartition,
        T2: OnlinePartition,
    }


def test_until_1_0_the_preferred_replica_was_elected_unless_it_led() -> None:
    """If it leads already, nothing is written."""
    cluster = Cluster(design=ControlDesign("1.0"))
    cluster.lead(T0, 2, (2, 1), replicas=(1, 2))
    cluster.lead(T1, 1, (1, 2))
    cluster.become(OnlinePartition, T0, T1, strategy=PREFERRED)
    assert [cluster.state(each)[:2] for each in (T0, T1)] == [(1, 1), (1, 0)]


def test_until_1_0_a_set_whose_reply_was_lost_is_read_back() -> None:
    """The state that is found equals the intended one, so the write counts."""
    cluster = Cluster(live=(1, 2), design=ControlDesign("1.0"))
    cluster.lead(T0, 3, (3, 1))
    cluster.become(OnlinePartition, T0, strategy=OFFLINE, lose={1: (0, 1)})
    assert cluster.state(T0)[:3] == (1, 1, (1,))
    assert cluster.known(T0).partition_epoch == cluster.version(T0)


def test_until_1_0_a_failed_set_is_read_again() -> None:
    """A state that was deleted in between counts as missing, not as an error of ZooKeeper."""
    cluster = Cluster(live=(1, 2), design=ControlDesign("1.0"))
    cluster.lead(T0, 3, (3, 1))
    gone = {1: lambda: cluster.zookeeper.delete(None, "/brokers/topics/t/partitions/0/state")}
    cluster.become(OnlinePartition, T0, strategy=OFFLINE, before=gone)
    assert cluster.causes() == [StateChangeFailure.NoLeaderAndIsr]


def test_a_newer_controller_is_left_alone(cluster: Cluster) -> None:
    """StateChangeFailed for its partition; others get their elections. An equal epoch is the controller's own."""
    cluster.lead(T0, 4, (4, 1), replicas=(4, 1), controller_epoch=EPOCH + 1)
    cluster.lead(T1, 4, (4, 1), replicas=(4, 1), controller_epoch=EPOCH)
    handled = cluster.become(OnlinePartition, T0, T1, strategy=OFFLINE)
    assert dict(handled.results)[T0] is StateChangeFailure.NewerController
    assert cluster.state(T0)[:3] == (4, 0, (4, 1))
    assert cluster.context.partition_state(T0) is OfflinePartition
    assert cluster.state(T1).leader == 1


@pytest.mark.parametrize("empty", [True, False])
def test_a_partition_without_state_gets_no_leader(cluster: Cluster, empty: bool) -> None:
    """Its node is gone, or is empty."""
    cluster.lead(T0, 4, (4, 1), replicas=(4, 1))
    path = "/brokers/topics/t/partitions/0/state"
    if empty:
        cluster.zookeeper.set(None, path, None)
    else:
        cluster.zookeeper.delete(None, path)
    assert cluster.become(OnlinePartition, T0, strategy=OFFLINE).results == ((T0, StateChangeFailure.NoLeaderAndIsr),)
    assert cluster.context.partition_state(T0) is OfflinePartition


def test_a_failed_fence_ends_the_change(cluster: Cluster) -> None:
    """Nothing is sent, and no state changes; the first round's writes are cached, and stay in the batch."""
    for partition in (T0, T1):
        cluster.lead(partition, 4, (4, 1, 2), replicas=(4, 1, 2))
    handled = cluster.become(
        OnlinePartition,
        T0,
        T1,
        strategy=OFFLINE,
        before={1: lambda: cluster.leader_writes(T0, (4, 2)), 3: cluster.elect_another_controller},
    )
    assert handled == ChangeDone(controller_moved=True)
    assert cluster.sent == []
    assert cluster.known(T1)[:2] == (1, 1)
    assert cluster.known(T0)[:2] == (4, 0)
    assert {cluster.context.partition_state(partition) for partition in (T0, T1)} == {OfflinePartition}
    assert {replica.topic_partition for replica in cluster.batch.state.leader_and_isr} == {T1}


def test_a_session_end_fails_the_remaining_partitions(cluster: Cluster) -> None:
    """Reads and writes without a reply are failures, and nothing is retried."""
    cluster.lead(T0, 4, (4, 1), replicas=(4, 1))
    for answered in ([ZkResponse(Code.SESSIONEXPIRED)], None):
        change = cluster.partitions.handle_state_changes([T0], OnlinePartition, OFFLINE)
        assert isinstance(change, PartitionStateChange)
        if answered is None:
            responses = retry_requests_until_connected(cluster.zookeeper, None, cluster.partitions.requests(change))
            change = cluster.partitions.answered(change, responses)
            assert isinstance(change, PartitionStateChange)
        handled = cluster.partitions.answered(change, [ZkResponse(Code.SESSIONEXPIRED)])
        assert handled == ChangeDone(((T0, Code.SESSIONEXPIRED),))
        assert cluster.context.partition_state(T0) is OfflinePartition


# The batch


def test_a_dirty_batch_fails_the_whole_change(cluster: Cluster) -> None:
    """Every partition, even if the table refuses it; no state changes, and the batch stays dirty."""
    cluster.assign(T0, 1)
    cluster.lead(T1, 1, (1,))
    cluster.batch.add_stop_replica_request_for_brokers([1], T0, delete_partition=False)
    for _ in range(2):
        handled = cluster.become(NewPartition, T0, T1)
        assert handled.results == ((T0, StateChangeFailure.BatchNotEmpty), (T1, StateChangeFailure.BatchNotEmpty))
    assert T0 not in cluster.context.state.partition_states
    assert cluster.log[0] == FailedStateChange(None, None, NewPartition, StateChangeFailure.BatchNotEmpty)


def test_the_batch_is_empty_after_a_change(cluster: Cluster) -> None:
    """So that the next change can begin, and does not send the previous one."""
    cluster.lead(T0, 1, (1, 2))
    for _ in range(2):
        cluster.sent.clear()
        cluster.become(OnlinePartition, T0, strategy=PREFERRED)
        assert sum(isinstance(request, LeaderAndIsrRequest) for _, request in cluster.sent) == 2


def test_an_unsendable_request_fails_the_whole_change() -> None:
    """Though the states are written, and have changed."""

    def send(broker: int, request: object) -> None:
        raise RequestsNotSent("no channel")

    cluster = Cluster(send=send)
    cluster.lead(T0, 1, (1, 2))
    handled = cluster.become(OnlinePartition, T0, strategy=PREFERRED)
    assert handled.results == ((T0, StateChangeFailure.RequestsNotSent),)
    assert cluster.state(T0).leader_epoch == 1


# Start-up and triggers


def test_startup_derives_the_states_and_elects(cluster: Cluster) -> None:
    """Partitions without leader ever are new, then online; a live leader stays; a dead one is replaced."""
    t2 = TopicPartition("t", 2)
    cluster.assign(T0, 2, 3)
    cluster.lead(T1, 1, (1, 2))
    cluster.lead(t2, 4, (4, 3), replicas=(4, 3))
    cluster.context.state.partition_states.clear()
    cluster.drive(cluster.partitions, cluster.partitions.startup())
    assert [cluster.state(partition)[:2] for partition in (T0, T1, t2)] == [(2, 0), (1, 0), (3, 1)]
    assert set(cluster.context.state.partition_states.values()) == {OnlinePartition}


def test_a_leader_that_is_shutting_down_is_offline_at_startup(cluster: Cluster) -> None:
    """It is not live."""
    cluster.lead(T0, 1, (1, 2))
    cluster.shut_down(1)
    cluster.drive(cluster.partitions, cluster.partitions.startup())
    assert cluster.state(T0)[:3] == (2, 1, (2,))


def test_a_topic_to_be_deleted_is_not_triggered(cluster: Cluster) -> None:
    """Of the other topics, only the requested one."""
    u0, v0 = TopicPartition("u", 0), TopicPartition("v", 0)
    for partition in (T0, u0, v0):
        cluster.lead(partition, 4, (4, 1), replicas=(4, 1))
    cluster.context.queue_topic_deletion({"t"})
    cluster.drive(cluster.partitions, cluster.partitions.trigger_online_partition_state_change("u"))
    assert [cluster.state(each).leader for each in (T0, u0, v0)] == [4, 1, 4]
    cluster.drive(cluster.partitions, cluster.partitions.trigger_online_partition_state_change())
    assert [cluster.state(each).leader for each in (T0, u0, v0)] == [4, 1, 1]


def test_a_partition_whose_topic_was_removed_can_still_be_triggered(cluster: Cluster) -> None:
    """Its state stays when the topic is removed; there is nothing to elect from. [removeTopic]"""
    cluster.lead(T0, 4, (4, 1), replicas=(4, 1))
    cluster.context.remove_topic("t")
    cluster.zookeeper.delete(None, "/brokers/topics/t/partitions/0/state")
    handled = cluster.drive(cluster.partitions, cluster.partitions.trigger_online_partition_state_change())
    assert handled.results == ((T0, StateChangeFailure.NoLeaderAndIsr),)


def test_until_2_2_a_trigger_of_a_topic_covers_all_partitions_with_a_state() -> None:
    """Even those of an earlier, removed topic with the same name. [triggerOnlinePartitionStateChange, 2.2]"""
    triggered = []
    for release in ("2.2", "2.3"):
        cluster = Cluster(design=ControlDesign(release))
        cluster.lead(T0, 4, (4, 1), replicas=(4, 1))
        cluster.context.remove_topic("t")
        cluster.assign(T1, 1, 2)
        handled = cluster.drive(cluster.partitions, cluster.partitions.trigger_online_partition_state_change("t"))
        triggered.append([partition for partition, _ in handled.results])
    assert triggered == [[T0], []]


# Values and refusals


def test_a_change_is_a_value(cluster: Cluster) -> None:
    """It can be hashed, compared, stored, and continued by another machine over the same context."""
    cluster.lead(T0, 4, (4, 1), replicas=(4, 1))
    change = cluster.partitions.handle_state_changes([T0], OnlinePartition, OFFLINE)
    steps = 0
    while isinstance(change, PartitionStateChange):
        stored = pickle.loads(pickle.dumps(change))
        assert stored == change
        assert hash(stored) == hash(change)
        other = type(cluster.partitions)(cluster.context, cluster.batch)
        responses = retry_requests_until_connected(cluster.zookeeper, None, other.requests(stored))
        change = other.answered(stored, responses)
        steps += 1
    assert steps == 2
    assert cluster.context.partition_state(T0) is OnlinePartition


REFUSED: list[tuple[Any, Any, Any, str]] = [
    ([TopicPartition("x", 7)], NewPartition, None, "no partition x-7"),
    ([T0, T0], OfflinePartition, None, "t-0 occurs twice"),
    ([T0], "OnlinePartition", OFFLINE, "'OnlinePartition' is no state of partitions"),
    ([T0], OnlinePartition, None, "needs an election strategy"),
    ([T0], OnlinePartition, PartitionLeaderElectionStrategy("nearest"), "nearest"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("partitions", "target", "strategy", "said"), REFUSED)
def test_impossible_changes_are_refused(
    cluster: Cluster, partitions: Any, target: Any, strategy: Any, said: str
) -> None:
    """One error with the value; nothing changes."""
    cluster.lead(T0, 1, (1, 2))
    before = pickle.dumps((cluster.context.state, cluster.batch.state))
    with pytest.raises(ValueError, match=said):
        cluster.partitions.handle_state_changes(partitions, target, strategy)
    assert pickle.dumps((cluster.context.state, cluster.batch.state)) == before


def test_a_missing_response_is_refused(cluster: Cluster) -> None:
    """For a driver that does not send the whole batch."""
    cluster.lead(T0, 4, (4, 1), replicas=(4, 1))
    change = cluster.partitions.handle_state_changes([T0], OnlinePartition, OFFLINE)
    assert isinstance(change, PartitionStateChange)
    with pytest.raises(ValueError, match="GetTopicPartitionStates: 1 requests have 0 answers"):
        cluster.partitions.answered(change, [])


def test_an_empty_change_does_nothing(cluster: Cluster) -> None:
    """It does not even check for a dirty batch."""
    cluster.batch.add_update_metadata_request_for_brokers([1])
    assert cluster.partitions.handle_state_changes([], NonExistentPartition) == ChangeDone()
