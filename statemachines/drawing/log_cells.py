"""Pictures of a partition's logs, from one moment to the next: a row is a broker, a cell is a record.

A cell's colour is the leader epoch that appended the record, and the red bar is the high watermark of this broker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, TypeAlias

from statemachines.broker.log.unified_log import PartitionLogs, UnifiedLog
from statemachines.drawing.graphviz import FONT_SIZE, FONTS, INITIAL, LETTER, QUIET

Moments: TypeAlias = Sequence[tuple[str, PartitionLogs]]
"""Sentences, each with the logs at that time."""

COLOURS: Final = (INITIAL, "#f6d8ae", "#cfe8cf", "#e3d3ec", "#f4cccc")
"""The colours of leader epochs, in turn; the first is also that of records without an epoch."""
WATERMARK: Final = "#b3261e"
LEGEND: Final = "Colour and @: the leader epoch of a record. Red bar: the high watermark of the broker."
ROW, CELL, MARGIN = 30, 22, 16
"""The heights of a row and of a cell, and the space around everything, in points."""


def svg(moments: Moments) -> str:
    """A picture of these moments, one below the other, in one file without scripts or fonts."""
    logs = [log for _, each in moments for log in each.values()]
    names = max(_width(each.name(broker)) for _, each in moments for broker in each)
    cell = max((_width(str(record)) for log in logs for record in log.records), default=0) + CELL
    columns = max((max(log.end_offset, log.high_watermark) for log in logs), default=0)
    ends = MARGIN + names + MARGIN + columns * cell + MARGIN
    width = max(ends + _width("LEO 00, HW 00"), *(_width(each) for each in (LEGEND, *dict(moments)))) + MARGIN
    drawn, y = [], MARGIN
    for sentence, at_that_time in moments:
        drawn.append(_text(MARGIN, y + CELL // 2, sentence))
        for broker, log in at_that_time.items():
            y += ROW
            is_live = broker in at_that_time.live
            drawn.append(_text(MARGIN, y + CELL // 2, at_that_time.name(broker), "black" if is_live else QUIET))
            drawn += _row(log, MARGIN + names + MARGIN, y, cell, "1" if is_live else "0.45")
            drawn.append(_text(ends, y + CELL // 2, f"LEO {log.end_offset}, HW {log.high_watermark}", QUIET))
        y += ROW + MARGIN
    drawn.append(_text(MARGIN, y + CELL // 2, LEGEND, QUIET))
    size = f'width="{width}" height="{y + ROW}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {y + ROW}" font-family="{FONTS}"'
            f' font-size="{FONT_SIZE}">',
            f"<title>{escape(' '.join(dict(moments)))}</title>",
            f'<rect {size} fill="white"/>',
            *drawn,
            "</svg>\n",
        ]
    )


def _row(log: UnifiedLog, x: int, y: int, cell: int, opacity: str) -> Iterator[str]:
    """The cells of a log, and its high watermark."""
    for offset, record in enumerate(log.records):
        fill = COLOURS[max(0, record.leader_epoch) % len(COLOURS)]
        left = x + offset * cell
        yield (
            f'<rect x="{left + 2}" y="{y}" width="{cell - 4}" height="{CELL}" rx="4" fill="{fill}" stroke="black"'
            f' opacity="{opacity}"/>'
        )
        yield _text(left + cell // 2, y + CELL // 2, str(record), anchor="middle")
    bar = x + max(0, log.high_watermark) * cell
    yield f'<line x1="{bar}" y1="{y - 3}" x2="{bar}" y2="{y + CELL + 3}" stroke="{WATERMARK}" stroke-width="3"/>'


def _width(words: str) -> int:
    return round(len(words) * FONT_SIZE * LETTER)


def _text(x: int, middle: int, words: str, colour: str = "black", anchor: str = "start") -> str:
    return f'<text x="{x}" y="{middle + 5}" fill="{colour}" text-anchor="{anchor}">{escape(words)}</text>'
