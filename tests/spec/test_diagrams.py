"""The files in `diagrams/` equal what the code draws, for every table and every generation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spec import diagrams
from spec.diagrams import ANOMALIES, FILES, GENERATIONS, LOSSES, draw
from spec.language import UsageError
from statemachines.releases import RELEASES, Release
from tests.rows import rows

COMMITTED = Path(__file__).parents[2] / "diagrams"
KINDS = ("mmd", "svg")
SLOW = (*(f"controller-{release}" for release in GENERATIONS), *(each for each in ANOMALIES if each != "K1"))
"""Pictures that need a large exploration."""
OLDER = [f"{picture}.{kind}" for picture in SLOW for kind in KINDS]
NEWEST = [f"{picture}.{kind}" for picture in ("partition", "replica", "K1") for kind in KINDS] + [
    f"lost-record-{release}.svg" for release in LOSSES
]


def words(picture: str) -> list[str]:
    """Return all text of an SVG: states, transitions and labels, without places and shapes."""
    return [text.strip() for text in ElementTree.fromstring(picture).itertext() if text.strip()]


def graphviz_of(picture: str) -> list[str]:
    """Return the Graphviz version that drew it, if one did."""
    return re.findall(r"drawn by Graphviz \S+", picture)


@cache
def drawn_today(name: str) -> str:
    """Return what `make diagrams` would write into this file. A controller's changes take seconds to find."""
    return draw(*FILES[name])


@pytest.mark.parametrize("name", [*NEWEST, *(pytest.param(name, marks=pytest.mark.long) for name in OLDER)])
def test_the_committed_picture_equals_the_drawn_one(name: str) -> None:
    """Another Graphviz version may route arrows differently: then only the words must agree, otherwise the bytes."""
    committed = (COMMITTED / name).read_bytes().decode()
    today = drawn_today(name)
    if graphviz_of(committed) != graphviz_of(today):
        assert words(committed) == words(today)
    else:
        assert committed == today, "draw diagrams/ again with: make diagrams"


def test_every_table_and_every_generation_has_a_mermaid_and_an_svg_file() -> None:
    """Logs are SVG only, and there are no other files."""
    assert sorted(FILES) == sorted([*OLDER, *NEWEST])
    assert {path.name for path in COMMITTED.iterdir()} == set(FILES)


@rows("form, release", [("dot", None), ("svg", "2.0")])
def test_an_anomaly_is_a_sequence_diagram_in_the_release_of_its_row(form: str, release: str | None) -> None:
    """Other formats and other releases are refused."""
    with pytest.raises(UsageError, match=r"^K1 "):
        draw("K1", form, release)


@rows("release", RELEASES)
def test_a_record_is_lost_until_0_10_only(release: str) -> None:
    """Then another record takes its offset on both brokers."""
    cells = [word.split("@")[0] for word in words(draw("lost-record", "svg", release)) if re.match(r"m\d(@|$)", word)]
    left = ["m0", "m1", "m2"] if Release(release) >= Release("0.11") else ["m0", "m2"]
    assert cells[-2 * len(left) :] == 2 * left


def test_logs_are_svg() -> None:
    with pytest.raises(UsageError, match=r"^lost-record --format dot: logs can be svg$"):
        draw("lost-record", "dot", "3.9")


@pytest.mark.long
def test_a_release_is_of_a_line() -> None:
    """As for every option with a release; a life without one is the newest's."""
    assert draw("controller", "mermaid", "3.9.1") == drawn_today("controller-3.9.mmd")
    assert draw("controller", "mermaid") == drawn_today("controller-3.9.mmd")
    assert draw("replica", "mermaid", "2.2.1") != draw("replica", "mermaid", "2.3.0")


def test_the_command_writes_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory may be missing."""
    monkeypatch.setattr(diagrams, "draw", lambda *picture: f"{picture}, \N{RIGHTWARDS ARROW}\n")
    diagrams._main([str(tmp_path / "new")])
    written = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    assert written == {name: f"{picture}, \N{RIGHTWARDS ARROW}\n".encode() for name, picture in FILES.items()}


def test_the_command_wants_a_directory() -> None:
    with pytest.raises(SystemExit, match=r"usage: .* DIRECTORY"):
        diagrams._main([])


def test_a_picture_is_the_same_everywhere(tmp_path: Path) -> None:
    """Neither a hash seed nor fonts change a byte of Graphviz's layout. An empty fontconfig configuration removes the
    fonts; if any font mattered, places would move.
    """
    no_fonts = tmp_path / "fonts.conf"
    no_fonts.write_text('<?xml version="1.0"?><fontconfig></fontconfig>')
    environment = os.environ | {"PYTHONHASHSEED": "1", "FONTCONFIG_FILE": str(no_fonts)}
    command = [sys.executable, "-m", "spec", "diagram", "replica", "--format", "svg"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stderr == "", "the layout consulted the fonts"
    assert done.stdout == drawn_today("replica.svg")


def test_an_unknown_picture_is_refused() -> None:
    """The error lists the known ones."""
    with pytest.raises(
        UsageError,
        match=r"^there is no diagram log; there are partition, replica, controller, lost-record, and the anomalies: ",
    ):
        draw("log", "svg")
    with pytest.raises(UsageError, match=r"^no release is called 9\.9; there are 0\.10\.1, "):
        draw("controller", "svg", "9.9")
