"""How leaders change their ISRs in ZooKeeper, until 2.6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from statemachines.broker.alter_partition_manager import IsrUpdate, ZkAlterPartitionManager
from statemachines.broker.hosted_partition import CommittedPartitionState
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.zk_requests import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.messages.control_requests import LeaderAndIsrRequest
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.zookeeper.server import ZooKeeper
from statemachines.zookeeper.tree import Code, Create
from tests.mutants import mutant_tests
from tests.statemachines.control import T0, T1, Cluster
from tests.statemachines.processing import EventCluster
from tests.statemachines.receiving import Broker

Kind = type[ZkAlterPartitionManager]


class Leader:
    """Broker 1 of release 2.6, which leads t-0 in epoch 3, with 1 and 2 in the ISR, at version 1."""

    def __init__(
        self, kind: Kind = ZkAlterPartitionManager, release: str = "2.6", replicas: tuple[int, ...] = (1, 2, 3)
    ) -> None:
        self.cluster = Cluster((1, 2, 3))
        self.cluster.lead(T0, 1, (1, 2), 3)
        self.broker = Broker(ControlDesign(release))
        errors = self.broker.lead(1, 3, replicas=replicas, isr=(1, 2), partition_epoch=1, epoch=4)
        assert errors == [Errors.NONE]
        self.manager = kind(self.broker.manager)

    def drive(self, update: IsrUpdate | None, lose_the_reply: bool = False) -> None:
        """Run a change; `lose_the_reply` loses the reply to its write."""
        lost: dict[str, Any] = {"answered": 0, "carried_out": 1} if lose_the_reply else {}
        while update is not None:
            requests = self.manager.requests(update)
            responses = retry_requests_until_connected(self.cluster.zookeeper, None, requests, **lost)
            update, lost = self.manager.answered(update, responses), {}

    def knows(self) -> tuple[tuple[int, ...], int]:
        """The ISR, and the version."""
        hosted = self.broker.hosted()
        assert hosted.state == CommittedPartitionState(hosted.state.isr)
        return hosted.state.isr, hosted.partition_epoch


def writes_its_isr(kind: Kind) -> None:
    """In its leader epoch, and with the epoch of its leader's controller; a notification is due."""
    leader = Leader(kind)
    leader.drive(leader.manager.maybe_expand_isr(T0, 3))
    assert leader.cluster.state(T0)[:3] == (1, 3, (1, 2, 3))
    assert leader.cluster.written(T0).controller_epoch == 4
    assert leader.knows() == ((1, 2, 3), 2)
    leader.drive(leader.manager.maybe_shrink_isr(T0, [2]))
    assert leader.knows() == ((1, 3), 3)
    assert leader.manager.isr_change_notification() == Create(
        "/isr_change_notification/isr_change_", (T0,), sequential=True
    )


def finds_its_own_write(kind: Kind) -> None:
    """Its reply was lost, and the version is not the expected one. [KAFKA-1382]"""
    leader = Leader(kind)
    leader.drive(leader.manager.maybe_expand_isr(T0, 3), lose_the_reply=True)
    assert leader.knows() == ((1, 2, 3), 2)


def gives_way_to_other_writers(kind: Kind) -> None:
    """The controller has removed a member: the leader keeps its knowledge, and writes no more."""
    leader = Leader(kind)
    leader.cluster.leader_writes(T0, (1,))
    for _ in range(2):
        leader.drive(leader.manager.maybe_expand_isr(T0, 3))
        assert leader.knows() == ((1, 2), 1)
    assert leader.cluster.state(T0).isr == (1,)
    assert leader.manager.isr_change_notification() is None
    leader.broker.lead(1, 4, replicas=(1,), partition_epoch=2, epoch=5)
    leader.drive(leader.manager.maybe_expand_isr(T0, 3))
    assert leader.knows() == ((1, 3), 3)


class DoesNotReadBack(ZkAlterPartitionManager):
    """It takes every conflict for another's write. [B36, until 0.8.1]"""

    def answered(self, update: IsrUpdate, responses: Any) -> IsrUpdate | None:
        return None if responses[0].code is Code.BADVERSION else super().answered(update, responses)


class TakesWhatItReads(ZkAlterPartitionManager):
    """It takes every state that it reads for its own write."""

    def answered(self, update: IsrUpdate, responses: Any) -> IsrUpdate | None:
        if responses[0].data is not None:
            responses = [ZkResponse(Code.OK, version=responses[0].version)]
            update = IsrUpdate(type(update.due).SetTopicPartitionStates, update.partition, update.leader_and_isr)
        return super().answered(update, responses)


class WritesAnyVersion(ZkAlterPartitionManager):
    """It writes whatever the version."""

    def requests(self, update: IsrUpdate) -> tuple[ZkRequest, ...]:
        any_version = update.leader_and_isr._replace(partition_epoch=-1)
        return super().requests(update._replace(leader_and_isr=any_version))


