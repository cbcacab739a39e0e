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
    rows = sorted(table.rows, key=lambda row: (row.source.value, row.dest.value))
    return [(str(row.source), str(row.dest), plain(f"{row.cause} {row.releases}")) for row in rows]


def plain(label: str) -> str:
    """The words of a label, however it is broken into lines."""
    return " ".join(re.split(r"(?:[\s,;]|\\n)+", label.strip()))


def transitions_of(picture: str) -> list[tuple[str, str, str]]:
    """The transitions that a picture shows, in its order, whatever its format."""
    if picture.startswith("%%"):
        found = re.findall(r"^    (\w+) --> (\w+)(?: : (.+))?$", picture, re.MULTILINE)
    elif picture.startswith("//"):
        found = re.findall(r'^    "([A-Z]\w+)" -> "(\w+)"(?: \[label="(.+)"\])?$', picture, re.MULTILINE)
    else:
        found = re.findall(r"<title>(\w+) to (\w+)(?:, (.+?))?</title>", picture)
    return [(source, target, plain(label)) for source, target, label in found]


@pytest.mark.parametrize("table", [*DIAGRAMS.values(), TRAFFIC], ids=str)
@pytest.mark.parametrize("draw", FORMATS.values(), ids=FORMATS)
def test_each_row_is_shown_once_and_in_order(draw: Any, table: Table[Any]) -> None:
    assert transitions_of(draw(table)) == expected(table)


@pytest.mark.parametrize("draw", FORMATS.values(), ids=FORMATS)
def test_the_order_of_the_rows_does_not_matter(draw: Any) -> None:
    assert draw(Table(TRAFFIC.name, TRAFFIC.initial, TRAFFIC.rows[::-1])) == draw(TRAFFIC)


@pytest.mark.parametrize("draw", FORMATS.values(), ids=FORMATS)
def test_a_picture_of_one_release_shows_that_release_alone(draw: Any) -> None:
    """And says of no row in which releases it is."""
    old = transitions_of(draw(REPLICA.at("2.2")))
    new = transitions_of(draw(REPLICA.at("2.3")))
    assert set(new) - set(old) == {("OfflineReplica", "ReplicaDeletionIneligible", "TopicDeletion broker is down")}
    assert len(old) == len(REPLICA.rows) - 1


@each_table
def test_every_row_says_what_asks_for_it(table: Table[Any]) -> None:
    """As the picture is read by those who look for the event."""
    assert all(row.cause for row in table.rows)


def test_an_arrow_is_the_wider_the_more_often_it_was_taken() -> None:
    """And dashed if it never was; without counts all are alike."""
    taken = {("Red", "Green"): 1000, ("Green", "Red"): 1}
    lines = [line for line in dot(TRAFFIC, taken=taken).splitlines() if " -> " in line][1:]
    assert [re.findall(r"penwidth=[\d.]+|style=\w+", line) for line in lines] == [
        ["penwidth=4.0"],
        ["penwidth=1.0"],
        ["style=dashed"],
    ]
    picture = svg(TRAFFIC, taken=taken)
    assert picture.count("stroke-dasharray") == 1
    assert '<g stroke-dasharray="5 3"><title>Green to Broken' in picture
    assert '<g stroke-width="4.0"><title>Red to Green' in picture
    assert "stroke-dasharray" not in svg(TRAFFIC)


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
    states = [str(state) for state in table.states]
    assert [name for name in names if name in states] == states
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
