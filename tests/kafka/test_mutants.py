"""Controllers with one mistake each: a system breaks, Kafka contradicts, and a `Cluster` shows it.

Three guards cover elections of controllers and leaders, the order of a failover, the effects of a resignation, and
the ISRs that a controller accepts. The mutants, and the scenario of a `Cluster` that shows each, come from
`tests.statemachines.test_cluster_mutants`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest

from spec.checking import check
from spec.kafka.scripted_cluster import OTHER_CONTROLLER, ControlCommand
from spec.kafka.state_machines_beside import RealController
from spec.language import Specification
from spec.systems.control_requests import ControlRequests
from spec.systems.controller import ControllerLife
from spec.systems.controller_election import ControllerElection
from spec.systems.partitions import Partitions
from spec.systems.topic_deletion import TopicDeletion
from tests.kafka.test_controller_beside import Observation, and_all, asked, compare
from tests.mutants import put_in_place
from tests.statemachines.test_cluster_mutants import (
    MUTANTS,
    DoesNotElectAtFirst,
    ElectsUncleanly,
    ElectsUnderTheEpochOfBefore,
    FindsEveryReplicaEligible,
    ForgetsTheIsrThatItWrote,
    KeepsItsContext,
    ReadsAssignmentsBeforeTopics,
    StaysInOffice,
    TellsOfBrokersAfterLeaders,
)

MENDED: Final = {"clear_batch": True, "elect_if_created": True, "preferred_elections": False}
"""Properties that would break anyway, since the bug is open in 3.9."""
FAILURES: Final = ControllerLife(
    brokers=1,
    **dict.fromkeys(("ghost_check", "resign_on_move", "elect_if_none"), True),
    **dict.fromkeys(("crashes", "expiries", "lost_replies", "disconnections", "receiving_broker"), False),
)
DEATHS: Final = Partitions(**MENDED, max_crashes=1, controller_changes=0, shutdowns=False)
FAILOVERS: Final = Partitions(**MENDED, max_crashes=0, isr_changes=0, shutdowns=False)
ISR_CHANGES: Final = Partitions(**MENDED, max_crashes=0, controller_changes=0)
DELETIONS: Final = TopicDeletion(clear_batch=True, brokers=1, max_crashes=0)
REQUESTS: Final = ControlRequests(max_crashes=0, controller_changes=0, lost_replies=False)

TABLE: Final[Sequence[tuple[type[Any], Specification, str]]] = [
    # election
    (ElectsUnderTheEpochOfBefore, ControllerElection(brokers=1, crashes=False), "epoch_unique"),
    (ElectsUncleanly, DEATHS, "clean_election"),
    # failover
    (ReadsAssignmentsBeforeTopics, FAILOVERS, "psm_domain"),
    (DoesNotElectAtFirst, FAILOVERS, "psm_domain"),
    (TellsOfBrokersAfterLeaders, REQUESTS, "replicas_follow"),
    # resignation
    (StaysInOffice, FAILURES, "active_has_node"),
    (KeepsItsContext, DELETIONS, "deletion_waits_for_reason"),
    # ISRs
    (ForgetsTheIsrThatItWrote, ISR_CHANGES, "cache_fresh"),
    (FindsEveryReplicaEligible, ISR_CHANGES, "isr_member_ineligible"),
]
"""A mutant, the system that detects it, and the property that breaks or the witness that is no longer met."""

BOTH_IN_SYNC: Final[ControlCommand] = and_all(
    {
        "do": "alter_partition",
        "broker": 1,
        "isrs": {"a-0": [1, 2]},
        **dict.fromkeys(("epoch_off", "leader_epoch_off", "partition_epoch_off", "recovery"), 0),
    }
)
STORY: Final[Sequence[ControlCommand]] = [
    and_all({"do": "wait"}),
    and_all({"do": "register", "brokers": [1, 2]}),
    and_all({"do": "create_topic", "topic": "a", "partitions": {"0": [1, 2]}}),
    and_all({"do": "die", "brokers": [2]}),
    BOTH_IN_SYNC,  # it is refused: broker 2 is dead
    and_all({"do": "register", "brokers": [2]}),
    BOTH_IN_SYNC,
    and_all({"do": "depose"}),
    and_all({"do": "vacate"}),
    and_all({"do": "die", "brokers": [2]}),
    and_all({"do": "register", "brokers": [2]}),
    and_all({"do": "die", "brokers": [1]}),  # no other replica is in sync
    and_all({"do": "write_controller", "broker": OTHER_CONTROLLER}),
]
"""Enough for Kafka to contradict every mutant."""


def unexpected_verdicts(system: Specification) -> set[str]:
    """The broken properties, and the unmet witnesses."""
    found = check(system, keep_going=True).properties
    return {each.name for each in found if each.verdict in ("violated", "unwitnessed")}


each_mutant = pytest.mark.parametrize(("mutant", "system", "name"), TABLE, ids=[row[0].__name__ for row in TABLE])


@pytest.mark.long
@each_mutant
def test_the_specification_detects_a_mutant(
    mutant: type[Any], system: Specification, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a property or witness that holds without the mutant."""
    assert unexpected_verdicts(system) == set()
    put_in_place(mutant, monkeypatch)
    assert name in unexpected_verdicts(system)


@pytest.fixture(scope="module")
def seen(real_controller: RealController) -> Sequence[Observation]:
    """Kafka's observations of the story."""
    return asked(real_controller, *STORY)[1]


@pytest.mark.long
@each_mutant
def test_kafka_refutes_a_mutant(
    mutant: type[Any], system: Specification, name: str, seen: Sequence[Observation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka agrees with the correct controller."""
    compare(STORY, seen)
    put_in_place(mutant, monkeypatch)
    with pytest.raises(AssertionError):
        compare(STORY, seen)


def test_the_cluster_shows_each_mutant() -> None:
    """By its scenario there."""
    assert {mutant for mutant, _, _ in TABLE} <= {mutant for mutant, _ in MUTANTS}
