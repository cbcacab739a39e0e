"""The pictures of a controller's life show every transition, under Kafka's names, and nothing else."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spec.controller_life import transitions
from statemachines.controller.threads import IDLE, STOPPED, Agenda, ControllerStep
from statemachines.drawing import controller_diagram
from statemachines.drawing.controller_diagram import FORMATS, At, Picture, Transition, mermaid, svg
from tests.generations import each_generation

SVG = "{http://www.w3.org/2000/svg}"

_IDLE, _ELECT, _WATCH = (
    At(IDLE),
    At(Agenda((ControllerStep.Elect,))),
    At(Agenda((ControllerStep.WatchController, ControllerStep.Elect))),
)
FEW = (
    Transition(At(STOPPED), "the process is started", _WATCH),
    Transition(_WATCH, "it is there", _ELECT),
    Transition(_WATCH, "it is not there", _ELECT),
    Transition(_IDLE, "nothing to do", _IDLE),
    Transition(_ELECT, "it is another broker", _IDLE),
)


@cache
def picture(release: str) -> Picture:
    """The picture of all transitions of a release."""
    return controller_diagram.picture_of(release, transitions(release))


def said_of(shown: Picture, move: Transition) -> list[str]:
    """The labels of the arrows that may show a transition; for an event also its outcome."""
    return [words for arrow in shown.arrows for words in arrow.label if words.startswith(move.label)]


@each_generation
def test_every_move_is_shown(release: str) -> None:
    """Except an event that changes nothing."""
    shown = picture(release)
    for move in transitions(release):
        changes = move.source != move.target or move.source.agenda != IDLE or move.source.is_zk_event_thread
        if changes and move.label:
            plain = move.label.removesuffix(": it resigns")
            assert said_of(shown, move._replace(label=plain)), move
    ends = {each.name for each in shown.boxes} | set(shown.frames)
    assert {name for arrow in shown.arrows for name in (arrow.source, arrow.target)} <= ends


@each_generation
def test_every_request_is_a_box_of_its_own(release: str) -> None:
    """Boxes have unique names, and each place is one of them."""
    shown = picture(release)
    names = [each.name for each in shown.boxes]
    assert len(names) == len(set(names))
    found = transitions(release)
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
        pytest.param(
            "3.9",
            "Startup RegisterBrokerAndReelect elect onControllerFailover maybeResign Reelect BrokerChange "
            "IsrChangeNotification triggerControllerMove",
            marks=pytest.mark.long,
        ),
    ],
)
def test_rows_have_kafkas_names(release: str, frames: str) -> None:
    """A frame for each row, besides the waiting thread."""
    assert [name for name in picture(release).frames if " " not in name] == frames.split()


@pytest.mark.long
def test_a_lost_session_is_one_arrow() -> None:
    """After any request, an ended session leads to one place."""
    lost = [arrow for arrow in picture("3.9").arrows if "SESSIONEXPIRED: it resigns" in arrow.label]
    assert [(arrow.source, arrow.target) for arrow in lost] == [("any", "RegisterBrokerAndReelect_Connect")]


@pytest.mark.long
def test_failures_that_elect_catches_have_an_arrow_for_each_request() -> None:
    """Not for the write of a state, whose failure moves no controller."""
    fails = [arrow for arrow in picture("3.9").arrows if "another error" in arrow.label]
    assert {arrow.target for arrow in fails} == {"triggerControllerMove_MoveController"}
    assert [arrow.source.removeprefix("onControllerFailover_") for arrow in fails] == [
        "ReadBrokers",
        "ReadStates",
        "ReadPartitionState",
        "DeletePreferredElection",
    ]


@each_generation
def test_formats_show_the_same(release: str) -> None:
    """Each box, and each arrow with its label, in each format."""
    shown = picture(release)
    assert len(re.findall(r"-->", mermaid(shown))) == len(shown.arrows)
    graph = FORMATS["dot"](shown)
    assert len(re.findall(r'" -> "', graph)) == len(shown.arrows)
    assert all(f'"{each.name}" [width=' in graph for each in shown.boxes)
    image = ElementTree.fromstring(svg(shown))
    words = " ".join("".join(text.itertext()) for text in image.iter(f"{SVG}text"))
    assert all(f"{each.words} {each.title}".strip() in words for each in shown.boxes)
    assert all(frame in words for frame in shown.frames)
    assert all(" ".join(said.split()) in words for arrow in shown.arrows for said in arrow.label)


@each_generation
def test_a_page_fits_on_a_sheet(release: str) -> None:
    """On A4 in landscape, 842 points wide, its letters are no smaller than in a footnote."""
    image = ElementTree.fromstring(svg(picture(release)))
    width, height, size = (float(image.get(name, "nan")) for name in ("width", "height", "font-size"))
    assert size * 842 / max(width, height * 297 / 210) >= 5.3


@each_generation
def test_labels_do_not_overlap(release: str) -> None:
    """Each line ends before the next begins, and in its panel: a wide face takes 6.5 points for a letter."""
    image = ElementTree.fromstring(svg(picture(release)))
    panels = [each for each in image.iter(f"{SVG}g") if each.get("class") == "node"]
    assert len(panels) == len(picture(release).frames)
    for panel in panels:
        border = list(panel.iter(f"{SVG}path"))[-1].get("d", "")
        right = max(float(x) for x in re.findall(r"(-?[\d.]+),", border))
        lines = defaultdict(list)
        for text in panel.iter(f"{SVG}text"):
            lines[text.get("y")].append((float(text.get("x", "nan")), len("".join(text.itertext()))))
        for along in lines.values():
            assert all(x + 6.5 * letters <= next_x for (x, letters), (next_x, _) in pairwise([*along, (right, 0)]))


def test_a_page_is_drawn_without_fonts(tmp_path: Path) -> None:
    """Fonts are not looked up, so the bytes do not depend on the fonts of a machine."""
    no_fonts = tmp_path / "fonts.conf"
    no_fonts.write_text('<?xml version="1.0"?><fontconfig></fontconfig>')
    page = f"from {__name__} import *; print(svg(controller_diagram.picture_of('3.9', FEW)), end='')"
    environment = os.environ | {"PYTHONHASHSEED": "1", "FONTCONFIG_FILE": str(no_fonts)}
    done = subprocess.run([sys.executable, "-c", page], env=environment, check=True, capture_output=True, text=True)
    assert done.stderr == "", "fonts were consulted"
    assert done.stdout == svg(controller_diagram.picture_of("3.9", FEW))


def test_only_the_given_transitions_are_drawn() -> None:
    """A box for each place, an arrow for each pair with all its labels, and none if nothing changes."""
    shown = controller_diagram.picture_of("3.9", FEW)
    assert [each.words for each in shown.boxes] == [
        "stopped",
        "not controller",
        "WatchController",
        "Elect",
    ]
    assert [(arrow.source, arrow.target, arrow.label) for arrow in shown.arrows] == [
        ("Stopped", "Startup_WatchController", ("the process is started",)),
        ("Startup_WatchController", "elect_Elect", ("it is not there", "it is there")),
        ("elect_Elect", "NotController", ("it is another broker",)),
    ]
    assert mermaid(controller_diagram.picture_of("3.9", FEW[:-1])) != mermaid(shown)
