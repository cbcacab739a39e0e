"""Each change of Kafka's is recorded once, with exact releases and with its evidence."""

from __future__ import annotations

import pickle
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from spec.kafka import controller_beside, data_plane_beside, idle_controller_beside, state_machines_beside
from statemachines.changes import CHANGES, truncating
from statemachines.changes.administration import AdminDesign
from statemachines.changes.change import (
    Compared,
    KafkaChange,
    Releases,
    always,
    proposed,
    since,
    until,
)
from statemachines.changes.replicating import ReplicationDesign
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import Design
from statemachines.releases import EXACT, RELEASES, UnknownRelease, numbers
from tests.rows import rows

ROOT = Path(__file__).parents[2]
OLDEST, NEWEST = RELEASES[0], RELEASES[-1]
RUN = {
    Compared.StateMachines: state_machines_beside.RELEASES,
    Compared.WholeController: controller_beside.RELEASES,
    Compared.SettledController: idle_controller_beside.RELEASES,
    Compared.Receiver: ("3.9.1",),
    Compared.Leader: ("2.8.0", "2.8.2", "3.9.1"),
    Compared.DataPlane: data_plane_beside.RELEASES,
    Compared.Tools: state_machines_beside.RELEASES,
}
"""The releases whose classes run beside ours."""
EVERY = [release for releases in EXACT.values() for release in releases]


# A record.

TWICE = KafkaChange(sentence="A client looks.", before=True, since={"2.8.0": False, "3.0.1": True})


@rows(
    "release, value",
    [
        ("2.7.2", True),
        ("2.8.0", False),
        ("2.8", False),
        ("3.0.0", False),
        ("3.0.1", True),
        ("3.0", True),
        ("3.9", True),
    ],
)
def test_a_change_has_its_value_from_an_exact_release_on(release: str, value: bool) -> None:
    """A line stands for its last release; so it has the fixes that were made within it."""
    assert TWICE.at(release) is value


def test_an_invalid_release_is_refused() -> None:
    """With its name."""
    with pytest.raises(UnknownRelease, match=r"2\.8\.7"):
        TWICE.at("2.8.7")


@rows(
    "recorded, words",
    [
        (since("2.1.0", "It is fenced", "KAFKA-1"), "It is fenced (2.1, KAFKA-1)."),
        (since("3.4.1", "It stops"), "It stops (3.4.1)."),
        (since("0.8.2.0", "It reads", note="once"), "It reads (0.8.2; once)."),
        (until("3.6.0", "It waits", "#2"), "It waits (until 3.5, #2)."),
        (until("3.0.1", "It waits"), "It waits (until 3.0.0)."),
        (always("It counts"), "It counts (every release)."),
        (proposed("It asks"), "It asks (proposed)."),
        (proposed("It asks", by="KAFKA-3"), "It asks (proposed: KAFKA-3)."),
        (KafkaChange(sentence="It is so", before=False, since={"1.0.0": True, "3.1.0": False}),
         "It is so (1.0 to 3.0)."),
        (KafkaChange(sentence="It is so", before=True, since={"1.1.0": False, "2.0.1": True}),
         "It is so (not from 1.1 to 2.0.0)."),
        (ControlDesign.count_unclean_elections,
         "An election of a leader that was not in sync is counted [UncleanLeaderElectionsPerSec] (not in 1.1.0, "
         "KAFKA-6752)."),
        (KafkaChange(sentence="How it is", before="a", since={"1.0.0": "b"}), "How it is."),
    ],
)  # fmt: skip
def test_a_change_prints_its_releases(recorded: KafkaChange[object], words: str) -> None:
    """The first release of a line is printed as the line."""
    assert str(recorded) == words


def test_the_release_that_gave_a_value_for_good() -> None:
    """None if the value was there from the beginning."""
    assert (TWICE.first(True), TWICE.first(False)) == ("3.0.1", "2.8")
    assert (until("2.2.0", "It is").first(True), always("It is").first(True)) == (None, None)


# Their values in a release.


@rows("design", [Design, ControlDesign, AdminDesign, ReplicationDesign])
def test_a_design_is_a_value(design: Any) -> None:
    """It can be compared, be an element of a set, go to another process, and not be changed."""
    newest, oldest = design(NEWEST), design(OLDEST)
    assert len({newest, oldest, design(NEWEST), pickle.loads(pickle.dumps(oldest))}) == 2
    assert oldest.but(**newest.values) == newest != oldest.but()
    name = next(iter(design.changes))
    with pytest.raises(AttributeError, match=rf"{design.__name__} is immutable, .but\({name}=...\)"):
        setattr(newest, name, False)
    with pytest.raises(AttributeError, match=f"{design.__name__} is immutable"):
        delattr(newest, name)
    assert newest == design(NEWEST)


