"""`kafkaspec graph`: write a state graph, or a quotient of it, for other tools (`spec.reports.state_graph`)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from spec.cli.options import COUNT, MAX_STATES, OUTPUT, TEXT, format_of, single_value, system_options
from spec.cli.output import form_of, write_output
from spec.cli.running import specification_for, with_progress

FORMS: Final = ("dot", "graphml", "aut")


@click.command(short_help="Write SYSTEM's state graph, or a quotient of it, for other tools.")
@system_options
@click.option(
    "--by",
    type=TEXT,
    multiple=True,
    metavar="EXPRESSION",
    help="A Python expression over the state s that distinguishes nodes; may be repeated.",
)
@single_value("--nodes", type=COUNT, metavar="N", help="The most nodes allowed; default: 200.")
@MAX_STATES
@format_of(FORMS)
@OUTPUT
def graph(
    system: str,
    settings: tuple[str, ...],
    release: str | None,
    switched_on: tuple[str, ...],
    switched_off: tuple[str, ...],
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

    form = form_of(output, form, FORMS)
    subject, _ = specification_for(system, release, settings, switched_on, switched_off)
    found = with_progress(state_graph, subject, by=by, most=MOST if nodes is None else nodes, max_states=max_states)
    write_output(FORMATS[form](found), output)
