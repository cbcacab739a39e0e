"""`make check`: the controller election on every engine, then with a fix off, twice; then replication, off and on.

Exits 0 when all came out as it is known to.
"""

from __future__ import annotations

import sys

from spec.atlas.anomalies import anomaly_named
from spec.atlas.instances import PinnedInstance, figures_of, instances
from spec.checking import Result, check
from spec.checking.exploration import Engine
from spec.cli.progress import Progress
from spec.language.errors import UsageError

HOLDS = "controller-election, two brokers"
ANOMALY = "B1"
BREAKS = ("controller-election, writes not fenced", "controller-election, failed increment swallowed")


def main() -> int:
    """Run it, and give the exit code."""
    known = {each.name: each for each in instances()}
    wrong = 0

    title("Kafka 3.9's controller election, exhaustively, at compiled speed")
    wrong += shown(known[HOLDS], "local")

    title("The same on the reference engine, which is slow and obvious")
    wrong += shown(known[HOLDS], "reference")

    title("The same on Spark")
    spark = spark_engine()
    if spark is not None:
        wrong += shown(known[HOLDS], spark)

    for name in BREAKS:
        instance = known[name]
        off = ", ".join(f"{switch} = {value}" for switch, value in instance.constants.items())
        title(f"With one fix off: {off}")
        wrong += shown(instance, "local")

    row = anomaly_named(ANOMALY)
    title(f"{row.id}, {row.ticket}: {row.sentence}")
    outcome = row.explore()
    for side, result in outcome.results.items():
        print(f"With {row.setting(side)}\n\n{result}\n", flush=True)
    print(outcome.conclusion(), flush=True)
    wrong += not outcome.as_recorded

    title("All as it is known to be." if not wrong else f"{wrong} of them did not come out as pinned.")
    return 1 if wrong else 0


def title(text: str) -> None:
    """A heading."""
    print(f"\n== {text}\n", flush=True)


def shown(instance: PinnedInstance, engine: Engine | str) -> bool:
    """Explore it, print the result, and say if it is wrong: it differs from what is pinned, or Spark ran no job."""
    with Progress() as progress:
        result: Result = check(instance.specification(), engine=engine, on_progress=progress)
    print(result, flush=True)
    differs = figures_of(result) != instance.figures()
    if differs:
        print(f"  but pinned is {instance.figures()}", flush=True)
    else:
        print("  as pinned in spec/atlas/instances.toml", flush=True)
    without_jobs = result.jobs is not None and not result.jobs.levels
    if without_jobs:
        print("  but Spark ran no job", flush=True)
    return differs or without_jobs


def spark_engine() -> Engine | None:
    """The Spark engine, if it can run here."""
    try:
        from spec.checking.spark import SparkEngine

        return SparkEngine(driver_level=3_000)  # its usual one would leave nothing to Spark
    except UsageError as missing:
        print(f"left out: {missing}", flush=True)
        return None


if __name__ == "__main__":
    sys.exit(main())
