"""`simulate` gives the same result with any walker, finds planted faults, and claims no more than it knows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from spec.checking import check
from spec.checking.model import EvaluationFailed
from spec.checking.random.chance import BY_INSTANCE, SWARM
from spec.checking.simulation import LONGEST, Simulation, SimulationStatistics, simulate
from spec.language import (
    Specification,
    State,
    action,
    integers,
    invariant,
    require,
    sequence_of,
    sometimes,
    transition_invariant,
    variable,
)
from spec.language.errors import SpecificationError, UsageError
from spec.language.words import Step
from spec.systems.controller_election import ControllerElection
from tests.rows import rows
from tests.spec.checking.toys import Bank, Clock, Counters, Jugs, Philosophers, Row, Table
from tests.tiers import long_unless


def without_times(found: Simulation) -> dict[str, Any]:
    """The simulation as JSON, without its time."""
    figures = found.to_json()
    del figures["seconds"], figures["compile_seconds"], figures["simulation"]["steps_per_second"]
    return figures


def verdict_of(found: Simulation, name: str) -> tuple[str, int | None]:
    """The verdict and length of a property."""
    return next((each.verdict, each.length) for each in found.properties if each.name == name)


# Equal results.


@pytest.mark.parametrize(
    "specification",
    long_unless(
        lambda specification: specification.name in {"jugs", "counters"},
        [Jugs(), Counters(), Philosophers(), Bank(), ControllerElection(brokers=2, fence_zk=False)],
    ),
    ids=lambda specification: specification.name,
)
def test_equal_seeds_give_equal_results(specification: Specification) -> None:
    """All statistics and the counterexample are equal, for any number of workers and without tables."""
    first = without_times(simulate(specification, runs=60, steps=30, seed=11, deadlock=True))
    others: list[dict[str, Any]] = [{}, {"workers": 3}, {"plain": True}]
    for how in others:
        assert without_times(simulate(specification, runs=60, steps=30, seed=11, deadlock=True, **how)) == first, how


@pytest.mark.long
def test_batches_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of runs in a batch does not matter."""
    system = ControllerElection(brokers=2, fence_zk=False)
    first = without_times(simulate(system, runs=1000, steps=60, seed=1))
    monkeypatch.setattr("spec.checking.simulation.AT_FIRST", 1)
    monkeypatch.setattr("spec.checking.simulation.QUICK", 0.0)
    assert without_times(simulate(system, runs=1000, steps=60, seed=1)) == first
    assert first["verdict"] == "violated"


def test_seeds_give_different_results() -> None:
    """Without a seed, one is chosen at random."""
    assert without_times(simulate(Bank(), runs=50, seed=1)) != without_times(simulate(Bank(), runs=50, seed=2))
    assert simulate(Clock(), runs=1, steps=1).seed != simulate(Clock(), runs=1, steps=1).seed


def test_the_failing_run_can_be_repeated_alone() -> None:
    """It breaks the same property, and shrinks to the same trace."""
    system = ControllerElection(brokers=2, fence_zk=False)
    found = simulate(system, runs=10_000, steps=60, seed=1)
    assert found.failing_run is not None
    again = simulate(system, steps=60, seed=1, run=found.failing_run)
    assert again.tally.runs == 1
    assert (again.verdict, again.failing_run, again.counterexample) == (
        "violated",
        found.failing_run,
        found.counterexample,
    )
    assert simulate(system, runs=found.failing_run - 1, steps=60, seed=1).verdict == "bounded"


# Findings.


def test_a_zombie_is_found_and_shrunk() -> None:
    """A fault 18 states deep is found within several thousand runs, and the printed trace is a shortest one."""
    found = simulate(ControllerElection(brokers=2, fence_zk=False), seed=1)
    assert (found.verdict, found.exit_code) == ("violated", 12)
    assert found.tally.runs < 20_000
    assert found.counterexample is not None
    assert (found.counterexample.broken, found.counterexample.length) == ("fenced_writes", 18)
    assert verdict_of(found, "fenced_writes") == ("violated", 18)
    assert found.tally.discovery is not None
    assert found.tally.discovery.steps + 1 >= 18


def test_swarms_find_a_fault_that_uniform_choices_miss() -> None:
    """The justification of weights: as many runs with uniform choices among instances find nothing."""
    system = ControllerElection(brokers=2, fence_zk=False)
    assert simulate(system, runs=5_000, seed=4, policy=SWARM).verdict == "violated"
    assert simulate(system, runs=5_000, seed=4, policy=BY_INSTANCE).verdict == "bounded"


