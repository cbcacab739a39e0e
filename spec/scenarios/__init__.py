"""Scenarios: well-known stories of Kafka's replication, as transcripts that a specification replays.

Each story is a text file in this folder; `transcript` explains its lines. `kafkaspec replay` lists the stories, and
`kafkaspec replay t1-loss` replays one.

    from spec.scenarios import scenario_named
    for line in scenario_named("t1-loss").replay():
        print(line.text)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from spec.language.errors import UsageError, one_meant
from spec.scenarios.transcript import TranscriptLine, lines_of

__all__ = ["Scenario", "scenario_at", "scenario_named", "scenarios"]


@dataclass(frozen=True)
class Scenario:
    """A transcript with its name."""

    name: str
    """The name of its file, without the suffix."""
    text: str
    """The transcript."""

    @property
    def title(self) -> str:
        """The first line of the transcript."""
        return self.text.partition("\n")[0]

    def replay(self, own: str | None = None) -> Iterator[TranscriptLine]:
        """Replay it on the specification that it names, line by line.

        Args:
            own: the user's own system on which to replay it, see `transcript.lines_of`.

        Raises:
            TranscriptError: the text is not a transcript, or the specification contradicts it.
        """
        return lines_of(self.text, self.name, own)


def scenarios() -> tuple[Scenario, ...]:
    """All scenarios, by name."""
    found = (each for each in files("spec.scenarios").iterdir() if each.name.endswith(".txt"))
    return tuple(
        Scenario(each.name.removesuffix(".txt"), each.read_text(encoding="utf-8"))
        for each in sorted(found, key=lambda each: each.name)
    )


def scenario_named(name: str) -> Scenario:
    """The scenario with this name or label, or the only one whose name begins with it.

    The label is the beginning of its title, like E1 or T1 under KIP-101.

    Raises:
        UsageError: there is none, or there are several.
    """
    known = {each.name: each for each in scenarios()}
    if found := one_meant(name, known, ((each.title.partition(". ")[0], each.name) for each in known.values())):
        return known[found]
    begun = [each for each in known if each.startswith(name.casefold())]
    if len(begun) == 1:
        return known[begun[0]]
    if begun:
        raise UsageError(f"{name} is short for several scenarios: {', '.join(begun)}")
    raise UsageError(f"no scenario is called {name}; there are {', '.join(known)}")


def scenario_at(place: str) -> Scenario:
    """A scenario: the transcript in a file whose name ends with .txt, or one of ours by name; UsageError if there is
    none, or the file cannot be read.
    """
    if not place.endswith(".txt"):
        return scenario_named(place)
    try:
        return Scenario(place, Path(place).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as failure:
        raise UsageError(f"{place} cannot be read: {getattr(failure, 'strerror', None) or failure}") from None
