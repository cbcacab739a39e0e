"""The requests of one change of states: merged, in order, and the leftovers of a failure.

The transcripts show what they contain.
"""

from __future__ import annotations

from typing import Any

import pytest

from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.request_batch import BatchNotEmpty, ControllerBrokerRequestBatch, RequestsNotSent
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from tests.rows import rows

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
ASSIGNED = ReplicaAssignment((1, 2, 3))


def known(leader: int, leader_epoch: int) -> LeaderIsrAndControllerEpoch:
    return LeaderIsrAndControllerEpoch(LeaderAndIsr(leader, leader_epoch, (leader,)), 4)


class Batch(ControllerBrokerRequestBatch):
    """A batch for brokers 1, 2 and 3, and its requests."""

    def __init__(self, release: str = "3.9", refused: type[Any] | None = None) -> None:
        context = ControllerContext()
        context.add_live_brokers({broker: 100 + broker for broker in (1, 2, 3)})
        self.sent: list[tuple[int, ControlRequest]] = []
        self.refused = refused
        super().__init__(9, context, self._sent, design=ControlDesign(release))

    def _sent(self, broker: int, request: ControlRequest) -> None:
        if self.refused is not None and isinstance(request, self.refused) and broker == 2:
            raise RequestsNotSent("no channel")
        self.sent.append((broker, request))

    def lead(self, *brokers: int, leader_epoch: int = 3, is_new: bool = False) -> None:
        self.add_leader_and_isr_request_for_brokers(brokers, T0, known(1, leader_epoch), ASSIGNED, is_new)


def test_what_a_replica_gets_once_stays() -> None:
    """New ones stay new, and deletions stay deletions; else the later entry counts."""
    batch = Batch()
    batch.lead(2, is_new=True)
    batch.lead(2, 3, leader_epoch=4)
    batch.add_stop_replica_request_for_brokers([2], T1, delete_partition=True)
    batch.add_stop_replica_request_for_brokers([2, 3], T1, delete_partition=False)
    batch.send_requests_to_brokers(5)
    requests = [request for broker, request in batch.sent if broker == 2]
    assert [type(each) for each in requests] == [LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest]
    led = {to: each.partitionStates[0] for to, each in batch.sent if isinstance(each, LeaderAndIsrRequest)}
    assert {to: (state.leaderEpoch, state.isNew) for to, state in led.items()} == {2: (4, True), 3: (4, False)}
    stopped = {to: each.partitionStates[0] for to, each in batch.sent if isinstance(each, StopReplicaRequest)}
    assert {to: state.deletePartition for to, state in stopped.items()} == {2: True, 3: False}
    assert {request[:3] for request in requests} == {(9, 5, 102)}


def test_an_unregistered_broker_gets_nothing() -> None:
    """And nothing stays in the batch; -1, which stands for no leader, does not even enter it."""
    batch = Batch()
    batch.add_stop_replica_request_for_brokers([-1], T0, delete_partition=False)
    batch.add_update_metadata_request_for_brokers([-1])
    batch.new_batch()
    batch.lead(4)
    batch.add_stop_replica_request_for_brokers([4], T0, delete_partition=False)
    batch.add_update_metadata_request_for_brokers([4])
    batch.send_requests_to_brokers(5)
    assert {broker for broker, _ in batch.sent} == {1, 2, 3}
    batch.new_batch()


@rows(
    "release, kept, deleted_too",
    [
        ("0.10.1", [1, 1], [1, 1, 1]),
        ("0.10.2", [2], [2, 1]),
        ("1.0", [2], [2, 1]),
        ("1.1", [0, 1, 1], [0, 1, 1, 1]),
        ("2.2", [0, 1, 1], [0, 1, 1, 1]),
        ("2.3", [2], [1, 2]),
        ("2.6", [2], [3]),
    ],
)
def test_the_number_of_stop_requests(release: str, kept: list[int], deleted_too: list[int]) -> None:
    """Two replicas that keep their logs, and with a third that does not: the size of each StopReplica."""
    batch = Batch(release)
    for more, expected in (((), kept), ((T2,), deleted_too)):
        batch.sent.clear()
        for partition in (T1, *more, T0):
            batch.add_stop_replica_request_for_brokers([1], partition, delete_partition=partition == T2)
        batch.send_requests_to_brokers(5)
        assert [len(request.partitionStates) for _, request in batch.sent] == expected


@rows("kind", ["LeaderAndIsr", "StopReplica", "UpdateMetadata"])
def test_a_batch_that_is_not_empty_refuses_the_next_change(kind: str) -> None:
    """It names the waiting request, which stays; once it is cleared the next change begins."""
    batch = Batch()
    match kind:
        case "LeaderAndIsr":
            batch.lead(2)
        case "StopReplica":
            batch.add_stop_replica_request_for_brokers([2], T0, delete_partition=False)
        case "UpdateMetadata":
            batch.add_update_metadata_request_for_brokers([2])
    for _ in range(2):
        with pytest.raises(BatchNotEmpty, match=f"{kind} of an earlier change for .*2"):
            batch.new_batch()
    batch.clear()
    batch.new_batch()
    batch.send_requests_to_brokers(5)
    assert batch.sent == []


def test_unsent_requests_stay() -> None:
    """The unsent kind and the later kinds; earlier kinds are gone."""
    batch = Batch(refused=UpdateMetadataRequest)
    batch.lead(2)
    batch.add_stop_replica_request_for_brokers([2], T0, delete_partition=False)
    with pytest.raises(RequestsNotSent, match="no channel"):
        batch.send_requests_to_brokers(5)
    assert [(broker, type(each)) for broker, each in batch.sent] == [
        (2, LeaderAndIsrRequest),
        (1, UpdateMetadataRequest),
    ]
    assert not batch.state.leader_and_isr
    assert batch.state.update_metadata_brokers == {1, 2, 3}
    assert list(batch.state.stop_replica) == [(T0, 2)]
