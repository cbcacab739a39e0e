"""The Spark jobs and their stages: one job expands and settles a level, in a stage each; others trace a path back.

A task expands a share of the level. The successors go to the task that has their bucket. It drops those already
visited, evaluates properties in the new ones, and writes them.

A worker keeps its `WorkerState` from job to job: what it learned, and the visited states of its buckets. It may lose
that state or get other buckets. Whatever is missing is read from the files of committed levels, or learned again.

Between the stages a row is a block of packed states in sequence, so that no code handles states one by one. Counts
travel along in rows and are collected from the tasks, never in accumulators: a task that runs twice is counted once.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from spec.checking.code.source import unpickled
from spec.checking.local.jit import Array
from spec.checking.machine.memory import Budget, OutOfMemory, private
from spec.checking.model import EvaluationFailed, Model, OpaqueRuleFound
from spec.checking.runs.discoveries import Predecessor, keep_lowest
from spec.checking.runs.interned_values import InternedValues, meet, read, values_met, written
from spec.checking.runs.level_discoveries import STEP, LocatedFailure
from spec.checking.runs.rundir import RunDirectory
from spec.checking.spark.allotment import CODE, WORK, MemoryQuota
from spec.checking.spark.exchange import ByBucket
from spec.checking.spark.session import cores, in_workers
from spec.checking.spark.work import Report
from spec.checking.spark.worker_state import BucketRange, WorkerState, work_on
from spec.language.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Stages.


BLOCK = 32_768
"""The most states in a row. Spark counts rows when it passes them on."""
ROW = 1 << 20
"""Approximate bytes of a row, if states are wide."""
ROWS = 4
"""Rows that are passed to Spark at once: Java holds some of these batches in memory, outside its heap."""


@dataclass(frozen=True)
class Job:
    """The message to the workers: the subject of the exploration, and the level."""

    directory: RunDirectory
    specification: bytes
    """Pickled, with the goal."""
    properties: tuple[int, ...]
    by_orbits: bool
    """Whether each state represents its orbit."""
    opaque_rules: frozenset[str]
    """See `Model.opaque_rules`."""
    folds: bool
    """See `Model.folds`."""
    level: int
    """The level whose states are expanded; it is committed."""
    decided: frozenset[int]
    """Properties that were decided before."""
    shares: tuple[tuple[BucketRange, ...], ...]
    """The ranges of the level, task by task."""
    work: int | None
    """The quota of a worker in bytes; None: half of its share of its machine."""
    interned: InternedValues
    """The interned values that occur down to the level, as JSON."""
    compared: int
    """The number of states compared one by one before, see `Symmetry.examine`."""
    settlers: int
    """Tasks that settle the next level. Task n has the buckets whose number modulo this is n."""


BLOCKS = "bucket int, states binary, actions binary, interned binary, report binary"
"""Successors of the level in one bucket, with the first action that leads to each, and the interned values that the
worker has met beyond the job's; or, at the end, a report."""

_BLOCKS = pa.schema(
    [
        ("bucket", pa.int32()),
        *((name, pa.binary()) for name in ("states", "actions", "interned", "report")),
    ]
)


