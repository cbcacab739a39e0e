"""`kafkaspec what-if`: predict the fate of a person's own cluster (`spec.what_if`). Options are events, in order."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from spec.cli.options import AS_JSON, MAX_STATES, TEXT, Command, OfBrokers, single_value
from spec.cli.running import run_check
from spec.cli.streams import print_result


class _InOrder(OfBrokers):
    """A command whose options are events that happen in the given order."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(context).parse_args(args=list(args))
        context.meta[IN_ORDER] = [option.name for option in order]
        return super().parse_args(context, args)


IN_ORDER = "kafkaspec.in_order"


EVENTS: dict[str, dict[str, Any]] = {
    "crash": {"metavar": "BROKERS", "type": TEXT, "help": "These brokers die together, like 1,3."},
    "shutdown": {
        "metavar": "BROKERS",
        "type": TEXT,
        "help": "These brokers are shut down one by one, with controlled shutdown.",
    },
    "return": {"metavar": "BROKERS", "type": TEXT, "help": "These brokers start again and catch up."},
    "unclean": {"count": True, "help": "Permit unclean elections from here on (since 2.0)."},
    "unclean-topic": {
        "metavar": "TOPIC",
        "type": TEXT,
        "help": "Permit unclean elections for one topic from here on (since 2.1).",
    },
    "reassign": {
        "metavar": "FILE",
        "type": TEXT,
        "help": "Reassign partitions, in the format of kafka-reassign-partitions.sh.",
    },
    "create-topic": {
        "metavar": "T:N:R",
        "type": TEXT,
        "help": "Create topic T with N partitions of R replicas each.",
    },
    "prefer": {"count": True, "help": "Elect the preferred replica of each partition."},
    "rebalance": {"count": True, "help": "Run the controller's automatic leader rebalance once."},
    "failover": {"count": True, "help": "Make another broker the controller."},
}


def _event_options(command: Command) -> Command:
    """Add an option for each kind of event to a command."""
    for name, said in reversed(EVENTS.items()):
        kind = said if "count" in said else said | {"multiple": True}
        command = click.option(f"--{name}", f"event_{name.replace('-', '_')}", **kind)(command)
    return command


def _event_of(given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The given events, in order."""
    values = {name: iter(each) for name, each in given.items() if isinstance(each, tuple)}
    for name in click.get_current_context().meta[IN_ORDER]:
        if name in given:
            yield name.removeprefix("event_").replace("_", "-"), next(values[name]) if name in values else True


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Turn the garbage collector off: it takes a third of the time, and millions of values here form no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@click.command("what-if", cls=_InOrder, short_help="Predict how the controller of your own CLUSTER handles failures.")
@click.argument("cluster", type=TEXT)
@_event_options
@single_value(
    "--release",
    type=TEXT,
    metavar="R",
    help="The controller's release, like 2.8; default: the newest with ZooKeeper.",
)
@single_value("--live", type=TEXT, metavar="BROKERS", help="The brokers that are alive at the start.")
@click.option("--isr", "isrs", type=TEXT, multiple=True, metavar="T-P=BROKERS", help="The ISR of a partition.")
@click.option("--min-isr", "min_isrs", type=TEXT, multiple=True, metavar="[T=]N", help="min.insync.replicas.")
@click.option("--unclean-default", is_flag=True, help="Brokers permit unclean elections from the start.")
@click.option("--no-unclean", is_flag=True, help="Brokers forbid unclean elections, in every release.")
@click.option(
    "--topic", "topics", type=TEXT, multiple=True, metavar="T", help="Report only this topic; may be repeated."
)
@click.option(
    "--any-order", is_flag=True, help="Explore every order, and report the worst outcome with the way there."
)
@MAX_STATES
@click.option("--steps", is_flag=True, help="Print writes, requests and logged errors in order.")
@click.option("-v", "--verbose", is_flag=True, help="Report unchanged partitions, too.")
@AS_JSON
def what_if(
    cluster: str,
    release: str | None,
    live: str | None,
    isrs: tuple[str, ...],
    min_isrs: tuple[str, ...],
    unclean_default: bool,
    no_unclean: bool,
    topics: tuple[str, ...],
    any_order: bool,
    max_states: int | None,
    steps: bool,
    verbose: bool,
    as_json: bool,
    **events: Any,
) -> None:
    """Predict what the controller of a CLUSTER does when brokers die, return, or are shut down, and how it ends.

    CLUSTER is a file with the output of `kafka-topics.sh --describe` or `kcat -L`, or the JSON of
    `kafka-reassign-partitions.sh`; - for standard input; or zookeeper://HOST:PORT/CHROOT, which is only read. Events
    happen in the given order, each to its end. The report states what was assumed where the source is silent.

    With --any-order the events happen in every possible order, with everything that a controller does in between;
    partitions that behave alike are explored once. Then --failover happens at any moment.

    Exits 0 if every partition has a leader in the end, with --any-order also on the way; 12 if one has or may have
    none, or if a move is refused; and 20 if a bound was reached.
    """
    from spec.by_release import ByRelease, release_named
    from spec.what_if.any_order import in_any_order
    from spec.what_if.known_cluster import complete
    from spec.what_if.option_values import brokers_of, events_of, isrs_of, min_isrs_of
    from spec.what_if.prediction import what_if as predicted
    from spec.what_if.reading import read_cluster
    from statemachines.controller.control_design import ControlDesign
    from statemachines.releases import RELEASES

    for option, given in (("--steps", steps), ("--verbose", verbose)):
        if any_order and given:
            raise click.UsageError(
                f"{option} and --any-order: --any-order reports only the worst outcome and the way there"
            )
    if unclean_default and no_unclean:
        raise click.UsageError("--unclean-default and --no-unclean: choose one")
    if max_states is not None and not any_order:
        raise click.UsageError("--max-states needs --any-order: otherwise nothing is explored")
    line = RELEASES[-1] if release is None else release_named(release, ByRelease(ControlDesign))
    happening = events_of(_event_of(events))
    min_isr, min_isr_of = min_isrs_of(min_isrs)
    asked_about = complete(
        read_cluster(cluster, line),
        live=None if live is None else brokers_of("--live", live),
        isr=isrs_of(isrs),
        min_isr=min_isr,
        min_isr_of=min_isr_of,
        unclean=True if unclean_default else False if no_unclean else None,
    ).of_topics(topics)
    if any_order:
        worst = in_any_order(asked_about, *happening, release=line, max_states=max_states, explore=run_check)
        print_result(json.dumps(worst.to_json()) if as_json else str(worst))
        sys.exit(worst.exit_code)
    with _no_garbage_collection():
        prediction = predicted(asked_about, *happening, release=line)
    if as_json:
        print_result(json.dumps(prediction.to_json(with_steps=steps)))
    else:
        print_result(prediction.text(every=verbose, with_steps=steps))
    sys.exit(prediction.exit_code)
