"""The pictures of a controller's life show every move, under Kafka's names, and nothing else."""

import re
from functools import cache
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest

from spec.life import moves
from statemachines import controller_diagram
from statemachines.agenda import IDLE, STOPPED, Agenda, Do
from statemachines.controller_diagram import FORMATS, At, Move, Picture, mermaid, svg
from tests.generations import each_generation

SVG = "{http://www.w3.org/2000/svg}"


@cache
def picture(release: str) -> Picture:
    """What is drawn of all moves of a release."""
    return controller_diagram.picture_of(release, moves(release))


def said_of(shown: Picture, move: Move) -> list[str]:
    """What the arrows say that may show a move: of an event also what has happened then."""
    return [words for arrow in shown.arrows for words in arrow.said if words.startswith(move.said)]


@each_generation
def test_every_move_is_shown(release: str) -> None:
    """But for an event that changes nothing."""
    shown = picture(release)
    for move in moves(release):
        changes = move.source != move.target or move.source.doing != IDLE or move.source.beside
        if changes and move.said:
            plain = move.said.removesuffix(": it resigns")
            assert said_of(shown, move._replace(said=plain)), move
    ends = {each.name for each in shown.boxes} | set(shown.frames)
    assert {name for arrow in shown.arrows for name in (arrow.source, arrow.target)} <= ends


@each_generation
def test_every_request_is_a_box_of_its_own(release: str) -> None:
    """Boxes have names of their own, and each place is one of them."""
    shown = picture(release)
    names = [each.name for each in shown.boxes]
    assert len(names) == len(set(names))
    found = moves(release)
    places = {at for move in found for at in (move.source, move.target)}
    assert len(places) == len([each for each in shown.boxes if each.name != "any"])


@pytest.mark.parametrize(
    ("release", "frames"),
    [
        pytest.param(
            "0.10.2",
            "Startup elect onControllerFailover Healthcheck SessionExpirationListener SessionExpireListener "
            "LeaderChangeListener BrokerChangeListener IsrChangeNotification resign",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "1.0",
            "ZkEventThread Startup elect onControllerFailover Healthcheck SessionExpireListener Reelect BrokerChange "
            "IsrChangeNotification triggerControllerMove",
            marks=pytest.mark.long,
        ),
        (
            "3.9",
            "Startup RegisterBrokerAndReelect elect onControllerFailover maybeResign Reelect BrokerChange "
            "IsrChangeNotification triggerControllerMove",
        ),
    ],
)
def test_rows_have_kafkas_names(release: str, frames: str) -> None:
    """A frame for each row, besides the thread that waits."""
    assert [name for name in picture(release).frames if " " not in name] == frames.split()


def test_what_holds_everywhere_is_one_arrow() -> None:
    """Whatever the request, a session that has ended leads to one place."""
    lost = [arrow for arrow in picture("3.9").arrows if "SESSIONEXPIRED: it resigns" in arrow.said]
    assert [(arrow.source, arrow.target) for arrow in lost] == [("any", "RegisterBrokerAndReelect_Connect")]


def test_what_elect_catches_has_an_arrow_for_each_request() -> None:
    """Not for the write of a state: what fails there moves no controller."""
    fails = [arrow for arrow in picture("3.9").arrows if "another error" in arrow.said]
    assert {arrow.target for arrow in fails} == {"triggerControllerMove_MoveController"}
    assert [arrow.source.removeprefix("onControllerFailover_") for arrow in fails] == [
        "ReadBrokers",
        "ReadStates",
        "ReadPartitionState",
        "DeletePreferredElection",
    ]


@each_generation
def test_formats_show_the_same(release: str) -> None:
    """Each box, and each arrow with what is said, in each format."""
    shown = picture(release)
    assert len(re.findall(r"-->", mermaid(shown))) == len(shown.arrows)
    assert len(re.findall(r'" -> "', FORMATS["dot"](shown))) == len(shown.arrows)
    image = ElementTree.fromstring(svg(shown))
    words = " ".join(str(text.text) for text in image.iter(f"{SVG}text"))
    assert all(each.words in words for each in shown.boxes)
    assert all(frame in words for frame in shown.frames)
    assert all(" ".join(said.split()) in words for arrow in shown.arrows for said in arrow.said)


@each_generation
def test_a_page_fits_on_a_sheet(release: str) -> None:
    """On A4 in landscape its letters are no smaller than in a footnote: 12 points of a page 1,900 wide make 5.3."""
    image = ElementTree.fromstring(svg(picture(release)))
    width, height = float(image.get("width", "nan")), float(image.get("height", "nan"))
    assert max(width, height * 297 / 210) <= 1_900


@each_generation
def test_nothing_on_a_page_overlaps(release: str) -> None:
    """Panels lie in the page and beside each other; boxes and words lie in a panel, one line below the other."""
    image = ElementTree.fromstring(svg(picture(release)))
    _, _, width, height = map(float, image.get("viewBox", "").split())
    corners = [
        tuple(float(each.get(name, "nan")) for name in ("x", "y", "width", "height"))
        for each in image.iter(f"{SVG}rect")
        if each.get("rx")
    ]
    panels = [(x, y, x + wide, y + high) for x, y, wide, high in corners if high > 40]
    boxes = [(x, y, x + wide, y + high) for x, y, wide, high in corners if high <= 40]
    assert len(panels) == len(picture(release).frames)
    assert len(boxes) == len(picture(release).boxes)
    for x, y, right, bottom in panels:
        assert 0 <= x < right <= width
        assert 0 <= y < bottom <= height
    for one, other in combinations(panels, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    lines = [
        (float(text.get("x", "nan")), float(text.get("y", "nan")), str(text.text))
        for text in image.iter(f"{SVG}text")
    ]
    for x, y, right, bottom in boxes:
        (panel,) = (
            each for each in panels if each[0] <= x and right <= each[2] and each[1] <= y and bottom <= each[3]
        )
        assert len([at for at in lines if x <= at[0] < right and y <= at[1] <= bottom]) == 1, "a box has one line"
    for panel in panels:
        its = [each for each in lines if panel[0] <= each[0] < panel[2] and panel[1] <= each[1] <= panel[3]]
        assert all(x + 6 * len(words) <= panel[2] for x, _, words in its)
        for line in {y for _, y, _ in its}:
            along = sorted((x, words) for x, y, words in its if y == line)
            assert all(x + 6 * len(words) <= next_x for (x, words), (next_x, _) in pairwise(along))


def test_only_what_is_handed_in_is_drawn() -> None:
    """A box for each place, an arrow for each way with all that leads along it, and none for what changes nothing."""
    idle, elect, watch = At(IDLE), At(Agenda((Do.Elect,))), At(Agenda((Do.WatchController, Do.Elect)))
    few = [
        Move(At(STOPPED), "the process is started", watch),
        Move(watch, "it is there", elect),
        Move(watch, "it is not there", elect),
        Move(idle, "nothing to do", idle),
        Move(elect, "it is another broker", idle),
    ]
    shown = controller_diagram.picture_of("3.9", few)
    assert [each.words for each in shown.boxes] == [
        "stopped",
        "not controller",
        "WatchController",
        "Elect",
    ]
    assert [(arrow.source, arrow.target, arrow.said) for arrow in shown.arrows] == [
        ("Stopped", "Startup_WatchController", ("the process is started",)),
        ("Startup_WatchController", "elect_Elect", ("it is not there", "it is there")),
        ("elect_Elect", "NotController", ("it is another broker",)),
    ]
    assert mermaid(controller_diagram.picture_of("3.9", few[:-1])) != mermaid(shown)
