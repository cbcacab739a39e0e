"""What a newly elected broker reads and sends, and which unfinished work it continues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from statemachines.controller.calls import Call, EventFailure, EventWaiting
from statemachines.controller.context import InMemoryContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.failover import FAILOVER, RESIGNATION, Stage, failover
from statemachines.controller.failover_calls import STARTED_BY, STOPPED_BY
from statemachines.controller.kafka_zk_client import Exists, GetChildren, GetData, retry_requests_until_connected
from statemachines.controller.state_change import EventDone, StateChangeFailure
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import (
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TopicAssignment,
    topic_path,
)
from statemachines.tables.partition import NewPartition, OnlinePartition
from statemachines.tables.replica import OfflineReplica, OnlineReplica
from statemachines.zookeeper.server import Multi
from statemachines.zookeeper.tree import Delete, SetData
from tests.rows import rows
from tests.statemachines.control import EPOCH, T0, T1
from tests.statemachines.processing import EventCluster


def succeeded(design: ControlDesign | None = None, live: tuple[int, ...] = (1, 2, 3)) -> EventCluster:
    """A cluster whose controller has created t-0 and t-1; its successor knows nothing yet."""
    cluster = EventCluster(live, design)
    cluster.create_topic("t", (1, 2, 3), (2, 3))
    cluster.take_over()
    successor(cluster)
    return cluster


def successor(cluster: EventCluster) -> None:
    """Another controller, of the next epoch, which knows nothing yet."""
    cluster.elect_another_controller()
    cluster.context.state.epoch += 1
    cluster.context.state.epoch_zk_version += 1
    cluster.controller = cluster.made()
    cluster.forget()


def test_a_new_controller_knows_the_cluster() -> None:
    """Brokers with their epochs, topics, assignments, leaders; and it has states for them."""
    cluster = succeeded()
    assert cluster.take_over() == EventDone()
    state = cluster.context.state
    assert set(state.live_broker_epochs) == {1, 2, 3}
    assert state.all_topics == {"t"}
    assert state.partition_assignments == {T0: ReplicaAssignment((1, 2, 3)), T1: ReplicaAssignment((2, 3))}
    assert cluster.known(T0)[:3] == (1, 0, (1, 2, 3))
    assert set(state.partition_states.values()) == {OnlinePartition}
    assert set(state.replica_states.values()) == {OnlineReplica}
    assert cluster.channels.said == [("startup", (1, 2, 3))]


def test_brokers_hear_of_each_other_before_they_hear_of_leaders() -> None:
    """Otherwise they refuse to follow; all leaders are announced, and none is elected anew. [B12, KAFKA-4443]"""
    cluster = succeeded()
    cluster.take_over()
    assert cluster.story() == [
        "1+2+3 UpdateMetadata of 1+2+3",
        "1 LeaderAndIsr t-0 led by 1 in 0, ISR 1+2+3",
        "2+3 LeaderAndIsr t-0 led by 1 in 0, ISR 1+2+3; t-1 led by 2 in 0, ISR 2+3",
        "1+2+3 UpdateMetadata of 1+2+3; t-0 led by 1 in 0; t-1 led by 2 in 0",
    ]
    assert cluster.version(T0) == 0


def test_until_0_10_1_they_heard_of_each_other_last() -> None:
    """[B12]"""
    cluster = succeeded(ControlDesign("0.10.1"))
    cluster.take_over()
    assert [line.split()[1] for line in cluster.story()] == [
        "LeaderAndIsr",
        "LeaderAndIsr",
        "UpdateMetadata",
        "UpdateMetadata",
    ]


@pytest.mark.parametrize(("release", "offline"), [("1.1", {3: frozenset({T0})}), ("2.0", {})])
def test_until_1_1_failed_directories_were_remembered(
    release: str, offline: dict[int, frozenset[TopicPartition]]
) -> None:
    """By the broker that had resigned, whatever other controllers learned since. [KAFKA-6630]"""
    cluster = succeeded(ControlDesign(release))
    cluster.take_over()
    cluster.context.state.replicas_on_offline_dirs[3] = frozenset({T0})
    cluster.controller.on_controller_resignation()
    cluster.take_over()
    assert cluster.context.state.replicas_on_offline_dirs == offline


def test_dead_replicas_leave_the_isr_before_leaders_are_elected() -> None:
    """So a dead leader's partition increments its leader epoch twice; since 2.3. [KAFKA-3143]"""
    written = []
    for release in ("2.2", "2.3"):
        cluster = succeeded(ControlDesign(release))
        cluster.die(1, 3)
        cluster.take_over()
        written.append([cluster.state(each)[:3] for each in (T0, T1)])
        assert cluster.replica_state(T0, 2) is OnlineReplica
    assert written == [[(2, 1, (2,)), (2, 0, (2, 3))], [(2, 3, (2,)), (2, 1, (2,))]]
    assert cluster.replica_state(T0, 1) is OfflineReplica


