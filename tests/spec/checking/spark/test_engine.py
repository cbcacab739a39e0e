"""The Spark engine finds what the reference engine finds, whether the driver or jobs expand the levels."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import partialmethod
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset
import pytest

from spec.checking import Result, check
from spec.checking.auto import AutoEngine
from spec.checking.exploration import Engine, Exploration, Jobs, Options, Statistics
from spec.checking.local import LocalEngine
from spec.checking.model import EvaluationFailed, Model
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine
from spec.language import Specification, SpecificationError, action
from tests.spec.checking.everywhere import checked
from tests.spec.checking.local.comparing import explored as alike
from tests.spec.checking.local.test_resume import SmallMemory
from tests.spec.checking.local.test_transparency import Late
from tests.spec.checking.random_systems import Writer, loaded
from tests.spec.checking.test_random_systems import SEED
from tests.spec.toys import (
    BOUNDED,
    BOUNDS,
    TOYS,
    Countdown,
    DeadlyAction,
    DeadlyProperty,
    Interrupting,
    Jugs,
    RaisingAction,
    RaisingProperty,
    Talking,
    Walkers,
    WrongStart,
)
from tests.tiers import long_unless

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def asked(model: Model, **bounds: Any) -> Options:
    """Options for all properties."""
    return Options(tuple(range(len(model.properties))), **bounds)


def comparable(found: Exploration) -> dict[str, Any]:
    """All that must be equal on every engine."""
    return {
        "ended": found.ended,
        "statistics": found.statistics._replace(seconds=0.0),
        "levels": [each[:4] for each in found.levels],
        "coverage": [(each.enabled, each.taken, each.changing, each.bounded) for each in found.coverage],
        "new states": sum(each.new_states for each in found.coverage),
        "interned": found.interned,
        "discoveries": {
            number: (each.length, each.path[0], list(each.path[1])) for number, each in found.discoveries.items()
        },
    }


def exploration(engine: Engine, specification: Specification, **bounds: Any) -> Exploration:
    """The result of an engine, which must also report every level."""
    model, progress = Model(specification), list[Statistics]()
    found = engine.explore(model, asked(model, **bounds), progress.append)
    depths = {statistics.depth for statistics in progress}
    assert depths - {0} == set(range(1, found.statistics.depth + 1)), "0 means before the first level"
    return found


def explored(engine: Engine, specification: Specification, **bounds: Any) -> dict[str, Any]:
    """The findings of an engine."""
    return comparable(exploration(engine, specification, **bounds))


def expanded_by_jobs(found: Exploration | Result) -> int:
    """The number of levels expanded by jobs, after checking their figures: at most two workers."""
    assert found.jobs is not None
    levels, workers = found.jobs
    assert (0 < workers <= 2) == (levels > 0)
    return levels


def interrupted(engine: Engine, specification: Specification, depth: int) -> Exploration:
    """The findings of an engine that Ctrl-C stops at a depth."""

    def on_progress(statistics: Statistics) -> None:
        if statistics.depth == depth:
            raise KeyboardInterrupt

    model = Model(specification)
    return engine.explore(model, asked(model, keep_going=True), on_progress)


@pytest.mark.parametrize(
    ("toy", "bounds"), long_unless(lambda case: case[0] in {"a bound", "a domain left"}, BOUNDED)
)
def test_the_driver_agrees_with_the_reference(toy: str, bounds: dict[str, Any]) -> None:
    """With levels too small for jobs."""
    found = exploration(SparkEngine(), TOYS[toy], **bounds)
    assert comparable(found) == explored(ReferenceEngine(), TOYS[toy], **bounds)
    assert found.jobs == Jobs(0, 0)


@pytest.mark.parametrize("toy", [RaisingAction(), pytest.param(RaisingProperty(), marks=pytest.mark.long)], ids=repr)
def test_the_failed_evaluation_of_the_reference_is_reported(toy: Specification) -> None:
    """If several evaluations fail in a level, it is that of the lowest state."""
    with pytest.raises(EvaluationFailed) as expected:
        explored(ReferenceEngine(), toy)
    with pytest.raises(EvaluationFailed) as failed:
        explored(SparkEngine(), toy)
    assert (str(failed.value), failed.value.state) == (str(expected.value), expected.value.state)
    assert failed.value.path == expected.value.path
    assert failed.value.path is not None


def test_an_initial_state_outside_its_domain_is_refused(tmp_path: Path) -> None:
    """Before anything is written."""
    with pytest.raises(SpecificationError, match="the initial state is outside its domain: number: 7 is not"):
        explored(SparkEngine(tmp_path / "run"), WrongStart())
    assert not (tmp_path / "run").exists()


def test_a_second_interrupt_skips_the_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """It still reports the statistics."""

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("spec.checking.spark.work.CompiledWork.predecessors", press)
    found = interrupted(SparkEngine(), Walkers(far=4), 6)
    assert (found.ended, found.statistics.depth, found.discoveries) == ("interrupted", 6, {})


def test_an_interrupted_run_reports_the_last_complete_level(tmp_path: Path) -> None:
    """Its statistics are those of the reference engine, and it says how to resume it."""
    expected = comparable(interrupted(ReferenceEngine(), Walkers(far=4), 6))
    found = interrupted(SparkEngine(tmp_path), Walkers(far=4), 6)
    assert comparable(found) == expected
    assert found.kept == f"the run can be resumed from {tmp_path}"
    assert interrupted(SparkEngine(), Walkers(), 6).kept == ""


def test_check_accepts_the_engine_by_name() -> None:
    """`check(..., engine="spark")` gives the verdict and the counterexample of the reference engine."""
    found, expected = (check(Jugs(), engine=engine) for engine in ("spark", "reference"))
    assert found.engine == "spark"
    assert (found.verdict, found.counterexample) == (expected.verdict, expected.counterexample)


# With jobs.


Explore = Callable[..., SparkEngine]


@pytest.fixture
def by_jobs(session: SparkSession) -> Explore:
    """Makes engines that expand every level by a job."""

    def made(run_dir: Path | None = None, **options: Any) -> SparkEngine:
        return SparkEngine(run_dir, session=session, driver_level=0, buckets=3, **options)

    return made


BY_JOBS: list[Any] = [
    ("several broken", {"keep_going": True, "max_depth": 4}),
    ("interned values", {"keep_going": True, "max_depth": 3}),
    pytest.param("a step that changes nothing breaks it", {"keep_going": True}, marks=pytest.mark.long),
]
"""Findings of every kind, and a bound. A level costs a second here; `make long-spark` runs every toy."""


@pytest.mark.spark
@pytest.mark.parametrize(("toy", "bounds"), BY_JOBS, ids=str)
def test_jobs_agree_with_the_reference(toy: str, bounds: dict[str, Any], by_jobs: Explore) -> None:
    """With every level as a job."""
    found = exploration(by_jobs(), TOYS[toy], **bounds)
    assert comparable(found) == explored(ReferenceEngine(), TOYS[toy], **bounds)
    assert expanded_by_jobs(found) == found.statistics.depth - (found.ended != "complete")


@pytest.mark.spark
@pytest.mark.parametrize(
    "systems", [pytest.param(range(60), marks=pytest.mark.long)], ids=f"{{}}, SYSTEMS_SEED={SEED}".format
)
def test_jobs_agree_about_random_systems(systems: range, by_jobs: Explore, tmp_path: Path) -> None:
    """Whole results, of systems in separate files.

    None of them calls `pickle`: a worker gets the classes of such a file by value, and `pickle` finds classes by
    name.
    """
    for number in systems:
        drawn = (Writer(f"{SEED}, spark, {number}, {again}").module() for again in count())
        text = next(each for each in drawn if "pickle.dumps" not in each)
        with loaded(text, tmp_path) as system:
            bounds: dict[str, Any] = {"keep_going": number % 2 == 0, "max_depth": 3}
            assert checked(system, by_jobs(), **bounds) == checked(system, "reference", **bounds), text


@pytest.mark.long
@pytest.mark.spark
def test_a_specification_that_defeats_recording_restarts_with_plain_values(by_jobs: Explore, tmp_path: Path) -> None:
    """All workers start again, and so does the run directory."""
    system = Late(top=2, at=1)
    found, expected = check(system, engine=by_jobs(tmp_path / "run")), check(system, engine="reference")
    assert found.opaque_rules == ("late",)
    assert (found.verdict, found.properties) == (expected.verdict, expected.properties)
    assert [each.states for each in found.levels] == [each.states for each in expected.levels]
    resumed = check(system, engine=by_jobs(tmp_path / "run", resume=True))
    assert (resumed.opaque_rules, resumed.properties) == (("late",), expected.properties)


@pytest.mark.spark
def test_jobs_and_driver_take_turns(session: SparkSession) -> None:
    """Large levels are jobs and small ones are not, in one run, with the same result."""
    found = exploration(SparkEngine(session=session, driver_level=8), TOYS["walkers"])
    assert comparable(found) == explored(ReferenceEngine(), TOYS["walkers"])
    assert expanded_by_jobs(found) == sum(level.queue > 8 for level in found.levels) > 0


@pytest.mark.spark
@pytest.mark.parametrize("toy", [RaisingAction(), pytest.param(RaisingProperty(), marks=pytest.mark.long)], ids=repr)
def test_a_failed_evaluation_in_a_worker_is_one_line(toy: Specification, by_jobs: Explore) -> None:
    """The driver raises the original error, without a traceback of Spark."""
    with pytest.raises(EvaluationFailed) as expected:
        explored(ReferenceEngine(), toy)
    with pytest.raises(EvaluationFailed) as failed:
        explored(by_jobs(), toy)
    assert (str(failed.value), failed.value.state) == (str(expected.value), expected.value.state)
    assert failed.value.path == expected.value.path
    assert failed.value.path is not None
    assert "\n" not in str(failed.value)


MEMORY: list[int] = []


class Remembering(Countdown):
    """It keeps count of its steps."""

    @action
    def remember(self, s: Any) -> None:
        """It changes only a list outside the state."""
        MEMORY.append(1)


@pytest.mark.long
@pytest.mark.spark
def test_hidden_state_in_a_worker_is_reported_by_the_driver(by_jobs: Explore) -> None:
    """The driver's own copy is unchanged."""
    with pytest.raises(SpecificationError, match=r"^action remember of Remembering looks at MEMORY .*meanwhile"):
        explored(by_jobs(), Remembering(top=1))
    assert not MEMORY


