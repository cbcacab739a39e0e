"""A run of the local engine that died at any point, resumed by either engine, ends as if it had not died."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spec.checking import check
from spec.checking.auto import AutoEngine
from spec.checking.exploration import Engine, Exploration, Options, Statistics
from spec.checking.local import LocalEngine
from spec.checking.local.visited import Visited
from spec.checking.machine.memory import OutOfMemory, written
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine
from spec.checking.spark.allotment import minimum
from spec.cli.command import reraising_dropped_interrupts
from spec.language import Specification, SpecificationError, UsageError, invariant
from spec.systems.replication import Replication
from tests.spec.checking.runs.test_rundir import tree
from tests.spec.toys import BOUNDED, TOYS, Jugs, OneWay, RaisingAction, Walkers, WrongStart
from tests.tiers import long_unless

TOY = "several broken"
"""It has discoveries of every kind, with most of its levels after them."""
POINTS = ["before files", "after files", "before commit", "after commit"]
SOON = ("after files", 6)
"""Where every test run kills a run; `make long` adds every point of a level, also of the first."""
MANY = Walkers(walkers=4, length=7, far=20, apart=5)
"""2,401 states in 25 levels, with discoveries."""

DYING = """
import os, signal, sys
from pathlib import Path
from spec.checking.runs import rundir
from spec.checking.exploration import Options
from spec.checking.local import LocalEngine
from spec.checking.model import Model
from tests.spec.checking.local.test_resume import MANY
from tests.spec.toys import TOYS

toy, path, point, level = sys.argv[1:]
levels = 0

def reached(where):
    global levels
    levels += where == "before files"
    if (where, levels) == (point, int(level)):
        os.kill(os.getpid(), signal.SIGKILL)

rundir.reached = reached
model = Model(TOYS.get(toy, MANY))
options = Options(tuple(range(len(model.properties))), keep_going=True)
engine = LocalEngine(run_dir=Path(path), resume=Path(path, "_run.json").exists())
print("begins", flush=True)
engine.explore(model, options, lambda statistics: None)
"""


def kill(path: Path, point: str, level: int) -> None:
    """Explore in another process, which is killed at a point of a level."""
    command = [sys.executable, "-c", DYING, TOY, str(path), point, str(level)]
    assert subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == -signal.SIGKILL


def answer(engine: Engine, specification: Specification, **bounds: Any) -> Exploration:
    """The findings of an engine, which must also report every level."""
    model, progress = Model(specification), list[Statistics]()
    found = engine.explore(model, Options(tuple(range(len(model.properties))), **bounds), progress.append)
    depths = {statistics.depth for statistics in progress}
    assert depths - {0} == set(range(1, found.statistics.depth + 1)), "0 means before the first level"
    return found


def outcome(found: Exploration, by_action: bool = True) -> dict[str, Any]:
    """All that must be equal on every engine. The reference engine credits new states in another order."""
    new_states = [each.new_states for each in found.coverage]
    return {
        "ended": found.ended,
        "statistics": found.statistics[:4],
        "coverage": [(each.enabled, each.taken, each.changing, each.bounded) for each in found.coverage],
        "new states": new_states if by_action else sum(new_states),
        "discoveries": {
            number: (each.length, each.path[0], list(each.path[1])) for number, each in found.discoveries.items()
        },
    }


def explored(engine: Engine, specification: Specification, **bounds: Any) -> dict[str, Any]:
    return outcome(answer(engine, specification, **bounds))


def expected(specification: Specification, **bounds: Any) -> dict[str, Any]:
    """The result of a run that is not kept, which must equal the reference engine's."""
    found = answer(LocalEngine(), specification, **bounds)
    reference = answer(ReferenceEngine(), specification, **bounds)
    assert outcome(found, by_action=False) == outcome(reference, by_action=False)
    return outcome(found)


def interrupted(engine: Engine, specification: Specification, depth: int) -> Exploration:
    """The findings of an engine that Ctrl-C stops at a depth."""

    def on_progress(statistics: Statistics) -> None:
        if statistics.depth == depth:
            raise KeyboardInterrupt

    model = Model(specification)
    options = Options(tuple(range(len(model.properties))), keep_going=True)
    return engine.explore(model, options, on_progress)


