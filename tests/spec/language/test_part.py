"""A system holds named parts, possibly two of one class; a part sees only its own variables and arguments."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from spec.checking import check
from spec.checking.model import Model
from spec.checking.spark import SparkEngine
from spec.language import (
    Part,
    Size,
    Specification,
    SpecificationError,
    State,
    Step,
    action,
    constant,
    initial,
    invariant,
    part,
    require,
    sometimes,
    transition_invariant,
    variable,
    view,
)
from spec.testing import as_state_machine

Litres = Annotated[int, "litres"]


class Tank(State):
    """A tank and its tap."""

    level: Litres = variable("Its litres.")
    is_open: bool = variable("Whether its tap is open.")


@dataclass(frozen=True)
class Tanks(Part[Tank]):
    """The rules of a tank."""

    holds: int
    starts: tuple[int, ...] = (0,)

    def sizes(self) -> Mapping[Any, Size]:
        """It can hold so much."""
        return {Litres: range(self.holds + 1)}

    @initial
    def filled(self, s: Tank, level: Litres) -> None:
        """With one of its initial levels."""
        require(level in self.starts)
        s.level = level

    def pour(self, s: Tank, litres: Litres) -> None:
        """It receives so much more."""
        require(s.level + litres <= self.holds)
        s.level += litres

    @action
    def turn(self, s: Tank) -> None:
        """Open or close the tap."""
        s.is_open = not s.is_open

    @action
    def drip(self, s: Tank) -> None:
        """A litre is gone."""
        require(s.is_open and s.level)
        s.level -= 1

    @invariant
    def never_over(self, s: Tank) -> bool:
        """It holds no more than its capacity."""
        return s.level <= self.holds

    @transition_invariant
    def only_drops(self, before: Tank, step: Step, after: Tank) -> bool:
        """Its own steps lower it by a litre at most."""
        return step.action == "" or before.level - after.level in (0, 1)

    @sometimes
    def full(self, s: Tank) -> bool:
        """It is full."""
        return s.level == self.holds

    @view
    def says(self, s: Tank) -> str:
        """Its level."""
        return f"{s.level} of {self.holds}"


class Yard(State):
    """Two tanks, and the number of pours."""

    left: Tank
    poured: int = variable("Number of pours.")
    right: Tank


class Yards(Specification[Yard]):
    """The left one is poured into the right one."""

    most: int = constant(2, "How much the left one holds.")

    def sizes(self) -> Mapping[Any, Size]:
        """Of the variables outside the tanks."""
        return {int: range(4)}

    @part
    def left(self) -> Tanks:
        """The small one, initially full or empty."""
        return Tanks(self.most, starts=(self.most, 0))

    @part
    def right(self) -> Tanks:
        """The large one."""
        return Tanks(3)

    @action
    def pour(self, s: Yard) -> None:
        """All litres of the left one."""
        require(s.left.level)
        require(s.poured < 3)
        self.right.pour(s.right, s.left.level)
        s.left.level = 0
        s.poured += 1


def test_members_of_a_part_carry_its_name() -> None:
    """A part's variables stand where the class of states names it; its actions and properties follow the whole's."""
    yards = Yards()
    assert [*yards.variables] == ["left.level", "left.is_open", "poured", "right.level", "right.is_open"]
    assert [each.name for each in yards.actions] == ["pour", "left.turn", "left.drip", "right.turn", "right.drip"]
    judged = ["never_over", "only_drops", "full"]
    assert [each.name for each in yards.properties] == [f"{tank}.{it}" for tank in ("left", "right") for it in judged]
    assert [each.name for each in yards.views] == ["left.says", "right.says"]


def test_each_part_has_its_own_sizes() -> None:
    """Although they share a class and its types."""
    cells = {cell.name: cell.domain.size for cell in Model(Yards()).layout.cells}
    assert (cells["left.level"], cells["right.level"], cells["poured"]) == (3, 4, 4)


def test_every_part_is_initialized() -> None:
    """In each of its initial states; then the whole."""
    ways = [*Yards().initials]
    assert len(ways) == 3 * 4
    assert ways[0].parameters == {"left.level": 0, "right.level": 0}


@pytest.mark.parametrize(
    "engine", ["reference", "local", SparkEngine(driver_level=10**6)], ids=["reference", "local", "spark"]
)
def test_every_engine_explores_parts(engine: Any) -> None:
    """With one result: 2, 1 or 0 litres are on the left or, poured, on the right; and each tap is open or not."""
    result = check(Yards(), engine=engine, keep_going=True)
    verdicts = {each.name: each.verdict for each in result.properties}
    assert result.distinct_states == 6 * 2 * 2
    assert verdicts == {
        "type_ok": "holds",
        "left.never_over": "holds",
        "left.only_drops": "holds",
        "left.full": "witnessed",
        "right.never_over": "holds",
        "right.only_drops": "holds",
        "right.full": "unwitnessed",
    }


class Leaks(Yards):
    """The whole takes more than a drop."""

    @action
    def leak(self, s: Yard) -> None:
        """Two litres at once."""
        require(s.left.level == 2)
        s.left.level = 0


def test_a_part_sees_only_its_own_steps() -> None:
    """A part's step properties apply to its own steps, unless it says otherwise."""
    assert check(Leaks(), properties=["left.only_drops"]).verdict == "holds"


