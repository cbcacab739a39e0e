"""Every code block of the documents runs (`tests/test_tutorial.py`), or says why not; even then its commands exist.

A fence says so after its language: ```console not run: why. Quotations (a log, a drawing) are `text`. Links and
citations have existing targets.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt
from sybil import Example

from spec.atlas.anomalies import anomaly_named
from spec.cli.command import kafkaspec
from tests.rows import rows
from tests.tiers import long_unless
from tests.tutorial import DOCUMENTS, ROOT, blocks

NOT_RUN = re.compile(r"not run: \w.{9,}")
CONCEPTS = ROOT / "docs" / "concepts.md"
COMMAND = re.compile(r"`((?:kafkaspec|python) [^`]+)`")


BLOCKS = {f"{page.relative_to(ROOT)}:{block.line}": block for page in DOCUMENTS for block in blocks(page)}


def test_blocks_are_found() -> None:
    """With another style of fences, the other tests would find no blocks."""
    fences = sum(len(re.findall(r"^```\w", each.read_text(encoding="utf-8"), re.MULTILINE)) for each in DOCUMENTS)
    assert len(BLOCKS) == fences > 50


@rows("block", {name: block for name, block in BLOCKS.items() if not block.region.evaluator})
def test_a_block_is_run_or_says_why_not(block: Example) -> None:
    """A block that is not run could be: each of its commands exists, with its options. Quotations are exempt."""
    note, lines = block.region.lexemes["note"], block.parsed.splitlines()
    if not note:
        assert not re.search(r"^(\$ |kafkaspec |make |\S*python )", block.parsed, re.MULTILINE)
        return
    assert NOT_RUN.fullmatch(note)
    if block.region.lexemes["language"] == "python":
        assert compile(block.parsed, block.path, "exec")
        return
    for command in [line.removeprefix("$ ") for line in lines if line.startswith("$ ")] or lines:
        could_be_given(command)


def could_be_given(command: str) -> None:
    """Assert that it exists, with each of its options."""
    program, *words = shlex.split(command, comments=True)
    if program == "kafkaspec":
        asked = kafkaspec.commands[words[0]]
        asked.make_parser(click.Context(asked)).parse_args(words[1:])
    elif program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    elif program != "kafka-topics.sh":  # Kafka's own
        assert (program, words[0]) == (".venv/bin/python", "-m")
        assert find_spec(words[1])


@rows(
    "command",
    {
        each: each
        for page in (ROOT / "README.md", ROOT / "docs" / "command-line.md")
        for each in re.findall(r"`((?:kafkaspec|make) [^`]+)`", page.read_text(encoding="utf-8"))
    },
)
def test_a_command_that_is_named_could_be_given(command: str) -> None:
    """In README and in the pages of reference."""
    could_be_given(command)


# Links.


def links(document: Path) -> list[str]:
    """Return the targets of a document's links and pictures, except those on the web."""
    tokens = MarkdownIt("commonmark").enable("table").parse(document.read_text(encoding="utf-8"))
    parts = (part for token in tokens for part in token.children or ())
    found = [
        str(part.attrs.get("href", part.attrs.get("src"))) for part in parts if part.type in ("link_open", "image")
    ]
    return [each for each in found if not re.match(r"https?:", each)]


@cache
def anchors(document: Path) -> frozenset[str]:
    """Return the headings of a document, as GitHub names them in links."""
    tokens = MarkdownIt("commonmark").parse(document.read_text(encoding="utf-8"))
    headings = (after for token, after in pairwise(tokens) if token.type == "heading_open")
    plain = ("".join(part.content for part in heading.children or ()) for heading in headings)
    return frozenset(re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in plain)


def leads_nowhere(document: Path, link: str) -> bool:
    """Return whether a link names a missing file, or a missing heading."""
    place, _, heading = link.partition("#")
    target = (document.parent / place).resolve() if place else document
    return not target.exists() or bool(heading and heading not in anchors(target))