def content(path: Path) -> dict[str, str]:
    """The levels of a run, file by file, and its commits by name."""
    return {
        name: digest if name.startswith("level=") else ""
        for name, digest in tree(path).items()
        if not name.startswith("_spark")
    }


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip waiting for the disk, since only processes die here, not the machine."""
    monkeypatch.setattr("spec.checking.runs.rundir._sync", lambda path: None)


class SmallMemory(Visited):
    """Room for a hundred states and the next batch."""

    def insert(self, *sent: Any) -> None:
        super().insert(*sent)
        if self.size > 100:
            raise OutOfMemory


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local engine has little memory; other engines are unaffected."""
    monkeypatch.setattr("spec.checking.local.engine.Visited", SmallMemory)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference engine stops as soon as it has begun."""
    for patience in ("ALONE", "COLD", "MOST", "KEPT"):
        monkeypatch.setattr(f"spec.checking.first_tier.{patience}", 0)


# Kept, killed and resumed runs.


@pytest.mark.parametrize(
    ("toy", "bounds"), long_unless(lambda case: case[0] in {"a domain left", "a bound"}, BOUNDED)
)
def test_a_kept_run_gives_the_same_result(toy: str, bounds: dict[str, Any], tmp_path: Path) -> None:
    """A second check gives the same result and writes nothing. Spark writes the same files."""
    wanted = expected(TOYS[toy], **bounds)
    assert explored(LocalEngine(run_dir=tmp_path / "local"), TOYS[toy], **bounds) == wanted
    before = tree(tmp_path)
    assert explored(LocalEngine(run_dir=tmp_path / "local", resume=True), TOYS[toy], **bounds) == wanted
    assert tree(tmp_path) == before
    assert explored(SparkEngine(tmp_path / "spark"), TOYS[toy], **bounds) == wanted
    assert content(tmp_path / "local") == content(tmp_path / "spark")


@pytest.mark.parametrize(
    ("point", "level"),
    long_unless(SOON.__eq__, itertools.product(POINTS, (6, 1))),
)
def test_a_killed_run_is_resumed(point: str, level: int, tmp_path: Path) -> None:
    """Statistics, coverage, discoveries, paths and files are those of a run that was not killed."""
    kill(tmp_path / "killed", point, level)
    assert explored(LocalEngine(run_dir=tmp_path / "killed", resume=True), TOYS[TOY], keep_going=True) == expected(
        TOYS[TOY], keep_going=True
    )
    explored(LocalEngine(run_dir=tmp_path / "undisturbed"), TOYS[TOY], keep_going=True)
    assert content(tmp_path / "killed") == content(tmp_path / "undisturbed")


@pytest.mark.long  # `tests/reliability` does it in every test run, with large levels
@pytest.mark.parametrize("times", [2, 6])
def test_a_run_killed_at_random_moments_is_resumed(times: int, tmp_path: Path) -> None:
    """Repeatedly, wherever it is."""
    chance = random.Random(11)
    for _ in range(times):
        command = [sys.executable, "-c", DYING, "many", str(tmp_path / "run"), "never", "0"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(chance.uniform(0.2, 1.0))
        child.kill()
        child.communicate()
    resume = (tmp_path / "run" / "_run.json").exists()
    found = explored(LocalEngine(run_dir=tmp_path / "run", resume=resume), MANY, keep_going=True)
    assert found == expected(MANY, keep_going=True)


@pytest.mark.long
def test_bounds_may_change_when_a_run_is_resumed(tmp_path: Path) -> None:
    """With each of them the result is that of a run with these bounds from the beginning."""
    explored(LocalEngine(run_dir=tmp_path), Walkers(far=6), max_depth=4)
    for bounds in ({"max_states": 50}, {}, {"keep_going": True}, {"max_depth": 3}, {"max_states": 10}):
        found = explored(LocalEngine(run_dir=tmp_path, resume=True), Walkers(far=6), **bounds)
        assert found == expected(Walkers(far=6), **bounds)


def test_a_failed_evaluation_fails_again_after_a_resume(tmp_path: Path) -> None:
    """The levels before it are kept."""
    said = set()
    for resume in (False, True):
        with pytest.raises(Exception, match="divide") as failed:
            explored(LocalEngine(run_dir=tmp_path, resume=resume), RaisingAction())
        said.add(str(failed.value))
    assert len(said) == 1


# From one engine to the other.


@pytest.mark.parametrize(
    "depth", [pytest.param(1, marks=pytest.mark.long), 3, pytest.param(7, marks=pytest.mark.long)]
)
@pytest.mark.parametrize(
    "toy", long_unless("a deadlock".__eq__, ["several broken", "a deadlock", "a domain left", "several starts"])
)
def test_engines_resume_each_others_runs(toy: str, depth: int, tmp_path: Path) -> None:
    """Whichever engine begins or ends a run."""
    wanted, subject = expected(TOYS[toy], keep_going=True), TOYS[toy]
    explored(SparkEngine(tmp_path / "one"), subject, max_depth=depth, keep_going=True)
    assert explored(LocalEngine(run_dir=tmp_path / "one", resume=True), subject, keep_going=True) == wanted
    explored(LocalEngine(run_dir=tmp_path / "other", buckets=3), subject, max_depth=depth, keep_going=True)
    assert explored(SparkEngine(tmp_path / "other", resume=True), subject, keep_going=True) == wanted


# Interrupted runs.


def test_an_interrupted_run_is_resumed(tmp_path: Path) -> None:
    """Even twice. The interrupted level is discarded, and the seconds of all parts are added up."""
    first = interrupted(LocalEngine(run_dir=tmp_path), Walkers(far=4), 3)
    second = interrupted(LocalEngine(run_dir=tmp_path, resume=True), Walkers(far=4), 6)
    assert first.kept == second.kept == f"the run can be resumed from {tmp_path}"
    assert [each.statistics.depth for each in (first, second)] == [2, 5]
    before = answer(ReferenceEngine(), Walkers(far=4), keep_going=True, max_depth=5)
    assert outcome(second, False) == {**outcome(before, False), "ended": "interrupted"}
    found = answer(LocalEngine(run_dir=tmp_path, resume=True), Walkers(far=4), keep_going=True)
    assert outcome(found) == expected(Walkers(far=4), keep_going=True)
    assert first.statistics.seconds < second.statistics.seconds < found.statistics.seconds
    assert interrupted(LocalEngine(), Walkers(), 3).kept == ""


@contextmanager
def alarm_after(seconds: float) -> Iterator[None]:
    """Send Ctrl-C after this time, unless the block has ended by then."""
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with reraising_dropped_interrupts(signal.SIGALRM):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_ctrl_c_at_random_moments(seed: int, tmp_path: Path) -> None:
    """Nothing hangs, and the run reports a complete level with paths."""
    chance = random.Random(seed)
    whole = answer(LocalEngine(run_dir=tmp_path / "whole"), MANY, keep_going=True)
    wanted = outcome(whole)
    for number in range(20):
        path = tmp_path / str(number)
        found = interrupted_after(chance.random() * whole.statistics.seconds, path)
        if found is None or found.ended != "interrupted":
            continue
        if found.statistics.depth:
            bounded = answer(LocalEngine(), MANY, keep_going=True, max_depth=found.statistics.depth)
            # The last level may be expanded; its steps lead back.
            assert outcome(found) in [{**outcome(each), "ended": "interrupted"} for each in (bounded, whole)]
        assert explored(LocalEngine(run_dir=path, resume=True), MANY, keep_going=True) == wanted
        return
    raise AssertionError("no run was interrupted")


def interrupted_after(seconds: float, path: Path) -> Exploration | None:
    """The findings of a kept run when Ctrl-C came; None if it came before the run began, or after its end."""
    model = Model(MANY)
    options = Options(tuple(range(len(model.properties))), keep_going=True)
    begun: list[Statistics] = []
    found = None
    try:
        with alarm_after(seconds):
            found = LocalEngine(run_dir=path).explore(model, options, begun.append)
    except KeyboardInterrupt:
        assert found is not None or not begun, "the run did not end as interrupted"
        return None
    return found


def test_a_second_interrupt_skips_the_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It still reports the statistics."""

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("spec.checking.local.engine.with_paths", press)
    found = interrupted(LocalEngine(run_dir=tmp_path), Walkers(far=4), 6)
    assert (found.ended, found.statistics.depth, found.discoveries) == ("interrupted", 5, {})


