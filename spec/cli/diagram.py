"""`kafkaspec diagram`: draw tables, a controller's life, or an anomaly (`spec.diagrams`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from spec.cli.options import OUTPUT, TEXT, format_of, single_value
from spec.cli.output import form_of, write_output

if TYPE_CHECKING:
    from spec.checking import Statistics

FORMS: Final = ("mermaid", "dot", "svg")


@click.command(short_help="Draw WHAT: partition, replica, controller, lost-record, or an anomaly by its ID.")
@click.argument("what", type=TEXT)
@single_value("--release", type=TEXT, metavar="R", help="The release of Kafka, such as 2.0.")
@format_of(FORMS)
@OUTPUT
def diagram(what: str, release: str | None, form: str | None, output: Path | None) -> None:
    """Draw WHAT: the transition table of a partition or a replica, the life of a controller, an anomaly by its ID
    as a sequence diagram (mermaid or svg), or lost-record: logs that may lose an acknowledged record (svg).

    Without --release a table shows the rows of all releases with the releases that had each row, and the others are
    of the newest release. An anomaly is drawn in the release of its row.
    """
    from spec.cli.progress import Progress
    from spec.diagrams import draw

    if what.endswith(".json"):
        raise click.UsageError(f"{what} is a saved trace: draw it with `kafkaspec sequence {what}`")
    form = form_of(output, form, FORMS)
    with Progress() as progress:

        def compiling(statistics: Statistics) -> None:
            if statistics.doing:
                progress(statistics)

        picture = draw(what, form, release, compiling)
    write_output(picture, output)