@rows("document", {str(each.relative_to(ROOT)): each for each in DOCUMENTS})
def test_links_resolve(document: Path) -> None:
    """To a file of the repository, and to one of its headings."""
    assert [each for each in links(document) if leads_nowhere(document, each)] == []


def test_a_dead_link_is_detected() -> None:
    """A missing file or heading is found; existing headings with code and punctuation are accepted."""
    assert links(CONCEPTS)
    for link in ("nothing.md", "findings.md#nothing", "#nothing", "../statemachines/nothing.py"):
        assert leads_nowhere(CONCEPTS, link)
    for link in (
        "findings.md",
        "findings.md#the-leader-epoch-cache",
        "kafka.md#partitions-batch-by-batch",
        "../diagrams",
    ):
        assert not leads_nowhere(CONCEPTS, link)


CITED = re.compile(
    r"(?<![\w/.-])(?:docs|spec|statemachines|election|examples|diagrams|benchmarks|tests)/[\w./-]*\w\.(?:md|py|toml|txt|svg)"
    r"|(?<![\w/.-])docs/decisions/\d{4}|\b[A-Z]{5,}\.md\b"
)
"""A page or file of the repository, as code and documents cite it."""
WRITTEN = {".py", ".toml", ".txt", ".java"}


def test_cited_files_exist() -> None:
    """Code and documents cite only existing pages and files."""
    packages = ("election", "statemachines", "spec", "examples", "benchmarks")
    code = [each for name in packages for each in (ROOT / name).rglob("*") if each.suffix in WRITTEN]
    cited = {
        (str(each.relative_to(ROOT)), found)
        for each in (*code, *DOCUMENTS)
        for found in CITED.findall(each.read_text(encoding="utf-8"))
    }
    assert len(cited) > 100
    assert {(each, found) for each, found in cited if not list(ROOT.glob(f"{found}*"))} == set()


# Concepts.

SHOWN = list(dict.fromkeys(COMMAND.findall(CONCEPTS.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(
    "command",
    long_unless(
        lambda each: (
            not each.startswith(("kafkaspec anomalies ", "python examples/", "kafkaspec check "))
            or each.endswith(" a_zombie")
        ),
        SHOWN,
    ),
)
def test_a_concepts_command_has_the_rows_result(command: str) -> None:
    """Its property holds, its state is shown, or its anomaly comes out as recorded."""
    program, *words = shlex.split(command)
    if program == "kafkaspec":
        run = CliRunner().invoke(kafkaspec, words)
        assert run.exit_code in (0, 12), run.output  # 12: an answer that nobody hopes for
        assert run.stdout
    else:
        shown = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True)
        assert shown.stdout


def test_the_anomalies_of_concepts_are_in_the_atlas() -> None:
    """Those in commands, and those mentioned in the text."""
    named = set(re.findall(r"\b[BK]\d+[a-z]?\b", CONCEPTS.read_text(encoding="utf-8")))
    assert len(named) > 20
    for each in named:
        assert anomaly_named(each).id == each


def test_each_concept_links_to_its_module_and_a_demonstration() -> None:
    """In its row, which has a cell for each column."""
    text = CONCEPTS.read_text(encoding="utf-8")
    tables = re.findall(r"^\| concept \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    concepts = [row.strip("|").split(" | ") for table in tables for row in table.splitlines()]
    assert len(concepts) > 40
    for cells in concepts:
        assert len(cells) == 3, cells
        name, what, shown = cells
        assert all(map(str.strip, (name, what))), cells
        where, _, seen = shown.partition("<br>")
        assert re.search(r"\]\(\.\./(election|statemachines|spec)/[\w/]+\.py\)", where), name
        assert COMMAND.search(seen) or re.search(r"\]\((#|\.\./diagrams/|when-a-record-is-safe\.md#)", seen), name
