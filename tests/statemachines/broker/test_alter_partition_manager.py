"""How leaders have their ISRs changed by the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.brokers import InvalidBrokers
from statemachines.broker.alter_partition_manager import AlterPartitionManager
from statemachines.broker.hosted_partition import CommittedPartitionState, HostedPartition, PendingPartitionChange
from statemachines.controller.alter_partition import (
    AlterPartitionOutcome,
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from statemachines.controller.calls import call
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.event_driver import carry_out
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import TopicPartition
from tests.mutants import mutant_tests
from tests.statemachines.control import T0, T1, Cluster
from tests.statemachines.receiving import BROKER_EPOCH, Broker

Kind = type[AlterPartitionManager]


class Leader:
    """Broker 1, which leads t-0 and t-1 in epoch 3 at partition epoch 1, with 1 and 2 in the ISR."""

    def __init__(self, kind: Kind = AlterPartitionManager, release: str = "3.9") -> None:
        self.broker = Broker(ControlDesign(release))
        self.tell(3, 1, T0, T1)
        self.manager = kind(self.broker.manager, lambda: BROKER_EPOCH)

    def tell(self, leader_epoch: int, partition_epoch: int, *partitions: TopicPartition, leader: int = 1) -> None:
        """Receive LeaderAndIsr with the ISR 1 and 2."""
        errors = self.broker.lead(
            leader, leader_epoch, *partitions, replicas=(1, 2), partition_epoch=partition_epoch, epoch=5
        )
        assert set(errors) == {Errors.NONE}

    def hosted(self, partition: TopicPartition = T0) -> HostedPartition:
        """Its knowledge of a partition."""
        return self.broker.hosted(partition)

    def send(self) -> AlterPartitionRequest:
        """The due request."""
        request = self.manager.maybe_propagate_isr_changes()
        assert request is not None
        return request

    def hear(self, *outcomes: AlterPartitionOutcome, error: Errors = Errors.NONE) -> bool:
        """Receive the response for t-0 and t-1."""
        return self.manager.answered(AlterPartitionResponse(error, tuple(zip((T0, T1), outcomes, strict=False))))


def altered(*isr: int, leader_epoch: int = 3, partition_epoch: int = 2) -> LeaderAndIsr:
    """The controller's new state of a partition."""
    return LeaderAndIsr(1, leader_epoch, isr, partition_epoch=partition_epoch)


def commits_on_the_response(kind: Kind) -> None:
    """Not earlier; the leader then knows the new version, and continues from it."""
    leader = Leader(kind)
    assert leader.manager.maybe_expand_isr(T0, 3)
    assert (leader.hosted().state.isr, leader.hosted().state.maximal_isr) == ((1, 2), (1, 2, 3))
    (data,) = leader.send().partitions
    assert (data.newIsr, data.leaderEpoch, data.partitionEpoch) == ((1, 2, 3), 3, 1)
    assert leader.hear(altered(1, 2, 3))
    assert (leader.hosted().state, leader.hosted().partition_epoch) == (CommittedPartitionState((1, 2, 3)), 2)
    assert leader.manager.maybe_shrink_isr(T0, [2])
    assert leader.hosted().state.maximal_isr == (1, 2, 3)
    assert leader.send().partitions[0].newIsr == (1, 3)


def has_one_change_under_way(kind: Kind) -> None:
    """One for each partition; the next is proposed when the result of the first is known."""
    leader = Leader(kind)
    assert leader.manager.maybe_shrink_isr(T0, [2])
    before = leader.hosted()
    assert not leader.manager.maybe_expand_isr(T0, 3)
    assert not leader.manager.maybe_shrink_isr(T0, [2])
    assert leader.hosted() == before


def has_one_request_under_way(kind: Kind) -> None:
    """Changes proposed meanwhile go into the next request."""
    leader = Leader(kind)
    leader.manager.maybe_expand_isr(T0, 3)
    leader.send()
    leader.manager.maybe_expand_isr(T1, 3)
    assert leader.manager.maybe_propagate_isr_changes() is None
    leader.hear(altered(1, 2, 3))
    assert [data.partition.partition for data in leader.send().partitions] == [1]