def test_partitions_that_never_had_a_leader_get_one() -> None:
    """The administrator created them while there was no controller."""
    cluster = succeeded()
    cluster.create_topic("u", (3, 1), (4,))
    cluster.take_over()
    assert cluster.state(TopicPartition("u", 0))[:3] == (3, 0, (3, 1))
    assert cluster.context.partition_state(TopicPartition("u", 1)) is NewPartition


def test_notifications_are_deleted_unread() -> None:
    """The failover reads everything that they could announce."""
    cluster = succeeded()
    notifications = [
        cluster.zookeeper.create(None, f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_", 1, sequential=True).path,
        cluster.zookeeper.create(None, f"{ISR_CHANGE_NOTIFICATION}/isr_change_", (T0,), sequential=True).path,
    ]
    cluster.take_over()
    assert [cluster.exists(path) for path in notifications] == [False, False]


def test_a_broker_that_was_shutting_down_may_be_elected_again() -> None:
    """ZooKeeper has no record of its shutdown."""
    cluster = succeeded()
    cluster.context.state.shutting_down_broker_ids = frozenset({1})
    cluster.take_over()
    assert cluster.context.is_live_broker(1)


# Unfinished work


def test_an_unfinished_deletion_continues() -> None:
    """Its predecessor may have sent all requests already, or not."""
    cluster = succeeded()
    cluster.ask_to_delete("t")
    cluster.take_over()
    assert cluster.story()[-2:] == [
        "1 StopReplica t-0, delete",
        "2+3 StopReplica t-0, delete; t-1, delete",
    ]
    assert cluster.context.state.topics_with_deletion_started == {"t"}


def test_a_deletion_with_a_dead_replica_waits() -> None:
    """No broker is ordered to delete anything, and no leader is elected any more."""
    cluster = succeeded()
    cluster.ask_to_delete("t")
    cluster.die(1)
    cluster.take_over()
    assert cluster.context.state.topics_ineligible_for_deletion == {"t"}
    assert not any("delete" in line for line in cluster.story())


def test_without_topic_deletion_the_request_node_is_deleted() -> None:
    """[delete.topic.enable]"""
    cluster = EventCluster(delete_topic_enable=False)
    cluster.create_topic("t", (1, 2))
    cluster.ask_to_delete("t")
    cluster.take_over()
    assert not cluster.exists("/admin/delete_topics/t")
    assert cluster.state(T0).leader == 1


def test_the_deletion_request_of_a_missing_topic_is_deleted() -> None:
    """Its predecessor had deleted the topic's node, but not yet the request node."""
    cluster = succeeded()
    cluster.ask_to_delete("gone")
    assert cluster.take_over() == EventDone()
    assert not cluster.exists("/admin/delete_topics/gone")
    assert cluster.context.state.topics_to_be_deleted == frozenset()


@pytest.mark.parametrize(
    ("release", "failure"),
    [("0.10.2", EventFailure.NoTopic), ("0.11", EventFailure.NoTopic), ("1.0", EventFailure.NoTopic), ("1.1", None)],
)
def test_until_1_0_a_leftover_deletion_request_prevents_failover(release: str, failure: EventFailure | None) -> None:
    """The topic's nodes are gone; the failover fails, and the request node stays for the next one."""
    cluster = EventCluster(design=ControlDesign(release))
    cluster.ask_to_delete("t")
    assert cluster.take_over().failure is failure
    assert cluster.exists("/admin/delete_topics/t") is (failure is not None)


def test_an_unfinished_reassignment_continues() -> None:
    """The topic's node has its source and target."""
    cluster = succeeded()
    moving = ReplicaAssignment((1, 2, 3)).reassign_to((1, 2))
    cluster.zookeeper.set(None, topic_path("t"), TopicAssignment(((0, moving), (1, ReplicaAssignment((2, 3))))))
    cluster.take_over()
    assert cluster.data(topic_path("t")) == cluster.assignment((1, 2), (2, 3))
    assert cluster.state(T0)[:3] == (1, 2, (1, 2))
    assert "3 StopReplica t-0, delete" in cluster.story()
    assert cluster.context.state.partitions_being_reassigned == frozenset()


def test_a_reassignment_requested_by_the_node_is_begun() -> None:
    """And overrides the running one."""
    cluster = succeeded()
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T1, (3, 1)),))
    cluster.take_over()
    assert cluster.context.state.partitions_being_reassigned == {T1}
    assert cluster.data(topic_path("t")).decode("t")[T1] == ReplicaAssignment((3, 1, 2), (1,), (2,))


