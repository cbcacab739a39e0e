"""The growth of a search, as a picture and as a diagram."""

from __future__ import annotations

import doctest
from xml.etree import ElementTree

from spec.checking.result import LevelResult
from spec.reports import content, growth
from spec.reports.growth import COLOURED, bucket_levels, mermaid, sentence, svg
from tests.rows import rows


def levels(*states: int) -> list[LevelResult]:
    """Return levels with so many states."""
    return [LevelResult(n, each, sum(states[:n]), 0, 0.0) for n, each in enumerate(states, 1)]


def test_a_bar_is_as_high_as_its_level_has_states() -> None:
    """The highest bar fills the picture, and a nonempty level is visible."""
    bars = ElementTree.fromstring(svg(levels(1, 500, 1000)))
    assert [bar.get("height") for bar in bars] == ["0.6", "50.0", "100.0"]
    assert [float(bar.get("y", "")) + float(bar.get("height", "")) for bar in bars] == [100, 100, 100]
    assert [bar[0].text for bar in bars][1] == "level 2: 500 states, 501 in total"


def test_the_largest_level_is_named() -> None:
    """With its number of states."""
    assert sentence(levels(1, 2000, 3)) == "3 levels; the largest is level 2, with 2,000 states."
    assert sentence(levels(1)) == "1 level; the largest is level 1, with 1 state."
    assert sentence([]) == "No level was complete."


@rows("many", [1, 119, 120, 121, 5000])
def test_many_levels_share_bars_by_their_largest(many: int) -> None:
    """There are at most so many bars, in order, with the largest level among them."""
    drawn = bucket_levels(levels(*range(1, many + 1)))
    assert len(drawn) <= growth.MOST
    assert len(drawn) > min(many, growth.MOST) // 2
    assert drawn[-1].states == many
    assert [each.level for each in drawn] == sorted(each.level for each in drawn)


def test_mermaid_begins_at_nothing() -> None:
    """Otherwise the smallest level would have no bar; and an axis has two ends, even without levels."""
    assert mermaid(levels(3, 7)).splitlines()[len(COLOURED) :] == [
        "xychart-beta",
        '    x-axis "level" 1 --> 2',
        '    y-axis "states" 0 --> 7',
        "    bar [3, 7]",
    ]
    assert "1 --> 2" in mermaid(levels(1))


def test_examples() -> None:
    """The doctests pass."""
    for module in (growth, content):
        assert doctest.testmod(module).attempted > 0
        assert doctest.testmod(module).failed == 0
