"""The examples print the output in their docstrings."""

from __future__ import annotations

import ast
import runpy
import textwrap
from pathlib import Path

import pytest

from tests.tiers import long_unless

FILES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
EXAMPLES = [path for path in FILES if path.stem != "tested_queue"]  # a file for pytest, which docs/gallery.md runs


def promised(text: str) -> str:
    """Return the indented lines of a module's docstring: its claimed output."""
    docstring = ast.get_docstring(ast.parse(text)) or ""
    return textwrap.dedent("".join(line for line in docstring.splitlines(keepends=True) if line.startswith("    ")))


def test_there_are_examples() -> None:
    """If they were moved, the other test would find none."""
    assert EXAMPLES


@pytest.mark.parametrize(("release", "cleanly"), [("3.2", "cleanly"), ("3.3", "uncleanly")])
def test_until_3_2_a_follower_joins_while_its_leader_shuts_down(
    release: str, cleanly: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And leads when the broker asks again."""
    [example] = [path for path in EXAMPLES if path.stem == "controlled_shutdown"]
    runpy.run_path(str(example))["main"](release)
    assert capsys.readouterr().out.splitlines()[-1] == f"broker 1 stops {cleanly}; it fetches nothing"


@pytest.mark.parametrize(
    "example",
    long_unless(lambda path: path.stem not in {"cluster_machine", "states_in_sql"}, EXAMPLES),
    ids=lambda path: path.stem,
)
def test_an_example_prints_its_claimed_output(
    example: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line; pictures go into the working directory."""
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.rstrip() == promised(example.read_text(encoding="utf-8")).rstrip()
