"""The pictures of a controller's life show every move, under Kafka's names, and nothing else."""

import re
from functools import cache
from xml.etree import ElementTree

import pytest

from spec.life import moves
from statemachines import controller_diagram
from statemachines.agenda import IDLE, STOPPED, Agenda, Do
from statemachines.controller_diagram import FORMATS, At, Move, Picture, mermaid, svg
from statemachines.drawing import width_of
from tests.generations import each_generation

SVG = "{http://www.w3.org/2000/svg}"


@cache
def picture(release: str) -> Picture:
    """What is drawn of all moves of a release."""
    return controller_diagram.picture(release, moves(release))


def said_of(shown: Picture, move: Move) -> list[str]:
    """What the arrows say that may show a move."""
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
    assert len(places) == len([each for each in shown.boxes if not each.sign and each.name != "any"])


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
    """Not for the write of a state: what fails there moves nobody."""
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
    """Each box and each arrow, in each format."""
    shown = picture(release)
    assert len(re.findall(r"-->", mermaid(shown))) == len(shown.arrows)
    assert len(re.findall(r'" -> "', FORMATS["dot"](shown))) == len(shown.arrows)
    image = ElementTree.fromstring(svg(shown))
    curves = list(image.iter(f"{SVG}path"))[1:]
    assert len(curves) == len(shown.arrows)
    texts = [text.text for text in image.iter(f"{SVG}text")]
    lines = [words for arrow in shown.arrows for words in arrow.said]
    assert sorted(map(str, texts)) == sorted([*lines, *shown.frames, *(each.words for each in shown.boxes)])


@each_generation
def test_an_svg_keeps_everything_inside(release: str) -> None:
    """Boxes are wide enough for what they say, and lie in the picture."""
    image = ElementTree.fromstring(svg(picture(release)))
    left, top, width, height = map(float, image.get("viewBox", "").split())
    boxes = [box for box in image.iter(f"{SVG}rect") if box.get("rx")]
    drawn_as_boxes = [each for each in picture(release).boxes if not each.sign]
    assert len(boxes) == len(picture(release).frames) + len(drawn_as_boxes)
    for box in boxes:
        x, y = float(box.get("x", "nan")), float(box.get("y", "nan"))
        assert left <= x <= x + float(box.get("width", "nan")) <= left + width
        assert top <= y <= y + float(box.get("height", "nan")) <= top + height
    assert {str(width_of(each.words)) for each in drawn_as_boxes} <= {box.get("width") for box in boxes}


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
    shown = controller_diagram.picture("3.9", few)
    assert [each.words for each in shown.boxes] == [
        "stopped",
        "not controller",
        "WatchController",
        "Elect",
        "to not controller",
    ]
    assert [(arrow.source, arrow.target, arrow.said) for arrow in shown.arrows] == [
        ("Stopped", "Startup_WatchController", ("the process is started",)),
        ("Startup_WatchController", "elect_Elect", ("it is not there", "it is there")),
        ("elect_Elect", "elect_to_NotController", ("it is another broker",)),
    ]
    assert mermaid(controller_diagram.picture("3.9", few[:-1])) != mermaid(shown)
