"""Waiting requests: which parts of a request are kept, and that the domain lists all that may wait."""

from __future__ import annotations

from spec.parts.requests import WaitingRequests
from statemachines.messages.control_requests import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ONE = {T0: (ReplicaAssignment((0, 1)),)}
TWO = {T0: (ReplicaAssignment((0, 1)),), T1: (ReplicaAssignment((1, 0)),)}


def waiting(**other: object) -> WaitingRequests:
    """Requests of one controller to two brokers, about one partition."""
    arguments: dict[str, object] = {
        "controller": 9,
        "brokers": (0, 1),
        "assignments": ONE,
        "controller_epochs": (1,),
        "broker_epochs": (0, 1),
        "leader_epochs": range(2),
        "isr_changes": 0,
        "stops": False,
    }
    return WaitingRequests(**{**arguments, **other})  # type: ignore[arg-type]


LEADER_STATE = LeaderAndIsrPartitionState(TopicPartition("t", 0), 1, 1, 1, (1,), 1, (0, 1), isNew=True)
LEADER_AND_ISR = LeaderAndIsrRequest(9, 1, 0, (LEADER_STATE,), (1,))


def test_unread_requests_do_not_wait() -> None:
    """New replicas, live leaders, the epoch of the state's writer, and all metadata except the leader are dropped."""
    kept = waiting().reduced(LEADER_AND_ISR)
    assert kept == LeaderAndIsrRequest(9, 1, 0, (LEADER_STATE._replace(isNew=False, controllerEpoch=0),), ())
    known = UpdateMetadataPartitionState(TopicPartition("t", 0), 1, 1, 1, (1,), 1, (0, 1), (0,))
    metadata = waiting().reduced(UpdateMetadataRequest(9, 1, 0, (known,), (0, 1)))
    assert metadata.partitionStates == (UpdateMetadataPartitionState(TopicPartition("t", 0), 0, 1, 1, (), 0, (), ()),)


def test_kept_requests_may_wait() -> None:
    """Its domain has them, and no request in unreduced form."""
    requests = waiting(stops=True)
    stop = StopReplicaRequest(9, 1, 1, False, (StopReplicaPartitionState(TopicPartition("t", 0), 1, True),))
    assert requests.reduced(LEADER_AND_ISR) in requests.domain
    assert stop in requests.domain
    assert all(requests.reduced(each) == each for each in requests.domain)


def test_partitions_stand_in_one_request_in_every_combination() -> None:
    """The first, the second, or both."""
    about = {
        tuple(partition.partition.partition for partition in each.partitionStates)
        for each in waiting(assignments=TWO).domain
        if isinstance(each, LeaderAndIsrRequest)
    }
    assert about == {(0,), (1,), (0, 1)}


def test_joining_members_may_be_in_any_order() -> None:
    """If only the controller changes ISRs, members keep the order of the assignment."""
    assert set(waiting().isrs(T0)) == {(0,), (1,), (0, 1)}
    assert set(waiting(isr_changes=1).isrs(T0)) == {(0,), (1,), (0, 1), (1, 0)}
