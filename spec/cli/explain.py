"""`kafkaspec explain`: why something can or cannot be done in a state of a kept trace.

`spec.checking.traces.explain` finds it.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from spec.cli.options import AS_JSON, COLOUR, COUNT, OWN, PLACE, TEXT, single_value
from spec.cli.output import print_lines
from spec.cli.running import replay_trace
from spec.cli.streams import print_result


@click.command(short_help="Explain a state of a kept trace: what can happen there, and why nothing else.")
@click.argument("file", type=PLACE)
@single_value(
    "--step", "state", type=COUNT, metavar="N", help="The number of the state, as the trace has it; else the last."
)
@single_value("--action", type=TEXT, metavar="NAME", help="Only this action, with all that it read.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Only with this parameter.")
@OWN
@COLOUR
@AS_JSON
def explain(
    file: Path, state: int | None, action: str | None, parameters: tuple[str, ...], own: str | None, as_json: bool
) -> None:
    """Say of a state of the trace in FILE, which `check --trace FILE.itf.json` wrote, what can be done there.

    And of each action that cannot be done, which guard refuses it, in which line; with --action also what it had read
    until then.
    """
    from spec.checking.traces.explain import explain as explanation

    given = dict(each.partition("=")[::2] for each in parameters)
    wrong = next((each for each in parameters if "=" not in each), None)
    if wrong is not None:
        raise click.UsageError(f"--set {wrong}: write NAME=VALUE")
    found = replay_trace(file, own, explanation, state=state, action=action, parameters=given)
    if as_json:
        print_result(json.dumps(found.to_json()))
    else:
        print_lines(found.lines())