@pytest.mark.long
@pytest.mark.spark
def test_output_of_a_worker_is_printed_by_the_driver(by_jobs: Explore, capsys: pytest.CaptureFixture[str]) -> None:
    """As if the rule had run there."""
    explored(by_jobs(), Talking(top=3, driver=os.getpid()), max_depth=3)
    assert set(capsys.readouterr().out.splitlines()) == {"in a worker"}


@pytest.mark.spark
@pytest.mark.parametrize("deadly", [DeadlyAction, pytest.param(DeadlyProperty, marks=pytest.mark.long)])
def test_a_task_that_lost_its_worker_is_repeated(deadly: type[Countdown], by_jobs: Explore, tmp_path: Path) -> None:
    """No state is lost or counted twice, and no file of its first attempt remains."""
    flag, run = tmp_path / "it happened", tmp_path / "run"
    toy = deadly(driver=os.getpid(), flag=str(flag))
    found = explored(by_jobs(run), toy, max_depth=4)
    assert flag.exists()
    assert found == explored(ReferenceEngine(), toy, max_depth=4)
    files = [path.name for path in run.glob("level=*/*/*")]
    assert set(files) == {"states.parquet"}


@pytest.mark.long
@pytest.mark.spark
def test_a_kept_run_can_be_read_as_a_table(by_jobs: Explore, session: SparkSession, tmp_path: Path) -> None:
    """Spark and Arrow read the states with their levels, each state once."""
    found = explored(by_jobs(tmp_path), TOYS["several starts"], max_depth=4)
    rows = session.read.parquet(str(tmp_path)).collect()
    assert len({row.state for row in rows}) == len(rows) == found["statistics"].distinct
    table = pyarrow.dataset.dataset(tmp_path, partitioning="hive").to_table()
    for name in ("state", "level", "bucket"):
        assert sorted(row[name] for row in rows) == sorted(table.column(name).to_pylist())


