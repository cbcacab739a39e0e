"""Reports: the results for a part of a level. The report on the whole level is the sum of those on its parts.

It does not matter which worker did which part: counts add up, and discoveries merge (`LevelDiscoveries`).
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
"""The most characters of printed output that a report keeps; the rest is dropped."""


@dataclass
class Report(LevelDiscoveries):
    """The results for a part of a level: its expansion, and the new states found by it."""

    coverage: tuple[Coverage, ...] = ()
    files: list[LevelFile] = field(default_factory=list)
    """The files with the new states."""
    out_of_memory: bool = False
    """Whether memory ended the work on this part."""
    hidden_state: str = ""
    """A changed value that actions and properties read besides the state; empty if none has changed."""
    sample: list[bytes] = field(default_factory=list)
    """Some of the new states, if orbits are explored: they are compared one by one, besides the learned paths."""
    compared: ComparisonCounts = field(default_factory=ComparisonCounts)
    """The comparisons, if orbits are explored."""
    refused: str = ""
    """The error if interchangeable values are distinguished; empty if they are not."""
    opaque_rules: set[str] = field(default_factory=set)
    """Actions and properties that gave other results on lazy values than on plain ones. If there are any, the rest of
    the report is void."""
    printed: str = ""
    """The output that actions and properties printed."""
    workers: set[str] = field(default_factory=set)
    """Worker processes that took part; none if the driver did it all."""

    @classmethod
    def on_nothing(cls, model: Model) -> Report:
        """The empty report, to which others are added."""
        return cls(coverage=tuple(Coverage() for _ in model.actions))

    @contextmanager
    def printing(self) -> Iterator[None]:
        """While this is open, capture printed output: nobody sees a worker's stdout."""
        with redirect_stdout(io.StringIO()) as printed:
            yield
        self.printed += printed.getvalue()[:PRINTED]

    def add(self, other: Report) -> None:
        """Add the report on another part."""
        self.merge(other)
        for mine, its in zip(self.coverage, other.coverage, strict=True):
            mine.enabled += its.enabled
            mine.taken += its.taken
            mine.new_states += its.new_states
            mine.changing += its.changing
            mine.bounded += its.bounded
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
        """The number of successors found."""
        return sum(each.taken for each in self.coverage)
