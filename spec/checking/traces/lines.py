"""A report as lines, each with its kind: a step, a verdict, a value.

Files and pipes get the text of the lines. A terminal has a style for each kind, and wraps the words of a line
(`spec.cli.terminal`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Literal, NamedTuple

from spec.checking.traces.notebook import NotebookDisplay
from spec.language.escapes import escaped

Kind = Literal["plain", "good", "bad", "unsure", "breaks", "view", "step", "value"]
"""A verdict on properties is `good`, `bad` or `unsure`. A line of a trace says what `breaks` there, or is a sentence
of a `view`, a `step` or a `value`."""


class Line(NamedTuple):
    """A line. Its text escapes characters that a terminal would obey."""

    before: str = ""
    """The text before the words: an indent, a number, a label. Wrapped words align below the first."""
    words: str = ""
    kind: Kind = "plain"

    def __str__(self) -> str:
        return escaped(self.before + self.words)


class Report(NotebookDisplay, ABC):
    """A result that a person reads line by line."""

    @abstractmethod
    def lines(self) -> Iterator[Line]:
        """All lines."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines()))
