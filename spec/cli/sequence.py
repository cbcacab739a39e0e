"""`kafkaspec sequence`: draw a saved trace as a sequence diagram (`spec.reports.sequence_diagram`)."""

from __future__ import annotations

from pathlib import Path

import click

from spec.cli.options import OUTPUT, OWN, PLACE, single_value
from spec.cli.output import write_output
from spec.cli.running import read_run


@click.command(short_help="Draw a saved trace as a sequence diagram.")
@click.argument("file", type=PLACE)
@single_value(
    "--format",
    "form",
    type=click.Choice(["mermaid", "svg"]),
    default="mermaid",
    show_default=True,
    help="The format of the diagram.",
)
@OWN
@OUTPUT
def sequence(file: Path, form: str, own: str | None, output: Path | None) -> None:
    """Draw the trace in FILE, which `check --trace FILE.itf.json` wrote, as a sequence diagram.

    Each actor has a lane, and each step is an arrow with its meaning beside it. Exits 12 and draws nothing if the
    specification no longer has that trace, as in `replay`.
    """
    from spec.reports.sequence_diagram import FORMATS

    _, _, trace = read_run(file, own)
    write_output(FORMATS[form](trace), output)