class SignsWithTheNewestController(ZkAlterPartitionManager):
    """It writes the newest controller epoch that it knows, not the epoch of the controller that made it leader."""

    def requests(self, update: IsrUpdate) -> tuple[ZkRequest, ...]:
        state = self.replica_manager.state
        hosted = state.all_partitions[update.partition]
        newest = state.controller_epoch + 1
        state.all_partitions[update.partition] = hosted._replace(controller_epoch=newest)
        return super().requests(update)


MUTANTS: list[tuple[Kind, Callable[[Kind], None]]] = [
    (SignsWithTheNewestController, writes_its_isr),
    (DoesNotReadBack, finds_its_own_write),
    (TakesWhatItReads, gives_way_to_other_writers),
    (WritesAnyVersion, gives_way_to_other_writers),
]


test_the_manager_passes, test_each_mutant_is_caught = mutant_tests(ZkAlterPartitionManager, MUTANTS)


@pytest.mark.parametrize("code", [Code.NONODE, Code.SESSIONEXPIRED])
def test_other_zookeeper_errors_end_the_change(code: Code) -> None:
    """Nothing is known and nothing changes, after the write or after the read that follows it."""
    leader = Leader()
    update = leader.manager.maybe_expand_isr(T0, 3)
    assert update is not None
    assert leader.manager.answered(update, [ZkResponse(code)]) is None
    reading = leader.manager.answered(update, [ZkResponse(Code.BADVERSION)])
    assert reading is not None
    assert leader.manager.answered(reading, [ZkResponse(code)]) is None
    assert leader.knows() == ((1, 2), 1)
    assert leader.manager.isr_change_notification() is None


def test_unchanged_isrs_are_not_written() -> None:
    """A replica that is already a member joins, and one that was not a member leaves."""
    leader = Leader()
    assert leader.manager.maybe_expand_isr(T0, 2) is None
    assert leader.manager.maybe_shrink_isr(T0, [3]) is None


def test_a_notification_names_every_change_since_the_last_one() -> None:
    """It is a sequential node."""
    leader = Leader()
    leader.manager.state.isr_change_set = frozenset({T1, T0})
    notification = leader.manager.isr_change_notification()
    assert notification is not None
    zookeeper = ZooKeeper()
    zookeeper.create(None, "/isr_change_notification")
    retry_requests_until_connected(zookeeper, None, [notification])
    assert zookeeper.get(None, "/isr_change_notification/isr_change_0000000000")[0] == (T0, T1)
    leader.manager.notified()
    assert leader.manager.isr_change_notification() is None


def test_impossible_calls_are_refused() -> None:
    """With the name of the partition or broker; nothing changes."""
    leader = Leader()
    before = leader.broker.known()
    update = leader.manager.maybe_expand_isr(T0, 3)
    assert update is not None
    with pytest.raises(ValueError, match="broker 1 does not lead t-1"):
        leader.manager.maybe_expand_isr(T1, 3)
    with pytest.raises(ValueError, match="broker 1 leads t-0, and does not leave its ISR"):
        leader.manager.maybe_shrink_isr(T0, [1, 2])
    with pytest.raises(ValueError, match="one request has 2 answers"):
        leader.manager.answered(update, [ZkResponse(Code.OK)] * 2)
    assert leader.broker.known() == before


def test_a_former_leader_is_refused() -> None:
    """In Kafka, LeaderAndIsr waits for the write."""
    leader = Leader()
    update = leader.manager.maybe_expand_isr(T0, 3)
    assert update is not None
    assert update.leader_and_isr == LeaderAndIsr(1, 3, (1, 2, 3), partition_epoch=1)
    leader.broker.lead(2, 4)
    with pytest.raises(ValueError, match="broker 1 does not lead t-0"):
        leader.manager.answered(update, [ZkResponse(Code.OK, version=2)])


def test_the_controller_learns_of_a_change_by_notification() -> None:
    """It then informs all brokers; until then it uses its old knowledge."""
    design = ControlDesign("2.6")
    cluster = EventCluster(design=design)
    cluster.create_topic("t", (1, 2))
    cluster.take_over()
    broker = Broker(design)
    broker.manager.become_leader_or_follower(
        next(request for to, request in cluster.sent if to == 1 and isinstance(request, LeaderAndIsrRequest))
    )
    cluster.forget()
    manager = ZkAlterPartitionManager(broker.manager)
    update = manager.maybe_shrink_isr(T0, [2])
    while update is not None:
        responses = retry_requests_until_connected(cluster.zookeeper, None, manager.requests(update))
        update = manager.answered(update, responses)
    assert (cluster.state(T0).isr, cluster.known(T0).isr) == ((1,), (1, 2))
    notification = manager.isr_change_notification()
    assert notification is not None
    retry_requests_until_connected(cluster.zookeeper, None, [notification])
    assert cluster.process("process_isr_change_notification").failure is None
    assert cluster.known(T0).isr == (1,)
    assert cluster.metadata()[3].partitionStates[0].isr == (1,)
    assert not cluster.exists("/isr_change_notification/isr_change_0000000000")
