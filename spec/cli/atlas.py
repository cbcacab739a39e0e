"""Two commands that list: `kafkaspec list` lists systems, `kafkaspec anomalies` lists anomalies.

Each also describes one: a system from its specification (`spec.atlas.catalogue`), an anomaly by exploring it without
and with its fix (`spec.atlas.anomalies`).
"""

from __future__ import annotations

import json
import sys

import click
from click.core import ParameterSource

from spec.cli import options
from spec.cli.options import AS_JSON, TEXT
from spec.cli.output import lines_of, note_interruption, print_lines, require_one_form
from spec.cli.running import engine_of, run_check
from spec.cli.streams import print_result, printing_to_stderr

# Systems.


@click.command("list", short_help="List the systems, or describe one.")
@click.argument("system", type=TEXT, required=False)
@AS_JSON
def list_systems(system: str | None, as_json: bool) -> None:
    """List the systems, one a line, or the constants, properties, switches and releases of SYSTEM.

    SYSTEM may be a file of your own. --json adds actions and views. It prints one object for SYSTEM, or an object
    whose `systems` lists one for each.
    """
    from spec.atlas.catalogue import describe, described, overview
    from spec.atlas.loading import answering_for, system_named
    from spec.systems import SYSTEMS

    with printing_to_stderr():
        named = [system_named(name) for name in ([system] if system is not None else SYSTEMS)]
    if as_json:
        described_systems = []
        for each in named:
            with printing_to_stderr(), answering_for(each):
                described_systems.append(described(each))
        print_result(json.dumps(described_systems[0] if system is not None else {"systems": described_systems}))
        return
    with printing_to_stderr(), answering_for(named[0]):
        lines = [*(overview() if system is None else describe(named[0]))]
    print_lines(lines)


# Anomalies.


@click.command(short_help="List Kafka's anomalies; with ID, explore one without and with its fix.")
@click.argument("id", required=False, type=options.TEXT)
@options.ENGINE
@options.DRIVER_LEVEL
@options.WORKERS
@options.MAX_STATES
@options.MAX_DEPTH
@options.MEMORY
@options.BRIEF
@options.COLOUR
@options.AS_JSON
@options.gathered(search=options.SearchOptions)
def anomalies(id: str | None, search: options.SearchOptions, brief: bool, as_json: bool) -> None:
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
        for name in (*options.SearchOptions._fields, "brief"):
            if click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT:
                raise click.UsageError(f"--{name.replace('_', '-')} needs the ID of an anomaly to explore")
        listed = recorded() if id is None else rows
        print_result(json.dumps([row.to_json() for row in listed]) if as_json else atlas(listed))
        return
    require_one_form(brief, as_json)
    row = anomaly_named(id)
    bounds = {"engine": engine_of(search), "max_states": search.max_states, "max_depth": search.max_depth}
    if not as_json:
        print_result(atlas([row]))
    results = {}
    for side, result in row.sides(run_check, **bounds):
        results[side] = result
        if as_json:
            note_interruption(result)
        else:
            head = (Line(), Line(words=f"== with {row.setting(side)}"), Line())
            print_lines([*head, *lines_of(result, row.specification(side), brief)])
    outcome = Outcome(row, results)
    print_result(json.dumps(outcome.to_json()) if as_json else f"\n{outcome.conclusion()}")
    sys.exit(outcome.exit_code)
