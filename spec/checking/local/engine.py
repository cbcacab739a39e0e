"""The local engine: explores on this machine at compiled speed, on all of its cores."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spec.checking import rundir
from spec.checking.endings import Arrival, Decided, findings
from spec.checking.exploration import Coverage, Exploration, Figures, Question, Watch, ended, split
from spec.checking.keeping import NOTHING, Whole, commit_of, opened, require_run, whole_of
from spec.checking.local.crew import Crew
from spec.checking.local.kernels import Lot
from spec.checking.local.seeking import Seeker
from spec.checking.local.tables import Tables
from spec.checking.local.visited import OutOfMemory, Visited
from spec.checking.met import Met
from spec.checking.model import Model
from spec.checking.packed import sample
from spec.checking.rundir import BUCKETS, Commit, RunDirectory
from spec.checking.symmetry import GLANCED, Symmetry
from spec.language.errors import UsageError

TUNINGS = [1_000, 10_000, 100_000]
"""How many states there are when the tables are tuned: what is walked in vain changes while a search is young."""
SAMPLE = 1_000
"""States that are looked at for that."""
SWITCH = 0.0002
"""Seconds after which a worker that learns lets others have the interpreter: they only want it to look in."""
WORDS = 16
"""Of a state, at most."""
SLOT = 16
"""Bits of a slot, at most."""
INSTANCES = (1 << 16) - 1
"""Of an action, fewer than that."""


class LocalEngine:
    """Explores in this process, with compiled tables and several threads.

    Args:
        workers: threads; by default as many as there are cores.
        memory: bytes that the visited set may take; by default half of what the machine has.
        run_dir: where the run is kept, empty or not there; without it, nothing is kept.
        resume: go on with the run in `run_dir`, whichever engine began it. Only the bounds and `keep_going` may
            differ from before.
        overflow: a directory, empty or not there, into which the run is put when the memory is reached; it is for
            a run that is not kept.
        buckets: over how many files a level is spread; a run that is resumed keeps its own.

    Exploring raises what every engine does, and UsageError: a state is too large, `run_dir` is not empty, or what it
    holds cannot be resumed.
    """

    name = "local"

    def __init__(
        self,
        workers: int | None = None,
        memory: int | None = None,
        run_dir: Path | None = None,
        *,
        resume: bool = False,
        overflow: Path | None = None,
        buckets: int = BUCKETS,
    ):
        require_run(run_dir, resume)
        self.workers = workers or len(os.sched_getaffinity(0))
        self.memory = memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        self.run_dir, self.resume, self.overflow, self.buckets = run_dir, resume, overflow, buckets

    def explore(self, model: Model, question: Question, watch: Watch) -> Exploration:
        """Go through the states, level by level."""
        if wrong := too_large(model):
            raise UsageError(f"{wrong}. Ask for smaller bounds, or for --engine reference")
        symmetry = Symmetry(model, question.properties) if question.symmetry else None
        initial = _initial_states(model, symmetry)
        with ExitStack() as until_done:
            until_done.callback(sys.setswitchinterval, sys.getswitchinterval())
            sys.setswitchinterval(SWITCH)
            directory, commits = None, list[Commit]()
            if self.run_dir is not None:
                directory, commits = opened(
                    self.run_dir, model, question, until_done, resume=self.resume, buckets=self.buckets
                )
            pool = until_done.enter_context(ThreadPoolExecutor(self.workers))
            search = _Search(model, question, symmetry, watch, pool, self.workers, self.memory, directory)
            try:
                found = search.run(commits, initial)
                if found.ended == "memory" and self.overflow is not None:
                    search.keep_all(opened(self.overflow, model, question, until_done, resume=False)[0])
            except KeyboardInterrupt:
                found = search.interrupted()
        if directory is None:
            return found
        going_on = {
            "interrupted": f"the run can be resumed from {self.run_dir}",
            "memory": f"--engine spark --resume {self.run_dir} keeps its states on disk and can go on",
        }
        return replace(found, kept=going_on.get(found.ended, ""))


def _initial_states(model: Model, symmetry: Symmetry | None) -> np.ndarray[Any, Any]:
    """Packed, one after the other; each by the least of its orbit."""
    states = map(symmetry.least if symmetry else lambda state: state, model.first_states())
    return np.concatenate([_words(model.layout.pack(state), model.layout.words) for state in states])


def too_large(model: Model) -> str:
    """What of a model the engine cannot hold, in words; empty if it can."""
    name, layout = model.specification.name, model.layout
    if layout.words > WORDS:
        return f"a state of {name} takes {layout.width} bits here, and the local engine packs up to {WORDS * 64}"
    for place in layout.slots:
        if place.width > SLOT:
            return (
                f"{place.name} of {name} has {place.slot.size} values, and the local engine takes up to {1 << SLOT}"
            )
    for action in model.actions:
        if len(action.instances) >= INSTANCES:
            return (
                f"action {action.name} of {name} has {len(action.instances)} instances, the local engine takes fewer"
            )
    return ""


class _Search:
    def __init__(
        self,
        model: Model,
        question: Question,
        symmetry: Symmetry | None,
        watch: Watch,
        pool: ThreadPoolExecutor,
        workers: int,
        memory: int,
        directory: RunDirectory | None,
    ):
        self.model, self.question, self.watch, self.directory = model, question, watch, directory
        self.symmetry = symmetry
        self.tables = Tables(model, question.properties, symmetry)
        self.visited = Visited(model.layout.words, memory)
        self.shape = self.visited.shape
        self.in_states, _ = split(model, question.properties)
        self.decided: dict[int, Decided] = {}
        self.depth = self.generated = 0
        self.python = 0.0
        self.tunings = list(TUNINGS)
        self.crew = Crew(self.tables, self.visited, workers, pool)
        self.crew.load()
        self.seeker = Seeker(self.tables, self.crew.workers[0].scratch)
        self.started = time.perf_counter()
        self.wholes: list[Whole] = []
        """By level, as far as each is complete."""
        self.swept_from = 1
        """The first level of which the tables know everything that is met."""

    # Levels.

    def run(self, commits: list[Commit], initial: np.ndarray[Any, Any]) -> Exploration:
        """Begin with the levels that are there already, so that a run ends where it would have ended."""
        try:
            return self.report(self.ended_in(commits) or self.go_on(commits, initial))
        except OutOfMemory:
            return self.report(self.out_of_memory())

    def ended_in(self, commits: list[Commit]) -> str:
        self.swept_from = max(1, len(commits))
        for commit in commits:
            whole = whole_of(self.model, commit)
            self.wholes.append(whole)
            self.watch(whole.figures)
            if why := ended(self.model, self.question, whole.decided, whole.figures):
                return why
        return ""

    def go_on(self, commits: list[Commit], initial: np.ndarray[Any, Any]) -> str:
        """Expand level after level; why it ends."""
        if commits:
            self.load(commits)
        else:
            self.started = time.perf_counter()
            self.generated = len(initial) // len(self.shape)
            self.crew.take_in(initial)
            level = self.crew.complete()
            self.crew.new_states[:] = 0
            if why := self.begin(level):
                return why
        while True:
            flags = self.sweep(judging=self.directory is None)
            self.judged(flags)
            if ended(self.model, self.question, self.decided, self.wholes[-1].figures) == "found":
                return self.found_in_states()
            self.expanded(flags)
            level = self.crew.complete()
            self.tune()
            if why := self.begin(level):
                return why

    def begin(self, level: int) -> str:
        """Begin with a level that is complete; why exploring ends with it.

        Its states are judged while they are expanded. But those of the last level are not expanded, and what is to be
        kept of a level is all that is known of it.
        """
        self.depth += level > 0
        self.examine()
        last = ended(self.model, self.question, self.decided, self.figures(level))
        if self.directory is None:
            self.wholes.append(self.now(level))
        self.watch(self.figures(level))
        if last or self.directory is not None:
            self.judged(self.sweep(acting=False))
            self.keep(self.now(level))
        return ended(self.model, self.question, self.decided, self.figures(level))

    def keep(self, whole: Whole) -> None:
        """Let a level that is judged be the last that is whole."""
        if self.directory is None:
            self.wholes[-1] = whole
        else:
            self.commit(self.directory, len(self.wholes) + 1, whole)
            self.wholes.append(whole)

    def commit(self, directory: RunDirectory, level: int, whole: Whole) -> None:
        rundir.reached("before files")
        states = self.visited.level(level)
        files = directory.write_array(level, states, self.crew.each)
        directory.commit(commit_of(self.model, level, files, whole))

    def load(self, commits: list[Commit]) -> None:
        """Take up a run after these levels."""
        assert self.directory is not None
        for commit in commits:
            for file in commit.files:
                self.crew.take_in(self.directory.read_array(commit.level, file.bucket).reshape(-1))
            self.crew.complete()
        whole, notes = self.wholes[-1], self.crew.workers[0].notes
        for action, coverage in enumerate(whole.coverage):
            notes.enabled[action], notes.taken[action] = coverage.enabled, coverage.taken
            self.crew.new_states[action] = coverage.new_states
        self.depth, self.decided = whole.figures.depth, dict(whole.decided)
        self.generated = whole.figures.generated - int(notes.taken.sum())
        self.started = time.perf_counter() - whole.figures.seconds
        self.judged(self.sweep(acting=False))  # what holds is handed on only by who knows what was looked at for it

    def found_in_states(self) -> str:
        """A level was judged while it was expanded, and is the last: what is known is what was known before."""
        before = self.wholes[-1]
        figures = before.figures._replace(seconds=time.perf_counter() - self.started)
        self.wholes[-1] = before._replace(figures=figures, decided=dict(self.decided))
        return ended(self.model, self.question, self.decided, figures)

    def out_of_memory(self) -> str:
        """The last level is not expanded, so it is judged by itself."""
        self.crew.start_over(self.tables)
        if self.directory is None and self.wholes:
            self.judged(self.sweep(acting=False))
            return self.found_in_states() or "memory"
        return "memory"

    def keep_all(self, directory: RunDirectory) -> None:
        """Put all levels that are whole into a directory."""
        for level, whole in enumerate(self.wholes, 1):
            self.commit(directory, level, whole)

    def sweep(self, judging: bool = True, acting: bool = True) -> np.ndarray[Any, Any]:
        """Judge the states of the newest level that is complete, and let the next one have their successors.

        By table, what was met: see `Notes.flags`.
        """
        passed_over = [*self.decided, *([] if judging else self.in_states)]
        live = self.tables.live(passed_over, acting)
        newest = self.visited.lot(len(self.visited.levels))
        return self.crew.sweep(newest, live, lambda: self.watch(self.figures(self.crew.queue)))

    def tune(self) -> None:
        """Now and then, let the tables see how they are used."""
        if self.tunings and self.visited.size >= self.tunings[0]:
            began = time.perf_counter()
            del self.tunings[0]
            level = self.visited.level(len(self.visited.levels))
            self.tables.tune(level[:: max(1, len(level) // SAMPLE)])
            self.python += time.perf_counter() - began

    def examine(self) -> None:
        """Look at some states of the newest level whether going by orbits is sound."""
        if self.symmetry is None:
            return
        began = time.perf_counter()
        self.symmetry.glance(sample(self.visited.level(len(self.visited.levels)), GLANCED))
        self.python += time.perf_counter() - began

    # What was met.

    def judged(self, flags: np.ndarray[Any, Any]) -> None:
        """Properties of the states of the level that was swept."""
        met = Met()
        self.seeker.in_states(self.visited.lot(self.depth), flags, met)
        self.note(met)

    def expanded(self, flags: np.ndarray[Any, Any]) -> None:
        """Properties of the steps from the level that was swept."""
        met = Met()
        self.seeker.in_steps(self.visited.lot(self.depth), flags, self.decided, met)
        self.note(met)

    def note(self, met: Met) -> None:
        """Keep what was met for good.

        Raises:
            EvaluationFailed: an evaluation did.
        """
        if failure := met.failure():
            raise failure
        for number, ending in met.endings.items():
            length = self.depth + ending.is_step
            self.decided.setdefault(number, Decided(length, ending))

    def lot(self, level: int) -> Lot:
        """The states of a level that is whole."""
        if level <= len(self.visited.levels):
            return self.visited.lot(level)
        assert self.directory is not None
        files = self.directory.committed(level)
        return Lot.of(np.concatenate([self.directory.read_array(level, file.bucket) for file in files]))

    def arrivals(self, number: int, targets: frozenset[bytes]) -> dict[bytes, Arrival]:
        """The lowest way in which each of the targets, all of the next level, is reached from this one."""
        lot, lowest = self.lot(number), {}
        if number < self.swept_from:
            self.crew.rehearse(lot)
        for target in targets:
            found = self.seeker.arrival(lot, target)
            assert found is not None, "a state of a level has a predecessor in the one before"
            lowest[target] = found
        return lowest

    # Figures.

    def figures(self, queue: int) -> Figures:
        taken = int(self.crew.taken.sum())
        seconds, distinct = time.perf_counter() - self.started, self.visited.size
        each = self.visited.allocated / distinct if distinct else None
        python = (self.python + self.crew.python) / seconds if seconds else None
        return Figures(self.depth, self.generated + taken, distinct, queue, seconds, each, python)

    def now(self, level: int) -> Whole:
        """What is known when so many states are to be expanded next."""
        counts = zip(self.crew.enabled, self.crew.taken, self.crew.new_states, strict=True)
        coverage = tuple(Coverage(*map(int, each)) for each in counts)
        return Whole(self.figures(level), coverage, dict(self.decided))

    def report(self, why: str) -> Exploration:
        found = self.report_without_findings(why)
        return replace(found, findings=findings(self.model, self.wholes[-1].decided, self.arrivals, self.symmetry))

    def interrupted(self) -> Exploration:
        """What is known of the last whole level; whoever presses Ctrl-C again does not want to wait for the paths.

        The tables may have been about to learn something, so others take their place.
        """
        found = self.report_without_findings("interrupted")
        try:
            self.tables = Tables(self.model, self.question.properties, self.symmetry)
            self.swept_from = found.figures.depth
            self.crew.start_over(self.tables)
            self.seeker = Seeker(self.tables, self.crew.workers[0].scratch)
            return self.report("interrupted") if self.wholes else found
        except KeyboardInterrupt:
            self.crew.stop()
            return found

    def report_without_findings(self, why: str) -> Exploration:
        whole = self.wholes[-1] if self.wholes else NOTHING
        coverage = whole.coverage or tuple(Coverage() for _ in self.model.actions)
        return Exploration(why, whole.figures, coverage, bytes_per_state=whole.figures.bytes_per_state)


def _words(packed: int, words: int) -> np.ndarray[Any, Any]:
    return np.frombuffer(packed.to_bytes(8 * words, "big"), ">u8").astype(np.uint64)
