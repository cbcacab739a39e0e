"""How long a person waits for the verdict of a first command, and of one that is given again.

`python -m benchmarks.start` copies the packages to where nothing of them was ever run, so that neither Python's code
nor a kernel is compiled, and gives each command there, from the start of the process to its end. Then it gives it
again, with everything compiled, and tells of those the best and the median. Each row begins with a copy of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.tutorial import TUTORIAL, Reader, blocks

HOME: Final = Path(__file__).parents[1]
PACKAGES: Final = ("election", "statemachines", "spec")
COMMANDS: Final = (
    "check lease.py:Lease",  # the tutorial's first
    "check replication --set brokers=2",
    "check controller-election --set brokers=2 --set elections=1",
    "check controller-election --set brokers=2",
    "check controller-election --set brokers=2 --engine local",
)
HEADINGS: Final = (
    "command",
    "states",
    "first time",
    "compiling",
    "engine",
    "again",
    "of a processor",
    "engine",
)


class Start(NamedTuple):
    """What a command came to."""

    seconds: float
    """By the clock on the wall."""
    worked: float
    """Seconds of a processor, all threads and children together: what can be compared on a busy machine."""
    result: dict[str, Any]


def copied(place: Path) -> None:
    """The packages, with nothing compiled, and the tutorial's file."""
    for package in PACKAGES:
        shutil.copytree(HOME / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
    blocks(TUTORIAL, Reader(place))[0].evaluate()


def start(command: str, place: Path) -> Start:
    """Give a command to the packages in a place, in which all that is compiled is kept."""
    began, worked = time.perf_counter(), _worked()
    run = subprocess.run(
        [sys.executable, "-m", "spec", *command.split(), "--json"],
        cwd=place,
        env={**os.environ, "NUMBA_CACHE_DIR": str(place / "kernels")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return Start(time.perf_counter() - began, _worked() - worked, json.loads(run.stdout))


def _worked() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _told(seconds: list[float]) -> str:
    return f"{min(seconds):.2f} to {statistics.median(seconds):.2f} s"


def main() -> None:
    """Print a line for each command."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument(
        "--repeat", type=int, default=10, metavar="N", help="of the second start, whose best and median are told"
    )
    asked.add_argument("--only", action="append", metavar="TEXT", help="only commands that contain this")
    given = asked.parse_args()
    print(f"| {' | '.join(HEADINGS)} |\n{'|---' * len(HEADINGS)}|")
    for command in COMMANDS:
        if given.only and not any(text in command for text in given.only):
            continue
        with tempfile.TemporaryDirectory(prefix="kafkaspec-") as folder:
            place = Path(folder)
            copied(place)
            first = start(command, place)
            if first.result["engine"] == "reference":  # it has compiled nothing for those that come later
                start(f"{command} --engine local", place)
            again = [start(command, place) for _ in range(given.repeat)]
        print(
            f"| `{command}` | {first.result['distinct_states']:,} | {first.seconds:.1f} s"
            f" | {first.result['compile_seconds']:.1f} s | {first.result['engine']}"
            f" | {_told([each.seconds for each in again])} | {_told([each.worked for each in again])}"
            f" | {again[-1].result['engine']} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
