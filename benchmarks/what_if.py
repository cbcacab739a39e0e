"""How long `kafkaspec what-if` takes over a large cluster: every pair of brokers, every order, every kind of event.

`python -m benchmarks.what_if` describes 2,000 partitions with three replicas each on 12 brokers, in the form of
`kafka-topics.sh --describe`. It runs the command, each time in a process of its own, for the crash of every pair of
brokers; for the worst case of one such crash in any order, with a failover of the controller; and for the same with
the controller's broker in the pair. Then it applies all kinds of events to a cluster of 10,000 partitions. It prints
the seconds from the start of the command to its end, wall-clock and processor.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.controller_events import PARTITIONS_OF_A_TOPIC, REPLICAS, spread, topics

DAY: Final = "--crash 1 --return 1 --shutdown 2 --unclean --return 2 --reassign {plan} --prefer --failover"
"""One of each kind of event."""
CONTROLLER: Final = 0
"""The assumed controller, which is the first broker."""


class Timed(NamedTuple):
    """A question, and the time to its answer."""

    options: str
    seconds: float
    """Wall-clock seconds."""
    processor: float
    """Seconds of processor time, which other work on the machine changes less."""
    exit_code: int
    partitions: int
    classes: int
    """Classes of equivalent partitions; 0 if only one order was explored."""
    states: int
    """States of the largest class."""


def described(partitions: int, brokers: int) -> str:
    """A healthy cluster in the form of `kafka-topics.sh --describe`."""
    return "".join(_lines(partitions, brokers))


def _lines(partitions: int, brokers: int) -> Iterator[str]:
    for topic, replicas in topics(partitions, brokers).items():
        counts = f"PartitionCount: {len(replicas)}\tReplicationFactor: {REPLICAS}"
        yield f"Topic: {topic}\t{counts}\tConfigs: min.insync.replicas=2\n"
        for index, kept in replicas.items():
            ids = ",".join(map(str, kept))
            yield f"\tTopic: {topic}\tPartition: {index}\tLeader: {kept[0]}\tReplicas: {ids}\tIsr: {ids}\n"


def plan(brokers: int) -> str:
    """A plan for `kafka-reassign-partitions.sh` that moves the first topic by one broker."""
    rows = [
        {"topic": "t0", "partition": index, "replicas": [(each + 1) % brokers for each in spread(index, brokers)]}
        for index in range(PARTITIONS_OF_A_TOPIC)
    ]
    return json.dumps({"version": 1, "partitions": rows})


def ask(cluster: Path, options: str) -> Timed:
    """Run the command, in a process of its own."""
    command = [sys.executable, "-m", "spec", "what-if", str(cluster), *options.split(), "--json"]
    used, began = _used_by_children(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds, processor = time.perf_counter() - began, _used_by_children() - used
    result = json.loads(done.stdout)
    classes = result.get("classes", [])
    partitions = sum(len(each["partitions"]) for each in classes) or len(result["partitions"])
    states = max((each["distinct_states"] for each in classes), default=0)
    return Timed(options, seconds, processor, done.returncode, partitions, len(classes), states)


def _used_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _tell(what: str, answers: Sequence[Timed]) -> None:
    seconds = [each.seconds for each in answers]
    processor = statistics.median(each.processor for each in answers)
    codes = ",".join(map(str, sorted({each.exit_code for each in answers})))
    least, middle, most = min(seconds), statistics.median(seconds), max(seconds)
    classes, states = max(each.classes for each in answers), max(each.states for each in answers)
    print(
        f"{what:38}{answers[0].partitions:11,}{len(answers):6}{least:8.2f}{middle:8.2f}{most:8.2f}"
        f"{processor:11.2f}{classes:9,}{states:9,}  {codes}",
        flush=True,
    )


def main() -> None:
    """Print a line for each kind of question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=2_000)
    parser.add_argument("--brokers", type=int, default=12)
    parser.add_argument("--large", type=int, default=10_000, help="partitions for all kinds of events")
    parser.add_argument("--pairs", type=int, default=1_000, help="limit on the pairs of brokers that crash")
    arguments = parser.parse_args()
    pairs = list(combinations(range(arguments.brokers), 2))[: arguments.pairs]
    print(
        f"{'':38}{'partitions':>11}{'asked':>6}{'least':>8}{'median':>8}{'most':>8}"
        f"{'processor':>11}{'classes':>9}{'states':>9}  exit"
    )
    with tempfile.TemporaryDirectory() as place:
        cluster, large, moves = (Path(place, name) for name in ("topics.txt", "large.txt", "plan.json"))
        cluster.write_text(described(arguments.partitions, arguments.brokers))
        large.write_text(described(arguments.large, arguments.brokers))
        moves.write_text(plan(arguments.brokers))
        _tell("two crash", [ask(cluster, f"--crash {one},{other}") for one, other in pairs])
        worst = "--failover --any-order"
        _tell("in any order, with a failover", [ask(cluster, f"--crash 1,2 {worst}")])
        _tell("the same, and one is the controller's", [ask(cluster, f"--crash {CONTROLLER},1 {worst}")])
        _tell("all kinds of events", [ask(large, DAY.format(plan=moves))])


if __name__ == "__main__":
    main()
