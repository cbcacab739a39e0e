"""The parts of a `Cluster` with one mistake each, and the scenario that detects each mistake.

The scenarios observe a whole cluster from outside: its leaders, its ISRs, its history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from election.ids import BrokerId
from statemachines import Cluster
from statemachines.broker.alter_partition_manager import AlterPartitionManager, ZkAlterPartitionManager
from statemachines.broker.hosted_partition import HostedPartition
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.cluster_history import Elected, Failed, unclean_elections
from statemachines.cluster_steps import AdvanceShutdown
from statemachines.controller import failover_stages as stages
from statemachines.controller.alter_partition import AlterPartitionProcessor
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.controller_process import ControllerProcess
from statemachines.controller.design import CONTROLLER, CONTROLLER_EPOCH
from statemachines.controller.election import ElectingController
from statemachines.controller.failover import ControllerFailover
from statemachines.controller.failover_stages import Stage
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.zookeeper.tree import Operation, SetData
from tests.mutants import mutant_tests, put_in_place
from tests.statemachines.test_cluster import T0, in_sync, leader, with_topic

Kind = type[Any]


# The battery


def each_election_has_an_epoch_of_its_own(_: Kind) -> None:
    cluster = with_topic()
    cluster.fail_over()
    cluster.settle()
    assert [each.epoch for each in cluster.history if isinstance(each, Elected)] == [1, 2]


def one_broker_is_controller(_: Kind) -> None:
    cluster = with_topic()
    cluster.fail_over()
    cluster.settle()
    assert [broker for broker, each in cluster.controllers.items() if each.active] == [2]
    assert [broker for broker, each in cluster.controllers.items() if each.context.state.all_topics] == [2]


def a_controller_that_reads_another_resigns(_: Kind) -> None:
    cluster = with_topic()
    cluster.zookeeper.set(None, CONTROLLER, 2)
    cluster.settle()
    assert not cluster.controllers[1].active


def a_new_controller_elects_for_the_dead(_: Kind) -> None:
    """With two increments of the leader epoch: first the dead leaves the ISR, then there is a leader."""
    cluster = with_topic()
    cluster.crash(1)
    cluster.settle()
    assert (leader(cluster), cluster.partitions()[T0].leader_epoch) == (2, 2)


def followers_fetch_from_live_leaders(_: Kind) -> None:
    """Even if all brokers start at once, and know nothing [KAFKA-4443]."""
    cluster = with_topic()
    cluster.crash(1, 2, 3)
    cluster.restart(1, 2, 3)
    cluster.settle()
    assert all(len(each.replica_manager.state.fetchers) == 1 for each in cluster.brokers.values() if each.broker != 3)


def a_replica_that_catches_up_joins_the_isr(_: Kind) -> None:
    for release in ("2.6", "3.9"):
        cluster = with_topic(release)
        cluster.crash(3)
        cluster.settle()
        cluster.restart(3)
        cluster.settle()
        assert in_sync(cluster) == {1, 2, 3}


def the_leader_knows_the_isr_that_was_written(_: Kind) -> None:
    for release in ("2.6", "3.9"):
        cluster = with_topic(release)
        cluster.crash(3)
        cluster.settle()
        cluster.restart(3)
        cluster.settle()
        assert {*cluster.brokers[1].replica_manager.state.all_partitions[T0].state.isr} == {1, 2, 3}


def the_controller_knows_the_isr_that_was_written(_: Kind) -> None:
    cluster = with_topic()
    cluster.crash(3)
    cluster.settle()
    cluster.restart(3)
    cluster.settle()
    known = cluster.controllers[1].context.leadership_of(T0)
    assert known is not None
    assert {*known.leader_and_isr.isr} == {1, 2, 3}


def behind(release: str = "3.9") -> Cluster:
    """Broker 1 leads, and broker 2 is behind."""
    cluster = Cluster((1, 2, 3), release, controller=3)
    cluster.hold_fetches(2)
    cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    for happens in (cluster.crash, cluster.restart):
        happens(2)
        cluster.settle()
    return cluster


def no_replica_joins_the_isr_of_a_leader_that_shuts_down(_: Kind) -> None:
    """So since 3.3 it stops with its leaderships [INELIGIBLE_REPLICA]."""
    cluster = behind()
    cluster.shut_down(1)
    while AdvanceShutdown(1, "Backoff") not in cluster.steps():
        cluster.step(cluster.steps()[0])
    cluster.resume_fetches(2)
    cluster.settle()
    assert Failed("broker 1 stops, though it still leads t-0") in cluster.history


def a_replica_that_is_behind_is_not_elected(_: Kind) -> None:
    cluster = behind()
    cluster.crash(1)
    cluster.settle()
    assert unclean_elections(cluster.history) == set()
    assert leader(cluster) is None


def a_replica_that_is_in_sync_is_elected(_: Kind) -> None:
    cluster = with_topic()
    cluster.shut_down(1)
    cluster.settle()
    assert leader(cluster) == 2
    assert not any(isinstance(each, Failed) for each in cluster.history)


def a_request_for_an_earlier_registration_is_refused(_: Kind) -> None:
    """A broker that restarts unnoticed is informed anew, and no replica leads in two epochs."""
    cluster = with_topic()
    old = cluster.controllers[1].channels
    cluster.create_topic("u", {0: (3, 2)})
    while not old.state.message_queues[3]:
        cluster.step(cluster.steps()[-1])
    cluster.crash(3)
    cluster.restart(3)
    stale = old.state.message_queues[3][0]
    cluster.brokers[3].handle(stale)
    assert cluster.brokers[3].replica_manager.state.controller_epoch == 0


# The mutants


class ElectsUnderTheEpochOfBefore(ElectingController):
    def _increment(self, me: ControllerProcess) -> Operation:
        return SetData(CONTROLLER_EPOCH, me.epoch, me.context.epoch_zk_version)


class StaysInOffice(ElectingController):
    """It forgets its context, but still takes itself for the controller."""

    def resign(self, me: ControllerProcess) -> ControllerProcess:
        return me


FAILOVER, RESIGNATION = stages.failover("3.9"), stages.resignation("3.9")


def without(steps: Iterable[Stage], step: Stage) -> tuple[Stage, ...]:
    return tuple(each for each in steps if each != step)


def exchanged(steps: Iterable[Stage], step: Stage, other: Stage) -> tuple[Stage, ...]:
    return tuple({step: other, other: step}.get(each, each) for each in steps)


class DoesNotElectAtFirst(ControlDesign):
    failover_steps = without(FAILOVER, stages.PSM)


class ReadsAssignmentsBeforeTopics(ControlDesign):
    """So it reads those of no topic."""

    failover_steps = exchanged(FAILOVER, stages.TOPICS_1_1, stages.ASSIGNED_2_8)


class ElectsBeforeTheDeadLeave(ControlDesign):
    failover_steps = exchanged(FAILOVER, stages.RSM_2_3, stages.PSM)


class TellsOfBrokersAfterLeaders(ControlDesign):
    failover_steps = exchanged(FAILOVER, stages.METADATA_2_2, stages.RSM_2_3)


RESIGNS = ControllerFailover.on_controller_resignation


class KeepsItsContext(ControllerFailover):
    def on_controller_resignation(self) -> None:
        self.design = self.design.but(resignation=without(RESIGNATION, stages.RESET_CONTEXT))
        RESIGNS(self)


ELECTED = PartitionStateMachine._elected


class TakesNoReplicaIn(AlterPartitionManager):
    def may_expand_isr(self, partition: Any, replica: BrokerId) -> bool:
        return False


class TakesNoReplicaInByZooKeeper(ZkAlterPartitionManager):
    def may_expand_isr(self, partition: Any, replica: BrokerId) -> bool:
        return False


class DoesNotLearnItsIsr(HostedPartition):
    def with_committed(self, leader_and_isr: LeaderAndIsr) -> HostedPartition:
        return self


class ForgetsTheIsrThatItWrote(AlterPartitionProcessor):
    def _alterations_read(self, answers: Any, refused: Any, outcomes: Any) -> Any:
        return self._answer(outcomes)


class FindsEveryReplicaEligible(AlterPartitionProcessor):
    def _eligibility_error(self, new: LeaderAndIsr) -> None:
        return None


class ElectsUncleanly(PartitionStateMachine):
    def _elected(self, partition: Any, leader_and_isr: Any, strategy: Any, unclean: bool) -> Any:
        return ELECTED(self, partition, leader_and_isr, strategy, True)


class ElectsWhoGoes(PartitionStateMachine):
    def _up_and_leaving(self, partition: Any, brokers: Iterable[BrokerId]) -> Any:
        return frozenset(brokers), frozenset()


class TakesWhatIsForAnother(KafkaApis):
    def is_broker_epoch_stale(self, broker_epoch: int) -> bool:
        return False


MUTANTS: list[tuple[Kind, Callable[[Kind], None]]] = [
    (ElectsUnderTheEpochOfBefore, each_election_has_an_epoch_of_its_own),
    (StaysInOffice, a_controller_that_reads_another_resigns),
    (KeepsItsContext, one_broker_is_controller),
    (DoesNotElectAtFirst, a_new_controller_elects_for_the_dead),
    (ReadsAssignmentsBeforeTopics, a_new_controller_elects_for_the_dead),
    (ElectsBeforeTheDeadLeave, a_new_controller_elects_for_the_dead),
    (TellsOfBrokersAfterLeaders, followers_fetch_from_live_leaders),
    (TakesNoReplicaIn, a_replica_that_catches_up_joins_the_isr),
    (TakesNoReplicaInByZooKeeper, a_replica_that_catches_up_joins_the_isr),
    (DoesNotLearnItsIsr, the_leader_knows_the_isr_that_was_written),
    (ForgetsTheIsrThatItWrote, the_controller_knows_the_isr_that_was_written),
    (FindsEveryReplicaEligible, no_replica_joins_the_isr_of_a_leader_that_shuts_down),
    (ElectsUncleanly, a_replica_that_is_behind_is_not_elected),
    (ElectsWhoGoes, a_replica_that_is_in_sync_is_elected),
    (TakesWhatIsForAnother, a_request_for_an_earlier_registration_is_refused),
]


test_the_cluster_passes, test_each_mutant_is_caught = mutant_tests(Cluster, MUTANTS, put_in_place)
