"""The local engine finds what the reference engine finds, with one worker and with two.

All toys and a few random tables are compared on every commit, many more tables in `make long`. Random systems, with
values of every kind, are in `tests/spec/checking/test_random_systems.py`.
"""

from __future__ import annotations

import inspect
import itertools
import random
import sys
from collections.abc import Callable
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.checking import EvaluationFailed, Statistics, check, simulate
from spec.checking.exploration import Exploration, Options
from spec.checking.local import LocalEngine
from spec.checking.local.arrays import Outbox
from spec.checking.local.visited import Visited
from spec.checking.local.worker_pool import WorkerPool
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.language import (
    Specification,
    SpecificationError,
    State,
    Step,
    Total,
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
from tests.spec.checking.everywhere import checked
from tests.spec.checking.local.comparing import agreed, explored, in_small_pieces, new_states, reached_first
from tests.spec.checking.test_model import ACTIONS, PROPERTIES, Shop, chance, watching
from tests.spec.checking.test_reference import PROPERTIES as OF_TABLES
from tests.spec.checking.test_reference import tables
from tests.spec.toys import TOYS, RaisingAction, RaisingProperty, Retrying, Walkers, WrongStart
from tests.tiers import long_unless

BOUNDS: list[dict[str, Any]] = [
    {},
    {"keep_going": True},
    {"max_depth": 1},
    {"max_depth": 4},
    {"max_states": 20},
    {"max_states": 20, "keep_going": True},
]

FEW = settings(max_examples=15)
"""For random tests on every commit."""


class ChainState(State):
    """The state of `Chain`."""

    holds: Total[int, int] = variable("The holds.", of=lambda self: mapping(range(self.links), integers(0, 3)))


class Chain(Specification[ChainState]):
    """A value is handed on from link to link, and grows on the way."""

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
"""One for each event of a search, with states of one word, two, and three."""


@pytest.fixture(
    autouse=True, scope="module", params=["in small pieces", pytest.param("as it is", marks=pytest.mark.long)]
)
def pieces(request: pytest.FixtureRequest) -> Any:
    """Make small systems use the code for large ones. Unchanged, the engine runs in all other tests."""
    with pytest.MonkeyPatch.context() as changed:
        if request.param == "in small pieces":
            in_small_pieces(changed)
        yield


# Equal results.


@pytest.mark.parametrize(
    ("toy", "bounds"),
    long_unless(
        lambda case: case[0] == "several broken" or case[1] == {"keep_going": True}, itertools.product(KNOWN, BOUNDS)
    ),
    ids=str,
)
def test_local_equals_reference(toy: str, bounds: dict[str, Any]) -> None:
    """The end, all statistics, coverage, and every discovery step by step."""
    agreed(KNOWN[toy], **bounds)


@pytest.mark.parametrize("toy", long_unless("several broken".__eq__, KNOWN))
def test_local_equals_reference_for_single_properties(toy: str) -> None:
    """Also for a witness, and for a deadlock that no other test requests."""
    asked = [judged.name for judged in Model(KNOWN[toy]).properties if judged.name != "type_ok"]
    for name in asked or ["type_ok"]:
        agreed(KNOWN[toy], "type_ok", name)


@pytest.mark.long
def test_local_equals_reference_with_full_outboxes() -> None:
    """In the middle of a level, and several times: outboxes are emptied, and the workers go on."""
    agreed(toys.Ring(machines=6, values=3), keep_going=True)


ASKED = st.sets(st.sampled_from(OF_TABLES))


@FEW
@given(tables(), ASKED, st.booleans())
def test_local_equals_reference_on_random_tables(table: toys.Table, asked: set[str], keep_going: bool) -> None:
    """Another test compares the reference engine with the list of all paths of such tables."""
    agreed(table, "type_ok", *asked, keep_going=keep_going)


@pytest.mark.long
@given(tables(), ASKED, st.booleans())
def test_local_equals_reference_on_many_random_tables(table: toys.Table, asked: set[str], keep_going: bool) -> None:
    """The Hypothesis profile gives the number."""
    agreed(table, "type_ok", *asked, keep_going=keep_going)


@pytest.mark.parametrize("toy", long_unless({"several broken", "a chain of two words"}.__contains__, KNOWN))
def test_new_states_are_credited_independently_of_workers(toy: str) -> None:
    """The lowest action that leads there gets the credit, with one worker and with two."""
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
    """Verdict, reason, every property, and the complete counterexample."""
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


# Errors.


@pytest.mark.parametrize("toy", [RaisingAction(), RaisingProperty()], ids=repr)
def test_the_first_of_several_exceptions_is_reported(toy: Specification) -> None:
    """It is the one that the reference engine meets first."""
    assert "ZeroDivisionError" in agreed(toy)["failed"]


class NumberState(State):
    """The state of `Dividing`."""

    number: int = variable("A number.", of=lambda self: integers(0, 4))


class Dividing(Specification[NumberState]):
    """It goes from 0 anywhere. Its property divides by zero at one number, and is decided at others."""

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
    """On different steps from one state; the last step does not raise."""

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
    """For two values in one state: the first decides the property, so the second is not evaluated."""

    divisors: tuple[int, ...] = constant((1, 0), "the divisors, in order")

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
    """By the engines, and by a simulation unless it first finds something else."""
    assert "ZeroDivisionError" in agreed(system)["failed"]
    if not isinstance(system, LeftAndRaised):
        with pytest.raises(EvaluationFailed, match="ZeroDivisionError"):
            simulate(system, runs=30, steps=4, seed=1)


def test_findings_before_an_exception_are_kept() -> None:
    """Once an instance has decided a property, the others are not evaluated."""
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
    """With the same message and state."""
    assert agreed(mistaken(mistake))["failed"].startswith("err(n=8): ")


@pytest.mark.parametrize("mistake", DOUBTFUL.values(), ids=DOUBTFUL)
def test_randomness_in_an_action_is_reported(mistake: Any) -> None:
    """The error says so, or the local engine reports a domain that the action did leave.

    The reference engine compares the values outside a domain; the local one keeps only that there was one.
    """
    random.seed(5)
    found = explored(LocalEngine(2), mistaken(mistake))
    if "failed" in found:
        assert found["failed"].startswith("err(n=8): ")
        assert CHANCE in found["failed"]
        assert "day = 2" in found["in the state"]
    else:
        assert set(found["discoveries"]) == {Model(Shop()).numbers(["type_ok"])[0]}


@pytest.mark.parametrize("over", long_unless("after".__eq__, ["state", "before", "after"]))
@pytest.mark.parametrize("judge", [row[1] for row in PROPERTIES], ids=[row[0] for row in PROPERTIES])
def test_an_exception_in_a_property_is_reported(judge: Any, over: str) -> None:
    """With the same message and state."""
    word = invariant if over == "state" else transition_invariant
    assert agreed(watching(word, judge, over)())["failed"].startswith("odd")


class DescendingState(State):
    """The state of `Descending`."""

    number: int = variable("The number.", of=lambda self: integers(0, 5))
    other: int = variable("Another.", of=lambda self: integers(0, 5))


def descended(depth: int, number: int) -> int:
    """Nested calls down to this depth; on the way back, each computes with a value of the state."""
    return 0 if depth == 0 else (descended(depth - 1, number) + number) % 6


class Descending(Specification[DescendingState]):
    """Its recursion ends."""

    depth: int = constant(0, "The depth of the recursion.")

    @action
    def count(self, s: DescendingState) -> None:
        s.number = (s.number + 1) % 6

    @action
    def descend(self, s: DescendingState) -> None:
        s.other = descended(self.depth, s.number)


def test_recursion_too_deep_only_for_lazy_values_is_reported() -> None:
    """Evaluations differ by a few nested calls. That must not look like nondeterminism."""
    most = sys.getrecursionlimit() - len(inspect.stack())
    causes = set[str]()
    for depth in range(most - 45, most, 3):
        try:
            check(Descending(depth=depth), engine=LocalEngine())
        except EvaluationFailed as failure:
            causes.add(failure.cause)
    assert causes == {"RecursionError: maximum recursion depth exceeded"}


def test_an_initial_state_outside_its_domain_is_refused() -> None:
    """With the message of the reference engine."""
    with pytest.raises(SpecificationError, match="the initial state is outside its domain: number: 7 is not"):
        explored(LocalEngine(), WrongStart())


class WideState(State):
    """The state of `Wide`."""

    bits: Total[int, int] = variable("The bits.", of=lambda self: mapping(range(8200), integers(0, 1)))


class Wide(Specification[WideState]):
    """Its states are too wide."""

    @action
    def act(self, s: WideState) -> None:
        s.bits[0] = 1


class FineState(State):
    """The state of `Fine`."""

    number: int = variable("The number.", of=lambda self: integers(0, 2**40))


class Fine(Specification[FineState]):
    """A number with more values than a table can have."""

    @action
    def act(self, s: FineState) -> None:
        s.number = 1


class ManyState(State):
    """The state of `Many`."""

    number: int = variable("The number.", of=lambda self: integers(0, 3))


class Many(Specification[ManyState]):
    """An action with too many parameters."""

    @action(n=range(70_000))
    def act(self, s: ManyState, n: int) -> None:
        require(n == 7)


@pytest.mark.parametrize(
    "specification",
    [Wide(), pytest.param(Fine(), marks=pytest.mark.long), pytest.param(Many(), marks=pytest.mark.long)],
    ids=repr,
)
@pytest.mark.parametrize("engine", ["local", "auto"])
def test_a_specification_too_large_for_tables_is_explored(
    engine: str, specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In plain Python, with the same result."""
    monkeypatch.setattr("spec.checking.first_tier.KEPT", 0)
    monkeypatch.setattr("spec.checking.local.learning_budget.ALLOWANCE", inf)  # on a slow machine there is advice
    asked: dict[str, Any] = {"keep_going": True, "deadlock": True}
    assert checked(specification, engine, **asked) == checked(specification, "reference", **asked)


# Interruptions, progress and other circumstances.


def interrupted(engine: Any, specification: Specification, depth: int) -> Exploration:
    """The findings of an engine that Ctrl-C stops at a depth."""

    def on_progress(statistics: Statistics) -> None:
        if statistics.depth == depth:
            raise KeyboardInterrupt

    model = Model(specification)
    found: Exploration = engine.explore(
        model, Options(tuple(range(len(model.properties))), keep_going=True), on_progress
    )
    return found


@pytest.mark.parametrize("depth", [1, 2, 6])
def test_an_interrupted_run_reports_the_last_complete_level(depth: int) -> None:
    """Its statistics and discoveries are those of the reference engine at that depth."""
    toy = TOYS["several broken"]
    expected = interrupted(ReferenceEngine(), toy, depth)
    for workers in (1, 2):
        found = interrupted(LocalEngine(workers), toy, depth)
        assert (found.ended, found.statistics[:4]) == ("interrupted", expected.statistics[:4])
        assert found.discoveries == expected.discoveries


def test_progress_reports_every_level() -> None:
    """With the bytes for each state, and the share of the time spent in Python."""
    progress: list[Statistics] = []
    model = Model(TOYS["walkers"])
    found = LocalEngine(2).explore(model, Options((0, 1)), progress.append)
    progress = [statistics for statistics in progress if statistics.depth]  # 0 while the initial states are made
    assert {statistics.depth for statistics in progress} == set(range(1, found.statistics.depth + 1))
    assert all(statistics.bytes_per_state for statistics in progress)
    assert all(statistics.in_python is not None and 0 <= statistics.in_python <= 1 for statistics in progress)
    assert all(0 <= statistics.queue <= statistics.distinct for statistics in progress)
    assert found.statistics.queue == 0


def test_an_engine_can_be_reused() -> None:
    """It keeps nothing from the first exploration."""
    engine = LocalEngine(2)
    for toy in ("jugs", "a domain left", "jugs"):
        assert explored(engine, TOYS[toy]) == explored(ReferenceEngine(), TOYS[toy])


class BeyondState(State):
    """The state of `Beyond`."""

    left: int = variable("The left.", of=lambda self: integers(0, 4))
    right: int = variable("The right.", of=lambda self: integers(0, 4))


class Beyond(Specification[BeyondState]):
    """Steps leave the domain, and more states follow from their siblings."""

    ways: Callable[[Any], Any] = staticmethod(lambda s: s.left)

    @initial(right=range(3))
    def begin(self, s: BeyondState, right: int) -> None:
        s.right = right

    @action
    def more(self, s: BeyondState) -> None:
        """It leaves the domain at the end of the line."""
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
    """From several initial states, with all findings on the way."""
    found = agreed(Beyond(), **bounds)
    if bounds == {"keep_going": True}:
        assert set(found["discoveries"]) == {0, 1, 2}
        assert found["statistics"][2] == 25


class WhimState(State):
    """The state of `Whim`."""

    x: int = variable("The x.", of=lambda self: integers(0, 9))


class Whim(Specification[WhimState]):
    """It steps at random."""

    @action
    def up(self, s: WhimState) -> None:
        require(s.x < 9)
        if chance().random() < 0.5:
            s.x += 1


def test_randomness_is_detected() -> None:
    """One evaluation stands for many states, so a random one must be refused."""
    random.seed(7)
    with pytest.raises(EvaluationFailed, match=CHANCE):
        check(Whim(), engine=LocalEngine())


def test_a_successor_that_equals_its_state_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as generated, and is not sent to the visited set."""
    sent, require_room = list[int](), Visited.require_room

    def counting(visited: Visited, on_their_way: Outbox) -> None:
        sent.append(int(on_their_way.count.sum()))
        require_room(visited, on_their_way)

    monkeypatch.setattr(Visited, "require_room", counting)
    toy = Retrying()
    generated = explored(LocalEngine(1), toy, keep_going=True)["statistics"][1]
    assert sum(sent) == generated - steps_that_change_nothing(toy)


def test_outboxes_grow_with_the_visited_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that was sent is lost."""
    rooms, grow = list[int](), WorkerPool._grow

    def noted(pool: WorkerPool) -> None:
        grow(pool)
        rooms.append(pool.sent.room)
        assert {worker.outbox.room for worker in pool.workers} == {pool.sent.room}

    monkeypatch.setattr(WorkerPool, "_grow", noted)
    monkeypatch.setattr(WorkerPool, "_room", lambda pool, workers: 32 << min(8, len(pool.visited.levels)))
    agreed(Walkers(starts=2, far=7), keep_going=True)
    assert rooms[0] < 256 < rooms[-1]


def steps_that_change_nothing(specification: Specification) -> int:
    """The number of them in all states."""
    model = Model(specification)
    found, waiting, seen = 0, [*model.first_states()], set(model.first_states())
    while waiting:
        state = waiting.pop()
        successors = [step.after for step in model.expand(state).steps if step.after is not None]
        found += successors.count(state)
        waiting += {*successors} - seen
        seen.update(successors)
    return found
