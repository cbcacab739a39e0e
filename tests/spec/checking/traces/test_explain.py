"""Explaining a state of a trace: the enabled steps, and the guards that refuse the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from spec.checking.traces.explain import explain
from spec.checking.traces.itf import RecordedTrace
from spec.checking.traces.replay import Replay
from spec.language import Size, Specification, State, Step, action, require, variable

Letter = Annotated[str, "a letter"]


class Bag(State):
    """The state of `Letters`."""

    held: frozenset[Letter] = variable("What is in the bag.")


class Letters(Specification[Bag]):
    """Letters are put into a bag, and taken out of it."""

    def sizes(self) -> Mapping[Any, Size]:
        """Three letters."""
        return {Letter: ("a", "b", "c")}

    @action
    def put(self, s: Bag, letter: Letter) -> None:
        """Put one in."""
        require(letter not in s.held)
        s.held |= {letter}

    @action(letter=lambda self, s: s.held)
    def take(self, s: Bag, letter: Letter) -> None:
        """Take one out, but c only as the last."""
        require(letter != "c" or len(s.held) == 1)
        s.held -= {letter}


def trace(*letters: str) -> RecordedTrace:
    """A trace that puts these letters in."""
    replay = Replay(Letters())
    for letter in letters:
        replay.do(Step("put", {"letter": letter}))
    return RecordedTrace.along(replay, "")


def test_a_parameter_takes_the_values_present_in_the_state() -> None:
    """A value that is absent gives no step to explain; a guard can still refuse one that is present."""
    explanation = explain(trace("a", "c"), Letters(), action="take")
    assert [str(step) for step, _ in explanation.outcomes] == ["take(letter='a')", "take(letter='c')"]
    assert "take(letter='c') cannot be done: require(letter != \"c\" or len(s.held) == 1)" in str(explanation)


def test_a_value_that_is_absent_is_reported() -> None:
    """With the range, its line, and the values it read."""
    explanation = explain(trace("a", "c"), Letters(), action="take", parameters={"letter": "b"})
    place = f"test_explain.py, line {Letters.take.__code__.co_firstlineno}"
    assert str(explanation).splitlines()[1:] == [
        f"  take(letter='b') cannot be done: letter in its range ({place})",
        "    held: {a, c}",
    ]
    assert explanation.to_json()["steps"] == [
        {
            "enabled": False,
            "action": "take",
            "parameters": {"letter": "b"},
            "guard": "letter in its range",
            "place": place,
            "looked_at": {"held": ["a", "c"]},
        }
    ]


def test_without_present_values_every_refusal_is_listed() -> None:
    """The answer is never empty."""
    explanation = explain(trace(), Letters(), action="take")
    assert [str(step) for step, _ in explanation.outcomes] == [f"take(letter={letter!r})" for letter in "abc"]


def test_equal_refusals_share_one_line() -> None:
    """One line for each action and guard; where the answer shows what they read, one for each of those values."""
    text = str(explain(trace("a", "b", "c"), Letters()))
    guard = "require(letter not in s.held) (test_explain.py, line"
    assert f"  put(letter='a' or 'b' or 'c') cannot be done: {guard}" in text
    assert text.count("cannot be done") == 2
    text = str(explain(trace("a", "b", "c"), Letters(), action="put"))
    assert text.count("cannot be done") == 1
    assert text.splitlines()[-1] == "    held: {a, b, c}"
    assert str(explain(trace(), Letters(), action="put")).count("can be done") == 3
