"""Common requirements on the systems of the gallery."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

from tests.gallery.exploring import EXAMPLES, system

GALLERY = [
    "transaction_commit",
    "two_phase_commit",
    "paxos",
    "multi_paxos",
    "lamport_mutex",
    "ewd998",
    "bounded_queue",
    "raft_election",
    "chang_roberts",
    "readers_writers",
    "dining_philosophers",
]
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines_of_code(text: str) -> int:
    """Return the number of lines without blank lines, comments and docstrings."""
    documented = set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            documented.update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    written = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            written.update(range(token.start[0], token.end[0] + 1))
    return len(written - documented)


def test_lines_are_counted_as_a_person_would() -> None:
    """A statement over two lines counts as two."""
    head = '"""What\n\nit is."""\n\nx = 1  # one\n# two\ny = (\n    2)\n\n'
    function = 'def f():\n    """It."""\n    return """a\n\nb"""\n'
    assert (lines_of_code(head), lines_of_code(function)) == (1 + 2, 1 + 3)


@pytest.mark.parametrize("name", GALLERY)
def test_a_system_is_short_and_complete(name: str) -> None:
    """Under 100 lines of code, twice that for MultiPaxos, with an invariant, a witness, and a list of omissions."""
    most = 210 if name == "multi_paxos" else 100
    assert lines_of_code((EXAMPLES / f"{name}.py").read_text(encoding="utf-8")) < most
    marked = system(name)().properties
    assert {each.kind for each in marked} >= {"invariant", "sometimes"}
    assert system(name).leaves_out


def test_a_specification_is_tested_in_ten_lines() -> None:
    """`docs/gallery.md` runs these tests."""
    assert lines_of_code((EXAMPLES / "tested_queue.py").read_text(encoding="utf-8")) <= 10


def test_every_example_specification_is_in_the_gallery() -> None:
    """No page and no test leaves one out."""
    found = [path.stem for path in sorted(Path(EXAMPLES).glob("*.py")) if "(Specification[" in path.read_text()]
    assert found == sorted(GALLERY)
