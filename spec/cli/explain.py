"""`kafkaspec explain`: why an action can or cannot happen in a state of a saved trace.

`spec.checking.traces.explain` does the work.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from spec.cli.options import AS_JSON, COLOUR, COUNT, OWN, PLACE, TEXT, single_value
from spec.cli.output import print_lines
from spec.cli.running import replay_trace
from spec.cli.streams import print_result


@click.command(short_help="Explain which actions can happen in a state of a saved trace, and why others cannot.")
@click.argument("file", type=PLACE)
@single_value(
    "--step", "state", type=COUNT, metavar="N", help="The number of the state in the trace; default: the last."
)
@single_value("--action", type=TEXT, metavar="NAME", help="Only this action, with everything it read.")
@click.option(
    "--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Only with this parameter; may be repeated."
)
@OWN
@COLOUR
@AS_JSON
def explain(
    file: Path, state: int | None, action: str | None, parameters: tuple[str, ...], own: str | None, as_json: bool
) -> None:
    """Explain a state of the trace in FILE, which `check --trace FILE.itf.json` wrote: list the actions that can
    happen there.

    For each action that cannot, name the guard that refuses it and its line; with --action, also the values it had
    read by then.
    """
    from spec.checking.traces.explain import explain as explanation

    given = dict(each.partition("=")[::2] for each in parameters)
    wrong = next((each for each in parameters if "=" not in each), None)
    if wrong is not None:
        raise click.UsageError(f"--set {wrong}: write it as NAME=VALUE")
    found = replay_trace(file, own, explanation, state=state, action=action, parameters=given)
    if as_json:
        print_result(json.dumps(found.to_json()))
    else:
        print_lines(found.lines())
