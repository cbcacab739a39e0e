"""How a controller processes a leader's AlterPartition; and controllers with one mistake each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from election.brokers import InvalidBrokers
from statemachines.controller.alter_partition import (
    AlteredPartitions,
    AlteringPartitions,
    AlterPartitionData,
    AlterPartitionOutcome,
    AlterPartitionProcessor,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionStep,
)
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.kafka_zk_client import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.messages.control_requests import UpdateMetadataRequest
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.topic_partition import TopicPartition
from statemachines.zookeeper.tree import Code
from tests.mutants import mutant_tests
from tests.statemachines.control import CONTROLLER, EPOCH, T0, T1, Cluster

Kind = type[AlterPartitionProcessor]
RECOVERED, RECOVERING = LeaderRecoveryState.RECOVERED, LeaderRecoveryState.RECOVERING


def wanted(
    *isr: int,
    leader_epoch: int = 3,
    partition_epoch: int = 1,
    recovery: LeaderRecoveryState = RECOVERED,
    partition: TopicPartition = T0,
) -> AlterPartitionData:
    """The new state that a leader asks for; by default it knows what the controller knows."""
    return AlterPartitionData(partition, leader_epoch, isr, recovery, partition_epoch)


class Altering:
    """A controller that knows of t-0 and t-1, led by broker 1 in epoch 3, with 1 and 2 in the ISR."""

    def __init__(self, kind: Kind = AlterPartitionProcessor, design: ControlDesign | None = None) -> None:
        self.cluster = Cluster((1, 2, 3), design)
        for partition in (T0, T1):
            self.cluster.lead(partition, 1, (1, 2), 3, replicas=(1, 2, 3))
        self.processor = kind(self.cluster.context, self.cluster.batch, design)

    def alter(
        self,
        *data: AlterPartitionData,
        broker: int = 1,
        broker_epoch: int = 101,
        is_active: bool = True,
        before: Callable[[], object] = lambda: None,
    ) -> AlteredPartitions:
        """A leader asks; `before` runs ahead of the first request to ZooKeeper."""
        request = AlterPartitionRequest(broker, broker_epoch, data)
        step: AlterPartitionStep = self.processor.process_alter_partition(request, is_active)
        before()
        while isinstance(step, AlteringPartitions):
            requests = self.processor.requests(step)
            step = self.processor.answered(
                step, retry_requests_until_connected(self.cluster.zookeeper, None, requests)
            )
        return step

    def outcome(self, *data: AlterPartitionData, **how: Any) -> AlterPartitionOutcome:
        """The result for one partition, or for the request if it is refused as a whole."""
        response = self.alter(*data, **how).response
        return response.partitions[0][1] if response.partitions else response.errorCode

    def is_unchanged(self) -> bool:
        """Whether the ISR of t-0 is unchanged, in ZooKeeper and for the controller."""
        known = self.cluster.known(T0)
        return (self.cluster.version(T0), known.isr, known.partition_epoch) == (1, (1, 2), 1)


def altered(*isr: int) -> LeaderAndIsr:
    """The first change that succeeds."""
    return LeaderAndIsr(1, 3, isr, RECOVERED, 2)


def writes_the_isr(kind: Kind) -> None:
    """In the same leader epoch; the controller caches it, and only UpdateMetadata informs the brokers."""
    altering = Altering(kind)
    altering.cluster.shut_down(3)
    assert altering.outcome(wanted(1)) == altered(1)
    assert altering.cluster.state(T0)[:3] == (1, 3, (1,))
    assert altering.cluster.written(T0).controller_epoch == EPOCH
    assert altering.cluster.known(T0) == altered(1)
    assert [(broker, type(request)) for broker, request in altering.cluster.sent] == [
        (broker, UpdateMetadataRequest) for broker in (1, 2, 3)
    ]
    assert altering.cluster.metadata()[3].partitionStates[0].isr == (1,)


def answers_as_controller_only(kind: Kind) -> None:
    """A broker that is not the controller says so."""
    altering = Altering(kind)
    assert altering.outcome(wanted(1), is_active=False) is Errors.NOT_CONTROLLER
    assert altering.is_unchanged()


def knows_the_registration(kind: Kind) -> None:
    """It refuses an earlier or later registration, and that of a broker which is not there."""
    altering = Altering(kind)
    for broker, epoch in ((1, 100), (1, 102), (4, 104)):
        assert altering.outcome(wanted(1), broker=broker, broker_epoch=epoch) is Errors.STALE_BROKER_EPOCH
    assert altering.is_unchanged()
    assert altering.cluster.sent == []


def fences_older_leaders(kind: Kind) -> None:
    """Another leader has been elected since."""
    altering = Altering(kind)
    assert altering.outcome(wanted(1, leader_epoch=2)) is Errors.FENCED_LEADER_EPOCH
    assert altering.is_unchanged()


def redirects_a_leader_that_is_ahead(kind: Kind) -> None:
    """There must be another controller by now. [KAFKA-14154]"""
    altering = Altering(kind)
    for ahead in (wanted(1, leader_epoch=4), wanted(1, partition_epoch=2), wanted(1, 2, partition_epoch=2)):
        assert altering.outcome(ahead) is Errors.NOT_CONTROLLER
    assert altering.is_unchanged()


def answers_a_repeated_request_like_the_first(kind: Kind) -> None:
    """Its response was lost: the leader does not know the new version. [KAFKA-14144]"""
    altering = Altering(kind)
    assert altering.outcome(wanted(1, 2, 3)) == altering.outcome(wanted(1, 2, 3)) == altered(1, 2, 3)
    assert altering.cluster.version(T0) == 2


def refuses_a_stale_one(kind: Kind) -> None:
    """A leader with an old version may have an old ISR."""
    altering = Altering(kind)
    altering.alter(wanted(1, 2, 3))
    assert altering.outcome(wanted(1)) is Errors.INVALID_UPDATE_VERSION
    assert altering.cluster.state(T0).isr == (1, 2, 3)


def admits_the_living(kind: Kind) -> None:
    """A broker that is down, or shutting down, cannot join an ISR. [KAFKA-14140]"""
    altering = Altering(kind)
    altering.cluster.shut_down(3)
    for isr in ((1, 2, 3), (1, 2, 4)):
        assert altering.outcome(wanted(*isr)) is Errors.INELIGIBLE_REPLICA
    assert altering.is_unchanged()


def checks_recovery(kind: Kind) -> None:
    """A recovering leader is alone in its ISR, and only one that was elected uncleanly recovers."""
    altering = Altering(kind)
    for isr in ((1,), (1, 2)):
        assert altering.outcome(wanted(*isr, recovery=RECOVERING)) is Errors.INVALID_REQUEST
    assert altering.is_unchanged()


def gives_way_to_other_writers(kind: Kind) -> None:
    """The state was written without the controller's knowledge."""
    altering = Altering(kind)
    answer = altering.outcome(wanted(1), before=lambda: altering.cluster.leader_writes(T0, (1, 2, 3)))
    assert answer is Errors.INVALID_UPDATE_VERSION
    assert altering.cluster.state(T0).isr == (1, 2, 3)


