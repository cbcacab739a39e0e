"""What acts is named: no sentence begins with "Whoever", and where programs act no person is spoken of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
EVERYWHERE: Final = ("*.md", "benchmarks", "docs", "election", "examples", "spec", "statemachines", "tests")
OF_PROGRAMS: Final = ("README.md", "election", "statemachines", "spec/systems", "spec/parts", "spec/anomalies.toml")
"""What tells of brokers, clients and servers alone."""
WRITTEN: Final = {".md", ".py", ".toml", ".txt", ".pml"}

NO_SUBJECT: Final = re.compile(r"\bWhoever\b")
PERSONS: Final = re.compile(r"\b([Ss]ome|[Nn]o|[Aa]ny|[Ee]very)body\b|\b([Ss]ome|[Nn]o |[Ee]very)one\b")


def files(places: tuple[str, ...]) -> Iterator[Path]:
    """The texts at some places, but for this one."""
    for found in (path for place in places for path in sorted(ROOT.glob(place))):
        texts = [found] if found.is_file() else sorted(found.rglob("*"))
        yield from (path for path in texts if path.suffix in WRITTEN and path != Path(__file__))


def found(pattern: re.Pattern[str], places: tuple[str, ...]) -> list[str]:
    """The lines that have it, with where they stand."""
    lines = (
        (f"{path.relative_to(ROOT)}:{number}: {line.strip()}", line)
        for path in files(places)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    )
    return [told for told, line in lines if pattern.search(line)]


def test_no_sentence_begins_without_its_subject() -> None:
    """In no text, code or test: the broker, the client, the worker is named."""
    assert found(NO_SUBJECT, EVERYWHERE) == []


def test_programs_are_no_persons() -> None:
    """In what tells of Kafka and ZooKeeper: a property that has such a name keeps it, since runs are kept by it."""
    assert found(PERSONS, OF_PROGRAMS) == []


def test_what_is_looked_for_is_found() -> None:
    """Whole words, at any place of a line."""
    assert NO_SUBJECT.search("It ends. Whoever asks is told.") is not None
    assert PERSONS.search("Nobody leads") is not None
    assert PERSONS.search("somebody_is_controller, or everyone's") is not None
    assert PERSONS.search("somebody_is_controller") is None