@pytest.mark.long
@pytest.mark.spark
def test_a_resumed_run_counts_the_jobs_of_all_its_parts(by_jobs: Explore, tmp_path: Path) -> None:
    """On any engine. A tighter bound leaves out the jobs after it."""
    toy, run = TOYS["walkers"], tmp_path / "run"

    def levels(engine: Engine, depth: int) -> int:
        return expanded_by_jobs(exploration(engine, toy, max_depth=depth))

    assert levels(SparkEngine(run), 2) == 0
    assert levels(by_jobs(run, resume=True), 4) == 2
    assert levels(SparkEngine(run, resume=True), 5) == 2
    assert levels(LocalEngine(run_dir=run, resume=True), 6) == 2
    assert levels(by_jobs(run, resume=True), 7) == 3
    assert levels(SparkEngine(run, resume=True), 3) == 1
    assert exploration(LocalEngine(run_dir=run, resume=True), toy, max_depth=2).jobs is None


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_auto_counts_the_jobs_of_the_levels_that_it_hands_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local engine expanded the levels before."""
    monkeypatch.setattr("spec.checking.local.engine.Visited", SmallMemory)
    for patience in ("ALONE", "COLD", "MOST", "KEPT"):
        monkeypatch.setattr(f"spec.checking.first_tier.{patience}", 0)
    monkeypatch.setattr(SparkEngine, "__init__", partialmethod(SparkEngine.__init__, driver_level=0))
    found = check(Walkers(walkers=4), engine=AutoEngine())
    assert (found.engine, found.distinct_states) == ("spark", 4**4)
    assert 0 < expanded_by_jobs(found) < found.depth


@pytest.mark.long
@pytest.mark.spark
def test_jobs_and_driver_resume_each_others_runs(by_jobs: Explore, tmp_path: Path) -> None:
    """Any engine can expand a level that another one committed."""
    toy = TOYS["a deadlock"]
    explored(by_jobs(tmp_path), toy, max_depth=3)
    explored(SparkEngine(tmp_path, resume=True), toy, max_depth=5)
    # After runs of other systems, workers have nothing of this one, or are at an earlier level.
    explored(by_jobs(), TOYS["countdown"], max_depth=2)
    found = explored(by_jobs(tmp_path, resume=True), toy)
    assert found == explored(ReferenceEngine(), toy)


@pytest.mark.long
@pytest.mark.spark
def test_jobs_and_local_engine_resume_each_others_runs(session: SparkSession, tmp_path: Path) -> None:
    """With every level as a job."""
    toy = TOYS["several broken"]
    alike(LocalEngine(run_dir=tmp_path), toy, keep_going=True, max_depth=4)
    jobs = SparkEngine(tmp_path, resume=True, session=session, driver_level=0)
    alike(jobs, toy, keep_going=True, max_depth=6)
    result = check(toy, engine=LocalEngine(run_dir=tmp_path, resume=True), deadlock=True, keep_going=True)
    assert (result.engine, expanded_by_jobs(result)) == ("local", 2)
    found = alike(LocalEngine(run_dir=tmp_path, resume=True), toy, keep_going=True)
    assert found == alike(ReferenceEngine(), toy, keep_going=True)


@pytest.mark.long
@pytest.mark.spark
def test_ctrl_c_during_a_job_keeps_the_last_complete_level(
    by_jobs: Explore, session: SparkSession, tmp_path: Path
) -> None:
    """The job is cancelled, the session remains usable, and the run can be resumed."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        model = Model(Interrupting(driver=os.getpid(), flag=str(tmp_path / "it happened")))
        found = by_jobs(tmp_path / "run").explore(model, asked(model, max_depth=4), lambda _: None)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert found.ended == "interrupted"
    assert found.statistics.depth == 3
    assert session.range(3).count() == 3
    resumed = explored(by_jobs(tmp_path / "run", resume=True), model.specification, max_depth=4)
    assert resumed == explored(ReferenceEngine(), model.specification, max_depth=4)


