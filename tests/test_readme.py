"""What the README shows is what happens."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tutorial import PAGES, Reader

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
BEFORE = re.compile(r"^([^\n]+)\n\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
"""A block of Python, and the sentence before it."""
PYTHON = [text for language, text in BLOCKS if language == "python"]


@pytest.mark.parametrize("block", PYTHON, ids=[block.splitlines()[0] for block in PYTHON])
def test_each_example_gives_what_its_comment_says(block: str) -> None:
    """The last expression's value is the comment below it."""
    code = ast.parse(block)
    last = code.body.pop()
    assert isinstance(last, ast.Expr)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "README.md", "eval"), names)
    assert block.rstrip().splitlines()[-1] == f"# {value!r}"


def test_what_is_shown_has_types(tmp_path: Path) -> None:
    """As a strict type checker sees it: README's calls with plain integers, and the pages of the tutorial."""
    for number, block in enumerate(PYTHON):
        (tmp_path / f"readme_{number}.py").write_text(block)
    for page in PAGES:
        reader = Reader(tmp_path, Path(sys.executable).parent)
        for before, body in BEFORE.findall(page.read_text()):
            reader.write(before, body)
    files = sorted(map(str, tmp_path.glob("*.py")))
    kept = README.with_name(".mypy_cache") / "documents"  # what mypy knows of the packages: most of the work
    strictly = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(kept)]
    checked = subprocess.run([*strictly, *files], capture_output=True, text=True, check=False, cwd=README.parent)
    assert checked.stdout == f"Success: no issues found in {len(files)} source files\n"


def test_the_trace_is_what_the_command_prints() -> None:
    """Line by line and in order, but for what stands as three dots."""
    [session] = [text for language, text in BLOCKS if language == "console"]
    command, _, shown = session.partition("\n")
    words = command.removeprefix("$ ").split()
    printed = subprocess.run(
        [sys.executable, "-m", "spec.cli", *words[1:]], capture_output=True, text=True, check=False
    )
    assert printed.returncode == 12
    lines = iter(printed.stdout.splitlines())
    for line in shown.splitlines():
        assert line.strip() == "..." or line in lines, line


def test_the_commands_exist() -> None:
    """`make check` and `make test`, and every subcommand in the table."""
    makefile = README.with_name("Makefile").read_text(encoding="utf-8")
    for target in ("check", "test"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    helped = subprocess.run([sys.executable, "-m", "spec.cli", "--help"], capture_output=True, text=True, check=True)
    for command in re.findall(r"`kafkaspec ([a-z-]+)", README.read_text(encoding="utf-8")):
        assert re.search(rf"^  {command} ", helped.stdout, re.MULTILINE), command
