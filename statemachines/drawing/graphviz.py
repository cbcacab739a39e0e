"""How pictures get identical bytes on every machine: Graphviz draws everything but the words.

The widths of text depend on the fonts that fontconfig finds. So Graphviz receives a cell without text for each line,
as wide as the line by our own estimate, and loads no font. The line travels as the cell's tooltip, and `svg_of`
writes it at the cell's final position. Only the version of Graphviz still matters, since its layout may differ: each
SVG names the version that drew it.
"""

import re
from collections.abc import Iterable
from html import escape, unescape
from typing import Literal

POINTS_PER_INCH = 72
FONT_SIZE = 13
FONTS = "Helvetica, Arial, sans-serif"
# A letter's width relative to the font's size. DejaVu Sans, a wide face, takes 0.52 in names and 0.59 in numbers.
LETTER = 0.6
NODE_HEIGHT = 34
NODE_PADDING = 22
NARROW_LETTER = 0.52
"""The same for sentences, which have more narrow letters than names."""
PADDING = 6
"""The space before and after a line in a cell."""
LABEL_HEIGHT = 18
BEGIN_SIZE = 12
LINE = "#444444"
INITIAL = "#dfe7ef"
QUIET = "#666666"
TIP = (
    '<marker id="tip" viewBox="0 0 10 8" refX="10" refY="4" markerWidth="10" markerHeight="8"'
    f' markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L10,4 L0,8 z" fill="{LINE}"/></marker>'
)
"""The tip of an arrow, in an SVG."""


def width_of(words: str) -> int:
    """The width of a box with room for these words, in points: even, so that halves are whole."""
    return 2 * round((len(words) * FONT_SIZE * LETTER + NODE_PADDING) / 2)


def cell(markup: str, looks: str = "", fill: str = "transparent") -> str:
    """A cell of one of Graphviz' tables, with room for a line of text: words, some of them `strong` or `quiet`.

    Args:
        markup: the line, as SVG.
        looks: further attributes of the cell, such as `colspan="2"`.
        fill: its colour.
    """
    letters = len(unescape(_TAG.sub("", markup))) * (1.15 if "bold" in markup else 1)
    size = f'width="{round(letters * FONT_SIZE * NARROW_LETTER) + 2 * PADDING}" height="{LABEL_HEIGHT}"'
    return f'<td {size} bgcolor="{fill}" href="." title="{escape(markup)}" {looks}></td>'


def label(rows: Iterable[str], looks: str = 'border="0" cellspacing="0"') -> str:
    """The label of a node, an edge or a graph, as one of Graphviz' tables: each row is one cell or several."""
    inner = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<<table cellborder="0" cellpadding="0" {looks}>{inner}</table>>'


def strong(words: str) -> str:
    """Words in bold letters, for a cell."""
    return f'<tspan font-weight="bold">{escape(words)}</tspan>'


def quiet(words: str) -> str:
    """Words in quiet letters, for a cell."""
    return f'<tspan font-style="italic" fill="{QUIET}">{escape(words)}</tspan>'


def svg_of(dot: str, title: str, engine: str, anchor: Literal["start", "middle"]) -> str:
    """An SVG of a graph whose labels are tables of cells. Imports pygraphviz lazily.

    Args:
        dot: the graph.
        title: the title of the picture.
        engine: the Graphviz engine that lays it out.
        anchor: the alignment of a line in its cell.
    """
    from pygraphviz import AGraph

    comment, _, image = AGraph(string=dot).draw(format="svg", prog=engine).decode().partition("<svg ")

    def written(found: re.Match[str]) -> str:
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", found["points"])]
        left, right, middle = min(numbers[::2]), max(numbers[::2]), (min(numbers[1::2]) + max(numbers[1::2])) / 2
        x = left + PADDING if anchor == "start" else (left + right) / 2
        shapes = _INVISIBLE.sub("", found["shapes"])
        return f'{shapes}<text x="{x:.2f}" y="{middle:.2f}" dy=".35em">{unescape(found["markup"])}</text>'

    looks = f'role="img" font-family="{FONTS}" font-size="{FONT_SIZE}" text-anchor="{anchor}"'
    head = re.sub(r"(?s).*graphviz version ([\d.]+).*", rf"<!-- drawn by Graphviz \1 -->\n<svg {looks} ", comment)
    image = _POINTS.sub('"', image, count=2).replace("<g ", f"<title>{escape(title)}</title>\n<g ", 1)
    return head + _CELL.sub(written, image)


_TAG = re.compile("<[^>]*>")
_POINTS = re.compile(r'(?<=\d)pt"')
_INVISIBLE = re.compile(r'<polygon fill="none" stroke="none"[^>]*/>\n')
_CELL = re.compile(
    r'<g id="[^"]*"><a xlink:href="\." xlink:title="(?P<markup>[^"]*)">\n'
    r'(?P<shapes><\w+ [^>]*?(?:points|d)="(?P<points>[^"]*)"[^>]*/>\n(?:<[^/a][^>]*/>\n)*)</a>\n</g>'
)
"""A cell in an SVG of Graphviz: its tooltip, with the visible shapes."""
