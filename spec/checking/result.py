"""Results of checks: a verdict, its basis, and a counterexample.

`str` of a result is the report for a person; `to_json` follows the JSON contract. The basis includes the versions of
kafkaspec, Python and the libraries that the engine used. A profile says what each action and property took of a
check's time, and how well its paths were learned.
"""

from __future__ import annotations

import platform
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from spec.checking.exploration import Jobs, LearnedRule
from spec.checking.model import Model
from spec.checking.traces.trace import Kind, Line, Report, Trace
from spec.checking.values.text import jsonable, show

# Versions.


COMPILED: Final = ("numba", "llvmlite", "numpy")
LIBRARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "local": COMPILED,
    "spark": (*COMPILED, "pyspark", "pyarrow"),
    "simulation": COMPILED,
}
"""By engine. The reference engine uses none; for a person's own engine they are unknown."""


def versions(engine: str) -> dict[str, str]:
    """By name, as installed here; packages that are not installed are left out."""
    from importlib.metadata import PackageNotFoundError, version  # slower to import than a small check

    found = {"python": platform.python_version()}
    for name in ("kafkaspec", *LIBRARIES.get(engine, ())):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # the sources are only on Python's path
            continue
    return found


# Profiles.


class RuleProfile(NamedTuple):
    """One action or property."""

    kind: str
    """'action', or the kind of the property."""
    name: str
    instances: int
    """How many there are, with different parameters."""
    paths: int
    """The paths that an engine learned."""
    misses: int
    """How often a state needed a path that was not learned yet."""
    seconds: float
    """The time in Python: evaluating it, and learning from it."""


def profile_of(
    model: Model, evaluating: Mapping[str, float], learned: Mapping[str, LearnedRule]
) -> tuple[RuleProfile, ...]:
    """The profile of each action and property that was evaluated, in order of declaration, from the seconds spent in
    plain Python and the learning, by name.
    """
    found = []
    actions = [("action", each.name, each.instances.size) for each in model.actions]
    properties = [(each.kind, each.name, each.instances.size) for each in model.properties if each.instances]
    for kind, name, instances in (*actions, *properties):
        learning = learned.get(name, LearnedRule())
        seconds = evaluating.get(name, 0.0) + learning.seconds
        if seconds:
            found.append(RuleProfile(kind, name, instances, learning.paths, learning.misses, seconds))
    return tuple(found)


def _table(profile: Sequence[RuleProfile], seconds: float) -> list[str]:
    """The lines of a table: the costliest first, with their share of the seconds of the whole check."""
    rows = [("share", "seconds", "instances", "paths", "misses", "")]
    rows += [
        (
            f"{each.seconds / seconds if seconds else 0:.0%}",
            f"{each.seconds:.2f}",
            f"{each.instances:,}",
            f"{each.paths:,}",
            f"{each.misses:,}",
            f"{each.kind} {each.name}",
        )
        for each in sorted(profile, key=lambda each: -each.seconds)
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.rjust(width) for text, width in zip(row[:-1], widths, strict=False)) + f"  {row[-1]}".rstrip()
        for row in rows
    ]


# Results.


EXIT_CODES: Final[Mapping[str, int]] = {
    "holds": 0,
    "witnessed": 0,
    "deadlock": 11,
    "violated": 12,
    "bounded": 20,
    "vacuous": 21,
    "interrupted": 130,
}
"""The exit codes are TLC's where TLC has one."""
VERDICTS: Final[Mapping[str, Kind]] = {
    "violated": "bad",
    "holds": "good",
    "witnessed": "good",
    "unwitnessed": "unsure",
    "undecided": "unsure",
}
"""The verdicts on properties, in the order of a report."""
NOT_CHECKED: Final = "progress: whether expected steps happen eventually (liveness)"
"""Not checked by any engine; it may fail where everything else holds."""
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
    """How often one action was enabled and taken."""

    name: str
    enabled: int
    """States in which some instance of it is enabled."""
    taken: int
    """Its successors, including those equal to their predecessor."""
    new_states: int | None
    """States it reached first; the only count that depends on the order of the search. None if unknown."""
    bounded: int | None
    """States in which a `bound` forbids a step of it. None if unknown."""


