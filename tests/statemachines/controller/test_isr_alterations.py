"""How a controller with an event queue processes a leader's AlterPartition, and the consequences."""

from __future__ import annotations

import pytest

from statemachines.controller.alter_partition import AlterPartitionData, AlterPartitionRequest, AlterPartitionResponse
from statemachines.controller.calls import Call, EventFailure
from statemachines.controller.state_change import EventDone
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from tests.statemachines.control import T0
from tests.statemachines.processing import EventCluster


@pytest.fixture
def cluster() -> EventCluster:
    """Brokers 1, 2 and 3; t-0 is led by 1 and followed by 2."""
    cluster = EventCluster()
    cluster.create_topic("t", (1, 2))
    cluster.take_over()
    cluster.forget()
    return cluster


def wanted(cluster: EventCluster, *isr: int) -> AlterPartitionRequest:
    """Broker 1 asks for this ISR, and knows ZooKeeper's state."""
    known = cluster.known(T0)
    data = AlterPartitionData(T0, known.leader_epoch, isr, LeaderRecoveryState.RECOVERED, known.partition_epoch)
    return AlterPartitionRequest(1, cluster.context.state.live_broker_epochs[1], (data,))


def test_the_isr_is_written_and_the_leader_answered(cluster: EventCluster) -> None:
    """All brokers are informed, but not as replicas."""
    altered = LeaderAndIsr(1, 0, (1,), partition_epoch=1)
    assert cluster.process("process_alter_partition", wanted(cluster, 1)) == EventDone(
        AlterPartitionResponse(Errors.NONE, ((T0, altered),))
    )
    assert cluster.state(T0).isr == (1,)
    assert cluster.story() == ["1+2+3 UpdateMetadata of 1+2+3; t-0 led by 1 in 0"]


def test_a_refused_request_is_answered_at_once(cluster: EventCluster) -> None:
    """Without a request to ZooKeeper."""
    request = wanted(cluster, 1)._replace(brokerEpoch=0)
    assert cluster.controller.process(Call("process_alter_partition", (request,))) == EventDone(
        AlterPartitionResponse(Errors.STALE_BROKER_EPOCH)
    )


def test_a_reassignment_ends_when_its_replicas_are_in_the_isr(cluster: EventCluster) -> None:
    """Not earlier, and only on the leader's request."""
    cluster.quietly("process_api_partition_reassignment", ((T0, (1, 3)),))
    assert cluster.context.partition_replica_assignment(T0) == (1, 3, 2)
    cluster.quietly("process_alter_partition", wanted(cluster, 1))
    assert cluster.context.state.partitions_being_reassigned == {T0}
    cluster.process("process_alter_partition", wanted(cluster, 1, 2, 3))
    assert cluster.context.partition_replica_assignment(T0) == (1, 3)
    assert cluster.context.state.partitions_being_reassigned == frozenset()
    assert cluster.state(T0).isr == (1, 3)


def test_a_failure_after_the_reply_concerns_the_controller_alone(cluster: EventCluster) -> None:
    """The leader has its reply; the end of the reassignment shows that the controller has moved."""
    cluster.quietly("process_api_partition_reassignment", ((T0, (1, 3)),))
    over = cluster.process(
        "process_alter_partition", wanted(cluster, 1, 2, 3), before={3: cluster.elect_another_controller}
    )
    assert over.answer.errorCode is Errors.NONE
    assert over.failure is EventFailure.ControllerMoved


def test_a_controller_move_is_not_reported_to_the_caller(cluster: EventCluster) -> None:
    """The leader gets an error without the reason, and the controller does not resign. [B38]"""
    over = cluster.process(
        "process_alter_partition", wanted(cluster, 1), before={0: cluster.elect_another_controller}
    )
    assert over == EventDone(AlterPartitionResponse(Errors.UNKNOWN_SERVER_ERROR))


def test_an_unsendable_request_triggers_an_election(cluster: EventCluster) -> None:
    """And the leader gets its reply."""
    cluster.batch.add_stop_replica_request_for_brokers([2], T0, delete_partition=False)
    over = cluster.process("process_alter_partition", wanted(cluster, 1))
    assert over == EventDone(AlterPartitionResponse(Errors.UNKNOWN_SERVER_ERROR), must_reelect=True)
