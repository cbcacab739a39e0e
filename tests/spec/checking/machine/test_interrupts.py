"""Ctrl-C at any moment: it is deferred while locks are held, and no lock is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import FrameType

import pytest

from spec.checking.machine.interrupts import DeferredSignals
from spec.language import Specification, State, action, initial, integers, require, variable


class Rang(Exception):
    """Raised by a signal handler, once it has run."""


ONE, OTHER = signal.SIGUSR1, signal.SIGUSR2


@pytest.fixture(autouse=True)
def ringing() -> Iterator[None]:
    """Two signals whose handlers raise, whatever handlers the test process has."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Rang(number)

    before = {each: signal.signal(each, ring) for each in (ONE, OTHER)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def come(*numbers: int) -> list[int]:
    """Raise these signals; return those that were deferred."""
    for each in numbers:
        signal.raise_signal(each)
    return [*numbers]


def test_signals_are_deferred_until_the_end() -> None:
    """Then the handler runs once. Later signals are delivered at once again."""
    done = []
    with pytest.raises(Rang), DeferredSignals():
        done += come(ONE)
    assert done == [ONE]
    with pytest.raises(Rang):
        come(ONE)


def test_several_signals_are_deferred() -> None:
    """Each runs its own handler, in order of arrival."""
    received = []
    signal.signal(OTHER, lambda number, frame: received.append(number))
    with pytest.raises(Rang, match=str(int(ONE))), DeferredSignals():
        come(OTHER, ONE)
    assert received == [OTHER]


def test_a_deferred_signal_wakes_a_waiting_thread() -> None:
    """It wakes at once, and finds the signal when it asks."""
    woken = []
    with DeferredSignals(lambda: woken.append("awake")) as held:
        held.deliver()
        come(ONE)
        assert woken == ["awake"]
        with pytest.raises(Rang):
            held.deliver()
        held.deliver()


def test_an_unlimited_wait_is_interrupted() -> None:
    """A later signal is deferred again."""
    done = []
    with DeferredSignals() as held:
        with pytest.raises(Rang), held.through():
            done += come(ONE)
        done += come(OTHER)
        with pytest.raises(Rang, match=str(int(OTHER))):
            held.deliver()
    assert done == [OTHER]


def test_deferred_signals_are_delivered_first() -> None:
    """No operation that may block forever is started first."""
    with DeferredSignals() as held:
        come(ONE)
        with pytest.raises(Rang), held.through():
            pytest.fail("the operation was started")


def test_deferrals_nest() -> None:
    """The outermost one delivers the signals."""
    done = []
    with pytest.raises(Rang), DeferredSignals():
        done += come_within()
    assert done == [ONE]


def come_within() -> list[int]:
    with DeferredSignals():
        return come(ONE)


def test_other_threads_defer_nothing() -> None:
    """Handlers run only in the main thread."""
    done = []

    def work() -> None:
        with DeferredSignals() as held, held.through():
            done.append(signal.getsignal(ONE))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.getsignal(ONE)]


class FieldState(State):
    """The state of `Field`."""

    column: int = variable("The column.", of=lambda self: integers(0, 39))
    row: int = variable("The row.", of=lambda self: integers(0, 1))


class Field(Specification[FieldState]):
    """A few levels with several states each."""

    @initial(column=range(40))
    def begin(self, s: FieldState, column: int) -> None:
        s.column = column

    @action
    def up(self, s: FieldState) -> None:
        require(s.row < 1)
        s.row += 1


class Quiet:
    """A stand-in for a Spark session that only marks jobs."""

    def addTag(self, mark: str) -> None:  # noqa: N802
        """Ignored."""

    def interruptTag(self, mark: str) -> None:  # noqa: N802
        """There is no job to stop."""


AT_EVERY_LOCK = """
import signal, sys
from pathlib import Path
from threading import Condition, enumerate as enumerate_threads, get_ident, main_thread
from spec.checking import check, simulate
from spec.checking.local import LocalEngine, worker_pool
from spec.checking.spark.session import SparkCluster
from tests.spec.checking.machine.test_interrupts import Field, Quiet

taking, here, count, at = Condition.__enter__, get_ident(), 0, 0

def interrupted(self):
    global count
    taken = taking(self)
    if get_ident() == here:
        count += 1
        if count == at:
            signal.raise_signal(signal.SIGINT)
    return taken

def explore(directory, resume=False):
    return check(Field(), engine=LocalEngine(2, run_dir=directory, resume=resume)).verdict

def walk(directory):
    return simulate(Field(), runs=400, steps=20, seed=1, workers=2).verdict

def job(directory):
    cluster = SparkCluster(None, 2, Path(), None)
    cluster._session = Quiet()
    return cluster.run(lambda session: "done", lambda: None)

def goes_on(directory):
    if work is not explore or not Path(directory, "_run.json").exists():
        return True
    return explore(directory, resume=True) == "holds"

worker_pool.WORK_ITEM = 4  # states, so that both workers have work
work = globals()[sys.argv[1]]
work(None)  # load the compiled code first
Condition.__enter__ = interrupted
ends = []
while not ends or at <= count:
    at, count, directory = 1 + int(sys.argv[3]) * len(ends), 0, f"{sys.argv[2]}/{len(ends)}"
    try:
        ends.append(work(directory))
    except KeyboardInterrupt:  # before there was any result
        ends.append("raised")
    seen, at = (at, count), 0
    if not goes_on(directory):
        ends[-1] = "lost"
    at, count = seen
others = [each for each in enumerate_threads() if each is not main_thread()]
for each in others:
    each.join(10)
print(*ends, sum(each.is_alive() for each in others))
"""


@pytest.mark.parametrize(
    ("work", "every", "whole", "least"),
    [
        pytest.param("explore", 67, "holds", 4, marks=pytest.mark.long),
        pytest.param("explore", 1, "holds", 100, marks=pytest.mark.long),
        pytest.param("walk", 1, "bounded", 10, marks=pytest.mark.long),
        ("job", 1, "done", 3),
    ],
)
def test_no_lock_is_lost(work: str, every: int, whole: str, least: int, tmp_path: Path) -> None:
    """Interrupted just after it takes a lock, for each lock in turn, the work ends, and its run can be resumed.

    No thread is left running.
    """
    command = [sys.executable, "-c", AT_EVERY_LOCK, work, str(tmp_path), str(every)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert (done.returncode, done.stderr) == (0, "")
    *ends, last, threads = done.stdout.split()
    assert (last, threads) == (whole, "0")
    assert len([each for each in ends if each != whole]) >= least
    assert {*ends} <= {"interrupted", "raised", whole}
