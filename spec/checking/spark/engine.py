"""The Spark engine: level by level, each committed to a run directory before the next is begun."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from spec.checking import rundir
from spec.checking.endings import Arrival, findings
from spec.checking.exploration import Coverage, Exploration, Figures, Question, Watch, ended
from spec.checking.keeping import NOTHING, Whole, opened, require_run, whole_of
from spec.checking.model import Model
from spec.checking.packed import Words, sample, words_of
from spec.checking.rundir import BUCKETS, Commit, RunDirectory
from spec.checking.source import pickled
from spec.checking.spark.bench import Bench, Piece, work_on
from spec.checking.spark.exchange import by_bucket
from spec.checking.spark.jobs import expand_level, find_arrivals, shares
from spec.checking.spark.report import Report
from spec.checking.spark.session import Cluster, require_java
from spec.checking.spark.stages import Job
from spec.checking.spark.work import Work
from spec.checking.symmetry import GLANCED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
Array = np.ndarray[Any, Any]

DRIVER_LEVEL = 200_000
"""A job costs half a second whatever it does, in which the driver expands 150,000 states of an election. Many cores
gain that back from about as many on, two cores from 400,000."""
DRIVER_STATES = 5_000_000
"""Visited states that the driver holds, at some 40 bytes each; beyond them every level is a job. As many that were
found by jobs are read in a second, when levels have become small again."""


class SparkEngine:
    """Explores on Spark, and on the driver as long as a level is not worth a job.

    Args:
        run_dir: where the run is kept, empty or not there; without it, nothing is kept. Whatever the workers of
            the session are, they must see it under the same path.
        resume: go on with the run in `run_dir`. Only the bounds and `keep_going` may differ from before.
        workers: how many tasks run at once; by default as many as there are cores.
        session: the session to use; it is not stopped. Without one, the active session is used, or one is
            started on this machine when the first job needs it, and stopped.
        driver_level: up to how many states of a level are expanded without a job.
        buckets: over how many files a level is spread; a run that is resumed keeps its own.

    Exploring raises what every engine does, and UsageError: there is no Java, `run_dir` is not empty, or what it
    holds cannot be resumed.
    """

    name = "spark"

    def __init__(
        self,
        run_dir: Path | None = None,
        *,
        resume: bool = False,
        workers: int | None = None,
        session: SparkSession | None = None,
        driver_level: int = DRIVER_LEVEL,
        buckets: int = BUCKETS,
    ):
        require_run(run_dir, resume)
        self.run_dir, self.resume, self.buckets = run_dir, resume, buckets
        self.workers, self.session, self.driver_level = workers, session, driver_level
        self.jobs = 0
        """How many levels of the last exploration were expanded by jobs."""

    def explore(self, model: Model, question: Question, watch: Watch) -> Exploration:
        """Go through the states, level by level."""
        if self.session is None:
            require_java()
        work = work_on(model, question.properties, by_orbits=question.symmetry)
        initial = work.initial_states()
        with ExitStack() as until_done:
            directory, commits = self._directory(work, question, until_done)
            cluster = Cluster(self.session, self.workers, directory.path / "_spark.log")
            until_done.callback(cluster.stop)
            search = _Search(work, question, watch, directory, cluster, self.driver_level)
            try:
                return search.run(commits, initial)
            except KeyboardInterrupt:
                kept = "" if self.run_dir is None else f"the run can be resumed from {self.run_dir}"
                return replace(search.interrupted(), kept=kept)
            finally:
                self.jobs = search.jobs

    def _directory(self, work: Work, question: Question, until_done: ExitStack) -> tuple[RunDirectory, list[Commit]]:
        if self.run_dir is None:
            folder = tempfile.TemporaryDirectory(prefix="kafkaspec-", ignore_cleanup_errors=True)
            path = Path(until_done.enter_context(folder))
            return RunDirectory.create(path, {}, work.width, buckets=self.buckets, durable=False), []
        return opened(self.run_dir, work.model, question, until_done, resume=self.resume, buckets=self.buckets)


class _Search:
    def __init__(
        self,
        work: Work,
        question: Question,
        watch: Watch,
        directory: RunDirectory,
        cluster: Cluster,
        driver_level: int,
    ):
        self.work, self.model, self.question, self.watch = work, work.model, question, watch
        self.directory, self.cluster, self.driver_level = directory, cluster, driver_level
        self.bench = Bench(directory, work)
        self.newest: tuple[int, Words] | None = None
        """The states of the last level that was settled here."""
        self.whole: Whole = NOTHING
        self.began = time.perf_counter()
        self.jobs = 0

    def run(self, commits: list[Commit], initial: list[bytes]) -> Exploration:
        for commit in self.levels(commits, initial):
            self.whole = whole_of(self.model, commit)
            self.watch(self.whole.figures)
            if why := ended(self.model, self.question, self.whole.decided, self.whole.figures):
                return self.report(why)
        raise AssertionError("levels come without end")

    def levels(self, commits: list[Commit], initial: list[bytes]) -> Iterator[Commit]:
        """Those that are there already, so that a run ends where it would have ended; then new ones."""
        yield from commits
        if commits:
            commit = commits[-1]
            self.began = time.perf_counter() - commit.seconds
        else:
            commit = self.first_level(initial)
            yield commit
        while True:
            commit = self.next_level(commit)
            yield commit

    # A level.

    def first_level(self, initial: list[bytes]) -> Commit:
        rundir.reached("before files")
        report, states = Report.on_nothing(self.model), words_of(initial, self.work.width)
        self.settle(states, np.zeros(len(states), np.uint16), 0, frozenset(), report)
        nothing = {action.name: vars(Coverage()) for action in self.model.actions}
        return self.commit(Commit(0, (), len(initial), 0, 0.0, nothing, {}), report)

    def next_level(self, commit: Commit) -> Commit:
        rundir.reached("before files")
        small = commit.rows <= self.driver_level and commit.distinct <= DRIVER_STATES
        return self.commit(commit, self.by_driver(commit) if small else self.by_job(commit))

    def by_driver(self, commit: Commit) -> Report:
        report, decided = Report.on_nothing(self.model), frozenset(self.whole.decided)
        found = self.work.expand(self.states(commit.level), decided, report)
        if not report.failures:
            states, actions, _ = by_bucket(found, self.work.words, 1)
            self.settle(states, actions, commit.level, decided, report)
        return report

    def settle(self, states: Words, actions: Array, level: int, decided: frozenset[int], report: Report) -> None:
        buckets = range(self.directory.buckets)
        self.newest = level + 1, self.bench.settle([(states, actions)], buckets, level, decided, report)

    def states(self, level: int) -> Words:
        """Those of a level that is committed."""
        if self.newest is not None and self.newest[0] == level:
            return self.newest[1]
        return self.bench.states(
            level, (Piece(file.bucket, 0, file.rows) for file in self.directory.committed(level))
        )

    def by_job(self, commit: Commit) -> Report:
        if commit.distinct > DRIVER_STATES and self.newest is not None:  # there is no way back from there
            self.bench, self.newest = Bench(self.directory, self.work), None
        job = self.job(commit.level, frozenset(self.whole.decided))
        report = Report.on_nothing(self.model)
        for part in self.run_job(lambda session: expand_level(session, job)):
            report.add(part)
        self.jobs += 1
        return report

    def commit(self, before: Commit, report: Report) -> Commit:
        """Let the level after this one exist.

        Raises:
            EvaluationFailed: an evaluation did, on the way.
            UsageError: it is no level of orbits, as it was asked for.
        """
        if failure := report.failure():
            raise failure
        if self.work.symmetry:
            self.work.symmetry.glance(sample(words_of(report.sample, self.work.width), GLANCED))
        level = before.level + 1
        coverage = {
            action.name: {figure: before.coverage[action.name][figure] + new for figure, new in vars(more).items()}
            for action, more in zip(self.model.actions, report.coverage, strict=True)
        }
        findings = dict(before.findings)
        for number, ending in sorted(report.endings.items()):
            length = before.level if number == self.work.deadlock else level
            findings.setdefault(self.model.properties[number].name, {"length": length, **ending.to_json()})
        files = tuple(sorted(report.files, key=lambda file: file.bucket))
        commit = Commit(
            level,
            files,
            before.generated + report.generated,
            before.distinct + sum(file.rows for file in files),
            time.perf_counter() - self.began,
            coverage,
            findings,
        )
        self.directory.commit(commit)
        return commit

    # What Spark is asked for.

    def run_job(self, job: Callable[[SparkSession], T]) -> T:
        return self.cluster.run(job, lambda: self.watch(self.under_way()))

    def job(self, level: int, decided: frozenset[int]) -> Job:
        asked = time.perf_counter()
        parallelism = self.cluster.parallelism
        self.began += time.perf_counter() - asked  # to start a session is not to explore
        return Job(
            self.directory,
            self.pickled,
            self.question.properties,
            self.question.symmetry,
            level,
            decided,
            shares(self.directory, level, parallelism),
            min(self.directory.buckets, parallelism),
        )

    @cached_property
    def pickled(self) -> bytes:
        return pickled(self.model.specification)

    def arrivals(self, level: int, targets: frozenset[bytes]) -> dict[bytes, Arrival]:
        """The lowest way in which each of the targets, all of the next level, is reached from this one."""
        rows = sum(file.rows for file in self.directory.committed(level))
        if rows <= self.driver_level:
            return self.work.arrivals(self.states(level), targets)
        job = self.job(level, frozenset())
        return self.run_job(lambda session: find_arrivals(session, job, targets))

    # What was found.

    def under_way(self) -> Figures:
        """Those of the last level that is whole, while the next one is made."""
        return self.whole.figures._replace(seconds=time.perf_counter() - self.began)

    def report(self, why: str) -> Exploration:
        found = findings(self.model, self.whole.decided, self.arrivals, self.work.symmetry)
        return replace(self.report_without_findings(why), findings=found)

    def interrupted(self) -> Exploration:
        """Whoever presses Ctrl-C again does not want to wait for the paths either.

        Work was put down anywhere, so it is taken up anew.
        """
        try:
            self.work = work_on(self.model, self.question.properties, by_orbits=self.question.symmetry)
            return self.report("interrupted")
        except KeyboardInterrupt:
            return self.report_without_findings("interrupted")

    def report_without_findings(self, why: str) -> Exploration:
        coverage = self.whole.coverage or tuple(Coverage() for _ in self.model.actions)
        return Exploration(why, self.whole.figures, coverage)
