"""Partitions under a controller: what each fix prevents, defects of 3.9, and the need for each guard.

A mutant is the system with one fault in a state machine, or in a broker's requests. Each must break the property
named beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from election.ids import BrokerId
from spec.atlas.anomalies import anomaly_named
from spec.by_release import RELEASES
from spec.checking import Result, check
from spec.checking.local import LocalEngine
from spec.language import Specification, transition_invariant
from spec.parts.requests import RequestsWithoutMetadata
from spec.systems.cluster import ClusterState
from spec.systems.partitions import Partitions
from statemachines.controller.calls import Await, Call, Calls
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.partition_state_machine import PREFERRED, REASSIGN, PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.state_change import ChangeDone
from statemachines.controller.zk_requests import PartitionUpdate, ZkRequest
from statemachines.controller.zk_state_machine import Answers
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.tables.partition import NonExistentPartition, OfflinePartition, PartitionState
from statemachines.tables.replica import OfflineReplica, OnlineReplica, ReplicaDeletionIneligible, ReplicaState
from statemachines.zookeeper.server import Multi
from statemachines.zookeeper.tree import ANY_VERSION, Code, SetData
from tests.tiers import long_unless

PROPOSED: Mapping[str, Any] = {"clear_batch": True, "elect_if_created": True, "read_back_alteration": True}
"""The open bugs of 3.9, fixed."""


CHECKED: Mapping[str, Any] = {
    "rebalances": True,
    "topic_creation": False,
    "shutdowns": False,
    "controller_changes": 0,
}
"""The controller checks for imbalance on its own, and little else happens."""


def steps_of(result: Result) -> list[str]:
    """Return the counterexample as its steps."""
    assert result.counterexample is not None
    return [str(each.step) for each in result.counterexample.steps]


def broken(result: Result) -> set[str]:
    """Return the names of the broken properties."""
    return {each.name for each in result.properties if each.verdict == "violated"}


def test_the_controller_is_shown_after_a_resignation() -> None:
    """No broker here is the controller; the view says that another was elected."""
    shown = check(Partitions(brokers=2), show="controller_moved_during_change", engine="reference").shown
    assert shown is not None
    assert shown.initial_views[0] == "there is no controller yet"
    assert shown.steps[-2].views == ("the controller acts under epoch 1, unaware that the epoch is now 2",)
    assert shown.steps[-1].views == ("another is controller, under epoch 2",)


# Each fix, when off, breaks its property.


@pytest.mark.long
def test_a_leftover_batch_stops_later_changes() -> None:
    """B21: an interrupted batch keeps StopReplica; once elected again, the controller takes no replica offline."""
    result = check(Partitions(), engine=LocalEngine(), keep_going=True)
    assert broken(result) == {"batch_empty", "dead_not_in_isr", "offline_replica_is_dead"}
    shortest = check(Partitions(), engine=LocalEngine())
    assert shortest.counterexample is not None
    assert shortest.counterexample.broken == "batch_empty"
    way = steps_of(shortest)
    moved = [
        "elect_another_controller()",
        "answer_replica_state_machine()",
        "controller_change()",
        "become_controller()",
    ]
    assert way[-6:-2] == moved
    assert check(Partitions(**PROPOSED), engine=LocalEngine()).verdict == "holds"


@pytest.mark.long
@pytest.mark.parametrize(
    ("without", "breaks"),
    [
        pytest.param({"fence_zk": False}, "fenced_writes", id="B4"),
        pytest.param({"keep_last_isr": False, "unclean": True}, "isr_not_empty", id="B14"),
        pytest.param({"offline_on_failover": False}, "dead_not_in_isr", id="B25"),
    ],
)
def test_without_a_fix_its_anomaly_happens(without: dict[str, Any], breaks: str) -> None:
    """And no other property breaks."""
    result = check(Partitions(**{**PROPOSED, **without}), engine=LocalEngine(), keep_going=True)
    assert broken(result) == {breaks}


@pytest.mark.long
def test_the_last_member_leaves_only_where_unclean_elections_are_permitted() -> None:
    """B14 needs unclean elections as well."""
    assert check(Partitions(**PROPOSED, keep_last_isr=False), engine=LocalEngine()).verdict == "holds"


# Every guard that matters: the system with one fault, and the property that detects it.


class ElectsOutsideTheIsr(PartitionStateMachine):
    """The new leader is left out of the ISR."""

    def _elected(self, *asked: Any) -> PartitionUpdate | None:
        update = super()._elected(*asked)
        if update is None:
            return None
        elected = update.leader_and_isr
        others = tuple(broker for broker in (0, 1) if broker != elected.leader)
        return update._replace(leader_and_isr=elected._replace(isr=others))


class WritesOverAnything(ControllerEventProcessor):
    """It writes over any version."""

    def requests(self, awaits: Await | None) -> tuple[ZkRequest, ...]:
        return tuple(map(anywhere, super().requests(awaits)))


def anywhere(request: ZkRequest) -> ZkRequest:
    if not isinstance(request, Multi):
        return request._replace(version=ANY_VERSION) if isinstance(request, SetData) else request
    check, write = request.operations
    return Multi((check, write._replace(version=ANY_VERSION) if isinstance(write, SetData) else write))


class LeadsAlone(PartitionStateMachine):
    """A leader elected in place of a live one is alone in the ISR."""

    def _elected(self, *asked: Any) -> PartitionUpdate | None:
        update = super()._elected(*asked)
        if update is None or not any(each in (PREFERRED, REASSIGN) for each in asked):
            return update
        elected = update.leader_and_isr
        return update._replace(leader_and_isr=elected._replace(isr=(elected.leader,)))


class CountsTwice(PartitionStateMachine):
    """The new leader appears twice in the ISR."""

    def _elected(self, *asked: Any) -> PartitionUpdate | None:
        update = super()._elected(*asked)
        if update is None:
            return None
        elected = update.leader_and_isr
        return update._replace(leader_and_isr=elected._replace(isr=(elected.leader, elected.leader)))


class ElectsInTheSameEpoch(PartitionStateMachine):
    """The leader epoch is not incremented."""

    def _elected(self, *asked: Any) -> PartitionUpdate | None:
        update = super()._elected(*asked)
        if update is None:
            return None
        elected = update.leader_and_isr
        return update._replace(leader_and_isr=elected._replace(leader_epoch=elected.leader_epoch - 1))


class TellsBeforeItWrites(PartitionStateMachine):
    """Brokers receive a leader that is not in ZooKeeper yet, and may never be."""

    def _elected(self, *asked: Any) -> PartitionUpdate | None:
        update = super()._elected(*asked)
        if update is not None:
            self._has_written(update, update.leader_and_isr, is_new=False)
            self.batch.send_requests_to_brokers(self.context.state.epoch)
        return update


class PermitsUnclean(PartitionStateMachine):
    """It elects from outside the ISR, whatever the configuration."""

    def unclean_of(self, answers: Answers[TopicName]) -> Mapping[TopicName, bool | Code]:
        return dict.fromkeys(super().unclean_of(answers), True)


class StartsWithoutPartitions(PartitionStateMachine):
    """A controller that takes over sets no partition's state."""

    def startup(self) -> Calls:
        return (ChangeDone(),)


