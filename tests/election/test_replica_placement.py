"""Replica placement agrees with the examples of AdminUtils.java, 3.9; tests/kafka compares it with Kafka's own."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from election import replica_placement


def test_the_others_skip_one_more_each_round() -> None:
    first_round = [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 0), (4, 0, 1)]
    second_round = [(0, 2, 3), (1, 3, 4), (2, 4, 0), (3, 0, 1), (4, 1, 2)]
    assert assigned(range(5), 10, 3) == dict(enumerate([*first_round, *second_round]))


def test_with_racks_each_replica_has_its_own() -> None:
    racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    first_round = [(0, 3, 1), (3, 1, 5), (1, 5, 4), (5, 4, 2), (4, 2, 0), (2, 0, 3)]
    assert assigned(range(6), 7, 3, racks=racks) == dict(enumerate([*first_round, (0, 4, 2)]))


def test_one_rack_with_more_brokers() -> None:
    """Its brokers come last in the ring, and are passed over until each rack has a replica."""
    racks = {1: "a", 2: "a", 3: "a", 4: "b"}
    replicas = [(1, 4, 2), (4, 2, 3), (2, 4, 3), (3, 4, 2)]
    assert assigned((3, 2, 1, 4), 4, 3, racks=racks) == dict(enumerate(replicas))


def test_each_broker_keeps_one_replica() -> None:
    """Even after brokers of every rack have been passed over."""
    racks = {0: "a", 1: "a", 2: "b", 3: "b", 4: "c"}
    assert assigned(range(5), 1, 5, racks=racks, start_index=4) == {0: (3, 0, 4, 1, 2)}


def test_the_order_is_that_of_the_brokers() -> None:
    assert assigned((7, 3, 5), 2, 2) == {0: (7, 3), 1: (3, 5)}


def test_random_choices_are_arguments() -> None:
    assert assigned(range(5), 2, 3, start_index=3, shift=1) == {0: (3, 0, 1), 1: (4, 1, 2)}


def test_partitions_are_numbered_from_the_first_on() -> None:
    """A partition number that begins a later round increases the shift at once."""
    assert assigned(range(3), 2, 2, start_partition=2) == {2: (2, 0), 3: (0, 2)}
    assert assigned(range(3), 1, 2, start_partition=3, shift=1) == {3: (0, 1)}


def test_one_broker_keeps_all() -> None:
    assert assigned((4,), 2, 1) == {0: (4,), 1: (4,)}


def test_missing_racks_follow_the_mode() -> None:
    ring = {"racks": {0: "b", 2: "a"}, "brokers": range(3), "partitions": 1, "replication_factor": 3}
    modes = replica_placement.RackAwareMode
    for mode in (modes.SAFE, modes.DISABLED):
        assert assigned(mode=mode, **ring) == {0: (0, 1, 2)}
    ring["racks"] = {0: "b", 1: "b", 2: "a"}
    for mode, replicas in zip(modes, ((0, 1, 2), (2, 0, 1), (2, 0, 1)), strict=True):
        assert assigned(mode=mode, **ring) == {0: replicas}


def test_racks_of_others_do_not_count() -> None:
    racks = {0: "b", 1: "b", 2: "a", 9: "c"}
    assert assigned(range(3), 1, 3, racks=racks) == {0: (2, 0, 1)}
    assert assigned((0, 1), 1, 2, racks={9: "c"}) == {0: (0, 1)}


def test_added_partitions_begin_where_partition_0_does() -> None:
    """Partition 0's first replica gives start index and shift, or the next broker if that one is gone."""
    for first, replicas in ((5, [(7, 5), (2, 7)]), (3, [(5, 2), (7, 4)]), (8, [(4, 5), (5, 7)])):
        assert added({0: (first, 9)}, 3, (2, 4, 5, 7)) == dict(enumerate(replicas, 1))


