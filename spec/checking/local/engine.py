"""The local engine: explores on this machine at compiled speed, on all of its cores."""

from __future__ import annotations

import os
import sys
import time
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final, SupportsIndex

import numpy as np

from spec.checking import arguments
from spec.checking.arguments import Directory
from spec.checking.exploration import (
    Coverage,
    Exploration,
    Jobs,
    OnProgress,
    Options,
    Statistics,
    exploration_end,
    split_properties,
)
from spec.checking.local.arrays import StateRanges
from spec.checking.local.begun import Begun
from spec.checking.local.compiling import EXPLORING, LATER, compile_progress, compiled, is_compiled, kernels_for
from spec.checking.local.fold_samples import OF_A_LEVEL, FoldSamples
from spec.checking.local.jit import Array
from spec.checking.local.learning_budget import price_of_opacity
from spec.checking.local.rows import size_of
from spec.checking.local.seeking import Seeker
from spec.checking.local.tables import DecisionTables
from spec.checking.local.visited import Visited
from spec.checking.local.worker_pool import WorkerPool
from spec.checking.machine.memory import COMPILING, Budget, OutOfMemory
from spec.checking.model import Model, OpaqueRuleFound, retry_on_opaque_rule
from spec.checking.reference import OFTEN
from spec.checking.runs import rundir
from spec.checking.runs.checkpoint import (
    BEFORE_FIRST,
    Checkpoint,
    checkpoint_of,
    commit_of,
    environment_failures,
    open_run,
    require_run,
)
from spec.checking.runs.discoveries import PackedDiscovery, Predecessor, keep_lowest, with_paths
from spec.checking.runs.interned_values import OccurringValues
from spec.checking.runs.level_discoveries import LevelDiscoveries, failed
from spec.checking.runs.rundir import BUCKETS, Commit, RunDirectory, writing
from spec.checking.states.packed import Words, sample_of
from spec.checking.states.packed_state import PackedState
from spec.checking.symmetry.reduction import Symmetry
from spec.checking.symmetry.renamings import SPOT_CHECKS, ComparisonCounts
from spec.language.errors import UsageError

TUNINGS = [1_000, 10_000, 100_000, 1_000_000]
"""Numbers of states at which the tables are tuned: useless walks change while a search is young."""
SAMPLE = 10_000
"""States that are examined for that."""
SWITCH = 0.0002
"""Seconds before a learning worker lets others have the interpreter: they need it only briefly."""
ROOM = 32 << 20
"""Bytes for states and learned tables; the engine does not begin with less."""


class LocalEngine:
    """Explores in this process, with compiled tables and several threads.

    Args:
        workers: threads; by default one per core.
        memory: bytes, or a size like '512M', that this process may take in total; see
            `spec.checking.machine.memory` for the default.
        run_dir: directory of the run, empty or not yet there; without it, nothing is kept.
        resume: continue the run in `run_dir`, whichever engine began it. Only the bounds and `keep_going` may
            differ from before.
        overflow: a directory, empty or not yet there, that receives the run when memory is used up; for a run
            without `run_dir`.
        buckets: the number of files over which a level is spread; a resumed run keeps its own number.

    Exploring raises the errors of every engine, and UsageError: a state is too large, `run_dir` is not empty, or its
    content cannot be resumed.
    """

    name = "local"

    def __init__(
        self,
        workers: SupportsIndex | None = None,
        memory: int | str | None = None,
        run_dir: Directory | None = None,
        *,
        resume: bool = False,
        overflow: Directory | None = None,
        buckets: int = BUCKETS,
    ):
        self.workers = arguments.as_workers(workers) or len(os.sched_getaffinity(0))
        self.memory = arguments.as_memory(memory)
        self.run_dir, self.overflow = arguments.as_path("run_dir", run_dir), arguments.as_path("overflow", overflow)
        require_run(self.run_dir, resume)
        self.resume, self.buckets = resume, buckets

    def explore(
        self, model: Model, options: Options, on_progress: OnProgress, begun: Begun | None = None
    ) -> Exploration:
        """Explore the states, level by level; from these levels on, if there are any."""
        return retry_on_opaque_rule(lambda again: self._explore(model, options, on_progress, begun, again))

    def _explore(
        self, model: Model, options: Options, on_progress: OnProgress, begun: Begun | None, again: bool
    ) -> Exploration:
        budget = Budget(self.memory)
        symmetry = Symmetry(model, options.properties, on_progress) if options.symmetry else None
        initial = np.zeros(0, np.uint64) if begun else _initial_states(model, symmetry, on_progress)
        with ExitStack() as until_done:
            until_done.enter_context(_QUICK_SWITCHES)
            directory, commits = None, list[Commit]()
            if self.run_dir is not None:
                directory, commits = open_run(
                    self.run_dir, model, options, until_done, resume=self.resume, buckets=self.buckets, again=again
                )
            until_done.enter_context(environment_failures(self.run_dir))
            threads = until_done.enter_context(ThreadPoolExecutor(self.workers))
            search: _Search | None = None
            compile_seconds = 0.0
            keeps = directory is not None or self.overflow is not None
            try:
                kernels = kernels_for(model, symmetry=options.symmetry)
                if not is_compiled(EXPLORING, kernels):
                    budget.require(COMPILING, "the local engine, which must compile first,")
                    compile_seconds = compiled(EXPLORING, kernels, compile_progress(on_progress), LATER)
                search = _Search(
                    model, options, symmetry, on_progress, threads, self.workers, budget, directory, keeps
                )
                found = search.run(commits, begun, initial)
                if found.ended == "memory" and self.overflow is not None:
                    found = search.handed_over(found, self.overflow, until_done)
            except KeyboardInterrupt:
                found = (
                    search.interrupted()
                    if search
                    else Exploration("interrupted", BEFORE_FIRST.statistics, tuple(Coverage() for _ in model.actions))
                )
        waited = search.waited if search else 0.0
        found = replace(found, compile_seconds=compile_seconds + waited)
        if directory is None:
            return found
        going_on = {
            "interrupted": f"the run can be resumed from {self.run_dir}",
            "memory": f"continue with --resume {self.run_dir} and a larger --memory or --engine spark",
        }
        return replace(found, kept=going_on.get(found.ended, ""))