def is_fenced(kind: Kind) -> None:
    """A replaced controller writes nothing. It neither gives the reason nor resigns here."""
    altering = Altering(kind)
    assert altering.alter(wanted(1), before=altering.cluster.elect_another_controller) == AlteredPartitions(
        AlterPartitionResponse(Errors.UNKNOWN_SERVER_ERROR)
    )
    assert altering.is_unchanged()
    assert altering.cluster.sent == []


def judges_each_partition(kind: Kind) -> None:
    """One partition is refused, the other is changed, and brokers are informed of both."""
    altering = Altering(kind)
    done = altering.alter(wanted(1, leader_epoch=2), wanted(1, partition=T1))
    assert done.response.partitions == ((T0, Errors.FENCED_LEADER_EPOCH), (T1, altered(1)))
    states = altering.cluster.metadata()[1].partitionStates
    assert [(state.partition.partition, state.isr) for state in states] == [(0, (1, 2)), (1, (1,))]


class Differently(AlterPartitionProcessor):
    """A controller that accepts requests which it should refuse with this error."""

    takes: Errors

    def _judged(self, partition: TopicPartition, new: LeaderAndIsr) -> AlterPartitionOutcome | None:
        outcome = super()._judged(partition, new)
        return None if outcome is self.takes else outcome