def test_equal_values_of_other_changes_differ() -> None:
    """As the classes do."""

    class One(Releases):
        fenced = since("2.1.0", "It is fenced")

    class Other(Releases):
        fenced = since("2.1.0", "It is fenced")

    assert One() != Other()
    assert repr(One("2.0")) == "One(fenced=False)"


def test_an_unknown_field_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(ValueError, match="AdminDesign has no field 'fence_zk', allowed are number_from_zero, "):
        AdminDesign().but(fence_zk=False)


# All records.


@rows("recorded", CHANGES)
def test_each_names_exact_releases_in_order_and_changes_something_in_each(recorded: KafkaChange[object]) -> None:
    """Also releases that are too old to be followed here."""
    firsts = list(recorded.since)
    assert firsts == sorted(firsts, key=numbers)
    assert all(first in EVERY or numbers(first) < numbers(EVERY[0]) for first in firsts)
    values = [recorded.before, *recorded.since.values()]
    assert all(earlier != later for earlier, later in pairwise(values))


def test_shared_fields_are_one_record() -> None:
    """With one name."""
    one, other = Design.changes, ControlDesign.changes
    assert one.keys() & other.keys() == {"fence_zk", "broker_epoch"}
    assert all(one[name] is other[name] for name in one.keys() & other.keys())


def test_every_field_that_releases_differ_in_is_a_record() -> None:
    """Except the table, the failover, and fields that no release sets."""
    for design in (Design, ControlDesign):
        assert design().values.keys() - design.changes.keys() <= {
            *("failover", "resignation", "state", "looks_again", "replica_table")
        }


def test_the_default_release_is_the_newest() -> None:
    """In both designs."""
    for name in Design.changes:
        assert getattr(Design(), name) == getattr(Design(NEWEST), name)
    for name in ControlDesign.changes:
        assert getattr(ControlDesign(), name) == getattr(ControlDesign(NEWEST), name)


@rows(
    "recorded, before, first",
    [
        (Design.reinit_only_if_expired, "2.7.2", "2.8.0"),
        (Design.reinit_only_if_expired, "3.0.0", "3.0.1"),
        (ControlDesign.count_unclean_elections, "1.1.0", "1.1.1"),
        (ControlDesign.rebalance_together, "2.0.0", "2.0.1"),
        (ControlDesign.allow_requeued_deletion, "3.2.0", "3.2.1"),
        (ControlDesign.stop_at_same_epoch, "3.4.0", "3.4.1"),
        (truncating.JOIN_AT_EPOCH_START, "2.0.0", "2.0.1"),
    ],
)
def test_releases_of_a_line_differ(recorded: KafkaChange[bool], before: str, first: str) -> None:
    """Where a fix came into a line that had been released."""
    assert recorded.at(before) is not recorded.at(first)


# Evidence.


def test_each_rule_has_evidence() -> None:
    """Or it is a proposal: then no release has it."""
    for rule, recorded in {**ControlDesign.changes, **ReplicationDesign.changes}.items():
        is_proposed = recorded.proposed_by is not None
        assert is_proposed is not bool(recorded.compared or recorded.by_source), rule
    for rule, recorded in CHANGES.items():
        if recorded.proposed_by is not None:
            assert not any(recorded.at(release) for release in EVERY), rule


def test_a_value_of_no_compared_class_is_by_source() -> None:
    """A change that is only compared needs classes of both kinds: with the rule, and without it."""
    for rule, recorded in {**ControlDesign.changes, **ReplicationDesign.changes}.items():
        run = {release for classes in recorded.compared for release in RUN[classes]}
        ways = {recorded.at(release) for release in run}
        assert ways == {False, True} or recorded.by_source or recorded.proposed_by, rule


def test_cited_tests_exist() -> None:
    """As files that run the classes."""
    assert all((ROOT / classes.value).exists() for classes in Compared)


def test_a_change_by_source_has_a_line_before_and_one_since() -> None:
    """Of the exact releases that changed it."""
    for name, recorded in CHANGES.items():
        tags = [line.tag for line in recorded.by_source]
        assert tags == sorted(tags, key=numbers), name
        if tags:
            assert set(recorded.since) <= set(tags), name
            assert len(tags) > len(recorded.since), name


def test_a_line_can_be_looked_up() -> None:
    """It has a file of Kafka's, a method and a number."""
    for recorded in CHANGES.values():
        for line in recorded.by_source:
            assert re.fullmatch(r"\d+(\.\d+){2,3}", line.tag), line
            assert re.fullmatch(r"[A-Z]\w+\.(scala|java)", line.file), line
            assert re.fullmatch(r"[A-Za-z]\w+", line.method), line
            assert line.number > 0
