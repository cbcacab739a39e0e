"""Reassignment: failures also reproduced on brokers, defects of 3.9, and the need for each guard.

A mutant is the system with one fault in its controller, or with a fix off. Each must break the property named beside
it. The rules shared with `partitions` have the mutants of that system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import pytest

from election.ids import BrokerId
from spec.atlas.anomalies import anomaly_named
from spec.by_release import RELEASES
from spec.checking import Result, check
from spec.language import Specification, transition_invariant
from spec.systems.reassignment import ReassignedCluster, Reassignment
from statemachines.controller.calls import Calls
from statemachines.controller.calls import Result as CallResult
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.zk_requests import PartitionUpdate
from statemachines.messages.leader_and_isr import LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from tests.spec.systems.test_partitions import MUTANTS as OF_PARTITIONS
from tests.spec.systems.test_partitions import CountsTwice, PermitsUnclean
from tests.spec.systems.test_partitions import mutant as mutant_of
from tests.tiers import long_unless

PROPOSED: Mapping[str, Any] = {"clear_batch": True, "keep_in_sync": True, "keep_leader": True}
"""The open bugs of 3.9, fixed."""
THERE: Mapping[str, Any] = {"brokers": 2, "max_replicas": 1, "reassignment_requests": 1, "max_crashes": 0}
"""From one broker to another, once."""
BY_NODE: Mapping[str, Any] = {"kip_455": False, "alter_partition": False}
"""As until 2.3."""
OUTSIDE: Mapping[str, Any] = {
    "brokers": 3,
    "max_replicas": 2,
    "disjoint_targets": True,
    "reassignment_requests": 2,
    "controller_changes": 1,
    "max_crashes": 0,
    "isr_changes": 1,
}
"""A controller may end while it removes a replica that has joined the ISR."""


def steps_of(result: Result) -> list[str]:
    """Return the counterexample as its steps, with their words."""
    assert result.counterexample is not None
    return [": ".join((each.step.action, *each.sentences)) for each in result.counterexample.steps]


def broken(result: Result) -> set[str]:
    """Return the names of the broken properties."""
    return {each.name for each in result.properties if each.verdict == "violated"}


# Failures that were reproduced on brokers.


def test_a_cancellation_deletes_the_only_replica_in_sync() -> None:
    """K2, as reproduced on brokers: one joins, the old one dies, and the reassignment is cancelled."""
    specification = anomaly_named("K2").specification("off")
    way = steps_of(check(specification, engine="reference", properties=["acknowledged_not_lost"]))
    seen = ("reassign", "expand_isr", "crash", "cancel", "acknowledge")
    assert tuple(step for step in way if step in seen) == seen
    assert way[-1] == "next_change: broker 1 deletes its log: broker 2 deletes its log"


def test_each_change_describes_its_effect() -> None:
    """`next_change` is a step of any event, so the trace adds its effect."""
    found = check(anomaly_named("K2").specification("off"), engine="reference", properties=["acknowledged_not_lost"])
    assert found.counterexample is not None
    changes = [each for each in found.counterexample.steps if each.step.action == "next_change"]
    assert len(changes) > 3
    assert [each for each in changes if not (each.sentences or each.views)] == []
    sentences = [sentence for each in found.counterexample.steps for sentence in each.views]
    assert "the controller has the replica on broker 1 as ReplicaDeletionStarted" in sentences
    assert "the controller is about to write the topic's node" in sentences


def test_a_leader_that_shrinks_its_isr_during_a_reassignment_loses_the_partition() -> None:
    """K3: it shrinks between the controller's check of the ISR and the election, and the only full log is deleted."""
    specification = anomaly_named("K3").specification("off")
    way = steps_of(check(specification, engine="reference", properties=["acknowledged_not_lost"]))
    read = "answer_partition_state_machine: read the states of partitions"
    assert sorted(way[8:13]) == sorted(["process_isr_changes", "shrink_isr", "next_change", read, "acknowledge"])
    assert way.index("process_isr_changes") < way.index("shrink_isr") < way.index(read)
    assert way[-1] == "next_change: broker 0 deletes its log"


def test_a_reassignment_by_node_loses_it_in_the_same_way() -> None:
    """K3 is as old as reassignments: controllers until 2.3 did not check for a new leader either."""
    by_node = Reassignment(**THERE, **BY_NODE)
    assert broken(check(by_node, engine="reference", properties=["acknowledged_not_lost"])) == {
        "acknowledged_not_lost"
    }


class FindsOutByNotifications(Reassignment):
    """As in `partitions`, but here notifications are deleted as they are read."""

    @transition_invariant(of="process_isr_changes")
    def leaves_them_if_replaced(self, before: ReassignedCluster, after: ReassignedCluster) -> bool:
        """A controller that has been replaced leaves the notifications to its successor."""
        replaced = before.context.epoch != before.epoch
        return not replaced or after.isr_change_notification == before.isr_change_notification


