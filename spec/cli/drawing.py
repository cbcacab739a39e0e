"""The commands that draw: `kafkaspec diagram`, `kafkaspec sequence` and `kafkaspec graph`.

They draw tables, a controller's life or an anomaly (`spec.diagrams`); a saved trace as a sequence diagram
(`spec.reports.sequence_diagram`); and a state graph, or a quotient of it, for other tools
(`spec.reports.state_graph`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from spec.cli import options
from spec.cli.output import form_of, write_output
from spec.cli.running import read_run, specification_for, with_progress

if TYPE_CHECKING:
    from spec.checking import Statistics


# Diagrams.


DIAGRAM_FORMS: Final = ("mermaid", "dot", "svg")


@click.command(short_help="Draw WHAT: partition, replica, controller, lost-record, or an anomaly by its ID.")
@click.argument("what", type=options.TEXT)
@options.single_value("--release", type=options.TEXT, metavar="R", help="The release of Kafka, such as 2.0.")
@options.format_of(DIAGRAM_FORMS)
@options.OUTPUT
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
    form = form_of(output, form, DIAGRAM_FORMS)
    with Progress() as progress:

        def compiling(statistics: Statistics) -> None:
            if statistics.doing:
                progress(statistics)

        picture = draw(what, form, release, compiling)
    write_output(picture, output)


# Sequence diagrams.


SEQUENCE_FORMS: Final = ("mermaid", "svg")


@click.command(short_help="Draw a saved trace as a sequence diagram.")
@click.argument("file", type=options.PLACE)
@options.format_of(SEQUENCE_FORMS)
@options.OWN
@options.OUTPUT
def sequence(file: Path, form: str | None, own: str | None, output: Path | None) -> None:
    """Draw the trace in FILE, which `check --trace FILE.itf.json` wrote, as a sequence diagram.

    Each actor has a lane, and each step is an arrow with its meaning beside it. Exits 12 and draws nothing if the
    specification no longer has that trace, as in `replay`.
    """
    from spec.reports.sequence_diagram import FORMATS

    form = form_of(output, form, SEQUENCE_FORMS)
    _, _, trace = read_run(file, own)
    write_output(FORMATS[form](trace), output)


# State graphs.


GRAPH_FORMS: Final = ("dot", "graphml", "aut")


@click.command(short_help="Write SYSTEM's state graph, or a quotient of it, for other tools.")
@options.system_options
@click.option(
    "--by",
    type=options.TEXT,
    multiple=True,
    metavar="EXPRESSION",
    help="A Python expression over the state s that distinguishes nodes; may be repeated.",
)
@options.single_value("--nodes", type=options.COUNT, metavar="N", help="The most nodes allowed; default: 200.")
@options.MAX_STATES
@options.format_of(GRAPH_FORMS)
@options.OUTPUT
def graph(
    chosen: options.SystemOptions,
    by: tuple[str, ...],
    nodes: int | None,
    max_states: int | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Explore SYSTEM, and write its states and steps. States on which every --by agrees become one node.

    An expression is Python over the state, such as `s.epoch` or `len(s.zk.sessions)`; it runs with all your rights,
    like any program of yours. Without --by, each state is a node. An edge lists the actions that lead from a state of
    one node to a state of the other.
    """
    from spec.reports.state_graph import FORMATS, MOST, state_graph

    form = form_of(output, form, GRAPH_FORMS)
    subject, _ = specification_for(chosen)
    found = with_progress(state_graph, subject, by=by, most=MOST if nodes is None else nodes, max_states=max_states)
    write_output(FORMATS[form](found), output)
