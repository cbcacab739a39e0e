"""Each system walked by its generated Hypothesis machine: nothing breaks, and a planted fault is found.

These instances are minimal, and the walks are always the same. `test_beyond.py` and
`test_controller_election_walks.py` take fresh walks through larger ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase
from hypothesis.stateful import run_state_machine_as_test

from spec.language import Specification
from spec.systems import SYSTEMS
from spec.systems.control_requests import ControlRequests
from spec.systems.controller import ControllerLife
from spec.systems.controller_election import Cluster, ControllerElection
from spec.systems.fetching import Fetching
from spec.systems.partitions import Partitions
from spec.systems.reassignment import Reassignment
from spec.systems.replication import Kip320, TruncateOnFetch
from spec.systems.topic_deletion import TopicDeletion
from spec.testing import Violation, as_state_machine
from statemachines.controller.threads import ControllerStep
from tests.spec.testing.running import failure_of, run
from tests.tiers import long_unless


class TwoControllers(ControllerElection[Cluster]):
    """Two brokers that have already read the epoch, which takes six steps each."""

    epoch_unique = None  # type: ignore[assignment]  # it breaks in the same state, and would be reported instead

    def a_cluster_set_up(self, s: Cluster) -> None:
        super().a_cluster_set_up(s)
        for broker in range(self.brokers):
            self.start(s, broker)
            self.connect(s, broker)
            for do in (
                ControllerStep.RegisterBroker,
                ControllerStep.WatchController,
                ControllerStep.Elect,
                ControllerStep.ReadEpoch,
            ):
                self.request(s, broker, do)


class Machine(NamedTuple):
    """A correct system, and one with a fault."""

    sound: Specification[Any]
    faulty: Specification[Any]
    breaks: str
    """The property that the fault breaks."""
    steps: int
    """Length of the shortest path there."""


MENDED: Mapping[str, bool] = {"ghost_check": True, "resign_on_move": True, "elect_if_none": True}
"""The proposed fixes with which the controller's life is correct."""

MACHINES: Mapping[str, Machine] = {
    "controller-election": Machine(
        ControllerElection(brokers=2, elections=1, crashes=False, operator_deletes=False),
        TwoControllers(brokers=2, crashes=False, operator_deletes=False, conditional_increment=False),
        "single_controller",
        3,
    ),
    "controller": Machine(
        ControllerLife(
            brokers=1,
            elections=1,
            state_writes=1,
            max_queued_events=5,
            crashes=False,
            disconnections=False,
            receiving_broker=False,
            **MENDED,
        ),
        ControllerLife(
            brokers=1,
            elections=1,
            state_writes=1,
            max_queued_events=5,
            crashes=False,
            disconnections=False,
            receiving_broker=False,
        ),
        "resigned_context_empty",
        10,
    ),
    "partitions": Machine(
        Partitions(clear_batch=True, max_crashes=1, controller_changes=0, max_leader_epoch=3),
        Partitions(
            clear_batch=True,
            max_crashes=0,
            max_leader_epoch=2,
            shutdowns=False,
            preferred_elections=False,
            fence_zk=False,
        ),
        "fenced_writes",
        7,
    ),
    "reassignment": Machine(
        Reassignment(reassignment_requests=1, keep_in_sync=True, keep_leader=True),
        Reassignment(reassignment_requests=1, remember_epoch=False),
        "cache_fresh",
        7,
    ),
    "topic-deletion": Machine(
        TopicDeletion(forget_ineligible=True, controller_changes=0, deletion_failures=0),
        TopicDeletion(
            clear_batch=True, forget_ineligible=True, max_crashes=0, creations=0, deletion_failures=0, fence_zk=False
        ),
        "fenced_writes",
        9,
    ),
    "control-requests": Machine(
        ControlRequests(max_crashes=0, controller_changes=0),
        ControlRequests(controller_changes=0, lost_replies=False, broker_epoch=False),
        "ignores_requests_for_earlier_life",
        4,
    ),
    "fetching": Machine(
        Fetching(max_leader_epoch=2),
        Fetching(max_deaths=1, lossy=True),
        "leader_completeness",
        7,
    ),
    "replication": Machine(
        TruncateOnFetch(brokers=2, log_size=2, max_records=2, max_leader_epoch=1),
        Kip320(brokers=1, log_size=1, max_records=1, max_leader_epoch=0, refuse_same_epoch=False),
        "no_hw_regression",
        5,
    ),
}


def test_every_system_has_its_machine() -> None:
    """And no fault is deeper than ten steps."""
    assert set(MACHINES) == set(SYSTEMS)
    assert max(machine.steps for machine in MACHINES.values()) <= 10


@pytest.mark.parametrize("name", long_unless({"controller", "fetching", "replication"}.__contains__, MACHINES))
def test_the_system_without_fault_holds(name: str) -> None:
    """And the fault breaks one of its properties."""
    sound, _, breaks, _ = MACHINES[name]
    assert breaks in [each.name for each in sound.properties]
    run(as_state_machine(sound), max_examples=15, stateful_step_count=40, phases=[Phase.generate])


@pytest.mark.parametrize("name", long_unless({"control-requests", "fetching", "replication"}.__contains__, MACHINES))
def test_a_planted_fault_is_found(name: str) -> None:
    """By its property, in the fewest steps."""
    _, faulty, breaks, steps = MACHINES[name]
    failure = failure_of(as_state_machine(faulty), max_examples=150, stateful_step_count=40)
    assert isinstance(failure.error, Violation)
    assert failure.error.trace is not None
    assert failure.error.trace.broken == breaks
    assert len(failure.steps) == steps


LARGER: Mapping[str, Specification[Any]] = {
    "controller": ControllerLife(
        brokers=3, receiving_broker=False, ghost_check=True, resign_on_move=True, elect_if_none=True
    ),
    "replication": Kip320(brokers=3, log_size=3, max_records=3, max_leader_epoch=3, history=True),
}
"""The systems that neither `test_beyond.py` nor `test_controller_election_walks.py` has."""


@pytest.mark.long
@pytest.mark.parametrize("name", LARGER)
def test_fresh_walks_find_nothing_in_larger_systems(name: str) -> None:
    """As many walks as the profile allows, new ones each time."""
    run_state_machine_as_test(as_state_machine(LARGER[name]))