@pytest.mark.parametrize("fence_zk", [True, False])
def test_a_replaced_controller_cannot_delete_notifications(fence_zk: bool) -> None:
    """But it could before 2.1. [deleteIsrChangeNotifications]"""
    few = {
        **THERE,
        "initial_replicas": 2,
        "reassignment_requests": 0,
        "controller_changes": 1,
        "alter_partition": False,
    }
    specification = FindsOutByNotifications(**PROPOSED, **few, isr_changes=1, fence_zk=fence_zk)
    result = check(specification, properties=["leaves_them_if_replaced"], engine="reference")
    assert result.verdict == ("holds" if fence_zk else "violated")


# Every guard that matters: the system with one fault, and the property that detects it.


class LooksAtNothing(ControllerEventProcessor):
    """It takes every replica for in sync."""

    def _are_in_isr(self, states: object, replicas: tuple[BrokerId, ...]) -> Calls:
        return (CallResult(True),)


class LeavesTheLeader(ControllerEventProcessor):
    """It elects no leader among the remaining replicas."""

    def move_reassigned_partition_leader_if_required(
        self, partition: TopicPartition, completed: ReplicaAssignment, to: tuple[BrokerId, ...]
    ) -> Calls:
        return ()


class KeepsTheRemoved(ControllerEventProcessor):
    """Removed replicas stay."""

    def stop_removed_replicas(self, partition: TopicPartition, removed: Any) -> Calls:
        return ()


class KeepsItToItself(ControllerEventProcessor):
    """It does not write the topic's node."""

    def update_replica_assignment_for_partition(
        self, partition: TopicPartition, assignment: ReplicaAssignment
    ) -> Calls:
        return ()


class NeverEnds(ControllerEventProcessor):
    """A completed reassignment does not end."""

    def is_reassigned(self, partition: TopicPartition) -> None:
        return None


class PutsTheTargetLast(ControllerEventProcessor):
    """The target replicas come after the removed ones."""

    def _built(self, partition: TopicPartition, target: tuple[BrokerId, ...] | None) -> ReplicaAssignment | None:
        built = super()._built(partition, target)
        return None if built is None else built._replace(replicas=built.replicas[::-1])


class Backwards(Reassignment):
    """With every order of replicas."""

    @cached_property
    def reachable(self) -> tuple[ReplicaAssignment, ...]:
        ways = super().reachable
        return tuple(dict.fromkeys((*ways, *(each._replace(replicas=each.replicas[::-1]) for each in ways))))


def mutant(kind: type[ControllerEventProcessor], **constants: Any) -> Specification:
    """Return the system with this controller in place of its own."""
    place = {"event_processor": kind, "__doc__": kind.__doc__}
    base = Backwards if kind is PutsTheTargetLast else Reassignment
    made: Callable[..., Specification] = type(kind.__name__, (base,), place)
    return made(**{**PROPOSED, **THERE, **constants})


MUTANTS: list[tuple[type[ControllerEventProcessor] | None, dict[str, Any], str]] = [
    (None, {"fence_zk": False, "controller_changes": 1}, "fenced_writes"),
    (None, {"remember_epoch": False}, "cache_fresh"),
    (None, {**OUTSIDE, "shrink_with_unassigned": False}, "isr_can_shrink"),
    (
        None,
        {**BY_NODE, "reset_context": False, "controller_changes": 1, "reassignment_requests": 2},
        "only_administrators_request",
    ),
    (PutsTheTargetLast, {}, "assignment_shape"),
    (LooksAtNothing, {}, "isr_has_acknowledged"),
    (LooksAtNothing, {}, "acknowledged_not_lost"),
    (LooksAtNothing, {}, "ends_once_in_sync"),
    (LooksAtNothing, {**BY_NODE}, "ends_once_in_sync"),
    (LeavesTheLeader, {}, "online_has_live_leader"),
    (KeepsTheRemoved, {}, "isr_within_assigned"),
    (KeepsTheRemoved, {}, "ends_in_sync"),
    (KeepsItToItself, {}, "assignment_known"),
    (NeverEnds, {}, "reassigns_what_is_requested"),
]


@pytest.mark.parametrize(
    ("kind", "constants", "property_"),
    long_unless(lambda case: case[0] is None, MUTANTS),
    ids=[f"{kind.__name__ if kind else 'switch'}-{name}" for kind, _, name in MUTANTS],
)
def test_a_mutant_breaks_its_property(
    kind: type[ControllerEventProcessor] | None, constants: dict[str, Any], property_: str
) -> None:
    """On the way to it, other properties may break."""
    settings = {**PROPOSED, **THERE, **constants}
    specification = Reassignment(**settings) if kind is None else mutant(kind, **constants)
    result = check(specification, properties=[property_], engine="reference")
    assert {each.name: each.verdict for each in result.properties}[property_] == "violated"


