"""What messages quote: other people's text, and how to install what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.checking.values.text import show
from spec.language.errors import EXTRAS, error_text, escaped, escaped_lines, represented, safe_repr
from tests.tiers import long_unless

ALL = st.text(st.characters(exclude_categories=()))
"""Surrogates, too."""


class Named:
    """An object with an arbitrary `repr`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


@pytest.mark.parametrize("code", [0x00, 0x0A, 0x0D, 0x1B, 0x7F, 0x9B, 0x061C, 0x200E, 0x2028, 0x202E, 0x2069, 0xD800])
def test_invisible_characters_are_escaped(code: int) -> None:
    assert escaped(f"a{chr(code)}b") == f"a{chr(code)!r}b".replace("'", "")


@given(ALL)
def test_lines_are_printable_and_a_line_stays_one(text: str) -> None:
    assert escaped(text).isprintable()
    assert list(map(escaped, text.split("\n"))) == escaped_lines(text).split("\n")
    assert safe_repr(text).isprintable()
    assert error_text(ValueError(text)).isprintable()
    assert represented(Named(text)).isprintable()
    assert show(Named(text)).isprintable()


@given(ALL.filter(str.isprintable))
def test_visible_characters_are_unchanged(text: str) -> None:
    assert escaped(text) == text


COMMAND = """
import sys
sys.modules[{library!r}] = None
from spec.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("library", "words"),
    long_unless(
        lambda case: case[0] in {"kazoo", "pyspark"},
        [
            ("kazoo", "what-if zookeeper://localhost:1 --crash 1"),
            ("pyarrow", "check tests.spec.toys:Jugs --engine local --run-dir run"),
            ("pyarrow", "check tests.spec.toys:Jugs --engine spark"),
            ("pygraphviz", "diagram partition --format svg"),
            ("pyspark", "check tests.spec.toys:Jugs --engine spark"),
        ],
    ),
)
def test_a_command_that_lacks_a_library_names_its_extra(library: str, words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.format(library=library), *words.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"Error: {library} is not installed: pip install '.[{EXTRAS[library]}]' in the checkout brings it\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_missing_hypothesis_is_reported() -> None:
    program = "import sys; sys.modules['hypothesis'] = None; import spec.testing"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "UsageError: hypothesis is not installed: pip install '.[test]' in the checkout brings it\n"
    )
