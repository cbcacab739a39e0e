"""How many random runs find a known fault, for each policy that chooses the steps.

`python -m benchmarks.policies` looks for each fault with several seeds, and gives up after some runs.
The results are in docs/decisions/0008.
"""

from __future__ import annotations

import argparse
from typing import Any, Final, NamedTuple

from spec.checking.random.chance import BY_INSTANCE, EVEN, SWARM, Policy
from spec.checking.simulation import simulate
from spec.language import Specification
from spec.systems.controller_election import ControllerElection
from spec.systems.replication import Replication


class Fault(NamedTuple):
    """A fault, and the length of its shortest trace in states."""

    name: str
    system: type[Specification]
    constants: dict[str, Any]
    property: str
    length: int


POLICIES: Final = {
    "instances alike": BY_INSTANCE,
    "actions alike": EVEN,
    "weights 1, 256": Policy(levels=2, bits=8),
    "weights 1, 4, 16, 64": Policy(levels=4, bits=2),
    "weights 1, 16, 256, 4096": SWARM,
    "the same, by instances": SWARM._replace(by_instance=True),
    "weights 1, 8, ..., 8^7": Policy(levels=8, bits=3),
}
SMALL: Final = {"brokers": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
LARGE: Final = {"brokers": 3, "log_size": 3, "max_records": 3, "max_leader_epoch": 2}
FAULTS: Final = (
    Fault("zombie's write, 2 brokers", ControllerElection, {"fence_zk": False, "brokers": 2}, "fenced_writes", 18),
    Fault("zombie's write, 3 brokers", ControllerElection, {"fence_zk": False, "brokers": 3}, "fenced_writes", 18),
    Fault(
        "epoch given twice", ControllerElection, {"epoch_update": "cas_swallowed", "brokers": 2}, "epoch_unique", 28
    ),
    Fault("kip-101, 3-2-2-2", Replication, {"truncation": "kip-101", **SMALL}, "strong_isr", 12),
    Fault("kip-279, 3-3-3-2", Replication, {"truncation": "kip-279", **LARGE}, "strong_isr", 12),
    Fault(
        "kip-320's first try, 3-2-2-2", Replication, {"truncation": "kip-320-first-try", **SMALL}, "strong_isr", 13
    ),
)


def runs_until(fault: Fault, policy: Policy, runs: int, seeds: int) -> str:
    """The mean number of runs, and how many of the seeds found it."""
    done = found = 0
    for seed in range(seeds):
        result = simulate(
            fault.system.of(**fault.constants),
            runs=runs,
            seed=seed,
            properties=[fault.property],
            policy=policy,
            shrinking=False,
        )
        done += result.tally.runs
        found += result.verdict == "violated"
    return f"{done / found:,.0f}{'' if found == seeds else f' ({found} of {seeds})'}" if found else f"> {done:,}"


def main() -> None:
    """Print a row for each fault, with a column for each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000, help="give up after this many")
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    print(f"| fault | {' | '.join(POLICIES)} |")
    print(f"|---|{'---|' * len(POLICIES)}")
    for fault in FAULTS:
        cells = [runs_until(fault, policy, asked.runs, asked.seeds) for policy in POLICIES.values()]
        print(f"| {fault.name} ({fault.length}) | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
