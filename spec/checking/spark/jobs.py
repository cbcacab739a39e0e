"""The Spark jobs: a level is expanded and settled in one, and a path is followed back in others.

Expanding takes shares of the level, whichever way the states lie in them. The successors are brought to the
task that has their bucket, which drops what was visited, judges what is new and writes it down. What is to be
counted travels with the rows and is collected from the tasks that count, never in accumulators: a task that is
done twice is counted once.

A worker keeps, from job to job, the model and the visited states of the buckets it was given. It may lose them
or be given other buckets: `Visited` catches up from the files of the levels that are committed.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from spec.checking.endings import Arrival
from spec.checking.model import Model
from spec.checking.rundir import RunDirectory, Visited, buckets_of, words_of
from spec.checking.spark.work import Report, Work
from spec.language.state import Values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGEST_SHARE = 20_000
"""States that a task expands: some seconds, which are lost when its worker is."""
LARGE_LEVEL = 100_000
"""States in a level whose successors are settled bucket by bucket, so that no task holds too many of them."""
BATCH = 20_000
"""Rows that are handed to Spark at once."""


class Piece(NamedTuple):
    """A run of states in the file of a bucket."""

    bucket: int
    start: int
    stop: int


@dataclass(frozen=True)
class Job:
    """What is sent to the workers: what is explored, and which level of it."""

    directory: RunDirectory
    specification: bytes
    """Pickled."""
    properties: tuple[int, ...]
    level: int
    """The level whose states are expanded; it is committed."""
    decided: frozenset[int]
    """Properties that were decided before."""
    shares: tuple[tuple[Piece, ...], ...]
    """The pieces of the level, task by task."""


def shares(directory: RunDirectory, level: int, parallelism: int) -> tuple[tuple[Piece, ...], ...]:
    """A level in equal shares, one for each core or, if they would be too large, more."""
    files = directory.committed(level)
    rows = sum(file.rows for file in files)
    tasks = min(rows, max(parallelism, -(-rows // LARGEST_SHARE)))
    bounds = [rows * task // tasks for task in range(1, tasks + 1)]
    divided: list[list[Piece]] = [[]]
    done = 0
    for file in files:
        start = 0
        while start < file.rows:
            if done == bounds[len(divided) - 1]:
                divided.append([])
            stop = min(file.rows, start + bounds[len(divided) - 1] - done)
            divided[-1].append(Piece(file.bucket, start, stop))
            done += stop - start
            start = stop
    return tuple(map(tuple, divided))


# What the driver asks for.


def expand_level(session: SparkSession, job: Job, parallelism: int) -> list[Report]:
    """Expand a level, and write the next one to attempts."""
    from pyspark.sql.functions import col

    def expand(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return expand_shares(job, batches)

    def settle(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return settle_buckets(job, batches)

    rows = sum(piece.stop - piece.start for share in job.shares for piece in share)
    buckets = job.directory.buckets
    tasks = buckets if rows > LARGE_LEVEL else min(buckets, parallelism)
    expanded = session.range(0, len(job.shares), 1, len(job.shares)).mapInArrow(expand, SUCCESSORS)
    settled = expanded.repartitionById(tasks, col("bucket") % tasks).mapInArrow(settle, "report binary")
    return [pickle.loads(row.report) for row in settled.collect()]


def find_arrivals(session: SparkSession, job: Job, targets: frozenset[bytes]) -> dict[bytes, Arrival]:
    """The lowest way in which each of the targets is reached from the level."""

    def find(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return find_in_shares(job, targets, batches)

    lowest: dict[bytes, Arrival] = {}
    found = session.range(0, len(job.shares), 1, len(job.shares)).mapInArrow(find, "arrivals binary")
    for row in found.collect():
        _keep_lowest(lowest, pickle.loads(row.arrivals))
    return lowest


# What the workers do.

SUCCESSORS = "bucket int, state binary, action int, report binary"
"""A successor of the level, in its bucket, with the first action that leads to it; or, at the end, a report."""

_SUCCESSORS = pa.schema(
    [("bucket", pa.int32()), ("state", pa.binary()), ("action", pa.int32()), ("report", pa.binary())]
)


def expand_shares(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The successors of some shares, each once, and the report on them."""
    bench = bench_for(job)
    report, reached = bench.work.report(), dict[Values, int]()
    for states in bench.pieces(job, batches):
        bench.work.expand(states, job.decided, report, reached)
    successors = list(bench.work.packed(reached).items())
    for start in range(0, len(successors), BATCH):
        some = successors[start : start + BATCH]
        packed = [state for state, _ in some]
        buckets = buckets_of(words_of(packed, bench.work.width), job.directory.buckets)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(buckets, pa.int32()),
                pa.array(packed, pa.binary()),
                pa.array([action for _, action in some], pa.int32()),
                pa.nulls(len(some), pa.binary()),
            ],
            schema=_SUCCESSORS,
        )
    last = {"bucket": 0, "state": None, "action": None, "report": pickle.dumps(report)}
    yield pa.RecordBatch.from_pylist([last], schema=_SUCCESSORS)


