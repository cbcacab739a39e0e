"""Results of checks: a verdict, what it rests on, and a counterexample.

`str` of a result is the report that a person reads, `to_json` what the JSON contract has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spec.checking.exploration import Jobs
from spec.checking.machine.versions import versions
from spec.checking.traces.lines import Kind, Line, Report
from spec.checking.traces.trace import Trace
from spec.checking.values.text import jsonable, show

EXIT_CODES: Final[Mapping[str, int]] = {
    "holds": 0,
    "witnessed": 0,
    "deadlock": 11,
    "violated": 12,
    "bounded": 20,
    "vacuous": 21,
    "interrupted": 130,
}
"""TLC's classes where it has them."""
VERDICTS: Final[Mapping[str, Kind]] = {
    "violated": "bad",
    "holds": "good",
    "witnessed": "good",
    "unwitnessed": "unsure",
    "undecided": "unsure",
}
"""Those on properties, in the order in which a report has them."""
NOT_CHECKED: Final = "progress: whether what should happen does at last (liveness)"
"""What no engine looks at, so that it may fail where all holds."""
NO_BOUNDS: Final[Mapping[str, int | None]] = {"max_states": None, "max_depth": None}


@dataclass(frozen=True)
class PropertyResult:
    """The verdict on one property."""

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
    """States first reached by it; of all counts only this one depends on the order of the search. None if unknown."""


@dataclass(frozen=True)
class KnownViolation:
    """A counterexample that was known before: where it is recorded, and how it is prevented."""

    property: str
    id: str
    """Of the record."""
    ticket: str
    releases: str
    """Which have it: `open since 2.1`, `gone since 2.2`."""
    fix: str
    """The option that prevents it."""

    def __str__(self) -> str:
        return f"{self.id}, {self.releases}; {self.fix}"


@dataclass(frozen=True)
class LevelResult:
    """A level: the states that are reached in so many steps, and in no fewer.

    Its figures are those of a check that goes no deeper.
    """

    level: int
    """1 has the initial states."""
    states: int
    """States first reached here."""
    distinct_states: int
    """Those of this level and of all before."""
    generated_states: int
    """Initial states and successors given, until all of this level were found."""
    seconds: float
    """Of exploring, until then."""


def in_full(trace: Trace) -> Report:
    """A trace as it is."""
    return trace


