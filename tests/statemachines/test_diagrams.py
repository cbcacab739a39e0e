"""The pictures show the rows, all of them once and in order."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from pygraphviz import AGraph

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
        Row(Traffic.Green, Traffic.Broken, since=Release("0.11.0.0"), before=Release("2.0.0")),
        Row(Traffic.Green, Traffic.Red),
        Row(Traffic.Red, Traffic.Green),
    ),
)


def expected(table: Table[Any]) -> list[tuple[str, str, str]]:
    rows = sorted(table.rows, key=lambda row: (row.source.value, row.dest.value))
    return [(str(row.source), str(row.dest), plain(f"{row.cause or row.trigger} {row.releases}")) for row in rows]


def plain(label: str) -> str:
    """The words of a label, however it is broken into lines."""
    return " ".join(re.split(r"(?:[\s,;]|\\n)+", label.strip()))


def transitions_of(picture: str) -> list[tuple[str, str, str]]:
    """The transitions that a picture shows, whatever its format."""
    if "stateDiagram" in picture:
        found = re.findall(r"^  (\w+) --> (\w+): (.+)$", picture, re.MULTILINE)
    elif "digraph" in picture:
        graph = AGraph(string=picture)
        found = [(*edge, edge.attr["label"]) for edge in graph.edges() if edge[0] != "begin"]
    else:
        found = re.findall(r"<title>(\w+) to (\w+), (.+?)</title>", picture)
    return [(source, dest, plain(label)) for source, dest, label in found]


@pytest.mark.parametrize("table", [*DIAGRAMS.values(), TRAFFIC], ids=str)
@pytest.mark.parametrize("draw", FORMATS.values(), ids=FORMATS)
def test_each_row_is_shown_once(draw: Any, table: Table[Any]) -> None:
    assert sorted(transitions_of(draw(table))) == sorted(expected(table))


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


def test_mermaid_marks_the_beginning_and_goes_where_it_is_sent() -> None:
    lines = [line.strip() for line in mermaid(TRAFFIC, "LR").splitlines()]
    assert lines[:3] == ["---", "title: the states of a traffic light", "---"]
    assert {"[*] --> Red", "direction LR", "Class Red s_active", "Class Broken s_default"} <= set(lines)


def test_a_label_in_mermaid_does_not_end_the_statement() -> None:
    """What stands behind a semicolon would be a state of its own."""
    assert ";" not in mermaid(REPLICA)


def test_dot_gives_the_end_a_double_border_and_has_a_beginning() -> None:
    graph = AGraph(string=dot(TRAFFIC))
    assert graph.get_node("Broken").attr["peripheries"] == "2"
    assert graph.has_edge("begin", "Red")
    assert "peripheries" not in dot(REPLICA)


@each_table
@pytest.mark.parametrize("release", [None, "2.2"])
def test_no_arrow_goes_through_a_label(table: Table[Any], release: str | None) -> None:
    """In the picture itself, with letters as wide as a wide face has them."""
    picture = ElementTree.fromstring(svg(table.at(release) if release else table))
    states = {str(state) for state in table.states}
    texts = [text for text in picture.iter(f"{SVG}text") if text.text not in states]
    assert texts
    for path in picture.iter(f"{SVG}path"):
        if (drawn := path.get("d", "")) == "M0,0 L10,4 L0,8 z":  # the tip of an arrow
            continue
        for x, y in points_of(drawn):
            for text in texts:
                beside = abs(x - float(text.get("x", "nan"))) >= 13 * 0.52 * len(text.text or "") / 2
                assert beside or abs(y - float(text.get("y", "nan"))) >= 13 * 0.6, f"{text.text} at {x:.0f}, {y:.0f}"


def points_of(path: str) -> list[tuple[float, float]]:
    """Points of a curve, close to each other."""
    start, *bends, tip = [tuple(map(float, pair.split(","))) for pair in re.findall(r"-?\d+,-?\d+", path)]
    found, last = [], start
    for one, other, end in zip(bends[0::3], bends[1::3], bends[2::3], strict=True):
        for step in range(51):
            t = step / 50
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            corners = (last, one, other, end)
            found.append(
                (
                    sum(w * corner[0] for w, corner in zip(weights, corners, strict=True)),
                    sum(w * corner[1] for w, corner in zip(weights, corners, strict=True)),
                )
            )
        last = end
    return [*found, (tip[0], tip[1])]


@each_table
def test_an_svg_shows_each_state_once_in_a_box_wide_enough(table: Table[Any]) -> None:
    picture = ElementTree.fromstring(svg(table))
    names = [text.text for text in picture.iter(f"{SVG}text")]
    states = [str(state) for state in table.states]
    assert sorted(name for name in names if name in states) == sorted(states)
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
