"""Specifications as Hypothesis state machines."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, rule
from hypothesis.stateful import invariant as hypothesis_invariant
from hypothesis.statistics import collector

from spec import testing
from spec.checking import EvaluationFailed, check
from spec.language import Specification, State, Step, UsageError, action, invariant
from spec.systems.partitions import Partitions
from spec.testing import SpecificationMachine, Violation, as_state_machine
from spec.testing import machine as machines
from spec.testing.recipe import unpacked
from tests.spec.testing.running import THOROUGH, failure_of, run
from tests.spec.testing.toys import (
    Climb,
    Clock,
    Colour,
    Combination,
    Crowd,
    Dial,
    Fuse,
    Lock,
    Names,
    Overflowing,
    PingPong,
    Wheels,
)

FLAWED: tuple[Specification, ...] = (
    Lock(),
    Lock(clients=5),
    Clock(),
    Overflowing(),
    Dial(wrong=2),
    Dial(wrong=3),
    Names(),
    Wheels(),
)


def python(*arguments: str, **environment: str) -> str:
    """What a new process prints."""
    ran = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    return ran.stdout + ran.stderr


class Counted:
    """A machine, how often it was made, and which steps it took."""

    def __init__(self, specification: Specification):
        self.runs, self.taken = 0, list[Step]()
        count = self

        class Counting(as_state_machine(specification)):  # type: ignore[misc]
            def __init__(self) -> None:
                count.runs += 1
                super().__init__()

            def _arrived(self, step: Any, state: Any) -> None:
                count.taken.append(step)

        self.machine: type[SpecificationMachine] = Counting


# What is found


def test_a_broken_invariant_is_found_and_reported() -> None:
    """The failure says which property, what it states, for which parameters, what it saw, what the step did."""
    failure = failure_of(as_state_machine(Lock()))
    assert isinstance(failure.error, Violation)
    assert str(failure.error) == "\n".join(
        [
            "exclusive is broken by force(victim=2, client=1)",
            "    No two clients have the lock.",
            "    It fails for one = 1, other = 2.",
            "    It looked at",
            "        held[1] = True",
            "        held[2] = True",
            "    force(victim=2, client=1) changed",
            "        held[1] from False to True",
            "        taken from 1 to 2",
        ]
    )


def test_a_violation_carries_its_trace() -> None:
    """A violation that is caught has the whole trace, not only words."""
    error = failure_of(as_state_machine(Lock())).error
    assert isinstance(error, Violation)
    assert error.trace is not None
    assert [str(each.step) for each in error.trace.steps] == ["take(client=2)", "force(victim=2, client=1)"]


def test_a_broken_transition_invariant_is_found() -> None:
    """Steps are judged, with the states on both sides."""
    failure = failure_of(as_state_machine(Clock()))
    assert str(failure.error).startswith("never_back is broken by turn(hour=3)")
    assert "hour from 4 to 3" in str(failure.error)
    assert "late = 4" in str(failure.error)


def test_a_value_outside_its_domain_is_found() -> None:
    """The failure says what, where, and what is allowed."""
    failure = failure_of(as_state_machine(Overflowing()))
    assert str(failure.error).startswith("type_ok is broken by press()")
    assert "count: 3 is not an integer of 0..2" in str(failure.error)
    assert failure.steps == ["press()"] * 3


def test_each_initial_state_is_begun_in() -> None:
    """Where several are possible one is drawn, and the program says which; the disabled one is not drawn."""
    counted = Counted(Dial())
    run(counted.machine, max_examples=50, phases=[Phase.generate])
    begun = {step.parameters["side"] for step in counted.taken if step.action == "thrown"}
    assert begun == {0, 1, 2, 4}
    failure = failure_of(as_state_machine(Dial(wrong=1)))
    assert failure.steps[0] in {f"thrown(side={side})" for side in begun}


def test_a_sole_initial_state_is_judged_too() -> None:
    """A walk that is wrong before its first step fails, with a program."""

    class Wrong(Fuse):
        def lit(self, s: Any) -> None:
            s.left = 5

    failure = failure_of(as_state_machine(Wrong()))
    assert "left: 5 is not an integer of 0..4" in str(failure.error)
    assert failure.steps == ["lit()"]


def test_an_initial_that_raises_is_reported_as_by_check() -> None:
    """With its name, before any machine is made."""

    class Damp(Fuse):
        def lit(self, s: Any) -> None:
            raise ValueError("it is wet")

    with pytest.raises(EvaluationFailed) as expected:
        check(Damp(), engine="reference")
    with pytest.raises(EvaluationFailed) as failed:
        as_state_machine(Damp())
    assert str(failed.value) == str(expected.value) == "initial: ValueError: it is wet"


@pytest.mark.parametrize(
    "system",
    [Lock(), pytest.param(Clock(), marks=pytest.mark.long), Wheels()],
    ids=lambda system: type(system).__name__,
)
def test_programs_are_as_short_as_can_be(system: Specification) -> None:
    """Hypothesis shrinks to the length that the checker proves to be the least."""
    shortest = check(system).counterexample
    assert shortest is not None
    assert len(failure_of(as_state_machine(system)).steps) == shortest.length - 1


@pytest.mark.long  # tests/spec/systems/test_generated_machines.py looks at each system
def test_events_that_hang_together_are_shrunk_together() -> None:
    """Many steps can go only with others far from them; the program still is as short as the checker's trace."""
    system = Partitions()  # the newest release, where a controller that fails leaves requests in its batch
    shortest = check(system).counterexample
    assert shortest is not None
    assert shortest.length == 16
    assert len(failure_of(as_state_machine(system)).steps) == shortest.length - 1


