"""The reference engine on toys with answers known by hand, from a formula, or from listing every path."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Annotated, Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spec.checking import Model, Statistics, check
from spec.checking.check import silent
from spec.checking.exploration import Discovery, Exploration, OnProgress, Options, is_violation, split_properties
from spec.checking.reference import ReferenceEngine
from spec.language import (
    Specification,
    SpecificationError,
    State,
    Step,
    action,
    bound,
    initial,
    integers,
    invariant,
    require,
    sometimes,
    transition_invariant,
    variable,
)
from tests.rows import rows
from tests.spec.checking.oracle import OUTSIDE, Walk, explored
from tests.spec.checking.toys import (
    ACTIONS,
    PARAMETERS,
    Clock,
    Counters,
    CountersState,
    Jugs,
    Philosophers,
    Ring,
    Row,
    Table,
)


def explore(
    specification: Specification, *names: str, on_progress: OnProgress = silent, **bounds: Any
) -> Exploration:
    """The findings about the properties with these names, or about all but deadlock."""
    model = Model(specification)
    wanted = names or tuple(each.name for each in model.properties if each.name != "deadlock")
    return ReferenceEngine().explore(model, Options(model.numbers(wanted), **bounds), on_progress)


def statistics(found: Exploration) -> tuple[int, int, int, int]:
    """Depth, generated states, distinct states, and states in the queue."""
    return found.statistics[:4]


# Formulas.


@pytest.mark.parametrize("hours", [1, 2, 7, 12])
def test_a_clock_has_as_many_states_as_hours(hours: int) -> None:
    """It has as many levels, too. The step from the last state to the first is also generated."""
    assert statistics(explore(Clock(hours=hours))) == (hours, hours + 1, hours, 0)


@rows("counters, top", [(1, 1), (1, 5), (2, 3), (3, 2), (4, 1)])
def test_counters_fill_a_grid(counters: int, top: int) -> None:
    """(top + 1)**n states; each counter steps once for each of its values and each state of the others."""
    steps = counters * top * (top + 1) ** (counters - 1)
    assert statistics(explore(Counters(counters=counters, top=top))) == (
        counters * top + 1,
        steps + 1,
        (top + 1) ** counters,
        0,
    )


@pytest.mark.parametrize("philosophers", [2, 3, 4, 5])
def test_philosophers_have_pell_lucas_many_states(philosophers: int) -> None:
    """No eater shares a fork with a neighbour: a transfer matrix with eigenvalues 1 +- sqrt(2) counts the states."""
    pell_lucas = [2, 2]
    while len(pell_lucas) <= philosophers:
        pell_lucas.append(2 * pell_lucas[-1] + pell_lucas[-2])
    result = check(Philosophers(philosophers=philosophers))
    assert (result.verdict, result.distinct_states) == ("holds", pell_lucas[philosophers])


@pytest.mark.parametrize("philosophers", [2, 3, 4])
def test_philosophers_starve_when_all_have_the_left_fork(philosophers: int) -> None:
    """The only deadlock is reached by one step of each."""
    result = check(Philosophers(philosophers=philosophers), deadlock=True)
    assert result.verdict == "deadlock"
    assert result.counterexample is not None
    assert result.counterexample.length == philosophers + 1
    assert {str(each.step) for each in result.counterexample.steps} == {
        f"take_left(who={who})" for who in range(philosophers)
    }


@pytest.mark.parametrize(("machines", "values"), [(2, 2), (3, 3), (4, 3)])
def test_a_token_ring_is_counted_by_its_tokens(machines: int, values: int) -> None:
    """All k**n states are initial: depth 1, and one step for each token in each state."""
    states = values**machines
    firsts, others = states // values, (machines - 1) * (states - states // values)
    found = explore(Ring(machines=machines, values=values))
    assert statistics(found) == (1, states + firsts + others, states, 0)
    assert [each.taken for each in found.coverage] == [firsts, others]
    assert found.coverage[0].enabled == firsts
    assert not found.discoveries


def test_four_litres_take_seven_states() -> None:
    """The known shortest solution of the water jugs, the same in every run."""
    result = check(Jugs())
    assert (result.verdict, result.depth) == ("violated", 7)
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.length) == ("not_four", 7)
    assert [each.step.action for each in result.counterexample.steps] == [
        "fill_large",
        "large_to_small",
        "empty_small",
        "large_to_small",
        "fill_large",
        "large_to_small",
    ]


def test_the_jugs_have_sixteen_states() -> None:
    """In each of them a jug is empty or full. Every step is always enabled."""
    found = explore(Jugs(), keep_going=True)
    assert (found.ended, found.statistics.distinct, found.statistics.generated) == ("complete", 16, 1 + 6 * 16)
    assert [(each.enabled, each.taken) for each in found.coverage] == [(16, 16)] * 6
    assert sum(each.new_states for each in found.coverage) == 15


# Every shortest path of a random table.

PROPERTIES = ("type_ok", "good", "good_step", "not_worse", "to_be_seen", "deadlock")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A few states with a few steps between them; some states and steps are bad."""
    size = draw(st.integers(1, 7))
    anywhere = st.integers(0, size - 1)
    steps = draw(
        st.dictionaries(
            st.tuples(anywhere, st.sampled_from(ACTIONS), st.sampled_from(PARAMETERS)),
            st.one_of(anywhere, anywhere, anywhere, anywhere, anywhere, anywhere, st.integers(OUTSIDE, size - 1)),
            max_size=4 * size,
        )
    )
    rows = tuple(Row(*key, after) for key, after in sorted(steps.items()))
    few = st.lists(anywhere, max_size=2, unique=True).map(tuple)
    return Table(
        size=size,
        starts=draw(st.lists(anywhere, min_size=1, max_size=2, unique=True).map(tuple)),
        rows=rows,
        bad=draw(few),
        worse=draw(few),
        seen=draw(few),
        bad_rows=tuple(draw(st.lists(st.sampled_from(rows), max_size=3))) if rows else (),
    )