class TakesAnyLeaderEpoch(Differently):
    """An old leader changes the ISR of a new one."""

    takes = Errors.FENCED_LEADER_EPOCH


class TakesWhoIsAhead(Differently):
    """It serves a leader that knows of a newer controller."""

    takes = Errors.NOT_CONTROLLER


class TakesAnyRecovery(Differently):
    """It does not check recovery."""

    takes = Errors.INVALID_REQUEST


class AdmitsTheDead(Differently):
    """It does not check which brokers are live."""

    takes = Errors.INELIGIBLE_REPLICA


class TakesAStaleAlterPartition(AlterPartitionProcessor):
    """It writes at the version that it knows itself, not at the leader's."""

    def process_alter_partition(self, request: AlterPartitionRequest, is_active: bool = True) -> AlterPartitionStep:
        data = []
        for each in request.partitions:
            known = self.context.leadership_of(each.partition)
            assert known is not None
            version = max(each.partitionEpoch, known.leader_and_isr.partition_epoch)
            data.append(each._replace(partitionEpoch=version))
        return super().process_alter_partition(request._replace(partitions=tuple(data)), is_active)


class FencesRepeatedRequests(AlterPartitionProcessor):
    """It checks the version first, as between the two fixes of 3.3."""

    def _judged(self, partition: TopicPartition, new: LeaderAndIsr) -> AlterPartitionOutcome | None:
        known = self.context.leadership_of(partition)
        stale = known is not None and new.partition_epoch < known.leader_and_isr.partition_epoch
        return Errors.INVALID_UPDATE_VERSION if stale else super()._judged(partition, new)


class IgnoresTheRegistration(AlterPartitionProcessor):
    """It takes every request for one of a registered broker."""

    def process_alter_partition(self, request: AlterPartitionRequest, is_active: bool = True) -> AlterPartitionStep:
        return super().process_alter_partition(request._replace(brokerId=1, brokerEpoch=101), is_active)


class ActsAsController(AlterPartitionProcessor):
    """It does not check whether it is the controller."""

    def process_alter_partition(self, request: AlterPartitionRequest, is_active: bool = True) -> AlterPartitionStep:
        return super().process_alter_partition(request, True)


class BumpsTheLeaderEpoch(AlterPartitionProcessor):
    """Each change of an ISR increments the leader epoch."""

    def requests(self, change: Any) -> tuple[ZkRequest, ...]:
        updates = (
            update._replace(
                leader_and_isr=update.leader_and_isr._replace(leader_epoch=update.leader_and_isr.leader_epoch + 1)
            )
            for update in change.updates
        )
        return super().requests(change._replace(updates=tuple(updates)))


class DoesNotReadItsWrites(AlterPartitionProcessor):
    """It continues with its old knowledge."""

    def _read(self, change: AlteringPartitions, responses: Sequence[ZkResponse]) -> AlterPartitionStep:
        return self._answer(change)


class OverwritesOthers(AlterPartitionProcessor):
    """It takes a conflict for a success."""

    def _written(self, change: AlteringPartitions, responses: Sequence[ZkResponse]) -> AlterPartitionStep:
        return super()._written(change, [response._replace(code=Code.OK) for response in responses])


class GoesOnAfterTheFence(AlterPartitionProcessor):
    """It takes the fence for an error like any other."""

    def answered(self, change: AlteringPartitions, responses: Sequence[ZkResponse]) -> AlterPartitionStep:
        if any(response.results[:1] == (Code.BADVERSION,) for response in responses):
            return self._answer(change)
        return super().answered(change, responses)