PLANTED: dict[str, tuple[Specification, str, int, int]] = {
    "an invariant": (Jugs(), "not_four", 7, 12),
    "a property of steps": (Bank(), "nobody_closes_with_money", 4, 12),
    "a domain": (Table(size=2, rows=(Row(0, "a", 0, 1), Row(1, "b", 0, -1))), "type_ok", 3, 12),
    "an initial state": (Table(size=2, starts=(1,), rows=(Row(1, "a", 0, 1),), bad=(1,)), "good", 1, 12),
    "a state without a step": (Philosophers(), "deadlock", 4, 11),
}


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("plain", [False, True])
def test_a_planted_fault_is_found(planted: str, plain: bool) -> None:
    """Each has the verdict of `check`, and its shortest trace."""
    specification, name, length, code = PLANTED[planted]
    found = simulate(specification, runs=5_000, seed=1, deadlock=name == "deadlock", plain=plain)
    checked = check(specification, deadlock=name == "deadlock")
    assert found.counterexample is not None
    assert (found.counterexample.broken, found.counterexample.length, found.exit_code) == (name, length, code)
    assert (checked.verdict, checked.exit_code) == (found.verdict, code)
    assert checked.counterexample is not None
    assert checked.counterexample.length == length


def test_simultaneous_failures_are_reported_in_order_of_declaration() -> None:
    """If several break in one state or step, as in `check`."""
    step = Row(0, "a", 0, 1)
    system = Table(size=2, rows=(step,), bad_rows=(step,), worse=(1,), bad=())
    found = simulate(system, runs=3, seed=1)
    assert found.counterexample is not None
    assert found.counterexample.broken == "good_step"


def test_a_run_without_violation_is_no_proof() -> None:
    """The verdict is "bounded", and unbroken properties are undecided."""
    found = simulate(Clock(), runs=4, steps=7, seed=1)
    assert (found.verdict, found.exit_code) == ("bounded", 20)
    assert found.why == "nothing was found in 4 runs of up to 7 steps, which proves nothing"
    assert [each.verdict for each in found.properties] == ["undecided"]
    assert (found.tally.steps, found.tally.longest, found.tally.early) == (28, 8, 0)
    assert found.tally.sketch.estimate == 8


def test_only_named_properties_are_checked() -> None:
    """As in `check`; deadlocks count only on request."""
    assert simulate(Bank(), runs=50, seed=1, properties=["not_rich"]).verdict == "bounded"
    assert [each.name for each in simulate(Bank(), runs=1, seed=1, properties=["not_rich"]).properties] == [
        "type_ok",
        "not_rich",
    ]
    stuck = simulate(Counters(), runs=5, seed=1)
    assert (stuck.verdict, stuck.tally.early) == ("bounded", 5)


def test_a_bounded_state_is_no_deadlock() -> None:
    """The run just ends there."""
    found = simulate(Counters(closed_at=2), runs=10, seed=1, deadlock=True)
    assert (found.verdict, found.tally.early, found.tally.longest) == ("bounded", 10, 3)


def test_coverage_counts_steps() -> None:
    """How often each action was enabled and taken. Which action first reached a state is unknown."""
    found = simulate(Counters(counters=1, top=3), runs=10, seed=1)
    assert [vars(each) for each in found.actions] == [
        {"name": "up", "enabled": 30, "taken": 30, "new_states": None, "bounded": None}
    ]


# Witnesses.


class DoubtfulState(State):
    """The state of `Doubtful`."""

    number: int = variable("The number.", of=lambda self: integers(0, 9))


class Doubtful(Specification[DoubtfulState]):
    """A number that goes up or is reset. Which witnesses are seen depends on the run."""

    @action
    def up(self, s: DoubtfulState) -> None:
        require(s.number < 9)
        s.number += 1

    @action
    def back(self, s: DoubtfulState) -> None:
        s.number = 0

    @sometimes
    def five(self, s: DoubtfulState) -> bool:
        return bool(s.number == 5)

    @sometimes
    def falls_from_two(self, before: DoubtfulState, step: Step, after: DoubtfulState) -> bool:
        return bool(before.number == 2 and after.number == 0)

    @sometimes
    def never(self, s: DoubtfulState) -> bool:
        return bool(s.number > 9)


def test_witnesses_are_counted() -> None:
    """The number of runs, and the shortest length; compared with walking the runs one by one."""
    found = simulate(Doubtful(), runs=40, steps=20, seed=3)
    seen: dict[str, list[int]] = {"five": [], "falls_from_two": []}
    for run in range(1, 41):
        example = simulate(Doubtful(), steps=20, seed=3, run=run).example
        assert example is not None
        numbers = [0]
        for step in example.steps:
            numbers.append(step.changes.get("number", (0, numbers[-1]))[1])
        falls = [at for at, pair in enumerate(pairwise(numbers), 2) if pair == (2, 0)]
        fives = [at for at, number in enumerate(numbers, 1) if number == 5]
        seen["five"] += fives[:1]
        seen["falls_from_two"] += falls[:1]
    assert dict(found.witnessed) == {name: len(lengths) for name, lengths in seen.items()}
    for name, lengths in seen.items():
        assert verdict_of(found, name) == ("witnessed", min(lengths))
    assert verdict_of(found, "never") == ("undecided", None)


