"""The local engine finds what the reference engine finds, with one worker and with two.

Toys are all compared on every commit, and a few of the random tables; very many of these only in `make long`. Random
systems, with values of every kind, are in `tests/spec/checking/test_random_systems.py`.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.checking import EvaluationFailed, Statistics, check, simulate
from spec.checking.exploration import Exploration, Options
from spec.checking.local import LocalEngine
from spec.checking.local.arrays import Outbox
from spec.checking.local.visited import Visited
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.language import (
    Specification,
    SpecificationError,
    State,
    Step,
    Total,
    UsageError,
    action,
    constant,
    initial,
    integers,
    invariant,
    mapping,
    require,
    sometimes,
    transition_invariant,
    variable,
)
from tests.spec.checking import toys
from tests.spec.checking.local.comparing import agreed, explored, in_small_pieces, new_states, reached_first
from tests.spec.checking.test_model import ACTIONS, PROPERTIES, Shop, chance, watching
from tests.spec.checking.test_reference import PROPERTIES as OF_TABLES
from tests.spec.checking.test_reference import tables
from tests.spec.toys import TOYS, RaisingAction, RaisingProperty, Retrying, WrongStart

BOUNDS: list[dict[str, Any]] = [
    {},
    {"keep_going": True},
    {"max_depth": 1},
    {"max_depth": 4},
    {"max_states": 20},
    {"max_states": 20, "keep_going": True},
]

FEW = settings(max_examples=40)
"""Of what is drawn at random, for every commit."""


class ChainState(State):
    """Of `Chain`."""

    holds: Total[int, int] = variable("The holds.", of=lambda self: mapping(range(self.links), integers(0, 3)))


class Chain(Specification[ChainState]):
    """Something is handed on from link to link, and grows on the way."""

    links: int = constant(3, "how many there are", at_least=2)

    @initial
    def begin(self, s: ChainState) -> None:
        s.holds[0] = 1

    @action(link=lambda self: range(self.links - 1))
    def hand_on(self, s: ChainState, link: int) -> None:
        require(s.holds[link])
        s.holds[link], s.holds[link + 1] = 0, s.holds[link]

    @action(link=lambda self: range(0, self.links, 7))
    def grow(self, s: ChainState, link: int) -> None:
        require(s.holds[link] in (1, 2))
        s.holds[link] += 1

    @invariant
    def never_at_the_end(self, s: ChainState) -> bool:
        return bool(s.holds[self.links - 1] < 3)

    @transition_invariant(link=(0, 14))
    def grows_by_itself(self, before: ChainState, step: Step, after: ChainState, link: int) -> bool:
        same = before.holds[link] == after.holds[link]
        return bool(same or step.parameters["link"] in (link - 1, 0))


KNOWN: dict[str, Specification] = {
    **TOYS,
    "a clock": toys.Clock(),
    "counters": toys.Counters(counters=3, top=3),
    "counters, with a limit": toys.Counters(counters=3, top=3, at_most=4),
    "counters, with a bound": toys.Counters(counters=3, top=3, closed_at=5),
    "a chain of two words": Chain(links=40),
    "a chain of three words": Chain(links=70),
    "jugs that do not stop": toys.Jugs(),
    "philosophers": toys.Philosophers(philosophers=4),
    "a ring from everywhere": toys.Ring(machines=4, values=3),
    "a bank": toys.Bank(),
    "a bank with somebody rich": toys.Bank(rich=3),
}
"""One for each thing that can happen; states of one word, of two, of three."""


@pytest.fixture(
    autouse=True, scope="module", params=["in small pieces", pytest.param("as it is", marks=pytest.mark.long)]
)
def pieces(request: pytest.FixtureRequest) -> Any:
    """What large systems meet, small ones meet too. As it is, every other test has the engine."""
    with pytest.MonkeyPatch.context() as changed:
        if request.param == "in small pieces":
            in_small_pieces(changed)
        yield


# Everything is the same.


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("toy", KNOWN)
def test_local_equals_reference(toy: str, bounds: dict[str, Any]) -> None:
    """How it ended, all statistics, coverage, and every discovery step by step."""
    agreed(KNOWN[toy], **bounds)


@pytest.mark.parametrize(
    "toy", [pytest.param(each, marks=() if each == "several broken" else pytest.mark.long) for each in KNOWN]
)
def test_local_equals_reference_for_single_properties(toy: str) -> None:
    """Also about a witness, and about a deadlock that nobody else asks for."""
    asked = [judged.name for judged in Model(KNOWN[toy]).properties if judged.name != "type_ok"]
    for name in asked or ["type_ok"]:
        agreed(KNOWN[toy], "type_ok", name)


def test_local_equals_reference_with_full_outboxes() -> None:
    """In the middle of a level, and several times: what was sent is taken in, and then they go on."""
    agreed(toys.Ring(machines=6, values=3), keep_going=True)


ASKED = st.sets(st.sampled_from(OF_TABLES))


@FEW
@given(tables(), ASKED, st.booleans())
def test_local_equals_reference_on_random_tables(table: toys.Table, asked: set[str], keep_going: bool) -> None:
    """Of which the reference engine is compared with all paths written down."""
    agreed(table, "type_ok", *asked, keep_going=keep_going)


@pytest.mark.long
@given(tables(), ASKED, st.booleans())
def test_local_equals_reference_on_many_random_tables(table: toys.Table, asked: set[str], keep_going: bool) -> None:
    """As many as the profile asks for."""
    agreed(table, "type_ok", *asked, keep_going=keep_going)


@pytest.mark.parametrize("toy", KNOWN)
def test_new_states_are_credited_independently_of_workers(toy: str) -> None:
    """To the lowest action that led to it, with one worker and with two."""
    expected = reached_first(KNOWN[toy])
    assert new_states(KNOWN[toy], 1) == expected
    assert new_states(KNOWN[toy], 2) == expected


@pytest.mark.parametrize(
    ("specification", "asked"),
    [
        (toys.Jugs(), {}),
        (toys.Philosophers(), {"deadlock": True}),
        (toys.Bank(rich=3), {"keep_going": True}),
        (toys.Counters(), {"max_depth": 3}),
        (TOYS["several broken"], {"keep_going": True}),
        (TOYS["a domain left"], {}),
    ],
    ids=repr,
)
def test_results_are_reproducible(specification: Specification, asked: dict[str, Any]) -> None:
    """Verdict, why, every property, and the counterexample with all that it tells."""
    expected = check(specification, engine="reference", **asked)
    for workers in (1, 2):
        found = check(specification, engine=LocalEngine(workers), **asked)
        assert (found.verdict, found.why, found.properties, found.counterexample) == (
            expected.verdict,
            expected.why,
            expected.properties,
            expected.counterexample,
        )
        assert found.engine == "local"
        assert found.bytes_per_state


# What goes wrong.


@pytest.mark.parametrize("toy", [RaisingAction(), RaisingProperty()], ids=repr)
def test_the_first_of_several_exceptions_is_reported(toy: Specification) -> None:
    """As the reference engine does, which comes to it first."""
    assert "ZeroDivisionError" in agreed(toy)["failed"]


class NumberState(State):
    """Of `Dividing`."""

    number: int = variable("A number.", of=lambda self: integers(0, 4))


class Dividing(Specification[NumberState]):
    """From 0 it goes anywhere, and what is asked there divides by zero at one number and is met at others."""

    @action(to=range(5))
    def go(self, s: NumberState, to: int) -> None:
        require(s.number == 0)
        s.number = to


class MetAndRaised(Dividing):
    """In different states of one level."""

    @sometimes
    def met(self, s: NumberState) -> bool:
        return s.number > 0 and 1 // (s.number - 2) > 0


class MetAndRaisedByStep(Dividing):
    """On different steps from one state; the one that raises is not the last."""

    @sometimes
    def met(self, before: NumberState, step: Step, after: NumberState) -> bool:
        return after.number != before.number and 1 // (after.number - 2) != 0


class LeftAndRaised(Dividing):
    """An action leads out of the domain in one state, and raises in another."""

    @action
    def leave(self, s: NumberState) -> None:
        require(s.number)
        s.number = 4 + 6 // (s.number - 2)


class MetThenRaised(Dividing):
    """By two instances in one state: the first is met, so the other is not asked."""

    divisors: tuple[int, ...] = constant((1, 0), "what it divides by, in this order")

    @sometimes(by=lambda self: self.divisors)
    def met(self, s: NumberState, by: int) -> bool:
        return s.number == 3 and 1 // by == 1

    @sometimes(by=lambda self: self.divisors)
    def met_by_step(self, before: NumberState, step: Step, after: NumberState, by: int) -> bool:
        return after.number == 4 and 1 // by == 1


@pytest.mark.parametrize(
    "system", [MetAndRaised(), MetAndRaisedByStep(), LeftAndRaised(), MetThenRaised(divisors=(0, 1))]
)
def test_an_exception_is_reported_beside_other_findings(system: Specification) -> None:
    """By the engines; by a simulation, unless it comes to something else first."""
    assert "ZeroDivisionError" in agreed(system)["failed"]
    if not isinstance(system, LeftAndRaised):
        with pytest.raises(EvaluationFailed, match="ZeroDivisionError"):
            simulate(system, runs=30, steps=4, seed=1)


def test_findings_before_an_exception_are_kept() -> None:
    """An instance is not asked if one before it has decided the property."""
    found = check(MetThenRaised, engine=LocalEngine())
    agreed(MetThenRaised())
    assert found.verdict == "holds"
    assert set(simulate(MetThenRaised, runs=30, steps=4, seed=1).witnessed) == {"met", "met_by_step"}


CHANCE = "it is not deterministic"
CERTAIN = {name: mistake for name, mistake, cause in ACTIONS if CHANCE not in cause}
DOUBTFUL = {name: mistake for name, mistake, cause in ACTIONS if CHANCE in cause}


def mistaken(mistake: Any) -> Specification:
    """A shop in which this happens on day 2."""
    shop: Specification = type("Mistaken", (Shop,), {"mistake": mistake})()
    return shop


@pytest.mark.parametrize("mistake", CERTAIN.values(), ids=CERTAIN)
def test_an_exception_in_an_action_is_reported(mistake: Any) -> None:
    """In the same words, and with the same state."""
    assert agreed(mistaken(mistake))["failed"].startswith("err(n=8): ")


@pytest.mark.parametrize("mistake", DOUBTFUL.values(), ids=DOUBTFUL)
def test_randomness_in_an_action_is_reported(mistake: Any) -> None:
    """Or it is believed that a domain was left, of somebody who did leave it: the reference engine tells one value
    outside from another, but here it is only kept that there was one.
    """
    random.seed(5)
    found = explored(LocalEngine(2), mistaken(mistake))
    if "failed" in found:
        assert found["failed"].startswith("err(n=8): ")
        assert CHANCE in found["failed"]
        assert "day = 2" in found["in the state"]
    else:
        assert set(found["discoveries"]) == {Model(Shop()).numbers(["type_ok"])[0]}


@pytest.mark.parametrize("over", ["state", "before", "after"])
@pytest.mark.parametrize("judge", [row[1] for row in PROPERTIES], ids=[row[0] for row in PROPERTIES])
def test_an_exception_in_a_property_is_reported(judge: Any, over: str) -> None:
    """In the same words, and with the same state."""
    word = invariant if over == "state" else transition_invariant
    assert agreed(watching(word, judge, over)())["failed"].startswith("odd")


class DescendingState(State):
    """Of `Descending`."""

    number: int = variable("The number.", of=lambda self: integers(0, 5))
    other: int = variable("Another.", of=lambda self: integers(0, 5))


def descended(depth: int, number: int) -> int:
    """So many calls inside calls, and operations on a value of the state on the way back."""
    return 0 if depth == 0 else (descended(depth - 1, number) + number) % 6


class Descending(Specification[DescendingState]):
    """Its recursion comes to an end."""

    depth: int = constant(0, "How deep it is.")

    @action
    def count(self, s: DescendingState) -> None:
        s.number = (s.number + 1) % 6

    @action
    def descend(self, s: DescendingState) -> None:
        s.other = descended(self.depth, s.number)


def test_recursion_too_deep_only_for_lazy_values_is_reported() -> None:
    """Whichever of several evaluations has a few calls more inside calls: it is no matter of chance."""
    most = sys.getrecursionlimit() - len(inspect.stack())
    told = set[str]()
    for depth in range(most - 45, most, 3):
        try:
            check(Descending(depth=depth), engine=LocalEngine())
        except EvaluationFailed as failure:
            told.add(failure.cause)
    assert told == {"RecursionError: maximum recursion depth exceeded"}


def test_an_initial_state_outside_its_domain_is_refused() -> None:
    """In the words of the reference engine."""
    with pytest.raises(SpecificationError, match="the initial state is outside its domain: number: 7 is not"):
        explored(LocalEngine(), WrongStart())


class WideState(State):
    """Of `Wide`."""

    bits: Total[int, int] = variable("The bits.", of=lambda self: mapping(range(8200), integers(0, 1)))


class Wide(Specification[WideState]):
    """More than there is room for."""

    @action
    def act(self, s: WideState) -> None:
        s.bits[0] = 1


class FineState(State):
    """Of `Fine`."""

    number: int = variable("The number.", of=lambda self: integers(0, 2**40))


class Fine(Specification[FineState]):
    """A number with more values than a table has room for."""

    @action
    def act(self, s: FineState) -> None:
        s.number = 1


class ManyState(State):
    """Of `Many`."""

    number: int = variable("The number.", of=lambda self: integers(0, 3))


class Many(Specification[ManyState]):
    """An action in very many forms."""

    @action(n=range(70_000))
    def act(self, s: ManyState, n: int) -> None:
        require(n == 7)


@pytest.mark.parametrize("specification", [Wide(), Fine(), Many()], ids=repr)
def test_a_too_large_specification_is_refused(specification: Specification) -> None:
    """On one line, with another engine to ask."""
    with pytest.raises(UsageError, match=r"the local engine .*--engine reference"):
        explored(LocalEngine(), specification)


# Nothing else is in the way.


def interrupted(engine: Any, specification: Specification, depth: int) -> Exploration:
    """What an engine finds if somebody presses Ctrl-C as soon as a depth is reached."""

    def on_progress(statistics: Statistics) -> None:
        if statistics.depth == depth:
            raise KeyboardInterrupt

    model = Model(specification)
    found: Exploration = engine.explore(
        model, Options(tuple(range(len(model.properties))), keep_going=True), on_progress
    )
    return found


@pytest.mark.parametrize("depth", [1, 2, 6])
def test_an_interrupted_run_tells_of_the_last_whole_level(depth: int) -> None:
    """With the statistics and the discoveries that the reference engine has there."""
    toy = TOYS["several broken"]
    expected = interrupted(ReferenceEngine(), toy, depth)
    for workers in (1, 2):
        found = interrupted(LocalEngine(workers), toy, depth)
        assert (found.ended, found.statistics[:4]) == ("interrupted", expected.statistics[:4])
        assert found.discoveries == expected.discoveries


def test_progress_reports_every_level() -> None:
    """With bytes for each state, and the share of the time that was spent in Python."""
    told: list[Statistics] = []
    model = Model(TOYS["walkers"])
    found = LocalEngine(2).explore(model, Options((0, 1)), told.append)
    assert {statistics.depth for statistics in told} == set(range(1, found.statistics.depth + 1))
    assert all(statistics.bytes_per_state for statistics in told)
    assert all(statistics.in_python is not None and 0 <= statistics.in_python <= 1 for statistics in told)
    assert all(0 <= statistics.queue <= statistics.distinct for statistics in told)
    assert found.statistics.queue == 0


def test_an_engine_can_be_reused() -> None:
    """It keeps nothing of what it explored."""
    engine = LocalEngine(2)
    for toy in ("jugs", "a domain left", "jugs"):
        assert explored(engine, TOYS[toy]) == explored(ReferenceEngine(), TOYS[toy])


class BeyondState(State):
    """Of `Beyond`."""

    left: int = variable("The left.", of=lambda self: integers(0, 4))
    right: int = variable("The right.", of=lambda self: integers(0, 4))


class Beyond(Specification[BeyondState]):
    """What lies beyond a step that leaves a domain is explored all the same."""

    ways: Callable[[Any], Any] = staticmethod(lambda s: s.left)

    @initial(right=range(3))
    def begin(self, s: BeyondState, right: int) -> None:
        s.right = right

    @action
    def more(self, s: BeyondState) -> None:
        """At the end of the line it leaves the domain."""
        s.left += 1

    @action(by=(1, 2))
    def other(self, s: BeyondState, by: int) -> None:
        s.right = (s.right + by) % 5

    @invariant
    def apart(self, s: BeyondState) -> bool:
        return bool(s.left != 4 or s.right != 3)

    @transition_invariant
    def near(self, before: BeyondState, step: Step, after: BeyondState) -> bool:
        return bool(abs(before.right - after.right) < 3 or step.parameters["by"] == 1)


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_exploring_continues_after_a_domain_violation(bounds: dict[str, Any]) -> None:
    """From several initial states, with all that is found on the way."""
    found = agreed(Beyond(), **bounds)
    if bounds == {"keep_going": True}:
        assert set(found["discoveries"]) == {0, 1, 2}
        assert found["statistics"][2] == 25


class WhimState(State):
    """Of `Whim`."""

    x: int = variable("The x.", of=lambda self: integers(0, 9))


class Whim(Specification[WhimState]):
    """It goes on or not, as it likes."""

    @action
    def up(self, s: WhimState) -> None:
        require(s.x < 9)
        if chance().random() < 0.5:
            s.x += 1


def test_randomness_is_detected() -> None:
    """Each evaluation stands for many states, so one that is a matter of chance is told and not believed."""
    random.seed(7)
    with pytest.raises(EvaluationFailed, match=CHANCE):
        check(Whim(), engine=LocalEngine())


def test_a_successor_that_equals_its_state_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as generated, and the visited set is not asked about it."""
    sent, require_room = list[int](), Visited.require_room

    def counting(visited: Visited, on_their_way: Outbox) -> None:
        sent.append(int(on_their_way.count.sum()))
        require_room(visited, on_their_way)

    monkeypatch.setattr(Visited, "require_room", counting)
    toy = Retrying()
    generated = explored(LocalEngine(1), toy, keep_going=True)["statistics"][1]
    assert sum(sent) == generated - steps_that_change_nothing(toy)


def steps_that_change_nothing(specification: Specification) -> int:
    """How many there are, over all states."""
    model = Model(specification)
    found, waiting, seen = 0, [*model.first_states()], set(model.first_states())
    while waiting:
        state = waiting.pop()
        successors = [step.after for step in model.expand(state).steps if step.after is not None]
        found += successors.count(state)
        waiting += {*successors} - seen
        seen.update(successors)
    return found
