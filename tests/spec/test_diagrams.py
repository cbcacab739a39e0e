"""What stands in `diagrams/` is what the code draws today, of every table and every generation."""

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
from spec.diagrams import ANOMALIES, FILES, GENERATIONS, draw
from spec.language import UsageError
from tests.rows import rows

COMMITTED = Path(__file__).parents[2] / "diagrams"
KINDS = ("mmd", "svg")
SLOW = (*(f"controller-{release}" for release in GENERATIONS[:-1]), *(each for each in ANOMALIES if each != "K1"))
"""Pictures for which much is explored."""
OLDER = [f"{picture}.{kind}" for picture in SLOW for kind in KINDS]
NEWEST = [
    f"{picture}.{kind}"
    for picture in (f"controller-{GENERATIONS[-1]}", "partition", "replica", "K1")
    for kind in KINDS
]


def words(picture: str) -> list[str]:
    """All text of an SVG: states, transitions and labels, but no place or shape."""
    return [text.strip() for text in ElementTree.fromstring(picture).itertext() if text.strip()]


def graphviz_of(picture: str) -> list[str]:
    """Which Graphviz drew it, if one did."""
    return re.findall(r"drawn by Graphviz \S+", picture)


@cache
def drawn_today(name: str) -> str:
    """What `make diagrams` would write into this file. It takes seconds to find what a controller can do."""
    return draw(*FILES[name])


@pytest.mark.parametrize("name", [*NEWEST, *(pytest.param(name, marks=pytest.mark.long) for name in OLDER)])
def test_the_committed_picture_is_what_the_code_draws_today(name: str) -> None:
    """Another Graphviz may route arrows differently: then the words must agree, and if not, the bytes."""
    committed = (COMMITTED / name).read_bytes().decode()
    today = drawn_today(name)
    if graphviz_of(committed) != graphviz_of(today):
        assert words(committed) == words(today)
    else:
        assert committed == today, "draw diagrams/ anew with: make diagrams"


def test_every_table_and_every_generation_has_a_mermaid_and_an_svg_file() -> None:
    """And nothing else stands there."""
    assert sorted(FILES) == sorted([*OLDER, *NEWEST])
    assert {path.name for path in COMMITTED.iterdir()} == set(FILES)


@rows("form, release", [("dot", None), ("svg", "2.0")])
def test_an_anomaly_is_a_sequence_diagram_in_the_release_of_its_row(form: str, release: str | None) -> None:
    """So there is no other format, and no other release."""
    with pytest.raises(UsageError, match=r"^K1 "):
        draw("K1", form, release)


def test_a_release_is_of_a_line() -> None:
    """As wherever a release is named; a life without one is the newest's."""
    assert draw("controller", "mermaid", "3.9.1") == drawn_today("controller-3.9.mmd")
    assert draw("controller", "mermaid") == drawn_today("controller-3.9.mmd")
    assert draw("replica", "mermaid", "2.2.1") != draw("replica", "mermaid", "2.3.0")


def test_the_command_writes_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a directory that need not be there."""
    monkeypatch.setattr(diagrams, "draw", lambda *picture: f"{picture}, \N{RIGHTWARDS ARROW}\n")
    diagrams._main([str(tmp_path / "new")])
    written = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    assert written == {name: f"{picture}, \N{RIGHTWARDS ARROW}\n".encode() for name, picture in FILES.items()}


def test_the_command_wants_a_directory() -> None:
    with pytest.raises(SystemExit, match=r"usage: .* DIRECTORY"):
        diagrams._main([])


def test_a_picture_is_the_same_everywhere(tmp_path: Path) -> None:
    """Neither a hash seed nor fonts change a byte of what Graphviz lays out: fonts are taken away by an empty
    configuration of fontconfig, and with any font at work places would move.
    """
    no_fonts = tmp_path / "fonts.conf"
    no_fonts.write_text('<?xml version="1.0"?><fontconfig></fontconfig>')
    environment = os.environ | {"PYTHONHASHSEED": "1", "FONTCONFIG_FILE": str(no_fonts)}
    command = [sys.executable, "-m", "spec", "diagram", "replica", "--format", "svg"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stderr == "", "the layout consulted the fonts"
    assert done.stdout == drawn_today("replica.svg")


def test_an_unknown_picture_is_refused() -> None:
    """It is refused with what there is."""
    with pytest.raises(
        UsageError,
        match=r"^no diagram is called log; there are partition, replica, controller, and the anomalies: B1, K1, ...$",
    ):
        draw("log", "svg")
    with pytest.raises(UsageError, match=r"^no release is called 9\.9; there are 0\.10\.1, "):
        draw("controller", "svg", "9.9")
