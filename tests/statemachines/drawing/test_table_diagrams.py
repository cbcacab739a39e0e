"""The pictures show each row once and in order."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from pygraphviz import AGraph

from statemachines.drawing.table_diagrams import DIAGRAMS, FORMATS, dot, mermaid, svg
from statemachines.releases import Release
from statemachines.tables.replica import REPLICA
from statemachines.tables.table import Row, Table, TableState

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
    """The words of a label, without its line breaks."""
    return " ".join(re.split(r"(?:[\s,;]|\\n)+", label.strip()))


def words_of(element: ElementTree.Element) -> list[str]:
    """The text in a part of an SVG, line by line."""
    return [text.text or "" for text in element.iter(f"{SVG}text")]


def states_of(picture: str) -> list[ElementTree.Element]:
    """The boxes with names in an SVG."""
    nodes = [each for each in ElementTree.fromstring(picture).iter(f"{SVG}g") if each.get("class") == "node"]
    return [each for each in nodes if words_of(each)]


def transitions_of(picture: str) -> list[tuple[str, str, str]]:
    """The transitions in a picture of any format."""
    if "stateDiagram" in picture:
        found = re.findall(r"^  (\w+) --> (\w+): (.+)$", picture, re.MULTILINE)
    elif "digraph" in picture:
        graph = AGraph(string=picture)
        found = [(*edge, edge.attr["label"]) for edge in graph.edges() if edge[0] != "begin"]
    else:
        found = [
            (*re.findall(r"\w+", edge.findtext(f"{SVG}title", "")), " ".join(words_of(edge)))
            for edge in ElementTree.fromstring(picture).iter(f"{SVG}g")
            if edge.get("class") == "edge" and words_of(edge)
        ]
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
    """Its labels do not mention releases."""
    old = transitions_of(draw(REPLICA.at("2.2")))
    new = transitions_of(draw(REPLICA.at("2.3")))
    assert set(new) - set(old) == {("OfflineReplica", "ReplicaDeletionIneligible", "TopicDeletion broker is down")}
    assert len(old) == len(REPLICA.rows) - 1


@each_table
def test_every_row_names_its_cause(table: Table[Any]) -> None:
    """Readers look for the event in the picture."""
    assert all(row.cause for row in table.rows)


def test_mermaid_has_a_start_and_a_direction() -> None:
    lines = [line.strip() for line in mermaid(TRAFFIC, "LR").splitlines()]
    assert lines[:3] == ["---", "title: the states of a traffic light", "---"]
    assert {"[*] --> Red", "direction LR", "Class Red s_active", "Class Broken s_default"} <= set(lines)


def test_a_label_in_mermaid_does_not_end_the_statement() -> None:
    """Text after a semicolon would be a state of its own."""
    assert ";" not in mermaid(REPLICA)


@each_table
def test_mermaid_gets_no_line_that_it_would_take_for_a_state(table: Table[Any]) -> None:
    """It takes any line that does not begin with a keyword for a state."""
    lines = mermaid(table).split("---\n")[-1].splitlines()
    known = r"stateDiagram-v2|(direction|classDef|state|Class) .+|(\w+|\[\*\]) --> \w+.*|"
    assert [line for line in map(str.strip, lines) if not re.fullmatch(known, line)] == []


def test_dot_gives_the_end_a_double_border_and_has_a_beginning() -> None:
    graph = AGraph(string=dot(TRAFFIC))
    assert graph.get_node("Broken").attr["peripheries"] == "2"
    assert graph.has_edge("begin", "Red")
    assert "peripheries" not in dot(REPLICA)


@each_table
@pytest.mark.parametrize("release", [None, "2.2"])
def test_no_arrow_goes_through_a_label(table: Table[Any], release: str | None) -> None:
    """In the picture itself, with letters as wide as in a wide face."""
    picture = ElementTree.fromstring(svg(table.at(release) if release else table))
    edges = [each for each in picture.iter(f"{SVG}g") if each.get("class") == "edge"]
    texts = [text for edge in edges for text in edge.iter(f"{SVG}text")]
    assert texts
    for edge in edges:
        for path in edge.iter(f"{SVG}path"):
            for x, y in points_of(path.get("d", "")):
                for text in texts:
                    beside = abs(x - float(text.get("x", "nan"))) >= 13 * 0.52 * len(text.text or "") / 2
                    above = abs(y - float(text.get("y", "nan"))) >= 13 * 0.6
                    assert beside or above, f"{text.text} at {x:.0f}, {y:.0f}"


def points_of(path: str) -> list[tuple[float, float]]:
    """Points of a curve, close to each other."""
    pairs = re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)
    last, *bends = [(float(x), float(y)) for x, y in pairs]
    found = []
    for one, other, end in zip(bends[0::3], bends[1::3], bends[2::3], strict=True):
        for step in range(51):
            t = step / 50
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            corners = list(zip(weights, (last, one, other, end), strict=True))
            found.append((sum(w * x for w, (x, _) in corners), sum(w * y for w, (_, y) in corners)))
        last = end
    return found


@each_table
def test_an_svg_shows_each_state_once_in_a_box_wide_enough(table: Table[Any]) -> None:
    nodes = states_of(svg(table))
    assert sorted(words_of(each) for each in nodes) == sorted([str(state)] for state in table.states)
    for node in nodes:
        (name,), (box, *_) = words_of(node), node.iter(f"{SVG}path")
        along = [x for x, _ in points_of(box.get("d", ""))]
        # a wide face, DejaVu Sans, takes 0.52 of the font's size for a letter of these names
        assert max(along) - min(along) > 13 * 0.6 * len(name)


def test_an_svg_gives_the_end_a_double_border() -> None:
    borders = {words_of(each)[0]: len(list(each.iter(f"{SVG}path"))) for each in states_of(svg(TRAFFIC))}
    assert borders == {"Red": 1, "Green": 1, "Broken": 2}
