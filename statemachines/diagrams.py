"""Pictures of the transition tables: Mermaid, DOT and SVG, each drawn from the rows alone.

Text in, text out, always in the same order: states as declared, transitions by source and then target.
A table of all releases shows each row with the releases that had it; `table.at("2.2")` draws one release.

An SVG is the same bytes on every machine, see `statemachines.drawing`.
"""

from collections.abc import Callable, Iterator, Mapping
from html import escape
from types import MappingProxyType
from typing import Any, Literal

from statemachines.drawing import (
    BEGIN_SIZE,
    FONT_SIZE,
    FONTS,
    INITIAL,
    LINE,
    MARGIN,
    NODE_HEIGHT,
    POINTS_PER_INCH,
    TIP,
    blank,
    box,
    graphviz_version,
    laid_out,
    path,
    text_at,
    width_of,
)
from statemachines.partition import PARTITION
from statemachines.replica import REPLICA
from statemachines.table import Row, Table

__all__ = ["DIAGRAMS", "FORMATS", "Direction", "dot", "mermaid", "svg"]

Direction = Literal["LR", "TB"]
"""Which way time flows: from left to right, or from top to bottom."""

DIAGRAMS: Mapping[str, Table[Any]] = MappingProxyType({"partition": PARTITION, "replica": REPLICA})
"""The tables there are pictures of, by name."""

_SOURCE = "drawn from the table by statemachines.diagrams"
_BEGIN = "begin"  # no state of Kafka's begins with a small letter


def mermaid(table: Table[Any], direction: Direction = "TB") -> str:
    """The table as a Mermaid state diagram, for Markdown and for https://mermaid.live."""
    lines = [f"%% {table}, {_SOURCE}", "stateDiagram-v2", f"    direction {direction}"]
    lines.append(f"    [*] --> {table.initial}")
    for row, label in _rows(table):
        lines.append(f"    {row.source} --> {row.target}" + (f" : {label}" if label else ""))
    lines += [f"    {state} --> [*]" for state in _ends(table)]
    return "\n".join(lines) + "\n"


def dot(table: Table[Any], direction: Direction = "TB") -> str:
    """The table as a Graphviz graph: the initial state is filled, terminal ones have a double border."""
    return _digraph(table, direction, text=True)


def svg(table: Table[Any], direction: Direction = "TB") -> str:
    """The table as an SVG image of its own, the same bytes wherever Graphviz has the same version."""
    layout = laid_out(_digraph(table, direction, text=False))
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    lines = [
        f"<!-- {table}, {_SOURCE}; laid out by Graphviz {graphviz_version()} -->",
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}"'
        f' viewBox="{-MARGIN} {-MARGIN} {width} {height}">',
        f"<title>The states of a {table}</title>",
        TIP,
        f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{width}" height="{height}" fill="white"/>',
        f'<g fill="none" stroke="{LINE}" stroke-width="1.2" marker-end="url(#tip)">',
        path(layout.curves[_BEGIN, str(table.initial)]),
    ]
    for row, label in _rows(table):
        dashes = ' stroke-dasharray="5 3"' if label else ""
        title = f"{row.source} to {row.target}" + (f", {label}" if label else "")
        curve = path(layout.curves[str(row.source), str(row.target)])
        lines.append(f"<g{dashes}><title>{escape(title)}</title>{curve}</g>")
    begin = layout.centers[_BEGIN]
    lines += ["</g>", f'<circle cx="{begin.x}" cy="{begin.y}" r="{BEGIN_SIZE // 2}" fill="{LINE}"/>']
    lines.append(f'<g font-family="{FONTS}" font-size="{FONT_SIZE}" text-anchor="middle">')
    for row, label in _rows(table):
        if label:
            lines.append(text_at(layout.labels[str(row.source), str(row.target)], label))
    for state in table.states:
        center = layout.centers[str(state)]
        fill = INITIAL if state is table.initial else "white"
        if state in _ends(table):
            lines.append(box(center, _node_width(table) + 8, NODE_HEIGHT + 8, fill))
        lines += [box(center, _node_width(table), NODE_HEIGHT, fill), text_at(center, str(state))]
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


FORMATS: Mapping[str, Callable[[Table[Any]], str]] = MappingProxyType({"mermaid": mermaid, "dot": dot, "svg": svg})
"""What a table can be drawn as, by the name of the format."""


def _digraph(table: Table[Any], direction: Direction, *, text: bool) -> str:
    """The graph in DOT; without text, places are kept free for the same text of a width we know."""
    width, height = _node_width(table) / POINTS_PER_INCH, NODE_HEIGHT / POINTS_PER_INCH
    unnamed = "" if text else ', label=""'
    lines = [
        f"// {table}, {_SOURCE}",
        f'digraph "{table}" {{',
        f"    rankdir={direction} nodesep=0.4 ranksep=0.5",
        f'    node [shape=box, style="rounded,filled", fillcolor=white, fontname="{FONTS}",'
        f" fontsize={FONT_SIZE}, fixedsize=true, width={width:.2f}, height={height:.2f}{unnamed}]",
        f'    edge [color="{LINE}", fontname="{FONTS}", fontsize={FONT_SIZE}]',
        f'    "{_BEGIN}" [shape=point, width={BEGIN_SIZE / POINTS_PER_INCH:.2f}, fillcolor="{LINE}"]',
    ]
    for state in table.states:
        marks = [f'fillcolor="{INITIAL}"'] if state is table.initial else []
        marks += ["peripheries=2"] if state in _ends(table) else []
        lines.append(f'    "{state}"' + (f" [{', '.join(marks)}]" if marks else ""))
    lines.append(f'    "{_BEGIN}" -> "{table.initial}"')
    for row, label in _rows(table):
        words = f'"{label}"' if text else blank(label)
        marks_of_row = f" [style=dashed, label={words}]" if label else ""
        lines.append(f'    "{row.source}" -> "{row.target}"{marks_of_row}')
    return "\n".join([*lines, "}"]) + "\n"


def _rows(table: Table[Any]) -> Iterator[tuple[Row[Any], str]]:
    """The rows to draw, in order, each with its label: one release needs none."""
    rows = table.in_force if table.release else table.rows
    for row in sorted(rows, key=lambda row: (row.source, row.target)):
        yield row, "" if table.release else row.releases


def _ends(table: Table[Any]) -> list[Any]:
    """The states that no arrow of the picture leaves."""
    left = {row.source for row, _ in _rows(table)}
    return [state for state in table.states if state not in left]


def _node_width(table: Table[Any]) -> int:
    """One width for all states of a table, in points."""
    return max(width_of(str(state)) for state in table.states)
