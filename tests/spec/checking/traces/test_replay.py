"""Replaying named steps one by one: each is allowed or refused, and shows what it changes and breaks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from spec.checking import EvaluationFailed, Model, NotEnabled, Replay, Trace, check
from spec.checking.check import silent
from spec.checking.exploration import Options
from spec.checking.model import DEADLOCK, TYPE_OK
from spec.checking.reference import ReferenceEngine
from spec.checking.traces.itf import RecordedTrace
from spec.checking.traces.paths import trace
from spec.checking.traces.validate import validate
from spec.language import (
    ABSENT,
    Specification,
    State,
    Step,
    UsageError,
    action,
    bound,
    constant,
    initial,
    integers,
    invariant,
    require,
    sometimes,
    transition_invariant,
    variable,
)
from tests.spec.checking.test_reference import tables
from tests.spec.checking.toys import Account, Bank, Counters, Jugs, Ring, Table


class LiftState(State):
    """The state of `Lift`."""

    floor: int = variable("Where it is; -1 is the cellar.", of=lambda self: integers(-1, self.floors))


class Lift(Specification[LiftState]):
    """It goes up and down between floors, and should not go below the street."""

    floors: int = constant(5, "how many there are", at_least=1)
    begins: tuple[int, ...] = constant((0,), "the floors where it may begin")
    busy: int = constant(2, "bound: the highest floor to explore")
    rope: int = constant(99, "the floor from which the rope breaks")

    @initial(floor=lambda self: self.begins)
    def somewhere(self, s: LiftState, floor: int) -> None:
        s.floor = floor

    @action(by=(1, 2))
    def up(self, s: LiftState, by: int) -> None:
        """It goes up."""
        bound(s.floor + by <= self.busy)
        if s.floor >= self.rope:
            raise RuntimeError("the rope")
        s.floor += by

    @action
    def down(self, s: LiftState) -> None:
        """It goes down."""
        require(s.floor > -1)
        s.floor -= 1

    @invariant
    def not_in_the_cellar(self, s: LiftState) -> bool:
        """It stays above the street."""
        return bool(s.floor >= 0)

    @transition_invariant
    def one_at_a_time(self, before: LiftState, step: Step, after: LiftState) -> bool:
        """No floor is passed without a stop."""
        return bool(abs(after.floor - before.floor) <= 1)

    @sometimes
    def on_the_third(self, s: LiftState) -> bool:
        """It reaches the third floor."""
        return bool(s.floor == 3)


def up(by: int) -> Step:
    """A step up by this many floors."""
    return Step("up", {"by": by})


DOWN = Step("down", {})


def test_steps_are_done_and_described() -> None:
    """Its changes, the state it leads to, and the steps enabled there."""
    replay = Replay(Bank())
    assert (replay.number, replay.steps, replay.value("till")) == (1, (), 4)
    done = replay.do(Step("open_account", {"who": "bob"}))
    assert (str(done.step), done.sentences) == ("open_account(who='bob')", ("welcome", "an account is opened"))
    assert done.changes == {
        "account[bob]": (ABSENT, Account("bob", 0)),
        "known": (frozenset({"zoe"}), frozenset({"zoe", "bob"})),
    }
    assert list(map(str, replay.enabled)) == [
        "open_account(who='ann')",
        "pay(who='bob', much=1)",
        "pay(who='bob', much=2)",
        "close(who='bob')",
        "look()",
    ]
    replay.do(Step("pay", {"who": "bob", "much": 2}))
    assert (replay.number, len(replay.steps), replay.broken) == (3, 2, {})


def test_a_violation_is_reported_with_its_first_step() -> None:
    """For states and for steps. The replay goes on, and later violations change nothing."""
    replay = Replay(Lift())
    replay.do(up(2))
    assert replay.broken == {"one_at_a_time": 2}
    for step in (DOWN, DOWN, DOWN, up(2)):
        replay.do(step)
    assert replay.broken == {"one_at_a_time": 2, "not_in_the_cellar": 5}
    assert (replay.number, replay.value("floor"), replay.witnessed) == (6, 1, {})
    replay.do(up(2))
    assert replay.witnessed == {"on_the_third": 7}


def test_an_initial_state_may_break_a_property() -> None:
    """Its number is 1, and its trace has no steps."""
    replay = Replay(Lift(begins=(-1,)))
    assert (replay.broken, replay.trace("not_in_the_cellar").steps) == ({"not_in_the_cellar": 1}, ())


def test_a_violated_property_has_a_trace() -> None:
    """The same steps give the trace that the checker finds; it ends where the property first breaks."""
    found = check(Jugs()).counterexample
    assert found is not None
    replay = Replay(Jugs())
    for each in found.steps:
        replay.do(each.step)
    replay.do(Step("fill_small", {}))
    assert (replay.broken, replay.trace("not_four")) == ({"not_four": found.length}, found)


def test_an_unviolated_property_has_no_trace() -> None:
    """Neither has an unknown property."""
    replay = Replay(Lift())
    with pytest.raises(UsageError, match=r"^not_in_the_cellar was neither broken nor witnessed; nothing was$"):
        replay.trace("not_in_the_cellar")
    replay.do(up(2))
    with pytest.raises(UsageError, match=r"^there was neither broken nor witnessed; one_at_a_time was$"):
        replay.trace("there")


def test_bounds_do_not_limit_a_replay() -> None:
    """They limit the search; a replay and its traces go beyond them."""
    replay = Replay(Counters(counters=1, top=3, closed_at=1, at_most=2))
    for _ in range(3):
        replay.do(Step("up", {"counter": 0}))
    assert (replay.value("count"), replay.broken) == ({0: 3}, {"not_too_many": 4})
    assert replay.trace("not_too_many").length == 4
    with pytest.raises(NotEnabled, match="nothing is enabled"):
        replay.do(Step("up", {"counter": 0}))


def test_a_step_out_of_the_domains_ends_a_replay() -> None:
    """A step out of them can be taken, breaks `type_ok`, and is the last one."""
    replay = Replay(Lift(floors=1, busy=0))
    done = replay.do(up(2))
    assert (done.changes, replay.broken, replay.enabled) == ({"floor": (0, 2)}, {TYPE_OK: 2}, ())
    assert replay.trace(TYPE_OK).failing == "floor: 2 is not an integer of -1..1"
    with pytest.raises(NotEnabled) as refused:
        replay.do(DOWN)
    assert str(refused.value) == (
        "step 3, down(): nothing can follow step 2, which left the domains: floor: 2 is not an integer of -1..1"
    )


REFUSALS: list[tuple[Step, type[UsageError], str]] = [
    (
        Step("pay", {"who": "bob", "much": 1}),
        NotEnabled,
        "its guard does not hold here; enabled are open_account(who='ann'), open_account(who='bob'), look()",
    ),
    (Step("steal", {}), UsageError, "there is no action steal; there are open_account, pay, close, look"),
    (Step("pay", {"who": "bob"}), UsageError, "pay takes who, much"),
    (Step("pay", {"who": "bob", "much": 1, "when": 2}), UsageError, "pay takes who, much"),
    (Step("look", {"where": 1}), UsageError, "look takes no parameters"),
    (Step("pay", {"who": "eve", "much": 1}), UsageError, "who = 'eve' is not one of ann, bob"),
    (Step("pay", {"who": "bob", "much": 3}), UsageError, "much = 3 is not one of 1, 2"),
]


@pytest.mark.parametrize(("step", "error", "why"), REFUSALS, ids=[str(row[0]) for row in REFUSALS])
def test_a_disabled_step_is_a_one_line_error(step: Step, error: type[UsageError], why: str) -> None:
    """The error names the step and what is allowed. The replay is unchanged."""
    replay = Replay(Bank())
    with pytest.raises(UsageError) as refused:
        replay.do(step)
    assert (type(refused.value), str(refused.value)) == (error, f"step 2, {step}: {why}")
    assert (replay.number, replay.value("till"), replay.broken) == (1, 4, {})


PLACES: list[tuple[str, Any]] = [
    ("till", 2),
    ("known", frozenset({"zoe", "bob"})),
    ("account", {"bob": Account("bob", 2, (1,))}),
    ("account[bob]", Account("bob", 2, (1,))),
    ("account[ann]", ABSENT),
    ("account[bob].money", 2),
]


@pytest.mark.parametrize(("place", "value"), PLACES, ids=[row[0] for row in PLACES])
def test_places_have_the_names_of_traces(place: str, value: Any) -> None:
    """Variables, keys and fields."""
    replay = Replay(Bank())
    replay.do(Step("open_account", {"who": "bob"}))
    replay.do(Step("pay", {"who": "bob", "much": 2}))
    assert replay.value(place) == value


THERE = "there are account, till, known, account[ann], account[bob]"
MISPLACED: list[tuple[str, str]] = [
    ("purse", f"there is no place purse; {THERE}"),
    ("account[eve]", f"there is no place account[eve]; {THERE}"),
    ("the till", f"there is no place the till; {THERE}"),
    ("till.money", "there is no place till.money: 4 has no fields"),
    (
        "account[bob].debts",
        "there is no place account[bob].debts: Account(owner='bob', money=0, note=()) has owner, money, note",
    ),
]


@pytest.mark.parametrize(("place", "why"), MISPLACED, ids=[row[0] for row in MISPLACED])
def test_unknown_places_are_refused(place: str, why: str) -> None:
    """One line lists the known places."""
    replay = Replay(Bank())
    replay.do(Step("open_account", {"who": "bob"}))
    with pytest.raises(UsageError) as wrong:
        replay.value(place)
    assert str(wrong.value) == why


def test_a_replay_begins_in_one_state() -> None:
    """With several initial states, the caller must name one, as a trace does."""
    with pytest.raises(UsageError) as several:
        Replay(Ring(machines=2, values=2))
    assert str(several.value) == "a replay begins in one initial state; ring has 4 initial states"
    with pytest.raises(UsageError) as none:
        Replay(Lift(), {"floor": 1})
    assert str(none.value) == "a replay begins in one initial state; lift has 0 initial states like this"
    with pytest.raises(UsageError) as outside:
        Replay(Lift(begins=(9,)))
    assert str(outside.value) == (
        "a replay begins in one initial state; lift has 0 initial states, and one outside its domain: "
        "floor: 9 is not an integer of -1..5"
    )
    assert Replay(Lift(begins=(0, 2)), {"floor": 2}).value("floor") == 2


def test_an_exception_is_reported_with_its_state() -> None:
    """Only when its enabled steps are requested: a finding in that state can be replayed."""
    replay = Replay(Lift(rope=1))
    assert replay.do(up(1)).changes == {"floor": (0, 1)}
    with pytest.raises(EvaluationFailed, match=r"up\(by=1\): RuntimeError: the rope"):
        _ = replay.enabled
    with pytest.raises(EvaluationFailed, match=r"up\(by=1\): RuntimeError: the rope"):
        replay.do(up(1))


def found_in(specification: Specification) -> dict[str, Trace]:
    """A shortest trace for each property that can be broken or witnessed."""
    model = Model(specification)
    numbers = tuple(n for n, each in enumerate(model.properties) if each.name != DEADLOCK)
    found = ReferenceEngine().explore(model, Options(numbers, keep_going=True), silent).discoveries
    return {model.properties[n].name: trace(model, n, discovery.path) for n, discovery in found.items()}


@given(tables())
def test_every_trace_of_a_table_can_be_replayed(table: Table) -> None:
    """It leads to the trace's last state, decides the property there and not before, and gives an equal trace."""
    for name, kept in found_in(table).items():
        replay = Replay(table, kept.initial)
        for each in kept.steps:
            assert name not in replay.broken | replay.witnessed
            assert replay.do(each.step) == each
        assert (replay.broken | replay.witnessed)[name] == replay.number == kept.length
        assert replay.trace(name) == kept


class TwoJudges(Specification[LiftState]):
    """One property is decided early and raises later; another breaks after that."""

    floors: int = constant(3, "how many there are")

    @action
    def up(self, s: LiftState) -> None:
        require(s.floor < 3)
        s.floor += 1

    @invariant(by=(1, 0))
    def early(self, s: LiftState, by: int) -> bool:
        return s.floor < 1 or (s.floor != 1 if by else 1 // (s.floor - 2) < 9)

    @invariant
    def late(self, s: LiftState) -> bool:
        return s.floor < 3


def test_a_trace_skips_a_property_decided_before() -> None:
    """The later one's trace is written, read and followed without evaluating the earlier one, as in the search."""
    found = check(TwoJudges, engine="reference", keep_going=True)
    early, late = found.counterexamples
    assert (early.broken, late.broken, late.length) == ("early", "late", 5)
    recorded = RecordedTrace.of(TwoJudges, late)
    followed = validate(recorded, TwoJudges)
    assert (followed.left, str(followed.trace)) == ("", str(late))
    replay = Replay(TwoJudges)
    for each in late.steps[:2]:
        replay.do(each.step)
    with pytest.raises(EvaluationFailed, match="early: ZeroDivisionError"):
        replay.do(late.steps[2].step)
