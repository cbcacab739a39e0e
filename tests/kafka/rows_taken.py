"""Report how often each row of both tables is taken beside Kafka, by release, and which rows never are.

`python -m tests.kafka.rows_taken` runs Kafka's state machines of each release beside ours, on every pair of states
and on generated sequences: 500, or as many as `--sequences` says, from `--seed`. It prints a line for each row, with
how often both took it; how many other pairs were refused with the state unchanged; and which row was not taken, which
pair not refused. It exits with 1 if there is one. If the two sides disagree, it stops with the commands so far and
the differences.
"""

from __future__ import annotations

import argparse
import sys
from itertools import chain

from spec.kafka.state_machines_beside import RELEASES, RealController
from tests.kafka.control_comparison import Tally, compare, missing, report
from tests.kafka.test_state_machines_beside import drawn, pairs


def tally_of(release: str, seed: int, sequences: int) -> Tally:
    """The tally of both sides on every pair of states, and on so many generated sequences.

    Raises:
        AssertionError: they disagree.
        UsageError: no Java, no compiler, or a jar cannot be downloaded.
    """
    tally = Tally()
    with RealController(release) as kafka:
        for sequence, seen in kafka.of("StateMachines", chain(pairs(release), drawn(seed, sequences, release))):
            compare(sequence, seen, release, tally=tally)
    return tally


def main() -> int:
    """Print the report."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--release", action="append", choices=RELEASES, help="a release, by default all; repeatable")
    asked.add_argument("--sequences", type=int, default=500, metavar="N", help="how many sequences per release")
    asked.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the sequences")
    arguments = asked.parse_args()
    tallies = {
        release: tally_of(release, arguments.seed, arguments.sequences)
        for release in arguments.release or reversed(RELEASES)
    }
    print(report(tallies))
    return 1 if missing(tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
