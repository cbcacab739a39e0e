"""The memory of a whole run, compared with its budget.

`python -m benchmarks.memory_budgets` runs the command once for each engine and budget, on an instance that is too
large for them. It adds up the PSS of its process and all descendants every 50 ms, and prints a line for each run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

from spec.checking.machine.memory import MB, of_tree, size_of, written

EVERY: Final = 0.05
"""Seconds between two samples."""
BUDGETS: Final = ("512M", "1G", "4G")
ENGINES: Final = ("local", "auto", "reference", "spark")
SYSTEM: Final = ("controller-election", "--set", "elections=3")


class Measurement(NamedTuple):
    """The measurement of a completed command."""

    code: int
    peak: int
    """In bytes, of the whole process tree."""
    seconds: float
    said: str
    """Its last line about the outcome."""


def measured(command: list[str]) -> Measurement:
    """Run a command, and measure the memory of it and its descendants."""
    began, peak = time.monotonic(), 0
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while run.poll() is None:
        peak = max(peak, of_tree(run.pid))
        time.sleep(EVERY)
    out, err = run.communicate()
    return Measurement(run.returncode, peak, time.monotonic() - began, _summary(out) or _summary(err))


def _summary(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    states = [
        f"{line.split(' distinct')[0]} states, engine {line.rpartition('engine ')[2]}"
        for line in lines
        if " distinct states" in line
    ]
    return (states or [line for line in lines if line.startswith("Error: ")] or [""])[0]


def main() -> None:
    """Print a line for each run."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--engine", action="append", choices=ENGINES, help="only this one; may be repeated")
    asked.add_argument("--memory", action="append", metavar="SIZE", help="only this budget; may be repeated")
    asked.add_argument("system", nargs="*", default=SYSTEM, help="the system, and more options after `--`")
    arguments = asked.parse_args()
    print(f"{'engine':10} {'budget':>7} {'peak MB':>8} {'of it':>6} {'exit':>5} {'seconds':>8}", flush=True)
    for engine in arguments.engine or ENGINES:
        for budget in arguments.memory or BUDGETS:
            size = size_of(budget)
            if size is None:
                asked.error(f"{budget} is not a size")
            command = [str(Path(sys.executable).with_name("kafkaspec")), "check", *arguments.system]
            found = measured([*command, "--engine", engine, "--memory", written(size)])
            print(
                f"{engine:10} {budget:>7} {found.peak // MB:8,} {found.peak / size:6.2f} {found.code:5}"
                f" {found.seconds:8.0f}  {found.said}",
                flush=True,
            )


if __name__ == "__main__":
    main()
