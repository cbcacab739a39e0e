"""Stop a run at a moment, and resume runs. A separate process runs this module if the moment kills it.

python -m tests.reliability.breaking local kill 20 0.3 False 0 RUN_DIR
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from spec.checking import Result, check
from spec.checking.exploration import Engine, Statistics
from spec.checking.local import LocalEngine
from spec.checking.runs import rundir
from spec.checking.spark import SparkEngine
from spec.cli.command import reraising_dropped_interrupts
from tests.reliability.moments import Moment
from tests.reliability.outage import SUBJECT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER_LEVEL = {False: 96_000, True: 16_000}
"""Larger levels are Spark jobs: three levels of states, and three of orbits."""
DAEMON = "spec.checking.spark.daemon"
"""The program that forks Spark's workers."""


def engine(name: str, path: Path | None, *, symmetry: bool, session: SparkSession | None = None) -> Engine:
    """An engine that begins a run in the directory, or resumes the run there."""
    resume = path is not None and (path / "_run.json").exists()
    if name == "local":
        return LocalEngine(run_dir=path, resume=resume)
    large = DRIVER_LEVEL[symmetry]
    return SparkEngine(path, resume=resume, workers=2, session=session, driver_level=large, buckets=4)


def explored(
    by: Engine, *, symmetry: bool, max_depth: int | None = None, on_progress: Callable[[Statistics], None]
) -> Result:
    """The result of the whole exploration, continuing past violations."""
    return check(SUBJECT, engine=by, keep_going=True, symmetry=symmetry, max_depth=max_depth, on_progress=on_progress)


def outcome(result: Result) -> dict[str, Any]:
    """All that must be equal, no matter how often a run was stopped and what resumed it."""
    said = result.to_json()
    for name in ("engine", "jobs", "versions", "seconds", "compile_seconds", "states_per_second", "bytes_per_state"):
        del said[name]
    return said


class Breaker:
    """An `on_progress` that stops the run at its moment."""

    def __init__(self, moment: Moment):
        self.moment = moment
        self.seconds = 0.0
        self.began = time.perf_counter()
        self.armed = False
        self.killer: Thread | None = None
        self.over = Event()

    def __call__(self, statistics: Statistics) -> None:
        if self.armed or statistics.depth < self.moment.level:
            return
        self.armed = True
        delay = 1e-6 + self.moment.share * (time.perf_counter() - self.began) / statistics.depth
        if self.moment.breaking in {"interrupt", "kill"}:
            signal.setitimer(signal.ITIMER_REAL, delay)
        else:
            doomed = {"kill-worker": workers_at_work, "kill-jvm": javas}[self.moment.breaking]
            self.killer = Thread(target=self._kill, args=(doomed, delay))
            self.killer.start()

    def _kill(self, doomed: Callable[[], Iterable[int]], delay: float) -> None:
        """Kill the first of these processes, as soon as there is one."""
        self.over.wait(delay)
        while not self.over.wait(0.01):
            for pid in doomed():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    return

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """The moment may come while this context is open."""
        handling = signal.default_int_handler if self.moment.breaking == "interrupt" else signal.SIG_DFL
        handler = signal.signal(signal.SIGALRM, handling)
        try:
            with reraising_dropped_interrupts(signal.SIGALRM):
                yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            self.over.set()
            if self.killer is not None:
                self.killer.join()


def broken_off(moment: Moment, path: Path | None, session: SparkSession | None = None) -> Result:
    """The result of a run that is stopped, if this process survives."""
    breaker = Breaker(moment)
    by = engine(moment.engine, path, symmetry=moment.symmetry, session=session)
    with breaker.at_work():
        return explored(by, symmetry=moment.symmetry, max_depth=moment.bound, on_progress=breaker)


def javas() -> Iterator[int]:
    """The JVMs started by this process."""
    return (pid for pid in descendants(os.getpid()) if is_running(pid, "java"))


def workers_at_work() -> Iterator[int]:
    """The Spark workers of this process that are computing. One that waits for a task has nothing to lose."""
    daemons = [pid for pid in descendants(os.getpid()) if is_running(pid, DAEMON)]
    before = {worker: computed(worker) for daemon in daemons for worker in descendants(daemon)}
    time.sleep(0.05)
    return (worker for worker, ticks in before.items() if computed(worker) > ticks + 1)


def tasks_lost(session: SparkSession) -> dict[int, int]:
    """The number of unfinished tasks by stage, as far as the session remembers its stages."""
    context: Any = session.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()  # Spark counts in a separate thread
    tracker = context.statusTracker()
    jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup())
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    infos = {stage: tracker.getStageInfo(stage) for stage in sorted(stages)}
    return {stage: info.numFailedTasks for stage, info in infos.items() if info is not None}


def descendants(pid: int) -> Iterator[int]:
    """The descendants of a process, deepest first."""
    try:
        children = [int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in _children(task)]
    except OSError:  # it has ended
        return
    for child in children:
        yield from descendants(child)
        yield child


def _children(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except OSError:
        return []


def is_running(pid: int, program: str) -> bool:
    """Whether a process runs this program."""
    try:
        return program in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def computed(pid: int) -> int:
    """The CPU time of a process in hundredths of a second; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
    except OSError:
        return 0


if __name__ == "__main__":
    name, breaking, level, share, symmetry, bound, run_dir = sys.argv[1:]
    rundir._sync = lambda path: None  # only the process dies, not the machine
    broken_off(
        Moment(name, breaking, int(level), float(share), symmetry == "True", int(bound) or None, True), Path(run_dir)
    )
