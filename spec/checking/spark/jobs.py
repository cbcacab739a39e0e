"""The Spark jobs: one expands and settles a level, others trace a path back.

A task expands a share of the level. The successors go to the task that has their bucket. It drops those already
visited, evaluates properties in the new ones, and writes them.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from spec.checking.runs.discoveries import Predecessor, keep_lowest
from spec.checking.runs.rundir import RunDirectory
from spec.checking.spark.report import Report
from spec.checking.spark.session import in_workers
from spec.checking.spark.stages import BLOCKS, Job
from spec.checking.spark.worker_state import BucketRange

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
