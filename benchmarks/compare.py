"""The engines of this project, a hand-written search and SPIN on one model, in one table.

`python -m benchmarks.compare 3-2-2-2` means brokers, log size, records, highest leader epoch. If a program's counts
differ from the others', that is reported, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Final, NamedTuple

from benchmarks import kip320, spin
from spec.checking import Engine, check
from spec.checking.local import LocalEngine
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine
from spec.systems.replication import Kip320

CORES: Final = len(os.sched_getaffinity(0))
YARDSTICKS: Final = {"reference": "ref", "CPython port": "port", "SPIN bfs": "SPIN"}
"""The programs to compare with, and their names in a narrow column."""


class Bounds(NamedTuple):
    """The size of the model."""

    brokers: int
    log_size: int
    max_records: int
    max_leader_epoch: int


class Row(NamedTuple):
    """The cost and the counts of one program."""

    distinct: int
    generated: int
    depth: int | None
    seconds: float
    cores: int
    bytes_per_state: float
    """The allocation of its visited set, if known; otherwise the memory of its process."""


def reference() -> Engine:
    """The simple and slow engine."""
    return ReferenceEngine()


def local(workers: int) -> Engine:
    """The compiled engine."""
    return LocalEngine(workers)


def on_spark() -> Engine:
    """The Spark engine; all levels but the smallest are jobs."""
    return SparkEngine(workers=CORES, driver_level=3_000)


def own(make: Callable[[], Engine], cores: int, bounds: Bounds) -> Row:
    """One of this project's engines: exploration with learning, without earlier compilation or startup."""
    before = peak()
    engine = make()
    result = check(Kip320(**bounds._asdict()), engine=engine)
    if result.verdict != "holds":
        raise RuntimeError(f"{engine.name}: {result.verdict} {result.why}")
    states = result.distinct_states
    each = result.bytes_per_state or (peak() - before) / states
    return Row(states, result.generated_states, result.depth, result.seconds, cores, each)


def port(bounds: Bounds) -> Row:
    """The hand-written search."""
    before, memory = time.perf_counter(), peak()
    counts = kip320.explore(*bounds)
    seconds = time.perf_counter() - before
    each = (peak() - memory) / counts.distinct
    return Row(counts.distinct, counts.generated, counts.depth, seconds, 1, each)


def under_spin(search: str, bounds: Bounds) -> Row:
    """SPIN, without compilation."""
    found = spin.explore(*bounds, search=search)
    each = found.megabytes * (1 << 20) / found.distinct
    return Row(found.distinct, found.generated, found.depth, found.seconds, 2 if "2 cores" in search else 1, each)


def peak() -> float:
    """The peak memory of this process, in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used * (1 if sys.platform == "darwin" else 1 << 10)


RUNS: Final[Mapping[str, Callable[[Bounds], Row]]] = {
    "reference": functools.partial(own, reference, 1),
    "CPython port": port,
    "local, one worker": functools.partial(own, functools.partial(local, 1), 1),
    "local": functools.partial(own, functools.partial(local, CORES), CORES),
    "spark": functools.partial(own, on_spark, CORES),
    **{f"SPIN {search}": functools.partial(under_spin, search) for search in spin.SEARCHES},
}


def alone(run: Callable[[Bounds], Row], bounds: Bounds) -> Row:
    """Run in a separate process, so that no measurement includes another program's memory."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(run, bounds).result()


def measure(names: list[str], bounds: Bounds, repeat: int) -> dict[str, Row]:
    """The fastest of several runs of each, in alternation, so that all see the same load of the machine."""
    rows: dict[str, Row] = {}
    for _ in range(repeat):
        for name in names:
            row = alone(RUNS[name], bounds)
            rows[name] = min(rows.get(name, row), row, key=lambda each: each.seconds)
    return rows


def table(rows: Mapping[str, Row]) -> str:
    """A line for each program; ratios are of speed."""
    beside = [name for name in YARDSTICKS if name in rows]
    head = ("distinct", "generated", "depth", "seconds", "states/s", "per core", "bytes/state")
    lines = [("", *head, *(f"x {YARDSTICKS[name]}" for name in beside))]
    for name, row in rows.items():
        rate = row.distinct / row.seconds
        counts = f"{row.distinct:,}", f"{row.generated:,}", str(row.depth or "-")
        figures = f"{row.seconds:.2f}", f"{rate:,.0f}", f"{rate / row.cores:,.0f}", f"{row.bytes_per_state:,.0f}"
        lines.append((name, *counts, *figures, *(f"{rows[each].seconds / row.seconds:.1f}" for each in beside)))
    return "\n".join(f"{name:<18}" + "".join(f"{cell:>12}" for cell in cells) for name, *cells in lines)


def agree(rows: Mapping[str, Row]) -> bool:
    """Whether all counts are equal; not every search knows the depth."""
    depths = {row.depth for row in rows.values()} - {None}
    return len({(row.distinct, row.generated) for row in rows.values()}) == 1 and len(depths) <= 1


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Compare the engines on replication under kip-320.")
    parser.add_argument("bounds", nargs="?", default="3-2-2-2", help="brokers-log size-records-highest leader epoch")
    parser.add_argument("--only", action="append", choices=RUNS, help="may be given several times")
    parser.add_argument("--without", action="append", choices=RUNS, default=[], help="may be given several times")
    parser.add_argument("--repeat", type=int, default=1, help="number of runs; the fastest counts")
    asked = parser.parse_args()
    names = asked.only or [name for name in RUNS if name not in asked.without]
    if why := spin.missing():
        print(f"SPIN is left out: {why}")
        names = [name for name in names if not name.startswith("SPIN")]
    rows = measure(names, Bounds(*map(int, asked.bounds.split("-"))), asked.repeat)
    print(table(rows))
    if not agree(rows):
        print("The counts differ.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