def goes_back_to_what_was_committed(kind: Kind) -> None:
    """If nothing was written, and nothing will be."""
    for error in (Errors.INELIGIBLE_REPLICA, Errors.OPERATION_NOT_ATTEMPTED):
        leader = Leader(kind)
        leader.manager.maybe_expand_isr(T0, 3)
        leader.send()
        leader.hear(error)
        assert leader.hosted().state == CommittedPartitionState((1, 2))


def waits_for_leader_and_isr(kind: Kind) -> None:
    """If the leader may be out of date: the larger ISR counts until LeaderAndIsr arrives."""
    for error in (Errors.FENCED_LEADER_EPOCH, Errors.INVALID_UPDATE_VERSION, Errors.INVALID_REQUEST):
        leader = Leader(kind)
        leader.manager.maybe_expand_isr(T0, 3)
        leader.send()
        leader.hear(error)
        assert leader.hosted().state.maximal_isr == (1, 2, 3)
        assert leader.manager.maybe_propagate_isr_changes() is None
        leader.tell(4, 2, T0)
        assert leader.manager.maybe_expand_isr(T0, 3)


def asks_again_after_an_error(kind: Kind) -> None:
    """An error that says nothing about the partition."""
    leader = Leader(kind)
    leader.manager.maybe_expand_isr(T0, 3)
    request = leader.send()
    leader.hear(Errors.UNKNOWN_SERVER_ERROR)
    assert leader.send() == request
    leader.hear(error=Errors.STALE_BROKER_EPOCH)
    assert leader.send() == request


def looks_for_the_controller(kind: Kind) -> None:
    """If the receiver is not the controller, the same request goes to another, whatever else the response says."""
    leader = Leader(kind)
    for partition in (T0, T1):
        leader.manager.maybe_expand_isr(partition, 3)
    leader.send()
    assert not leader.hear(error=Errors.NOT_CONTROLLER)
    assert not leader.hear(altered(1, 2, 3), Errors.NOT_CONTROLLER)
    assert leader.manager.maybe_propagate_isr_changes() is None
    assert leader.hosted().state.isr == (1, 2)
    assert leader.hear(altered(1, 2, 3), altered(1, 2, 3))


def ignores_overtaken_responses(kind: Kind) -> None:
    """LeaderAndIsr has brought a newer state than the response."""
    leader = Leader(kind)
    leader.manager.maybe_expand_isr(T0, 3)
    leader.send()
    leader.tell(4, 5, T0)
    before = leader.hosted()
    leader.hear(altered(1, 2, 3))
    assert leader.hosted() == before


def keeps_the_place_of_an_unanswered_one(kind: Kind) -> None:
    """A proposal of the new epoch's leader is not attempted before the old response arrives."""
    leader = Leader(kind)
    leader.manager.maybe_expand_isr(T0, 3)
    leader.send()
    leader.tell(4, 5, T0)
    leader.manager.maybe_expand_isr(T0, 3)
    assert leader.hosted().state == CommittedPartitionState((1, 2))
    leader.hear(Errors.FENCED_LEADER_EPOCH)
    assert leader.manager.maybe_expand_isr(T0, 3)
    assert leader.send().partitions[0].leaderEpoch == 4


def ignores_older_answers(kind: Kind) -> None:
    """Responses of another leader epoch, or of an older version."""
    for answer in (altered(1, leader_epoch=4), altered(1, partition_epoch=0)):
        leader = Leader(kind)
        leader.manager.maybe_shrink_isr(T0, [2])
        leader.send()
        leader.hear(answer)
        assert leader.hosted().state.isr == (1, 2)


class CommitsBeforeTheAnswer(AlterPartitionManager):
    """The leader adopts its ISR as soon as it sends the request."""

    def _propose(self, partition: TopicPartition, hosted: HostedPartition) -> None:
        super()._propose(partition, hosted)
        assert not isinstance(hosted.state, CommittedPartitionState)
        self._complete(partition, hosted.state, hosted.state.sent_leader_and_isr)


class ProposesOverAProposal(AlterPartitionManager):
    """It replaces a pending change."""

    def maybe_expand_isr(self, partition: TopicPartition, replica: int) -> bool:
        hosted = self.replica_manager.led(partition)
        committed = CommittedPartitionState(hosted.state.isr)
        self.replica_manager.state.all_partitions[partition] = hosted._replace(state=committed)
        return super().maybe_expand_isr(partition, replica)


