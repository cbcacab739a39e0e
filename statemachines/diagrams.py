"""Pictures of the transition tables: Mermaid, DOT and SVG, each drawn from the rows alone.

Text in, text out, always in the same order: states as declared, transitions by source and then target.
A table of all releases shows each row with the releases that had it; `table.at("2.2")` draws one release.

An SVG has to be the same bytes on every machine, and the widths of text are not: they come from the fonts
that fontconfig happens to find. So Graphviz is asked for a layout only, of boxes whose size is fixed and
whose text is taken away; it loads no font at all. The text is put in afterwards, here. Coordinates are
whole points, so that the last bits of floating-point arithmetic do not show. What remains is Graphviz'
own version, whose layout may differ: each SVG names the one that laid it out.

`python -m statemachines.diagrams DIRECTORY` writes a Mermaid and an SVG file for every table.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from statemachines.partition import PARTITION
from statemachines.replica import REPLICA
from statemachines.table import Row, Table

__all__ = ["DIAGRAMS", "FORMATS", "Direction", "dot", "files", "graphviz_version", "mermaid", "svg"]

Direction = Literal["LR", "TB"]
"""Which way time flows: from left to right, or from top to bottom."""

DIAGRAMS: Mapping[str, Table[Any]] = MappingProxyType({"partition": PARTITION, "replica": REPLICA})
"""The tables there are pictures of, by name."""

_SOURCE = "drawn from the table by statemachines.diagrams"
_BEGIN = "begin"  # no state of Kafka's begins with a small letter

_POINTS_PER_INCH = 72
_FONT_SIZE = 13
_FONTS = "Helvetica, Arial, sans-serif"
# A letter's width by the font's size. DejaVu Sans, a wide face, takes 0.52 in names and 0.59 in numbers.
_LETTER = 0.6
_NODE_HEIGHT = 34
_NODE_PADDING = 22
_LABEL_HEIGHT = 18
_BEGIN_SIZE = 12
_MARGIN = 8
_LINE = "#444444"
_INITIAL = "#dfe7ef"


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
    layout = _layout(table, direction)
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    lines = [
        f"<!-- {table}, {_SOURCE}; laid out by Graphviz {graphviz_version()} -->",
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}"'
        f' viewBox="{-_MARGIN} {-_MARGIN} {width} {height}">',
        f"<title>The states of a {table}</title>",
        '<marker id="tip" viewBox="0 0 10 8" refX="10" refY="4" markerWidth="10" markerHeight="8"'
        f' markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L10,4 L0,8 z" fill="{_LINE}"/></marker>',
        f'<rect x="{-_MARGIN}" y="{-_MARGIN}" width="{width}" height="{height}" fill="white"/>',
        f'<g fill="none" stroke="{_LINE}" stroke-width="1.2" marker-end="url(#tip)">',
        _path(layout.curves[_BEGIN, str(table.initial)]),
    ]
    for row, label in _rows(table):
        dashes = ' stroke-dasharray="5 3"' if label else ""
        title = f"{row.source} to {row.target}" + (f", {label}" if label else "")
        curve = _path(layout.curves[str(row.source), str(row.target)])
        lines.append(f"<g{dashes}><title>{escape(title)}</title>{curve}</g>")
    begin = layout.centers[_BEGIN]
    lines += ["</g>", f'<circle cx="{begin.x}" cy="{begin.y}" r="{_BEGIN_SIZE // 2}" fill="{_LINE}"/>']
    lines.append(f'<g font-family="{_FONTS}" font-size="{_FONT_SIZE}" text-anchor="middle">')
    for row, label in _rows(table):
        if label:
            lines.append(_text(layout.labels[str(row.source), str(row.target)], label))
    for state in table.states:
        center = layout.centers[str(state)]
        fill = _INITIAL if state is table.initial else "white"
        if state in _ends(table):
            lines.append(_box(center, _node_width(table) + 8, _NODE_HEIGHT + 8, fill))
        lines += [_box(center, _node_width(table), _NODE_HEIGHT, fill), _text(center, str(state))]
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


FORMATS: Mapping[str, Callable[[Table[Any]], str]] = MappingProxyType({"mermaid": mermaid, "dot": dot, "svg": svg})
"""What a table can be drawn as, by the name of the format."""


def graphviz_version() -> str:
    """The version of the Graphviz inside pygraphviz, whose layout the SVGs show."""
    from pygraphviz import AGraph

    empty = AGraph(string="digraph {}").draw(format="svg", prog="dot").decode()
    found = re.search(r"graphviz version ([0-9.]+)", empty)
    return found[1] if found else "unknown"


def files() -> dict[str, str]:
    """Every generated picture, by file name."""
    return {
        f"{name}.{suffix}": draw(table)
        for name, table in sorted(DIAGRAMS.items())
        for suffix, draw in (("mmd", mermaid), ("svg", svg))
    }


def _digraph(table: Table[Any], direction: Direction, *, text: bool) -> str:
    """The graph in DOT; without text, places are kept free for the same text of a width we know."""
    width, height = _node_width(table) / _POINTS_PER_INCH, _NODE_HEIGHT / _POINTS_PER_INCH
    blank = "" if text else ', label=""'
    lines = [
        f"// {table}, {_SOURCE}",
        f'digraph "{table}" {{',
        f"    rankdir={direction} nodesep=0.4 ranksep=0.5",
        f'    node [shape=box, style="rounded,filled", fillcolor=white, fontname="{_FONTS}",'
        f" fontsize={_FONT_SIZE}, fixedsize=true, width={width:.2f}, height={height:.2f}{blank}]",
        f'    edge [color="{_LINE}", fontname="{_FONTS}", fontsize={_FONT_SIZE}]',
        f'    "{_BEGIN}" [shape=point, width={_BEGIN_SIZE / _POINTS_PER_INCH:.2f}, fillcolor="{_LINE}"]',
    ]
    for state in table.states:
        marks = [f'fillcolor="{_INITIAL}"'] if state is table.initial else []
        marks += ["peripheries=2"] if state in _ends(table) else []
        lines.append(f'    "{state}"' + (f" [{', '.join(marks)}]" if marks else ""))
    lines.append(f'    "{_BEGIN}" -> "{table.initial}"')
    for row, label in _rows(table):
        words = f'"{label}"' if text else _blank(label)
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
    """One width for all states of a table, in points: even, so that halves are whole."""
    letters = max(len(str(state)) for state in table.states)
    return 2 * round((letters * _FONT_SIZE * _LETTER + _NODE_PADDING) / 2)


def _blank(label: str) -> str:
    """An empty cell as large as the label, as a label in Graphviz' own HTML."""
    width = round(len(label) * _FONT_SIZE * _LETTER) + 6
    cell = f'<td fixedsize="true" width="{width}" height="{_LABEL_HEIGHT}"></td>'
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>{cell}</tr></table>>'


