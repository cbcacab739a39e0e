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
from tests.tiers import long_unless

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
    """Run a program in a new process, and return its output."""
    ran = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    return ran.stdout + ran.stderr


class Counted:
    """A machine, the number of its instances, and the steps they took."""

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


# Findings


def test_a_broken_invariant_is_found_and_reported() -> None:
    """The failure has the property, its sentence, the parameters, the state, and the step's changes."""
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
    """A caught violation has the whole trace, not only text."""
    error = failure_of(as_state_machine(Lock())).error
    assert isinstance(error, Violation)
    assert error.trace is not None
    assert [str(each.step) for each in error.trace.steps] == ["take(client=2)", "force(victim=2, client=1)"]


def test_a_broken_transition_invariant_is_found() -> None:
    """Steps are checked, with the states on both sides."""
    failure = failure_of(as_state_machine(Clock()))
    assert str(failure.error).startswith("never_back is broken by turn(hour=3)")
    assert "hour from 4 to 3" in str(failure.error)
    assert "late = 4" in str(failure.error)


def test_a_value_outside_its_domain_is_found() -> None:
    """The failure has the value, its variable, and the allowed values."""
    failure = failure_of(as_state_machine(Overflowing()))
    assert str(failure.error).startswith("type_ok is broken by press()")
    assert "count: 3 is not an integer of 0..2" in str(failure.error)
    assert failure.steps == ["press()"] * 3


def test_each_initial_state_is_drawn() -> None:
    """The program names the drawn initial state; a disabled one is never drawn."""
    counted = Counted(Dial())
    run(counted.machine, max_examples=50, phases=[Phase.generate])
    begun = {step.parameters["side"] for step in counted.taken if step.action == "thrown"}
    assert begun == {0, 1, 2, 4}
    failure = failure_of(as_state_machine(Dial(wrong=1)))
    assert failure.steps[0] in {f"thrown(side={side})" for side in begun}


def test_a_sole_initial_state_is_checked_too() -> None:
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
    long_unless(lambda system: isinstance(system, Lock), [Lock(), Clock(), Wheels()]),
    ids=lambda system: type(system).__name__,
)
def test_programs_are_as_short_as_can_be(system: Specification) -> None:
    """Hypothesis shrinks to the minimal length, as the checker proves."""
    shortest = check(system).counterexample
    assert shortest is not None
    assert len(failure_of(as_state_machine(system)).steps) == shortest.length - 1


@pytest.mark.long  # tests/spec/systems/test_generated_machines.py looks at each system
def test_dependent_events_are_shrunk_together() -> None:
    """Many steps can only be removed together with distant others; the program is still as short as the trace."""
    system = Partitions()  # the newest release, where a failed controller keeps requests in its batch
    shortest = check(system).counterexample
    assert shortest is not None
    assert shortest.length == 16
    assert len(failure_of(as_state_machine(system)).steps) == shortest.length - 1


@pytest.mark.long
def test_failures_beyond_the_look_ahead_are_shrunk() -> None:
    """In a large system, every step of the program is necessary."""
    system = Crowd()
    steps = failure_of(as_state_machine(system)).steps
    assert len(steps) == 6
    assert {step.partition("(")[0] for step in steps} == {"enter"}


@pytest.mark.parametrize("system", long_unless(lambda system: system is FLAWED[0], FLAWED), ids=repr)
def test_a_printed_program_runs(system: Specification) -> None:
    """Unchanged, with nothing before it, it fails in the same way."""
    failure = failure_of(as_state_machine(system))
    with pytest.raises(type(failure.error)) as again:
        exec(failure.program, {})
    assert str(again.value) == str(failure.error)


def test_a_sound_system_passes() -> None:
    """Without the flaw nothing is found; a closed bound and an unseen witness are no failures."""
    run(as_state_machine(Lock(forcing=False)), max_examples=50)
    run(as_state_machine(Lock(clients=1)), max_examples=50)


def test_bounds_hold_unless_removed() -> None:
    """Beyond its bound the system leaves a domain, which only a machine without bounds finds."""
    with pytest.raises(Violation, match=r"taken: 10 is not an integer of 0\.\.9"):
        run(as_state_machine(Lock(forcing=False), bounds=False), max_examples=50, phases=[Phase.generate])


def test_the_ci_profile_finds_deep_errors() -> None:
    """One wrong position among all positions after nine turns."""
    with pytest.raises(Violation, match="not_that_position"):
        run(as_state_machine(Wheels()), max_examples=settings.get_profile("ci").max_examples)


@pytest.mark.long
def test_states_that_actions_undo_are_reached() -> None:
    """Forty steps up, where half of the enabled steps are falls: runs that disable the fall reach the top."""
    assert failure_of(as_state_machine(Climb())).steps == ["step_up()"] * 40


# Drawing of steps


