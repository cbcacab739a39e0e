"""Dependence between steps, by the cells that they read and change."""

from __future__ import annotations

from spec.checking.traces.brief import Access, accesses, communicating, needed
from tests.spec.checking.traces.test_brief import ANN, by
from tests.spec.checking.traces.test_reordering import done


def access(read: str = "", changed: str = "") -> Access:
    """Cells of one letter each."""
    return Access(frozenset(read), frozenset(changed))


def test_reads_and_writes_of_a_step() -> None:
    """Guards read, too. A cell that keeps its value is not changed."""
    replay = done([*ANN, *by("bob", "drink")])
    found = accesses(replay.model, (replay.reached[0], replay.choices))
    assert found[0] == (frozenset({"done[ann]"}), frozenset({"done[ann]"}))
    assert found[2] == (frozenset({"done[ann]", "tray"}), frozenset({"done[ann]", "tray"}))
    assert found[3] == (frozenset({"coffee"}), frozenset({"coffee"}))


def test_dependence_is_transitive() -> None:
    """A value that is overwritten unread matters to nothing. The last step is always needed."""
    steps = [access("", "a"), access("a", "b"), access("", "c"), access("b", "d"), access("x", "y")]
    assert needed(steps, {"d"}) == [True, True, False, True, True]
    assert needed([access("", "a"), access("", "a"), access("", "b")], {"a"}) == [False, True, True]
    assert needed([access("", "a"), access("a", "a"), access("", "b")], {"a"}) == [True, True, True]


def test_steps_of_two_actors_meet_in_a_cell() -> None:
    """One reads what the other changed, or changes what the other read or changed. Two reads do not meet."""
    actors = ["ann", "bob", "ann"]
    own = access("z", "z")
    assert communicating([access("", "a"), access("a"), own], actors) == [True, True, False]
    assert communicating([access("a"), access("", "a"), own], actors) == [True, True, False]
    assert communicating([access("", "a"), access("", "a"), own], actors) == [True, True, False]
    assert communicating([access("a"), access("a"), own], actors) == [False, False, False]
    assert communicating([access("", "a"), own, access("a")], actors) == [False, False, False]


def test_only_the_step_that_changed_a_cell_last_is_met() -> None:
    """Nobody read the overwritten value."""
    steps = [access("", "a"), access("", "a"), access("a")]
    assert communicating(steps, ["ann", "ann", "bob"]) == [False, True, True]