def as_walk(model: Model, discovery: Discovery) -> Walk:
    """The rows that a discovery takes."""
    state, choices = discovery.path
    start = at = state[0]
    rows = []
    for number, instance in choices:
        name, parameter = ACTIONS[number], PARAMETERS[instance]
        (row,) = [each for each in model.specification.valuation["rows"] if each[:3] == (at, name, parameter)]
        rows.append(row)
        at = row.after
    return start, tuple(rows)


@given(tables(), st.sets(st.sampled_from(PROPERTIES)), st.booleans())
@example(Table(size=1, rows=(Row(0, "a", 0, 0),), bad_rows=(Row(0, "a", 0, 0),)), {"good_step"}, False)
@example(Table(size=2, rows=(Row(0, "a", 0, 1),), bad=(1,)), {"good", "deadlock"}, False)
def test_the_engine_agrees_with_the_list_of_all_paths(table: Table, asked: set[str], keep_going: bool) -> None:
    """On statistics, coverage, decided properties, and on which of all shortest paths is shown."""
    asked = asked | {"type_ok"}
    expected = explored(table, asked, keep_going=keep_going)
    model = Model(table)
    options = Options(model.numbers(asked), keep_going)
    found = ReferenceEngine().explore(model, options, silent)
    assert (found.ended, *statistics(found)[:3]) == (
        expected.ended,
        expected.depth,
        expected.generated,
        expected.distinct,
    )
    assert {
        model.properties[number].name: as_walk(model, discovery) for number, discovery in found.discoveries.items()
    } == expected.discoveries
    assert {model.properties[number].name: discovery.length for number, discovery in found.discoveries.items()} == {
        name: len(rows) + 1 for name, (_, rows) in expected.discoveries.items()
    }
    coverage = dict(zip(ACTIONS, found.coverage, strict=True))
    assert {name: each.enabled for name, each in coverage.items()} == expected.enabled
    assert {name: each.taken for name, each in coverage.items()} == expected.taken
    assert {name: each.changing for name, each in coverage.items()} == expected.changing
    assert sum(each.new_states for each in found.coverage) == expected.new_states


