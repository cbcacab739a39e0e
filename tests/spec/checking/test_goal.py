"""A goal given by name or in Python is searched for, and the shortest way to it is shown, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spec.checking import Result, check
from spec.checking.exploration import Engine
from spec.checking.goal import Goal
from spec.checking.local import LocalEngine
from spec.checking.model import EvaluationFailed, Model
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine
from spec.language import Specification, UsageError
from spec.language.state import Values
from tests.rows import rows
from tests.spec.checking.test_check import SOCIETY
from tests.spec.checking.toys import Row, Table
from tests.spec.toys import OffTheLine, Walkers
from tests.tiers import in_turn

ENGINES: dict[str, Callable[[], Engine]] = {
    "reference": ReferenceEngine,
    "local": lambda: LocalEngine(2),
    "spark": SparkEngine,
}

GOALS: dict[str, tuple[str, int]] = {
    "all_at_the_end": ("sometimes", 10),
    "last_step_of_the_first": ("sometimes", 5),
    "change": ("action", 3),
    "change(walker=1)": ("action", 3),
    "s.at[0] == 2 and s.at[1] > 0": ("predicate", 4),
    "sum(s.at.values()) == self.length": ("predicate", 5),
    "[walker for walker in s.at if s.at[walker]] == [2]": ("predicate", 2),
    "not any(s.at.values())": ("predicate", 1),
}
"""Goals of `Walkers`, with the length of the shortest way counted by hand: a step moves one walker by one place."""


def shown(result: Result) -> dict[str, Any]:
    """The trace, step by step."""
    assert result.shown is not None
    return result.shown.to_json()


@pytest.mark.parametrize(("written", "engine"), in_turn(GOALS, ENGINES))
def test_the_shortest_trace_is_shown(engine: str, written: str) -> None:
    """Every engine gives the same steps and the same figures for the levels explored."""
    toy = Walkers()
    found = check(toy, engine=ENGINES[engine](), show=written)
    plain = check(toy, engine="reference", show=written)
    assert (found.verdict, found.exit_code, found.counterexamples) == ("witnessed", 0, ())
    assert shown(found) == shown(plain)
    assert shown(found)["length"] == GOALS[written][1]
    assert (found.distinct_states, found.depth) == (plain.distinct_states, GOALS[written][1])


@pytest.mark.parametrize(
    ("written", "engine"),
    in_turn(["two_had_it", "back", "hand_over", "len(s.held) == 2", "2 in s.state.values()"], ENGINES),
)
def test_the_shortest_trace_is_shown_under_symmetry(engine: str, written: str) -> None:
    """It is a run of the system, as short as without symmetry, and the same on every engine."""
    found = check(SOCIETY, engine=ENGINES[engine](), show=written, symmetry=True)
    assert shown(found) == shown(check(SOCIETY, engine="reference", show=written, symmetry=True))
    assert shown(found)["length"] == shown(check(SOCIETY, engine="reference", show=written))["length"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_predicate_that_distinguishes_brokers_is_refused_under_symmetry(engine: str) -> None:
    """The error names the predicate."""
    with pytest.raises(UsageError) as refused:
        check(SOCIETY, engine=ENGINES[engine](), show="s.state[0] == 2", symmetry=True)
    assert str(refused.value).startswith("--symmetry: property s.state[0] == 2 of society tells brokers apart: ")


def test_a_step_of_one_broker_is_refused_under_symmetry() -> None:
    """For the same reason. Without parameters it stands for a step of any broker."""
    with pytest.raises(UsageError, match="tells brokers apart"):
        check(SOCIETY, engine="reference", show="hand_over(broker=0)", symmetry=True)
    assert check(SOCIETY, engine="reference", show="hand_over(broker=0)").verdict == "witnessed"


@pytest.mark.parametrize("engine", [LocalEngine, pytest.param(SparkEngine, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "written", [pytest.param("all_at_the_end", marks=pytest.mark.long), "sum(s.at.values()) == 9"]
)
def test_a_resumed_run_shows_the_trace(
    written: str, engine: type[LocalEngine] | type[SparkEngine], tmp_path: Path
) -> None:
    """Only the trace that the run was begun for."""
    begun = check(Walkers(), engine=engine(run_dir=tmp_path), show=written, max_depth=4)
    assert (begun.verdict, begun.shown) == ("bounded", None)
    with pytest.raises(UsageError, match="properties"):
        check(Walkers(), engine=engine(run_dir=tmp_path, resume=True), show="change", max_depth=4)
    resumed = check(Walkers(), engine=engine(run_dir=tmp_path, resume=True), show=written)
    assert shown(resumed) == shown(check(Walkers(), engine="reference", show=written))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("written", ["s.at[0] == s.at[1] == 99", "to_be_seen", "b"])
def test_an_unreachable_goal_is_vacuous(written: str, engine: str) -> None:
    """Once everything is explored; before, it is unknown. Other actions that are never taken do not matter."""
    toy: Specification = Walkers() if "at" in written else Table(size=2, rows=(Row(0, "a", 0, 1),))
    found = check(toy, engine=ENGINES[engine](), show=written)
    assert (found.verdict, found.shown, found.why) == ("vacuous", None, f"{written} is never witnessed")
    bounded = check(toy, engine=ENGINES[engine](), show=written, max_depth=1)
    assert (bounded.verdict, bounded.shown) == ("bounded", None)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_domain_that_is_left_before_is_a_violation(engine: str) -> None:
    """The search does not go beyond it."""
    found = check(OffTheLine(), engine=ENGINES[engine](), show="sum(s.at.values()) == 9")
    assert (found.verdict, found.shown) == ("violated", None)
    assert found.counterexample is not None
    assert found.counterexample.broken == "type_ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_predicate_that_raises_is_reported_with_its_trace(engine: str) -> None:
    """As for a property."""
    with pytest.raises(EvaluationFailed) as failed:
        check(Walkers(), engine=ENGINES[engine](), show="1 // (2 - s.at[0]) > 9")
    assert failed.value.what == "1 // (2 - s.at[0]) > 9"
    assert failed.value.trace is not None
    assert failed.value.trace.length == 3


def test_a_predicate_equals_a_witness() -> None:
    """In every state."""
    toy = Walkers()
    model = Model(toy, Goal.of(toy, "all(place == self.length - 1 for place in s.at.values())"))
    assert model.sought is not None
    (witness,) = model.numbers(["all_at_the_end"])
    states: set[Values] = set(model.first_states())
    waiting = list(states)
    while waiting:
        after = {each.after for each in model.expand(waiting.pop()).steps if each.after is not None}
        waiting += after - states
        states |= after
    seen = [state for state in states if model.found_in(state, [witness])]
    assert seen == [state for state in states if model.found_in(state, [model.sought])]
    assert len(seen) == 1


def test_names_are_looked_up_among_witnesses_then_actions() -> None:
    """Neither needs a predicate. A witness is the specification's own property."""
    toy = Walkers()
    for written, (kind, _) in GOALS.items():
        goal = Goal.of(toy, f" {written} ")
        assert (goal.written, goal.predicate is None) == (written, kind != "predicate")
        model = Model(toy, goal)
        assert len(model.properties) == len(Model(toy).properties) + (kind != "sometimes")
        assert model.sought is not None
        judged = model.properties[model.sought]
        assert (judged.name, judged.kind) == (written, "sometimes")


