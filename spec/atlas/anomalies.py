"""The atlas of anomalies in `anomalies.toml`: properties that break without one switch and hold with it.

from spec.atlas.anomalies import anomaly_named
outcome = anomaly_named("B4").explore()
outcome.as_recorded, outcome.results["off"].counterexample
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from spec.atlas.loading import system_named, under
from spec.by_release import release_named
from spec.checking import Replay, Result, Trace, check
from spec.checking.model import EvaluationFailed
from spec.checking.result import EXIT_CODES, BaseResult, KnownViolation, violated
from spec.checking.values.text import show
from spec.language.errors import AssumptionViolated, SpecificationError, UsageError, meant
from spec.language.specification import Specification
from statemachines.changes import CHANGES

Side = Literal["off", "on"]
SIDES: Final[tuple[Side, Side]] = ("off", "on")
"""The sides of a switch, in the order of exploration."""
NEVER_SHIPPED: Final = "never shipped"
"""Stands for a release if every release has the switch on."""


@dataclass(frozen=True, kw_only=True)
class Anomaly:
    """One row of the file. The head of the file explains the fields."""

    id: str
    ticket: str
    sentence: str
    system: str
    release: str | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    switch: str
    off: Any = False
    on: Any = True
    property: str
    length: int
    since: str | None = None
    fixed_in: str | None = None
    size: str
    seen_on_controllers: Sequence[str] = ()
    seen_on_brokers: Sequence[str] = ()

    def releases(self) -> str:
        """The releases with the anomaly, as far as recorded."""
        if self.fixed_in is None:
            return f"open since {self.since}" if self.since else "open"
        return NEVER_SHIPPED if self.fixed_in == NEVER_SHIPPED else f"gone since {self.fixed_in}"

    def fix(self) -> str:
        """The command's option that prevents it."""
        if isinstance(self.on, bool):
            return f"--{'with' if self.on else 'without'} {self.switch}"
        return f"--set {self.switch}={show(self.on)}"

    def prevents(self, trace: Trace, constants: Mapping[str, Any]) -> bool:
        """Whether a trace breaks its property under these constants with the switch off, but not with it on."""
        sides = ({**constants, self.switch: value} for value in (self.off, self.on))
        without, with_it = (_comes_to_pass(trace, self.system, side) for side in sides)
        return without and not with_it

    def setting(self, side: Side) -> str:
        """The setting of a side, as `fence_zk = false`."""
        return f"{self.switch} = {show(getattr(self, side))}"

    def recorded(self, side: Side) -> str:
        """The recorded result of a side, in the words of a result's headline."""
        return violated(self.property, self.length) if side == "off" else "holds"

    def specification(self, side: Side) -> Specification:
        """The system with the switch on one side."""
        constants = {**self.constants, self.switch: getattr(self, side)}
        return under(system_named(self.system), self.release, constants)

    def sides(self, ask: Callable[..., Result] = check, **options: Any) -> Iterator[tuple[Side, Result]]:
        """The result of each side, explored on demand. Nothing follows an interruption.

        Args:
            ask: the function that explores, called as `spec.checking.check` is.
            options: its further arguments: `engine`, `max_states`, `max_depth`, `on_progress`.
        """
        release = None if self.release is None else release_named(self.release, system_named(self.system).releases)
        for side in SIDES:
            result = ask(self.specification(side), properties=[self.property], release=release, **options)
            yield side, result
            if result.verdict == "interrupted":
                return

    def explore(self, ask: Callable[..., Result] = check, **options: Any) -> Outcome:
        """Explore both sides, as `sides` does."""
        return Outcome(self, dict(self.sides(ask, **options)))

    def to_json(self) -> dict[str, Any]:
        """The row, with its defaults."""
        return asdict(self)