def expand(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The successors of some shares, each once, and the report on them."""
    with _worker_for(job) as worker:
        report = Report.on_nothing(worker.work.model)
        report.workers.add(_this_process())
        with _reporting(report, worker.work.model), report.printing():
            for share in _numbers(batches):
                states = worker.states(job.level, job.shares[share])
                for found in worker.expand(states, job.decided, report, job.directory.buckets):
                    yield from _rows(found, _met_beyond(job, worker.work.model))
        last = {"bucket": 0, "states": None, "actions": None, "interned": None, "report": pickle.dumps(report)}
        yield pa.RecordBatch.from_pylist([last], schema=_BLOCKS)


def settle(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The report on the new states in some buckets, which are then written."""
    with _worker_for(job) as worker:
        report = Report.on_nothing(worker.work.model)
        blocks = _blocks(batches, worker.work.words, report, partial(meet, worker.work.model.layout))
        first = next(blocks, None)
        if first is not None:
            report.workers.add(_this_process())
            buckets = range(first.bucket % job.settlers, job.directory.buckets, job.settlers)
            each = ((block.states, block.actions) for block in chain([first], blocks))
            with _reporting(report, worker.work.model), report.printing():
                worker.settle(each, buckets, job.level, job.decided, report, read(job.interned), job.compared)
        yield pa.RecordBatch.from_pydict({"report": pa.array([pickle.dumps(report)], pa.binary())})


def find(job: Job, targets: frozenset[bytes], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The lowest predecessor of each target in some shares."""
    with _worker_for(job) as worker:
        lowest: dict[bytes, Predecessor] = {}
        opaque_rules: set[str] = set()
        try:
            for share in _numbers(batches):
                keep_lowest(lowest, worker.work.predecessors(worker.states(job.level, job.shares[share]), targets))
        except OpaqueRuleFound as seen:
            opaque_rules.add(seen.rule)
        found = pickle.dumps((lowest, opaque_rules))
        yield pa.RecordBatch.from_pydict({"predecessors": pa.array([found], pa.binary())})


_worker: WorkerState | None = None
_began: tuple[int, int] = 0, 0
"""This process, and the bytes that it had taken when its first job began."""


def _quota_of(job: Job) -> MemoryQuota:
    """The quota of this worker, whatever it did before."""
    global _began
    if _began[0] != os.getpid():
        _began = os.getpid(), private()
    return MemoryQuota(max(WORK, Budget().size // cores()) if job.work is None else job.work, _began[1] + CODE)


def _this_process() -> str:
    """A name that no other worker of the session has."""
    return f"{socket.gethostname()}:{os.getpid()}"


@contextmanager
def _worker_for(job: Job) -> Iterator[WorkerState]:
    """The state of this worker for a job's run; it is dropped when something raises, and when another run begins."""
    global _worker
    worker = _worker
    if worker is None or not _is_for(worker, job):
        if worker is not None:
            gc.unfreeze()  # Spark collects the objects of the earlier run when this task has ended
        worker = _worker = None  # before a new one is made: each takes much memory
        quota = _quota_of(job)
        model = Model(*unpickled(job.specification), folds=job.folds)
        model.opaque_rules.update(job.opaque_rules)
        worker = WorkerState(job.directory, work_on(model, job.properties, quota, by_orbits=job.by_orbits), quota)
    meet(worker.work.model.layout, read(job.interned))
    try:
        yield worker
    except BaseException:
        _worker = None
        raise
    _worker = worker if _is_for(worker, job) else None  # what it learned is void if it found an opaque rule


def _is_for(worker: WorkerState, job: Job) -> bool:
    """Whether a worker has begun the run that a job continues."""
    model = worker.work.model
    known = worker.directory, worker.work.properties, frozenset(model.opaque_rules), model.folds
    return known == (job.directory, job.properties, job.opaque_rules, job.folds)


def _met_beyond(job: Job, model: Model) -> bytes | None:
    """The interned values that this worker has met, and that are not the job's; None if there are none."""
    beyond = values_met(model.layout, read(job.interned))
    return json.dumps(written(beyond)).encode() if beyond else None


@contextmanager
def _reporting(report: Report, model: Model) -> Iterator[None]:
    """Put exceptions and hidden changes into the report. A failure that cannot be repeated has no state and concerns
    the whole level.
    """
    try:
        yield
    except OutOfMemory:
        report.out_of_memory = True
    except OpaqueRuleFound as seen:
        report.opaque_rules.add(seen.rule)
    except UsageError as refused:  # values are distinguished
        report.refused = str(refused)
    except EvaluationFailed as error:
        report.failures.append(LocatedFailure(b"", STEP, error))
    report.hidden_state = report.hidden_state or model.hidden_state.changed()


# Rows.


class Block(NamedTuple):
    """States of a bucket, with the lowest action that leads to each."""

    bucket: int
    states: Array
    actions: Array


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    return (number for batch in batches for number in batch.column(0).to_pylist())


def _rows(found: ByBucket, interned: bytes | None) -> Iterator[pa.RecordBatch]:
    """States bucket by bucket, without copying them."""
    block = max(1, min(BLOCK, ROW // found.states[:1].nbytes)) if len(found.states) else BLOCK
    cuts = [
        (bucket, start, min(start + block, stop))
        for bucket, (start, stop) in enumerate(
            zip(found.bounds[:-1].tolist(), found.bounds[1:].tolist(), strict=True)
        )
        for start in range(start, stop, block)
    ]
    for at in range(0, len(cuts), ROWS):
        some = cuts[at : at + ROWS]
        first, last = some[0][1], some[-1][2]
        bounds = np.array([first, *(stop for _, _, stop in some)]) - first
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([bucket for bucket, _, _ in some], pa.int32()),
                _binary(found.states[first:last], bounds),
                _binary(found.actions[first:last], bounds),
                pa.array([interned] * len(some), pa.binary()),
                pa.nulls(len(some), pa.binary()),
            ],
            schema=_BLOCKS,
        )


def _binary(array: Array, bounds: Array) -> pa.Array:
    """The rows of an array up to each of these bounds, without copying them."""
    offsets = (bounds * array[:1].nbytes).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(array)])


