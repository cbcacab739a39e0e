"""The fields of a record declare switches, with their sentences, releases and values."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import pytest

from spec.language import (
    Size,
    Specification,
    SpecificationError,
    State,
    UsageError,
    action,
    require,
    switches,
    variable,
)
from statemachines.changes.change import KafkaChange, Releases, since
from tests.rows import rows


class Lock(Enum):
    """The kind of lock."""

    bolt = "since 2.0"
    chain = "before"


class Design(Releases):
    """A door."""

    lock = KafkaChange(
        sentence="How it is locked: by a bolt (2.0), or a chain", before=Lock.chain, since={"2.0.0": Lock.bolt}
    )
    greased = since("1.1.0", "It does not squeak")
    handle = KafkaChange(sentence="What one pulls", before="knob", since={"2.0.0": "bar"})
    height = KafkaChange(sentence="metres", before=2)


ROWS = {release: Design(release) for release in ("1.0", "1.1", "2.0")}


class Hinge(State):
    """Whether it is open."""

    is_open: bool = variable("Whether it is open.")


class Door(Specification[Hinge]):
    """It is opened."""

    design: Design = switches(Design, ROWS)

    @action
    def push(self, s: Hinge) -> None:
        """From inside."""
        require(self.design.lock is Lock.chain)
        s.is_open = True


def test_a_documented_field_is_a_switch() -> None:
    """With its sentence; a field that is neither bool nor an enumeration is one if its values are listed."""
    constants = Door.constants()
    assert [*constants] == ["lock", "greased", "handle"]
    assert {each.switch for each in constants.values()} == {True}
    assert constants["greased"].doc == "It does not squeak (1.1)."
    assert constants["lock"].allowed == "one of bolt, chain"
    assert constants["handle"].allowed == "one of knob, bar"


def test_switches_default_to_the_newest_release() -> None:
    """Each release has one row of them."""
    assert Door().valuation == {"lock": "bolt", "greased": True, "handle": "bar"} == Door.releases["2.0"]
    assert Door.releases["1.1"] == {"lock": "chain", "greased": True, "handle": "knob"}
    assert [*Door.releases] == [*ROWS]


def test_the_record_is_that_of_the_constants() -> None:
    """Members of enumerations are given by their names; other fields keep their defaults."""
    assert Door().design == ROWS["2.0"]
    assert Door(lock="chain", greased=False, handle="knob").design == ROWS["1.0"]
    assert Door.of_release("1.1").design == ROWS["1.1"]


def test_an_invalid_value_is_refused() -> None:
    with pytest.raises(UsageError, match="lock = 'glue': it must be one of bolt, chain"):
        Door(lock="glue")


def test_a_subset_of_switches_may_be_taken() -> None:
    class Plain(Door):
        """Its lock never changes."""

        design: Design = switches(Design, ROWS, only=[Design.greased])

    assert Plain.releases["1.0"] == {"greased": False}
    assert Plain(greased=True).design.greased


def test_the_chosen_switches_come_in_the_given_order() -> None:
    class Both(Specification[Hinge]):
        """It has all of them."""

        design: Design = switches(Design, ROWS, only=[Design.greased, Design.lock])

    assert [*Both.constants()] == ["greased", "lock"]


@rows("chosen", [Design.height, "greased"])
def test_a_field_that_is_no_switch_is_refused(chosen: object) -> None:
    """Nor is a field chosen by its name."""
    with pytest.raises(SpecificationError, match=rf"switches\(Design\): {chosen} describes no field that is a bool"):
        switches(Design, ROWS, only=[chosen])


def test_fields_of_a_subclass_are_switches() -> None:
    """The rows are those of the nearest class that has any."""

    class Wide(Door):
        """A wider one."""

        def sizes(self) -> Mapping[Any, Size]:
            return {}

    assert Wide.releases == Door.releases
    assert Wide().design == Door().design


class Frame(Releases):
    """What a door hangs in."""

    metal = since("1.1.0", "It is of metal")


def test_a_release_has_the_switches_of_each_record() -> None:
    """Not only those of the last."""

    class Entrance(Door):
        design = switches(Design, ROWS)
        frame: Frame = switches(Frame, {release: Frame(release) for release in ROWS})

    for release, metal in {"1.0": False, "1.1": True, "2.0": True}.items():
        entrance = Entrance.of_release(release)
        assert (entrance.design, entrance.frame) == (ROWS[release], Frame().but(metal=metal))
    assert list(Entrance.releases) == list(ROWS)