@given(tables(), st.integers(1, 8), st.integers(1, 8))
def test_a_bound_gives_the_figures_of_complete_levels(table: Table, most_states: int, deepest: int) -> None:
    """A bounded run has the statistics of its last level, and is complete if no state is left."""
    free = explored(table, set(), keep_going=True)
    levels = [explore_to(table, depth) for depth in range(1, free.depth + 1)]
    kinds: list[dict[str, Any]] = [{"max_states": most_states}, {"max_depth": deepest}]
    for bounds in kinds:
        found = explore(table, "type_ok", keep_going=True, **bounds)
        reached = found.statistics.depth
        if found.ended == "complete":
            assert (found.statistics.distinct, found.statistics.queue) == (free.distinct, 0)
            assert free.distinct < most_states if "max_states" in bounds else free.depth < deepest
        else:
            assert found.ended == ("states" if "max_states" in bounds else "depth")
            assert (found.statistics.generated, found.statistics.distinct) == levels[reached - 1]
            assert found.statistics.queue > 0
            if "max_depth" in bounds:
                assert reached == deepest
            else:
                assert found.statistics.distinct >= most_states
                assert reached == 1 or levels[reached - 2][1] < most_states


def explore_to(table: Table, depth: int) -> tuple[int, int]:
    """Generated and distinct states of the levels up to this one, counted by hand."""
    from tests.spec.checking.oracle import distances

    levels = distances(table)
    expanded = [row for row in table.rows if levels.get(row.before, 10**6) < depth]
    return len(set(table.starts)) + len(expanded), sum(level <= depth for level in levels.values())


# Levels, bounds and interruptions by hand.


@rows("depth", [1, 2, 3, 4, 5, 6])
def test_a_run_stopped_at_a_depth_has_complete_levels(depth: int) -> None:
    """Three counters up to two: a level has the states with one sum, and is expanded completely or not at all."""
    sums = [1, 3, 6, 7, 6, 3, 1]
    found = explore(Counters(), max_depth=depth)
    assert (found.ended, found.statistics.depth, found.statistics.distinct, found.statistics.queue) == (
        "depth",
        depth,
        sum(sums[:depth]),
        sums[depth - 1],
    )


def test_a_depth_beyond_the_last_level_is_no_bound() -> None:
    """No state is left, so the run is complete."""
    assert (explore(Counters(), max_depth=8).ended, explore(Counters(), max_depth=7).ended) == ("complete", "depth")


@rows("states, distinct", [(1, 1), (2, 4), (4, 4), (5, 10), (10, 10), (11, 17), (26, 26), (27, 27)])
def test_a_bound_on_states_completes_its_level(states: int, distinct: int) -> None:
    """The level that reaches the bound is complete."""
    found = explore(Counters(), max_states=states)
    assert (found.ended, found.statistics.distinct) == ("states", distinct)


def test_a_bound_above_all_states_has_no_effect() -> None:
    """There are 27 states, so a bound of 28 stops nothing."""
    assert explore(Counters(), max_states=28).ended == "complete"


@pytest.mark.parametrize("level", [2, 3, 4, 7])
def test_an_interrupted_run_has_complete_levels(level: int) -> None:
    """The statistics and the coverage exclude the level that Ctrl-C interrupted."""
    reached = 0

    class Interrupted(Counters):
        def up(self, s: CountersState, counter: int) -> None:
            if reached == level and s.count[0] > 0:
                raise KeyboardInterrupt
            super().up(s, counter)

    def on_progress(statistics: Statistics) -> None:
        nonlocal reached
        reached = statistics.depth

    found = explore(Interrupted(), on_progress=on_progress)
    bounded = explore(Counters(), max_depth=level)
    assert (found.ended, statistics(found)) == ("interrupted", statistics(bounded))
    assert found.coverage == bounded.coverage


