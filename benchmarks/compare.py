"""The engines of this project beside other checkers and programs written by hand, on one model, in one table.

`python -m benchmarks.compare kip-320 3-2-2-2` explores replication; the bounds are brokers, log size, records and
highest leader epoch. `python -m benchmarks.compare two-phase-commit 8` explores two-phase commit of 8 managers. If a
program's counts differ from the others', that is reported, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple

import psutil

from benchmarks import kip320, plain_c, spin, stateright
from examples.two_phase_commit import TwoPhaseCommit
from spec.checking import Engine, check
from spec.checking.local import LocalEngine
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine
from spec.language import Specification
from spec.systems.replication import Kip320

CORES: Final = len(os.sched_getaffinity(0))
YARDSTICKS: Final = {
    "reference": "ref",
    "CPython port": "port",
    "plain C": "C",
    "SPIN bfs": "SPIN",
    "Stateright, one thread": "Stateright",
}
"""The programs to compare with, and their names in a narrow column."""
TOOLS: Final = {"plain C": plain_c.missing, "SPIN": spin.missing, "Stateright": stateright.missing}
"""By the first words of a program's name, a function that says which tool the program lacks."""


class Row(NamedTuple):
    """The cost and the counts of one program."""

    distinct: int
    generated: int
    depth: int | None
    seconds: float
    processor_seconds: float
    bytes_per_state: float | None
    """The allocation of its visited set, if known; otherwise the memory of its process."""
    keeps: str = "states"
    """What its visited set has of a state: the whole state, or a fingerprint, which two states may share."""


Run = Callable[..., Row]
"""Explores a model of the given bounds."""


def reference() -> Engine:
    """The simple and slow engine."""
    return ReferenceEngine()


def local(workers: int) -> Engine:
    """The compiled engine."""
    return LocalEngine(workers)


def on_spark() -> Engine:
    """The Spark engine; all levels but the smallest are jobs."""
    return SparkEngine(workers=CORES, driver_level=3_000)


def replication(brokers: int, log_size: int, max_records: int, max_leader_epoch: int) -> Specification[Any]:
    """Replication under kip-320."""
    return Kip320(brokers=brokers, log_size=log_size, max_records=max_records, max_leader_epoch=max_leader_epoch)


def two_phase_commit(managers: int) -> Specification[Any]:
    """Two-phase commit."""
    return TwoPhaseCommit(managers=managers)


def own(make: Callable[[], Engine], specify: Callable[..., Specification[Any]], *bounds: int) -> Row:
    """One of this project's engines: exploration with learning, without earlier compilation or startup."""
    memory, used = peak(), processor_seconds()
    engine = make()
    result = check(specify(*bounds), engine=engine)
    if result.verdict != "holds":
        raise RuntimeError(f"{engine.name}: {result.verdict} {result.why}")
    used, states = processor_seconds() - used, result.distinct_states
    each = result.bytes_per_state or (peak() - memory) / states
    return Row(states, result.generated_states, result.depth, result.seconds, used, each)


def port(*bounds: int) -> Row:
    """The hand-written search of replication."""
    before, memory, used = time.perf_counter(), peak(), processor_seconds()
    counts = kip320.explore(*bounds)
    seconds, used = time.perf_counter() - before, processor_seconds() - used
    each = (peak() - memory) / counts.distinct
    return Row(counts.distinct, counts.generated, counts.depth, seconds, used, each)


def in_c(managers: int) -> Row:
    """The search of two-phase commit in plain C, without compilation."""
    found = plain_c.explore(managers)
    each = found.allocated / found.distinct
    return Row(found.distinct, found.generated, found.depth, found.seconds, found.processor_seconds, each)


def under_spin(search: str, model: Callable[..., spin.Model], *bounds: int) -> Row:
    """SPIN, without compilation."""
    found = spin.explore(model(*bounds), search)
    each = found.megabytes * (1 << 20) / found.distinct
    return Row(found.distinct, found.generated, found.depth, found.seconds, found.processor_seconds, each)


def under_stateright(threads: int, managers: int) -> Row:
    """Stateright's own two-phase commit, without building."""
    found = stateright.explore(managers, threads)
    each = None if found.peak_memory is None else found.peak_memory / found.distinct
    return Row(*found[:3], found.seconds, found.processor_seconds, each, "fingerprints")


def peak() -> float:
    """The peak memory of this process, in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used * (1 if sys.platform == "darwin" else 1 << 10)


def processor_seconds() -> float:
    """The processor time of this process and its descendants, such as Spark's."""
    me = psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in (me, *me.children(recursive=True)))