@pytest.mark.long
def test_sigterm_writes_a_checkpoint(tmp_path: Path) -> None:
    """The command says so, exits with 130, and can be resumed."""
    run = str(tmp_path / "run")
    command = [sys.executable, "-m", "spec", "check", "replication", "--set", "max_leader_epoch=2", "--json"]
    child = subprocess.Popen([*command, "--run-dir", run], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not Path(run, "_commits", "0003.json").exists():
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    said, error = child.communicate(timeout=60)
    assert child.returncode == 130
    assert json.loads(said)["verdict"] == "interrupted"
    assert f"Interrupted: the run can be resumed from {run}" in error
    resumed = subprocess.run([*command, "--max-depth", "12", "--resume", run], capture_output=True, check=False)
    plain = subprocess.run([*command, "--max-depth", "12", "--engine", "local"], capture_output=True, check=False)
    for name in ("distinct_states", "generated_states", "depth", "properties", "actions"):
        assert json.loads(resumed.stdout)[name] == json.loads(plain.stdout)[name]


# Out of memory.


@pytest.mark.long
def test_a_run_out_of_memory_can_be_resumed_on_spark(small_memory: None, tmp_path: Path) -> None:
    """It is bounded, keeps its last complete level, and says so."""
    subject = Walkers(walkers=4, apart=3)
    result = check(subject, engine=LocalEngine(run_dir=tmp_path), keep_going=True, properties=["not_too_far"])
    assert (result.verdict, result.exit_code) == ("bounded", 20)
    assert result.why == (
        f"the bound on memory was reached; continue with --resume {tmp_path} and a larger --memory or --engine spark"
    )
    found = check(subject, engine=SparkEngine(tmp_path, resume=True), keep_going=True, properties=["not_too_far"])
    assert (found.verdict, found.distinct_states) == ("holds", 4**4)
    assert check(Walkers(walkers=4), engine=LocalEngine()).why.endswith("and so does a larger --memory")


@pytest.mark.long
def test_a_run_that_does_not_fit_is_not_resumed(small_memory: None, tmp_path: Path) -> None:
    """It reports its last kept level, with the paths of the findings."""
    subject = Walkers(walkers=4, apart=3)
    explored(SparkEngine(tmp_path), subject, keep_going=True, max_depth=8)
    found = explored(LocalEngine(run_dir=tmp_path, resume=True), subject, keep_going=True)
    bounded = explored(SparkEngine(), subject, keep_going=True, max_depth=8)
    assert found == {**bounded, "ended": "memory"}


@pytest.mark.parametrize("kept", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.usefixtures("java")
def test_auto_hands_over_to_spark(
    kept: bool, small_memory: None, impatient: None, tmp_path: Path, monkeypatch: Any
) -> None:
    """It ends as if memory had sufficed. Without a run directory, no files remain."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    subject = Walkers(walkers=4, apart=3, far=11)
    engine = AutoEngine(run_dir=tmp_path / "run" if kept else None)
    found = explored(engine, subject, keep_going=True)
    assert engine.name == "spark"
    assert found == explored(SparkEngine(), subject, keep_going=True)
    assert {name.partition("/")[0] for name in tree(tmp_path)} == ({"run"} if kept else set())


@pytest.mark.long
@pytest.mark.usefixtures("java")
def test_auto_hands_over_several_levels_of_its_first_tier(
    small_memory: None, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The local engine has no room for these, or not for the next ones."""
    monkeypatch.setattr("spec.checking.first_tier.KEPT", 50)
    subject = Walkers(walkers=4, apart=3, far=11)
    engine = AutoEngine()
    found = explored(engine, subject, keep_going=True)
    assert engine.name == "spark"
    assert found == explored(SparkEngine(), subject, keep_going=True)


@pytest.mark.long
@pytest.mark.usefixtures("java")
def test_auto_hands_orbits_over_to_spark(small_memory: None, impatient: None) -> None:
    """Spark goes on with the representatives, and with the findings among them."""
    subject, asked = Replication.of(brokers=2, max_leader_epoch=1), {"symmetry": True, "keep_going": True}
    engine = AutoEngine()
    found = explored(engine, subject, **asked)
    assert engine.name == "spark"
    assert found == explored(SparkEngine(), subject, **asked)


def test_auto_is_local_while_memory_lasts(tmp_path: Path, impatient: None) -> None:
    """Whether the run is kept or not."""
    for engine in (AutoEngine(), AutoEngine(run_dir=tmp_path), AutoEngine(run_dir=tmp_path, resume=True)):
        assert explored(engine, Jugs()) == expected(Jugs())
        assert engine.name == "local"


@pytest.mark.usefixtures("java", "small_memory", "impatient")
def test_auto_is_bounded_where_spark_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names the missing package."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    result = check(Walkers(walkers=4, apart=3), engine=AutoEngine(memory=minimum()), properties=["not_too_far"])
    assert (result.verdict, result.exit_code, result.engine) == ("bounded", 20, "local")
    assert "Spark could continue; pyspark is not installed: pip install '.[spark]'" in result.why


@pytest.mark.parametrize("kept", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.usefixtures("java")
def test_auto_is_bounded_if_spark_does_not_fit(
    kept: bool, small_memory: None, impatient: None, tmp_path: Path
) -> None:
    """The reason names the least memory with which Spark would could on, and a kept run can be resumed with it."""
    subject, budget = Walkers(walkers=4, apart=3), minimum() - 1
    engine = AutoEngine(memory=budget, run_dir=tmp_path / "run" if kept else None)
    result = check(subject, engine=engine, keep_going=True, properties=["not_too_far"])
    assert (result.verdict, result.exit_code, result.engine) == ("bounded", 20, "local")
    assert f"Spark needs at least --memory {written(minimum())} to continue" in result.why
    assert ("--resume" in result.why) is kept
    if kept:
        again = AutoEngine(memory=minimum(), run_dir=tmp_path / "run", resume=True)
        result = check(subject, engine=again, keep_going=True, properties=["not_too_far"])
        assert (result.verdict, result.distinct_states, result.engine) == ("holds", 4**4, "spark")


def test_auto_is_bounded_without_java(
    small_memory: None, impatient: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whether there is none, or only one that Spark cannot use."""
    for place in (None, str(tmp_path)):
        monkeypatch.delenv("JAVA_HOME", raising=False)
        if place:
            monkeypatch.setenv("JAVA_HOME", place)
        monkeypatch.setenv("PATH", str(tmp_path))
        found = answer(AutoEngine(), Walkers(walkers=4), keep_going=True)
        assert (found.ended, found.kept) == ("memory", "")


def test_discoveries_of_the_last_level_are_reported_when_memory_ends(small_memory: None) -> None:
    """A violation takes precedence over the memory bound."""
    subject = Walkers(walkers=4)
    depth = answer(LocalEngine(), subject).statistics.depth
    assert depth < 8
    last = Walkers(walkers=4, far=depth - 1)  # only that level reaches it
    assert answer(LocalEngine(), last).ended == "found"


# Refused runs.


def test_another_specification_is_refused(tmp_path: Path) -> None:
    """One line names the difference, and the directory is unchanged."""
    explored(LocalEngine(run_dir=tmp_path), Walkers(), max_depth=3)
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="holds another run: constants far was 1000, and is now 9"):
        explored(LocalEngine(run_dir=tmp_path, resume=True), Walkers(far=9))
    with pytest.raises(UsageError, match="is not empty"):
        explored(LocalEngine(run_dir=tmp_path), Walkers())
    assert tree(tmp_path) == before


LIMIT = 3
"""A value as if it had been read from a file at import."""


class Limited(Walkers):
    """Walkers with a limit for the first one."""

    @invariant
    def first_is_within_the_limit(self, s: Any) -> bool:
        """It depends on a value that is not a constant of the specification."""
        return LIMIT > 0


def test_a_value_that_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line names it, and the directory is unchanged."""
    explored(LocalEngine(run_dir=tmp_path), Limited(), max_depth=3)
    before = tree(tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "LIMIT", 0)
    changed = f"the value of LIMIT in {__name__} has changed since, from 3 to 0"
    with pytest.raises(UsageError, match=changed.replace(".", r"\.")):
        explored(LocalEngine(run_dir=tmp_path, resume=True), Limited())
    assert tree(tmp_path) == before


def test_an_unexplorable_specification_creates_no_run(tmp_path: Path) -> None:
    """Neither a wrong initial state nor a missing run to resume leaves a directory."""
    with pytest.raises(SpecificationError, match="outside its domain"):
        explored(LocalEngine(run_dir=tmp_path / "run"), WrongStart())
    with pytest.raises(UsageError, match="cannot be a run directory"):
        explored(LocalEngine(run_dir=tmp_path / "run", resume=True), OneWay())
    assert os.listdir(tmp_path) == []
    for made in (LocalEngine, AutoEngine):
        with pytest.raises(UsageError, match="nothing to resume without a run directory"):
            made(resume=True)
