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
from statemachines.controller.control_design import control_design_of
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import TopicPartition
from tests.mutants import mutant_tests
from tests.statemachines.control import T0, T1
from tests.statemachines.controller.test_alter_partition import Altering
from tests.statemachines.receiving import BROKER_EPOCH, Broker

Kind = type[AlterPartitionManager]


class Leader:
    """Broker 1, which leads t-0 and t-1 in epoch 3 at partition epoch 1, with 1 and 2 in the ISR."""

    def __init__(self, kind: Kind = AlterPartitionManager, release: str = "3.9") -> None:
        self.broker = Broker(control_design_of(release))
        self.tell(3, 1, T0, T1)
        self.manager = kind(self.broker.manager, lambda: BROKER_EPOCH)

    def tell(self, leader_epoch: int, partition_epoch: int, *partitions: TopicPartition, leader: int = 1) -> None:
        """LeaderAndIsr arrives; its ISR is 1 and 2."""
        errors = self.broker.lead(
            leader, leader_epoch, *partitions, replicas=(1, 2), partition_epoch=partition_epoch, epoch=5
        )
        assert set(errors) == {Errors.NONE}

    def hosted(self, partition: TopicPartition = T0) -> HostedPartition:
        """What it knows of a partition."""
        return self.broker.hosted(partition)

    def send(self) -> AlterPartitionRequest:
        """The request that is due."""
        request = self.manager.maybe_propagate_isr_changes()
        assert request is not None
        return request

    def hear(self, *outcomes: AlterPartitionOutcome, error: Errors = Errors.NONE) -> bool:
        """The answer, of t-0 and t-1."""
        return self.manager.answered(AlterPartitionResponse(error, tuple(zip((T0, T1), outcomes, strict=False))))


def altered(*isr: int, leader_epoch: int = 3, partition_epoch: int = 2) -> LeaderAndIsr:
    """What the controller says of a partition."""
    return LeaderAndIsr(1, leader_epoch, isr, partition_epoch=partition_epoch)


def commits_what_is_answered(kind: Kind) -> None:
    """Not before; then the leader knows the new version, and goes on from there."""
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
    """Of each partition; another is proposed when it is known what came of the first."""
    leader = Leader(kind)
    assert leader.manager.maybe_shrink_isr(T0, [2])
    before = leader.hosted()
    assert not leader.manager.maybe_expand_isr(T0, 3)
    assert not leader.manager.maybe_shrink_isr(T0, [2])
    assert leader.hosted() == before


def has_one_request_under_way(kind: Kind) -> None:
    """What is proposed meanwhile goes with the next one."""
    leader = Leader(kind)
    leader.manager.maybe_expand_isr(T0, 3)
    leader.send()
    leader.manager.maybe_expand_isr(T1, 3)
    assert leader.manager.maybe_propagate_isr_changes() is None
    leader.hear(altered(1, 2, 3))
    assert [data.partitionIndex for data in leader.send().partitions] == [1]


def goes_back_to_what_was_committed(kind: Kind) -> None:
    """Where nothing was written, and never will be."""
    for error in (Errors.INELIGIBLE_REPLICA, Errors.OPERATION_NOT_ATTEMPTED):
        leader = Leader(kind)
        leader.manager.maybe_expand_isr(T0, 3)
        leader.send()
        leader.hear(error)
        assert leader.hosted().state == CommittedPartitionState((1, 2))


def waits_for_leader_and_isr(kind: Kind) -> None:
    """Where the leader may be behind: the larger ISR counts until it is told who leads."""
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
    """That says nothing of the partition."""
    leader = Leader(kind)
    leader.manager.maybe_expand_isr(T0, 3)
    request = leader.send()
    leader.hear(Errors.UNKNOWN_SERVER_ERROR)
    assert leader.send() == request
    leader.hear(error=Errors.STALE_BROKER_EPOCH)
    assert leader.send() == request


def looks_for_the_controller(kind: Kind) -> None:
    """Where the one that was asked is none: the same request goes to another, whatever else was answered."""
    leader = Leader(kind)
    for partition in (T0, T1):
        leader.manager.maybe_expand_isr(partition, 3)
    leader.send()
    assert not leader.hear(error=Errors.NOT_CONTROLLER)
    assert not leader.hear(altered(1, 2, 3), Errors.NOT_CONTROLLER)
    assert leader.manager.maybe_propagate_isr_changes() is None
    assert leader.hosted().state.isr == (1, 2)
    assert leader.hear(altered(1, 2, 3), altered(1, 2, 3))


