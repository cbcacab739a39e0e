"""Transcripts: texts of commands, and what a controller, a broker or a cluster did after each.

    # A title, which is a sentence.
    release 3.9.1

    register 1 2 3
    create t 1,2 2,3
    ----
    handles TopicChange
    ...

A text has several, one after another. `release` names one or more releases, which all do the same. `show requests`
also tells the requests to ZooKeeper, batch by batch; in 0.10 each path once, where it comes last. `not recorded` says
why none of Kafka's controllers can show it; `proposed` names changes that no release has. Of several commands before
a line of dashes only the last one's effects are written: the others are set-up. A page of `docs/` has transcripts
without titles in its code blocks.

`controllers.py` runs those of a controller (its commands: `commands.py`, its effects: `observation.py`), `brokers.py`
those of a broker that receives requests, `clusters.py` those of a cluster; `subjects.py` lists the three.

`make test` compares the texts with our controller, `make long-kafka` with Kafka's own. After a wanted change,
`python -m tests.transcripts` writes what ours does, and `python -m tests.transcripts --kafka` what Kafka's does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parent
PAGE: Final = Path(__file__).parents[2] / "docs" / "controller-transcripts.md"
BLOCK: Final = re.compile(r"(?<=^```text\n)release .*?(?=^```$)", re.MULTILINE | re.DOTALL)
DASHES: Final = "----"


class Step(NamedTuple):
    """Commands, and what was written of the last one."""

    commands: tuple[tuple[str, ...], ...]
    """The lines of each."""
    told: tuple[str, ...]


class Transcript(NamedTuple):
    """A story of a controller or a broker."""

    head: tuple[str, ...]
    """Its title and directives, line by line."""
    steps: tuple[Step, ...]

    def directive(self, name: str) -> str:
        """What the head says after this word; nothing, if it does not have it."""
        return next((line.removeprefix(name).strip() for line in self.head if line.startswith(name)), "")

    @property
    def releases(self) -> list[str]:
        """The releases that do this."""
        return self.directive("release").split()

    @property
    def is_recorded(self) -> bool:
        """Whether Kafka's own controllers can show it."""
        return not (self.directive("not recorded") or self.directive("proposed"))

    @property
    def commands(self) -> list[tuple[str, ...]]:
        """The lines of all its commands."""
        return [lines for step in self.steps for lines in step.commands]

    def with_told(self, told: Iterable[Sequence[str]]) -> Transcript:
        """The same commands, with what was told after each."""
        after = iter(told)
        steps = []
        for step in self.steps:
            lines: Sequence[str] = ()
            for _ in step.commands:
                lines = next(after)
            steps.append(step._replace(told=tuple(lines)))
        return self._replace(steps=tuple(steps))

    def __str__(self) -> str:
        steps = ([*chain(*step.commands), DASHES, *step.told] for step in self.steps)
        return "\n\n".join(map("\n".join, [self.head, *steps])) + "\n"


def parsed(text: str) -> list[Transcript]:
    """The transcripts of a text."""
    found: list[Transcript] = []
    for paragraph in re.split(r"\n{2,}", text.strip()):
        lines = tuple(paragraph.splitlines())
        if lines[0].startswith(("# ", "release ")):
            found.append(Transcript(lines, ()))
        else:
            found[-1] = found[-1]._replace(steps=(*found[-1].steps, _step(lines)))
    return found


def _step(lines: Sequence[str]) -> Step:
    dashes = lines.index(DASHES)
    commands: list[tuple[str, ...]] = []
    for line in lines[:dashes]:
        if line.startswith(" "):
            commands[-1] += (line,)
        else:
            commands.append((line,))
    return Step(tuple(commands), tuple(lines[dashes + 1 :]))


def texts(path: Path) -> list[str]:
    """The texts in a file: all of it, or the code blocks of a page."""
    content = path.read_text(encoding="utf-8")
    return BLOCK.findall(content) if path.suffix == ".md" else [content]


def files(subject: str) -> list[Path]:
    """All files about a controller, a broker or a cluster, sorted."""
    return [*([PAGE] if subject == "controller" else []), *sorted((ROOT / subject).glob("*.txt"))]


class Sides(NamedTuple):
    """How transcripts are run by us and by Kafka."""

    ours: Callable[[Transcript, str], Transcript]
    kafkas: Callable[[Sequence[Transcript], str, Any], Iterator[Transcript]] | None = None
    kafka: Callable[[str], AbstractContextManager[Any]] | None = None
    """Starts Kafka's classes of a release."""


def rewrite(path: Path, by_kafka: bool, sides: Sides) -> None:
    """Write into a file what ours does, or Kafka's of the first release that each transcript names."""
    told: dict[str, Transcript] = {}
    by_release: defaultdict[str, list[Transcript]] = defaultdict(list)
    for transcript in chain(*map(parsed, texts(path))):
        by_release[transcript.releases[0]].append(transcript)
    for release, its in by_release.items():
        recorded = [each for each in its if by_kafka and each.is_recorded]
        told |= {str(each): sides.ours(each, release) for each in its if each not in recorded}
        if recorded and sides.kafka and sides.kafkas:
            with sides.kafka(release) as kafka:
                told |= zip(map(str, recorded), sides.kafkas(recorded, release, kafka), strict=True)
    content = path.read_text(encoding="utf-8")
    for text in texts(path):
        content = content.replace(text, "\n".join(str(told[str(each)]) for each in parsed(text)))
    path.write_text(content, encoding="utf-8")
