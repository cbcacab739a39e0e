"""Sentences of views in a trace: they appear where they change, and never influence anything else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from spec.checking import Engine, Model, Replay, Trace, check, simulate
from spec.checking.local import LocalEngine
from spec.checking.reference import ReferenceEngine
from spec.checking.traces.views import sentences
from spec.language import (
    Specification,
    SpecificationError,
    State,
    Step,
    Total,
    action,
    bound,
    constant,
    integers,
    invariant,
    mapping,
    require,
    switch,
    variable,
    view,
)
from spec.testing import Violation, as_state_machine
from tests.spec.testing.running import failure_of


class LampsState(State):
    """The state of `Lamps`."""

    light: Total[int, int] = variable(
        "Which of them burn.", of=lambda self: mapping(range(self.lamps), integers(0, 1))
    )


class Lamps(Specification[LampsState]):
    """Lamps that are switched on, one by one, and do not all burn at once."""

    lamps: int = constant(2, "How many there are.", at_least=1)
    careful: bool = switch(True, "Nobody presses the switch of a lamp that is on.")

    @action(lamp=lambda self: range(self.lamps))
    def press(self, s: LampsState, lamp: int) -> None:
        """Somebody switches one on."""
        require(not s.light[lamp] or not self.careful)
        s.light[lamp] += 1

    @action
    def wait(self, s: LampsState) -> None:
        """Nothing is done."""

    @invariant
    def not_all(self, s: LampsState) -> bool:
        """One of them is off."""
        return not all(s.light.values())


class Watched(Lamps):
    """The same, with views."""

    quiet: bool = switch(False, "The view of the room is left out.")

    @view(lamp=lambda self: range(self.lamps))
    def lamp_burns(self, s: LampsState, lamp: int) -> str:
        """Which lamps burn."""
        return f"lamp {lamp} burns" if s.light[lamp] else ""

    @view(when=lambda self: not self.quiet)
    def room(self, s: LampsState) -> str:
        """What the room looks like."""
        return "it is dark" if not any(s.light.values()) else "one can see"


class InTwoWords(Watched, quiet=True):
    """A variant with another sentence."""

    def lamp_burns(self, s: LampsState, lamp: int) -> str:
        """Which lamps burn, on two lines."""
        return f"lamp {lamp}\n    {'burns' if s.light[lamp] else 'is off'}\n"


def counterexample(specification: Specification, **options: Any) -> Trace:
    """A shortest trace in which all lamps burn."""
    trace = check(specification, properties=["not_all"], engine="reference", **options).counterexample
    assert trace is not None
    return trace


def said(trace: Trace) -> list[list[str]]:
    """The sentences of the views, state by state."""
    return [list(trace.initial_views), *(list(each.views) for each in trace.steps)]


def test_a_view_is_shown_where_its_sentence_changes() -> None:
    """In order of declaration. A sentence that stays the same is not repeated, and an empty one is left out."""
    assert said(counterexample(Watched(lamps=3))) == [
        ["it is dark"],
        ["lamp 2 burns", "one can see"],
        ["lamp 1 burns"],
        ["lamp 0 burns"],
    ]


class CountdownState(State):
    """The state of `Countdown`."""

    count: int = variable("The count.", of=lambda self: integers(0, 3))


class Countdown(Specification[CountdownState]):
    """A counter that counts down, waits at the end, and starts again."""

    @action
    def press(self, s: CountdownState) -> None:
        s.count = (s.count + 1) % 4

    @view
    def left(self, s: CountdownState) -> str:
        return ("two are left", "one is left", "none is left", "none is left")[s.count]


def test_an_unchanged_view_is_not_shown() -> None:
    """A step without changes has no sentence. If a step is undone, the old sentence appears again."""
    replay = Replay(Countdown())
    assert [replay.do(Step("press", {})).views for _ in range(4)] == [
        ("one is left",),
        ("none is left",),
        (),
        ("two are left",),
    ]


def test_views_have_conditions_and_variants() -> None:
    """`when=` and variants apply to views. A sentence written on several lines is printed on one."""
    assert said(counterexample(Watched(quiet=True))) == [[], ["lamp 1 burns"], ["lamp 0 burns"]]
    varied = Watched.of(quiet=True)
    assert type(varied) is InTwoWords
    assert said(counterexample(varied)) == [["lamp 0 is off", "lamp 1 is off"], ["lamp 1 burns"], ["lamp 0 burns"]]


def test_json_has_the_same_sentences() -> None:
    """They have a member of their own if there are any; otherwise the object has no such member."""
    found = json.loads(json.dumps(counterexample(Watched(lamps=3)).to_json()))
    assert list(found) == ["property", "length", "initial", "initial_views", "steps"]
    assert found["initial_views"] == ["it is dark"]
    assert found["steps"][0] == {
        "action": "press",
        "parameters": {"lamp": 2},
        "changes": {"light[2]": [0, 1]},
        "views": ["lamp 2 burns", "one can see"],
    }
    plain = counterexample(Lamps(lamps=3)).to_json()
    assert list(plain) == ["property", "length", "initial", "steps"]
    assert {name for step in plain["steps"] for name in step} == {"action", "parameters", "changes"}


def test_a_step_out_of_the_domains_has_no_sentences() -> None:
    """There is no state after it to view. The rest of the trace is complete."""
    trace = check(Watched(careful=False), properties=["type_ok"], engine="reference").counterexample
    assert trace is not None
    assert (trace.broken, said(trace)) == ("type_ok", [["it is dark"], ["lamp 1 burns", "one can see"], []])


def test_a_state_machine_prints_the_sentences_of_the_last_step() -> None:
    """Together with its changes."""
    error = failure_of(as_state_machine(Watched(lamps=1))).error
    assert isinstance(error, Violation)
    assert "\n    lamp 0 burns\n    one can see\n    press(lamp=0) changed\n" in str(error)


def test_a_simulation_has_the_sentences_of_its_run() -> None:
    """Its trace has views like any other."""
    found = simulate(Watched(lamps=1), runs=1, steps=9, seed=1, properties=["not_all"]).counterexample
    assert found is not None
    assert said(found) == [["it is dark"], ["lamp 0 burns", "one can see"]]


# Views influence nothing.


ASKED: list[str] = []
"""The states for which a view of `Listening` was evaluated."""


class Listening(Watched):
    """It records when its views are evaluated."""

    @view
    def who_asks(self, s: LampsState) -> str:
        ASKED.append(str(s.light))
        return ""


@pytest.mark.parametrize("engine", [ReferenceEngine(), LocalEngine()], ids=["reference", "local"])
def test_views_are_looked_at_only_for_a_trace(engine: Engine) -> None:
    """A search evaluates no view unless it finds something, then only those of the trace, and finds the same."""
    ASKED.clear()
    held = check(Listening(lamps=3), engine=engine, properties=["type_ok"], max_depth=1)
    assert (held.verdict, ASKED) == ("bounded", [])
    found = check(Listening(), engine=engine, properties=["not_all"])
    plain = check(Lamps(), engine=engine, properties=["not_all"])
    assert set(ASKED) == {"{0: 0, 1: 0}", "{0: 0, 1: 1}", "{0: 1, 1: 1}"}
    assert found.counterexample is not None
    assert plain.counterexample is not None
    figures = ("distinct_states", "generated_states", "depth", "properties", "actions", "verdict")
    assert [getattr(found, name) for name in figures] == [getattr(plain, name) for name in figures]
    assert [str(each.step) for each in found.counterexample.steps] == [
        str(each.step) for each in plain.counterexample.steps
    ]


def assigns(s: Any) -> Any:
    s.light[0] = 1


def lacks_a_guard(s: Any) -> Any:
    require(s.light[0])
    return ""


def is_bounded(s: Any) -> Any:
    bound(s.light[0])
    return ""


MISTAKES: list[tuple[Any, str]] = [
    (lambda s: 1 // s.light[0], "ZeroDivisionError: integer division or modulo by zero"),
    (lambda s: s.ligth, "SpecificationError: there is no variable ligth; there are light"),
    (lambda s: [][0], "IndexError: list index out of range"),
    (lambda s: json.loads("[\n1,\n"), "JSONDecodeError: Expecting value: line 3 column 1 (char 5)"),
    (lambda s: None, "it answers None, not a text"),
    (lambda s: 7, "it answers 7, not a text"),
    (assigns, "SpecificationError: light is assigned: only actions and `initial` may change the state"),
    (lacks_a_guard, "`require` and `bound` belong in actions"),
    (is_bounded, "`require` and `bound` belong in actions"),
]


@pytest.mark.parametrize(("mistake", "cause"), MISTAKES, ids=[cause for _, cause in MISTAKES])
def test_a_mistake_in_a_view_becomes_its_sentence(mistake: Any, cause: str) -> None:
    """The sentence names the view, its parameters and the error. The trace and the other views are unaffected."""

    class Mistaken(Watched):
        @view(eye=("left",))
        def blind(self, s: LampsState, eye: str) -> str:
            return mistake(s)  # type: ignore[no-any-return]

    expected = f"view blind(eye='left') fails: {cause}"
    model = Model(Mistaken())
    assert sentences(model, model.first_states()[0]) == {(1, 0): "it is dark", (2, 0): expected}
    trace = counterexample(Mistaken())
    assert trace.initial_views == ("it is dark", expected)
    assert [[each for each in step.views if not each.startswith("view ")] for step in trace.steps] == [
        ["lamp 1 burns", "one can see"],
        ["lamp 0 burns"],
    ]
    assert [step.changes for step in trace.steps] == [step.changes for step in counterexample(Lamps()).steps]


def test_a_badly_declared_view_is_refused_at_once() -> None:
    """An invalid range does not depend on a state, so the error does not wait for a trace."""

    class Bad(Lamps):
        @view(lamp=lambda self: {0, 1})
        def unordered(self, s: LampsState, lamp: int) -> str:
            return ""

    with pytest.raises(SpecificationError, match=r"^view unordered: parameter lamp: \{0, 1\} is not a domain"):
        Model(Bad())


def test_every_view_instance_has_its_place() -> None:
    """The place says which instance of which view has something to say."""

    def of(specification: Specification, light: Iterable[int]) -> dict[tuple[int, int], str]:
        return dict(sentences(Model(specification), tuple(light)))

    assert of(Watched(), (0, 1)) == {(0, 1): "lamp 1 burns", (1, 0): "one can see"}
    assert of(Lamps(), (0, 1)) == {}