KIP_320: Final[Mapping[str, Run]] = {
    "reference": partial(own, reference, replication),
    "CPython port": port,
    "local, one worker": partial(own, partial(local, 1), replication),
    "local": partial(own, partial(local, CORES), replication),
    "spark": partial(own, on_spark, replication),
    **{f"SPIN {search}": partial(under_spin, search, spin.kip_320) for search in spin.SEARCHES},
}
TWO_PHASE_COMMIT: Final[Mapping[str, Run]] = {
    "reference": partial(own, reference, two_phase_commit),
    "plain C": in_c,
    "local, one worker": partial(own, partial(local, 1), two_phase_commit),
    "local": partial(own, partial(local, CORES), two_phase_commit),
    **{f"SPIN {search}": partial(under_spin, search, spin.two_phase_commit) for search in spin.SEARCHES},
    "Stateright, one thread": partial(under_stateright, 1),
    "Stateright": partial(under_stateright, CORES),
}
MODELS: Final = {"kip-320": KIP_320, "two-phase-commit": TWO_PHASE_COMMIT}
"""The programs of each model. Those without a number of workers or threads use all cores."""


def alone(run: Run, bounds: tuple[int, ...]) -> Row:
    """Run in a separate process, so that no measurement includes another program's memory."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(run, *bounds).result()


def measure(runs: Mapping[str, Run], bounds: tuple[int, ...], repeat: int) -> dict[str, Row]:
    """The fastest of several runs of each, in alternation, so that all see the same load of the machine."""
    rows: dict[str, Row] = {}
    for _ in range(repeat):
        for name, run in runs.items():
            row = alone(run, bounds)
            rows[name] = min(rows.get(name, row), row, key=lambda each: each.seconds)
    return rows


def table(rows: Mapping[str, Row]) -> str:
    """A line for each program; ratios are of speed."""
    beside = [name for name in YARDSTICKS if name in rows]
    head = ("distinct", "generated", "depth", "seconds", "states/s", "processor s", "bytes/state", "keeps")
    lines = [("", *head, *(f"x {YARDSTICKS[name]}" for name in beside))]
    for name, row in rows.items():
        counts = f"{row.distinct:,}", f"{row.generated:,}", str(row.depth or "-")
        times = f"{row.seconds:.2f}", f"{row.distinct / row.seconds:,.0f}", f"{row.processor_seconds:.2f}"
        memory = "-" if row.bytes_per_state is None else f"{row.bytes_per_state:,.0f}", row.keeps
        lines.append(
            (name, *counts, *times, *memory, *(f"{rows[each].seconds / row.seconds:.1f}" for each in beside))
        )
    return "\n".join(f"{name:<22}" + "".join(f"{cell:>13}" for cell in cells) for name, *cells in lines)


def agree(rows: Mapping[str, Row]) -> bool:
    """Whether all counts are equal; not every search knows the depth."""
    depths = {row.depth for row in rows.values()} - {None}
    return len({(row.distinct, row.generated) for row in rows.values()}) == 1 and len(depths) <= 1


def installed(names: list[str]) -> list[str]:
    """The programs whose tools are here; a line is printed for each tool that is missing."""
    for tool, missing in TOOLS.items():
        needing = [name for name in names if name.startswith(tool)]
        if needing and (why := missing()):
            print(f"{tool} is left out: {why}")
            names = [name for name in names if name not in needing]
    return names


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Compare the engines with other programs on one model.")
    parser.add_argument("model", choices=MODELS)
    parser.add_argument(
        "bounds",
        help="3-2-2-2 of kip-320: brokers-log size-records-highest leader epoch; 8 of two-phase-commit: managers",
    )
    every = list(dict.fromkeys(name for runs in MODELS.values() for name in runs))
    parser.add_argument("--only", action="append", choices=every, help="may be given several times")
    parser.add_argument("--without", action="append", choices=every, default=[], help="may be given several times")
    parser.add_argument("--repeat", type=int, default=1, help="number of runs; the fastest counts")
    asked = parser.parse_args()
    runs = MODELS[asked.model]
    if unknown := [name for name in asked.only or () if name not in runs]:
        parser.error(f"{asked.model} has no {'; '.join(unknown)}. It has: {'; '.join(runs)}")
    names = installed([name for name in asked.only or runs if name not in asked.without])
    if not names:
        parser.error("no program is left")
    rows = measure({name: runs[name] for name in names}, tuple(map(int, asked.bounds.split("-"))), asked.repeat)
    print(table(rows))
    if not agree(rows):
        print("The counts differ.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
