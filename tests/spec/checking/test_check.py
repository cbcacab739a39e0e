"""`check` runs a model on an engine, and makes one verdict of its findings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spec.checking import Result, check
from spec.checking.exploration import Engine, Exploration, OnProgress, Options, Statistics
from spec.checking.local import LocalEngine
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine
from spec.language import (
    Specification,
    State,
    Step,
    UsageError,
    action,
    constant,
    initial,
    integers,
    invariant,
    require,
    sometimes,
    transition_invariant,
    variable,
)
from tests.rows import rows
from tests.spec.checking.symmetry.test_reduction import Rule, Society
from tests.spec.checking.toys import Clock, Counters, Row, Table
from tests.spec.toys import TOYS, Walkers
from tests.tiers import in_turn


class StairsState(State):
    """The state of `Stairs`."""

    at: int = variable("The at.", of=lambda self: integers(0, 8))


class Stairs(Specification[StairsState]):
    """Nine stairs, with properties for every kind of verdict."""

    top: int = constant(8, "the last step")
    lazy: bool = constant(False, "whether it never flies")
    dream: int = constant(3, "the stair that witnesses `there`")
    hop: int = constant(99, "the stair from which `no_hop` forbids a step")
    limit: int = constant(99, "the stair that breaks `below_the_limit`")
    lower: int = constant(99, "the stair that breaks `below_the_lower`")

    @action
    def up(self, s: StairsState) -> None:
        require(s.at < self.top)
        s.at += 1

    @action
    def fly(self, s: StairsState) -> None:
        require(not self.lazy)

    @invariant
    def below_the_limit(self, s: StairsState) -> bool:
        """It is below the limit."""
        return bool(s.at < self.limit)

    @transition_invariant
    def no_hop(self, before: StairsState, step: Step, after: StairsState) -> bool:
        return not (before.at >= self.hop and step.action == "up")

    @invariant
    def below_the_lower(self, s: StairsState) -> bool:
        return bool(s.at < self.lower)

    @sometimes
    def there(self, s: StairsState) -> bool:
        return bool(s.at == self.dream)

    @sometimes
    def a_step_there(self, before: StairsState, step: Step, after: StairsState) -> bool:
        return bool(after.at == self.dream and step.action == "up")


def properties(result: Result) -> dict[str, tuple[str, int | None]]:
    """The verdict and length of each property."""
    return {each.name: (each.verdict, each.length) for each in result.properties}


HOLDS = dict.fromkeys(("type_ok", "below_the_limit", "no_hop", "below_the_lower"), ("holds", None))
SEEN: dict[str, tuple[str, int | None]] = {"there": ("witnessed", 4), "a_step_there": ("witnessed", 4)}


def test_a_correct_system_holds() -> None:
    """Nothing is broken, every witness is seen, and every action is taken."""
    result = check(Stairs())
    assert (result.verdict, result.why, result.exit_code, result.counterexample) == ("holds", "", 0, None)
    assert properties(result) == HOLDS | SEEN
    assert [each.kind for each in result.properties] == [
        "invariant",
        "invariant",
        "transition_invariant",
        "invariant",
        "sometimes",
        "sometimes",
    ]


VERDICTS: list[tuple[str, dict[str, Any], dict[str, Any], str, int, str]] = [
    ("an action never taken", {"lazy": True}, {}, "vacuous", 21, "action fly is never taken"),
    (
        "witnesses never seen",
        {"dream": 9},
        {},
        "vacuous",
        21,
        "there is never witnessed; a_step_there is never witnessed",
    ),
    (
        "both",
        {"dream": 9, "lazy": True},
        {},
        "vacuous",
        21,
        "action fly is never taken; there is never witnessed; a_step_there is never witnessed",
    ),
    ("a witness at the start", {"dream": 0}, {}, "vacuous", 21, "a_step_there is never witnessed"),
    ("vacuous, but not asked", {"dream": 9, "lazy": True}, {"properties": ["no_hop"]}, "holds", 0, ""),
    (
        "a witness that is asked for",
        {"dream": 9, "lazy": True},
        {"properties": ["there"]},
        "vacuous",
        21,
        "there is never witnessed",
    ),
    ("an action that is accepted", {"lazy": True}, {"accept_vacuous": "fly"}, "holds", 0, ""),
    (
        "one of two that never happen",
        {"dream": 9, "lazy": True},
        {"accept_vacuous": ["fly", "there"]},
        "vacuous",
        21,
        "a_step_there is never witnessed",
    ),
    ("an invariant broken", {"limit": 5}, {}, "violated", 12, ""),
    ("an invariant broken, and an action never taken", {"limit": 5, "lazy": True}, {}, "violated", 12, ""),
    ("a transition invariant broken", {"hop": 5}, {}, "violated", 12, ""),
    ("a bound on depth", {"limit": 5}, {"max_depth": 5}, "bounded", 20, "the bound on depth was reached"),
    ("a bound on states", {}, {"max_states": 3}, "bounded", 20, "the bound on states was reached"),
    ("a bound on depth, and something broken before", {"limit": 3}, {"max_depth": 5}, "violated", 12, ""),
    ("broken where the bound is", {"limit": 4}, {"max_depth": 5}, "violated", 12, ""),
    (
        "a bound, and all explored after something broken",
        {"limit": 3},
        {"max_depth": 6, "keep_going": True},
        "violated",
        12,
        "",
    ),
    ("a bound before a witness", {"dream": 7}, {"max_depth": 5}, "bounded", 20, "the bound on depth was reached"),
    ("a bound that is not reached", {}, {"max_depth": 10, "max_states": 10}, "holds", 0, ""),
    ("a broken one that is not asked for", {"limit": 5}, {"properties": ["no_hop"]}, "holds", 0, ""),
    ("a deadlock", {}, {"deadlock": True, "properties": ["deadlock"]}, "holds", 0, ""),
]


@rows("constants, asked, verdict, code, why", {name: row for name, *row in VERDICTS})
def test_the_verdict_combines_all_properties(
    constants: dict[str, Any], asked: dict[str, Any], verdict: str, code: int, why: str
) -> None:
    """A violation comes first, then a bound, then vacuity."""
    result = check(Stairs(**constants), **asked)
    assert (result.verdict, result.exit_code, result.why) == (verdict, code, why)


def test_accepted_vacuous_properties_are_reported() -> None:
    """The text names those that indeed never happen. JSON lists all that were accepted."""
    result = check(Stairs(lazy=True), accept_vacuous=["fly", "up", "there"])
    assert "\n  accepted    action fly is never taken\n" in str(result)
    assert result.to_json()["accept_vacuous"] == ["fly", "up", "there"]
    assert "accepted" not in str(check(Stairs(), accept_vacuous="fly"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"accept_vacuous": "flee"}, "stairs has no action or witness flee; it has up, fly, there, a_step_there"),
        ({"accept_vacuous": "no_hop"}, "stairs has no action or witness no_hop"),
        (
            {"accept_vacuous": "fly", "properties": "no_hop"},
            "accept_vacuous: it has no effect with properties or show",
        ),
        ({"accept_vacuous": "fly", "show": "there"}, "accept_vacuous: it has no effect with properties or show"),
    ],
)
def test_an_unacceptable_property_is_refused(asked: dict[str, Any], message: str) -> None:
    """An unknown name, a property that must hold, and one that is not checked."""
    with pytest.raises(UsageError, match=message):
        check(Stairs(), **asked)


def test_a_result_reports_unchecked_progress() -> None:
    """In one line, which other verdicts do not have."""
    line = "\n  not checked progress: whether expected steps happen eventually (liveness)\n"
    assert str(check(Stairs())).count(line) == 1
    for other in (check(Stairs(limit=5)), check(Stairs(), max_depth=3), check(Stairs(lazy=True))):
        assert "not checked" not in str(other)


def test_a_bounded_run_is_undecided() -> None:
    """Properties are undecided unless a violation or witness was already found."""
    assert properties(check(Stairs(dream=2, limit=5))) == {
        "type_ok": ("undecided", None),
        "below_the_limit": ("violated", 6),
        "no_hop": ("undecided", None),
        "below_the_lower": ("undecided", None),
        "there": ("witnessed", 3),
        "a_step_there": ("witnessed", 3),
    }
    assert properties(check(Stairs(), max_depth=2)) == dict.fromkeys(HOLDS | SEEN, ("undecided", None))


def test_only_named_properties_are_checked() -> None:
    """Domains are always checked; witnesses and other properties are left out."""
    result = check(Stairs(limit=3, lower=5), properties=["below_the_lower"])
    assert properties(result) == {"type_ok": ("undecided", None), "below_the_lower": ("violated", 6)}
    assert result.depth == 6


def test_domains_are_always_checked() -> None:
    """A value outside its domain is found before the named property breaks."""
    table = Table(size=3, rows=(Row(0, "a", 0, 1), Row(0, "b", 1, -1), Row(1, "a", 0, 2)), bad=(2,))
    result = check(table, properties=["good"])
    assert properties(result) == {"type_ok": ("violated", 2), "good": ("undecided", None)}


def test_keep_going_reports_the_first_violation_of_each_property() -> None:
    """The counterexample is the shortest, and the statistics cover the whole exploration."""
    result = check(Stairs(limit=6, hop=2, lower=5), keep_going=True)
    assert properties(result) == SEEN | {
        "type_ok": ("holds", None),
        "below_the_limit": ("violated", 7),
        "no_hop": ("violated", 4),
        "below_the_lower": ("violated", 6),
    }
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.length) == ("no_hop", 4)
    assert [each.broken for each in result.counterexamples] == ["no_hop", "below_the_lower", "below_the_limit"]
    assert (result.verdict, result.distinct_states, result.depth) == ("violated", 9, 9)


def test_stopping_reports_all_violations_of_the_level() -> None:
    """All properties broken in one level are reported. The counterexample is of the first one declared."""
    result = check(Stairs(limit=5, hop=4, lower=5))
    assert {name: found for name, found in properties(result).items() if found[0] == "violated"} == dict.fromkeys(
        ("below_the_limit", "no_hop", "below_the_lower"), ("violated", 6)
    )
    assert result.counterexample is not None
    assert result.counterexample.broken == "below_the_limit"
    assert result.counterexamples == (result.counterexample,)


ENGINES: dict[str, Callable[[], Engine]] = {
    "reference": ReferenceEngine,
    "local": lambda: LocalEngine(2),
    "spark": SparkEngine,
}


SOCIETY = Society(
    brokers=2,
    rules=(Rule(1, False, 1, "take"), Rule(1, True, 1, "drop"), Rule(1, False, 2, ""), Rule(0, False, 1, "")),
    bad=((2, -1),),
    bad_steps=((0, 1),),
)
"""Its brokers are interchangeable, and all its properties break."""


def counterexamples(result: Result) -> list[Any]:
    """All counterexamples, step by step."""
    return [each.to_json() for each in result.counterexamples]


@pytest.mark.parametrize(("engine", "symmetry"), in_turn(ENGINES, [False, True]))
def test_each_property_that_breaks_has_its_counterexample(engine: str, symmetry: bool) -> None:
    """The shortest comes first. Each equals that of a run for its property alone, on every engine."""
    toy = SOCIETY if symmetry else TOYS["several broken"]
    options: dict[str, Any] = {"deadlock": True, "symmetry": symmetry}
    result = check(toy, engine=ENGINES[engine](), keep_going=True, **options)
    broken = {each.name: each.length for each in result.properties if each.verdict == "violated"}
    assert len(broken) > 1
    assert {each.broken: each.length for each in result.counterexamples} == broken
    lengths = [each.length for each in result.counterexamples]
    assert lengths == sorted(lengths)
    assert result.counterexample == result.counterexamples[0]
    assert counterexamples(result) == counterexamples(check(toy, engine="reference", keep_going=True, **options))
    for each in result.counterexamples:
        alone = check(toy, engine="reference", properties=[each.broken], symmetry=symmetry)
        assert [each.to_json()] == counterexamples(alone)
        assert str(each) in str(result)


@pytest.mark.parametrize("engine", [LocalEngine, pytest.param(SparkEngine, marks=pytest.mark.long)])
def test_a_resumed_run_has_all_counterexamples(engine: type[LocalEngine] | type[SparkEngine], tmp_path: Path) -> None:
    """Those found before the stop and those found after it."""
    toy = Walkers(far=7, apart=3)
    lengths = [each.length for each in check(toy, keep_going=True).counterexamples]
    assert lengths[0] < lengths[-1]
    begun = check(toy, engine=engine(run_dir=tmp_path), keep_going=True, max_depth=lengths[0])
    assert [each.length for each in begun.counterexamples] == lengths[:1]
    resumed = check(toy, engine=engine(run_dir=tmp_path, resume=True), keep_going=True)
    assert counterexamples(resumed) == counterexamples(check(toy, engine="reference", keep_going=True))


def test_an_unknown_property_is_a_usage_error() -> None:
    """The error names it and the known ones."""
    with pytest.raises(UsageError) as refused:
        check(Counters(), properties=["not_too_many", "to_be"])
    assert str(refused.value) == "counters has no property to_be; it has type_ok, not_too_many, deadlock"


class Reporting:
    """An engine that explores nothing and reports a made-up result."""

    name = "reporting"

    def __init__(self, ended: str, kept: str = "") -> None:
        self.ended, self.kept = ended, kept

    def explore(self, model: Model, options: Options, on_progress: OnProgress) -> Exploration:
        """Report the given end."""
        found = ReferenceEngine().explore(model, options, on_progress)
        return Exploration(self.ended, found.statistics, found.coverage, bytes_per_state=16.5, kept=self.kept)


def test_any_engine_may_be_given() -> None:
    """The result has its name, its statistics, and the directory of an interrupted run."""
    result = check(Clock(), engine=Reporting("interrupted", "it can be resumed from runs/1"))
    assert (result.engine, result.verdict, result.exit_code, result.why, result.bytes_per_state) == (
        "reporting",
        "interrupted",
        130,
        "it can be resumed from runs/1",
        16.5,
    )
    why = check(Clock(), engine=Reporting("memory")).why
    assert why.startswith("the bound on memory was reached; --engine spark")


def test_an_interrupted_check_says_that_nothing_is_kept() -> None:
    """After Ctrl-C the statistics are those of the last complete level."""

    def interrupt(statistics: Statistics) -> None:
        if statistics.depth == 5:
            raise KeyboardInterrupt

    result = check(Stairs(), on_progress=interrupt)
    assert (result.verdict, result.exit_code, result.why) == (
        "interrupted",
        130,
        "nothing was kept: there is no run directory",
    )
    assert (result.depth, result.distinct_states) == (5, 5)
    assert properties(result)["below_the_limit"] == ("undecided", None)
    assert properties(result)["there"] == ("witnessed", 4)


def test_equal_checks_have_equal_results() -> None:
    """Without times, also if the model was used before."""
    one, two = (check(Counters(at_most=3)).to_json() for _ in range(2))
    for result in (one, two):
        result["seconds"] = result["states_per_second"] = None
    assert one == two


class Down(Specification[StairsState]):
    """Two stairs down, where it may end."""

    first: int = constant(2, "where it begins")

    @initial
    def above(self, s: StairsState) -> None:
        """Above."""
        s.at = self.first

    @action
    def down(self, s: StairsState) -> None:
        """A step."""
        require(s.at > 1)
        s.at -= 1

    @action
    def ended(self, s: StairsState) -> None:
        """It may end at the bottom."""
        require(s.at == 1)


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_an_intended_end_is_not_a_deadlock(engine: str) -> None:
    """An action with a guard and no effect marks the end. A system that never ends there is vacuous, or deadlocks."""
    found = check(Down(), engine=engine, deadlock=True)
    assert (found.verdict, found.distinct_states) == ("holds", 2)
    assert (found.without_effect, "\n  no effect   ended" in str(found)) == (("ended",), True)
    assert check(Down(), engine=engine, max_depth=1).without_effect == ()
    elsewhere = check(Down(first=0), engine=engine, deadlock=True)
    assert elsewhere.verdict == "deadlock"
    assert "add an action with a guard and no effect" in str(elsewhere)
    assert check(Down(first=0), engine=engine).why == "action down is never taken; action ended is never taken"


@pytest.mark.parametrize("engine", ["reference", "local", "auto"])
def test_a_profile_lists_each_rule(engine: str) -> None:
    """With its instances; only engines that learn have paths."""
    found = check(Counters(counters=3, top=2), engine=engine, profile=True)
    first = found.profile[0]
    assert (first.kind, first.name, first.instances, first.seconds > 0) == ("action", "up", 3, True)
    assert bool(first.paths) is (found.engine == "local")
    assert "share  seconds" in str(found)
    assert check(Counters(counters=3, top=2), engine=engine).profile == ()


def test_spark_has_no_profile() -> None:
    """Its workers are not measured."""
    with pytest.raises(UsageError, match="profile"):
        check(Counters(), engine="spark", profile=True)


@pytest.mark.long
def test_a_search_in_plain_python_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the rule with the most paths, and the variable that it reads."""
    monkeypatch.setattr("spec.checking.local.learning_budget.ALLOWANCE", 0)
    early = property(lambda budget: budget.expanded < 100)  # whatever the time that learning takes
    monkeypatch.setattr("spec.checking.local.learning_budget.LearningBudget.allows", early)
    found = check(Counters(counters=6, top=4), engine="local", keep_going=True)
    assert "places of count" in found.advice
    assert found.advice in str(found)
