"""The wait for the verdict of a first command, and of a repeated one.

`python -m benchmarks.start` copies the packages to a new folder, so that neither Python's code nor a kernel is
compiled. It runs each command there, and measures from the start of the process to its end. Then it repeats the
command, with everything compiled, and prints the best and the median time. Each row begins with a new copy.
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
    "of a processor",
    "compiling",
    "engine",
    "again",
    "of a processor",
    "engine",
)


class Start(NamedTuple):
    """The result of a command."""

    seconds: float
    """Wall-clock seconds."""
    worked: float
    """Processor seconds of all threads and children together, which can be compared on a busy machine."""
    result: dict[str, Any]


def copied(place: Path) -> None:
    """Copy the packages, with nothing compiled, and the tutorial's file."""
    for package in PACKAGES:
        shutil.copytree(HOME / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
    blocks(TUTORIAL, Reader(place))[0].evaluate()


def start(command: str, place: Path) -> Start:
    """Run a command with the packages in a folder, which also keeps everything compiled."""
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


def _range(seconds: list[float]) -> str:
    return f"{min(seconds):.2f} to {statistics.median(seconds):.2f} s"


def main() -> None:
    """Print a line for each command."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument(
        "--repeat",
        type=int,
        default=10,
        metavar="N",
        help="number of repeated runs",
    )
    asked.add_argument("--only", action="append", metavar="TEXT", help="only commands that contain this")
    arguments = asked.parse_args()
    print(f"| {' | '.join(HEADINGS)} |\n{'|---' * len(HEADINGS)}|")
    for command in COMMANDS:
        if arguments.only and not any(text in command for text in arguments.only):
            continue
        with tempfile.TemporaryDirectory(prefix="kafkaspec-") as folder:
            place = Path(folder)
            copied(place)
            first = start(command, place)
            if first.result["engine"] == "reference":  # it has compiled nothing for the later runs
                start(f"{command} --engine local", place)
            again = [start(command, place) for _ in range(arguments.repeat)]
        print(
            f"| `{command}` | {first.result['distinct_states']:,} | {first.seconds:.1f} s | {first.worked:.1f} s"
            f" | {first.result['compile_seconds']:.1f} s | {first.result['engine']}"
            f" | {_range([each.seconds for each in again])}"
            f" | {_range([each.worked for each in again])}"
            f" | {again[-1].result['engine']} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
