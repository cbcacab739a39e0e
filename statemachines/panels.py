"""A page of panels: steps below each other, and beside each step what else may come of it, with where that leads.

Where a step leads to the next one of its panel, an arrow does; whatever leads elsewhere names the place [off-page
connectors of a flowchart; ISO 5807]. So no line crosses another, and a large machine fits on a page that can be read.

Nothing is asked of fonts or of Graphviz: the page is the same bytes on every machine.
"""

from collections.abc import Iterator, Sequence
from html import escape
from textwrap import wrap
from typing import NamedTuple

from statemachines.drawing import FONTS, INITIAL, LINE, TIP, Point

__all__ = ["Branch", "PanelStep", "Panel", "page"]

FONT_SIZE = 12
LETTER = 6.2
"""How wide a letter is, in points: words have more narrow ones than names."""
LINE_HEIGHT = 15
LONGEST = 52
"""How many letters a line of an answer has."""
BOX_HEIGHT = 24
BOX_PADDING = 9
INSET = 12
"""From the edge of a panel to its boxes."""
TITLE_HEIGHT = 26
STEM, BRANCHES = 14, 34
"""From the edge of a box to what leads to the next one, and to what leads elsewhere."""
WORDS = 48
"""From the edge of a box to the words of what leads elsewhere."""
LEADER = 30
"""How long the shortest arrow to a place is."""
GAP = 12
"""Between panels, and between a step and the next."""
MARGIN = 14
A4_LANDSCAPE = 297 / 210
PANEL, PANEL_LINE, QUIET = "#f6f6f2", "#b5b5ab", "#666666"


class Branch(NamedTuple):
    """What may come of a step, and where that leads."""

    words: str
    target: str = ""
    """The name of the place; empty of one that leads to the next step of the panel."""

    @property
    def lines(self) -> list[str]:
        """Its words, line by line."""
        return wrap(self.words, LONGEST) or [""]


class PanelStep(NamedTuple):
    """A step, and what may come of it."""

    words: str
    answers: tuple[Branch, ...]
    title: str = ""
    """What the step is, in words."""
    entered: str = ""
    """From where else than from the step before it is come to."""
    waits: bool = False
    """It is filled."""
    is_box: bool = True
    """Or else words about several steps."""

    @property
    def aside(self) -> list[Branch]:
        """What leads elsewhere."""
        return [each for each in self.answers if each.target]

    @property
    def onward(self) -> list[Branch]:
        """What leads to the next step."""
        return [each for each in self.answers if not each.target]

    @property
    def box_width(self) -> int:
        """Of its words, with what is left free beside them."""
        return width_of(self.words) + 2 * BOX_PADDING

    @property
    def height(self) -> int:
        """With what is left free below it."""
        lines = sum(len(each.lines) for each in self.answers)
        return (BOX_HEIGHT if self.is_box else LINE_HEIGHT) + lines * LINE_HEIGHT + GAP + (4 if self.onward else 0)


class Panel(NamedTuple):
    """Steps that belong together, in order."""

    title: str
    blocks: tuple[PanelStep, ...]

    @property
    def width(self) -> int:
        """What it needs, with what is left free at both sides."""
        return 2 * INSET + max(self._widths())

    def _widths(self) -> Iterator[int]:
        """Of all that stands in it."""
        yield round(1.1 * width_of(self.title))
        targets = [width_of(each.target) for block in self.blocks for each in block.aside]
        yield self.targets_at - INSET + round(1.1 * max(targets, default=0))
        for block in self.blocks:
            yield block.box_width + (10 + width_of(block.entered) if block.entered else 0)
            yield from (STEM + 10 + max(map(width_of, each.lines), default=0) for each in block.onward)

    @property
    def targets_at(self) -> int:
        """Where the names of places begin, below each other."""
        words = [width_of(line) for block in self.blocks for each in block.aside for line in each.lines]
        return INSET + WORDS + max(words, default=0) + LEADER

    @property
    def height(self) -> int:
        """That of its title and its steps."""
        return TITLE_HEIGHT + sum(block.height for block in self.blocks)


def width_of(words: str) -> int:
    """How wide words are, in points; there is room for those of a wide face."""
    return round(len(words) * LETTER)