def test_a_predicate_on_several_lines_is_shown_on_one() -> None:
    """As reports print it."""
    goal = Goal.of(
        Walkers(),
        """
        (s.at[0] == 2 and
         s.at[1] > 0)
    """,
    )
    assert goal.written == "(s.at[0] == 2 and s.at[1] > 0)"


WRONG = {
    "nothing": "walkers has the witnesses all_at_the_end, last_step_of_the_first, and the actions forward, ",
    "zk.nothing": "walkers has the witnesses ",
    "not_too_far": "it is an invariant, and a check shows how it breaks",
    "change_when_near": "it is a transition invariant, and a check shows how it breaks",
    "change(walker=2)": "walker=2: walker is one of 0, 1",
    "change(who=1)": "change has no parameter who",
    "change(1)": "change is not known; s is the state",
    "s.at[0] >": "it is not a Python expression: invalid syntax",
    "s.at = 3": "it is not a Python expression: invalid syntax",
    "s.at[0] == far": "far is not known; s is the state, self the specification",
    "s.at[0]": "it answers 0, not True or False",
    "None": "it answers None, not True or False",
    "s.far > 1": "there is no variable far; there are at",
    "s.at[7] == 1": "OutOfCell: at: 7 is not a key of it",
    "s.at.update({0: 1})": "",
    "exit()": "it calls sys.exit()",
    "(" * 300 + "1" + ")" * 300: "it is not a Python expression: ",
    "await s.at[0]": "it is not a Python expression: 'await' outside async function",
    "(yield)": "it answers a generator, not True or False",
    "1" + " + 1" * 5000: "it is not a Python expression: ",
    "s.at\0": "it is not a Python expression: ",
}


@rows("written", [*WRONG])
def test_an_invalid_goal_is_a_one_line_error(written: str) -> None:
    """Before any exploration, with the reason."""
    with pytest.raises(UsageError) as refused:
        check(Walkers(), show=written)
    assert str(refused.value).startswith(f"{written} cannot be shown: {WRONG[written]}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("also", [{"properties": ["not_too_far"]}, {"keep_going": True}, {"deadlock": True}], ids=str)
def test_only_the_goal_is_checked(also: dict[str, Any]) -> None:
    """The run would say nothing about other properties."""
    with pytest.raises(UsageError, match="it cannot be combined with"):
        check(Walkers(), show="change", **also)