@dataclass(frozen=True)
class Outcome:
    """The results of an anomaly's sides."""

    anomaly: Anomaly
    results: Mapping[Side, Result]
    """The results of both sides, unless the first was interrupted."""

    @property
    def differing(self) -> dict[Side, Result]:
        """The decided sides whose result is not the recorded one."""
        return {
            side: result
            for side, result in self.results.items()
            if side not in self.undecided and result.headline != self.anomaly.recorded(side)
        }

    @property
    def undecided(self) -> dict[Side, Result]:
        """The sides that a bound or an interruption stopped."""
        return {side: result for side, result in self.results.items() if result.verdict in {"bounded", "interrupted"}}

    @property
    def as_recorded(self) -> bool | None:
        """Whether both sides have the recorded result; None if undecided."""
        if self.differing:
            return False
        return None if self.undecided else True

    @property
    def exit_code(self) -> int:
        """The exit code of the command line, in the classes of `check`."""
        if any(result.verdict == "interrupted" for result in self.undecided.values()):
            return EXIT_CODES["interrupted"]
        return {True: 0, False: EXIT_CODES["violated"], None: EXIT_CODES["bounded"]}[self.as_recorded]

    def conclusion(self) -> str:
        """One line if both sides have the recorded result; else one line for each side that has not."""
        row = self.anomaly
        if self.as_recorded:
            return "As recorded: " + "; ".join(f"{row.recorded(side)}, with {row.setting(side)}" for side in SIDES)
        sides = [("Not as recorded", self.differing), ("Undecided", self.undecided)]
        return "\n".join(
            f"{what}, with {row.setting(side)}. Recorded: {row.recorded(side)}; found: {result.headline}"
            for what, results in sides
            for side, result in results.items()
        )

    def to_json(self) -> dict[str, Any]:
        """The one object that `anomalies ID --json` prints."""
        row = {"anomaly": self.anomaly.to_json(), "as_recorded": self.as_recorded}
        for side in SIDES:
            row[side] = self.results[side].to_json() if side in self.results else None
        return row


def known_in(result: BaseResult) -> tuple[KnownViolation, ...]:
    """The rows that a result's counterexamples show: each breaks the row's property, but not with the switch on."""
    constants = {**result.constants, **result.switches}
    return tuple(
        KnownViolation(row.property, row.id, row.ticket, row.releases(), row.fix())
        for trace in result.counterexamples
        for row in anomalies()
        if (row.property, row.off) == (trace.broken, constants.get(row.switch))
        and system_named(row.system).name == result.system
        and row.prevents(trace, constants)
    )


def _comes_to_pass(trace: Trace, system: str, constants: Mapping[str, Any]) -> bool:
    """Whether a system can do these steps, and they break the trace's property."""
    try:
        replay = Replay(system_named(system).of(**constants), trace.initial)
        for each in trace.steps:
            replay.do(each.step)
    except (UsageError, AssumptionViolated, EvaluationFailed):
        return False
    return trace.broken in replay.broken


@cache
def anomalies() -> tuple[Anomaly, ...]:
    """Every recorded anomaly, in the order of the file."""
    return read(files("spec.atlas").joinpath("anomalies.toml").read_text(encoding="utf-8"))


def read(text: str) -> tuple[Anomaly, ...]:
    """The rows of a text in the form of the file; SpecificationError if a field is unknown or missing, or the text
    has entries other than rows.
    """
    rows = []
    for table, entries in tomllib.loads(text).items():
        if table != "anomaly":
            raise SpecificationError(f"{table}: the atlas has only rows, each below [[anomaly]]")
        for entry in entries:
            came_with = entry.pop("came_with", {})
            try:
                rows.append(Anomaly(**entry))
            except TypeError as wrong:
                raise SpecificationError(f"anomaly {entry.get('id', len(rows) + 1)}: {wrong}") from None
            rows[-1] = _dated(rows[-1], came_with)
    return tuple(rows)


def _dated(row: Anomaly, came_with: Mapping[str, Any]) -> Anomaly:
    """A row with its releases, from the record of the switch that introduced the anomaly and the value that it has
    since then; without a record the row's own releases stay.
    """
    change = CHANGES.get(row.switch)
    if change is None:
        return row
    if change.proposed_by is not None:
        [since] = [CHANGES[name].first(value) for name, value in came_with.items()] or [None]
        return replace(row, since=since)
    fixed_in = change.first(row.on)
    if fixed_in is None and not change.since:
        fixed_in = NEVER_SHIPPED
    return replace(row, fixed_in=fixed_in, since=None if fixed_in else change.first(row.off))


def anomalies_meant(name: str) -> tuple[Anomaly, ...]:
    """The anomaly with this id, or the anomalies with this ticket; without any, an empty tuple."""
    known = {each.id: each for each in anomalies()}
    return tuple(known[each] for each in meant(name, known, ((row.ticket, row.id) for row in known.values())))


def anomaly_named(name: str) -> Anomaly:
    """The anomaly with this id or ticket; UsageError if there is none, or there are several with this ticket."""
    found = anomalies_meant(name)
    if not found:
        raise UsageError(f"no anomaly is called {name}; there are {', '.join(row.id for row in anomalies())}")
    if len(found) > 1:
        raise UsageError(f"{name} is the ticket of {', '.join(row.id for row in found)}; name one of them")
    return found[0]
