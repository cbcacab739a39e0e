"""What came of a part of a level; a report on the whole is the sum of the reports on its parts.

It does not matter who expanded or judged which part: figures add up, and see `LevelDiscoveries`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field

from spec.checking.exploration import Coverage
from spec.checking.level_discoveries import LevelDiscoveries
from spec.checking.model import Model
from spec.checking.rundir import LevelFile

PRINTED = 10_000
"""Characters of what is printed in a part of a level that travel; who prints more has seen enough."""


@dataclass
class Report(LevelDiscoveries):
    """What came of a part of a level: of expanding it, and of the new states to which that led."""

    coverage: tuple[Coverage, ...] = ()
    files: list[LevelFile] = field(default_factory=list)
    """Where the new states were written."""
    out_of_memory: bool = False
    """Whether it did not come to an end for that."""
    sample: list[bytes] = field(default_factory=list)
    """Some of them, if they are to be looked at for whether they are symmetric."""
    printed: str = ""
    """What actions and properties printed."""

    @classmethod
    def on_nothing(cls, model: Model) -> Report:
        """To begin with."""
        return cls(coverage=tuple(Coverage() for _ in model.actions))

    @contextmanager
    def printing(self) -> Iterator[None]:
        """Take what is printed along: where a worker prints, nobody looks."""
        with redirect_stdout(io.StringIO()) as printed:
            yield
        self.printed += printed.getvalue()[:PRINTED]

    def add(self, other: LevelDiscoveries) -> None:
        """Take up what came of another part."""
        super().add(other)
        assert isinstance(other, Report)
        for mine, its in zip(self.coverage, other.coverage, strict=True):
            mine.enabled += its.enabled
            mine.taken += its.taken
            mine.new_states += its.new_states
        self.files += other.files
        self.sample += other.sample
        self.printed += other.printed
        self.out_of_memory |= other.out_of_memory

    @property
    def generated(self) -> int:
        """How many successors were found."""
        return sum(each.taken for each in self.coverage)