class DropsWhatIsOffline(PartitionStateMachine):
    """A partition that should go offline becomes nonexistent."""

    def _become(self, partition: TopicPartition, target: PartitionState) -> None:
        if target is OfflinePartition:
            self.context.put_partition_state(partition, NonExistentPartition)  # the table would refuse that
        else:
            super()._become(partition, target)


class KnowsWhatIsNew(PartitionStateMachine):
    """A first leader is in the context before it has been written."""

    def _first(self, partition: TopicPartition) -> PartitionUpdate | None:
        update = super()._first(partition)
        if update is not None:
            self.context.put_partition_leadership_info(partition, self.known(update.leader_and_isr))
        return update


class LeavesOnline(PartitionStateMachine):
    """A partition whose leader is gone stays online."""

    def _become(self, partition: TopicPartition, target: PartitionState) -> None:
        if target is not OfflinePartition:
            super()._become(partition, target)


class ElectsNoOne(PartitionStateMachine):
    """An offline partition stays so."""

    def trigger_online_partition_state_change(self, topic: TopicName | None = None) -> Calls:
        return (ChangeDone(),)


class ForgetsWhatItWrote(PartitionStateMachine):
    """An election's result is sent to brokers, but not remembered."""

    def _has_written(self, update: PartitionUpdate, written: LeaderAndIsr, is_new: bool) -> None:
        known = self.context.leadership_of(update.partition)
        super()._has_written(update, written, is_new)
        if known is not None:
            self.context.put_partition_leadership_info(update.partition, known)


class CountsAhead(PartitionStateMachine):
    """It takes its written version for one higher."""

    def _has_written(self, update: PartitionUpdate, written: LeaderAndIsr, is_new: bool) -> None:
        super()._has_written(update, written._replace(partition_epoch=written.partition_epoch + 1), is_new)


