"""`kafkaspec what-if`: what becomes of a person's own cluster (`spec.what_if`). Options are events, in order."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from spec.cli.options import AS_JSON, MAX_STATES, TEXT, Command, single_value
from spec.cli.running import run_check
from spec.cli.streams import print_result


class _InOrder(click.Command):
    """A command whose options are events: they happen in the order in which they were given."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(context).parse_args(args=list(args))
        context.meta[IN_ORDER] = [option.name for option in order]
        return super().parse_args(context, args)


IN_ORDER = "kafkaspec.in_order"


EVENTS: dict[str, dict[str, Any]] = {
    "crash": {"metavar": "BROKERS", "type": TEXT, "help": "These brokers die, like 1,3: together."},
    "shutdown": {"metavar": "BROKERS", "type": TEXT, "help": "These are shut down, one by one: they ask first."},
    "return": {"metavar": "BROKERS", "type": TEXT, "help": "These start again, and catch up."},
    "unclean": {"count": True, "help": "Unclean elections are permitted from now on (since 2.0)."},
    "unclean-topic": {"metavar": "TOPIC", "type": TEXT, "help": "The same, of one topic (since 2.1)."},
    "reassign": {"metavar": "FILE", "type": TEXT, "help": "Partitions move, as in kafka-reassign-partitions.sh."},
    "create-topic": {"metavar": "T:N:R", "type": TEXT, "help": "A topic with N partitions, R replicas of each."},
    "prefer": {"count": True, "help": "The preferred replica of each partition is elected."},
    "rebalance": {"count": True, "help": "The controller looks by itself whether preferred replicas lead."},
    "failover": {"count": True, "help": "Another broker becomes controller."},
}


def _event_options(command: Command) -> Command:
    """Give a command an option for each kind of event."""
    for name, said in reversed(EVENTS.items()):
        kind = said if "count" in said else said | {"multiple": True}
        command = click.option(f"--{name}", f"event_{name.replace('-', '_')}", **kind)(command)
    return command


def _event_of(given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The events that were given, in their order."""
    values = {name: iter(each) for name, each in given.items() if isinstance(each, tuple)}
    for name in click.get_current_context().meta[IN_ORDER]:
        if name in given:
            yield name.removeprefix("event_").replace("_", "-"), next(values[name]) if name in values else True


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A large cluster is millions of values without a cycle: to look for one takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@click.command("what-if", cls=_InOrder, short_help="What a controller makes of your own CLUSTER's failures.")
@click.argument("cluster", type=TEXT)
@_event_options
@single_value("--release", type=TEXT, metavar="R", help="The controller's, like 2.8; else the newest with ZooKeeper.")
@single_value("--live", type=TEXT, metavar="BROKERS", help="The brokers that are alive at first.")
@click.option("--isr", "isrs", type=TEXT, multiple=True, metavar="T-P=BROKERS", help="The ISR of a partition.")
@click.option("--min-isr", "min_isrs", type=TEXT, multiple=True, metavar="[T=]N", help="min.insync.replicas.")
@click.option("--unclean-default", is_flag=True, help="Brokers permit unclean elections from the beginning.")
@click.option("--no-unclean", is_flag=True, help="Brokers do not permit unclean elections, whatever the release.")
@click.option("--topic", "topics", type=TEXT, multiple=True, metavar="T", help="Ask about this topic only.")
@click.option("--any-order", is_flag=True, help="Explore every order, and tell the worst and the way there.")
@MAX_STATES
@click.option("--steps", is_flag=True, help="Tell what is written, sent and logged as an error, in order.")
@click.option("-v", "--verbose", is_flag=True, help="Tell of partitions that stay as they are, too.")
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
    """Say what the controller of a CLUSTER does when brokers die, return, or are shut down, and what is left then.

    CLUSTER is a file with what `kafka-topics.sh --describe` or `kcat -L` prints, or the JSON of
    `kafka-reassign-partitions.sh`; - for standard input; or zookeeper://HOST:PORT/CHROOT, which is only read. Events
    happen in the order in which they are given, each to its end. What the source does not say is assumed, and told.

    With --any-order the events happen in every order in which they can, with all that a controller does in between;
    partitions that behave alike are explored once. Then --failover is at any moment.

    Exits 0 if every partition has a leader in the end, 12 if one has none, or may have none, and 20 if a bound was
    reached.
    """
    from spec.by_release import ByRelease, release_named
    from spec.what_if.any_order import in_any_order
    from spec.what_if.known_cluster import complete
    from spec.what_if.option_values import brokers_of, events_of, isrs_of, min_isrs_of
    from spec.what_if.prediction import what_if as predicted
    from spec.what_if.reading import read_cluster
    from statemachines.controller.control_design import control_design_of
    from statemachines.releases import RELEASES

    for option, given in (("--steps", steps), ("--verbose", verbose)):
        if any_order and given:
            raise click.UsageError(f"{option} and --any-order: of every order the worst is told, and the way there")
    if unclean_default and no_unclean:
        raise click.UsageError("--unclean-default and --no-unclean: brokers permit unclean elections, or do not")
    if max_states is not None and not any_order:
        raise click.UsageError("--max-states without --any-order: nothing is explored")
    line = RELEASES[-1] if release is None else release_named(release, ByRelease(control_design_of))
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