@dataclass(frozen=True)
class KnownViolation:
    """A counterexample that is on record, and the option that prevents it."""

    property: str
    id: str
    """The record's identifier."""
    ticket: str
    releases: str
    """The releases that have it: `open since 2.1`, `gone since 2.2`."""
    fix: str
    """The option that prevents it."""

    def __str__(self) -> str:
        return f"{self.id}, {self.releases}; {self.fix}"


@dataclass(frozen=True)
class LevelResult:
    """A level: the states reached in so many steps, and in no fewer.

    Its figures are those of a check to this depth.
    """

    level: int
    """1 has the initial states."""
    states: int
    """States first reached here."""
    distinct_states: int
    """States of this level and of all earlier ones."""
    generated_states: int
    """Initial states and successors generated up to the end of this level."""
    seconds: float
    """Seconds of exploring until then."""


def in_full(trace: Trace) -> Report:
    """The trace itself."""
    return trace


@dataclass(frozen=True, kw_only=True, repr=False)
class BaseResult(Report):
    """The common part of the results of checks and simulations."""

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
    """Violations, the shortest first; among equals in order of declaration. Only one property's, unless the run
    kept going."""
    shown: Trace | None = None
    """The shortest path to the goal; None if it was not found, or there was no goal."""
    compile_seconds: float = 0.0
    """Seconds spent waiting for a compilation, which happens once per machine; not part of `seconds`."""
    leaves_out: str = ""
    why: str = ""
    """The reason of the verdict, unless a discovery is: a bound that was reached, or what never happened."""
    opaque_rules: tuple[str, ...] = ()
    """Actions and properties that gave other results on lazy values, with which an engine learns, than on plain ones.
    The exploration then began again, with plain values for them."""
    documentation: Mapping[str, str] = field(default_factory=dict)
    """The sentence of each constant, switch, action and property."""
    known: tuple[KnownViolation, ...] = ()
    """Records of these counterexamples, if there are any and someone looked them up."""

    @property
    def counterexample(self) -> Trace | None:
        """The first counterexample, which decides the verdict; None if no property was found to break."""
        return next(iter(self.counterexamples), None)

    @property
    def traces(self) -> tuple[Trace, ...]:
        """All traces, to read or to keep: the goal's, and the counterexamples."""
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
        """The actions that were never taken in the part explored."""
        return tuple(each.name for each in self.actions if not each.taken)

    def _asked(self) -> dict[str, Any]:
        """The question, as members of the JSON object."""
        return {
            "system": self.system,
            "constants": jsonable(self.constants),
            "switches": jsonable(self.switches),
            "release": self.release,
            "leaves_out": self.leaves_out,
        }

    def _found(self) -> dict[str, Any]:
        """The findings, as members of the JSON object."""
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
        """The verdict, its basis, each property, and the traces.

        Args:
            form: makes the report of each trace, if not in full. See `spec.checking.traces.brief`.
        """
        yield Line(words=f"{self.system}: {self.headline}")
        yield from (*self.basis(), *self._judged())
        for each in self.traces:
            yield from (Line(), *form(each).lines())

    def basis(self) -> Iterator[Line]:
        """Lines with the basis of the verdict: known records, figures, constants, and what is left out."""
        several = len(self.counterexamples) > 1
        for each in self.known:
            yield Line("  ", f"known: {f'{each.property} is ' if several else ''}{each}")
        yield from self._figures()
        if self.compile_seconds:
            yield Line("  ", f"compiled before that, once on this machine, in {self.compile_seconds:.1f} s")
        if self.opaque_rules:
            names = ", ".join(self.opaque_rules)
            yield Line("  ", f"began again: lazy values were found not to be safe in {names}")
        yield from self._held_for()

    @abstractmethod
    def _figures(self) -> Iterator[Line]:
        """Lines with the statistics behind the verdict."""

    def _held_for(self) -> Iterator[Line]:
        if self.release is not None:
            yield Line("  ", f"release {self.release}")
        if self.constants:
            yield labelled("constants", _valuation(self.constants))
        if self.switches:
            yield labelled("switches", _valuation(self.switches))
        if self.leaves_out:
            yield labelled("left out", self.leaves_out)

    def _judged(self) -> Iterator[Line]:
        for verdict, kind in VERDICTS.items():
            found = [each for each in self.properties if each.verdict == verdict]
            if found:
                yield labelled(verdict, ", ".join(map(self._decided, found)), kind)

    def _decided(self, judged: PropertyResult) -> str:
        """A property, and the number of states that decided it."""
        return judged.name if judged.length is None else f"{judged.name} ({judged.length})"