def _blocks(
    batches: Iterable[pa.RecordBatch], words: int, report: Report, met: Callable[[InternedValues], object]
) -> Iterator[Block]:
    """The blocks that were sent. Reports that were sent with them are added to this one. `met` receives interned
    values before any state that may have them.
    """
    for batch in batches:
        bucket, states, actions, interned, reports = batch.columns
        for values in interned.unique().to_pylist():
            if values is not None:
                met(read(json.loads(values)))
        for row in range(batch.num_rows):
            if reports[row].is_valid:
                report.add(pickle.loads(reports[row].as_py()))
            else:
                yield Block(
                    bucket[row].as_py(),
                    _array(states[row], np.uint64).reshape(-1, words),
                    _array(actions[row], np.uint16),
                )


def _array(value: Any, dtype: Any) -> Array:
    return np.frombuffer(value.as_buffer(), dtype)


# Jobs.


LARGEST_SHARE = 1_000_000
"""The most states that a task expands: some seconds, lost if its worker is lost, and some hundred megabytes."""


def shares(
    directory: RunDirectory, level: int, parallelism: int, largest: int | None = None
) -> tuple[tuple[BucketRange, ...], ...]:
    """A level in equal shares: one for each core or, if that made them too large, two, and so on.

    A share is roughly a range of states in code order: the same part of each bucket. Such states are similar, with
    successors in common. Two shares of an election have 2.4 times as many successors, counted once per share, as
    there are states; shares of whole buckets have 3.8 times as many.
    """
    files = directory.committed(level)
    rows = sum(file.rows for file in files)
    most = LARGEST_SHARE if largest is None else min(largest, LARGEST_SHARE)
    tasks = parallelism * max(1, -(-rows // (parallelism * most)))
    divided = (
        tuple(
            BucketRange(file.bucket, file.rows * task // tasks, file.rows * (task + 1) // tasks)
            for file in files
            if file.rows * task // tasks < file.rows * (task + 1) // tasks
        )
        for task in range(tasks)
    )
    return tuple(filter(None, divided))


def expand_level(session: SparkSession, job: Job) -> list[Report]:
    """Expand a level, and write the new states of the next one to attempts."""
    from pyspark.sql.functions import col

    tasks, settlers = len(job.shares), job.settlers
    expanded = session.range(0, tasks, 1, tasks).mapInArrow(in_workers(session, "expand", job), BLOCKS)
    routed = expanded.repartitionById(settlers, col("bucket") % settlers)
    settled = routed.mapInArrow(in_workers(session, "settle", job), "report binary")
    return [pickle.loads(row.report) for row in settled.collect()]


def find_predecessors(
    session: SparkSession, job: Job, targets: frozenset[bytes]
) -> tuple[dict[bytes, Predecessor], set[str]]:
    """The lowest predecessor of each target in the level; and newly found opaque rules, see `Report.opaque_rules`."""
    tasks = len(job.shares)
    lowest: dict[bytes, Predecessor] = {}
    opaque_rules: set[str] = set()
    search = in_workers(session, "find", job, targets)
    for row in session.range(0, tasks, 1, tasks).mapInArrow(search, "predecessors binary").collect():
        found, seen = pickle.loads(row.predecessors)
        keep_lowest(lowest, found)
        opaque_rules |= seen
    return lowest, opaque_rules
