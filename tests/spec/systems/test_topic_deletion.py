"""Deletion of topics: failures without a fix, defects of 3.9, and the need for each guard.

A mutant is the system with one fault in its controller, or with a fix off. Each must break the property named beside
it. The rules shared with `partitions` have the mutants of that system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from election.ids import BrokerId
from spec.atlas.anomalies import anomaly_named
from spec.by_release import RELEASES
from spec.checking import Result, check
from spec.language import Specification
from spec.systems.topic_deletion import DeletingZkClient, TopicDeletion
from statemachines.controller.calls import Calls, call
from statemachines.controller.control_responses import PartitionErrors
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.partition_state_machine import OFFLINE, PartitionStateMachine
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicName
from statemachines.tables.partition import NewPartition, OfflinePartition, OnlinePartition
from tests.spec.systems.test_partitions import MUTANTS as OF_PARTITIONS
from tests.spec.systems.test_partitions import mutant as mutant_of
from tests.tiers import long_unless

PROPOSED: Mapping[str, Any] = {"clear_batch": True, "forget_ineligible": True}
"""The open bugs of 3.9, fixed."""
ALONE: Mapping[str, Any] = {
    "brokers": 1,
    "controller_changes": 0,
    "max_crashes": 0,
    "deletion_failures": 0,
    "creations": 0,
}
"""One replica, and nothing happens except its deletion."""


def steps_of(result: Result) -> list[str]:
    """Return the counterexample as its steps."""
    assert result.counterexample is not None
    return [str(each.step) for each in result.counterexample.steps]


# Failures.


def test_a_deleted_topics_mark_blocks_the_next_deletion() -> None:
    """K8: a broker dies after its answer, and the topic becomes ineligible; it is deleted, and stays ineligible."""
    specification = anomaly_named("K8").specification("off")
    way = steps_of(check(specification, engine="reference", properties=["deletion_waits_for_reason"]))
    dead, other = (0, 1) if "crash(broker=0)" in way else (1, 0)
    done, dies = way.index(f"stop_replica_response(broker={dead})"), way.index(f"crash(broker={dead})")
    gone = way.index(f"stop_replica_response(broker={other})")
    assert done < dies < gone
    rest = (f"restart(broker={dead})", "create_topic()", "topic_change()", "delete_topic()", "topic_deletion()")
    assert [step for step in way[gone:] if step in rest] == list(rest)
    assert way[-1] == "topic_deletion()"


# Every guard that matters: the system with one fault, and the property that detects it.


class AsksForNothing(DeletingZkClient):
    """The request for the deletion is removed before the topic."""

    def delete_topic_znode(self, topic: TopicName) -> Calls:
        return (call(self.delete_topic_deletions, (topic,)), *super().delete_topic_znode(topic))


class TakesErrorsForSuccess(ControllerEventProcessor):
    """A failed deletion of a replica counts as done."""

    def process_topic_deletion_stop_replica_response_received(
        self, broker: BrokerId, request_error: Errors, partition_errors: PartitionErrors
    ) -> Calls:
        fine = tuple((partition, Errors.NONE) for partition, _ in partition_errors)
        return super().process_topic_deletion_stop_replica_response_received(broker, request_error, fine)


class RemembersTheTopic(ControllerEventProcessor):
    """A deleted topic's leaders and ISRs stay in the context."""

    def _remove_topic(self, topic: TopicName) -> None:
        known = dict(self.context.state.partition_leadership_info)
        super()._remove_topic(topic)
        self.context.state.partition_leadership_info.update(known)


class ForgetsToResume(ControllerEventProcessor):
    """A restarted broker resumes no deletion."""

    def resume_deletion_for_topics(self, topics: Iterable[TopicName]) -> Calls:
        return ()


class ElectsForAll(PartitionStateMachine):
    """It also elects leaders for topics queued for deletion."""

    def trigger_online_partition_state_change(self, topic: TopicName | None = None) -> Calls:
        wanted = self.context.partitions_in_states({NewPartition, OfflinePartition}, topic)
        return self.handle_state_changes(wanted, OnlinePartition, OFFLINE)


PLACES: Mapping[str, type[Any]] = {
    "event_processor": ControllerEventProcessor,
    "zk_client": DeletingZkClient,
    "partition_state_machine": PartitionStateMachine,
}
"""The system's attribute for each kind of mutant."""


def mutant(kind: type[Any], **constants: Any) -> Specification:
    """Return the system with this controller, client, or state machine in place of its own."""
    (place,) = (name for name, of in PLACES.items() if issubclass(kind, of))
    made: Callable[..., Specification] = type(kind.__name__, (TopicDeletion,), {place: kind, "__doc__": kind.__doc__})
    return made(**{**PROPOSED, **ALONE, **constants})


