"""The growth of a search, level by level: as a picture, and as a Mermaid diagram."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from spec.checking.result import LevelResult
from spec.reports.content import states

MOST: Final = 120
"""The most bars of a picture; with more levels a bar stands for several, and shows the largest of them."""
HEIGHT: Final = 100
COLOURED: Final = ("---", "config:", "  themeVariables:", "    xyChart:", '      plotColorPalette: "#4d7fae"', "---")
"""A theme, because Mermaid's own bars are hardly visible on white."""


def sentence(levels: Sequence[LevelResult]) -> str:
    """The number of levels, and the largest one."""
    if not levels:
        return "No level was complete."
    largest = max(levels, key=lambda each: each.states)
    many = f"{len(levels):,} level{'' if len(levels) == 1 else 's'}"
    return f"{many}; the largest is level {largest.level:,}, with {states(largest.states)}."


def svg(levels: Sequence[LevelResult]) -> str:
    """Bars whose heights are the states of each level. Their width depends on the page, so they contain no text."""
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
    """A bar with its figures as a tooltip; a nonempty level is always visible."""
    high = max(0.6, height)
    tooltip = f"level {level.level:,}: {states(level.states)}, {level.distinct_states:,} in total"
    return (
        f'<rect x="{place + 0.06:.2f}" y="{HEIGHT - high:.1f}" width="0.88" height="{high:.1f}">'
        f"<title>{tooltip}</title></rect>"
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
    """At most this many levels: the largest of each group of neighbours.

    >>> [each.level for each in bucket_levels([LevelResult(n, n % 3, 0, 0, 0.0) for n in range(1, 8)], most=4)]
    [2, 4, 5, 7]
    """
    step = -(-len(levels) // most) or 1
    return [max(levels[n : n + step], key=lambda each: each.states) for n in range(0, len(levels), step)]