class OneForAll(AlterPartitionProcessor):
    """One refused partition stops all of them."""

    def process_alter_partition(self, request: AlterPartitionRequest, is_active: bool = True) -> AlterPartitionStep:
        step = super().process_alter_partition(request, is_active)
        refused = isinstance(step, AlteringPartitions) and len(step.updates) < len(step.outcomes)
        return AlteredPartitions(AlterPartitionResponse(Errors.NONE)) if refused else step


MUTANTS: list[tuple[Kind, Callable[[Kind], None]]] = [
    (BumpsTheLeaderEpoch, writes_the_isr),
    (DoesNotReadItsWrites, writes_the_isr),
    (ActsAsController, answers_as_controller_only),
    (IgnoresTheRegistration, knows_the_registration),
    (TakesAnyLeaderEpoch, fences_older_leaders),
    (TakesWhoIsAhead, redirects_a_leader_that_is_ahead),
    (FencesRepeatedRequests, answers_a_repeated_request_like_the_first),
    (TakesAStaleAlterPartition, refuses_a_stale_one),
    (AdmitsTheDead, admits_the_living),
    (TakesAnyRecovery, checks_recovery),
    (OverwritesOthers, gives_way_to_other_writers),
    (GoesOnAfterTheFence, is_fenced),
    (OneForAll, judges_each_partition),
]


test_the_controller_passes, test_each_mutant_is_caught = mutant_tests(AlterPartitionProcessor, MUTANTS)


def test_a_partition_without_leader_is_unknown() -> None:
    """The controller replies, and sends brokers nothing about it."""
    altering = Altering()
    assert altering.outcome(wanted(1, partition=TopicPartition("u", 0))) is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert {request.partitionStates for request in altering.cluster.metadata().values()} == {()}


@pytest.mark.parametrize(
    ("release", "ahead", "behind", "dead", "recovering"),
    [
        ("2.7", Errors.INVALID_UPDATE_VERSION, Errors.INVALID_UPDATE_VERSION, altered(1, 4), None),
        ("3.2", Errors.INVALID_UPDATE_VERSION, Errors.INVALID_UPDATE_VERSION, altered(1, 4), Errors.INVALID_REQUEST),
        (
            "3.3",
            Errors.NOT_CONTROLLER,
            Errors.INVALID_UPDATE_VERSION,
            Errors.INELIGIBLE_REPLICA,
            Errors.INVALID_REQUEST,
        ),
    ],
)
def test_checks_that_older_controllers_lack(
    release: str,
    ahead: AlterPartitionOutcome,
    behind: AlterPartitionOutcome,
    dead: AlterPartitionOutcome,
    recovering: Errors | None,
) -> None:
    """They leave the version check to ZooKeeper."""
    design = ControlDesign(release)
    assert Altering(design=design).outcome(wanted(1, partition_epoch=2)) == ahead
    assert Altering(design=design).outcome(wanted(1, partition_epoch=0)) == behind
    assert Altering(design=design).outcome(wanted(1, 4)) == dead
    if recovering is not None:
        assert Altering(design=design).outcome(wanted(1, recovery=RECOVERING)) == recovering


def test_until_3_2_an_older_controller_takes_equal_for_done() -> None:
    """Even if the leader is ahead, and the receiver is no longer controller. [B34]"""
    outcomes = [
        Altering(design=ControlDesign(release)).outcome(wanted(1, 2, partition_epoch=7)) for release in ("3.2", "3.3")
    ]
    assert outcomes == [LeaderAndIsr(1, 3, (1, 2), RECOVERED, 1), Errors.NOT_CONTROLLER]


def test_a_reassignment_may_be_complete() -> None:
    """If the ISR is the requested one; a refused request completes nothing."""
    altering = Altering()
    altering.cluster.context.state.partitions_being_reassigned = frozenset({T0, T1})
    done = altering.alter(wanted(1, 2, 3), wanted(1, leader_epoch=2, partition=T1))
    assert done.may_complete == (T0,)


