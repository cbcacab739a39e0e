"""Reports: what came of a part of a level. The report on the whole level is the sum of those on its parts.

It does not matter which worker expanded or judged which part: counts add up, and see `LevelDiscoveries`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field

from spec.checking.exploration import Coverage
from spec.checking.model import Model
from spec.checking.runs.level_discoveries import LevelDiscoveries
from spec.checking.runs.rundir import LevelFile
from spec.checking.symmetry.renamings import ComparisonCounts

PRINTED = 10_000
"""Characters that a report holds of what actions and properties print; the rest is dropped."""


@dataclass
class Report(LevelDiscoveries):
    """What came of a part of a level: of expanding it, and of the new states to which that led."""

    coverage: tuple[Coverage, ...] = ()
    files: list[LevelFile] = field(default_factory=list)
    """Where the new states were written."""
    out_of_memory: bool = False
    """Whether memory ended the work on this part."""
    hidden_state: str = ""
    """What actions and properties look at besides the state and has changed; empty if nothing has."""
    sample: list[bytes] = field(default_factory=list)
    """Some of the new states, if orbits are explored: those that are compared one by one beside the learned paths."""
    compared: ComparisonCounts = field(default_factory=ComparisonCounts)
    """What was compared, if orbits are explored."""
    refused: str = ""
    """What tells interchangeable values apart; empty if nothing does."""
    opaque_rules: set[str] = field(default_factory=set)
    """Actions and properties that did otherwise on lazy values than on plain ones: then nothing else here counts."""
    printed: str = ""
    """What actions and properties printed."""
    workers: set[str] = field(default_factory=set)
    """Worker processes that did some of it; none if the driver did it all."""

    @classmethod
    def on_nothing(cls, model: Model) -> Report:
        """The report on no state, to which others are added."""
        return cls(coverage=tuple(Coverage() for _ in model.actions))

    @contextmanager
    def printing(self) -> Iterator[None]:
        """Keep what is printed meanwhile: a worker's stdout is seen by no person."""
        with redirect_stdout(io.StringIO()) as printed:
            yield
        self.printed += printed.getvalue()[:PRINTED]

    def add(self, other: LevelDiscoveries) -> None:
        """Add the report on another part."""
        super().add(other)
        assert isinstance(other, Report)
        for mine, its in zip(self.coverage, other.coverage, strict=True):
            mine.enabled += its.enabled
            mine.taken += its.taken
            mine.new_states += its.new_states
            mine.changing += its.changing
        self.files += other.files
        self.sample += other.sample
        self.compared = self.compared.besides(other.compared)
        self.refused = min(filter(None, (self.refused, other.refused)), default="")
        self.printed += other.printed
        self.out_of_memory |= other.out_of_memory
        self.hidden_state = self.hidden_state or other.hidden_state
        self.workers |= other.workers
        self.opaque_rules |= other.opaque_rules

    @property
    def generated(self) -> int:
        """How many successors were found."""
        return sum(each.taken for each in self.coverage)