def labelled(label: str, words: str, kind: Kind = "plain") -> Line:
    """A line of a result with its label."""
    return Line(f"  {label:11} ", words, kind)


def violated(name: str, length: int) -> str:
    """A sentence: this property breaks, in so many states."""
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
    """`max_states` and `max_depth` of the exploration; None where there is none."""
    symmetry: bool = False
    """Whether states are representatives of orbits."""
    compared: str = ""
    """What was compared to justify merging orbits, in words; empty without symmetry."""
    wants_every_action: bool = True
    """Whether an action that is never taken counts: not if properties are named or there is a goal."""
    accept_vacuous: tuple[str, ...] = ()
    """Actions and witnesses that the caller accepts even if they never happen."""
    accepted: tuple[str, ...] = ()
    """Those of them that never happened, in a sentence each."""
    without_effect: tuple[str, ...] = ()
    """The actions that were taken and never changed anything, where everything was explored. Some are meant so: they
    mark where the system may end. Others have `==` in place of `=`."""
    levels: tuple[LevelResult, ...] = ()
    """The figures of each level."""
    interned: Mapping[str, int] = field(default_factory=dict)
    """By variable, how many values of an `interned` one occur."""
    jobs: Jobs | None = None
    """How much Spark did in jobs; see `Exploration.jobs`."""
    folds: str = ""
    """Which rules were recorded as folds, and what was compared of them; see `Exploration.folds`."""
    advice: str = ""
    """Why the search ran mostly in plain Python, or what needs it; see `Exploration.advice`."""
    profile: tuple[RuleProfile, ...] = ()
    """What each action and property took, if that was asked for."""

    @property
    def states_per_second(self) -> int:
        """Distinct states per second."""
        return round(self.distinct_states / self.seconds) if self.seconds else 0

    def _figures(self) -> Iterator[Line]:
        yield Line(
            "  ",
            f"{self.distinct_states:,} distinct states, {self.generated_states:,} generated, depth {self.depth}, "
            f"in {self.seconds:.1f} s ({self.states_per_second:,} states/s), engine {self.engine}",
        )
        if self.compared:
            yield labelled("symmetry", self.compared)
        if self.folds:
            yield labelled("folds", self.folds)
        if self.interned:
            each = ", ".join(f"{_counted(number, 'value')} of {name}" for name, number in self.interned.items())
            yield labelled("interned", each)
        if self.jobs is not None:
            yield Line("  ", _by_jobs(self.jobs))
        if self.advice:
            yield labelled("plain", self.advice)
        if self.profile:
            yield from (Line("  ", each) for each in _table(self.profile, self.seconds))

    def _held_for(self) -> Iterator[Line]:
        yield from super()._held_for()
        if self.accepted:
            yield labelled("accepted", "; ".join(self.accepted))
        if self.verdict == "holds":
            yield labelled("not checked", NOT_CHECKED)
            if self.bounded:
                yield labelled("bounded", ", ".join(self.bounded))

    @property
    def bounded(self) -> list[str]:
        """The actions of which a `bound` forbids steps, each with the number of states in which it does, in words."""
        return [f"{each.name} in {_counted(each.bounded, 'state')}" for each in self.actions if each.bounded]

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
            "interned": dict(self.interned),
            "seconds": round(self.seconds, 3),
            "compile_seconds": round(self.compile_seconds, 3),
            "states_per_second": self.states_per_second,
            "bytes_per_state": self.bytes_per_state,
            **self._found(),
            "without_effect": list(self.without_effect),
            "folds": self.folds or None,
            "advice": self.advice or None,
            "profile": [{**each._asdict(), "seconds": round(each.seconds, 3)} for each in self.profile],
        }


def _by_jobs(jobs: Jobs) -> str:
    """How much Spark did in jobs, in words."""
    if not jobs.levels:
        return "Spark jobs expanded no level; with --engine spark --driver-level 0 every level is a job"
    levels, workers = _counted(jobs.levels, "level"), _counted(jobs.workers, "worker")
    return f"Spark jobs expanded {levels}, with up to {workers}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