def test_progress_reports_each_level() -> None:
    """Depth and distinct states never decrease, and each complete level is reported."""
    progress: list[Statistics] = []
    explore(Counters(), on_progress=progress.append)
    assert [each.depth for each in progress] == sorted(each.depth for each in progress)
    whole = [(each.depth, each.distinct, each.queue) for each in progress]
    sums = [1, 3, 6, 7, 6, 3, 1]
    assert set(whole) >= {(depth, sum(sums[:depth]), sums[depth - 1]) for depth in range(1, 8)}


# Coverage by hand.


class LampState(State):
    """The state of `Lamp`."""

    is_: int = variable("The is .", of=lambda self: integers(0, 2))


class Lamp(Specification[LampState]):
    """Off, on or broken: 3 states. Pressing toggles it; hitting it breaks it; looking changes nothing."""

    @action
    def press(self, s: LampState) -> None:
        require(s.is_ != 2)
        s.is_ = 1 - s.is_

    @action(how=range(3))
    def hit(self, s: LampState, how: int) -> None:
        require(s.is_ == 1 and how > 0)
        s.is_ = 2

    @action
    def look(self, s: LampState) -> None:
        pass

    @action
    def mend(self, s: LampState) -> None:
        require(s.is_ == 3)


def test_coverage_counts_states_and_successors() -> None:
    """`enabled` counts states, `taken` successors, `new_states` the new ones, `changing` those that differ."""
    found = explore(Lamp())
    assert [(each.enabled, each.taken, each.new_states, each.changing) for each in found.coverage] == [
        (2, 2, 1, 2),
        (1, 2, 1, 2),
        (3, 3, 0, 0),
        (0, 0, 0, 0),
    ]
    assert statistics(found) == (3, 1 + 7, 3, 0)


# Initial states.


class StartsState(State):
    """The state of `Starts`."""

    at: int = variable("The at.", of=lambda self: integers(0, 9))


class Starts(Specification[StartsState]):
    """It starts in several states, at 2 in two ways, and goes up."""

    @initial(place=(5, 3, 1), side=range(2))
    def placed(self, s: StartsState, place: int, side: int) -> None:
        require(place != 3)
        s.at = place + side

    @initial
    def elsewhere(self, s: StartsState) -> None:
        s.at = 2

    @action
    def go(self, s: StartsState) -> None:
        require(s.at < 9)
        s.at += 1

    @invariant
    def not_five(self, s: StartsState) -> bool:
        return bool(s.at != 5)

    @invariant
    def not_one(self, s: StartsState) -> bool:
        return bool(s.at != 1)


def test_each_initial_state_counts_once() -> None:
    """Several initial rules, one of them refused, some with equal results: 1, 2, 5 and 6, all of depth 1."""
    model = Model(Starts())
    assert [state for state, _ in model.initial_states()] == [(5,), (6,), (1,), (2,)]
    found = explore(Starts(), "type_ok", max_depth=1)
    assert statistics(found) == (1, 4, 4, 4)


def test_a_bad_initial_state_has_a_trace_of_length_one() -> None:
    """The trace has no steps. The statistics are those of the first level."""
    result = check(Starts())
    assert (result.verdict, result.depth, result.distinct_states, result.generated_states) == ("violated", 1, 4, 4)
    assert [(each.name, each.verdict, each.length) for each in result.properties] == [
        ("type_ok", "undecided", None),
        ("not_five", "violated", 1),
        ("not_one", "violated", 1),
    ]
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.steps, result.counterexample.initial) == (
        "not_five",
        (),
        {"at": 5},
    )


class Unstartable(Starts):
    """It has no initial state."""

    elsewhere = None  # type: ignore[assignment]

    def placed(self, s: StartsState, place: int, side: int) -> None:
        require(place > 9)


def test_without_an_initial_state_the_check_is_refused() -> None:
    """Every property would hold of it."""
    for properties in ((), ("not_one",)):
        with pytest.raises(SpecificationError, match=r"^unstartable: it has no initial state$"):
            check(Unstartable(), properties=properties)


class WrongStart(Starts):
    """It begins outside its domain."""

    def elsewhere(self, s: StartsState) -> None:
        s.at = 10


