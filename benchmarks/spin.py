"""A model in Promela under SPIN: translated, compiled, run, and read.

`python -m benchmarks.spin kip-320 3-2-2-2 [SEARCH]...` does this for a model and its bounds, which `kip_320` and
`two_phase_commit` name.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks import process


class Model(NamedTuple):
    """A model in Promela with its bounds."""

    file: str
    """The name of the file beside this one."""
    macros: Mapping[str, int]


def kip_320(brokers: int, log_size: int, max_records: int, max_leader_epoch: int) -> Model:
    """Replication under kip-320."""
    record_bits = (max_records * (max_leader_epoch + 1)).bit_length()
    return Model(
        "kip320.pml",
        {
            "BROKERS": brokers,
            "LOG_SIZE": log_size,
            "MAX_RECORDS": max_records,
            "MAX_LEADER_EPOCH": max_leader_epoch,
            "RECORD_BITS": record_bits,
        },
    )


def two_phase_commit(managers: int) -> Model:
    """Two-phase commit."""
    return Model("two_phase_commit.pml", {"MANAGERS": managers})


MODELS: Final[Mapping[str, Callable[..., Model]]] = {"kip-320": kip_320, "two-phase-commit": two_phase_commit}


class Search(NamedTuple):
    """A search by SPIN: the options of the compiler, and those of the compiled search."""

    compiler: tuple[str, ...]
    options: tuple[str, ...]


SEARCHES: Final[Mapping[str, Search]] = {
    "bfs": Search(("-DBFS",), ()),
    "dfs": Search((), ("-m100000",)),
    # Without -DNO_HC it would store hashes of states, not the states.
    "bfs, 2 cores": Search(("-DBFS_PAR", "-DNO_HC"), ("-u2",)),
    "dfs, 2 cores": Search(("-DNCORE=2", "-DMEMLIM=8000"), ("-m100000",)),
}
ALWAYS: Final = ("-O2", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR")
HASH_TABLE: Final = "-w22"
"""Four million slots. They hold pointers; in a breadth-first search on two cores they hold the states themselves."""


class Found(NamedTuple):
    """SPIN's figures, under our names."""

    distinct: int
    generated: int
    """SPIN's transitions, which include the initial state."""
    depth: int | None
    """States on the longest of the shortest paths; a depth-first search does not know it."""
    seconds: float
    """Seconds of the search alone."""
    processor_seconds: float
    compiling: float
    """Seconds of SPIN and the C compiler before it."""
    megabytes: float
    """SPIN's own figure, with the whole hash table."""


def missing() -> str:
    """The missing programs, in one line with the remedy; empty if nothing is missing."""
    wanted = [name for name in ("spin", "cc") if shutil.which(name) is None]
    return f"no {' and no '.join(wanted)} here: apt-get install spin gcc" if wanted else ""


def explore(model: Model, search: str = "bfs") -> Found:
    """Explore all states.

    Raises:
        RuntimeError: a tool fails, a property does not hold, or the search was not exact or not complete.
    """
    how = SEARCHES[search]
    macros = [f"-D{name}={value}" for name, value in model.macros.items()]
    source = str(Path(__file__).with_name(model.file))
    with tempfile.TemporaryDirectory() as directory:
        translated = process.run(directory, "spin", *macros, "-o3", "-a", source)
        compiled = process.run(directory, "cc", *ALWAYS, *how.compiler, "-o", "pan", "pan.c")
        done = process.run(directory, "./pan", HASH_TABLE, *how.options)
    return _read(done, search, translated.seconds + compiled.seconds)


def _read(done: process.Finished, search: str, compiling: float) -> Found:
    said = done.output

    def number(pattern: str) -> float:
        found = re.search(pattern, said, re.MULTILINE)
        if found is None:
            raise RuntimeError(f"SPIN's output has no {pattern!r}:\n{said}")
        return float(found[1])

    unsound = [word for word in ("Search not completed", "max search depth too small", "error:") if word in said]
    if "Full statespace search" not in said or unsound or number(r"errors: (\d+)"):
        raise RuntimeError(f"not an exact search without errors:\n{said}")
    return Found(
        distinct=int(number(r"^ *(\S+) states, stored$")),
        generated=int(number(r"^ *(\S+) transitions")),
        depth=int(number(r"depth reached (\d+)")) + 1 if search.startswith("bfs") else None,
        seconds=done.seconds,
        processor_seconds=done.processor_seconds,
        compiling=compiling,
        megabytes=number(r"^ *(\S+)\s+total (?:actual|shared) memory usage"),
    )


def main(arguments: Sequence[str]) -> int:
    """Print the result of each search."""
    if why := missing():
        print(f"SPIN is left out: {why}")
        return 0
    name, bounds, *searches = arguments or ["kip-320", "3-2-2-2"]
    model = MODELS[name](*map(int, bounds.split("-")))
    for search in searches or SEARCHES:
        found = explore(model, search)
        print(f"{search}: {found}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