MUTANTS: list[tuple[type[Any] | None, dict[str, Any], str]] = [
    (None, {"fence_zk": False, "controller_changes": 1}, "fenced_writes"),
    (None, {"restore_assignment": False, "partition_additions": True}, "deleted_partitions_known"),
    (None, {"leaderless_offline": False, "controller_changes": 1}, "deletion_waits_for_reason"),
    (None, {"forget_ineligible": False, "brokers": 2, "max_crashes": 1}, "context_forgets_topic"),
    (AsksForNothing, {}, "only_marked_topic_deleted"),
    (TakesErrorsForSuccess, {"deletion_failures": 1}, "no_log_left"),
    (RemembersTheTopic, {}, "context_forgets_topic"),
    (ForgetsToResume, {"max_crashes": 1}, "deletion_waits_for_reason"),
    (ElectsForAll, {"brokers": 2, "max_crashes": 1}, "no_election_for_deleted"),
]


@pytest.mark.parametrize(
    ("kind", "constants", "property_"),
    long_unless(lambda case: case[0] is None, MUTANTS),
    ids=[f"{kind.__name__ if kind else 'switch'}-{name}" for kind, _, name in MUTANTS],
)
def test_a_mutant_breaks_its_property(kind: type[Any] | None, constants: dict[str, Any], property_: str) -> None:
    """On the way to it, other properties may break."""
    settings = {**PROPOSED, **ALONE, **constants}
    specification = TopicDeletion(**settings) if kind is None else mutant(kind, **constants)
    result = check(specification, properties=[property_], engine="reference")
    assert {each.name: each.verdict for each in result.properties}[property_] == "violated"


ONCE: Mapping[str, Any] = {
    "brokers": 2,
    "controller_changes": 0,
    "max_crashes": 1,
    "deletion_failures": 0,
    "creations": 0,
}
"""Two brokers keep a partition, and one of them dies."""
TAKES_MORE: Mapping[str, Mapping[str, Any]] = {
    "clean_election": {"max_crashes": 2},
    "new_has_no_state": {"creations": 1},
}
"""Mutants that show only after both brokers have died, or the topic is created again."""
NOT_HERE = {"online_replica_is_live", "new_is_not_led", "isr_survives_election", "election_from_current_state"}
"""Properties of events that do not occur here: no live leader is replaced, so none writes meanwhile."""
COMMON_MUTANTS = [(kind, name) for kind, _, name in OF_PARTITIONS if kind is not None and name not in NOT_HERE]


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "property_"), COMMON_MUTANTS, ids=[f"{kind.__name__}-{name}" for kind, name in COMMON_MUTANTS]
)
def test_a_mutant_of_partitions_breaks_the_same_here(kind: type[Any], property_: str) -> None:
    """The shared rules are tested just as well during a deletion."""
    specification = mutant_of(kind, TopicDeletion, **{**PROPOSED, **ONCE, **TAKES_MORE.get(property_, {})})
    result = check(specification, properties=[property_], engine="reference")
    assert {each.name: each.verdict for each in result.properties}[property_] == "violated"


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds in every system. Other tests break those of ZooKeeper itself."""
    sought = {
        each.name
        for each in TopicDeletion().properties
        if each.kind != "sometimes" and not each.name.startswith("zk.") and each.name != "type_ok"
    }
    assert {name for _, _, name in MUTANTS} | {name for _, name in COMMON_MUTANTS} == sought - NOT_HERE


# Releases and constants.


def test_every_release_is_mapped() -> None:
    """Each of Kafka's releases has its values; in the newest everything is on, except the proposals."""
    assert tuple(TopicDeletion.releases) == RELEASES
    newest = TopicDeletion.releases["3.9"]
    assert {name for name, on in newest.items() if not on} == set(PROPOSED)


@pytest.mark.parametrize(
    "constants",
    [
        {},
        {"controller_changes": 1},
        {"deletion_failures": 1},
        {"creations": 1},
        {"creations": 1, "max_crashes": 1},
        {"partition_additions": True},
        {"brokers": 2, "isr_changes": 1},
    ],
    ids=lambda value: ", ".join(f"{name}={each}" for name, each in value.items()) or "alone",
)
def test_impossible_actions_and_witnesses_are_absent(constants: dict[str, Any]) -> None:
    """An action or witness whose bound is too low does not exist."""
    assert check(TopicDeletion(**{**PROPOSED, **ALONE, **constants}), engine="reference").verdict == "holds"