class PermitsUncleanUnsaid(PermitsUnclean):
    """It elects from outside the ISR, and does not record in the state that records may be lost."""

    def _elected(self, *asked: Any) -> PartitionUpdate | None:
        update = super()._elected(*asked)
        if update is None:
            return None
        recovered = update.leader_and_isr._replace(leader_recovery_state=LeaderRecoveryState.RECOVERED)
        return update._replace(leader_and_isr=recovered)


IN_COMMON: Mapping[str, Any] = {
    "brokers": 2,
    "initial_replicas": 2,
    "max_replicas": 2,
    "reassignment_requests": 1,
    "max_crashes": 2,
    "isr_changes": 1,
    "controller_changes": 1,
}
"""Two brokers keep a partition, and die."""
COMMON_MUTANTS: list[tuple[type[Any], Mapping[str, Any], str]] = [
    *(
        (kind, constants, name)
        for kind, constants, name in OF_PARTITIONS
        if kind is not None and kind not in (PermitsUnclean, CountsTwice)
    ),
    (PermitsUncleanUnsaid, {}, "clean_election"),
]
NOT_HERE = {"new_has_no_state", "online_replica_is_live", "new_is_not_led"}
"""The partition has its state from the beginning, so these mutants break nothing."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "constants", "property_"),
    [each for each in COMMON_MUTANTS if each[2] not in NOT_HERE],
    ids=[f"{kind.__name__}-{name}" for kind, _, name in COMMON_MUTANTS if name not in NOT_HERE],
)
def test_a_mutant_of_partitions_breaks_the_same_here(
    kind: type[Any], constants: Mapping[str, Any], property_: str
) -> None:
    """The shared rules are tested just as well during a reassignment."""
    specification = mutant_of(kind, Reassignment, **{**PROPOSED, **IN_COMMON, **constants})
    result = check(specification, properties=[property_], engine="reference")
    assert {each.name: each.verdict for each in result.properties}[property_] == "violated"


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds in every system. Other tests break those of ZooKeeper itself."""
    sought = {
        each.name
        for constants in ({**THERE}, {**THERE, **BY_NODE}, IN_COMMON)
        for each in Reassignment(**constants).properties
        if each.kind != "sometimes" and not each.name.startswith("zk.") and each.name != "type_ok"
    }
    assert {name for _, _, name in (*MUTANTS, *COMMON_MUTANTS)} - NOT_HERE == sought - NOT_HERE


# Findings of exploration about Kafka's rules.


def test_a_controller_that_ends_while_it_removes_a_replica() -> None:
    """The replica stays in the ISR, with its log; the next controller does not know of it."""
    constants = {
        **PROPOSED,
        "min_replicas": 2,
        "disjoint_targets": True,
        "controller_changes": 1,
        "max_crashes": 0,
        "isr_changes": 1,
    }
    result = check(Reassignment(**constants), engine="reference", properties=["isr_outside_assignment"])
    (witness,) = [each for each in result.properties if each.name == "isr_outside_assignment"]
    assert (witness.verdict, witness.length) == ("witnessed", 18)


@pytest.mark.parametrize(
    ("release", "length"), long_unless(lambda case: case[0] == "2.8", [("2.4", 19), ("2.8", 20), ("3.0", None)])
)
def test_a_leader_that_cannot_remove_such_a_replica(release: str, length: int | None) -> None:
    """KAFKA-9672, once the next controller has sent it the assignment without that replica."""
    specification = Reassignment.of_release(release, **OUTSIDE)
    result = check(specification, engine="reference", properties=["isr_can_shrink"])
    assert [each.length for each in result.properties if each.name == "isr_can_shrink"] == [length]


# Releases and constants.


def test_every_release_is_mapped() -> None:
    """Each of Kafka's releases has its values; in the newest everything is on, except the proposals."""
    assert tuple(Reassignment.releases) == RELEASES
    newest = Reassignment.releases["3.9"]
    assert {name for name, on in newest.items() if not on} == set(PROPOSED)


@pytest.mark.parametrize(
    "constants",
    [
        THERE,
        {**THERE, "controller_changes": 1},
        {**THERE, "isr_changes": 0, "max_crashes": 1},
        {**THERE, "reassignment_requests": 2, "max_crashes": 1},
        {**THERE, "initial_replicas": 2, "max_replicas": 2, "reassignment_requests": 2},
        {**THERE, "reassignment_requests": 0, "max_crashes": 1},
        {**THERE, **BY_NODE, "isr_changes": 0, "max_crashes": 1},
        {**THERE, **BY_NODE, "reassignment_requests": 2, "isr_changes": 1},
        {**THERE, **BY_NODE, "controller_changes": 1, "isr_changes": 1},
    ],
    ids=lambda value: ", ".join(f"{name}={each}" for name, each in value.items()),
)
def test_impossible_actions_and_witnesses_are_absent(constants: dict[str, Any]) -> None:
    """An action or witness whose bound is too low does not exist."""
    assert check(Reassignment(**{**PROPOSED, **constants}), engine="reference").verdict == "holds"
