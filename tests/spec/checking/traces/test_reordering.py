"""Reordering steps so that the actor changes least."""

from __future__ import annotations

from itertools import permutations

import pytest

from spec.checking.traces import reordering
from spec.checking.traces.reordering import changes_of_actor, fewest_changes_of_actor
from spec.checking.traces.replay import NotEnabled, Replay
from spec.language import Specification, State, Step, action, integers, require, variable
from tests.spec.checking.traces.test_brief import ANN, BOB, IN_TURN, Letters, by

SHARED = [*by("ann", "open"), *by("bob", "open", "write"), *by("ann", "write"), *by("bob", "put"), *by("cy", "open")]


def done(steps: list[Step]) -> Replay:
    """A run of these steps."""
    replay = Replay(Letters())
    for each in steps:
        replay.do(each)
    return replay


def fewest(steps: list[Step]) -> int:
    """The least number of changes, by trying all orders."""
    wanted, least = done(steps).states[-1], len(steps)
    for order in permutations(steps):
        try:
            reached = done(list(order)).states[-1]
        except NotEnabled:
            continue
        if reached == wanted:
            least = min(least, changes_of_actor([each.parameters["clerk"] for each in order]))
    return least


def reordered(steps: list[Step], *, last_stays: bool = False) -> list[Step]:
    """The steps in the new order."""
    replay = done(steps)
    _, choices = fewest_changes_of_actor(replay.model, (replay.reached[0], replay.choices), last_stays=last_stays)
    return [replay.model.actions[action].step(instance) for action, instance in choices]


def changes(steps: list[Step]) -> int:
    """The number of changes of clerk."""
    return changes_of_actor([each.parameters["clerk"] for each in steps])


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(IN_TURN, marks=pytest.mark.long),
        pytest.param(SHARED, marks=pytest.mark.long),
        ANN,
        [],
        [*ANN, *by("bob", "drink"), *by("ann", "drink")],
    ],
)
def test_no_order_has_fewer_changes(steps: list[Step]) -> None:
    """Trying all orders confirms it. The steps stay the same."""
    found = reordered(steps)
    assert changes(found) == fewest(steps)
    assert sorted(map(str, found)) == sorted(map(str, steps))
    assert done(found).states[-1] == done(steps).states[-1]


def test_among_equal_orders_the_one_nearest_to_the_given_wins() -> None:
    """Ann began."""
    assert reordered(IN_TURN) == [*ANN, *BOB]
    assert reordered([*BOB, *ANN]) == [*BOB, *ANN]


def test_the_last_step_can_be_kept_last() -> None:
    """A change of actor before it counts."""
    steps = [*by("ann", "open"), *by("bob", "open"), *by("ann", "write")]
    assert reordered(steps) == [*by("ann", "open", "write"), *by("bob", "open")]
    assert reordered(steps, last_stays=True) == [*by("bob", "open"), *by("ann", "open", "write")]


def test_a_limited_search_is_never_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search always keeps the given order as a candidate."""
    monkeypatch.setattr(reordering, "WIDEST", 1)
    found = reordered([*IN_TURN, *by("cy", "open", "write", "put")])
    assert changes(found) <= 6
    assert done(found).number == 10


class Flags(State):
    """The state of `Race`."""

    looked: int = variable("How far Ann is: not there, there, she has looked.", of=lambda self: integers(0, 2))
    raised: bool = variable("Whether Bob has raised the flag.")
    seen: bool = variable("Whether Ann has seen it.")


class Race(Specification[Flags]):
    """Ann comes and checks whether Bob has raised the flag."""

    @action(actor="ann")
    def come(self, s: Flags) -> None:
        require(s.looked == 0)
        s.looked = 1

    @action(actor="bob")
    def raise_it(self, s: Flags) -> None:
        require(not s.raised)
        s.raised = True

    @action(actor="ann")
    def look(self, s: Flags) -> None:
        require(s.looked == 1)
        s.looked, s.seen = 2, s.raised


def test_a_limited_search_keeps_an_order_to_the_same_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning with the fewest changes leads elsewhere: Ann would look before the flag is raised."""
    monkeypatch.setattr(reordering, "WIDEST", 1)
    replay = Replay(Race())
    for name in ("come", "raise_it", "look"):
        replay.do(Step(name, {}))
    path = (replay.reached[0], [*replay.choices])
    assert fewest_changes_of_actor(replay.model, path, last_stays=False) == path
