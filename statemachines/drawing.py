"""How pictures come to be the same bytes on every machine: Graphviz draws all but the words.

The widths of text come from the fonts that fontconfig happens to find. So Graphviz is given a cell without text for
each line, as wide as the line is by our reckoning; it loads no font at all. The line travels through it as the
cell's tooltip, and `svg_of` writes it where the cell has come to be. What remains is the version of Graphviz, whose
layout may differ: each SVG names the one that drew it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from typing import Any, Literal, NamedTuple

__all__ = [
    "BEGIN_SIZE",
    "FONTS",
    "FONT_SIZE",
    "INITIAL",
    "LABEL_HEIGHT",
    "LETTER",
    "LINE",
    "MARGIN",
    "NODE_HEIGHT",
    "NODE_PADDING",
    "POINTS_PER_INCH",
    "TIP",
    "GraphLayout",
    "Point",
    "blank",
    "box",
    "cell",
    "graphviz_version",
    "laid_out",
    "path",
    "quiet",
    "strong",
    "svg_of",
    "table",
    "text_at",
    "width_of",
]

POINTS_PER_INCH = 72
FONT_SIZE = 13
FONTS = "Helvetica, Arial, sans-serif"
# A letter's width by the font's size. DejaVu Sans, a wide face, takes 0.52 in names and 0.59 in numbers.
LETTER = 0.6
NODE_HEIGHT = 34
NODE_PADDING = 22
NARROW_LETTER = 0.52
"""The same of sentences, which have more narrow letters than names."""
PADDING = 6
"""What is left free before and behind a line in a cell."""
LABEL_HEIGHT = 18
BEGIN_SIZE = 12
MARGIN = 8
LINE = "#444444"
INITIAL = "#dfe7ef"
QUIET = "#666666"
TIP = (
    '<marker id="tip" viewBox="0 0 10 8" refX="10" refY="4" markerWidth="10" markerHeight="8"'
    f' markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L10,4 L0,8 z" fill="{LINE}"/></marker>'
)
"""The tip of an arrow, in an SVG."""


def graphviz_version() -> str:
    """The version of the Graphviz inside pygraphviz, whose layout the SVGs show."""
    from pygraphviz import AGraph

    empty = AGraph(string="digraph {}").draw(format="svg", prog="dot").decode()
    found = re.search(r"graphviz version ([0-9.]+)", empty)
    return found[1] if found else "unknown"


class Point(NamedTuple):
    """A place in the picture, in whole points, counted downward as SVG does."""

    x: int
    y: int


class Rectangle(NamedTuple):
    """A rectangle in the picture, from its upper left corner."""

    corner: Point
    width: int
    height: int


@dataclass(frozen=True)
class GraphLayout:
    """Where Graphviz put things: nodes by name; edges and their labels by their id, or by source and target."""

    width: int
    height: int
    centers: dict[str, Point]
    curves: dict[tuple[str, ...], list[Point]]
    labels: dict[tuple[str, ...], Point]
    clusters: dict[str, Rectangle] = field(default_factory=dict)


def laid_out(dot: str) -> GraphLayout:
    """Lay a graph in DOT out; pygraphviz is imported here and not before."""
    from pygraphviz import AGraph

    graph = AGraph(string=dot)
    graph.layout(prog="dot")
    width, height = map(float, graph.graph_attr["bb"].split(",")[2:])

    def point(pair: str) -> Point:
        x, y = map(float, pair.split(","))
        return Point(round(x), round(height - y))

    def curve(spline: str) -> list[Point]:
        tip, *bends = spline.removeprefix("e,").split()  # Graphviz names the arrow's tip first
        return [point(pair) for pair in (*bends, tip)]

    def name(edge: Any) -> tuple[str, ...]:
        return (edge.attr["id"],) if edge.attr["id"] else (edge[0], edge[1])

    def bounds(corners: str) -> Rectangle:
        left, bottom, right, top = map(float, corners.split(","))
        corner = Point(round(left), round(height - top))
        return Rectangle(corner, round(right) - corner.x, round(height - bottom) - corner.y)

    return GraphLayout(
        width=round(width),
        height=round(height),
        centers={node: point(node.attr["pos"]) for node in graph.nodes()},
        curves={name(edge): curve(edge.attr["pos"]) for edge in graph.edges()},
        labels={name(edge): point(edge.attr["lp"]) for edge in graph.edges() if edge.attr["lp"]},
        clusters={part.name: bounds(part.graph_attr["bb"]) for part in graph.subgraphs()},
    )


def width_of(words: str) -> int:
    """How wide a box is that has room for these words, in points: even, so that halves are whole."""
    return 2 * round((len(words) * FONT_SIZE * LETTER + NODE_PADDING) / 2)


def blank(*lines: str) -> str:
    """An empty cell as large as the lines of a label, as a label in Graphviz' own HTML."""
    width = round(max(map(len, lines)) * FONT_SIZE * LETTER) + 6
    cell = f'<td fixedsize="true" width="{width}" height="{LABEL_HEIGHT * len(lines)}"></td>'
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>{cell}</tr></table>>'