def test_an_initial_state_outside_its_domain_is_reported() -> None:
    """The error names the cell, the value and the allowed values."""
    with pytest.raises(SpecificationError) as refused:
        check(WrongStart())
    assert str(refused.value) == "the initial state is outside its domain: at: 10 is not an integer of 0..9"


# Properties of steps.


class StillState(State):
    """The state of `Still`."""

    x: int = variable("The x.", of=lambda self: integers(0, 1))


class Still(Specification[StillState]):
    """Nothing ever changes."""

    @action
    def stay(self, s: StillState) -> None:
        s.x = 0

    @transition_invariant
    def nobody_stays(self, before: StillState, step: Step, after: StillState) -> bool:
        return step.action != "stay"

    @sometimes
    def somebody_stays(self, before: StillState, step: Step, after: StillState) -> bool:
        return bool(before.x == after.x)


def test_properties_of_steps_cover_stuttering_steps() -> None:
    """A transition invariant is evaluated for them, and they can be witnesses."""
    result = check(Still())
    assert [(each.name, each.verdict, each.length) for each in result.properties] == [
        ("type_ok", "undecided", None),
        ("nobody_stays", "violated", 2),
        ("somebody_stays", "witnessed", 2),
    ]
    assert (result.depth, result.distinct_states, result.generated_states) == (1, 1, 2)


def test_properties_are_checked_in_every_level() -> None:
    """A violation in the last of many levels is found, in the state and in the step to it."""
    last = Counters(counters=2, top=4, at_most=7)
    result = check(last)
    assert (result.verdict, result.depth) == ("violated", 9)
    assert [each.length for each in result.properties] == [None, 9]


def test_properties_are_split_by_states_and_steps() -> None:
    """Domains and deadlock belong to the expansion of a state, and so to neither group."""
    model = Model(Table())
    names = [each.name for each in model.properties]
    in_states, in_steps = split_properties(model, range(len(names)))
    assert [[names[n] for n in numbers] for numbers in (in_states, in_steps)] == [
        ["good", "not_worse", "to_be_seen"],
        ["good_step"],
    ]
    assert [names[n] for n in range(len(names)) if not is_violation(model, n)] == ["to_be_seen"]


# Deadlock.


class DeadState(State):
    """The state of `Dead`."""

    x: int = variable("The x.", of=lambda self: integers(0, 3))


class Dead(Specification[DeadState]):
    """It counts to three and ends there."""

    @action
    def up(self, s: DeadState) -> None:
        require(s.x < 3)
        s.x += 1


class Closed(Dead):
    """A bound closes it at three."""

    def up(self, s: DeadState) -> None:
        bound(s.x < 3)
        s.x += 1


class AlwaysAsked(Dead):
    """A deadlock is an error here by default."""

    deadlock = True


DEADLOCKS: list[tuple[Specification, dict[str, Any], str]] = [
    (Dead(), {}, "holds"),
    (Dead(), {"deadlock": True}, "deadlock"),
    (Dead(), {"properties": ["deadlock"]}, "deadlock"),
    (Dead(), {"properties": ["type_ok"]}, "holds"),
    (Dead(), {"properties": ["type_ok"], "deadlock": True}, "deadlock"),
    (Dead(), {"deadlock": True, "keep_going": True}, "deadlock"),
    (Closed(), {"deadlock": True}, "holds"),
    (AlwaysAsked(), {}, "deadlock"),
    (AlwaysAsked(), {"properties": ["type_ok"]}, "holds"),
]


@rows("specification, asked, verdict", DEADLOCKS)
def test_deadlocks_are_checked_on_request(specification: Specification, asked: dict[str, Any], verdict: str) -> None:
    """By option, by name, or by the specification. A state closed by a bound is not a deadlock."""
    result = check(specification, **asked)
    assert result.verdict == verdict
    if verdict == "deadlock":
        assert result.counterexample is not None
        assert (result.counterexample.broken, result.counterexample.length) == ("deadlock", 4)


