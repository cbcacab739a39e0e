"""`kafkaspec graph`: a state graph, or a quotient of it, written for other tools (`spec.reports.state_graph`)."""

from __future__ import annotations

from pathlib import Path

import click

from spec.cli.answering import can_be_given, give
from spec.cli.asking import asked_for, watched
from spec.cli.options import COUNT, MAX_STATES, OUTPUT, TEXT, of_a_system, one


@click.command(short_help="Write SYSTEM's state graph, or a quotient of it, for other tools.")
@of_a_system
@click.option(
    "--by",
    type=TEXT,
    multiple=True,
    metavar="EXPRESSION",
    help="What tells nodes apart, over the state s; it runs as Python.",
)
@one("--nodes", type=COUNT, metavar="N", help="How many it may have; else 200.")
@MAX_STATES
@one(
    "--format",
    "form",
    type=click.Choice(["dot", "graphml", "aut"]),
    default="dot",
    show_default=True,
    help="Of Graphviz, of networkx and others, or Aldebaran's.",
)
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
    form: str,
    output: Path | None,
) -> None:
    """Explore SYSTEM, and write its states and steps. States that are the same by every --by are one node.

    An expression is Python over the state, such as `s.epoch` or `len(s.zk.sessions)`; it runs with all your rights,
    as any program of yours does. Without any, each state is a node. An edge says which actions lead from a state of
    one node to a state of the other.
    """
    from spec.reports.state_graph import FORMATS, MOST, state_graph

    can_be_given(output)
    subject, _ = asked_for(system, release, settings, switched_on, switched_off)
    found = watched(state_graph, subject, by=by, most=MOST if nodes is None else nodes, max_states=max_states)
    give(FORMATS[form](found), output)
