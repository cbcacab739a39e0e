"""`kafkaspec anomalies`: list the atlas, or explore one anomaly without and with its fix (`spec.atlas.anomalies`)."""

from __future__ import annotations

import json
import sys

import click
from click.core import ParameterSource

from spec.cli.options import (
    AS_JSON,
    BRIEF,
    COLOUR,
    DRIVER_LEVEL,
    ENGINE,
    MAX_DEPTH,
    MAX_STATES,
    MEMORY,
    TEXT,
    WORKERS,
)
from spec.cli.output import lines_of, note_interruption, print_lines, require_one_form
from spec.cli.running import engine_named, run_check
from spec.cli.streams import print_result


@click.command(short_help="List Kafka's anomalies; with ID, explore one without and with its fix.")
@click.argument("id", required=False, type=TEXT)
@ENGINE
@DRIVER_LEVEL
@WORKERS
@MAX_STATES
@MAX_DEPTH
@MEMORY
@BRIEF
@COLOUR
@AS_JSON
@click.pass_context
def anomalies(
    context: click.Context,
    id: str | None,
    engine: str,
    driver_level: int | None,
    workers: int | None,
    max_states: int | None,
    max_depth: int | None,
    memory: int | None,
    brief: bool,
    as_json: bool,
) -> None:
    """List the atlas of anomalies: what went wrong in Kafka, and the switch that prevents each.

    With ID, explore that anomaly twice: with the switch off the property breaks, with the switch on it holds. ID may
    be a ticket; if it is the ticket of several anomalies, they are listed. Exits 0 if both outcomes are as recorded,
    12 if one differs, 20 if a bound stopped one, and 130 if interrupted.
    """
    from spec.atlas.anomalies import Outcome, anomalies_meant, anomaly_named
    from spec.atlas.anomalies import anomalies as recorded
    from spec.atlas.catalogue import atlas
    from spec.checking.traces.trace import Line

    if id is None or len(rows := anomalies_meant(id)) > 1:
        for name in ("engine", "driver_level", "workers", "memory", "max_states", "max_depth", "brief"):
            if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
                raise click.UsageError(f"--{name.replace('_', '-')} needs the ID of an anomaly to explore")
        listed = recorded() if id is None else rows
        print_result(json.dumps([row.to_json() for row in listed]) if as_json else atlas(listed))
        return
    require_one_form(brief, as_json)
    row = anomaly_named(id)
    chosen = engine_named(engine, workers, memory, driver_level=driver_level)
    options = {"engine": chosen, "max_states": max_states, "max_depth": max_depth}
    if not as_json:
        print_result(atlas([row]))
    results = {}
    for side, result in row.sides(run_check, **options):
        results[side] = result
        if as_json:
            note_interruption(result)
        else:
            head = (Line(), Line(words=f"== with {row.setting(side)}"), Line())
            print_lines([*head, *lines_of(result, row.specification(side), brief)])
    outcome = Outcome(row, results)
    print_result(json.dumps(outcome.to_json()) if as_json else f"\n{outcome.conclusion()}")
    sys.exit(outcome.exit_code)