def test_one_run_can_be_shown() -> None:
    """If nothing breaks in it; the steps are those of the run."""
    found = simulate(Clock(hours=3), steps=4, seed=1, run=2)
    assert found.example is not None
    assert [step.changes["hand"] for step in found.example.steps] == [(0, 1), (1, 2), (2, 0), (0, 1)]
    assert found.to_json()["simulation"]["example"]["length"] == 5
    assert simulate(Clock(hours=3), steps=4, seed=1, runs=1).example is None


# Errors.


class RaisingState(State):
    """The state of `Raising`."""

    number: int = variable("The number.", of=lambda self: integers(0, 5))


class Raising(Specification[RaisingState]):
    """An action, an invariant or a property of steps raises at three."""

    who = "nobody"

    @action
    def up(self, s: RaisingState) -> None:
        require(s.number < 5)
        s.number += 1

    @action
    def raises(self, s: RaisingState) -> None:
        require(self.who == "action" and 1 // (s.number - 3) > 9)

    @invariant
    def raising(self, s: RaisingState) -> bool:
        return self.who != "invariant" or 1 // (s.number - 3) < 9

    @transition_invariant
    def raising_after(self, before: RaisingState, step: Step, after: RaisingState) -> bool:
        return self.who != "step" or 1 // (after.number - 3) < 9


@pytest.mark.parametrize("who", ["action", "invariant", "step"])
@pytest.mark.parametrize("plain", [False, True])
def test_an_exception_is_reported(who: str, plain: bool) -> None:
    """As in `check`, with the number of the run."""
    cls: Any = type("Raising", (Raising,), {"who": who})
    with pytest.raises(EvaluationFailed, match="ZeroDivisionError") as failed:
        simulate(cls(), runs=5, seed=6, plain=plain)
    assert failed.value.__notes__ == ["in run 1 of seed 6"]
    assert failed.value.state == ("number = 2" if who == "step" else "number = 3")
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


def test_a_state_too_wide_for_tables_is_walked_in_plain_python() -> None:
    """The local engine refuses it; a simulation is only slower."""

    class WideState(State):
        row: tuple[int, ...] = variable("The row.", of=lambda self: sequence_of(integers(0, 2**20), longest=3))

    class Wide(Specification[WideState]):
        @action
        def grow(self, s: WideState) -> None:
            require(len(s.row) < 3)
            s.row += (7,)

        @invariant
        def short(self, s: WideState) -> bool:
            return len(s.row) < 3

    found = simulate(Wide(), runs=3, seed=1)
    assert found.counterexample is not None
    assert found.counterexample.length == 4


def test_ctrl_c_ends_with_the_results_so_far() -> None:
    """Complete batches count."""

    def impatient(walked: SimulationStatistics) -> None:
        if walked.runs > 3_000:
            raise KeyboardInterrupt

    found = simulate(Clock(), runs=10**9, steps=10, seed=1, on_progress=impatient)
    assert (found.verdict, found.exit_code) == ("interrupted", 130)
    assert found.tally.runs > 0
    assert found.tally.steps == 10 * found.tally.runs
    assert found.why.endswith(" runs of up to 10 steps, of 1,000,000,000")


def test_progress_increases() -> None:
    """Runs and steps never decrease, and reach their totals."""
    seen: list[SimulationStatistics] = []
    simulate(Clock(), runs=5_000, steps=10, seed=1, on_progress=seen.append)
    assert [each.runs for each in seen] == sorted(each.runs for each in seen)
    assert (seen[-1].runs, seen[-1].asked, seen[-1].steps) == (5_000, 5_000, 50_000)


@rows(
    "asked, wrong",
    [
        ({"runs": 0}, "runs = 0: it must be 1 or more"),
        ({"steps": LONGEST + 1}, f"steps = {LONGEST + 1}: it must be 1 or more, up to {LONGEST}"),
        ({"seed": -1}, "seed = -1: it must be 0 or more"),
        ({"seed": 2**64}, f"seed = {2**64}: "),
        ({"run": 0}, "run = 0"),
        ({"workers": 0}, "workers = 0"),
        ({"properties": ["none"]}, "clock has no property none"),
    ],
)
def test_invalid_options_are_refused(asked: dict[str, Any], wrong: str) -> None:
    """In one line, with the allowed values."""
    with pytest.raises(UsageError, match=wrong):
        simulate(Clock(), **asked)


def test_an_initial_state_outside_its_domain_is_refused() -> None:
    """Even if another initial state is valid."""
    with pytest.raises(SpecificationError, match="the initial state is outside its domain"):
        simulate(Table(size=1, starts=(0, 3)), runs=1)