class _QuickSwitches:
    """While any check of this process is inside, threads switch after `SWITCH`; afterwards as before."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = Lock(), 0, 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(SWITCH)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                sys.setswitchinterval(self._before)


_QUICK_SWITCHES: Final = _QuickSwitches()


def _initial_states(model: Model, symmetry: Symmetry | None, on_progress: OnProgress) -> np.ndarray[Any, Any]:
    """The packed initial states, one after the other; each by the representative of its orbit."""
    words = array("Q")
    began = time.perf_counter()
    look_again = began + OFTEN
    for number, state in enumerate(model.each_first_state(), 1):
        represented = symmetry.representative(state) if symmetry else state
        words.extend(PackedState.of_values(model.layout, represented).words)
        if (now := time.perf_counter()) >= look_again:
            on_progress(Statistics(0, number, number, number, now - began))
            look_again = now + OFTEN
    return np.array(words, np.uint64)


class _Search:
    def __init__(
        self,
        model: Model,
        options: Options,
        symmetry: Symmetry | None,
        on_progress: OnProgress,
        threads: ThreadPoolExecutor,
        workers: int,
        budget: Budget,
        directory: RunDirectory | None,
        keeps: bool,
    ):
        self.model, self.options, self.on_progress, self.directory = model, options, on_progress, directory
        self.budget = budget
        self.symmetry = symmetry
        self.tables = DecisionTables(model, options.properties, symmetry)
        self.visited = Visited(size_of(model.layout), max(0, budget.left), _spare(budget, model.layout.words, keeps))
        self.shape = self.visited.shape
        self.in_states, self.in_steps = split_properties(model, options.properties)
        self.discoveries: dict[int, PackedDiscovery] = {}
        self.jobs = Jobs()
        """The jobs of the resumed run, if Spark began it."""
        self.before = ComparisonCounts()
        """The comparisons before the run was resumed."""
        self.depth = self.generated = 0
        self.python = 0.0
        self.tunings = list(TUNINGS)
        self.pool = WorkerPool(self.tables, self.visited, workers, threads, max(0, budget.left))
        budget.require(ROOM, "the local engine")
        self.samples = FoldSamples(self.tables)
        self.seeker = self.seeker_of(self.tables)
        self.seeks = is_compiled(LATER, kernels_for(model, symmetry=options.symmetry))
        """Whether the seeker's kernel is there."""
        self.waited = 0.0
        """Seconds of waiting for it."""
        self.started = time.perf_counter()
        self.checkpoints: list[Checkpoint] = []
        """One for each complete level."""
        self.interned = OccurringValues(model.layout)

    def seeker_of(self, tables: DecisionTables) -> Seeker:
        """A seeker by these tables, which waits for its kernel when it is needed."""
        prepare = partial(_Search.prepare_seeking, weakref.proxy(self))  # a cycle would keep all states in memory
        scratches = [worker.scratch for worker in self.pool.workers]
        return Seeker(tables, self.pool.budget, scratches, self.pool.each, prepare)

    # Levels.

    def run(self, commits: list[Commit], begun: Begun | None, initial: np.ndarray[Any, Any]) -> Exploration:
        """Begin with the existing levels, so that a run ends where it would have ended."""
        try:
            return self.report(self.ended_in(commits) or self.go_on(commits, begun, initial))
        except OutOfMemory:
            return self.report(self.out_of_memory())

    def ended_in(self, commits: list[Commit]) -> str:
        for commit in commits:
            checkpoint = checkpoint_of(self.model, commit)
            self.checkpoints.append(checkpoint)
            self.before = checkpoint.compared
            self.on_progress(checkpoint.statistics)
            if why := exploration_end(self.model, self.options, checkpoint.discoveries, checkpoint.statistics):
                return why
        return ""

    def go_on(self, commits: list[Commit], begun: Begun | None, initial: np.ndarray[Any, Any]) -> str:
        """Expand level after level; the reason of the end."""
        if commits:
            assert self.directory is not None
            self.continue_after(map(self.directory.pieces, (commit.level for commit in commits)))
        elif begun is not None:
            self.checkpoints += begun.checkpoints
            self.before = self.checkpoints[-1].compared
            self.continue_after([level] for level in begun.levels)
            last = self.checkpoints[-1].statistics
            if why := exploration_end(self.model, self.options, self.discoveries, last):
                return why
        else:
            self.started = time.perf_counter()
            self.generated = len(initial) // len(self.shape)
            self.pool.take_in(initial)
            level = self.pool.complete()
            self.pool.new_states[:] = 0
            if why := self.begin(level):
                return why
        while True:
            flags = self.sweep(judging=self.directory is None)
            self.judged(flags)
            if (
                exploration_end(self.model, self.options, self.discoveries, self.checkpoints[-1].statistics)
                == "found"
            ):
                return self.found_in_states()
            self.expanded(flags)
            level = self.pool.complete()
            self.tune()
            if why := self.begin(level):
                return why

    def begin(self, level: int) -> str:
        """Begin with a complete level; returns the reason if exploring ends with it.

        States are normally judged while they are expanded. But the last level is not expanded, and a level that is
        kept must be judged before it is written.
        """
        self.depth += level > 0
        self.interned.in_arrays(self.visited.parts(len(self.visited.levels)))
        self.spot_check()
        last = exploration_end(self.model, self.options, self.discoveries, self.statistics(level))
        if self.directory is None:
            self.checkpoints.append(self.now(level))
        self.on_progress(self.statistics(level))
        if last or self.directory is not None:
            self.judged(self.sweep(acting=False))
            self.keep(self.now(level))
        return exploration_end(self.model, self.options, self.discoveries, self.statistics(level))

    def keep(self, checkpoint: Checkpoint) -> None:
        """Record a judged level as the last complete one."""
        if self.directory is None:
            self.checkpoints[-1] = checkpoint
        else:
            self.commit(self.directory, len(self.checkpoints) + 1, checkpoint)
            self.checkpoints.append(checkpoint)

    def commit(self, directory: RunDirectory, level: int, checkpoint: Checkpoint) -> None:
        rundir.reached("before files")
        parts = self.visited.parts(level)
        at_once = self.at_once(sum(map(len, parts)))
        files = directory.write_parts(level, parts, self.pool.each, at_once)
        directory.commit(commit_of(self.model, level, files, checkpoint, self.interned.levels[level - 1]))

    def continue_after(self, levels: Iterable[Iterable[Words]]) -> None:
        """Take in the states of all levels so far, each in pieces; the last checkpoint has the rest."""
        for level in levels:
            for states in level:
                self.pool.take_in(states.reshape(-1))
            self.pool.complete()
            self.interned.in_arrays(self.visited.parts(len(self.visited.levels)))
        checkpoint, output = self.checkpoints[-1], self.pool.workers[0].output
        for action, coverage in enumerate(checkpoint.coverage):
            output.enabled[action], output.taken[action] = coverage.enabled, coverage.taken
            output.unchanging[action] = coverage.taken - coverage.changing
            output.bounded[action] = coverage.bounded
            self.pool.new_states[action] = coverage.new_states
        self.depth, self.discoveries = checkpoint.statistics.depth, dict(checkpoint.discoveries)
        self.generated = checkpoint.statistics.generated - int(output.taken.sum())
        self.jobs = checkpoint.jobs
        self.started = time.perf_counter() - checkpoint.statistics.seconds
        self.judged(self.sweep(acting=False))  # learns what properties read: marks need that

    # Memory.

    def at_once(self, states: int) -> int:
        """How many buckets of a level of so many states can be written at once."""
        all_of_it, each = writing(states, self.visited.words)
        return max(1, min(BUCKETS, (self.budget.left - all_of_it) // max(1, each)))

    def found_in_states(self) -> str:
        """End with a level that was judged while it was expanded; other figures are those of its beginning."""
        before = self.checkpoints[-1]
        statistics = before.statistics._replace(seconds=time.perf_counter() - self.started)
        self.checkpoints[-1] = before._replace(statistics=statistics, discoveries=dict(self.discoveries))
        return exploration_end(self.model, self.options, self.discoveries, statistics)

    def out_of_memory(self) -> str:
        """Judge the last level by itself, since it is not expanded."""
        self.pool.start_over()
        if self.directory is None and self.checkpoints:
            self.judged(self.sweep(acting=False))
            return self.found_in_states() or "memory"
        return "memory"

    def handed_over(self, found: Exploration, overflow: Path, until_done: ExitStack) -> Exploration:
        """Put all complete levels into a directory, for another engine; report it if there is no room."""
        try:
            directory, _ = open_run(overflow, self.model, self.options, until_done, resume=False)
            for level, checkpoint in enumerate(self.checkpoints, 1):
                self.commit(directory, level, checkpoint)
        except (OSError, UsageError) as full:
            wrong = f"Spark could not continue: {overflow.parent} has no room for the states ({full})"
            return replace(found, kept=wrong)
        return found

    def sweep(self, judging: bool = True, acting: bool = True) -> Array:
        """Judge the states of the newest complete level, and give the next level their successors.

        The result is a flag for each table, see `WorkerOutput.flags`.
        """
        passed_over = [*self.discoveries, *([] if judging else self.in_states)]
        return self.pool.sweep(passed_over, lambda: self.on_progress(self.statistics(self.pool.queue)), acting=acting)

    def tune(self) -> None:
        """Now and then, tune the tables to their use."""
        if self.tunings and self.visited.size >= self.tunings[0]:
            began = time.perf_counter()
            del self.tunings[0]
            self.tables.tune(self.visited.some(len(self.visited.levels), SAMPLE))
            self.python += time.perf_counter() - began

    def spot_check(self) -> None:
        """Compare some states of the newest level with plain evaluation, and under other names."""
        began = time.perf_counter()
        if self.samples.needed:
            for state in self.visited.some(len(self.visited.levels), OF_A_LEVEL)[:OF_A_LEVEL].tolist():
                if self.samples.are_afforded(self.visited.size):
                    self.samples.compare(state)
            self.python += time.perf_counter() - began
        if self.symmetry is None:
            return
        began = time.perf_counter()
        newest = self.visited.parts(len(self.visited.levels))
        self.symmetry.spot_check(sample_of(newest, SPOT_CHECKS), self.visited.size)
        self.python += time.perf_counter() - began

    # Discoveries.

    def judged(self, flags: np.ndarray[Any, Any]) -> None:
        """Find discoveries among the states of the level that was swept."""
        discoveries = self.pool.found.in_states
        self.seeker.in_states(self.visited.ranges_of(self.depth), flags, discoveries)
        self.note(discoveries)

    def expanded(self, flags: np.ndarray[Any, Any]) -> None:
        """Find discoveries among the steps from the level that was swept."""
        discoveries = self.pool.found.in_steps
        self.seeker.in_steps(self.visited.ranges_of(self.depth), flags, self.discoveries, discoveries)
        self.note(discoveries)

    def note(self, discoveries: LevelDiscoveries) -> None:
        """Keep the discoveries of the level; EvaluationFailed if an evaluation failed."""
        if failure := discoveries.first_failure():
            wanted = [number for number in self.in_steps if number not in self.discoveries]
            raise failed(self.model, failure, self.depth, self.predecessors, wanted, self.symmetry)
        for number, end in discoveries.ends.items():
            length = self.depth + end.is_step
            self.discoveries.setdefault(number, PackedDiscovery(length, end))

    def states_of(self, level: int) -> Iterator[StateRanges]:
        """The states of a complete level; from disk in pieces."""
        if level <= len(self.visited.levels):
            found: Iterable[StateRanges] = [self.visited.ranges_of(level)]
        else:
            assert self.directory is not None
            found = map(StateRanges.of, self.directory.pieces(level))
        size = 0
        for states in found:
            yield states
            size += states.size
        before = self.checkpoints[level - 2].statistics.distinct if level > 1 else 0
        assert size == self.checkpoints[level - 1].statistics.distinct - before, (
            "a level has as many states as it had"
        )

    def predecessors(self, level: int, targets: frozenset[bytes]) -> dict[bytes, Predecessor]:
        """The lowest predecessor in this level of each target; all targets are of the next level."""
        lowest: dict[bytes, Predecessor] = {}
        for states in self.states_of(level):
            keep_lowest(lowest, self.seeker.predecessors(states, targets))
        assert lowest.keys() == targets, "a state of a level has a predecessor in the one before"
        return lowest

    def prepare_seeking(self) -> None:
        """Wait until the seeker's kernel is compiled; that does not count as exploring."""
        if not self.seeks:
            began = time.perf_counter()
            now, kernels = self.statistics(0), kernels_for(self.model, symmetry=self.options.symmetry)
            compiled(LATER, kernels, lambda doing: self.on_progress(now._replace(doing=doing)))
            self.seeks, self.waited = True, time.perf_counter() - began
            self.started += self.waited

    # Statistics.

    def statistics(self, queue: int) -> Statistics:
        taken = int(self.pool.taken.sum())
        seconds, distinct = time.perf_counter() - self.started, self.visited.size
        each = self.visited.allocated / distinct if distinct else None
        budget = self.pool.budget
        python = (self.python + budget.seconds_learning + budget.seconds_plainly) / seconds if seconds else None
        return Statistics(self.depth, self.generated + taken, distinct, queue, seconds, each, python)

    def now(self, level: int) -> Checkpoint:
        """The checkpoint at a moment when so many states are next to be expanded."""
        pool = self.pool
        counts = zip(pool.enabled, pool.taken, pool.new_states, pool.changing, pool.bounded, strict=True)
        coverage = tuple(Coverage(*map(int, each)) for each in counts)
        return Checkpoint(self.statistics(level), coverage, dict(self.discoveries), self.jobs, self.compared())

    def compared(self) -> ComparisonCounts:
        """The comparisons so far, including those before the run was resumed."""
        return self.before.besides(self.symmetry.renamings.compared) if self.symmetry else ComparisonCounts()

    def report(self, why: str) -> Exploration:
        found = self.report_without_discoveries(why)
        return replace(
            found,
            discoveries=with_paths(self.model, self.checkpoints[-1].discoveries, self.predecessors, self.symmetry),
        )

    def interrupted(self) -> Exploration:
        """The report of the last complete level. A second Ctrl-C ends the search for paths, too.

        The tables may have been interrupted while learning, so new ones replace them.
        """
        found = self.report_without_discoveries("interrupted")
        try:
            self.pool.stop()
            tables = DecisionTables(self.model, self.options.properties, self.symmetry)
            self.seeker = self.seeker_of(tables)
            return self.report("interrupted") if self.checkpoints else found
        except (KeyboardInterrupt, OpaqueRuleFound):
            self.pool.stop()
            return found

    def report_without_discoveries(self, why: str) -> Exploration:
        checkpoint = self.checkpoints[-1] if self.checkpoints else BEFORE_FIRST
        coverage = checkpoint.coverage or tuple(Coverage() for _ in self.model.actions)
        return Exploration(
            why,
            checkpoint.statistics,
            coverage,
            bytes_per_state=checkpoint.statistics.bytes_per_state,
            compared=self.symmetry.renamings.summary(self.compared()) if self.symmetry else "",
            levels=tuple(each.statistics for each in self.checkpoints if each.statistics.queue),
            jobs=checkpoint.jobs if checkpoint.jobs.levels else None,
            advice=self.advice(),
            folds=self.samples.summary,
            learned=self.tables.by_rule(),
            interned=self.interned.counts(checkpoint.statistics.depth),
        )

    def advice(self) -> str:
        """Why most states were expanded in plain Python, or which rule needs it; empty if neither is so."""
        if self.pool.budget.paid:
            paths = {name: its.paths for name, its in self.tables.by_rule().items()}
            return price_of_opacity(paths, self.tables.recorder.opaque)
        some = self.visited.some(self.depth, 1)
        return self.tables.advice(self.pool.budget.expanded, some[0].tolist()) if len(some) else ""


def _spare(budget: Budget, words: int, keeps: bool) -> Callable[[int], int]:
    """Memory that states may still take: all that is left, minus the memory for writing the largest level."""
    return lambda states: budget.left - (sum(writing(states, words)) if keeps else 0)
