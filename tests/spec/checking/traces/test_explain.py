"""A state of a trace is explained by what can be done there, and by the guards of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from spec.checking.traces.explain import explain
from spec.checking.traces.itf import RecordedTrace
from spec.checking.traces.replay import Replay
from spec.language import Size, Specification, State, Step, action, require, variable

Letter = Annotated[str, "a letter"]


class Bag(State):
    """Of `Letters`."""

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
    """In which these are put in."""
    replay = Replay(Letters())
    for letter in letters:
        replay.do(Step("put", {"letter": letter}))
    return RecordedTrace.along(replay, "")


def test_a_parameter_that_ranges_over_the_state_takes_what_is_there() -> None:
    """What is not there is nothing that could be done or not; what is there can be refused by a guard."""
    told = explain(trace("a", "c"), Letters(), action="take")
    assert [str(step) for step, _ in told.outcomes] == ["take(letter='a')", "take(letter='c')"]
    assert "take(letter='c') cannot be done: require(letter != \"c\" or len(s.held) == 1)" in str(told)


def test_a_value_that_is_absent_is_reported() -> None:
    """With the range, its line, and what it read."""
    told = explain(trace("a", "c"), Letters(), action="take", parameters={"letter": "b"})
    place = f"test_explain.py, line {Letters.take.__code__.co_firstlineno}"
    assert str(told).splitlines()[1:] == [
        f"  take(letter='b') cannot be done: letter in its range ({place})",
        "    held: {a, c}",
    ]
    assert told.to_json()["steps"] == [
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
    """An answer is never empty."""
    told = explain(trace(), Letters(), action="take")
    assert [str(step) for step, _ in told.outcomes] == [f"take(letter={letter!r})" for letter in "abc"]


def test_equal_refusals_share_one_line() -> None:
    """Of one action, by one guard in one line; where it is told what they read, if they read the same."""
    told = str(explain(trace("a", "b", "c"), Letters()))
    guard = "require(letter not in s.held) (test_explain.py, line"
    assert f"  put(letter='a' or 'b' or 'c') cannot be done: {guard}" in told
    assert told.count("cannot be done") == 2
    told = str(explain(trace("a", "b", "c"), Letters(), action="put"))
    assert told.count("cannot be done") == 1
    assert told.splitlines()[-1] == "    held: {a, b, c}"
    assert str(explain(trace(), Letters(), action="put")).count("can be done") == 3
