"""Logs as a picture: where cells and high watermarks are, and what tells epochs and dead brokers apart."""

from __future__ import annotations

import re

from statemachines.broker.log.unified_log import PartitionLogs, UnifiedLog
from statemachines.drawing import log_cells
from statemachines.messages.records import Record

LONG = UnifiedLog((Record("m0", 0), Record("m<1>", 1)), high_watermark=1)
PICTURE = log_cells.svg([("A & B.", PartitionLogs({1: LONG, 2: LONG.truncate_to(1)}, 1, {1}))])
CELLS = re.findall(r'<rect x="(\d+)" y="(\d+)" .*? fill="(#\w+)" stroke="black" opacity="([\d.]+)"/>', PICTURE)
BARS = re.findall(r'<line x1="(\d+)" ', PICTURE)


def test_a_cell_is_a_record() -> None:
    """Columns are offsets, rows are brokers, a colour is an epoch; what is down is pale."""
    (x0, y1, first, live), (x1, same, second, _), (below, y2, again, dead) = CELLS
    assert x0 == below < x1
    assert y1 == same < y2
    assert first == again != second
    assert (live, dead) == ("1", "0.45")


def test_the_bar_is_after_what_is_committed() -> None:
    """At the same place for both brokers."""
    assert BARS[0] == BARS[1]
    assert int(CELLS[0][0]) < int(BARS[0]) < int(CELLS[1][0])


def test_words_are_escaped() -> None:
    assert ">A &amp; B.<" in PICTURE
    assert ">m&lt;1&gt;@1<" in PICTURE
