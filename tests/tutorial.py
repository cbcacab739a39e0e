"""A reader of the documents who follows them: types the code, runs the commands, and compares the output.

All blocks of a document are tried in their order, in a directory with nothing but our `examples`:

- a block goes into the file or place that the sentence before it names (`Begin a file`, `Add below`);
- other Python ends with a comment, the value of its last expression;
- a `pycon` block continues the session of the blocks before it, and prints the lines below each statement;
- commands print the lines below them, where a line of three dots stands for any lines.

A `text` block without a place is a quotation. A fence with `not run: ` and a reason is skipped, and so is a directive
of the site (`docs/conf.py`).
`python -m tests.tutorial` writes the current output into the documents: read the difference before you keep it.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from sybil import Document, Example, Region, Sybil
from sybil.example import SybilFailure
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer
from sybil.typing import Evaluator

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "tutorial.md"
PLACES = ("*.md", "docs/*.md", "docs/decisions/*.md", "benchmarks/*.md")
DOCUMENTS = sorted(page for place in PLACES for page in ROOT.glob(place))
PROGRAMS = Path(sys.executable).parent

FENCES = RawFencedCodeBlockLexer(re.compile(r"(?P<language>\w*) ?(?P<note>.*)\n"))
"""Blocks with their language, and the rest of the fence's line."""
_COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<printed>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_WHERE = re.compile(r"(?P<verb>Begin a file|Add to the end of|Add below|Replace) `(?P<what>[\w.]+)`:\n\n\Z")
_PROGRESS = re.compile(r"^(?:depth \d+|[\d.]+(?: [kM])? of [\d.]+(?: [kM])? runs), .*\n", re.MULTILINE)
_TIMES = re.compile(r"in \d+\.\d s \([\d,]+ states/s\)")
_LINES = re.compile(r"(?<=\.py, line )\d+")


class Reader:
    """Follows a document in a directory, with the programs of an installation."""

    def __init__(self, directory: Path, programs: Path = PROGRAMS):
        self.directory, self.programs = directory, programs
        self.file = directory / "not_begun_yet"
        self.last_exit_code = 0
        self.unlike: list[tuple[slice, str]] = []
        """The place of a wrong output in the document, and the actual output."""
        examples = directory / "examples"
        if not examples.exists():
            examples.symlink_to(ROOT / "examples")

    def follow(self, page: Path) -> None:
        """Follow a document.

        Raises:
            SybilFailure: the output differs.
        """
        for block in blocks(page, self):
            block.evaluate()

    def write(self, where: re.Match[str], code: str) -> None:
        """Put code where the sentence before it says."""
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
        """Return a command's output here, after the earlier ones, without progress lines of slow machines."""
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


def blocks(page: Path, reader: Reader | None = None) -> list[Example]:
    """Return the blocks of a document; `evaluate` has the reader follow one.

    Raises:
        ValueError: the purpose of a block is unclear.
    """
    document = Sybil([_parse]).parse(page)
    document.namespace["reader"] = reader
    return [*document.examples()]


def _parse(document: Document) -> Iterable[Region]:
    for region in FENCES(document):
        if region.lexemes["note"].startswith("{"):
            continue
        first = document.text.index("\n", region.start) + 1
        region.parsed = document.text[first : document.text.rindex("```", first, region.end)]  # Sybil's is dedented
        region.evaluator = _evaluator(region, _WHERE.search(document.text, 0, region.start))
        yield region


def _evaluator(block: Region, where: re.Match[str] | None) -> Evaluator | None:
    """Return the method that tries a block, or None for a block that is not tried."""
    language = block.lexemes["language"]
    if block.lexemes["note"] or (language == "text" and not where):
        return None
    if where:
        return partial(typed, where)
    alone = {"python": evaluated, "console": run, "pycon": continued}
    if language not in alone:
        raise ValueError(f"it does not say where {language} goes: {block.parsed}")
    return alone[language]


def typed(where: re.Match[str], block: Example) -> None:
    """Put a block where the sentence before it says."""
    block.namespace["reader"].write(where, block.parsed)


def run(block: Example) -> str:
    """Run each command of a block; return those with another output, and that output."""
    reader, wrong = block.namespace["reader"], []
    commands = [*_COMMAND.finditer(block.document.text, block.start, block.end)]
    if not commands:
        return "it has no command after `$ `"
    for each in commands:
        printed = reader.run(each["command"])
        if not as_shown(printed, each["printed"]):
            reader.unlike.append((slice(*each.span("printed")), printed))
            wrong.append(f"$ {each['command']}\n{printed}")
    return "".join(wrong)


def evaluated(block: Example) -> str:
    """Run Python alone; return the value of its last expression, unless its last line shows that value."""
    code = ast.parse(block.parsed)
    last = code.body.pop()
    if not isinstance(last, ast.Expr):
        return "it neither says where it goes nor ends with an expression"
    names: dict[str, object] = {}
    exec(compile(code, block.path, "exec"), names)
    found = f"# {eval(compile(ast.Expression(last.value), block.path, 'eval'), names)!r}"
    return "" if block.parsed.rstrip().splitlines()[-1] == found else found


def continued(block: Example) -> str:
    """Continue the page's session; return the statements with another output, and that output."""
    names, wrong = block.namespace.setdefault("session", {}), []
    lines = block.parsed.splitlines(keepends=True)
    first = block.document.text.index("\n", block.start) + 1
    for each in prompts(block):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(each.source, block.path, "single"), names)
        if not as_shown(said.getvalue(), each.want):
            place = first + sum(map(len, lines[: each.lineno + each.source.count("\n")]))
            block.namespace["reader"].unlike.append((slice(place, place + len(each.want)), said.getvalue()))
            wrong.append(f">>> {each.source}{said.getvalue()}")
    return "".join(wrong)


def prompts(block: Example) -> list[doctest.Example]:
    """The statements of a session, with what they print."""
    return doctest.DocTestParser().get_examples(block.parsed) if block.region.evaluator is continued else []


def lines_of(name: str, source: str) -> tuple[int, int]:
    """Return the lines of a member of the only class in a source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            heads = [node.lineno, *(each.lineno for each in node.decorator_list)]
            return min(heads) - 1, node.end_lineno or 0
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return node.lineno - 1, node.end_lineno or 0
    raise ValueError(f"there is no {name} in the file")


def as_shown(printed: str, shown: str) -> bool:
    """Return whether the output is the document's, where a line of dots stands for any lines."""
    parts = re.split(r"^ *\.\.\.\n", without_times(shown), flags=re.MULTILINE)
    pattern = r"(?:.*\n)*?".join(map(re.escape, parts))
    return re.fullmatch(pattern, without_times(printed)) is not None


def without_times(text: str) -> str:
    """Return the output without times, and without line numbers in our sources.

    >>> without_times("4 distinct states, depth 2, in 0.3 s (13 states/s), engine reference")
    '4 distinct states, depth 2, in ... s, engine reference'
    """
    return _LINES.sub("...", _TIMES.sub("in ... s", text))


def main() -> None:
    """Write the current output into each document."""
    for document in DOCUMENTS:
        with tempfile.TemporaryDirectory() as directory:
            reader = Reader(Path(directory))
            for block in blocks(document, reader):
                try:
                    block.evaluate()
                except SybilFailure as unlike:
                    print(unlike)
        text = document.read_text(encoding="utf-8")
        for place, printed in reversed(reader.unlike):
            text = text[: place.start] + printed + text[place.stop :]
        document.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