class SendsAtOnce(AlterPartitionManager):
    """It does not wait for a response."""

    def maybe_propagate_isr_changes(self) -> AlterPartitionRequest | None:
        self.state.in_flight = None
        return super().maybe_propagate_isr_changes()


class Taking(AlterPartitionManager):
    """It mistakes some errors for others."""

    taken: Mapping[AlterPartitionOutcome, Errors] = {}

    def _complete(
        self, partition: TopicPartition, proposed: PendingPartitionChange, outcome: AlterPartitionOutcome
    ) -> None:
        super()._complete(partition, proposed, self.taken.get(outcome, outcome))


class WaitsForEver(Taking):
    """An ineligible replica leaves the change pending. [3.2]"""

    taken = {Errors.INELIGIBLE_REPLICA: Errors.FENCED_LEADER_EPOCH}


class GoesBackAtOnce(Taking):
    """It takes back a change that may have been written."""

    taken = {Errors.INVALID_UPDATE_VERSION: Errors.INELIGIBLE_REPLICA}


class GivesUp(Taking):
    """It treats every error as final."""

    taken = {Errors.UNKNOWN_SERVER_ERROR: Errors.FENCED_LEADER_EPOCH}


class TakesAnyController(AlterPartitionManager):
    """It believes a receiver that is not the controller."""

    def answered(self, response: AlterPartitionResponse) -> bool:
        partitions = tuple(each for each in response.partitions if each[1] is not Errors.NOT_CONTROLLER)
        return super().answered(AlterPartitionResponse(Errors.NONE, partitions))


class TakesOvertakenAnswers(AlterPartitionManager):
    """It ignores the state's changes since the request."""

    def _complete(
        self, partition: TopicPartition, proposed: PendingPartitionChange, outcome: AlterPartitionOutcome
    ) -> None:
        partitions = self.replica_manager.state.all_partitions
        if isinstance(outcome, LeaderAndIsr):
            outcome = outcome._replace(leader_epoch=partitions[partition].leader_epoch, partition_epoch=9)
        partitions[partition] = partitions[partition]._replace(state=proposed)
        super()._complete(partition, proposed, outcome)


class TakesAnyVersion(AlterPartitionManager):
    """It does not compare versions."""

    def _complete(
        self, partition: TopicPartition, proposed: PendingPartitionChange, outcome: AlterPartitionOutcome
    ) -> None:
        if isinstance(outcome, LeaderAndIsr):
            outcome = outcome._replace(leader_epoch=3, partition_epoch=2)
        super()._complete(partition, proposed, outcome)


class ForgetsTheOldProposal(AlterPartitionManager):
    """It frees the place for the next proposal. [until 2.8]"""

    def _submit(self, partition: TopicPartition, proposed: PendingPartitionChange) -> None:
        self.state.unsent_isr_updates.pop(partition, None)
        super()._submit(partition, proposed)


MUTANTS: list[tuple[Kind, Callable[[Kind], None]]] = [
    (CommitsBeforeTheAnswer, commits_on_the_response),
    (ProposesOverAProposal, has_one_change_under_way),
    (SendsAtOnce, has_one_request_under_way),
    (WaitsForEver, goes_back_to_what_was_committed),
    (GoesBackAtOnce, waits_for_leader_and_isr),
    (GivesUp, asks_again_after_an_error),
    (TakesAnyController, looks_for_the_controller),
    (TakesOvertakenAnswers, ignores_overtaken_responses),
    (ForgetsTheOldProposal, keeps_the_place_of_an_unanswered_one),
    (TakesAnyVersion, ignores_older_answers),
]


test_the_manager_passes, test_each_mutant_is_caught = mutant_tests(AlterPartitionManager, MUTANTS)


def test_since_3_3_dead_brokers_do_not_join() -> None:
    """Dead as far as the leader knows. [KAFKA-14140]"""
    proposed = [Leader(release=release).manager.maybe_expand_isr(T0, 4) for release in ("3.2", "3.3")]
    assert proposed == [True, False]


def test_unchanged_isrs_are_not_proposed() -> None:
    """A replica that is already a member joins, and one that was not a member leaves."""
    leader = Leader()
    assert not leader.manager.maybe_expand_isr(T0, 2)
    assert not leader.manager.maybe_shrink_isr(T0, [3])
    assert leader.manager.maybe_propagate_isr_changes() is None