def test_failures_beyond_the_look_ahead_are_shrunk() -> None:
    """In a large system the program has no step that can be left out."""
    system = Crowd()
    steps = failure_of(as_state_machine(system)).steps
    assert len(steps) == 6
    assert {step.partition("(")[0] for step in steps} == {"enter"}


@pytest.mark.parametrize("system", FLAWED, ids=repr)
def test_a_printed_program_runs(system: Specification) -> None:
    """As it stands, with nothing before it, it fails in the same way."""
    failure = failure_of(as_state_machine(system))
    with pytest.raises(type(failure.error)) as again:
        exec(failure.program, {})
    assert str(again.value) == str(failure.error)


def test_a_sound_system_passes() -> None:
    """Without the flaw nothing is found; a closed bound and a missing witness are no failures."""
    run(as_state_machine(Lock(forcing=False)), max_examples=50)
    run(as_state_machine(Lock(clients=1)), max_examples=50)


def test_bounds_hold_unless_they_are_taken_off() -> None:
    """Beyond its bound the system leaves a domain, and that is only found without bounds."""
    with pytest.raises(Violation, match=r"taken: 10 is not an integer of 0\.\.9"):
        run(as_state_machine(Lock(forcing=False), bounds=False), max_examples=50, phases=[Phase.generate])


def test_the_ci_profile_finds_what_lies_deep() -> None:
    """One wrong position among all that nine turns lead to."""
    with pytest.raises(Violation, match="not_that_position"):
        run(as_state_machine(Wheels()), max_examples=settings.get_profile("ci").max_examples)


def test_states_that_actions_undo_are_reached() -> None:
    """Forty steps up, where every other step would fall: runs that mute the fall get there."""
    assert failure_of(as_state_machine(Climb())).steps == ["step_up()"] * 40


# How steps are drawn


@pytest.mark.parametrize(
    "system",
    [Combination(), PingPong(), Dial(), Fuse(), Lock(forcing=False)],
    ids=lambda system: type(system).__name__,
)
def test_no_draw_is_wasted(system: Specification) -> None:
    """Only what is enabled is drawn, and no run is given up because what is enabled was switched off."""
    counted, statuses = Counted(system), Counter[str]()

    def keep(statistics: Any) -> None:
        statuses.update(case["status"] for case in statistics["generate-phase"]["test-cases"])

    with collector.with_value(cast("None", keep)):
        run(counted.machine, max_examples=40, phases=[Phase.generate])
    assert statuses["valid"] > 0
    assert set(statuses) <= {"valid", "overrun"}  # an overrun is the engine's own affair
    assert len(counted.taken) > 3 * counted.runs


def test_parameters_are_drawn_together() -> None:
    """Of 64 combinations the one that is enabled; they are printed as they are declared."""

    class Opening(Combination):
        @invariant
        def closed(self, s: Any) -> bool:
            return bool(s.clicks != 10)

    assert failure_of(as_state_machine(Opening())).steps == [
        "turn(zone=0, middle=0, area=0)",
        "turn(zone=0, middle=1, area=1)",
    ]


