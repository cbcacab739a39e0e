"""What a check answers: a verdict, the figures it rests on, and the shortest counterexample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from spec.checking.trace import Trace, jsonable

EXIT_CODES: Final[Mapping[str, int]] = {
    "holds": 0,
    "deadlock": 11,
    "violated": 12,
    "bounded": 20,
    "vacuous": 21,
    "interrupted": 130,
}
"""TLC's classes where it has them."""


@dataclass(frozen=True)
class PropertyResult:
    """What was found out about one property."""

    name: str
    kind: str
    verdict: str
    """holds, violated, witnessed, unwitnessed or undecided."""
    length: int | None
    """States of the shortest trace that breaks or witnesses it."""


@dataclass(frozen=True)
class ActionResult:
    """How one action took part."""

    name: str
    enabled: int
    """States in which some instance of it is enabled."""
    taken: int
    """Successors that it gave, those equal to their predecessor included."""
    new_states: int | None
    """States first reached by it; this one figure depends on the order of the search. None if nobody can tell."""


@dataclass(frozen=True)
class Result:
    """The answer to a check."""

    system: str
    constants: Mapping[str, Any]
    switches: Mapping[str, Any]
    release: str | None
    engine: str
    verdict: str
    """holds, violated, deadlock, bounded, vacuous or interrupted."""
    distinct_states: int
    generated_states: int
    depth: int
    """States on the longest of the shortest paths; an initial state has depth 1."""
    seconds: float
    bytes_per_state: float | None
    properties: tuple[PropertyResult, ...]
    actions: tuple[ActionResult, ...]
    counterexample: Trace | None
    leaves_out: str = ""
    why: str = ""
    """For bounded and vacuous: which bound was reached, what never happened."""

    @property
    def exit_code(self) -> int:
        """What the command line exits with."""
        return EXIT_CODES[self.verdict]

    @property
    def states_per_second(self) -> int:
        """Distinct states by seconds."""
        return round(self.distinct_states / self.seconds) if self.seconds else 0

    def to_json(self) -> dict[str, Any]:
        """The one object that `check --json` prints."""
        return {
            "system": self.system,
            "constants": jsonable(self.constants),
            "switches": jsonable(self.switches),
            "release": self.release,
            "engine": self.engine,
            "verdict": self.verdict,
            "distinct_states": self.distinct_states,
            "generated_states": self.generated_states,
            "depth": self.depth,
            "seconds": round(self.seconds, 3),
            "states_per_second": self.states_per_second,
            "bytes_per_state": self.bytes_per_state,
            "properties": [vars(each) for each in self.properties],
            "actions": [vars(each) for each in self.actions],
            "counterexample": None if self.counterexample is None else self.counterexample.to_json(),
        }
