"""`kafkaspec sequence`: a kept trace drawn as a sequence diagram (`spec.reports.sequence_diagram`)."""

from __future__ import annotations

from pathlib import Path

import click

from spec.cli.options import OUTPUT, OWN, PLACE, single_value
from spec.cli.output import write_output
from spec.cli.running import read_run


@click.command(short_help="Draw a kept trace as a sequence diagram.")
@click.argument("file", type=PLACE)
@single_value(
    "--format",
    "form",
    type=click.Choice(["mermaid", "svg"]),
    default="mermaid",
    show_default=True,
    help="What to draw it as.",
)
@OWN
@OUTPUT
def sequence(file: Path, form: str, own: str | None, output: Path | None) -> None:
    """Draw the trace in FILE, which `check --trace FILE.itf.json` wrote.

    Each who acts has a lane, each step an arrow, and what it means stands beside it. Exits 12 if the specification
    no longer has that trace, as `replay` does, and draws nothing then.
    """
    from spec.reports.sequence_diagram import FORMATS

    _, _, trace = read_run(file, own)
    write_output(FORMATS[form](trace), output)