@dataclass(frozen=True, kw_only=True, repr=False)
class BaseResult(Report):
    """What the results of checks and simulations have in common."""

    system: str
    constants: Mapping[str, Any]
    switches: Mapping[str, Any]
    release: str | None
    verdict: str
    """One of `EXIT_CODES`."""
    seconds: float
    properties: tuple[PropertyResult, ...]
    actions: tuple[ActionResult, ...]
    counterexamples: tuple[Trace, ...]
    """How properties break, the shortest first; among equals as they are declared. Of one property, unless everything
    was explored whatever was found."""
    shown: Trace | None = None
    """The shortest way to what was to be shown; None if it was not found, or nothing was."""
    compile_seconds: float = 0.0
    """Seconds spent waiting for a compilation, which is done once on a machine and is no part of `seconds`."""
    leaves_out: str = ""
    why: str = ""
    """Why it is no more than that, if no discovery is the reason: which bound was reached, what never happened."""
    opaque_rules: tuple[str, ...] = ()
    """Actions and properties that did otherwise on lazy values, with which an engine learns, than on plain ones. Then
    all began again, and they were given plain values."""
    documentation: Mapping[str, str] = field(default_factory=dict)
    """The sentence of each constant, switch, action and property."""
    known: tuple[KnownViolation, ...] = ()
    """Records of these counterexamples, if there are any and one has looked for them."""

    @property
    def counterexample(self) -> Trace | None:
        """The first of the counterexamples, on which the verdict rests; None where nothing is found to break."""
        return next(iter(self.counterexamples), None)

    @property
    def traces(self) -> tuple[Trace, ...]:
        """What is to be read or kept: what was to be shown, and the counterexamples."""
        return (*((self.shown,) if self.shown else ()), *self.counterexamples)

    @property
    def exit_code(self) -> int:
        """The exit code of the command line."""
        return EXIT_CODES[self.verdict]

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        trace = self.counterexample
        if trace is not None and self.verdict == "deadlock":
            return f"deadlock, in {_states(trace.length)}"
        if trace is not None:
            return violated(trace.broken, trace.length)
        if self.shown is not None:
            return f"{self.shown.broken} is witnessed, in {_states(self.shown.length)}"
        return f"{self.verdict}: {self.why}" if self.why else self.verdict

    @property
    def because(self) -> str:
        """The reason of the verdict in a sentence; empty if it holds."""
        return self.why or (self.headline if self.traces else "")

    @property
    def never_taken(self) -> tuple[str, ...]:
        """The actions that were never taken, as far as it went."""
        return tuple(each.name for each in self.actions if not each.taken)

    def _asked(self) -> dict[str, Any]:
        """What was asked, as members of the object of JSON."""
        return {
            "system": self.system,
            "constants": jsonable(self.constants),
            "switches": jsonable(self.switches),
            "release": self.release,
            "leaves_out": self.leaves_out,
        }

    def _found(self) -> dict[str, Any]:
        """What was found, as members of the object of JSON."""
        return {
            "properties": [vars(each) for each in self.properties],
            "actions": [vars(each) for each in self.actions],
            "counterexample": None if self.counterexample is None else self.counterexample.to_json(),
            "counterexamples": [each.to_json() for each in self.counterexamples],
            "shown": None if self.shown is None else self.shown.to_json(),
            "opaque_rules": list(self.opaque_rules),
            "known": [vars(each) for each in self.known],
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.system}: {self.headline}>"

    def lines(self, form: Callable[[Trace], Report] = in_full) -> Iterator[Line]:
        """The verdict, what it rests on, each property, and the traces.

        Args:
            form: how each trace is told, if not in full. See `spec.checking.traces.brief`.
        """
        yield Line(words=f"{self.system}: {self.headline}")
        yield from (*self.basis(), *self._judged())
        for each in self.traces:
            yield from (Line(), *form(each).lines())

    def basis(self) -> Iterator[Line]:
        """Lines with what the verdict rests on: figures, constants, what is left out; first what is known of it."""
        yield from (*self._known(), *self._figures(), *self._compiled(), *self._restarted(), *self._held_for())

    @abstractmethod
    def _figures(self) -> Iterator[Line]:
        """Lines with the statistics that the verdict rests on."""

    def _compiled(self) -> Iterator[Line]:
        if self.compile_seconds:
            yield Line("  ", f"compiled before that, once on this machine, in {self.compile_seconds:.1f} s")

    def _restarted(self) -> Iterator[Line]:
        if self.opaque_rules:
            names = ", ".join(self.opaque_rules)
            yield Line("  ", f"began again: lazy values gave other results than plain ones in {names}")

    def _held_for(self) -> Iterator[Line]:
        if self.release is not None:
            yield Line("  ", f"release {self.release}")
        if self.constants:
            yield labelled("constants", _valuation(self.constants))
        if self.switches:
            yield labelled("switches", _valuation(self.switches))
        if self.leaves_out:
            yield labelled("left out", self.leaves_out)

    def _known(self) -> Iterator[Line]:
        several = len(self.counterexamples) > 1
        for each in self.known:
            yield Line("  ", f"known: {f'{each.property} is ' if several else ''}{each}")

    def _judged(self) -> Iterator[Line]:
        for verdict, kind in VERDICTS.items():
            found = [each for each in self.properties if each.verdict == verdict]
            if found:
                yield labelled(verdict, ", ".join(map(self._decided, found)), kind)

    def _decided(self, judged: PropertyResult) -> str:
        """A property, and in how many states it was decided."""
        return judged.name if judged.length is None else f"{judged.name} ({judged.length})"


