"""What stands in `diagrams/` is what the code draws today, of every table and every generation."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spec import diagrams
from spec.diagrams import GENERATIONS, drawn, files
from spec.language import UsageError
from statemachines.drawing import graphviz_version

COMMITTED = Path(__file__).parents[2] / "diagrams"
CONTROLLERS = [f"controller-{release}.{kind}" for release in GENERATIONS for kind in ("mmd", "svg")]
NAMES = [*CONTROLLERS, "partition.mmd", "partition.svg", "replica.mmd", "replica.svg"]


def words(picture: str) -> list[str]:
    """All text of an SVG: states, transitions and labels, but no place or shape."""
    return [text.strip() for text in ElementTree.fromstring(picture).itertext() if text.strip()]


@cache
def drawn_today() -> dict[str, str]:
    """What `make diagrams` would write, by name."""
    return files()


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_picture_is_what_the_code_draws_today(name: str) -> None:
    """Another Graphviz may route arrows differently: then the words must agree, and if not, the bytes."""
    committed = (COMMITTED / name).read_bytes().decode()
    drawn = drawn_today()[name]
    if name.endswith(".svg") and f"Graphviz {graphviz_version()} " not in committed:
        assert words(committed) == words(drawn)
    else:
        assert committed == drawn, "draw diagrams/ anew with: make diagrams"


def test_every_table_and_every_generation_has_a_mermaid_and_an_svg_file() -> None:
    """And nothing else stands there."""
    assert list(drawn_today()) == NAMES
    assert {path.name for path in COMMITTED.iterdir()} == set(NAMES)


def test_a_release_is_of_a_line() -> None:
    """As wherever a release is named; a life without one is the newest's."""
    assert drawn("controller", "mermaid", "2.0.1") == drawn_today()["controller-2.0.mmd"]
    assert drawn("controller", "mermaid", "0.10") == drawn_today()["controller-0.10.2.mmd"]
    assert drawn("controller", "mermaid") == drawn_today()["controller-3.9.mmd"]
    assert drawn("replica", "mermaid", "2.2.1") != drawn("replica", "mermaid", "2.3.0")


def test_the_command_writes_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a directory that need not be there."""
    monkeypatch.setattr(diagrams, "files", drawn_today)
    diagrams._main([str(tmp_path / "new")])
    written = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    assert written == {name: content.encode() for name, content in drawn_today().items()}


def test_the_command_wants_a_directory() -> None:
    with pytest.raises(SystemExit, match=r"usage: .* DIRECTORY"):
        diagrams._main([])


def test_a_picture_is_the_same_everywhere(tmp_path: Path) -> None:
    """Neither a hash seed nor fonts change a byte: these are taken away by an empty configuration of fontconfig, and
    with any font at work places would move.
    """
    no_fonts = tmp_path / "fonts.conf"
    no_fonts.write_text('<?xml version="1.0"?><fontconfig></fontconfig>')
    environment = os.environ | {"PYTHONHASHSEED": "1", "FONTCONFIG_FILE": str(no_fonts)}
    command = [sys.executable, "-m", "spec.cli", "diagram", "controller", "--format", "svg"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stderr == "", "the layout consulted the fonts"
    assert done.stdout == drawn_today()[f"controller-{GENERATIONS[-1]}.svg"]


def test_what_there_is_no_picture_of() -> None:
    """It is refused with what there is."""
    with pytest.raises(UsageError, match=r"^no diagram is called log; there are partition, replica, controller$"):
        drawn("log", "svg")
    with pytest.raises(UsageError, match=r"^no release is called 9\.9; there are 0\.10\.1, "):
        drawn("controller", "svg", "9.9")