def test_with_racks_added_partitions_begin_elsewhere() -> None:
    """The ring has another order, so the same index is another broker."""
    racks, disabled = {0: "b", 1: "b", 2: "a"}, replica_placement.RackAwareMode.DISABLED
    assert added({0: (0,)}, 2, range(3), racks=racks) == {1: (0,)}
    assert added({0: (0,)}, 2, range(3), racks=racks, mode=disabled) == {1: (1,)}


def test_impossible_placements_are_refused() -> None:
    bounds = "allowed are 1 and more, up to the number of brokers, 3"
    for partitions, factor, said in (
        (0, 1, "InvalidPartitions: partitions: 0, allowed are the integers from 1 on"),
        (1, 0, f"InvalidReplicationFactor: replication_factor: 0, {bounds}"),
        (1, 4, f"InvalidReplicationFactor: replication_factor: 4, {bounds}"),
    ):
        assert assigned((1, 2, 3), partitions, factor) == said
    for name in ("start_index", "shift", "start_partition"):
        said = f"ValueError: {name}: -1, allowed are the integers from 0 on"
        assert assigned((1, 2), 1, 1, **{name: -1}) == said


def test_brokers_that_contradict_each_other_are_refused() -> None:
    some = "InvalidBrokers: racks: brokers 1, 3 have none, allowed are racks of all brokers or of none"
    twice = "broker 1 occurs twice in (1, 1), allowed is once"
    assert assigned((1, 2, 3), 1, 1, racks={2: "a"}) == some
    assert assigned((1, 1), 1, 1) == f"InvalidBrokers: brokers: {twice}"
    for existing, brokers, what in (((1, 1), (1,), "replicas of partition 0"), ((1,), (1, 1), "brokers")):
        assert added({0: existing}, 2, brokers) == f"InvalidBrokers: {what}: {twice}"


def test_a_smaller_partition_count_is_refused() -> None:
    said = "InvalidPartitions: partitions: 2, allowed are the integers from 3 on"
    assert added({0: (1,), 1: (2,)}, 2, (1, 2)) == said
    assert added({0: (1,), 1: (2,)}, 3, (1, 2)) == {2: (1,)}
    said = "InvalidPartitions: existing: partition 0 has no replicas, and the new ones are placed like it"
    for existing in ({}, {1: (1,)}, {0: ()}):
        assert added(existing, 3, (1, 2)) == said


def assigned(*args: Any, **options: Any) -> Any:
    return outcome(replica_placement.assign_replicas_to_brokers, *args, **options)


def added(*args: Any, **options: Any) -> Any:
    return outcome(replica_placement.create_new_partitions_assignment, *args, **options)


def outcome(function: Any, *args: Any, **options: Any) -> Any:
    """Return the placement, or the type and message of the refusal."""
    try:
        return function(*args, **options)
    except Exception as refused:
        return f"{type(refused).__name__}: {refused}"


SAME = {
    ("partition > 0", "partition != 0"),
    ("partition > 0", "partition > 1"),  # in a ring of one broker, where no other skips any
    ("% len(ring) == 0", "% len(ring) <= 0"),
    ("len(replicas) == replication_factor", "len(replicas) >= replication_factor"),
    ("break", "continue"),
    ("len(taken) == number_of_racks", "len(taken) >= number_of_racks"),
    ("len(known) == len(brokers)", "len(known) >= len(brokers)"),
}
"""Mutations that change no behaviour."""


@pytest.mark.long
def test_mutants_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mutant of Cosmic Ray fails a test, except those of no effect."""
    from tests.random_mutants import mutants_of

    tests = [each for name, each in globals().items() if name.startswith("test_") and "mutants" not in name]
    path = Path(replica_placement.__file__)
    source = path.read_text(encoding="utf-8")
    same = {source.replace(line, instead) for line, instead in SAME}
    survivors = []
    for mutant in chain.from_iterable(mutants_of(path)):
        code, changed = mutant.code(), ModuleType(mutant.operator)
        monkeypatch.setattr(f"{__name__}.replica_placement", changed)
        try:
            exec(code, changed.__dict__)
            for test in tests:
                test()
        except (AssertionError, SyntaxError):
            continue
        if code not in same:
            survivors.append(mutant.difference())
    assert survivors == []
