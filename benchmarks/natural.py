"""Specifications in their natural idiom, on the engines: is the first idiom that comes to mind a fast one?

`python -m benchmarks.natural` explores each specification of `ROWS` completely on the engines reference, local and
auto, each in a process of its own. A line shows the states, the wall-clock seconds of the whole check on each engine
with the processor seconds behind them (all threads together, which can be compared on a busy machine), and how many
times as long local and auto take as reference. All kernels should be compiled before. The engines must find the same
states, steps and depth, and the pinned number of states; otherwise the exit code is 1. The reference engine is left
out where it would take an hour.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final, NamedTuple

from benchmarks.natural_specifications import CoffeeCan, Counter, DependentQuicksort, Quicksort, Sums, Votes
from examples.multi_paxos import MultiPaxos
from examples.paxos import Paxos
from spec.checking import check
from spec.language import Specification

ENGINES: Final = ("reference", "local", "auto")


class Row(NamedTuple):
    """A specification with its constants."""

    specification: Callable[[], Specification[Any]]
    states: int
    """Its distinct states; with symmetry, its orbits."""
    symmetry: bool = False
    engines: Collection[str] = ENGINES


ROWS: Final[Mapping[str, Row]] = {
    "Paxos, 3 ballots": Row(lambda: Paxos(ballots=3), 185_369),
    "MultiPaxos, --symmetry": Row(MultiPaxos, 343_796, symmetry=True, engines=("local", "auto")),
    "sums over a set of 18": Row(Sums, 262_144),
    "votes counted in a mapping": Row(Votes, 70_903),
    "quicksort, choices in a guard": Row(Quicksort, 4_548),
    "quicksort, dependent choices": Row(DependentQuicksort, 4_548),
    "a counter to 20,000": Row(Counter, 20_001),
    "coffee can, 315 beans": Row(CoffeeCan, 50_085),
}


class Explored(NamedTuple):
    """A search, and what it took."""

    states: int
    generated: int
    depth: int
    seconds: float
    """Wall-clock seconds of the check."""
    worked: float
    """Processor seconds of the check, of all threads."""
    engine: str
    """The engine that explored last."""


def explore(name: str, engine: str) -> Explored:
    """Explore a row's specification."""
    row = ROWS[name]
    specification, began, working = row.specification(), time.perf_counter(), time.process_time()
    found = check(specification, engine=engine, symmetry=row.symmetry)
    seconds, worked = time.perf_counter() - began, time.process_time() - working
    return Explored(found.distinct_states, found.generated_states, found.depth, seconds, worked, found.engine)


def in_a_process(name: str, engine: str) -> Explored:
    """The same in a process of its own, so that each begins with nothing loaded."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(explore, name, engine).result()


def differences(row: Row, found: Mapping[str, Explored]) -> list[str]:
    """The engines whose figures are not those of the first one, or whose number of states is not the pinned one."""
    expected = next(iter(found.values()))
    return [engine for engine, its in found.items() if its[:3] != expected[:3] or its.states != row.states]


def line(name: str, found: Mapping[str, Explored]) -> str:
    """A line of the table."""
    cells = [f"{name:30}", f"{next(iter(found.values())).states:9,}"]
    cells += [
        f"{found[engine].seconds:8.2f} ({found[engine].worked:6.2f})" if engine in found else f"{'':17}"
        for engine in ENGINES
    ]
    for engine in ENGINES[1:]:
        ratio = found[engine].worked / found["reference"].worked if found.keys() >= {engine, "reference"} else None
        cells.append(f"{'':6}" if ratio is None else f"{ratio:6.2f}")
    return " ".join([*cells, f" {found['auto'].engine}" if "auto" in found else ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Explore specifications in their natural idiom on the engines.")
    parser.add_argument("--only", action="append", choices=ROWS, help="a row; may be given several times")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="may be given several times")
    asked = parser.parse_args(arguments)
    heads = [f"{f'{engine} (worked)':>17}" for engine in ENGINES]
    print(f"{'specification':30} {'states':>9} {' '.join(heads)} {'local':>6} {'auto':>6}  auto ends on", flush=True)
    code = 0
    for name in asked.only or ROWS:
        engines = [engine for engine in asked.engine or ENGINES if engine in ROWS[name].engines]
        found = {engine: in_a_process(name, engine) for engine in engines}
        if found:
            print(line(name, found), flush=True)
        if wrong := differences(ROWS[name], found) if found else []:
            print(f"  the figures differ on {', '.join(wrong)}")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
