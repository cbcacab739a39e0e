"""The replicas of a partition during a reassignment."""

from __future__ import annotations

from itertools import permutations

import pytest

from election.brokers import InvalidBrokers
from statemachines.messages.replica_assignment import ReplicaAssignment


def test_a_reassignment_has_both_ends() -> None:
    """Any reassignment begins with the origin and ends with the target, in the target's order."""
    sets = [brokers for size in range(4) for brokers in permutations(range(4), size)]
    for origin in sets:
        for target in sets:
            moving = ReplicaAssignment(origin).reassign_to(target)
            assert moving.target_replicas == target
            assert set(moving.origin_replicas) == set(origin)
            assert moving.replicas[: len(target)] == target
            assert moving.is_being_reassigned == (set(origin) != set(target))


def test_a_second_reassignment_starts_from_the_same_origin() -> None:
    """Replicas that only the first one added are dropped, unless the second wants them [KIP-455]."""
    moving = ReplicaAssignment((1, 2)).reassign_to((3, 4)).reassign_to((4, 5))
    assert moving == ReplicaAssignment((4, 5, 1, 2), (4, 5), (1, 2))


def test_a_replica_leaves_all_three() -> None:
    """It is no longer among the replicas, the added or the removed ones."""
    moving = ReplicaAssignment((3, 1, 2), (3,), (2,))
    assert moving.remove_replica(3) == ReplicaAssignment((1, 2), (), (2,))
    assert moving.remove_replica(2) == ReplicaAssignment((3, 1), (3,), ())


def test_a_target_that_names_a_broker_twice_is_refused() -> None:
    """The error names it."""
    with pytest.raises(InvalidBrokers, match="target: broker 3 occurs twice"):
        ReplicaAssignment((1, 2)).reassign_to((3, 3))