def test_actions_are_taken_alike_often() -> None:
    """One with many enabled instances does not crowd out one with few."""

    class Uneven(Specification):
        """One action with one instance, one with thirty."""

        @action
        def one(self, s: State) -> None: ...

        @action(which=range(30))
        def many(self, s: State, which: int) -> None: ...

    counted = Counted(Uneven())
    run(counted.machine, max_examples=60, phases=[Phase.generate])
    times = Counter(step.action for step in counted.taken)
    assert 0.7 < times["one"] / times["many"] < 1.4
    assert {step.parameters["which"] for step in counted.taken if step.action == "many"} == set(range(30))


def test_a_dead_end_is_no_failure() -> None:
    """Where nothing is enabled the walk stays; runs get there, and no further."""
    counted = Counted(Fuse())
    run(counted.machine, max_examples=20, phases=[Phase.generate])
    burnt = Counter(step.action for step in counted.taken)["burn"]
    assert 2 * counted.runs < burnt <= 4 * counted.runs
    machine = as_state_machine(Fuse())
    (burn,) = machine.actions
    state = machine()
    for _ in range(4):
        state.take(burn())
    state.take(None)
    with pytest.raises(UsageError, match="enabled: burn"):
        machine().take(None)
    with pytest.raises(UsageError, match="enabled: nothing"):
        state.take(burn())


# What users do with the class


def test_steps_are_made_of_plain_values() -> None:
    """By hand, in any order; sets and enumerations are given as they are written."""
    machine = as_state_machine(Names())
    teardown, rules, paint = machine.actions
    state = machine()
    state.take(teardown())
    state.take(rules())
    with pytest.raises(Violation, match="not_all is broken by paint"):
        state.take(paint(where=frozenset(), colour=Colour.BLUE))


def test_a_step_that_is_not_enabled_is_refused() -> None:
    """The error says what was tried, in which state, and what is enabled there; nothing has happened."""
    machine = as_state_machine(Lock(clients=2))
    take, _, give = machine.actions
    state = machine()
    state.take(take(client=0))
    with pytest.raises(UsageError) as refused:
        state.take(take(client=1))
    assert str(refused.value) == (
        "take(client=1) is not enabled where held[0] = True, taken = 1; "
        "enabled: force(victim=0, client=1), give(client=0)"
    )
    with pytest.raises(UsageError, match=r"give\(client=7\) is not enabled"):
        state.take(give(client=7))
    state.take(give(client=0))


def test_before_the_beginning_only_that_is_enabled() -> None:
    """With several initial states a program must say which."""
    machine = as_state_machine(Dial())
    thrown, turn_on = machine.actions
    state = machine()
    with pytest.raises(UsageError, match="before the beginning; enabled: thrown"):
        state.take(turn_on())
    state.begin(thrown(side=4))
    state.take(turn_on())


def test_functions_have_the_names_and_sentences_of_their_actions() -> None:
    """What a program calls something else gets an underscore."""

    class Named(Names):
        @action
        def state(self, s: Any) -> None:
            """Called as the program calls its machine."""

    machine = as_state_machine(Named())
    assert [each.__name__ for each in machine.actions] == ["teardown", "rules", "paint", "state_"]
    assert machine.actions[-1].__doc__ == "Called as the program calls its machine."


def test_the_names_of_many_actions_stand_on_several_lines() -> None:
    """And the program still names all of them."""
    names = [f"a_name_of_a_good_length_{number}" for number in range(9)]
    lines = unpacked(names, "given")
    assert max(map(len, lines)) <= 118
    found: dict[str, Any] = {"given": range(9)}
    exec("\n".join(lines), found)
    assert [found[name] for name in names] == list(range(9))


def test_class_names_tell_apart_systems_variants_and_constants() -> None:
    """Hypothesis keeps the examples of a generated class under its name alone."""

    class Unforced(Lock, forcing=False):
        """A variant with a name of its own for the same system."""

        name = "lock"

    machines = [
        as_state_machine(Lock()),
        as_state_machine(Lock(clients=2)),
        as_state_machine(Lock(clients=2), bounds=False),
        as_state_machine(Lock(forcing=False)),
        as_state_machine(Unforced()),
        as_state_machine(Clock()),
    ]
    names = [machine.__name__ for machine in machines]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    assert names[0].startswith("Lock_")
    assert as_state_machine(Lock()).__name__ == names[0]