def test_a_trace_names_the_part() -> None:
    """In steps, in values and in views."""

    class Overflows(Yards):
        @invariant
        def never_two(self, s: Yard) -> bool:
            """There are never two litres on the right."""
            return s.right.level != 2

    counterexample = check(Overflows(), properties=["never_two"]).counterexample
    assert counterexample is not None
    assert str(counterexample.steps[-1].step) == "pour()"
    assert "right.level: 0 -> 2" in str(counterexample)
    assert "2 of 3" in counterexample.steps[-1].views


def test_parts_are_simulated() -> None:
    """Hypothesis drives its machines; a rule's name has no dot."""
    machine = as_state_machine(Yards())
    assert {"pour", "left_turn", "right_drip"} <= {each.__name__ for each in machine.actions}


def test_parts_can_be_pickled() -> None:
    """The copy makes its parts again."""
    assert [*pickle.loads(pickle.dumps(Yards(most=1))).variables] == [*Yards().variables]


# Mistakes.


class Nobody(Specification[Yard]):
    """It makes only one of two parts."""

    def sizes(self) -> Mapping[Any, Size]:
        return {int: range(4)}

    @part
    def left(self) -> Tanks:
        """One."""
        return Tanks(1)

    @action
    def nothing(self, s: Yard) -> None:
        """Nothing."""


def test_a_part_that_is_never_made_is_refused() -> None:
    with pytest.raises(SpecificationError, match=r"part Yard\.right: .* must make it: @part def right\(self\)"):
        Model(Nobody())


def test_a_part_missing_in_the_states_is_refused() -> None:
    class Third(Yards):
        @part
        def middle(self) -> Tanks:
            """One too many."""
            return Tanks(1)

    with pytest.raises(SpecificationError, match=r"part Third\.middle: Yard has no part of that name"):
        Model(Third())


@pytest.mark.parametrize("value", [3, Yards()], ids=["a number", "of other states"])
def test_a_part_of_the_wrong_class_is_refused(value: Any) -> None:
    class Wrong(Yards):
        @part
        def left(self) -> Any:
            """Something else."""
            return value

    with pytest.raises(SpecificationError, match=r"part Wrong\.left: it returns .*; Yard has left: Tank"):
        Model(Wrong())


def test_two_parts_of_one_name_are_refused() -> None:
    with pytest.raises(SpecificationError, match=r"part left: a part already has that name"):

        class Twice(Specification[Yard]):
            @part
            def left(self) -> Tanks:
                """One."""
                return Tanks(1)

            @part  # type: ignore[no-redef]
            def left(self) -> Tanks:  # noqa: F811
                """Another."""
                return Tanks(2)


def test_a_part_is_not_assigned() -> None:
    class Assigns(Yards):
        @action
        def swap(self, s: Yard) -> None:
            """It assigns a part."""
            s.left = s.right

    with pytest.raises(Exception, match="left is a part: assign to its variables"):
        check(Assigns())


def test_a_part_keeps_nothing_between_steps() -> None:
    """An attribute would not belong to the state, so engines would disagree."""

    class Remembers(Part[Tank]):
        @action
        def drip(self, s: Tank) -> None:
            """A litre is gone."""
            self.last = s.level

        def sizes(self) -> Mapping[Any, Size]:
            return {Litres: range(4)}

    class Holds(Yards):
        @part
        def left(self) -> Any:
            """It remembers."""
            return Remembers()

        pour = None  # type: ignore[assignment]

    with pytest.raises(Exception, match=r"Remembers assigns self\.last: a part keeps nothing between steps"):
        check(Holds())


def test_a_part_does_not_take_a_name_of_the_language() -> None:
    with pytest.raises(SpecificationError, match=r"Taken\.actions: the language uses that name itself"):

        class Taken(Part[Tank]):
            @action
            def actions(self, s: Tank) -> None:  # type: ignore[override]
                """All of them."""