def path(curve: Sequence[Point]) -> str:
    """An edge."""
    start, *bends, tip = (f"{point.x},{point.y}" for point in curve)
    return f'<path d="M{start} C{" ".join(bends)} L{tip}"/>'


def box(center: Point, width: int, height: int, fill: str) -> str:
    """A node, without its name."""
    return (
        f'<rect x="{center.x - width // 2}" y="{center.y - height // 2}" width="{width}" height="{height}"'
        f' rx="7" fill="{fill}" stroke="black"/>'
    )


def text_at(center: Point, words: str) -> str:
    """A name or a label."""
    return f'<text x="{center.x}" y="{center.y}" dy=".35em">{escape(words)}</text>'


def cell(markup: str, looks: str = "", fill: str = "transparent") -> str:
    """A cell of one of Graphviz' tables, with room for a line of text: words, some of them `strong` or `quiet`.

    Args:
        markup: the line as SVG has it.
        looks: further attributes of the cell, such as `colspan="2"`.
        fill: its colour.
    """
    letters = len(unescape(_TAG.sub("", markup))) * (1.15 if "bold" in markup else 1)
    size = f'width="{round(letters * FONT_SIZE * NARROW_LETTER) + 2 * PADDING}" height="{LABEL_HEIGHT}"'
    return f'<td {size} bgcolor="{fill}" href="." title="{escape(markup)}" {looks}></td>'


def table(rows: Iterable[str], looks: str = 'border="0" cellspacing="0"') -> str:
    """A table of Graphviz, as the label of a node, an edge or a graph: each row is one cell or several."""
    inner = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<<table cellborder="0" cellpadding="0" {looks}>{inner}</table>>'


def strong(words: str) -> str:
    """Words in bold letters, for a cell."""
    return f'<tspan font-weight="bold">{escape(words)}</tspan>'


def quiet(words: str) -> str:
    """Words that stand back, for a cell."""
    return f'<tspan font-style="italic" fill="{QUIET}">{escape(words)}</tspan>'


def svg_of(graph: Any, engine: str, anchor: Literal["start", "middle"]) -> str:
    """An SVG of a graph whose labels are tables of cells.

    Args:
        graph: an `AGraph` of pygraphviz.
        engine: which of Graphviz' engines lays it out.
        anchor: where in its cell a line stands.
    """
    drawn = graph.draw(format="svg", prog=engine).decode()

    def written(found: re.Match[str]) -> str:
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", found["points"])]
        left, right, middle = min(numbers[::2]), max(numbers[::2]), (min(numbers[1::2]) + max(numbers[1::2])) / 2
        x = left + PADDING if anchor == "start" else (left + right) / 2
        shapes = _INVISIBLE.sub("", found["shapes"])
        return f'{shapes}<text x="{x:.2f}" y="{middle:.2f}" dy=".35em">{unescape(found["markup"])}</text>'

    looks = f'role="img" font-family="{FONTS}" font-size="{FONT_SIZE}" text-anchor="{anchor}"'
    head, image = f"<!-- drawn by Graphviz {graphviz_version()} -->\n", drawn[drawn.index("<svg ") :]
    image = _POINTS.sub('"', image, count=2).replace("<svg ", f"<svg {looks} ", 1)
    return head + _CELL.sub(written, image)


_TAG = re.compile("<[^>]*>")
_POINTS = re.compile(r'(?<=\d)pt"')
_INVISIBLE = re.compile(r'<polygon fill="none" stroke="none"[^>]*/>\n')
_CELL = re.compile(
    r'<g id="[^"]*"><a xlink:href="\." xlink:title="(?P<markup>[^"]*)">\n'
    r'(?P<shapes><\w+ [^>]*?(?:points|d)="(?P<points>[^"]*)"[^>]*/>\n(?:<[^/a][^>]*/>\n)*)</a>\n</g>'
)
"""A cell in an SVG of Graphviz: its tooltip, and in it whatever of it is to be seen."""