def test_partitions_missing_in_the_response_are_resent() -> None:
    """The controller left them out by mistake."""
    leader = Leader()
    for partition in (T0, T1):
        leader.manager.maybe_expand_isr(partition, 3)
    leader.send()
    leader.hear(altered(1, 2, 3))
    assert [data.partition.partition for data in leader.send().partitions] == [1]


def test_a_deleted_partition_needs_no_response() -> None:
    """It was deleted after the request."""
    leader = Leader()
    leader.manager.maybe_expand_isr(T0, 3)
    leader.send()
    leader.broker.stop(-2, delete=True)
    assert leader.hear(altered(1, 2, 3))
    assert T0 not in leader.broker.manager.state.all_partitions


def test_impossible_calls_are_refused() -> None:
    """With the name of the partition or broker; nothing changes."""
    leader = Leader()
    leader.tell(4, 2, T1, leader=2)
    before = leader.broker.known()
    with pytest.raises(ValueError, match="broker 1 does not lead t-1"):
        leader.manager.maybe_expand_isr(T1, 3)
    with pytest.raises(ValueError, match="broker 1 does not lead u-0"):
        leader.manager.maybe_shrink_isr(TopicPartition("u", 0), [2])
    with pytest.raises(ValueError, match="broker 1 leads t-0, and does not leave its ISR"):
        leader.manager.maybe_shrink_isr(T0, [1])
    with pytest.raises(InvalidBrokers, match="-1 is no broker id"):
        leader.manager.maybe_expand_isr(T0, -1)
    with pytest.raises(ValueError, match="no AlterPartition is in flight"):
        leader.hear(altered(1))
    assert leader.broker.known() == before


def test_a_partition_is_changed_by_its_leader_alone_and_once_at_a_time() -> None:
    """Called on the partition itself."""
    leader = Leader()
    with pytest.raises(ValueError, match="broker 2 does not lead the partition"):
        leader.hosted().prepare_isr_expand(2, 3)
    pending = leader.hosted().prepare_isr_expand(1, 3)
    with pytest.raises(ValueError, match="a change of the ISR is under way"):
        pending.prepare_isr_shrink(1, [2])


class Altering:
    """A controller that knows what `Leader` knows, and alters ISRs for it."""

    def __init__(self) -> None:
        self.cluster = Cluster((1, 2, 3))
        for partition in (T0, T1):
            self.cluster.lead(partition, 1, (1, 2), 3, replicas=(1, 2, 3))
        cluster = self.cluster
        self.controller = ControllerEventProcessor(cluster.partitions, cluster.replicas, cluster.batch)

    def alter(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """Handle a request of broker 1."""
        event = call(self.controller.process_alter_partition, request._replace(brokerId=1, brokerEpoch=101))
        response: AlterPartitionResponse = carry_out(self.controller, event, self.cluster.zookeeper, None).answer
        return response


@given(st.lists(st.tuples(st.sampled_from([2, 3]), st.booleans(), st.integers(0, 2), st.booleans()), max_size=8))
def test_a_leader_and_its_controller_agree(changes: list[tuple[int, bool, int, bool]]) -> None:
    """However often a response is lost and the request repeated, both end up with the state in ZooKeeper.

    A controller that was replaced in between, and does not know the last write, is refused.
    """
    leader, altering = Leader(), Altering()
    for replica, joins, lost, behind in changes:
        manager = leader.manager
        if not (manager.maybe_expand_isr(T0, replica) if joins else manager.maybe_shrink_isr(T0, [replica])):
            continue
        request = leader.send()
        for _ in range(lost):
            altering.alter(request)
        response = altering.alter(request)
        if behind and request.partitions[0].partitionEpoch > 1:
            assert Altering().alter(request).partitions == ((T0, Errors.NOT_CONTROLLER),)
        assert leader.manager.answered(response)
        hosted, state = leader.hosted(), altering.cluster.state(T0)
        assert hosted.state == CommittedPartitionState(state.isr)
        assert (hosted.partition_epoch, hosted.leader_epoch) == (altering.cluster.version(T0), state.leader_epoch)
        assert altering.cluster.known(T0).isr == state.isr
        assert leader.manager.maybe_propagate_isr_changes() is None