def test_requested_preferred_elections_are_held() -> None:
    """If they are needed; then the node is deleted, and watched for the next request."""
    cluster = succeeded()
    cluster.die(1)
    cluster.take_over()
    cluster.register(1)
    successor(cluster)
    cluster.leader_writes(T0, (2, 3, 1))
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (T0, T1, TopicPartition("u", 0)))
    cluster.take_over()
    assert cluster.state(T0)[:3] == (1, 3, (2, 3, 1))
    assert cluster.state(T1).leader == 2
    assert not cluster.exists(PREFERRED_REPLICA_ELECTION)
    assert cluster.queue[-1] == Call("process_replica_leader_election")


def test_the_election_node_is_deleted_even_if_missing() -> None:
    """The deletion is fenced: a deposed controller learns of its successor here at the latest."""
    cluster = succeeded()
    failed = cluster.take_over(before={12: cluster.elect_another_controller})
    assert failed == EventDone(failure=EventFailure.ControllerMoved)


def test_a_preferred_election_of_a_partition_without_state_fails_it() -> None:
    """Kafka assumes a state, and has another controller elected."""
    cluster = succeeded()
    cluster.create_topic("u", (4,))
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (TopicPartition("u", 0),))
    assert cluster.take_over().failure is EventFailure.NeverLed


@pytest.mark.parametrize(("release", "failure"), [("0.10.2", EventFailure.NeverLed), ("0.11", None)])
def test_until_0_10_a_preferred_election_of_a_new_partition_fails_it(
    release: str, failure: EventFailure | None
) -> None:
    """The check comes before its leader is elected."""
    cluster = EventCluster(design=ControlDesign(release))
    cluster.create_topic("u", (1,))
    cluster.zookeeper.create(None, PREFERRED_REPLICA_ELECTION, (TopicPartition("u", 0),))
    assert cluster.take_over().failure is failure


# The order


def asked(cluster: EventCluster) -> list[str]:
    """A failover's requests to ZooKeeper, batch by batch, in short form."""
    processing = cluster.controller.process(Call("on_controller_failover"))
    lines = []
    while isinstance(processing, EventWaiting):
        requests = cluster.controller.requests(processing)
        lines.append(" ".join(dict.fromkeys(in_short(request) for request in requests)))
        responses = retry_requests_until_connected(cluster.zookeeper, None, requests)
        processing = cluster.controller.answered(processing, responses)
    return lines


def in_short(request: object) -> str:
    """A request, without the names of brokers, topics and partitions."""
    operation = request.operations[1] if isinstance(request, Multi) else request
    assert isinstance(operation, Exists | GetChildren | GetData | Delete | SetData)
    watched = "*" if getattr(operation, "watch", False) else ""
    path = "/".join(part for part in operation.path.split("/") if not part.isdigit() and part != "t")
    return f"{type(operation).__name__}{watched} {path}"


def test_reads_and_writes_in_order() -> None:
    """A star is a watch that is set. Handlers are registered before their nodes are read."""
    cluster = succeeded()
    cluster.ask_to_delete("gone")
    assert asked(cluster) == [
        "Exists* /admin/preferred_replica_election",
        "Exists* /admin/reassign_partitions",
        "GetChildren* /log_dir_event_notification",
        "GetChildren* /isr_change_notification",
        "GetChildren* /brokers/ids",
        "GetData /brokers/ids",
        "GetChildren* /brokers/topics",
        "GetData* /brokers/topics",
        "GetData /brokers/topics/partitions/state",
        "GetChildren* /admin/delete_topics",
        "Exists* /admin/reassign_partitions",
        "GetChildren /brokers/topics/gone",
        "Delete /config/topics/gone",
        "Delete /admin/delete_topics/gone",
        "GetData /admin/preferred_replica_election",
        "Delete /admin/preferred_replica_election",
    ]