@pytest.mark.long
@pytest.mark.spark
def test_a_file_outside_the_path_is_sent_to_the_workers(
    by_jobs: Explore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers could not import it by name, nor a module from its folder."""
    (tmp_path / "beside.py").write_text("def more(number):\n    return number + 1\n")
    (tmp_path / "mine.py").write_text(
        textwrap.dedent(
            """
            from __future__ import annotations

            from typing import Annotated, NamedTuple

            import beside
            from spec.language import Part, Specification, State, action, invariant, part, require, variable

            Number = Annotated[int, "a number"]

            class Press(NamedTuple):
                from_: Number
                by: bool

            class Dial(State):
                number: Number = variable("The number.")
                before: Press | None = variable("The last press; sorting by name would put it before the number.")

            class Dials(Part[Dial]):
                def sizes(self):
                    return {Number: range(4)}

                @action
                def press(self, s: Dial, by: bool):
                    "Press."
                    require(s.number < 3)
                    s.before = Press(s.number, by)
                    s.number = beside.more(s.number)

                @action
                def clear(self, s: Dial):
                    "Clear; sorting by name would put it before press."
                    require(s.number > 1)
                    s.number = 0

            class Two(State):
                second: Dial
                first: Dial

            class Mine(Specification[Two]):
                @part
                def second(self):
                    return Dials()

                @part
                def first(self):
                    return Dials()

                @action
                def swap(self, s: Two):
                    "One number for the other."
                    s.second.number, s.first.number = s.first.number, s.second.number
            """
        )
    )
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.util.spec_from_file_location("mine_of_somebody", tmp_path / "mine.py")
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    monkeypatch.setitem(sys.modules, "mine_of_somebody", module)
    made.loader.exec_module(module)
    toy = module.Mine()
    bounds: dict[str, Any] = {"keep_going": True, "max_depth": 4}
    assert explored(by_jobs(), toy, **bounds) == explored(ReferenceEngine(), toy, **bounds)
    for written in ("swap", "beside.more(s.first.number) == 3 and s.second.before == Press(0, True)"):
        result, plain = (check(toy, engine=each, show=written) for each in (by_jobs(), ReferenceEngine()))
        assert result.shown is not None
        assert plain.shown is not None
        assert result.shown.to_json() == plain.shown.to_json()
        assert expanded_by_jobs(result) == result.shown.length - 1


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("toy", TOYS)
def test_jobs_agree_with_the_reference_on_everything(toy: str, bounds: dict[str, Any], by_jobs: Explore) -> None:
    """Every toy under every bound."""
    assert explored(by_jobs(), TOYS[toy], **bounds) == explored(ReferenceEngine(), TOYS[toy], **bounds)


@pytest.mark.spark
@pytest.mark.long
def test_a_level_may_have_many_shares(by_jobs: Explore, monkeypatch: pytest.MonkeyPatch) -> None:
    """More shares than cores give the same result."""
    monkeypatch.setattr("spec.checking.spark.stages.LARGEST_SHARE", 50)
    toy = Walkers(walkers=4, length=6)
    assert explored(by_jobs(), toy) == explored(ReferenceEngine(), toy)


@pytest.mark.spark
def test_workers_of_a_given_session_get_this_projects_packages(by_jobs: Explore, session: SparkSession) -> None:
    """Their machines may have none, so a zip with all of them is on their path."""
    explored(by_jobs(), TOYS["an invariant broken"], max_depth=2)

    def look(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from zipimport import zipimporter

        sent = next(path for path in sys.path if "kafkaspec-" in path and path.endswith(".zip"))
        found = [zipimporter(sent).find_spec(name) is not None for name in ("election", "statemachines", "spec")]
        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({"found": [str(found)]})

    assert session.range(1).mapInArrow(look, "found string").collect()[0].found == "[True, True, True]"


@pytest.mark.long
@pytest.mark.spark
def test_the_garbage_collector_skips_the_state_of_a_worker(by_jobs: Explore, session: SparkSession) -> None:
    """Spark collects garbage after each task. A new run makes the state of the earlier one garbage."""

    class Earlier(Walkers):
        """Workers get it by value."""

    class Later(Walkers):
        """Workers get it by value, too."""

    for toy in (Earlier(), Later()):
        explored(by_jobs(), toy, max_depth=5)

    def look(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import gc

        def classes() -> list[str]:
            named = (each.__name__ for each in gc.get_objects() if isinstance(each, type))
            return sorted({name for name in named if name in ("Earlier", "Later")})

        sought = classes()
        gc.unfreeze()
        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({"found": [f"{sought} of {classes()}"]})

    found = {row.found for row in session.range(0, 2, 1, 2).mapInArrow(look, "found string").collect()}
    assert "[] of ['Later']" in found
    assert all("Earlier" not in each for each in found)
