"""Pictures of the transition tables: Mermaid, DOT and SVG, each drawn from the rows alone.

Text in, text out, always in the same order: states as declared, transitions by source and then target.
A table of all releases shows each row with the releases that had it; `table.at("2.2")` draws one release.

On an arrow stands what asks for the transition. With the counts of an exploration an arrow is the wider, the more
often its row was taken, and dashed if it never was; Mermaid's state diagrams know no width.

An SVG is the same bytes on every machine, see `statemachines.drawing`.
"""

from collections.abc import Mapping
from html import escape
from textwrap import wrap
from types import MappingProxyType
from typing import Any, Literal, Protocol

from statemachines.drawing import (
    BEGIN_SIZE,
    FONT_SIZE,
    FONTS,
    INITIAL,
    LABEL_HEIGHT,
    LINE,
    MARGIN,
    NODE_HEIGHT,
    POINTS_PER_INCH,
    TIP,
    Point,
    blank,
    box,
    graphviz_version,
    heat,
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
Taken = Mapping[tuple[str, str], int]
"""How often a row was taken, by the names of its states; one that never was is not among them."""

DIAGRAMS: Mapping[str, Table[Any]] = MappingProxyType({"partition": PARTITION, "replica": REPLICA})
"""The tables there are pictures of, by name."""

_SOURCE = "drawn from the table by statemachines.diagrams"
LONGEST_LINE = 24
"""How many letters a line on an arrow has."""
_BEGIN = "begin"  # no state of Kafka's begins with a small letter


def mermaid(table: Table[Any], direction: Direction = "TB", taken: Taken | None = None) -> str:
    """The table as a Mermaid state diagram, for Markdown and for https://mermaid.live."""
    lines = [f"%% {table}, {_SOURCE}", "stateDiagram-v2", f"    direction {direction}"]
    lines.append(f"    [*] --> {table.initial}")
    for row in _rows(table):
        label = "; ".join(_label(table, row))
        lines.append(f"    {row.source} --> {row.dest}" + (f" : {label}" if label else ""))
    lines += [f"    {state} --> [*]" for state in _ends(table)]
    return "\n".join(lines) + "\n"


def dot(table: Table[Any], direction: Direction = "TB", taken: Taken | None = None) -> str:
    """The table as a Graphviz graph: the initial state is filled, terminal ones have a double border."""
    return _digraph(table, direction, taken, text=True)


def svg(table: Table[Any], direction: Direction = "TB", taken: Taken | None = None) -> str:
    """The table as an SVG image of its own, the same bytes wherever Graphviz has the same version."""
    layout = laid_out(_digraph(table, direction, taken, text=False))
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
    for row in _rows(table):
        stroke = _stroke(row, taken)
        looks = "" if stroke is None else f' stroke-width="{stroke}"' if stroke else ' stroke-dasharray="5 3"'
        title = ", ".join([f"{row.source} to {row.dest}", *_label(table, row)])
        curve = path(layout.curves[str(row.source), str(row.dest)])
        lines.append(f"<g{looks}><title>{escape(title)}</title>{curve}</g>")
    begin = layout.centers[_BEGIN]
    lines += ["</g>", f'<circle cx="{begin.x}" cy="{begin.y}" r="{BEGIN_SIZE // 2}" fill="{LINE}"/>']
    words_of_a_size = f'font-family="{FONTS}" font-size="{FONT_SIZE}" text-anchor="middle"'
    lines.append(f'<g {words_of_a_size} paint-order="stroke" stroke="white" stroke-width="4">')
    for row in _rows(table):
        label = _lines(table, row)
        for number, words in enumerate(label):
            x, y = layout.labels[str(row.source), str(row.dest)]
            lines.append(text_at(Point(x, y + LABEL_HEIGHT * (2 * number - len(label) + 1) // 2), words))
    lines += ["</g>", f"<g {words_of_a_size}>"]
    for state in table.states:
        center = layout.centers[str(state)]
        fill = INITIAL if state is table.initial else "white"
        if state in _ends(table):
            lines.append(box(center, _node_width(table) + 8, NODE_HEIGHT + 8, fill))
        lines += [box(center, _node_width(table), NODE_HEIGHT, fill), text_at(center, str(state))]
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


class Format(Protocol):
    """What a table is drawn by."""

    def __call__(self, table: Table[Any], direction: Direction = "TB", taken: Taken | None = None) -> str:
        """The table, as text."""


FORMATS: Mapping[str, Format] = MappingProxyType({"mermaid": mermaid, "dot": dot, "svg": svg})
"""What a table can be drawn as, by the name of the format."""


def _digraph(table: Table[Any], direction: Direction, taken: Taken | None, *, text: bool) -> str:
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
    for row in _rows(table):
        label, stroke = _lines(table, row), _stroke(row, taken)
        marks = [] if stroke is None else [f"penwidth={stroke}" if stroke else "style=dashed"]
        if label:
            marks.append("label=" + ('"' + r"\n".join(label) + '"' if text else blank(*label)))
        lines.append(f'    "{row.source}" -> "{row.dest}"' + (f" [{', '.join(marks)}]" if marks else ""))
    return "\n".join([*lines, "}"]) + "\n"


def _rows(table: Table[Any]) -> list[Row[Any]]:
    """The rows to draw, in order."""
    return sorted(table.in_force if table.release else table.rows, key=lambda row: (row.source, row.dest))


def _label(table: Table[Any], row: Row[Any]) -> list[str]:
    """What asks for it, and of which releases it is: where one release is drawn that is not said."""
    return [each for each in (row.cause, "" if table.release else row.releases) if each]


def _lines(table: Table[Any], row: Row[Any]) -> list[str]:
    """The same, line by line."""
    return [line for each in _label(table, row) for line in wrap(each, LONGEST_LINE)]


def _stroke(row: Row[Any], taken: Taken | None) -> float | None:
    """How wide an arrow is; 0 if its row was never taken, None if that was not counted."""
    if taken is None:
        return None
    return heat(taken.get((str(row.source), str(row.dest)), 0), max(taken.values(), default=0))


def _ends(table: Table[Any]) -> list[Any]:
    """The states that no arrow of the picture leaves."""
    left = {row.source for row in _rows(table)}
    return [state for state in table.states if state not in left]


def _node_width(table: Table[Any]) -> int:
    """One width for all states of a table, in points."""
    return max(width_of(str(state)) for state in table.states)