class KeepsTheDeadFollower(ReplicaStateMachine):
    """A dead replica stays in the ISR."""

    def _isr_without(self, replica: BrokerId, isr: tuple[BrokerId, ...], unclean: bool) -> tuple[BrokerId, ...]:
        return isr


class LastMemberLeaves(ReplicaStateMachine):
    """The last member leaves the ISR, whatever the configuration."""

    def _isr_without(self, replica: BrokerId, isr: tuple[BrokerId, ...], unclean: bool) -> tuple[BrokerId, ...]:
        return super()._isr_without(replica, isr, True)


class RemovesInTheSameEpoch(ReplicaStateMachine):
    """The leader epoch is not incremented when a replica leaves the ISR."""

    def set_topic_partition_states_raw(self, updates: Iterable[PartitionUpdate], following: Call) -> Calls:
        same = [
            update._replace(
                leader_and_isr=update.leader_and_isr._replace(leader_epoch=update.leader_and_isr.leader_epoch - 1)
            )
            for update in updates
        ]
        return super().set_topic_partition_states_raw(same, following)


class CallsItIneligible(ReplicaStateMachine):
    """A replica that leaves the ISR becomes ineligible for deletion."""

    def _has_become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        super()._has_become(replica, ReplicaDeletionIneligible)


class LeavesOffline(ReplicaStateMachine):
    """A replica whose broker is back stays offline."""

    def _may_become(self, replica: PartitionAndReplica, target: ReplicaState) -> bool:
        back = target is OnlineReplica and self.context.replica_state(replica) is OfflineReplica
        return not back and super()._may_become(replica, target)


class LeavesReplicasOnline(ReplicaStateMachine):
    """A replica whose broker is gone stays online."""

    def _has_become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        """It is only taken out of the ISR."""


class ForgetsTheOffline(ReplicaStateMachine):
    """An offline replica is forgotten."""

    def _has_become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        self.context.remove_replica_state(replica)


class KeepsWhatItSent(RequestsWithoutMetadata):
    """StopReplica stays in the batch after it was sent."""

    def _send_stop_replica_requests(self, controller_epoch: int) -> None:
        kept = dict(self.state.stop_replica)
        super()._send_stop_replica_requests(controller_epoch)
        for replica, stop in kept.items():
            self.state.stop_replica[replica] = stop


class TellsOfTheOther(RequestsWithoutMetadata):
    """Brokers receive a leader that was not elected."""

    def add_leader_and_isr_request_for_brokers(
        self, brokers: Iterable[BrokerId], partition: TopicPartition, known: Any, assignment: Any, is_new: bool
    ) -> None:
        wrong = known.leader_and_isr._replace(leader=1 - known.leader_and_isr.leader)
        if known.leader_and_isr.leader >= 0:
            known = known._replace(leader_and_isr=wrong)
        super().add_leader_and_isr_request_for_brokers(brokers, partition, known, assignment, is_new)


class LooksAfterNobody(ControllerEventProcessor):
    """The timer fires, and it elects none."""

    def process_auto_preferred_replica_leader_election(self) -> Calls:
        return ()


class LooksAfterEverybody(ControllerEventProcessor):
    """It elects preferred replicas, however few partitions are astray."""

    def _rebalance(self, broker: BrokerId, preferring: tuple[TopicPartition, ...]) -> Calls:
        self.leader_imbalance_per_broker_percentage = 0
        return super()._rebalance(broker, preferring)


def mutant(kind: type[Any], system: type[Specification] = Partitions, **constants: Any) -> Specification:
    """Return the system with this state machine or batch in place of its own."""
    place = next(
        name
        for name, base in (
            ("partition_state_machine", PartitionStateMachine),
            ("replica_state_machine", ReplicaStateMachine),
            ("request_batch", RequestsWithoutMetadata),
            ("event_processor", ControllerEventProcessor),
        )
        if issubclass(kind, base)
    )
    made: Callable[..., Specification] = type(kind.__name__, (system,), {place: kind, "__doc__": kind.__doc__})
    return made(**constants)