class _Point(NamedTuple):
    """A place in the picture, in whole points, counted downward as SVG does."""

    x: int
    y: int


@dataclass(frozen=True)
class _Layout:
    """Where Graphviz put things: nodes by name, edges and their labels by source and target."""

    width: int
    height: int
    centers: dict[str, _Point]
    curves: dict[tuple[str, str], list[_Point]]
    labels: dict[tuple[str, str], _Point]


def _layout(table: Table[Any], direction: Direction) -> _Layout:
    """Lay the table out; pygraphviz is imported here and not before."""
    from pygraphviz import AGraph

    graph = AGraph(string=_digraph(table, direction, text=False))
    graph.layout(prog="dot")
    width, height = map(float, graph.graph_attr["bb"].split(",")[2:])

    def point(pair: str) -> _Point:
        x, y = map(float, pair.split(","))
        return _Point(round(x), round(height - y))

    def curve(spline: str) -> list[_Point]:
        tip, *bends = spline.removeprefix("e,").split()  # Graphviz names the arrow's tip first
        return [point(pair) for pair in (*bends, tip)]

    return _Layout(
        width=round(width),
        height=round(height),
        centers={node: point(node.attr["pos"]) for node in graph.nodes()},
        curves={(edge[0], edge[1]): curve(edge.attr["pos"]) for edge in graph.edges()},
        labels={(edge[0], edge[1]): point(edge.attr["lp"]) for edge in graph.edges() if edge.attr["lp"]},
    )


def _path(curve: list[_Point]) -> str:
    start, *bends, tip = (f"{point.x},{point.y}" for point in curve)
    return f'<path d="M{start} C{" ".join(bends)} L{tip}"/>'


def _box(center: _Point, width: int, height: int, fill: str) -> str:
    return (
        f'<rect x="{center.x - width // 2}" y="{center.y - height // 2}" width="{width}" height="{height}"'
        f' rx="7" fill="{fill}" stroke="black"/>'
    )


def _text(center: _Point, words: str) -> str:
    return f'<text x="{center.x}" y="{center.y}" dy=".35em">{escape(words)}</text>'


def _main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("usage: python -m statemachines.diagrams DIRECTORY")
    directory = Path(arguments[0])
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (directory / name).write_text(content, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    _main(sys.argv[1:])
