"""Random walks through the controller election: far into a large state space, they find what a fix prevents."""

from __future__ import annotations

import pytest
from hypothesis import settings

from spec.checking import check
from spec.systems.controller_election import ControllerElection
from spec.testing import Violation, as_state_machine
from tests.spec.testing.running import Failure, failure_of

WIDE = ControllerElection(brokers=3, sessions_per_broker=2, elections=3)
"""More states than these tests can explore."""

TestThreeBrokers = pytest.mark.long(as_state_machine(WIDE).TestCase)


WALKS = 240
"""Of 80 walks, as in the `ci` profile; three in twenty such runs find nothing."""


@pytest.fixture(scope="module")
def unfenced() -> Failure:
    """The failure that walks find without the fence and without crashes."""
    machine = as_state_machine(ControllerElection(brokers=2, fence_zk=False, crashes=False))
    return failure_of(machine, max_examples=WALKS, stateful_step_count=settings.get_profile("ci").stateful_step_count)


@pytest.mark.long
def test_walks_find_a_zombies_write(unfenced: Failure) -> None:
    """The failure names the property."""
    assert isinstance(unfenced.error, Violation)
    assert str(unfenced.error).startswith("fenced_writes is broken by update_leader_and_isr(")


@pytest.mark.long
def test_the_printed_program_repeats_it(unfenced: Failure) -> None:
    """Pasted, it fails in the same way."""
    with pytest.raises(Violation) as again:
        exec(compile(unfenced.program, "printed", "exec"), {})
    assert str(again.value) == str(unfenced.error)


@pytest.mark.long
def test_the_program_is_as_short_as_can_be(unfenced: Failure) -> None:
    """It takes the shortest path."""
    shortest = check(ControllerElection(brokers=2, fence_zk=False, crashes=False)).counterexample
    assert shortest is not None
    assert len(unfenced.steps) == len(shortest.steps)
