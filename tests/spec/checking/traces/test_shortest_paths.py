"""Among all shortest paths to a state, the one in which the actor changes least."""

from __future__ import annotations

from itertools import product

import pytest

from spec.checking.model import Model
from spec.checking.traces import reordering
from spec.checking.traces.brief import brief
from spec.checking.traces.reordering import changes_of_actor, fewest_changes_of_shortest
from spec.checking.traces.replay import NotEnabled, Replay
from spec.language import Specification, State, Step, action, bound, integers, invariant, require, variable
from tests.rows import rows


class Wall(State):
    """The state of `Masons`."""

    height: int = variable("How many rows it has.", of=lambda self: integers(0, 6))
    plumb: bool = variable("Whether the master has looked at it.")


class Masons(Specification[Wall]):
    """Any mason may lay a row. Only the master checks, in between, whether the wall is plumb."""

    @action(mason=("ann", "bob", "cy"), actor="mason")
    def lay(self, s: Wall, mason: str) -> None:
        """A row of bricks."""
        bound(s.height < 5)
        s.height += 1

    @action(actor="master")
    def look(self, s: Wall) -> None:
        """The master looks at a wall of two or three rows."""
        require(s.height in (2, 3) and not s.plumb)
        s.plumb = True

    @action(actor="apprentice")
    def lean(self, s: Wall) -> None:
        """It falls."""
        require(s.height == 6)
        s.height = 0

    @invariant
    def low(self, s: Wall) -> bool:
        """No wall that was looked at has five rows."""
        return s.height < 5 or not s.plumb


def lay(*masons: str) -> list[Step]:
    """Each lays a row."""
    return [Step("lay", {"mason": each}) for each in masons]


LOOK = Step("look", {})
STEPS = [*lay("ann", "bob"), LOOK]


def done(steps: list[Step]) -> Replay:
    """A run of these steps."""
    replay = Replay(Masons())
    for each in steps:
        replay.do(each)
    return replay


def changes(steps: list[Step]) -> int:
    """The number of changes of actor."""
    return changes_of_actor([each.parameters.get("mason", "master") for each in steps])


def another(steps: list[Step], *, last_stays: bool = False) -> list[Step] | None:
    """The steps of the path found."""
    replay = done(steps)
    found = fewest_changes_of_shortest(replay.model, (replay.reached[0], replay.choices), last_stays=last_stays)
    return found and [replay.model.actions[action].step(instance) for action, instance in found[1]]


def fewest(steps: list[Step], *, last_stays: bool = False) -> int:
    """The least number of changes, by trying all sequences of the same length."""
    wanted, tried = done(steps).reached[-1], product(STEPS, repeat=len(steps) - last_stays)
    least = len(steps)
    for each in tried:
        way = [*each, *(steps[-1:] if last_stays else [])]
        try:
            reached = done(way).reached[-1]
        except NotEnabled:
            continue
        if reached == wanted:
            least = min(least, changes(way))
    return least


@rows(
    "steps",
    [
        lay("ann", "bob", "ann"),
        lay("ann", "bob"),
        [*lay("ann", "bob"), LOOK, *lay("ann")],
        [*lay("ann", "bob"), LOOK],
        lay("bob"),
    ],
)
def test_no_shortest_path_has_fewer_changes(steps: list[Step]) -> None:
    """Trying all of them confirms it, also if the last step must stay last."""
    for last_stays in (False, True):
        found = another(steps, last_stays=last_stays)
        assert found is not None
        assert (changes(found), len(found)) == (fewest(steps, last_stays=last_stays), len(steps))
        assert done(found).reached[-1] == done(steps).reached[-1]
        assert not last_stays or found[-1] == steps[-1]


def test_a_longer_path_has_no_alternative() -> None:
    """Neither has one beyond the bounds, where no search goes."""
    assert another([*lay(*["ann", "bob"] * 3), Step("lean", {})]) is None
    assert another(lay(*["ann", "bob"] * 3)) is None


def test_too_many_states_are_not_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search gives up."""
    monkeypatch.setattr(reordering, "MOST", 3)
    assert another([*lay("ann", "bob"), LOOK, *lay("ann")]) is None
    assert another(lay("ann", "bob")) is not None


def test_exceptions_off_the_path_are_ignored() -> None:
    """The path is valid, since a walk does not evaluate every step. The search stops at the exception."""

    class Hasty(Masons):
        @action(actor="apprentice")
        def lean(self, s: Wall) -> None:
            """It raises in the second state."""
            require(s.height == 1)
            raise RuntimeError

    replay = Replay(Masons())
    for each in lay("ann", "bob"):
        replay.do(each)
    model, path = Model(Hasty()), (replay.reached[0], replay.choices)
    assert fewest_changes_of_shortest(model, path, last_stays=False) is None


def test_the_brief_form_prefers_a_path_with_fewer_changes() -> None:
    """It says that its steps are others."""
    found = brief(Masons(), done([*lay("ann", "bob"), LOOK, *lay("cy", "ann", "bob")]).trace("low"))
    assert found.changes_of_actor == (2, 5)
    assert not found.same_steps
    assert "with other steps, as few and to the same state, than in JSON and files: 2 changes" in str(found)
    ordered = brief(Masons(), done([*lay("ann", "ann"), LOOK, *lay("ann", "ann", "ann")]).trace("low"))
    assert (ordered.changes_of_actor, ordered.same_steps) == ((2, 2), True)