MUTANTS: list[tuple[type[Any] | None, dict[str, Any], str]] = [
    (ElectsOutsideTheIsr, {}, "leader_in_isr"),
    (LastMemberLeaves, {}, "isr_not_empty"),
    (CountsTwice, {}, "isr_within_assigned"),
    (ElectsInTheSameEpoch, {}, "leader_epoch_monotone"),
    (RemovesInTheSameEpoch, {}, "leader_epoch_monotone"),
    (ElectsInTheSameEpoch, {}, "one_leader_per_epoch"),
    (TellsBeforeItWrites, {}, "presumed_leader_legit"),
    (TellsOfTheOther, {}, "presumed_leader_legit"),
    (TellsOfTheOther, {}, "role_as_in_zookeeper"),
    (WritesOverAnything, {"alter_partition": False}, "election_from_current_state"),
    (LeadsAlone, {}, "isr_survives_election"),
    (PermitsUnclean, {}, "clean_election"),
    (None, {"fence_zk": False}, "fenced_writes"),
    (DropsWhatIsOffline, {}, "legal_psm"),
    (CallsItIneligible, {}, "legal_rsm"),
    (KnowsWhatIsNew, {}, "new_has_no_state"),
    (CountsAhead, {}, "cache_not_ahead"),
    (KeepsWhatItSent, {}, "batch_empty"),
    (ForgetsWhatItWrote, {}, "cache_fresh"),
    (LeavesOnline, {}, "online_has_live_leader"),
    (ElectsNoOne, {}, "offline_only_if_stuck"),
    (KeepsTheDeadFollower, {}, "dead_not_in_isr"),
    (LeavesReplicasOnline, {"topic_creation": False}, "online_replica_is_live"),
    (LeavesOffline, {}, "offline_replica_is_dead"),
    (StartsWithoutPartitions, {}, "psm_domain"),
    (ForgetsTheOffline, {}, "rsm_domain"),
    (None, {"elect_if_created": False, "lost_replies": True}, "new_is_not_led"),
]
"""Other systems of clusters have the same mutants."""
OF_CHECKS: list[tuple[type[Any] | None, dict[str, Any], str]] = [
    (LooksAfterNobody, {**CHECKED}, "balanced"),
    (LooksAfterEverybody, {**CHECKED, "imbalance_percentage": 100}, "tolerates_small_imbalance"),
]
"""Only here a controller checks for imbalance on its own."""

FOUND_SOON = {"election_from_current_state", "fenced_writes", "new_is_not_led"}


@pytest.mark.parametrize(
    ("kind", "constants", "property_"),
    long_unless(lambda case: case[2] in FOUND_SOON, [*MUTANTS, *OF_CHECKS]),
    ids=[f"{kind.__name__ if kind else 'switch'}-{name}" for kind, _, name in (*MUTANTS, *OF_CHECKS)],
)
def test_a_mutant_breaks_its_property(kind: type[Any] | None, constants: dict[str, Any], property_: str) -> None:
    """On the way to it, other properties may break."""
    settings = {**PROPOSED, **constants}
    specification = mutant(kind, **settings) if kind else Partitions(**settings)
    result = check(specification, properties=[property_], engine="local", max_depth=19)
    assert {each.name: each.verdict for each in result.properties}[property_] == "violated"


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds in every system. Other tests break those of ZooKeeper itself."""
    sought = {
        each.name
        for creation in (True, False)
        for each in Partitions(topic_creation=creation, lost_replies=True, rebalances=True).properties
        if each.kind != "sometimes" and not each.name.startswith("zk.")
    }
    assert {name for _, _, name in (*MUTANTS, *OF_CHECKS)} == sought


# Findings of exploration about Kafka's rules.


def test_a_topic_that_is_created_while_a_broker_is_down() -> None:
    """Its replica there stays online until the broker has come and gone. [onNewPartitionCreation, 3.9]"""
    result = check(Partitions(**PROPOSED, max_crashes=1, controller_changes=0, shutdowns=False), engine="reference")
    (witness,) = [each for each in result.properties if each.name == "online_on_dead_broker"]
    assert (witness.verdict, witness.length) == ("witnessed", 13)


@pytest.mark.long
@pytest.mark.parametrize(("without", "length"), [({"alter_partition": False}, 31), ({"live_isr_check": False}, 32)])
def test_a_partition_goes_offline_though_an_isr_member_could_lead(without: dict[str, Any], length: int) -> None:
    """Its leader shuts down, and its ISR change makes the controller elect none; until 3.2."""
    result = check(Partitions(**{**PROPOSED, **without}, controller_changes=0), engine=LocalEngine())
    (witness,) = [each for each in result.properties if each.name == "offline_though_led"]
    assert (witness.verdict, witness.length) == ("witnessed", length)


def test_a_leader_that_shuts_down_takes_no_follower_into_its_isr() -> None:
    """Since 3.3 the leader itself is ineligible, so its ISR change is refused, and it hands over to none."""
    few = {
        "max_crashes": 0,
        "controller_changes": 0,
        "topic_creation": False,
        "preferred_elections": False,
        "isr_changes": 2,
    }
    result = check(Partitions(**PROPOSED, **few), engine="reference", show="leader_ineligible")
    assert result.shown is not None
    way = [each.call for each in result.shown.steps]
    changes = [each for each in way if each.startswith(("shrink", "expand", "shut_down"))]
    assert changes == [
        "shrink_isr(partition=t-0, broker=1)",
        "shut_down(broker=0)",
        "expand_isr(partition=t-0, broker=1)",
    ]
    assert result.shown.steps[-1].changes == {}


def test_a_controlled_shutdown_swallows_the_error_of_a_moved_controller() -> None:
    """The controller continues with an unsendable batch until it is notified of its successor."""
    result = check(Partitions(**PROPOSED, max_crashes=0), engine="reference")
    (witness,) = [each for each in result.properties if each.name == "controller_moved_and_goes_on"]
    assert (witness.verdict, witness.length) == ("witnessed", 12)


class FindsOutByNotifications(Partitions[ClusterState]):
    """Kafka's own controller behaves so: it deletes notifications by a fenced write."""

    @transition_invariant(of="process_isr_changes")
    def resigns_if_replaced(self, before: ClusterState, after: ClusterState) -> bool:
        """It learns that it has been replaced, and leaves the notifications to its successor."""
        replaced = before.context.epoch != before.epoch
        return after.active != replaced and bool(after.isr_change_notification) == replaced