def labelled(label: str, words: str, kind: Kind = "plain") -> Line:
    """A line of a result with its label."""
    return Line(f"  {label:11} ", words, kind)


def violated(name: str, length: int) -> str:
    """That a property breaks, and in how many states."""
    return f"{name} is violated, in {_states(length)}"


def _states(length: int) -> str:
    return f"{length} state{'' if length == 1 else 's'}"


def _valuation(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {show(value)}" for name, value in values.items())


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(BaseResult):
    """The result of a check."""

    engine: str
    distinct_states: int
    generated_states: int
    depth: int
    """States on the longest of the shortest paths; an initial state has depth 1."""
    bytes_per_state: float | None
    bounds: Mapping[str, int | None] = field(default_factory=lambda: NO_BOUNDS)
    """`max_states` and `max_depth`, within which was explored; None where there is none."""
    symmetry: bool = False
    """Whether states are those of orbits."""
    compared: str = ""
    """What was compared so that orbits may be merged, in words; empty without symmetry."""
    wants_every_action: bool = True
    """Whether an action that is never taken counts: not where properties are named, or something is to be shown."""
    accept_vacuous: tuple[str, ...] = ()
    """Actions and witnesses that were said to be accepted if they never happen."""
    accepted: tuple[str, ...] = ()
    """What of these never happened, in a sentence each."""
    without_effect: tuple[str, ...] = ()
    """The actions that were taken and never changed anything, where all was explored. Some are meant so, as they say
    where the system may end; others have `==` in place of `=`."""
    levels: tuple[LevelResult, ...] = ()
    """Level by level, how it grew."""
    jobs: Jobs | None = None
    """How much Spark did by jobs; see `Exploration.jobs`."""

    @property
    def states_per_second(self) -> int:
        """Distinct states by seconds."""
        return round(self.distinct_states / self.seconds) if self.seconds else 0

    def _figures(self) -> Iterator[Line]:
        yield Line(
            "  ",
            f"{self.distinct_states:,} distinct states, {self.generated_states:,} generated, depth {self.depth}, "
            f"in {self.seconds:.1f} s ({self.states_per_second:,} states/s), engine {self.engine}",
        )
        if self.compared:
            yield labelled("symmetry", self.compared)
        if self.jobs is not None:
            yield Line("  ", _by_jobs(self.jobs))

    def _held_for(self) -> Iterator[Line]:
        yield from super()._held_for()
        if self.accepted:
            yield labelled("accepted", "; ".join(self.accepted))
        if self.verdict == "holds":
            yield labelled("not checked", NOT_CHECKED)

    def _judged(self) -> Iterator[Line]:
        yield from super()._judged()
        if self.without_effect:
            yield labelled("no effect", ", ".join(self.without_effect))

    def to_json(self) -> dict[str, Any]:
        """The one object that `check --json` prints."""
        return {
            **self._asked(),
            "bounds": dict(self.bounds),
            "symmetry": self.symmetry,
            "compared": self.compared or None,
            "accept_vacuous": list(self.accept_vacuous),
            "engine": self.engine,
            "jobs": None if self.jobs is None else self.jobs._asdict(),
            "versions": versions(self.engine),
            "verdict": self.verdict,
            "why": self.because or None,
            "distinct_states": self.distinct_states,
            "generated_states": self.generated_states,
            "depth": self.depth,
            "seconds": round(self.seconds, 3),
            "compile_seconds": round(self.compile_seconds, 3),
            "states_per_second": self.states_per_second,
            "bytes_per_state": self.bytes_per_state,
            **self._found(),
            "without_effect": list(self.without_effect),
        }


def _by_jobs(jobs: Jobs) -> str:
    """How much Spark did by jobs, in words."""
    if not jobs.levels:
        return "Spark jobs expanded no level; with --engine spark --driver-level 0 every level is a job"
    levels, workers = _counted(jobs.levels, "level"), _counted(jobs.workers, "worker")
    return f"Spark jobs expanded {levels}, with up to {workers}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