def test_a_bound_of_the_specification_allows_a_verdict() -> None:
    """It closes the same states in every run, so the verdict is not "bounded"."""
    result = check(Counters(closed_at=2))
    assert (result.verdict, result.distinct_states) == ("holds", 1 + 3 + 6)


def levels_of_a_grid(counters: int, top: int) -> Iterator[int]:
    """The number of states with each sum, by inclusion and exclusion."""
    for total in range(counters * top + 1):
        yield sum(
            (-1) ** n * comb(counters, n) * comb(total - n * (top + 1) + counters - 1, counters - 1)
            for n in range(counters + 1)
            if total >= n * (top + 1)
        )


def test_a_level_has_the_states_of_one_sum() -> None:
    """At each depth, four counters up to three have the number of states of a formula."""
    sizes = list(levels_of_a_grid(4, 3))
    found = [explore(Counters(counters=4, top=3), max_depth=depth) for depth in range(1, 13)]
    assert [each.statistics.queue for each in found] == sizes[:12]


class RunningOut:
    """A budget that is used up after this many queries."""

    def __init__(self, looks: int):
        self.looks = looks

    def require(self, needed: int, whom: str) -> None:
        """There is always enough to begin with."""

    @property
    def left(self) -> int:
        self.looks -= 1
        return -1 if self.looks < 0 else 1 << 40


@pytest.mark.parametrize(("looks", "last"), [(1, 1), (31, 4), (151, 8)])
def test_out_of_memory_reports_the_last_complete_level(
    looks: int, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is that of a depth bound there."""
    monkeypatch.setattr("spec.checking.reference.Budget", lambda size: RunningOut(looks))
    monkeypatch.setattr("spec.checking.reference.OFTEN", -1)  # query at each state
    found = explore(Counters(counters=4, top=3))
    monkeypatch.undo()
    depth = found.statistics.depth
    bounded = explore(Counters(counters=4, top=3), max_depth=depth)
    assert (found.ended, depth) == ("memory", last)
    assert (found.statistics[:4], found.coverage) == (bounded.statistics[:4], bounded.coverage)
    assert found.discoveries == bounded.discoveries


def test_a_dictionary_that_cannot_grow_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends before the dictionary grows, even if there is memory for what exists."""
    monkeypatch.setattr("spec.checking.reference.OFTEN", -1)  # query at each state
    monkeypatch.setattr(
        "spec.checking.reference.room_to_grow", lambda table, keys: 1 << 60 if len(table) > 100 else 0
    )
    found = explore(Counters(counters=4, top=3))
    assert found.ended == "memory"
    assert found.statistics.distinct <= 100


class Pairs(State):
    """The states of `ManyBeginnings`."""

    pair: tuple[Annotated[int, "a number"], Annotated[int, "a number"]] = variable("Two numbers.")


class ManyBeginnings(Specification[Pairs]):
    """Very many choices of parameters, few of which begin."""

    def sizes(self) -> dict[Any, Any]:
        """So that a pair is one of 160,000."""
        return {Annotated[int, "a number"]: range(400)}

    @initial
    def begin(self, s: Pairs, pair: tuple[Annotated[int, "a number"], Annotated[int, "a number"]]) -> None:
        """On the diagonal."""
        require(pair[0] == pair[1])
        s.pair = pair

    @action
    def stay(self, s: Pairs) -> None:
        """Nothing."""


@pytest.mark.parametrize("engine", ["reference", pytest.param("local", marks=pytest.mark.long)])
def test_initial_states_are_not_listed_first(engine: str) -> None:
    """There may be any number of choices, and the first states are counted before the last one is made."""
    seen = list[Statistics]()
    with patch("spec.checking.reference.OFTEN", 0), patch("spec.checking.local.engine.OFTEN", 0):
        result = check(ManyBeginnings(), engine=engine, on_progress=seen.append)
    assert (result.verdict, result.distinct_states) == ("holds", 400)
    assert any(each.depth == 0 and 0 < each.distinct < 400 for each in seen)
