"""A reader of a tutorial who does what it says: types the code, runs the commands, and looks whether it is so.

A block of Python goes where the sentence before it says; a block of commands is run, in a directory with nothing but
our `examples`.
`python -m tests.tutorial` writes into these pages what is printed today: read the difference before you keep it.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorial.md"
NAMES = ("tutorial-2", "parts", "pictures", "traces", "explorer", "reports", "gallery", "what-if")
PAGES = (TUTORIAL, *(DOCS / f"{name}.md" for name in NAMES))
"""What a block there begins with `not run: ` and why stays as it is; `tests/test_documents.py` looks at it."""

_BLOCK = re.compile(r"(?:^(?P<before>[^\n]+)\n\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<printed>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_WHERE = re.compile(r"(?P<verb>Begin a file|Add to the end of|Add below|Replace) `(?P<what>[\w.]+)`:$")
_PROGRESS = re.compile(r"^(?:depth \d+|[\d.]+(?: [kM])? of [\d.]+(?: [kM])? runs), .*\n", re.MULTILINE)
_TIMES = re.compile(r"in \d+\.\d s \([\d,]+ states/s\)")
_LINES = re.compile(r"(?<=\.py, line )\d+")


class Tried(NamedTuple):
    """A command of the text, tried out."""

    command: str
    expected: str
    """What the text says that it prints."""
    printed: str
    span: tuple[int, int]
    """Where in the text the expectation stands."""


class Reader:
    """Follows a tutorial in a directory, with the programs of an installation."""

    def __init__(self, directory: Path, programs: Path):
        self.directory, self.programs = directory, programs
        self.file = directory / "not_begun_yet"
        self.last_exit_code = 0
        examples = directory / "examples"
        if not examples.exists():
            examples.symlink_to(ROOT / "examples")

    def follow(self, text: str) -> Iterator[Tried]:
        """Do what the text says; every command that it has."""
        for block in _BLOCK.finditer(text):
            if block["kind"] in ("python", "toml", "text"):
                self.write(block["before"] or "", block["body"])
            elif block["kind"] == "console":
                for each in _COMMAND.finditer(text, block.start("body"), block.end("body")):
                    yield Tried(each["command"], each["printed"], self.run(each["command"]), each.span("printed"))
            else:
                raise ValueError(f"the reader cannot do anything with {block['kind']}")

    def write(self, instruction: str, code: str) -> None:
        """Put code where the instruction says."""
        where = _WHERE.search(instruction)
        if where is None:
            raise ValueError(f"it does not say where the code goes: {instruction!r}")
        if where["verb"] == "Begin a file":
            self.file = self.directory / where["what"]
            self.file.write_text(code)
            return
        lines = self.file.read_text().splitlines(keepends=True)
        if where["verb"] == "Add to the end of":
            assert where["what"] == self.file.name
            first = last = len(lines)
            code = "\n" + code
        else:
            first, last = lines_of(where["what"], "".join(lines))
            first = last if where["verb"] == "Add below" else first
        lines[first:last] = code.splitlines(keepends=True)
        self.file.write_text("".join(lines))

    def run(self, command: str) -> str:
        """What a command prints, here, after those before it; but no progress, which only slow machines see."""
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        run = subprocess.run(
            ["/bin/sh", "-c", f"(exit {self.last_exit_code}); {command}"],
            cwd=self.directory,
            env={**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.last_exit_code = run.returncode
        return _PROGRESS.sub("", run.stdout)


def lines_of(name: str, source: str) -> tuple[int, int]:
    """From which line up to which a member of the only class in a source is written."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            heads = [node.lineno, *(each.lineno for each in node.decorator_list)]
            return min(heads) - 1, node.end_lineno or 0
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return node.lineno - 1, node.end_lineno or 0
    raise ValueError(f"there is no {name} in the file")


def without_times(text: str) -> str:
    """What is printed, but for how long it took, and in which lines of our sources something stands.

    >>> without_times("4 distinct states, depth 2, in 0.3 s (13 states/s), engine reference")
    '4 distinct states, depth 2, in ... s, engine reference'
    """
    return _LINES.sub("...", _TIMES.sub("in ... s", text))


def main() -> None:
    """Write into each page what is printed today."""
    for page in PAGES:
        text = page.read_text()
        with tempfile.TemporaryDirectory() as directory:
            tried = list(Reader(Path(directory), Path(sys.executable).parent).follow(text))
        for each in reversed(tried):
            if without_times(each.expected) != without_times(each.printed):
                first, last = each.span
                text = text[:first] + each.printed + text[last:]
        page.write_text(text)


if __name__ == "__main__":
    main()
