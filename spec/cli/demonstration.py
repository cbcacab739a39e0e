"""`make check`: the controller election, compiled and on Spark, two bugs of Kafka, and an election in plain Python.

Exit code 0: everything equals the pinned results; 1: something differs; others as the command has them.
"""

from __future__ import annotations

import sys
from typing import Final

from spec.atlas.anomalies import anomaly_named
from spec.atlas.instances import PinnedInstance, figures_of, instances
from spec.checking import Result, check
from spec.checking.exploration import Engine
from spec.checking.local.compiling import EXPLORING, LATER, Kernels, compiled, is_compiled
from spec.checking.model import Model
from spec.checking.traces.brief import brief
from spec.cli.failures import failure_of
from spec.cli.streams import print_note
from spec.language.errors import UsageError

LARGE: Final = "controller-election, two brokers"
SMALL: Final = "controller-election, one election"  # half a minute on the reference engine
BUGS: Final = ("B4", "B1")
DRIVER_LEVEL: Final = 8_000
"""States of a level that Spark expands by a job, so that it does some of the largest."""


def main() -> int:
    """Run the demonstration and return its exit code."""
    pinned = {each.name: each for each in instances()}
    wrong = 0
    try:
        spark = _spark_engine()
        _compile(pinned[LARGE], with_spark=spark is not None)
        say("Kafka 3.9's controller election, every state:\n")
        wrong += differs(pinned[LARGE], "local", "compiled code")
        if spark is not None:
            wrong += differs(pinned[LARGE], spark, "Spark")
        for name in BUGS:
            wrong += _bug_differs(name)
        say("")
        wrong += differs(pinned[SMALL], "reference", "plain Python, one election")
    except (Exception, KeyboardInterrupt) as error:
        failure = failure_of(error)
        if failure is None:
            raise
        print_note(failure)
        return failure.exit
    say("\nEverything came out as pinned." if not wrong else f"\n{wrong} of them differ from the pinned results.")
    return 1 if wrong else 0


def say(text: str) -> None:
    """Print at once, since a person is waiting."""
    print(text, flush=True)


def differs(instance: PinnedInstance, engine: Engine | str, title: str) -> bool:
    """Explore an instance and print one line; returns whether it differs from its pin, or Spark ran no job.
    KeyboardInterrupt if the exploration was interrupted.
    """
    result = _decided(check(instance.specification(), engine=engine))
    jobs = "" if result.jobs is None else f", {result.jobs.levels} levels as Spark jobs"
    say(
        f"  {title:28}{result.headline}: {result.distinct_states:,} states, depth {result.depth}, "
        f"in {result.seconds:.1f} s{jobs}"
    )
    is_as_pinned = figures_of(result) == instance.figures()
    if not is_as_pinned:
        say(f"    found {figures_of(result)}, pinned {instance.figures()}")
    return not is_as_pinned or (result.jobs is not None and not result.jobs.levels)


def _bug_differs(name: str) -> bool:
    """Print an anomaly with its counterexample in brief; returns whether a side differs from its record."""
    row = anomaly_named(name)
    say(f"\n{row.id}, {row.ticket}: {row.sentence}")
    outcome = row.explore()
    for result in outcome.results.values():
        for each in _decided(result).counterexamples:
            say(f"\n{brief(row.specification('off'), each)}")
    say(f"\n{outcome.conclusion()}\nIn full: kafkaspec anomalies {name}")
    return not outcome.as_recorded


def _decided(result: Result) -> Result:
    if result.verdict == "interrupted":
        raise KeyboardInterrupt
    return result


def _compile(instance: PinnedInstance, *, with_spark: bool) -> None:
    """Load the kernels for states of this width, and print a line if they must be compiled."""
    kernels = Kernels(Model(instance.specification()).layout.words)
    loads = (*EXPLORING, *LATER)
    if with_spark:
        from spec.checking.spark.engine import KERNELS

        loads = KERNELS
    if not is_compiled(loads, kernels):
        say("Compiling the engines, once on this machine: about ten seconds.\n")
        compiled(loads, kernels, lambda doing: None)


def _spark_engine() -> Engine | None:
    """The Spark engine, if it can run here."""
    try:
        from spec.checking.spark import SparkEngine
        from spec.checking.spark.session import require_java

        require_java()
        return SparkEngine(driver_level=DRIVER_LEVEL)
    except UsageError as missing:
        say(f"Spark is left out: {missing}\n")
        return None


if __name__ == "__main__":
    sys.exit(main())
