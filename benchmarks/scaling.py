"""How the local engine's cost grows, from ten thousand states to beyond fifty million.

`python -m benchmarks.scaling` explores instances of both systems, each in a process of its own, and prints a line for
each; `--most N` skips larger ones. The largest are cut off by a bound on states.
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final, NamedTuple

from spec.checking import Result, check
from spec.language import Specification
from spec.systems.controller_election import ControllerElection
from spec.systems.replication import Replication


class Scale(NamedTuple):
    """An instance, and its approximate number of states."""

    system: str
    constants: dict[str, Any]
    states: float
    max_states: int | None = None


KIP_320: Final = {"truncation": "kip-320"}
"""The published version of replication."""
SYSTEMS: Final[dict[str, type[Specification]]] = {
    "controller-election": ControllerElection,
    "replication": Replication,
}
SIZES: Final = (
    Scale("controller-election", {"brokers": 2, "elections": 1}, 1.3e4),
    Scale("controller-election", {"brokers": 2}, 1.3e5),
    Scale("controller-election", {"elections": 1, "crashes": False, "operator_deletes": False}, 7.4e5),
    Scale("controller-election", {}, 4.8e7),
    Scale("controller-election", {"elections": 3}, 5e7, 50_000_000),
    Scale("replication", {**KIP_320, "brokers": 2, "max_leader_epoch": 2}, 6e3),
    Scale("replication", KIP_320, 4e4),
    Scale("replication", {**KIP_320, "max_leader_epoch": 2}, 7.4e5),
    Scale("replication", {**KIP_320, "log_size": 3, "max_records": 3, "max_leader_epoch": 2}, 4.1e6),
    Scale("replication", {**KIP_320, "log_size": 4, "max_records": 4, "max_leader_epoch": 3}, 5e7, 50_000_000),
)


def explore(size: Scale) -> Result:
    """The local engine's result."""
    return check(SYSTEMS[size.system].of(**size.constants), engine="local", max_states=size.max_states)


def main() -> None:
    """Print a line for each instance."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--most", type=float, default=float("inf"), metavar="N", help="leave out larger instances")
    most = asked.parse_args().most
    print(
        f"{'system':20} {'states':>12} {'generated':>13} {'seconds':>8} {'states/s':>11} {'bytes/state':>11}  verdict"
    )
    spawned = multiprocessing.get_context("spawn")
    for size in SIZES:
        if size.states > most:
            continue
        with ProcessPoolExecutor(1, mp_context=spawned) as process:
            found = process.submit(explore, size).result()
        rate = found.distinct_states / found.seconds
        print(
            f"{size.system:20} {found.distinct_states:12,} {found.generated_states:13,} {found.seconds:8.2f}"
            f" {rate:11,.0f} {found.bytes_per_state or 0:11.1f}  {found.verdict}, {size.constants}",
            flush=True,
        )


if __name__ == "__main__":
    main()