def test_class_names_are_the_same_in_every_process() -> None:
    """Neither the order of sets nor an address in memory gets into them."""
    program = (
        "from spec.language import Specification, action, constant\n"
        "from spec.testing import as_state_machine\n"
        "class Sets(Specification):\n"
        "    some: frozenset = constant(frozenset({'a', 'b', 'c', 'd'}), 'letters')\n"
        "    @action\n"
        "    def act(self, s): pass\n"
        "machine = as_state_machine(Sets(some=frozenset({'x', 'y', 'z', 'u'})))\n"
        "print(machine.__name__, machine.recipe)\n"
    )
    printed = {python("-c", program, PYTHONHASHSEED=str(seed)) for seed in (1, 2)}
    assert len(printed) == 1
    assert "Sets_" in printed.pop()


def test_it_runs_under_pytest(tmp_path: Path) -> None:
    """`.TestCase` is collected, a failure prints its program, and the statistics say what was seen."""
    (tmp_path / "test_lock.py").write_text(
        "from spec.testing import as_state_machine\n"
        "from tests.spec.testing.toys import Lock\n"
        "TestSound = as_state_machine(Lock(forcing=False)).TestCase\n"
        "TestFlawed = as_state_machine(Lock()).TestCase\n"
    )
    root = str(Path(__file__).parents[3])
    output = python(
        *("-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)),
        "--hypothesis-show-statistics",
        PYTHONPATH=root,
        HYPOTHESIS_STORAGE_DIRECTORY=str(tmp_path / "examples"),
    )
    assert "1 failed, 1 passed" in output
    assert "state.take(step=force(victim=2, client=1))" in output
    assert "action give" in output
    assert "sometimes taken_twice" in output
    assert "nothing is enabled any more" in output


def test_distinct_actions_are_a_target_where_there_are_many_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a few examples they would make a thousand."""
    best = list[Any]()

    def keep(statistics: Any) -> None:
        best.append(statistics.get("targets"))

    monkeypatch.setattr(machines, "TARGETED", 10)
    for examples in (9, 10):
        with collector.with_value(cast("None", keep)):
            run(as_state_machine(PingPong()), max_examples=examples)
    assert best == [None, {"distinct actions taken": 2}]


def test_it_is_a_hypothesis_state_machine() -> None:
    """A subclass may look at more and clean up; settings stand before it."""
    ended = 0

    @settings(THOROUGH, max_examples=5)
    class Mine(as_state_machine(Fuse())):  # type: ignore[misc]
        def teardown(self) -> None:
            super().teardown()
            nonlocal ended
            ended += 1

    case = Mine.TestCase()
    case.runTest()
    assert ended > 0


def test_a_subclass_invariant_is_checked() -> None:
    """Hypothesis shrinks what it breaks."""

    class Bounded(as_state_machine(Lock(forcing=False))):  # type: ignore[misc]
        @hypothesis_invariant()
        def taken_thrice_at_most(self) -> None:
            assert sum(step.action == "take" for step in self.trace) <= 3

        def __init__(self) -> None:
            self.trace = list[Step]()
            super().__init__()

        def _arrived(self, step: Step, state: Any) -> None:
            self.trace.append(step)

    failure = failure_of(Bounded)
    taken = [line for line in failure.text.splitlines() if line.startswith("state.take(")]
    assert [line.partition("(step=")[2].partition("(")[0] for line in taken] == ["take", "give"] * 3 + ["take"]
    assert "take, give = Bounded.actions" in failure.text


def test_no_private_name_of_hypothesis_is_used() -> None:
    """Neither read nor overwritten, so that another version of Hypothesis does what its documentation says."""

    class Blank(RuleBasedStateMachine):
        @rule()
        def nothing(self) -> None: ...

    private = {name for name in (*vars(RuleBasedStateMachine), *vars(Blank())) if re.match("_[a-z]", name)}
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in Path(testing.__path__[0]).glob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    assert len(private) > 5
    assert not private & {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert not private & {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    assert {each for each in modules if each.startswith("hypothesis")} == {"hypothesis", "hypothesis.stateful"}