@pytest.mark.parametrize("fence_zk", [True, False])
def test_a_replaced_controller_cannot_delete_notifications(fence_zk: bool) -> None:
    """But it could before 2.1. [deleteIsrChangeNotifications]"""
    few = {"max_crashes": 0, "shutdowns": False, "preferred_elections": False, "topic_creation": False}
    specification = FindsOutByNotifications(**PROPOSED, **few, fence_zk=fence_zk, alter_partition=False)
    result = check(specification, properties=["resigns_if_replaced"], engine="reference")
    assert result.verdict == ("holds" if fence_zk else "violated")


@pytest.mark.parametrize(
    ("id_", "said"),
    [
        ("K10", "the controller has t-0 with broker 0 as leader in leader epoch 0; in sync: 0, 1"),
        ("B21", "StopReplica for t-0 on broker 1 stays in a batch, unsent"),
    ],
)
def test_decisive_facts_are_in_the_view(id_: str, said: str) -> None:
    """The view shows the controller's wrong belief, or its leftover request."""
    specification = anomaly_named(id_).specification("off")
    trace = check(specification, properties=[anomaly_named(id_).property], engine="reference").counterexample
    assert trace is not None
    assert [each for step in trace.steps for each in step.views if each == said]


# Releases and constants.


def test_every_release_is_mapped() -> None:
    """Each of Kafka's releases has its values; in the newest everything is on, except the proposals."""
    assert tuple(Partitions.releases) == RELEASES
    newest = Partitions.releases["3.9"]
    assert {name for name, on in newest.items() if not on} == set(PROPOSED)


@pytest.mark.long
@pytest.mark.parametrize(
    "constants",
    [
        {"brokers": 1, "max_crashes": 1},
        {"max_crashes": 0},
        {"isr_changes": 0, "max_crashes": 1},
        {"controller_changes": 0, "max_crashes": 1},
        {"shutdowns": False, "max_crashes": 1},
        {"preferred_elections": False, "max_crashes": 1},
        {"topic_creation": False, "max_crashes": 1},
        {"offline_on_failover": False, "max_crashes": 0},
        pytest.param(
            {"partitions": 2, "max_crashes": 1, "controller_changes": 0, "shutdowns": False}, marks=pytest.mark.long
        ),
        pytest.param(
            {"brokers": 3, "max_crashes": 1, "controller_changes": 0, "shutdowns": False}, marks=pytest.mark.long
        ),
    ],
    ids=lambda value: ", ".join(f"{name}={each}" for name, each in value.items()),
)
def test_impossible_actions_and_witnesses_are_absent(constants: dict[str, Any]) -> None:
    """An action or witness whose bound is too low does not exist."""
    assert check(Partitions(**{**PROPOSED, **constants}), engine=LocalEngine()).verdict == "holds"
