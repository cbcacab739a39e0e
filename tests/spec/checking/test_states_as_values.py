"""States and mappings that a rule has read are values, on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest

from spec.checking import check
from spec.language import (
    Part,
    Partial,
    Size,
    Specification,
    State,
    Step,
    Total,
    action,
    frozen,
    invariant,
    part,
    require,
    sometimes,
    transition_invariant,
    variable,
)
from tests.spec.checking.everywhere import agreed, checked

Box = Annotated[str, "a box"]
Number = Annotated[int, "a number"]


class Label(NamedTuple):
    """On a box."""

    number: Number
    seen: frozenset[Box]


class BoxesState(State):
    """Two mappings, and what a step found."""

    labels: Total[Box, Label] = variable("The labels.")
    notes: Partial[Box, Number] = variable("The notes.")
    lost: bool = variable("Whether a value that was read has changed.")


class Boxes(Part[BoxesState]):
    """Each step keeps mappings that it read, and assigns to the variables meanwhile."""

    def sizes(self) -> dict[Any, Size]:
        return {Box: ["a", "b"], Number: range(3)}

    @action
    def relabel(self, s: BoxesState, box: Box) -> None:
        """A label is replaced before the old one is read."""
        old, unread = s.labels, s.labels
        s.labels[box] = old[box]._replace(seen=frozenset([box]))
        s.labels[box] = s.labels[box]._replace(number=(old[box].number + 1) % 3)
        s.lost = unread[box].number == s.labels[box].number or (box in old[box].seen) != (box in unread[box].seen)

    @action
    def note(self, s: BoxesState, box: Box) -> None:
        """The old notes are read after all of them were replaced, and after the new ones were."""
        old = s.notes
        s.notes = frozen({box: 1})
        new = s.notes
        s.notes[box] = 2
        del s.notes[box]
        s.lost = new != {box: 1} or old == new != {box: 1} or box in s.notes
        s.notes = old | {box: old.get(box, 0) if len(old) > 1 else len(old)}

    @action
    def exchange(self, s: BoxesState, box: Box, number: Number) -> None:
        """What is assigned through a mapping is seen in it, and not in the other one."""
        one, other = s.notes, s.notes
        require(number not in one.values())
        one[box] = number
        s.lost = one.get(box) != number or other.get(box) == number or s.notes[box] != number

    @action
    def stay(self, s: BoxesState) -> None:
        """Nothing changes."""

    @invariant
    def kept(self, s: BoxesState) -> bool:
        """No value was lost."""
        return not s.lost

    @transition_invariant
    def moves(self, before: BoxesState, step: Step, after: BoxesState) -> bool:
        """Only some steps leave all as it was."""
        return before != after or step.action != "relabel"


class Halls(State):
    """Two of them."""

    left: BoxesState
    right: BoxesState


class BothBoxes(Specification[Halls]):
    """Two parts of one kind, which are compared."""

    @part
    def left(self) -> Boxes:
        return Boxes()

    @part
    def right(self) -> Boxes:
        return Boxes()

    @sometimes
    def alike(self, s: Halls) -> bool:
        """Both have changed and are equal."""
        return s.left == s.right and "a" in s.left.labels["a"].seen and "b" in s.left.notes

    @transition_invariant
    def no_stutter(self, before: Halls, step: Step, after: Halls) -> bool:
        """Something changes: violated."""
        return before != after


class OneBoxes(Boxes, Specification[BoxesState]):
    """The boxes alone."""


@pytest.mark.long
def test_mappings_and_states_are_values_on_every_engine(tmp_path: Path) -> None:
    """Each engine sees the values that were read."""
    assert check(OneBoxes(), engine="reference").verdict == "holds"
    agreed(OneBoxes(), tmp_path)


@pytest.mark.parametrize("engine", [pytest.param("reference", marks=pytest.mark.long), "local"])
def test_states_with_parts_are_compared(engine: str) -> None:
    """Parts of one kind with each other, and the whole with the state before."""
    found = check(BothBoxes(), engine=engine, keep_going=True, max_depth=4)
    decided = {each.name: (each.verdict, each.length) for each in found.properties}
    assert (decided["alike"], decided["no_stutter"]) == (("undecided", None), ("violated", 2))
    bounds = {"keep_going": True, "max_depth": 5}
    assert checked(BothBoxes(), engine, **bounds) == checked(BothBoxes(), "reference", **bounds)
