"""Deletion of topics: what goes wrong without a fix, what 3.9 does that was not said, and no guard for nothing.

A mutant is the system with one thing wrong in its controller, or a fix off. Each must break the property that is
there for it. Those of what the system has in common with `partitions` are those of that one.
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
from statemachines.controller.partition_state_machine import OFFLINE, PartitionStateMachine, PartitionStep
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicName
from statemachines.tables.partition import NewPartition, OfflinePartition, OnlinePartition
from tests.spec.systems.test_partitions import MUTANTS as OF_PARTITIONS
from tests.spec.systems.test_partitions import mutant as mutant_of

PROPOSED: Mapping[str, Any] = {"clear_batch": True, "forget_ineligible": True}
"""What is open in 3.9, mended."""
ALONE: Mapping[str, Any] = {
    "brokers": 1,
    "controller_changes": 0,
    "max_crashes": 0,
    "deletion_failures": 0,
    "creations": 0,
}
"""One replica, and nothing happens to it but that it is deleted."""


def told(result: Result) -> list[str]:
    """The counterexample as the steps it is made of."""
    assert result.counterexample is not None
    return [str(each.step) for each in result.counterexample.steps]


# What goes wrong.


def test_a_mark_of_the_topic_that_is_gone_stops_the_next_one_from_being_deleted() -> None:
    """K8: a broker dies behind its answer, and the topic becomes ineligible; it is deleted, and stays so."""
    specification = anomaly_named("K8").specification("off")
    way = told(check(specification, engine="reference", properties=["deletion_waits_for_reason"]))
    done, dies = way.index("stop_replica_response(broker=0)"), way.index("crash(broker=0)")
    gone = way.index("stop_replica_response(broker=1)")
    assert done < dies < gone
    rest = ("restart(broker=0)", "create_topic()", "topic_change()", "delete_topic()", "topic_deletion()")
    assert [step for step in way[gone:] if step in rest] == list(rest)
    assert way[-1] == "topic_deletion()"


# Every guard that matters: the system with one thing wrong, and the property that sees it.


class AsksForNothing(DeletingZkClient):
    """What asked for the deletion goes before the topic does."""

    def delete_topic_znode(self, topic: TopicName) -> Calls:
        return (call(self.delete_topic_deletions, (topic,)), *super().delete_topic_znode(topic))


class TakesErrorsForSuccess(ControllerEventProcessor):
    """A replica that could not be deleted counts as deleted."""

    def process_topic_deletion_stop_replica_response_received(
        self, broker: BrokerId, request_error: Errors, partition_errors: PartitionErrors
    ) -> Calls:
        fine = tuple((partition, Errors.NONE) for partition, _ in partition_errors)
        return super().process_topic_deletion_stop_replica_response_received(broker, request_error, fine)


class RemembersTheTopic(ControllerEventProcessor):
    """The leaders and ISRs of a topic that is gone are still known."""

    def _remove_topic(self, topic: TopicName) -> None:
        known = dict(self.context.state.partition_leadership_info)
        super()._remove_topic(topic)
        self.context.state.partition_leadership_info.update(known)


class ForgetsToResume(ControllerEventProcessor):
    """A broker that is back resumes nothing."""

    def resume_deletion_for_topics(self, topics: Iterable[TopicName]) -> Calls:
        return ()


class ElectsForAll(PartitionStateMachine):
    """It elects leaders for topics that are to be deleted, too."""

    def trigger_online_partition_state_change(self, topic: TopicName | None = None) -> PartitionStep:
        wanted = self.context.partitions_in_states({NewPartition, OfflinePartition}, topic)
        return self.handle_state_changes(wanted, OnlinePartition, OFFLINE)


PLACES: Mapping[str, type[Any]] = {
    "event_processor": ControllerEventProcessor,
    "zk_client": DeletingZkClient,
    "partition_state_machine": PartitionStateMachine,
}
"""Where a system says of which class each is."""


def mutant(kind: type[Any], **constants: Any) -> Specification:
    """The system with this controller, client, or state machine in place of its own."""
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
    MUTANTS,
    ids=[f"{kind.__name__ if kind else 'switch'}-{name}" for kind, _, name in MUTANTS],
)
def test_a_mutant_breaks_the_property_that_is_there_for_it(
    kind: type[Any] | None, constants: dict[str, Any], property_: str
) -> None:
    """On the way to it nothing else has to hold."""
    given = {**PROPOSED, **ALONE, **constants}
    specification = TopicDeletion(**given) if kind is None else mutant(kind, **constants)
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
"""What is not seen before both have died, or the topic is created again."""
NOT_HERE = {"online_replica_is_live", "new_is_not_led", "isr_survives_election", "election_from_current_state"}
"""Properties of what happens elsewhere: no leader that runs is replaced here, so that none writes meanwhile."""
COMMON_MUTANTS = [(kind, name) for kind, _, name in OF_PARTITIONS if kind is not None and name not in NOT_HERE]


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "property_"), COMMON_MUTANTS, ids=[f"{kind.__name__}-{name}" for kind, name in COMMON_MUTANTS]
)
def test_a_mutant_of_partitions_breaks_the_same_here(kind: type[Any], property_: str) -> None:
    """What both have in common is no less guarded where a topic is deleted."""
    specification = mutant_of(kind, TopicDeletion, **{**PROPOSED, **ONCE, **TAKES_MORE.get(property_, {})})
    result = check(specification, properties=[property_], engine="reference")
    assert {each.name: each.verdict for each in result.properties}[property_] == "violated"


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds whatever the system does. Those of ZooKeeper itself have theirs elsewhere."""
    sought = {
        each.name
        for each in TopicDeletion().properties
        if each.kind != "sometimes" and not each.name.startswith("zk.") and each.name != "type_ok"
    }
    assert {name for _, _, name in MUTANTS} | {name for _, name in COMMON_MUTANTS} == sought - NOT_HERE


# Releases and constants.


def test_every_release_is_mapped() -> None:
    """Each of Kafka's releases has a valuation, and the newest is everything on but what is proposed."""
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
def test_what_cannot_happen_is_absent_not_missing(constants: dict[str, Any]) -> None:
    """An action or witness whose bound is too low is not asked for."""
    assert check(TopicDeletion(**{**PROPOSED, **ALONE, **constants}), engine="reference").verdict == "holds"