def settle_buckets(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The report on what is new in some buckets, which is then written, and on how it was reached."""
    bench = bench_for(job)
    report = bench.work.report()
    reached: dict[int, dict[bytes, int]] = {}
    for batch in batches:
        for bucket, state, action, part in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if part is not None:
                report.add(pickle.loads(part))
                continue
            states = reached.setdefault(bucket, {})
            if action < states.get(state, action + 1):
                states[state] = action
    for bucket, states in sorted(reached.items()):
        visited = bench.visited(bucket, job.level)
        settle(bench.work, visited, states, job.decided, report, bench.directory, job.level)
    yield pa.RecordBatch.from_pydict({"report": pa.array([pickle.dumps(report)], pa.binary())})


def find_in_shares(
    job: Job, targets: frozenset[bytes], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The lowest way in which each of the targets is reached from some shares."""
    bench = bench_for(job)
    lowest: dict[bytes, Arrival] = {}
    for states in bench.pieces(job, batches):
        _keep_lowest(lowest, bench.work.arrivals(states, targets))
    yield pa.RecordBatch.from_pydict({"arrivals": pa.array([pickle.dumps(lowest)], pa.binary())})


def settle(
    work: Work,
    visited: set[bytes],
    reached: dict[bytes, int],
    decided: frozenset[int],
    report: Report,
    directory: RunDirectory,
    level: int,
) -> None:
    """Judge what was not visited, count it, and write it to attempts of the next level."""
    new = sorted(reached.keys() - visited)
    work.judge(new, decided, report)
    for state in new:
        report.coverage[reached[state]].new_states += 1
    report.files += directory.write(level + 1, new)


@dataclass
class Bench:
    """What a worker keeps of a run."""

    directory: RunDirectory
    work: Work
    by_bucket: dict[int, Visited] = field(default_factory=dict)

    def pieces(self, job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[list[bytes]]:
        """The states of the shares whose numbers are in the batches, piece by piece, each in code order."""
        for batch in batches:
            for share in batch.column(0).to_pylist():
                for piece in job.shares[share]:
                    yield self.directory.read(job.level, piece.bucket)[piece.start : piece.stop]

    def visited(self, bucket: int, level: int) -> set[bytes]:
        """The states of a bucket, up to a level that is committed."""
        if bucket not in self.by_bucket:
            self.by_bucket[bucket] = Visited(self.directory, [bucket])
        return self.by_bucket[bucket].up_to(level)


_bench: Bench | None = None


def bench_for(job: Job) -> Bench:
    """The bench of a job's run; that of another run is cleared."""
    global _bench
    if _bench is None or _bench.directory != job.directory:
        model = Model(pickle.loads(job.specification))
        _bench = Bench(job.directory, Work(model, job.properties))
    return _bench


def _keep_lowest(lowest: dict[bytes, Arrival], found: dict[bytes, Arrival]) -> None:
    for target, arrival in found.items():
        if target not in lowest or arrival < lowest[target]:
            lowest[target] = arrival