def ignores_what_has_been_overtaken(kind: Kind) -> None:
    """LeaderAndIsr has told the leader more than the answer does."""
    leader = Leader(kind)
    leader.manager.maybe_expand_isr(T0, 3)
    leader.send()
    leader.tell(4, 5, T0)
    before = leader.hosted()
    leader.hear(altered(1, 2, 3))
    assert leader.hosted() == before


def keeps_the_place_of_an_unanswered_one(kind: Kind) -> None:
    """What a new epoch's leader proposes before the old answer arrives is not attempted."""
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
    """Of another leader epoch, or of an older version."""
    for answer in (altered(1, leader_epoch=4), altered(1, partition_epoch=0)):
        leader = Leader(kind)
        leader.manager.maybe_shrink_isr(T0, [2])
        leader.send()
        leader.hear(answer)
        assert leader.hosted().state.isr == (1, 2)


class CommitsBeforeTheAnswer(AlterPartitionManager):
    """The leader has its ISR when it has asked for it."""

    def _propose(self, partition: TopicPartition, hosted: HostedPartition) -> None:
        super()._propose(partition, hosted)
        assert not isinstance(hosted.state, CommittedPartitionState)
        self._complete(partition, hosted.state, hosted.state.sent_leader_and_isr)


class ProposesOverAProposal(AlterPartitionManager):
    """A change that is under way is replaced."""

    def maybe_expand_isr(self, partition: TopicPartition, replica: int) -> bool:
        hosted = self.replica_manager.led(partition)
        committed = CommittedPartitionState(hosted.state.isr)
        self.replica_manager.state.all_partitions[partition] = hosted._replace(state=committed)
        return super().maybe_expand_isr(partition, replica)


class SendsAtOnce(AlterPartitionManager):
    """It does not wait for an answer."""

    def maybe_propagate_isr_changes(self) -> AlterPartitionRequest | None:
        self.state.in_flight = None
        return super().maybe_propagate_isr_changes()


class Taking(AlterPartitionManager):
    """It takes some errors for others."""

    taken: Mapping[AlterPartitionOutcome, Errors] = {}

    def _complete(
        self, partition: TopicPartition, proposed: PendingPartitionChange, outcome: AlterPartitionOutcome
    ) -> None:
        super()._complete(partition, proposed, self.taken.get(outcome, outcome))


class WaitsForEver(Taking):
    """What is not eligible stays pending. [3.2]"""

    taken = {Errors.INELIGIBLE_REPLICA: Errors.FENCED_LEADER_EPOCH}


class GoesBackAtOnce(Taking):
    """What may have been written is taken back."""

    taken = {Errors.INVALID_UPDATE_VERSION: Errors.INELIGIBLE_REPLICA}


class GivesUp(Taking):
    """An error is an error."""

    taken = {Errors.UNKNOWN_SERVER_ERROR: Errors.FENCED_LEADER_EPOCH}


class TakesAnyController(AlterPartitionManager):
    """One that is none is believed where it answers."""

    def answered(self, response: AlterPartitionResponse) -> bool:
        partitions = tuple(each for each in response.partitions if each[1] is not Errors.NOT_CONTROLLER)
        return super().answered(AlterPartitionResponse(Errors.NONE, partitions))


class TakesOvertakenAnswers(AlterPartitionManager):
    """Whatever the state is by now."""

    def _complete(
        self, partition: TopicPartition, proposed: PendingPartitionChange, outcome: AlterPartitionOutcome
    ) -> None:
        partitions = self.replica_manager.state.all_partitions
        if isinstance(outcome, LeaderAndIsr):
            outcome = outcome._replace(leader_epoch=partitions[partition].leader_epoch, partition_epoch=9)
        partitions[partition] = partitions[partition]._replace(state=proposed)
        super()._complete(partition, proposed, outcome)


class TakesAnyVersion(AlterPartitionManager):
    """An answer is an answer."""

    def _complete(
        self, partition: TopicPartition, proposed: PendingPartitionChange, outcome: AlterPartitionOutcome
    ) -> None:
        if isinstance(outcome, LeaderAndIsr):
            outcome = outcome._replace(leader_epoch=3, partition_epoch=2)
        super()._complete(partition, proposed, outcome)


class ForgetsTheOldProposal(AlterPartitionManager):
    """The place is free for the next one. [until 2.8]"""

    def _submit(self, partition: TopicPartition, proposed: PendingPartitionChange) -> None:
        self.state.unsent_isr_updates.pop(partition, None)
        super()._submit(partition, proposed)


