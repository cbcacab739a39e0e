"""The pictures show the rows, all of them once and in order."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from statemachines.diagrams import DIAGRAMS, FORMATS, dot, mermaid, svg
from statemachines.releases import Release
from statemachines.replica import REPLICA
from statemachines.table import Row, Table, TableState

SVG = "{http://www.w3.org/2000/svg}"

each_table = pytest.mark.parametrize("table", DIAGRAMS.values(), ids=str)


class Traffic(TableState):
    Red = 0
    Green = 1
    Broken = 2


TRAFFIC: Table[Traffic] = Table(
    "traffic light",
    Traffic.Red,
    (
        Row(Traffic.Green, Traffic.Broken, since=Release("0.11"), before=Release("2.0")),
        Row(Traffic.Green, Traffic.Red),
        Row(Traffic.Red, Traffic.Green),
    ),
)


def expected(table: Table[Any]) -> list[tuple[str, str, str]]:
    rows = sorted(table.rows, key=lambda row: (row.source.value, row.target.value))
    return [(str(row.source), str(row.target), row.releases) for row in rows]


def transitions_of(picture: str) -> list[tuple[str, str, str]]:
    """The transitions that a picture shows, in its order, whatever its format."""
    if picture.startswith("%%"):
        found = re.findall(r"^    (\w+) --> (\w+)(?: : (.+))?$", picture, re.MULTILINE)
    elif picture.startswith("//"):
        found = re.findall(
            r'^    "([A-Z]\w+)" -> "(\w+)"(?: \[style=dashed, label="(.+)"\])?$', picture, re.MULTILINE
        )
    else:
        found = re.findall(r"<title>(\w+) to (\w+)(?:, (.+?))?</title>", picture)
    return [(source, target, label) for source, target, label in found]


@pytest.mark.parametrize("table", [*DIAGRAMS.values(), TRAFFIC], ids=str)
@pytest.mark.parametrize("draw", FORMATS.values(), ids=FORMATS)
def test_each_row_is_shown_once_and_in_order(draw: Any, table: Table[Any]) -> None:
    assert transitions_of(draw(table)) == expected(table)


@pytest.mark.parametrize("draw", FORMATS.values(), ids=FORMATS)
def test_the_order_of_the_rows_does_not_matter(draw: Any) -> None:
    assert draw(Table(TRAFFIC.name, TRAFFIC.initial, TRAFFIC.rows[::-1])) == draw(TRAFFIC)


@pytest.mark.parametrize("draw", FORMATS.values(), ids=FORMATS)
def test_a_picture_of_one_release_shows_that_release_without_labels(draw: Any) -> None:
    old = transitions_of(draw(REPLICA.at("2.2")))
    new = transitions_of(draw(REPLICA.at("2.3")))
    assert set(new) - set(old) == {("OfflineReplica", "ReplicaDeletionIneligible", "")}
    assert len(old) == len(REPLICA.rows) - 1


def test_mermaid_marks_beginning_and_end() -> None:
    assert mermaid(TRAFFIC, "LR") == (
        "%% traffic light, drawn from the table by statemachines.diagrams\n"
        "stateDiagram-v2\n"
        "    direction LR\n"
        "    [*] --> Red\n"
        "    Red --> Green\n"
        "    Green --> Red\n"
        "    Green --> Broken : 0.11+, before 2.0\n"
        "    Broken --> [*]\n"
    )


def test_dot_gives_the_end_a_double_border() -> None:
    assert '    "Broken" [peripheries=2]\n' in dot(TRAFFIC)
    assert "peripheries" not in dot(REPLICA)


@each_table
def test_an_svg_shows_each_state_once_in_a_box_wide_enough(table: Table[Any]) -> None:
    picture = ElementTree.fromstring(svg(table))
    names = [text.text for text in picture.iter(f"{SVG}text")]
    assert [name for name in names if not str(name).endswith("+")] == [str(state) for state in table.states]
    boxes = [box for box in picture.iter(f"{SVG}rect") if box.get("rx")]
    assert len(boxes) == len(table.states)
    # a wide face, DejaVu Sans, takes 0.52 of the font's size for a letter of these names
    longest = max(len(str(state)) for state in table.states)
    assert all(float(box.get("width", "0")) > 13 * 0.6 * longest for box in boxes)


def test_an_svg_gives_the_end_a_double_border_and_keeps_everything_inside() -> None:
    picture = ElementTree.fromstring(svg(TRAFFIC))
    boxes = [box for box in picture.iter(f"{SVG}rect") if box.get("rx")]
    assert len(boxes) == len(TRAFFIC.states) + 1
    left, top, width, height = map(float, picture.get("viewBox", "").split())
    for box in boxes:
        x, y = float(box.get("x", "nan")), float(box.get("y", "nan"))
        assert left <= x <= x + float(box.get("width", "nan")) <= left + width
        assert top <= y <= y + float(box.get("height", "nan")) <= top + height