@rows("lists, steps", {"failover": (FAILOVER, STARTED_BY), "resignation": (RESIGNATION, STOPPED_BY)})
def test_each_step_of_a_list_is_implemented(
    lists: Mapping[str, tuple[Stage, ...]], steps: Mapping[Stage, Any]
) -> None:
    """And every implemented step is in some list."""
    assert steps.keys() == {stage for stages in lists.values() for stage in stages}


MARKS = {
    "sendUpdateMetadataRequest": "metadata",
    "replicaStateMachine.startup": "replicas",
    "partitionStateMachine.startup": "partitions",
}


@rows("release", [*FAILOVER])
def test_the_order_is_that_of_the_release(release: str) -> None:
    """The relative order of metadata and state machines."""
    expected = [
        next((mark for name, mark in MARKS.items() if stage.name.startswith(name)), None)
        for stage in failover(release)
    ]
    cluster = succeeded(ControlDesign(release))
    calls = [call.method for call in cluster.controller.on_controller_failover() if isinstance(call, Call)]
    names = {
        "_tell_all": "metadata",
        "_start_replica_state_machine": "replicas",
        "_start_partition_state_machine": "partitions",
    }
    assert [names[call] for call in calls if call in names] == [mark for mark in expected if mark]


# The controller moves


@rows("batch", range(12))
def test_a_controller_that_moves_during_its_failover_writes_no_more(batch: int) -> None:
    """Wherever that is, ZooKeeper refuses all its later writes, and its changes are missing."""
    cluster = succeeded()
    cluster.die(1)
    before = cluster.data(topic_path("t"))
    processed = cluster.take_over(before={batch: cluster.elect_another_controller})
    assert processed.failure is EventFailure.ControllerMoved
    assert cluster.data(topic_path("t")) == before
    if batch <= 10:
        assert cluster.state(T0).leader == 1
        assert cluster.written(T0).controller_epoch == EPOCH


# Resignation


def again(cluster: EventCluster) -> None:
    """The same controller resigns, and is elected once more."""
    cluster.controller.on_controller_resignation()
    epoch = cluster.data("/controller_epoch") + 1
    cluster.context.state.epoch = epoch
    cluster.context.state.epoch_zk_version = cluster.zookeeper.set(None, "/controller_epoch", epoch).version
    cluster.forget()
    cluster.take_over()


def test_resigning_clears_the_context() -> None:
    """And closes its channels."""
    cluster = succeeded()
    cluster.take_over()
    cluster.forget()
    cluster.controller.on_controller_resignation()
    assert cluster.context.state == InMemoryContext()
    assert cluster.channels.said == [("shutdown", None)]


@pytest.mark.parametrize("clear_batch", [False, True])
def test_a_leftover_batch_stays(clear_batch: bool) -> None:
    """Elected again, the broker takes no replica offline, and brings none online. [B21, open]"""
    cluster = succeeded(ControlDesign().but(clear_batch=clear_batch))
    cluster.take_over()
    cluster.die(3)
    moved = cluster.process("process_broker_change", before={3: cluster.elect_another_controller})
    assert moved.failure is EventFailure.ControllerMoved
    again(cluster)
    assert set(cluster.state(T0).isr) == ({1, 2} if clear_batch else {1, 2, 3})
    causes = {StateChangeFailure.BatchNotEmpty} if not clear_batch else set()
    assert set(cluster.causes()) == causes


@pytest.mark.parametrize(("release", "replicas"), [("0.10", (3, 1)), ("0.11", (2, 3))])
def test_until_0_10_a_reassignment_that_others_have_finished_was_resurrected(
    release: str, replicas: tuple[int, ...]
) -> None:
    """The old controller remembered it, and begins it again in its next failover. [B26, KAFKA-5310]"""
    cluster = succeeded(ControlDesign(release))
    cluster.take_over()
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T1, (3, 1)),))
    cluster.process("process_zk_partition_reassignment")
    cluster.zookeeper.delete(None, REASSIGN_PARTITIONS)
    cluster.zookeeper.set(None, topic_path("t"), cluster.assignment((1, 2, 3), (2, 3)))
    again(cluster)
    assert cluster.context.partition_replica_assignment(T1)[:2] == replicas
