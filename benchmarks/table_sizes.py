"""The size of the decision tables of Kafka's systems, the number of learned paths, and the rate of states.

`python -m benchmarks.table_sizes` explores `partitions` with two brokers and one partition completely, and then as
many states of `controller`. Both run on one worker of the local engine, learning included, each in a process of its
own. A line shows the states, the wall-clock seconds, the rate, and the processor seconds, which can be compared on a
busy machine (Spark's are those of its driver). It also shows the bits of a state, and their number of words; the
learned paths, the numbers of code that they make, and how many remain in the copy that is walked
(`spec.checking.local.tables`). `--instance` names other pinned instances, instead of the first. `--engine` adds other
engines, without the figures of tables. A completely explored instance must have the pinned figures on each engine;
otherwise the exit code is 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any, ClassVar, Final, NamedTuple
from unittest import mock

from spec.atlas.instances import PinnedInstance, figures_of, instances
from spec.checking import Engine, check
from spec.checking.local import LocalEngine
from spec.checking.local import engine as local_engine
from spec.checking.local.tables import DecisionTables
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine

FIRST: Final = "partitions, three deaths"
BESIDE: Final = "controller, requests are received"
ENGINES: Final[Mapping[str, Callable[[], Engine]]] = {
    "local": lambda: LocalEngine(workers=1),
    "local, two workers": lambda: LocalEngine(workers=2),
    "reference": ReferenceEngine,
    "spark": SparkEngine,
}


class Kept(DecisionTables):
    """Decision tables that remain after the search."""

    made: ClassVar[list[DecisionTables]] = []

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.made.append(self)


class Tables(NamedTuple):
    """The size of the learned tables."""

    bits: int
    """Bits of a state."""
    words: int
    """Words of 64 bits for a state."""
    paths: int
    numbers: int
    """Numbers in the trees of paths."""
    walked: int
    """Numbers in the copy that shares equal subtrees."""


class Explored(NamedTuple):
    """The result of a search."""

    states: int
    seconds: float
    processor: float
    """Processor seconds of this process."""
    is_pinned: bool
    """Whether it has the pinned figures; true if it was cut off."""
    tables: Tables | None
    """None if there are none, or in other processes only."""


def explore(instance: PinnedInstance, engine: str, max_states: int | None = None) -> Explored:
    """Explore an instance completely, or up to a number of states."""
    Kept.made.clear()
    before = time.process_time()
    with mock.patch.object(local_engine, "DecisionTables", Kept):
        found = check(
            instance.specification(),
            engine=ENGINES[engine](),
            keep_going=instance.keep_going,
            properties=instance.properties,
            max_states=max_states,
        )
    processor = time.process_time() - before
    is_pinned = max_states is not None or figures_of(found) == instance.figures()
    tables = size_of(Kept.made[0]) if engine.startswith("local") else None
    return Explored(found.distinct_states, found.seconds, processor, is_pinned, tables)


def size_of(learned: DecisionTables) -> Tables:
    """The size of these tables."""
    layout = learned.model.layout
    return Tables(layout.width, layout.words, learned.learned, learned.code.used, len(learned.program().compact))


def row(instance: PinnedInstance, engine: str, explored: Explored) -> str:
    """The line of a search."""
    states, seconds, processor, _, tables = explored
    cells = f"{instance.name:36} {engine:18} {states:11,} {seconds:8.2f} {states / seconds:10,.0f} {processor:9.2f}"
    if tables is None:
        return cells
    return f"{cells} {tables.bits:5} {tables.words:5} {tables.paths:7,} {tables.numbers:9,} {tables.walked:8,}"


def main() -> int:
    """Print a line for each search."""
    known = {each.name: each for each in instances()}
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--instance", action="append", choices=known, metavar="NAME", help="may be repeated")
    asked.add_argument("--engine", action="append", choices=ENGINES, default=[], help="may be repeated")
    arguments = asked.parse_args()
    head = f"{'instance':36} {'engine':18} {'states':>11} {'seconds':>8} {'states/s':>10} {'processor':>9}"
    print(f"{head} {'bits':>5} {'words':>5} {'paths':>7} {'numbers':>9} {'walked':>8}", flush=True)
    spawned = multiprocessing.get_context("spawn")
    is_pinned = True
    bounds: dict[str, int | None] = dict.fromkeys(arguments.instance or [FIRST])
    bounds.setdefault(BESIDE, known[next(iter(bounds))].distinct_states)
    for name, max_states in bounds.items():
        for engine in dict.fromkeys(["local", *arguments.engine]):
            with ProcessPoolExecutor(1, mp_context=spawned) as process:
                explored = process.submit(explore, known[name], engine, max_states).result()
            print(row(known[name], engine, explored), flush=True)
            is_pinned &= explored.is_pinned
    if not is_pinned:
        print("The figures differ from spec/atlas/instances.toml.")
    return 0 if is_pinned else 1


if __name__ == "__main__":
    sys.exit(main())
