"""What README and the pages of reference show is what happens.

A block of Python ends with a comment, the value of its last expression. A block of commands shows what they print; a
line of three dots stands for any lines. A `text` after "Begin a file `name`:" is that file.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tutorial import PAGES, Reader, without_times

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SHOWING = (README, ROOT / "docs" / "concepts.md", ROOT / "docs" / "library.md")
BLOCK = re.compile(r"(?:^([^\n]+)\n\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
"""A block of a page, and the line before it."""
BEFORE = re.compile(r"^([^\n]+)\n\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
"""A block of Python, and the sentence before it."""


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a page in a language."""
    return [body for _, kind, body in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


PYTHON = [(page, body) for page in SHOWING for body in blocks(page, "python")]


def test_blocks_are_found() -> None:
    """Each page has some; if fences were written in another way, the others would look at none."""
    assert {page for page, _ in PYTHON} == set(SHOWING)
    assert len(blocks(README, "console")) >= 3


@pytest.mark.parametrize(
    "block", [block for _, block in PYTHON], ids=[f"{page.stem}-{n}" for n, (page, _) in enumerate(PYTHON)]
)
def test_each_example_gives_what_its_comment_says(block: str) -> None:
    """The last expression's value is the comment below it."""
    code = ast.parse(block)
    last = code.body.pop()
    assert isinstance(last, ast.Expr)
    names: dict[str, object] = {}
    exec(compile(code, "page", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "page", "eval"), names)
    assert block.rstrip().splitlines()[-1] == f"# {value!r}"


def test_what_is_shown_has_types(tmp_path: Path) -> None:
    """As a strict type checker sees it: calls with plain integers, and the pages of the tutorial."""
    for number, (_, block) in enumerate(PYTHON):
        (tmp_path / f"shown_{number}.py").write_text(block)
    for page in PAGES:
        reader = Reader(tmp_path, Path(sys.executable).parent)
        for before, body in BEFORE.findall(page.read_text()):
            reader.write(before, body)
    files = sorted(map(str, tmp_path.glob("*.py")))
    kept = README.with_name(".mypy_cache") / "documents"  # what mypy knows of the packages: most of the work
    strictly = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(kept)]
    checked = subprocess.run([*strictly, *files], capture_output=True, text=True, check=False, cwd=README.parent)
    assert checked.stdout == f"Success: no issues found in {len(files)} source files\n"


def as_shown(printed: str, shown: str) -> bool:
    """Whether what is printed is what a page shows, where a line of dots stands for any lines."""
    parts = re.split(r"^ *\.\.\.\n", without_times(shown), flags=re.MULTILINE)
    pattern = r"(?:.*\n)*?".join(map(re.escape, parts))
    return re.fullmatch(pattern, without_times(printed)) is not None


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.stem)
def test_commands_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    """In order, in one directory, whatever a page begins as a file."""
    reader = Reader(tmp_path, Path(sys.executable).parent)
    for before, kind, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "text" and "Begin a file" in before:
            reader.write(before, body)
        elif kind == "console":
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
                printed = reader.run(command)
                assert as_shown(printed, shown), f"{command}\n{printed}"


def test_dots_stand_for_lines_and_for_nothing_else() -> None:
    """A line that is shown and not printed is found, at whatever side of the dots."""
    printed = "a\nb\nc\nd\n"
    assert all(
        as_shown(printed, shown) for shown in (printed, "a\n...\nd\n", "...\nd\n", "a\n  ...\n", "a\nb\n...\nd\n")
    )
    assert not any(
        as_shown(printed, shown) for shown in ("a\nd\n", "a\n...\nc\n", "b\n...\nd\n", "a\n...\nx\n...\nd\n")
    )


def test_the_commands_exist() -> None:
    """`make check` and `make test`, which README names, and every subcommand in the pages of reference."""
    makefile = README.with_name("Makefile").read_text(encoding="utf-8")
    for target in ("check", "test"):
        assert f"`make {target}`" in README.read_text(encoding="utf-8")
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    helped = subprocess.run([sys.executable, "-m", "spec", "--help"], capture_output=True, text=True, check=True)
    for page in (README, ROOT / "docs" / "command-line.md"):
        for command in re.findall(r"`kafkaspec ([a-z-]+)", page.read_text(encoding="utf-8")):
            assert re.search(rf"^  {command} ", helped.stdout, re.MULTILINE), command
