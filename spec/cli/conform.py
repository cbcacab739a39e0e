"""`kafkaspec conform`: compare a system with Kafka's own classes (`spec.kafka.conformance`)."""

from __future__ import annotations

import json
import sys

import click

from spec.cli import options
from spec.cli.running import specification_for, with_progress
from spec.cli.streams import print_result


@click.command(short_help="Compare SYSTEM step by step with Kafka's own classes.")
@options.system_options
@options.MAX_STATES
@options.single_value(
    "--per-class", type=options.COUNT, metavar="N", help="Follow N edges of each class instead of one."
)
@click.option("--every-edge", is_flag=True, help="Follow every edge: minutes for one broker.")
@options.AS_JSON
def conform(
    chosen: options.SystemOptions, max_states: int | None, per_class: int | None, every_edge: bool, as_json: bool
) -> None:
    """Follow paths of SYSTEM on a release's real KafkaControllers, step by step: `controller` one ZooKeeper request
    at a time, `partitions` one batch of requests at a time.

    Each kind of step is followed once from each position in which it is possible; with --every-edge, each step. Exits
    0 if everything is as the specification claims, 12 if something differs, and 2 without a Java compiler or without
    Kafka's jars, which are fetched once.
    """
    from spec.atlas.loading import system_named
    from spec.kafka.conformance import conform as compare
    from spec.kafka.mapping import release_among
    from spec.kafka.mappings import mapping_of

    mapping = mapping_of(system_named(chosen.system))
    if every_edge and per_class is not None:
        raise click.UsageError("--per-class and --every-edge: --every-edge already follows all edges of a class")
    run = release_among(chosen.release or list(mapping.system.releases)[-1], mapping.releases())
    given = {each.partition("=")[0] for each in chosen.settings} | {*chosen.switched_on, *chosen.switched_off}
    unless_given = {**mapping.driven, **mapping.corrected(run)}
    ours = [f"{name}={str(value).lower()}" for name, value in unless_given.items() if name not in given]
    subject, _ = specification_for(chosen._replace(release=run, settings=(*ours, *chosen.settings)))
    with mapping.kafka(run) as kafka:
        result = with_progress(
            compare,
            subject,
            kafka=kafka,
            max_states=max_states,
            per_class=1 if per_class is None else per_class,
            every_edge=every_edge,
        )
    print_result(json.dumps(result.to_json()) if as_json else str(result))
    sys.exit(result.exit_code)
