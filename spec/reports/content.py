"""The content of every report, in words, rows and a picture; each format has its own layout.

A report is on a result, or on a check without one, for example because an action raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from spec.checking.model import DEADLOCK
from spec.checking.result import NOT_CHECKED, PropertyResult, Result, versions
from spec.checking.traces.trace import Trace
from spec.checking.values.text import show

VERDICTS: Final[Mapping[str, str]] = {
    "holds": "good",
    "witnessed": "good",
    "violated": "bad",
    "deadlock": "bad",
    "bounded": "open",
    "vacuous": "open",
    "interrupted": "open",
}
"""Each verdict as good, open or bad news."""


class Setting(NamedTuple):
    """A constant or a switch."""

    name: str
    value: str
    sentence: str


def settings(result: Result, values: Mapping[str, Any]) -> list[Setting]:
    """The constants or the switches of a result, with their descriptions."""
    return [Setting(name, show(value), result.documentation.get(name, "")) for name, value in values.items()]


def summary(result: Result) -> str:
    """The verdict as a sentence."""
    if result.because:
        return result.because
    which = "Every property holds" if result.wants_every_action else "Every selected property holds"
    but = " except the accepted ones" if result.accepted else ""
    seen = f", each witness occurs, and each action is taken{but}" if result.wants_every_action else ""
    return f"{which} in all states{seen}."


def known(result: Result) -> list[str]:
    """The recorded anomalies that were found, in a sentence each."""
    return [f"Known: {it.property} is {it.id} ({it.ticket}), {it.releases}; {it.fix}." for it in result.known]


def checked(result: Result) -> list[tuple[str, str]]:
    """The subject of the check without constants and switches: names and values."""
    return [
        ("system", result.system),
        *([("release", result.release)] if result.release is not None else []),
        ("bounds", bounds(result)),
        ("states", "one of each orbit of interchangeable values" if result.symmetry else "all"),
        *([("symmetry", result.compared)] if result.compared else []),
        *([("left out of the model", result.leaves_out)] if result.leaves_out else []),
        *([("accepted", "; ".join(result.accepted))] if result.accepted else []),
        *([("not checked", NOT_CHECKED)] if result.verdict == "holds" else []),
    ]


def bounds(result: Result) -> str:
    """The bounds of the exploration, in words."""
    words = {"max_states": "{:,} states", "max_depth": "depth {:,}"}
    given = [words[name].format(bound) for name, bound in result.bounds.items() if bound is not None]
    return " and ".join(given) if given else "none but those of the model"


def figures(result: Result) -> list[tuple[str, str]]:
    """The statistics behind the verdict."""
    return [
        ("distinct states", f"{result.distinct_states:,}"),
        ("generated", f"{result.generated_states:,}"),
        ("depth", f"{result.depth:,}"),
        ("seconds", f"{result.seconds:,.1f}"),
        ("states a second", f"{result.states_per_second:,}"),
        ("engine", result.engine),
        *([("levels by Spark jobs", f"{result.jobs.levels:,}")] if result.jobs is not None else []),
        *([("Spark workers", f"{result.jobs.workers:,}")] if result.jobs is not None else []),
        *([("seconds of compiling", f"{result.compile_seconds:,.1f}")] if result.compile_seconds else []),
        *([("bytes a state", f"{result.bytes_per_state:,.0f}")] if result.bytes_per_state is not None else []),
    ]


def witnesses(result: Result) -> list[PropertyResult]:
    """The witnesses that must exist."""
    return [each for each in result.properties if each.kind == "sometimes"]


def properties(result: Result) -> list[PropertyResult]:
    """The properties that must hold."""
    return [each for each in result.properties if each.kind != "sometimes"]


def decided(judged: PropertyResult) -> str:
    """The verdict on a property, in words.

    >>> decided(PropertyResult("full", "sometimes", "witnessed", 4))
    'met, in 4 states'
    """
    words = {"witnessed": "met", "unwitnessed": "never met"}.get(judged.verdict, judged.verdict)
    return words if judged.length is None else f"{words}, in {states(judged.length)}"


def states(number: int) -> str:
    """A number of states as text.

    >>> states(1), states(1200)
    ('1 state', '1,200 states')
    """
    return f"{number:,} state{'' if number == 1 else 's'}"


def coverage(result: Result) -> str:
    """The actions that were never taken, never changed anything or were forbidden by a bound, in some sentences."""
    never, whole = result.never_taken, result.verdict in {"holds", "vacuous"}
    text = "Each action is taken."
    if never:
        text = f"{'Never taken' if whole else 'Not taken so far'}: {', '.join(never)}."
    if result.without_effect:
        text += f" Taken, but always without effect: {', '.join(result.without_effect)}."
    if whole and result.bounded:
        text += f" A bound forbids steps: {', '.join(result.bounded)}."
    return text


def heading(trace: Trace) -> str:
    """The heading of a trace."""
    if trace.witness:
        return f"The way to {trace.broken}, in {states(trace.length)}"
    if trace.broken == DEADLOCK:
        return f"The way to a deadlock, in {states(trace.length)}"
    return f"How {trace.broken} breaks, in {states(trace.length)}"


def has_lanes(trace: Trace) -> bool:
    """Whether its steps have actors, so that a sequence diagram says more than the text."""
    return any(step.lanes.actor for step in trace.steps)


def made_by(result: Result) -> str:
    """The versions of the software that found the result."""
    return ", ".join(f"{name} {version}" for name, version in versions(result.engine).items())


# Checks without a result.


HEADLINE: Final = "the check has no result"


class Unfinished(NamedTuple):
    """A check without a result."""

    system: str
    message: str
    """The error that ended it, on a line or two."""
    values: Mapping[str, Any]
    """The constants and switches of the system, by name."""
    trace: Trace | None = None
    """The way to the state in which it ended, if there is one."""

    @property
    def heading(self) -> str:
        """The heading of the trace."""
        length = 0 if self.trace is None else self.trace.length
        return f"The way there, in {length:,} state{'' if length == 1 else 's'}"

    @property
    def settings(self) -> list[tuple[str, str]]:
        """Its constants and switches, as text."""
        return [(name, show(value)) for name, value in self.values.items()]
