"""The fields of a record declare switches, with their sentences, releases and values."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, NamedTuple

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


class Lock(Enum):
    """The kind of lock."""

    bolt = "since 2.0"
    chain = "before"


class Design(NamedTuple):
    """A door."""

    lock: Annotated[Lock, "How it is locked: by a bolt (2.0), or a chain."] = Lock.chain
    greased: Annotated[bool, "It does not squeak (1.1)."] = False
    height: Annotated[int, "metres"] = 2
    colour: str = "green"


ROWS = {"1.0": Design(), "1.1": Design(greased=True), "2.0": Design(Lock.bolt, greased=True)}


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
    """With its sentence; a field that is neither bool nor an enumeration is no switch."""
    constants = Door.constants()
    assert [*constants] == ["lock", "greased"]
    assert {each.switch for each in constants.values()} == {True}
    assert constants["greased"].doc == "It does not squeak (1.1)."
    assert constants["lock"].allowed == "one of bolt, chain"


def test_switches_default_to_the_newest_release() -> None:
    """Each release has one row of them."""
    assert Door().valuation == {"lock": "bolt", "greased": True} == Door.releases["2.0"]
    assert Door.releases["1.1"] == {"lock": "chain", "greased": True}
    assert [*Door.releases] == [*ROWS]


def test_the_record_is_that_of_the_constants() -> None:
    """Members of enumerations are given by their names; other fields keep their defaults."""
    assert Door().design == ROWS["2.0"]
    assert Door(lock="chain", greased=False).design == Design()
    assert Door.of_release("1.1").design == ROWS["1.1"]


def test_an_invalid_value_is_refused() -> None:
    with pytest.raises(UsageError, match="lock = 'glue': it must be one of bolt, chain"):
        Door(lock="glue")


def test_a_subset_of_switches_may_be_taken() -> None:
    class Plain(Door):
        """Its lock never changes."""

        design: Design = switches(Design, ROWS, only=["greased"])

    assert Plain.releases["1.0"] == {"greased": False}
    assert Plain(greased=True).design.greased


@pytest.mark.parametrize("name", ["colour", "height", "weight"])
def test_a_field_that_is_no_switch_is_refused(name: str) -> None:
    with pytest.raises(SpecificationError, match=rf"switches\(Design\): its field {name} is not Annotated\[bool"):
        switches(Design, ROWS, only=[name])


def test_fields_of_a_subclass_are_switches() -> None:
    """The rows are those of the nearest class that has any."""

    class Wide(Door):
        """A wider one."""

        def sizes(self) -> Mapping[Any, Size]:
            return {}

    assert Wide.releases == Door.releases
    assert Wide().design == Door().design


class Frame(NamedTuple):
    """What a door hangs in."""

    metal: Annotated[bool, "It is of metal (1.1)."] = False


def test_a_release_has_the_switches_of_each_record() -> None:
    """Not only those of the last."""

    class Entrance(Door):
        design = switches(Design, ROWS)
        frame: Frame = switches(Frame, {"1.0": Frame(), "1.1": Frame(metal=True), "2.0": Frame(metal=True)})

    for release, metal in {"1.0": False, "1.1": True, "2.0": True}.items():
        entrance = Entrance.of_release(release)
        assert (entrance.design, entrance.frame) == (ROWS[release], Frame(metal))
    assert list(Entrance.releases) == list(ROWS)
