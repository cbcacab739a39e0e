"""Words inside an action: guards, bounds, and comments for readers of a trace."""

from __future__ import annotations

import pytest

from spec.language import Bounded, Disabled, Step, action, bound, require, say, without_bounds
from spec.language.words import bounds_are_on, narrated_to
from tests.rows import rows


@pytest.mark.parametrize("condition", [True, 1, "text", (0,)])
def test_a_true_guard_enables(condition: object) -> None:
    """Guards and bounds accept any value, by its truth."""
    require(condition)
    bound(condition)


@rows("condition", [False, 0, "", None, ()])
def test_a_false_guard_disables(condition: object) -> None:
    """A bound also disables the action, but is distinguishable from a guard."""
    with pytest.raises(Disabled) as disabled:
        require(condition)
    with pytest.raises(Bounded) as bounded:
        bound(condition)
    assert not isinstance(disabled.value, Bounded)
    assert isinstance(bounded.value, Disabled)


def test_a_guard_is_no_exception() -> None:
    """`except Exception` in a specification does not catch it."""
    assert not issubclass(Disabled, Exception)


def test_bounds_can_be_put_aside() -> None:
    """In a replay without bounds, guards still hold; the bounds return afterwards, even after an error."""
    with without_bounds(), without_bounds():
        bound(False)
        assert not bounds_are_on()
    with pytest.raises(Disabled), without_bounds():
        require(False)
    assert bounds_are_on()
    with pytest.raises(Bounded):
        bound(False)


def test_sentences_go_to_the_innermost_listener() -> None:
    """Without a listener nothing happens. Listening ends with its block."""
    outer: list[str] = []
    inner: list[str] = []
    say("to nobody")
    with narrated_to(outer.append):
        say("one")
        with narrated_to(inner.append):
            say("two")
        say("three")
    say("to nobody")
    assert (outer, inner) == (["one", "three"], ["two"])


def test_a_step_reads_as_a_call() -> None:
    """It prints action and parameters in Python's notation."""
    assert str(Step("elect", {"broker": 1, "why": "dead"})) == "elect(broker=1, why='dead')"
    assert str(Step("expire", {})) == "expire()"


def test_a_word_prints_as_itself() -> None:
    """Messages show it as in the source."""
    assert repr(action) == "action"