def test_an_unsendable_request_makes_the_controller_resign() -> None:
    """The ISR is written, but the leader receives an error. The batch is empty then."""
    altering = Altering()
    altering.cluster.batch.add_stop_replica_request_for_brokers([2], T0, delete_partition=False)
    done = altering.alter(wanted(1))
    assert done == AlteredPartitions(AlterPartitionResponse(Errors.UNKNOWN_SERVER_ERROR), illegal_state=True)
    assert altering.cluster.state(T0).isr == (1,)
    altering.cluster.batch.new_batch()


@pytest.mark.parametrize("code", [Code.NONODE, Code.SESSIONEXPIRED])
def test_other_zookeeper_errors_are_returned(code: Code) -> None:
    """An error of the write: for the partition. Of the read that follows it: for the request."""
    altering = Altering()
    step = altering.processor.process_alter_partition(AlterPartitionRequest(1, 101, (wanted(1),)))
    assert isinstance(step, AlteringPartitions)
    over = altering.processor.answered(step, [ZkResponse(code, results=(Code.OK, code))])
    assert isinstance(over, AlteredPartitions)
    assert over.response.partitions == ((T0, Errors.UNKNOWN_SERVER_ERROR),)
    reading = altering.processor._written(step, [ZkResponse(Code.OK, version=2)])
    assert isinstance(reading, AlteringPartitions)
    read = altering.processor.answered(reading, [ZkResponse(code)])
    assert isinstance(read, AlteredPartitions)
    expected = Errors.NONE if code is Code.NONODE else Errors.UNKNOWN_SERVER_ERROR
    assert read.response.errorCode is expected


@pytest.mark.parametrize("read_back", [False, True])
def test_a_write_with_lost_reply_is_recognized(read_back: bool) -> None:
    """K10: ZooKeeper refuses the repeated write, and only a read back informs the controller and the leader."""
    altering = Altering(design=ControlDesign().but(read_back_alteration=read_back))
    outcome = altering.outcome(wanted(1), before=lambda: altering.cluster.leader_writes(T0, (1,)))
    assert outcome == (altered(1) if read_back else Errors.INVALID_UPDATE_VERSION)
    assert altering.cluster.known(T0).isr == ((1,) if read_back else (1, 2))


def test_a_conflicting_write_is_read_back_and_refused() -> None:
    """The controller then knows the state in ZooKeeper. [proposed]"""
    altering = Altering(design=ControlDesign().but(read_back_alteration=True))
    outcome = altering.outcome(wanted(1), before=lambda: altering.cluster.leader_writes(T0, (1, 2, 3)))
    assert outcome is Errors.INVALID_UPDATE_VERSION
    assert altering.cluster.known(T0).isr == (1, 2, 3)


def test_a_session_end_is_an_error_of_each_partition() -> None:
    """A multi that was not executed has no results. [RequestFailed]"""
    altering = Altering()
    step = altering.processor.process_alter_partition(AlterPartitionRequest(1, 101, (wanted(1),)))
    assert isinstance(step, AlteringPartitions)
    over = altering.processor.answered(step, [ZkResponse(Code.SESSIONEXPIRED)])
    assert isinstance(over, AlteredPartitions)
    assert over.response == AlterPartitionResponse(Errors.NONE, ((T0, Errors.UNKNOWN_SERVER_ERROR),))


def test_impossible_requests_are_refused() -> None:
    """With the partition's name; nothing changes."""
    altering = Altering()
    with pytest.raises(ValueError, match="t-0 occurs twice in a request"):
        altering.alter(wanted(1), wanted(1, 2))
    with pytest.raises(InvalidBrokers, match="ISR of t-0: broker 1 occurs twice"):
        altering.alter(wanted(1, 1))
    with pytest.raises(InvalidBrokers, match="-1 is no broker id"):
        altering.alter(wanted(-1))
    assert altering.is_unchanged()


def test_the_controller_sends_the_new_state() -> None:
    """In its own batch."""
    altering = Altering()
    altering.alter(wanted(1))
    assert {request.controllerId for request in altering.cluster.metadata().values()} == {CONTROLLER}
