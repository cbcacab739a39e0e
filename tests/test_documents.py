"""Every block of code in the documents is run by a test, or says why it cannot be; and then it is one that could be.

A fence says it behind its language: ```console not run: why. What is quoted (a log, a drawing) is `text`.
"""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import click

from spec.cli import kafkaspec
from tests.rows import rows
from tests.tutorial import PAGES

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])
FENCE = re.compile(r"^```(?P<language>\w*)(?: (?P<note>[^\n]+))?\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_RUN = re.compile(r"not run: \w.{9,}")
RUN_BY_ANOTHER = {"README.md": {"python", "console"}}
"""By `tests/test_readme.py`."""


class Block(NamedTuple):
    """A block of code."""

    document: Path
    language: str
    note: str
    body: str

    @property
    def is_run(self) -> bool:
        """Whether a test runs it."""
        others = RUN_BY_ANOTHER.get(self.document.name, set[str]())
        return not self.note and (self.document in PAGES or self.language in others)

    @property
    def commands(self) -> list[str]:
        """What a person types: behind a prompt, or all of it where there is none."""
        lines = self.body.splitlines()
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")] or lines


BLOCKS = [
    Block(document, block["language"], block["note"] or "", block["body"])
    for document in DOCUMENTS
    for block in FENCE.finditer(document.read_text(encoding="utf-8"))
]
NAMED = {f"{each.document.name}: {each.body.splitlines()[0]}": each for each in BLOCKS}


def test_blocks_are_found() -> None:
    """If fences were written in another way, the others would look at none."""
    fences = sum(len(re.findall(r"^```", each.read_text(encoding="utf-8"), re.MULTILINE)) for each in DOCUMENTS)
    assert 2 * len(BLOCKS) == fences > 100


@rows("block", NAMED)
def test_a_block_is_run_or_says_why_not(block: Block) -> None:
    """A quotation has nothing in it to be run."""
    assert block.language
    if block.language == "text":
        assert not re.search(r"^(\$ |kafkaspec |make |\S*python )", block.body, re.MULTILINE)
    elif not block.is_run:
        assert NOT_RUN.fullmatch(block.note)


@rows("block", {name: block for name, block in NAMED.items() if block.note})
def test_what_is_not_run_could_be(block: Block) -> None:
    """Each of its commands exists, with each of its options."""
    assert block.commands
    for command in block.commands:
        program, *words = shlex.split(command, comments=True)
        if program == "kafkaspec":
            asked = kafkaspec.commands[words[0]]
            asked.make_parser(click.Context(asked)).parse_args(words[1:])
        elif program == "make":
            assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        elif program != "kafka-topics.sh":  # which is Kafka's own
            assert (program, words[0]) == (".venv/bin/python", "-m")
            assert find_spec(words[1])
