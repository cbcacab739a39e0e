"""`kafkaspec sequence`: draw a saved trace as a sequence diagram (`spec.reports.sequence_diagram`)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from spec.cli.options import OUTPUT, OWN, PLACE, format_of
from spec.cli.output import form_of, write_output
from spec.cli.running import read_run

FORMS: Final = ("mermaid", "svg")


@click.command(short_help="Draw a saved trace as a sequence diagram.")
@click.argument("file", type=PLACE)
@format_of(FORMS)
@OWN
@OUTPUT
def sequence(file: Path, form: str | None, own: str | None, output: Path | None) -> None:
    """Draw the trace in FILE, which `check --trace FILE.itf.json` wrote, as a sequence diagram.

    Each actor has a lane, and each step is an arrow with its meaning beside it. Exits 12 and draws nothing if the
    specification no longer has that trace, as in `replay`.
    """
    from spec.reports.sequence_diagram import FORMATS

    form = form_of(output, form, FORMS)
    _, _, trace = read_run(file, own)
    write_output(FORMATS[form](trace), output)
