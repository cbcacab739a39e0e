"""The engines of this project, a hand-written search and SPIN on one model, in one table.

`python -m benchmarks.compare 3-2-2-2` is brokers, log size, records, highest leader epoch. Whoever counts otherwise
than the others is reported, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Final, NamedTuple

from benchmarks import kip320, spin
from spec.checking import check
from spec.systems.replication import Kip320

ENGINES: Final = ["reference", "local"]
"""The project's own, as `spec.checking.check` knows them."""

YARDSTICK: Final = "CPython port"


class Bounds(NamedTuple):
    """How large the model is."""

    brokers: int
    log_size: int
    max_records: int
    max_leader_epoch: int


class Row(NamedTuple):
    """What one of them needed, and what it counted."""

    distinct: int
    generated: int
    depth: int | None
    seconds: float
    megabytes: float


def own(engine: str, bounds: Bounds) -> Row:
    """One of this project's engines, with all that `check` does."""
    before = time.perf_counter()
    result = check(Kip320(**bounds._asdict()), engine=engine)
    seconds = time.perf_counter() - before
    if result.verdict != "holds":
        raise RuntimeError(f"{engine}: {result.verdict} {result.why}")
    return Row(result.distinct_states, result.generated_states, result.depth, seconds, peak())


def port(bounds: Bounds) -> Row:
    """The hand-written search."""
    before = time.perf_counter()
    counts = kip320.explore(*bounds)
    seconds = time.perf_counter() - before
    return Row(counts.distinct, counts.generated, counts.depth, seconds, peak())


def under_spin(search: str, bounds: Bounds) -> Row:
    """SPIN, without the time that compiling takes."""
    found = spin.explore(*bounds, search=search)
    return Row(found.distinct, found.generated, found.depth, found.seconds, found.megabytes)


def peak() -> float:
    """The most memory that this process has had."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1 << 20 if sys.platform == "darwin" else 1 << 10)


RUNS: Final[Mapping[str, Callable[[Bounds], Row]]] = {
    **{name: functools.partial(own, name) for name in ENGINES},
    YARDSTICK: port,
    **{f"SPIN {search}": functools.partial(under_spin, search) for search in spin.SEARCHES},
}


def alone(run: Callable[[Bounds], Row], bounds: Bounds) -> Row:
    """In a process of its own, so that nobody pays for another's memory."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(run, bounds).result()


def measure(names: list[str], bounds: Bounds, repeat: int) -> dict[str, Row]:
    """The fastest of several runs of each; in turn, so that all meet the machine in the same moods."""
    rows: dict[str, Row] = {}
    for _ in range(repeat):
        for name in names:
            row = alone(RUNS[name], bounds)
            rows[name] = min(rows.get(name, row), row, key=lambda each: each.seconds)
    return rows


def table(rows: Mapping[str, Row]) -> str:
    """One line for each."""
    head = ("distinct", "generated", "depth", "seconds", "states/s", "ratio", "MB")
    lines = [("", *head)]
    for name, row in rows.items():
        rate = f"{row.distinct / row.seconds:,.0f}"
        ratio = f"{rows[YARDSTICK].seconds / row.seconds:.2f}" if YARDSTICK in rows else "-"
        counts = f"{row.distinct:,}", f"{row.generated:,}", str(row.depth or "-")
        lines.append((name, *counts, f"{row.seconds:.2f}", rate, ratio, f"{row.megabytes:,.0f}"))
    return "\n".join(f"{name:<18}" + "".join(f"{cell:>12}" for cell in cells) for name, *cells in lines)


def agree(rows: Mapping[str, Row]) -> bool:
    """Whether all counted the same; not every search knows the depth."""
    depths = {row.depth for row in rows.values()} - {None}
    return len({(row.distinct, row.generated) for row in rows.values()}) == 1 and len(depths) <= 1


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Compare the engines on replication under kip-320.")
    parser.add_argument("bounds", nargs="?", default="3-2-2-2", help="brokers-log size-records-highest leader epoch")
    parser.add_argument("--only", action="append", choices=RUNS, help="may be given several times")
    parser.add_argument("--repeat", type=int, default=1, help="the fastest of so many runs counts")
    asked = parser.parse_args()
    names = asked.only or list(RUNS)
    if why := spin.missing():
        print(f"SPIN is left out: {why}")
        names = [name for name in names if not name.startswith("SPIN")]
    rows = measure(names, Bounds(*map(int, asked.bounds.split("-"))), asked.repeat)
    print(table(rows))
    if not agree(rows):
        print("They did not count the same.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