MUTANTS: list[tuple[Kind, Callable[[Kind], None]]] = [
    (CommitsBeforeTheAnswer, commits_what_is_answered),
    (ProposesOverAProposal, has_one_change_under_way),
    (SendsAtOnce, has_one_request_under_way),
    (WaitsForEver, goes_back_to_what_was_committed),
    (GoesBackAtOnce, waits_for_leader_and_isr),
    (GivesUp, asks_again_after_an_error),
    (TakesAnyController, looks_for_the_controller),
    (TakesOvertakenAnswers, ignores_what_has_been_overtaken),
    (ForgetsTheOldProposal, keeps_the_place_of_an_unanswered_one),
    (TakesAnyVersion, ignores_older_answers),
]


test_the_manager_passes, test_each_mutant_is_caught = mutant_tests(AlterPartitionManager, MUTANTS)


def test_since_3_3_dead_brokers_do_not_join() -> None:
    """As far as the leader has been told. [KAFKA-14140]"""
    proposed = [Leader(release=release).manager.maybe_expand_isr(T0, 4) for release in ("3.2", "3.3")]
    assert proposed == [True, False]


@pytest.mark.parametrize(("release", "proposed"), [("2.7", False), ("2.8", False), ("3.0", True)])
def test_lagging_members_leave_beside_an_unassigned_member(release: str, proposed: bool) -> None:
    """Broker 3 is none of the replicas of the leader, which cannot look until 2.8. [KAFKA-9672]"""
    leader = Leader(release=release)
    assert leader.manager.maybe_expand_isr(T0, 3)
    leader.send()
    leader.hear(altered(1, 2, 3))
    assert leader.manager.maybe_shrink_isr(T0, [2]) is proposed


def test_unchanged_isrs_are_not_proposed() -> None:
    """A member that joins, and one that leaves without having been in it."""
    leader = Leader()
    assert not leader.manager.maybe_expand_isr(T0, 2)
    assert not leader.manager.maybe_shrink_isr(T0, [3])
    assert leader.manager.maybe_propagate_isr_changes() is None


def test_partitions_missing_in_the_response_are_resent() -> None:
    """By some mistake of the controller."""
    leader = Leader()
    for partition in (T0, T1):
        leader.manager.maybe_expand_isr(partition, 3)
    leader.send()
    leader.hear(altered(1, 2, 3))
    assert [data.partitionIndex for data in leader.send().partitions] == [1]


def test_a_partition_that_is_gone_needs_no_answer() -> None:
    """It has been deleted meanwhile."""
    leader = Leader()
    leader.manager.maybe_expand_isr(T0, 3)
    leader.send()
    leader.broker.stop(-2, delete=True)
    assert leader.hear(altered(1, 2, 3))
    assert T0 not in leader.broker.manager.state.all_partitions


def test_impossible_calls_are_refused() -> None:
    """By name, and nothing has changed."""
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
    """Asked of the partition itself."""
    leader = Leader()
    with pytest.raises(ValueError, match="broker 2 does not lead the partition"):
        leader.hosted().prepare_isr_expand(2, 3)
    pending = leader.hosted().prepare_isr_expand(1, 3)
    with pytest.raises(ValueError, match="a change of the ISR is under way"):
        pending.prepare_isr_shrink(1, [2])


@given(st.lists(st.tuples(st.sampled_from([2, 3]), st.booleans(), st.integers(0, 2), st.booleans()), max_size=8))
def test_a_leader_and_its_controller_agree(changes: list[tuple[int, bool, int, bool]]) -> None:
    """However often an answer is lost, and the request handled again: then both know what ZooKeeper has.

    A controller that has been replaced in between, and knows nothing of the last write, is sent away.
    """
    leader, altering = Leader(), Altering()
    for replica, joins, lost, behind in changes:
        manager = leader.manager
        if not (manager.maybe_expand_isr(T0, replica) if joins else manager.maybe_shrink_isr(T0, [replica])):
            continue
        request = leader.send()
        for _ in range(lost):
            altering.alter(*request.partitions)
        response = altering.alter(*request.partitions).response
        if behind and request.partitions[0].partitionEpoch > 1:
            assert Altering().outcome(*request.partitions) is Errors.NOT_CONTROLLER
        assert leader.manager.answered(response)
        hosted, state = leader.hosted(), altering.cluster.state(T0)
        assert hosted.state == CommittedPartitionState(state.isr)
        assert (hosted.partition_epoch, hosted.leader_epoch) == (altering.cluster.version(T0), state.leader_epoch)
        assert altering.cluster.known(T0).isr == state.isr
        assert leader.manager.maybe_propagate_isr_changes() is None
