"""The worker pool: threads that expand a level together.

Each worker runs compiled code by itself until its outbox is full. It takes work item after work item, each a part of
the level. It learns paths that its tables miss, or expands the states that need them in plain Python if learning does
not pay: one worker at a time, while the others continue with their present tables. When an outbox is full, all
workers stop and deliver: each adds the states sent to its share of partitions. Both run actions and properties, and
these run only in the caller's thread: there Ctrl-C can interrupt an evaluation that does not end. So the worker hands
the work to the caller, and waits.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Lock, get_ident
from typing import Any, NamedTuple, TypeVar

import numpy as np

from spec.checking.local import expanding, storing
from spec.checking.local.arrays import (
    AT_ONCE,
    PARTITIONS,
    Cursor,
    MarkedRanges,
    Outbox,
    Program,
    PutOff,
    Scratch,
    StateRange,
    WorkerOutput,
)
from spec.checking.local.jit import Array
from spec.checking.local.learning_budget import LearningBudget
from spec.checking.local.plain_expander import PlainFindings
from spec.checking.local.representing import Orbits
from spec.checking.local.tables import DecisionTables
from spec.checking.local.visited import Visited
from spec.checking.machine.interrupts import DeferredSignals
from spec.checking.states.packed import bytes_of, words_of

T = TypeVar("T")

ROOM, MOST_ROOM = 2048, 8192
"""Successors that a worker gathers for one partition before they are delivered, if memory does not matter: the
fewest, and the most. The more there are, the longer a partition stays in the cache while they are looked up."""
SHARE = 16
"""The reciprocal of the largest share of memory for successors on their way."""
PATIENCE = 64
"""Unknown paths that a worker gathers before they are learned; the more there are, the more of them are the same."""
ENDURANCE = 16
"""While another worker learns, it gathers so many times as many."""
WORK_ITEM = 4_000
"""The fewest states that a worker takes at once."""
LOOK = 0.1
"""Seconds between a waiting worker's checks of whether it must stop; and of expanding states in plain Python before
progress is reported."""

Task = tuple[Callable[[], None], "Future[None]"]
"""Work for the caller, and the future on which the worker waits."""


class Unsent(NamedTuple):
    """Successors on their way to the outbox."""

    states: Array
    """All words, one after the other."""
    actions: Array
    """The action that leads to each."""
    next: int = 0
    """The number of those that were sent."""


@dataclass
class Worker:
    """A thread of the pool, with its own data."""

    outbox: Outbox
    output: WorkerOutput
    scratch: Scratch
    orbits: Orbits | None
    program: Program
    known: int = 0
    """The number of paths in the program."""
    ranges: Array | None = None
    """Its current work item."""
    unsent: Unsent | None = None
    """Successors that were found in plain Python, and for which its outbox has no room yet."""

    @property
    def is_busy(self) -> bool:
        """Whether it has begun something that is not finished."""
        return self.ranges is not None or self.unsent is not None or bool(self.output.cursor[Cursor.PUT_OFF])


class WorkerPool:
    """Workers over one visited set, with the same tables, and so much memory for everything together. The budget
    decides whether missing paths are learned.
    """

    def __init__(
        self,
        tables: DecisionTables,
        visited: Visited,
        workers: int,
        threads: ThreadPoolExecutor,
        memory: int | None = None,
    ):
        self.tables, self.visited, self.threads = tables, visited, threads
        repetitions = 1 if tables.symmetry is None else tables.symmetry.renamings.repetitions
        self.expander = tables.expander
        self.budget = LearningBudget(learns=not tables.too_large, repetitions=repetitions)
        self.shape, words = visited.shape, visited.words
        self.memory = memory
        self.sent = Outbox.of(words, self._room(workers), workers)
        self.reach = 2 * words + 2
        actions = len(tables.model.actions)
        self.new_states = np.zeros(actions, np.int64)
        self.workers = [
            Worker(
                self.sent.of_worker(number),
                WorkerOutput(
                    flags=np.zeros(len(tables.all) + 1, np.uint8),
                    enabled=np.zeros(actions, np.int64),
                    taken=np.zeros(actions, np.int64),
                    unchanging=np.zeros(actions, np.int64),
                    bounded=np.zeros(actions, np.int64),
                    missing=np.zeros((ENDURANCE * PATIENCE + len(tables.all)) * self.reach, np.uint64),
                    put_off=np.zeros(len(PutOff) * ENDURANCE * PATIENCE, np.int64),
                    cursor=np.zeros(len(Cursor), np.int64),
                ),
                Scratch.of(words, len(tables.all)),
                tables.orbits and tables.orbits.for_another(),
                tables.program(),
            )
            for number in range(workers)
        ]
        self.work_items: deque[Array] = deque()
        self.level = MarkedRanges.of(np.zeros((0, words), np.uint64), np.zeros(0, np.uint64))
        """The level of the work items."""
        self.live = tables.live()
        """The tables that are walked."""
        self.decided: Collection[int] = ()
        """The properties that are not evaluated."""
        self.acting = True
        """Whether steps are taken, or only properties of states evaluated."""
        self.found = PlainFindings.none()
        self.at_work: list[Future[Any]] = []
        self.caller, self.errands = get_ident(), SimpleQueue[Task | None]()
        self.learning, self.stopped = Lock(), False
        self.look_again = 0.0
        """When progress is to be reported."""
        self.remembered_since = 0
        """The number of paths when workers began to remember what masks rule out."""

    @property
    def enabled(self) -> Array:
        """By action, the number of states in which it is enabled."""
        counts: Array = sum(worker.output.enabled for worker in self.workers)
        return counts

    @property
    def taken(self) -> Array:
        """By action, how often it was taken."""
        counts: Array = sum(worker.output.taken for worker in self.workers)
        return counts

    @property
    def changing(self) -> Array:
        """By action, how often it changed something."""
        counts: Array = self.taken - sum(worker.output.unchanging for worker in self.workers)
        return counts

    @property
    def bounded(self) -> Array:
        """By action, the number of states in which a bound forbids a step of it."""
        counts: Array = sum(worker.output.bounded for worker in self.workers)
        return counts

    @property
    def queue(self) -> int:
        """States yet to be expanded, including those of the next level."""
        under_way = [worker.ranges for worker in self.workers if worker.ranges is not None]
        put_off = sum(int(worker.output.cursor[Cursor.PUT_OFF]) for worker in self.workers)
        newest = self.visited.storage.size - self.visited.storage.level
        return sum(map(_states_in, (*self.work_items, *under_way))) + put_off + int(newest.sum())

    def _room(self, workers: int) -> int:
        """The room of each outbox for one partition: a quarter of the states that are there already."""
        actions, wanted = self.tables.actions, self.visited.size // PARTITIONS // 4
        room = max(ROOM, min(MOST_ROOM, wanted), 4 * actions)
        if self.memory is not None:
            share = self.memory // SHARE // (workers * PARTITIONS * 8 * (self.visited.words + 1))
            room = min(room, max(share, 2 * actions + AT_ONCE))
        return room

    def _grow(self) -> None:
        """Give all workers larger outboxes, if there are many more states than before. The present ones are empty."""
        room = self._room(len(self.workers))
        if room >= 2 * self.sent.room:
            self.sent = Outbox.of(self.visited.words, room, len(self.workers))
            for number, worker in enumerate(self.workers):
                worker.outbox = self.sent.of_worker(number)

    def load(self) -> None:
        """Load the compiled code that expands states."""
        worker = self.workers[0]
        worker.ranges = np.zeros((0, len(StateRange)), np.int64)
        self._expand(worker)

    def stop(self) -> None:
        """Stop all workers, wherever they are."""
        self.stopped = True
        self._halt()
        for part in self.at_work:
            part.cancel()
        wait(self.at_work)

    def start_over(self) -> None:
        """Discard unfinished work."""
        self.stop()
        self.stopped = False
        self.work_items.clear()
        self.sent.count[:] = 0
        for worker in self.workers:
            worker.ranges = worker.unsent = None
            worker.output.cursor[:] = 0

    def each(self, work: Callable[[Any], T], parts: Iterable[Any]) -> list[T]:
        """Have all parts done, on all cores. After a failure no worker is running any more."""
        self.at_work.clear()
        self.caller, self.errands = get_ident(), SimpleQueue()
        wake = partial(self.errands.put, None)
        with DeferredSignals(wake) as held:
            try:
                for part in parts:
                    self.at_work.append(self.threads.submit(work, part))
                    self.at_work[-1].add_done_callback(lambda done: wake())
                while not all(part.done() for part in self.at_work):
                    errand = self.errands.get()
                    held.deliver()
                    if errand:
                        _run(*errand, held)
                return [part.result() for part in self.at_work]
            except BaseException:
                self.stop()
                raise

    def _by_caller(self, work: Callable[[], None]) -> None:
        """Have work done in the thread that receives Ctrl-C; CancelledError if the workers must stop."""
        if get_ident() == self.caller:
            work()
            return
        done = Future[None]()
        self.errands.put((work, done))
        while not wait([done], LOOK).done:
            if self.stopped:
                raise CancelledError
        done.result()

    # A level.

    def take_in(self, states: Array) -> None:
        """Add these states, given as words one after the other, to the newest level."""
        done, outbox, marks = 0, self.workers[0].outbox, np.zeros(len(states) // len(self.shape), np.uint16)
        while (done := storing.post(self.shape, states, marks, done, outbox)) < len(marks):
            self._deliver()
        self._deliver()

    def sweep(self, decided: Collection[int], on_progress: Callable[[], None], *, acting: bool = True) -> Array:
        """Judge the newest complete level, except by the decided properties; if `acting`, give the next level the
        successors of its states. Returns a flag for each table, see `WorkerOutput.flags`. The states that were
        expanded in plain Python set none: their discoveries are in `found`.
        """
        self.decided, self.acting = decided, acting
        self._begin(self.visited.newest(), self.tables.live(decided, acting))
        while self.work_items or any(worker.is_busy for worker in self.workers):
            self._together(self._expand)
            self._deliver()
            on_progress()
        flags: Array = np.bitwise_or.reduce([worker.output.flags for worker in self.workers])
        return flags

    def _begin(self, level: MarkedRanges, live: Array) -> None:
        self.level, self.live = level, live
        self.found = PlainFindings.none()
        self._grow()
        for worker in self.workers:
            worker.output.flags[:] = 0
            if self.tables.learned != self.remembered_since:
                worker.scratch.forget()  # by now, masks may rule out more
            self._hand_over(worker)
        self.remembered_since = self.tables.learned
        self.work_items.extend(_work_items(level.ranges))

    def complete(self) -> int:
        """End the newest level; its number of states."""
        return self.visited.complete(self.new_states)

    def _together(self, work: Callable[[Worker], None]) -> None:
        """Let all workers work; or only one, if there is little to do."""
        self.caller, self.look_again = get_ident(), time.perf_counter() + LOOK
        for worker in self.workers:
            worker.output.cursor[Cursor.STOP] = self.stopped
        busy = [worker for worker in self.workers if worker.is_busy]
        idle = [worker for worker in self.workers if not worker.is_busy]
        busy += idle[: len(self.work_items)]
        if len(busy) == 1:
            work(busy[0])
        else:
            self.each(work, busy)

    def _expand(self, worker: Worker) -> None:
        """Expand work item after work item, until none is left or an outbox is full."""
        patience = self._patience
        try:
            while self._has_room(worker) and (
                worker.ranges is not None or self._take_work_item(worker) or self._settle(worker)
            ):
                if worker.ranges is None:
                    continue
                status = self._by_tables(worker, worker.ranges, patience)
                if status == expanding.ASKS:
                    missing, waiting = worker.output.cursor[[Cursor.MISSING, Cursor.PUT_OFF]].tolist()
                    settled = self._settle(worker, wait=waiting == ENDURANCE * PATIENCE)
                    patience = self._patience if settled else missing + PATIENCE
                elif status != expanding.DONE:
                    break
                else:
                    worker.ranges = None
            else:
                return
        finally:
            if worker.is_busy:
                self._halt()

    def _by_tables(self, worker: Worker, ranges: Array, patience: int) -> int:
        """Expand these ranges of states by compiled code, as far as it gets; why it ends."""
        if self.tables.too_large:
            return self._put_all_off(worker, ranges)
        status: int = expanding.expand(
            self.shape,
            self.level._replace(ranges=ranges),
            self.live,
            worker.program,
            worker.orbits,
            worker.outbox,
            worker.output,
            worker.scratch,
            patience,
        )
        return status

    def _put_all_off(self, worker: Worker, ranges: Array) -> int:
        """Without tables, defer state after state, as long as there is room for more."""
        cursor, put_off = worker.output.cursor, worker.output.put_off.reshape(-1, len(PutOff))
        at_range, at, number = cursor[[Cursor.RANGE, Cursor.STATE, Cursor.PUT_OFF]].tolist()
        while at_range < len(ranges):
            first, last, marks = ranges[at_range].tolist()
            at = max(at, first)
            some = min(last - at, len(put_off) - number)
            put_off[number : number + some, PutOff.STATE] = np.arange(at, at + some)
            put_off[number : number + some, PutOff.MARKS] = marks
            at, number = at + some, number + some
            if at < last:
                break
            at_range, at = at_range + 1, 0
        cursor[[Cursor.RANGE, Cursor.STATE, Cursor.PUT_OFF]] = at_range, at, number
        return expanding.DONE if at_range == len(ranges) else expanding.ASKS

    @property
    def _patience(self) -> int:
        """The number of missing paths at which a worker asks; if they are not learned, as many as it can hold."""
        return PATIENCE if self.budget.allows else ENDURANCE * PATIENCE

    def _take_work_item(self, worker: Worker) -> bool:
        try:
            worker.ranges = self.work_items.popleft()
        except IndexError:
            return False
        worker.output.cursor[[Cursor.RANGE, Cursor.STATE]] = 0
        if worker.known != self.tables.learned and self.learning.acquire(blocking=False):
            try:
                self._hand_over(worker)
            finally:
                self.learning.release()
        return True

    def _halt(self) -> None:
        for worker in self.workers:
            worker.output.cursor[Cursor.STOP] = 1

    def _settle(self, worker: Worker, wait: bool = True) -> bool:
        """Learn the paths that a worker missed, and queue the states that wait for them; or expand these states.

        Returns False if there were none; or if another worker is doing the same, and this one does not want to wait.
        """
        cursor = worker.output.cursor
        if not cursor[Cursor.PUT_OFF]:
            return False
        if not self.learning.acquire(blocking=wait):
            return False
        try:
            self.budget.expanded = self.tables.recorder.states = self.visited.size - self.queue
            if self.budget.allows:
                self._learn(worker)
            else:
                self.tables.missed(self._missing(worker)[:, 0])
                self._by_caller(lambda: self._expand_plainly(worker))
        finally:
            self.learning.release()
        cursor[[Cursor.MISSING, Cursor.PUT_OFF]] = 0
        return True

    def _learn(self, worker: Worker) -> None:
        rows: list[list[int]] = self._missing(worker).tolist()
        self._by_caller(lambda: self._learn_paths(rows))
        self._hand_over(worker)
        put_off = self._put_off(worker)
        states, marks = put_off[:, PutOff.STATE], put_off[:, PutOff.MARKS]
        self.work_items.append(np.stack([states, states + 1, marks], axis=1))  # with the columns of `StateRange`

    def _missing(self, worker: Worker) -> Array:
        """The missing paths of the states that wait, as far as there was room: a table and registers each."""
        rows: Array = worker.output.missing.reshape(-1, self.reach)[: worker.output.cursor[Cursor.MISSING]]
        return rows

    def _put_off(self, worker: Worker) -> Array:
        """The states that wait for something."""
        rows: Array = worker.output.put_off.reshape(-1, len(PutOff))[: worker.output.cursor[Cursor.PUT_OFF]]
        return rows

    def _learn_paths(self, rows: list[list[int]]) -> None:
        with self.budget.learning():
            for row in rows:
                self.tables.learn(row[0], row[1:])

    def _hand_over(self, worker: Worker) -> None:
        """Give a worker the present tables, which are first copied if something was learned."""
        before = worker.program.relevant
        with self.budget.learning():
            worker.program, worker.known = self.tables.program(), self.tables.learned
        if worker.program.relevant is not before:
            worker.scratch.forget()

    # In plain Python.

    def _expand_plainly(self, worker: Worker) -> None:
        """Judge and expand the states that wait for a worker's missing paths."""
        words = self.visited.words
        states = bytes_of(self.level.rows.states()[self._put_off(worker)[:, PutOff.STATE]])
        with self.budget.expanding(len(states)):
            successors, coverage = self.expander.explore(states, self.decided, self.found, acting=self.acting)
        for number, each in enumerate(coverage):
            worker.output.enabled[number] += each.enabled
            worker.output.taken[number] += each.taken
            worker.output.unchanging[number] += each.taken - each.changing
            worker.output.bounded[number] += each.bounded
        if successors:
            actions = np.array([*successors.values()], np.uint16)
            worker.unsent = Unsent(words_of(successors, 8 * words).reshape(-1), actions)

    def _has_room(self, worker: Worker) -> bool:
        """Send what was found in plain Python; whether the outbox then has room for the successors of a state."""
        if worker.unsent is None:
            return True
        states, actions, first = worker.unsent
        sent = storing.post(self.shape, states, actions, first, worker.outbox)
        worker.unsent = None if sent == len(actions) else Unsent(states, actions, sent)
        room = worker.outbox.room - self.tables.actions
        return int(worker.outbox.count.max()) < room and time.perf_counter() < self.look_again

    def _deliver(self) -> None:
        """Let every partition add the states sent to it."""
        total = int(self.sent.count.sum())
        if not total:
            return
        self.visited.require_room(self.sent)
        parts = len(self.workers) if total > WORK_ITEM else 1
        bounds = [PARTITIONS * part // parts for part in range(parts + 1)]

        def deliver(part: int) -> None:
            self.visited.insert(bounds[part], bounds[part + 1], self.sent, self.workers[part].scratch)

        if parts == 1:
            deliver(0)
        else:
            self.each(deliver, range(parts))


def _run(work: Callable[[], None], done: Future[None], held: DeferredSignals) -> None:
    """Do a worker's work; an exception goes to the worker, except Ctrl-C."""
    try:
        with held.through():
            work()
    except Exception as failure:
        done.set_exception(failure)
    else:
        done.set_result(None)


def _states_in(ranges: Array) -> int:
    return int((ranges[:, StateRange.BEHIND] - ranges[:, StateRange.FIRST]).sum())


def _work_items(ranges: Array) -> list[Array]:
    """A level in pieces that are worth a call."""
    pieces = max(1, min(len(ranges), _states_in(ranges) // WORK_ITEM))
    return [part for part in np.array_split(ranges, pieces) if len(part)]
