"""The Spark engine: level by level, each committed to a run directory before the next begins."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, SupportsIndex, TypeVar

import numpy as np

from spec.checking import arguments
from spec.checking.arguments import Directory
from spec.checking.code.source import pickled
from spec.checking.exploration import Coverage, Exploration, OnProgress, Options, Statistics, exploration_end
from spec.checking.local.compiling import EXPLORING, LATER, compile_progress, compiled, kernels_for
from spec.checking.local.jit import Array
from spec.checking.machine.memory import Budget, OutOfMemory, private
from spec.checking.model import Model, OpaqueRuleFound, retry_on_opaque_rule
from spec.checking.runs import rundir
from spec.checking.runs.checkpoint import (
    BEFORE_FIRST,
    Checkpoint,
    checkpoint_of,
    environment_failures,
    open_run,
    require_run,
)
from spec.checking.runs.discoveries import Predecessor, with_paths
from spec.checking.runs.interned_values import OccurringValues, read, written
from spec.checking.runs.level_discoveries import STEP, failed
from spec.checking.runs.rundir import BUCKETS, Commit, RunDirectory
from spec.checking.spark import exchange, visited_buckets
from spec.checking.spark.allotment import CLIENT, MemoryQuota, allotted
from spec.checking.spark.session import SparkCluster, SparkFailed, cores, require_java
from spec.checking.spark.stages import LARGEST_SHARE, Job, expand_level, find_predecessors, shares
from spec.checking.spark.work import Report, Work
from spec.checking.spark.worker_state import BucketRange, WorkerState, work_on
from spec.checking.states.limits import too_large
from spec.checking.states.packed import Words, sample, words_of
from spec.checking.states.packed_state import BYTES
from spec.checking.symmetry.renamings import SPOT_CHECKS
from spec.language.errors import SpecificationError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

DRIVER_LEVEL = 200_000
"""A job always costs at least half a second, in which the driver expands 150,000 states of an election. Many cores
save that time from about as many states on, two cores from 400,000."""
DRIVER_STATES = 5_000_000
"""The most visited states that the driver holds; beyond them every level is a job. When levels have become small
again, the driver reads about this many states per second from the files of jobs."""
MORE = "a level did not fit; it needs more --memory, or fewer --workers, each with more memory"
"""The remedy when memory runs out."""
VISITED = 16
"""Bytes of a visited state besides its words: the index, and room in it."""

KERNELS: Final = (*EXPLORING, exchange.load, *LATER, visited_buckets.load)
"""The compiled code that the driver and workers run, see `local.compiling`."""


def of_a_state(words: int) -> int:
    """Bytes needed to expand a state, or to settle its successors: with three new ones, and their copies."""
    return 72 * words + 74


class SparkEngine:
    """Explores on Spark; a level that is not worth a job is expanded on the driver.

    Args:
        run_dir: directory of the run, empty or not yet there; without it, nothing is kept. All workers of the session
            must see it under the same path.
        resume: continue the run in `run_dir`. Only the bounds and `keep_going` may differ from before.
        workers: the number of tasks at once; by default one per core, or fewer if that many do not fit.
        memory: bytes, or a size like '512M', for this process, Java and the workers together; see
            `spec.checking.machine.memory` for the default. With a session that was not started here it bounds only
            this process.
        session: the session to use; it is not stopped. Without one, the active session is used, or one is
            started on this machine when the first job needs it, and stopped at the end.
        driver_level: the most states of a level that this process expands itself; 0 makes every level a job. The
            driver expands fewer if its memory is too small for a level.
        buckets: the number of files over which a level is spread; a resumed run keeps its own number.

    Exploring raises the errors of every engine, and UsageError: there is no Java, `run_dir` is not empty, or its
    content cannot be resumed.
    """

    name = "spark"

    def __init__(
        self,
        run_dir: Directory | None = None,
        *,
        resume: bool = False,
        workers: SupportsIndex | None = None,
        memory: int | str | None = None,
        session: SparkSession | None = None,
        driver_level: SupportsIndex = DRIVER_LEVEL,
        buckets: int = BUCKETS,
    ):
        self.workers, self.run_dir = arguments.as_workers(workers), arguments.as_path("run_dir", run_dir)
        self.memory = arguments.as_memory(memory)
        require_run(self.run_dir, resume)
        self.driver_level = arguments.as_integer("driver_level", driver_level, least=0)
        self.resume, self.buckets, self.session = resume, buckets, session

    def explore(self, model: Model, options: Options, on_progress: OnProgress) -> Exploration:
        """Explore the states, level by level."""
        if self.session is None:
            require_java()
        return retry_on_opaque_rule(lambda again: self._explore(model, options, on_progress, again))

    def _explore(self, model: Model, options: Options, on_progress: OnProgress, again: bool) -> Exploration:
        allotment = allotted(Budget(self.memory), self.workers, cores())
        compile_seconds = 0.0
        if not too_large(model):
            kernels = kernels_for(model, symmetry=options.symmetry)
            compile_seconds = compiled(KERNELS, kernels, compile_progress(on_progress))
        quota = MemoryQuota(allotment.work, private() + CLIENT)

        def work_now() -> Work:
            return work_on(model, options.properties, quota, by_orbits=options.symmetry, on_progress=on_progress)

        work, known = work_now(), set(model.opaque_rules)
        initial = work.initial_states()
        with ExitStack() as until_done:
            directory, commits = self._directory(model, options, until_done, again)
            if model.opaque_rules != known:  # the resumed run knew more opaque rules
                work = work_now()
            until_done.enter_context(environment_failures(self.run_dir, SparkFailed))
            cluster = SparkCluster(self.session, self.workers, directory.path / "_spark.log", allotment)
            until_done.callback(cluster.stop)
            search = _Search(work, options, on_progress, directory, cluster, self.driver_level, quota)
            try:
                found = search.run(commits, initial)
            except KeyboardInterrupt:
                found = search.interrupted()
            return replace(found, kept=self._kept(found.ended), compile_seconds=compile_seconds)

    def _kept(self, ended: str) -> str:
        """How to continue a run that ended early."""
        if ended == "memory":
            return MORE if self.run_dir is None else f"{MORE}, with --resume {self.run_dir}"
        if ended == "interrupted" and self.run_dir is not None:
            return f"the run can be resumed from {self.run_dir}"
        return ""

    def _directory(
        self, model: Model, options: Options, until_done: ExitStack, again: bool
    ) -> tuple[RunDirectory, list[Commit]]:
        if self.run_dir is None:
            try:
                folder = tempfile.TemporaryDirectory(prefix="kafkaspec-", ignore_cleanup_errors=True)
            except OSError as failure:
                raise UsageError(f"{failure.strerror}; name one by TMPDIR, or a run directory") from None
            path = Path(until_done.enter_context(folder))
            width = BYTES * model.layout.words
            return RunDirectory.create(path, {}, width, buckets=self.buckets, durable=False), []
        return open_run(
            self.run_dir, model, options, until_done, resume=self.resume, buckets=self.buckets, again=again
        )


class _Search:
    def __init__(
        self,
        work: Work,
        options: Options,
        on_progress: OnProgress,
        directory: RunDirectory,
        cluster: SparkCluster,
        driver_level: int,
        quota: MemoryQuota,
    ):
        self.work, self.model, self.options, self.on_progress = work, work.model, options, on_progress
        self.directory, self.cluster, self.quota = directory, cluster, quota
        self.driver_level = min(driver_level, quota.size // of_a_state(work.words))
        self.driver_states = min(DRIVER_STATES, quota.size // 2 // (8 * work.words + VISITED))
        self.worker = WorkerState(directory, work, quota)
        self.newest: tuple[int, Words] | None = None
        """The states of the last level that was settled here."""
        self.checkpoint: Checkpoint = BEFORE_FIRST
        self.interned = OccurringValues(self.model.layout)
        self.complete: list[Statistics] = []
        """For each level, see `Exploration.levels`."""
        self.began = time.perf_counter()

    def run(self, commits: list[Commit], initial: list[bytes]) -> Exploration:
        try:
            for commit in self.levels(commits, initial):
                self.checkpoint = checkpoint_of(self.model, commit)
                self.complete += [self.checkpoint.statistics] if commit.rows else []
                self.on_progress(self.checkpoint.statistics)
                if why := exploration_end(
                    self.model, self.options, self.checkpoint.discoveries, self.checkpoint.statistics
                ):
                    return self.report(why)
        except OutOfMemory:
            self.worker.visited_buckets.forget()
            with suppress(OutOfMemory):  # reconstructing the paths takes memory, too
                return self.report("memory")
            return self.report_without_discoveries("memory")
        raise AssertionError("levels come without end")

    def levels(self, commits: list[Commit], initial: list[bytes]) -> Iterator[Commit]:
        """Existing commits first, so that a run ends where it would have ended; then those of new levels."""
        for commit in commits:
            self.interned.add(read(commit.interned))
            yield commit
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
        self.settle([(states, np.zeros(len(states), np.uint16))], 0, frozenset(), report)
        nothing = {action.name: vars(Coverage()) for action in self.model.actions}
        return self.commit(Commit(0, (), len(initial), 0, 0.0, nothing, {}), report)

    def next_level(self, commit: Commit) -> Commit:
        rundir.reached("before files")
        few = commit.distinct <= self.driver_states and not self.worker.visited_buckets.beyond
        small = commit.rows <= self.driver_level and few
        if small:
            try:
                return self.commit(commit, self.by_driver(commit))
            except OutOfMemory:
                self.driver_level = 0
        return self.commit(commit, self.by_job(commit))

    def by_driver(self, commit: Commit) -> Report:
        report, decided = Report.on_nothing(self.model), frozenset(self.checkpoint.discoveries)
        found = list(self.worker.expand(self.states(commit.level), decided, report, 1))
        if not report.failures:
            self.settle([(part.states, part.actions) for part in found], commit.level, decided, report)
        return report

    def settle(self, blocks: list[tuple[Words, Array]], level: int, decided: frozenset[int], report: Report) -> None:
        compared = self.checkpoint.compared.states
        self.worker.settle(
            blocks, range(self.directory.buckets), level, decided, report, self.interned.all(), compared
        )
        newest = self.worker.newest()
        self.newest = None if newest is None else (level + 1, newest)

    def states(self, level: int) -> Words:
        """The states of a committed level."""
        if self.newest is not None and self.newest[0] == level:
            return self.newest[1]
        return self.worker.states(
            level, (BucketRange(file.bucket, 0, file.rows) for file in self.directory.committed(level))
        )

    def by_job(self, commit: Commit) -> Report:
        if commit.distinct > self.driver_states and self.newest is not None:  # from here on every level is a job
            self.worker.visited_buckets.forget()
            self.newest = None
        job = self.job(commit.level, frozenset(self.checkpoint.discoveries))
        report = Report.on_nothing(self.model)
        for part in self.run_job(lambda session: expand_level(session, job)):
            report.add(part)
        print(report.printed, end="", flush=bool(report.printed))
        return report

    def commit(self, before: Commit, report: Report) -> Commit:
        """Commit the level after this one.

        EvaluationFailed, with the shortest path there, if an evaluation failed; OutOfMemory if a part of the level
        did not fit; UsageError if interchangeable values are distinguished; SpecificationError if values that actions
        and properties read besides the state have changed.
        """
        if report.refused:
            raise UsageError(report.refused)
        if report.hidden_state:
            raise SpecificationError(report.hidden_state)
        self.nothing_is(report.opaque_rules)
        if failure := report.first_failure():
            wanted = [number for number in self.work.in_steps if number not in self.checkpoint.discoveries]
            level = before.level + (failure.number != STEP)
            raise failed(self.model, failure, level, self.predecessors, wanted, self.work.symmetry)
        if report.out_of_memory:
            raise OutOfMemory
        level, distinct = before.level + 1, before.distinct + sum(file.rows for file in report.files)
        if self.work.symmetry:
            some = sample(words_of(report.sample, self.work.width), SPOT_CHECKS)
            self.work.symmetry.spot_check(some, distinct)
            report.compared = report.compared.besides(self.work.comparisons())
        coverage = {
            action.name: {figure: before.coverage[action.name][figure] + new for figure, new in vars(more).items()}
            for action, more in zip(self.model.actions, report.coverage, strict=True)
        }
        findings = dict(before.findings)
        for number, end in sorted(report.ends.items()):
            length = before.level if number == self.work.deadlock else level
            findings.setdefault(self.model.properties[number].name, {"length": length, **end.to_json()})
        files = tuple(sorted(report.files, key=lambda file: file.bucket))
        self.interned.add(read(report.interned))
        commit = Commit(
            level,
            files,
            before.generated + report.generated,
            distinct,
            time.perf_counter() - self.began,
            coverage,
            findings,
            before.job_levels + bool(report.workers),
            max(before.job_workers, len(report.workers)),
            tuple(sorted(self.model.opaque_rules)),
            before.compared_states + report.compared.states,
            tuple(sorted({*before.by_permutations, *report.compared.by_permutations})),
            before.left_out + report.compared.left_out,
            written(self.interned.levels[-1]),
        )
        self.directory.commit(commit)
        return commit

    # Requests to Spark.

    def run_job(self, job: Callable[[SparkSession], T]) -> T:
        return self.cluster.run(job, lambda: self.on_progress(self.under_way()))

    def job(self, level: int, decided: frozenset[int]) -> Job:
        asked = time.perf_counter()
        parallelism, work = self.cluster.parallelism, self.cluster.work
        self.began += time.perf_counter() - asked  # starting a session does not count as exploring
        rows = sum(file.rows for file in self.directory.committed(level))
        largest = LARGEST_SHARE if work is None else max(1, work // of_a_state(self.work.words))
        return Job(
            self.directory,
            self.pickled,
            self.options.properties,
            self.options.symmetry,
            frozenset(self.model.opaque_rules),
            self.model.folds,
            level,
            decided,
            shares(self.directory, level, parallelism, largest),
            work,
            written(self.interned.all()),
            self.checkpoint.compared.states,
            min(self.directory.buckets, max(parallelism, -(-2 * rows // largest))),
        )

    @cached_property
    def pickled(self) -> bytes:
        return pickled(self.model.specification, self.model.goal)

    def predecessors(self, level: int, targets: frozenset[bytes]) -> dict[bytes, Predecessor]:
        """The lowest predecessor in this level of each target; all targets are of the next level."""
        rows = sum(file.rows for file in self.directory.committed(level))
        if rows <= self.driver_level:
            states = self.states(level)
            assert len(states) == rows, "a level has as many states as it had"
            lowest = self.work.predecessors(states, targets)
        else:
            job = self.job(level, frozenset())
            lowest, opaque_rules = self.run_job(lambda session: find_predecessors(session, job, targets))
            self.nothing_is(opaque_rules)
        assert lowest.keys() == targets, "a state of a level has a predecessor in the one before"
        return lowest

    def nothing_is(self, opaque_rules: set[str]) -> None:
        """Require that no worker found an opaque rule; OpaqueRuleFound if one did."""
        if opaque_rules:
            self.model.opaque_rules |= opaque_rules
            raise OpaqueRuleFound(min(opaque_rules))

    # Findings.

    def under_way(self) -> Statistics:
        """Statistics of the last complete level, while a job makes the next one."""
        return self.checkpoint.statistics._replace(seconds=time.perf_counter() - self.began)

    def report(self, why: str) -> Exploration:
        found = with_paths(self.model, self.checkpoint.discoveries, self.predecessors, self.work.symmetry)
        return replace(self.report_without_discoveries(why), discoveries=found)

    def interrupted(self) -> Exploration:
        """The report of the last complete level. A second Ctrl-C during the search for paths ends that search.

        The work may have been interrupted at any point, so a new one searches for the paths.
        """
        try:
            self.work = work_on(self.model, self.options.properties, self.quota, by_orbits=self.options.symmetry)
            return self.report("interrupted")
        except (KeyboardInterrupt, OpaqueRuleFound):
            return self.report_without_discoveries("interrupted")

    def report_without_discoveries(self, why: str) -> Exploration:
        coverage = self.checkpoint.coverage or tuple(Coverage() for _ in self.model.actions)
        statistics, jobs = self.checkpoint.statistics, self.checkpoint.jobs
        return Exploration(
            why,
            statistics,
            coverage,
            compared=self.compared(),
            levels=tuple(self.complete),
            jobs=jobs,
            interned=self.interned.counts(statistics.depth),
        )

    def compared(self) -> str:
        """What was compared to justify merging orbits, in words."""
        if self.work.symmetry is None:
            return ""
        compared, statistics = self.checkpoint.compared, self.checkpoint.statistics
        return self.work.symmetry.renamings.summary(compared, statistics.distinct if self.work.is_plain else None)