def page(title: str, source: str, panels: Sequence[Panel], below: Sequence[str]) -> str:
    """The page as an SVG.

    Args:
        title: what is seen.
        source: what it was drawn from, for a comment in the file.
        panels: in order, column by column as far as they fit.
        below: sentences at the foot of the page.
    """
    places, width, bottom = _placed(panels)
    height = bottom + len(below) * LINE_HEIGHT + MARGIN
    lines = [
        f"<!-- {source} -->",
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="{FONTS}" font-size="{FONT_SIZE}">',
        f"<title>{escape(title)}</title>",
        TIP,
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{MARGIN}" y="24" font-size="16" font-weight="bold">{escape(title)}</text>',
    ]
    for panel, (corner, wide) in zip(panels, places, strict=True):
        lines += _drawn(panel, corner, wide)
    for number, sentence in enumerate(below):
        lines.append(_text(MARGIN, bottom + 10 + number * LINE_HEIGHT, sentence, f' fill="{QUIET}"'))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _placed(panels: Sequence[Panel]) -> tuple[list[tuple[Point, int]], int, int]:
    """The corner and the width of each panel, the width of the page and where the panels end.

    Each panel goes below the column that is shortest so far. As many columns as fill a sheet of A4 best.
    """

    def columns(number: int) -> tuple[list[tuple[Point, int]], int, int]:
        heights, of_column = [36] * number, []
        for panel in panels:
            column = heights.index(min(heights))
            of_column.append((column, heights[column]))
            heights[column] += panel.height + GAP
        widths = [0] * number
        for panel, (column, _) in zip(panels, of_column, strict=True):
            widths[column] = max(widths[column], panel.width)
        lefts = [MARGIN + sum(widths[:column]) + column * GAP for column in range(number)]
        places = [(Point(lefts[column], top), widths[column]) for column, top in of_column]
        return places, lefts[-1] + widths[-1] + MARGIN, max(heights)

    def sheet(laid: tuple[list[tuple[Point, int]], int, int]) -> float:
        return max(laid[1] / A4_LANDSCAPE, laid[2])

    return min(map(columns, range(1, len(panels) + 1)), key=sheet)


def _drawn(panel: Panel, corner: Point, width: int) -> Iterator[str]:
    x, y = corner.x + INSET, corner.y + TITLE_HEIGHT
    yield (
        f'<rect x="{corner.x}" y="{corner.y}" width="{width}" height="{panel.height}" rx="7" fill="{PANEL}"'
        f' stroke="{PANEL_LINE}"/>'
    )
    yield _text(x, corner.y + 17, panel.title, ' font-weight="bold"')
    for block in panel.blocks:
        yield from _block(block, Point(x, y), corner.x + panel.targets_at)
        y += block.height


def _block(block: PanelStep, corner: Point, targets_at: int) -> Iterator[str]:
    x, top = corner
    y = top + (BOX_HEIGHT if block.is_box else LINE_HEIGHT)
    aside, onward = block.aside, block.onward
    if aside:
        last = y + (sum(len(each.lines) for each in aside) - len(aside[-1].lines)) * LINE_HEIGHT + 8
        yield f'<path d="M{x + BRANCHES},{y} V{last}" fill="none" stroke="{LINE}"/>'
    line = y
    for each in aside:
        yield from _leads(each, Point(x, line), targets_at)
        line += len(each.lines) * LINE_HEIGHT
    if onward:
        end = top + block.height
        yield f'<path d="M{x + STEM},{y} V{end}" fill="none" stroke="{LINE}" marker-end="url(#tip)"/>'
        for each in onward:
            for words in each.lines:
                yield _text(x + STEM + 10, line + 12, words)
                line += LINE_HEIGHT
    if not block.is_box:
        yield _text(x, top + 11, block.words, ' font-style="italic"')
        return
    title = f"<title>{escape(block.title)}</title>" if block.title else ""
    yield (
        f'<g>{title}<rect x="{x}" y="{top}" width="{block.box_width}" height="{BOX_HEIGHT}" rx="6"'
        f' fill="{INITIAL if block.waits else "white"}" stroke="black"/>'
        f"{_text(x + BOX_PADDING, top + 16, block.words)}</g>"
    )
    if block.entered:
        yield _text(x + block.box_width + 10, top + 16, block.entered, f' font-style="italic" fill="{QUIET}"')


def _leads(answer: Branch, at: Point, targets_at: int) -> Iterator[str]:
    """A branch to the words, and from the end of the words an arrow to the name of the place."""
    x, y = at.x, at.y + 8
    words = answer.lines
    yield f'<path d="M{x + BRANCHES},{y} H{x + WORDS - 4}" fill="none" stroke="{LINE}"/>'
    for number, line in enumerate(words):
        yield _text(x + WORDS, y + 4 + number * LINE_HEIGHT, line)
    after = x + WORDS + width_of(words[0]) + 11  # capitals are wider than other letters
    yield f'<path d="M{after},{y} H{targets_at - 5}" fill="none" stroke="{LINE}" marker-end="url(#tip)"/>'
    yield _text(targets_at, y + 4, answer.target, ' font-weight="bold"')


def _text(x: int, y: int, words: str, looks: str = "") -> str:
    return f'<text x="{x}" y="{y}"{looks}>{escape(words)}</text>'