@pytest.mark.parametrize(
    "system",
    long_unless(
        lambda system: isinstance(system, Lock), [Combination(), PingPong(), Dial(), Fuse(), Lock(forcing=False)]
    ),
    ids=lambda system: type(system).__name__,
)
def test_no_draw_is_wasted(system: Specification) -> None:
    """Only enabled steps are drawn, and no run ends because the enabled ones are switched off."""
    counted, statuses = Counted(system), Counter[str]()

    def keep(statistics: Any) -> None:
        statuses.update(case["status"] for case in statistics["generate-phase"]["test-cases"])

    with collector.with_value(cast("None", keep)):
        run(counted.machine, max_examples=40, phases=[Phase.generate])
    assert statuses["valid"] > 0
    assert set(statuses) <= {"valid", "overrun"}  # Hypothesis causes an overrun
    assert len(counted.taken) > 3 * counted.runs


def test_parameters_are_drawn_together() -> None:
    """The one enabled combination of 64 is drawn; parameters print in the order of declaration."""

    class Opening(Combination):
        @invariant
        def closed(self, s: Any) -> bool:
            return bool(s.clicks != 10)

    assert failure_of(as_state_machine(Opening())).steps == [
        "turn(zone=0, middle=0, area=0)",
        "turn(zone=0, middle=1, area=1)",
    ]


def test_actions_are_taken_equally_often() -> None:
    """An action with many enabled instances does not crowd out one with few."""

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
    """In a deadlock the walk stays; runs reach it, and go no further."""
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


# Direct use of the class


def test_steps_are_made_of_plain_values() -> None:
    """By hand, in any order; sets and enumerations are written as in Python."""
    machine = as_state_machine(Names())
    teardown, rules, paint = machine.actions
    state = machine()
    state.take(teardown())
    state.take(rules())
    with pytest.raises(Violation, match="not_all is broken by paint"):
        state.take(paint(where=frozenset(), colour=Colour.BLUE))


def test_a_step_that_is_not_enabled_is_refused() -> None:
    """The error has the step, the state, and the enabled steps; the state is unchanged."""
    machine = as_state_machine(Lock(clients=2))
    take, _, give = machine.actions
    state = machine()
    state.take(take(client=0))
    with pytest.raises(UsageError) as refused:
        state.take(take(client=1))
    assert str(refused.value) == (
        "take(client=1) is not enabled in the state held[0] = True, taken = 1; "
        "enabled: force(victim=0, client=1), give(client=0)"
    )
    with pytest.raises(UsageError, match=r"give\(client=7\) is not enabled"):
        state.take(give(client=7))
    state.take(give(client=0))


def test_before_the_beginning_only_initial_states_are_enabled() -> None:
    """With several initial states a program must name one."""
    machine = as_state_machine(Dial())
    thrown, turn_on = machine.actions
    state = machine()
    with pytest.raises(UsageError, match="before the first step; enabled: thrown"):
        state.take(turn_on())
    state.begin(thrown(side=4))
    state.take(turn_on())


def test_functions_have_the_names_and_docstrings_of_their_actions() -> None:
    """A name that the program already uses gets an underscore."""

    class Named(Names):
        @action
        def state(self, s: Any) -> None:
            """Called as the program calls its machine."""

    machine = as_state_machine(Named())
    assert [each.__name__ for each in machine.actions] == ["teardown", "rules", "paint", "state_"]
    assert machine.actions[-1].__doc__ == "Called as the program calls its machine."


def test_the_names_of_many_actions_stand_on_several_lines() -> None:
    """And the program still lists all of them."""
    names = [f"a_name_of_a_good_length_{number}" for number in range(9)]
    lines = unpacked(names, "given")
    assert max(map(len, lines)) <= 118
    found: dict[str, Any] = {"given": range(9)}
    exec("\n".join(lines), found)
    assert [found[name] for name in names] == list(range(9))


def test_class_names_distinguish_systems_variants_and_constants() -> None:
    """Hypothesis stores the examples of a generated class by its name alone."""

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


@pytest.mark.long
def test_class_names_are_the_same_in_every_process() -> None:
    """They contain no order of a set and no memory address."""
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


@pytest.mark.long
def test_the_machine_runs_under_pytest(tmp_path: Path) -> None:
    """`.TestCase` is collected, a failure prints its program, and the statistics list the events."""
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
    assert "nothing is enabled" in output


def test_distinct_actions_are_a_target_where_there_are_many_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few examples, targeting would multiply them to a thousand."""
    best = list[Any]()

    def keep(statistics: Any) -> None:
        best.append(statistics.get("targets"))

    monkeypatch.setattr(machines, "TARGETED", 10)
    for examples in (9, 10):
        with collector.with_value(cast("None", keep)):
            run(as_state_machine(PingPong()), max_examples=examples)
    assert best == [None, {"distinct actions taken": 2}]


def test_the_machine_is_a_hypothesis_state_machine() -> None:
    """A subclass may add checks and a teardown; settings apply to it."""
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
    """Hypothesis shrinks its violation."""

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
    """It neither reads nor overwrites one, so other versions of Hypothesis work as documented."""

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
