"""How a search grew, level by level: as a picture, and as a diagram of Mermaid's."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from spec.checking.result import LevelResult
from spec.reports.content import states

MOST: Final = 120
"""Bars that a picture has; of more levels some stand for several, each with the largest of these."""
HEIGHT: Final = 100
COLOURED: Final = (
    "---",
    "config:",
    "  themeVariables:",
    "    xyChart:",
    '      plotColorPalette: "#4d7fae"',
    "---",
)
"""Mermaid's own bars are hardly seen on white."""


def sentence(levels: Sequence[LevelResult]) -> str:
    """How many levels there are, and which is the largest."""
    if not levels:
        return "No level was complete."
    largest = max(levels, key=lambda each: each.states)
    many = f"{len(levels):,} level{'' if len(levels) == 1 else 's'}"
    return f"{many}; the largest is level {largest.level:,}, with {states(largest.states)}."


def svg(levels: Sequence[LevelResult]) -> str:
    """Bars, as high as a level has states. They are as wide as there is room, so no words stand in it."""
    bars = bucket_levels(levels)
    highest = max((each.states for each in bars), default=1)
    drawn = [_bar(place, each, HEIGHT * each.states / highest) for place, each in enumerate(bars)]
    return "\n".join(
        [
            f'<svg viewBox="0 0 {max(1, len(bars))} {HEIGHT}" preserveAspectRatio="none" role="img"'
            f' aria-label="{escape(sentence(levels))}">',
            *drawn,
            "</svg>",
        ]
    )


def _bar(place: int, level: LevelResult, height: float) -> str:
    """A bar that says its figures where one points at it; what is not empty is seen."""
    high = max(0.6, height)
    told = f"level {level.level:,}: {states(level.states)}, {level.distinct_states:,} with all before"
    return (
        f'<rect x="{place + 0.06:.2f}" y="{HEIGHT - high:.1f}" width="0.88" height="{high:.1f}">'
        f"<title>{told}</title></rect>"
    )


def mermaid(levels: Sequence[LevelResult]) -> str:
    """An `xychart-beta`."""
    bars = bucket_levels(levels)
    return "\n".join(
        [
            *COLOURED,
            "xychart-beta",
            f'    x-axis "level" {bars[0].level} --> {max(2, bars[-1].level)}',
            f'    y-axis "states" 0 --> {max(each.states for each in bars)}',
            f"    bar [{', '.join(str(each.states) for each in bars)}]",
            "",
        ]
    )


def bucket_levels(levels: Sequence[LevelResult], most: int = MOST) -> list[LevelResult]:
    """So many at most: of several in a row the largest.

    >>> [each.level for each in bucket_levels([LevelResult(n, n % 3, 0, 0, 0.0) for n in range(1, 8)], most=4)]
    [2, 4, 5, 7]
    """
    step = -(-len(levels) // most) or 1
    return [max(levels[n : n + step], key=lambda each: each.states) for n in range(0, len(levels), step)]
