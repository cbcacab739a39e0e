"""A transcript: a story for people, step by step, whose steps and claims a specification confirms.

Text at the left edge is prose. The specification must confirm each indented line:

    system replication truncation=kip-101 brokers=2     the specification and its constants; this line comes first
    system fetching of 0.10.2 brokers=2                 the same, beginning with the constants of a release
    become_follower(broker=1, epoch=2)                  a step to do, written as a trace prints it
    become_follower(broker=1, epoch=2)   it truncates its log     the same, with the step's own sentences
    refused: follower_fetch(follower=0, leader=1)       a step of the specification that is not enabled here
    log[1]: [m0@0] 1/1                                  the value of a place, as a trace prints it
    log: [m0@0] 1/1 | [] 0/0                            the values of all keys of a mapping
    breaks weak_isr, strong_isr                         properties that this step is the first to violate
    holds committed_once                                properties that have held everywhere so far

A transcript must name every property that a step breaks before its next step. So a step without a `breaks` line
breaks nothing. Bounds forbid nothing here, but values must lie in their domains [spec.checking.traces.replay].
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from spec.atlas.loading import specification, system_named, system_to_follow
from spec.checking import EvaluationFailed, NotEnabled, Replay
from spec.checking.model import Model
from spec.checking.traces.trace import Line, TraceStep, step_lines
from spec.checking.values.step_patterns import parameters_in
from spec.checking.values.text import show
from spec.language import AssumptionViolated, SpecificationError, Step, UsageError
from spec.language.allowed_values import LISTED
from spec.language.domains import Domain

_SYSTEM = re.compile(r"system (?P<name>\S+)(?: of (?P<release>\S+))?(?P<settings>(?: +\S+=\S+)*)")
_STEP = re.compile(r"(?P<step>[\w.]+\(.*?\))(?: {3}(?P<said>.+))?")
_REFUSED = re.compile(r"refused: (?P<step>[\w.]+\(.*\))")
_CLAIM = re.compile(r"(?P<word>breaks|holds) (?P<names>[\w.]+(?:, [\w.]+)*)")
_PLACE = re.compile(r"(?P<place>\w+(?:\.\w+)*(?:\[[^]]*\])?(?:\.\w+)*): (?P<value>.+)")


class TranscriptError(Exception):
    """The text is not a transcript. The message begins with the name and the line."""

    def __init__(self, message: str, line: int | None = None):
        super().__init__(message)
        self.line = line
        """The wrong line, if it is not the last one read."""


class TranscriptContradicted(TranscriptError):
    """The specification contradicts the transcript."""


class TranscriptLine(NamedTuple):
    """A line of a transcript that agrees with the specification."""

    text: str
    """The line, unchanged."""
    replay: Replay | None
    """The run so far; None before the line that names the system."""
    step: TraceStep | None = None
    """The step of the line, if it has one."""
    number: int = 1
    """The number of states after it, with the initial one."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines()))

    def lines(self) -> Iterator[Line]:
        """Prose unchanged; a step with its changes; a claim after `!` if a property breaks, else after `=`."""
        words = self.text.strip()
        if self.step is not None:
            yield from step_lines(self.number, 2, self.step)
        elif self.text == words:
            yield Line(words=words)
        elif words.startswith("system "):
            yield Line(self.text.removesuffix(words), words, "value")
        elif words.startswith("breaks "):
            yield Line("      ! ", words, "breaks")
        else:
            yield Line("      = ", words, "value")


def lines_of(text: str, name: str, own: str | None = None) -> Iterator[TranscriptLine]:
    """Replay a transcript, line by line, on the user's own specification, if any; else only on a system of kafkaspec,
    since a transcript must not run code. Messages of errors have its name.

    TranscriptError if the text is not a transcript, TranscriptContradicted if the specification contradicts it.
    """
    story, number = _Story(own), 0
    try:
        for number, line in enumerate(text.splitlines(), start=1):
            step = story.read(number, line.rstrip())
            yield TranscriptLine(line.rstrip(), story.replay, step, story.replay.number if story.replay else 1)
        story.end()
    except (TranscriptError, UsageError, AssumptionViolated, SpecificationError, EvaluationFailed) as wrong:
        kind = TranscriptContradicted if isinstance(wrong, TranscriptContradicted | NotEnabled) else TranscriptError
        at = getattr(wrong, "line", None) or number
        raise kind(f"{name}:{at}: {wrong}", at) from None


def conclusion(lines: Sequence[TranscriptLine]) -> str:
    """The result of a whole transcript, from all its lines, in a sentence or two."""
    replay = lines[-1].replay
    assert replay is not None
    done = sum(line.step is not None for line in lines)
    breaks = [f"{name} at step {first}" for name, first in replay.broken.items()]
    broken = f"It breaks {', '.join(breaks)}." if breaks else "It breaks no property."
    return f"The specification does all {done} steps and confirms every line. {broken}"


def system_of(text: str) -> str:
    """The system that a transcript names, by its name on the command line; TranscriptError if the transcript names no
    system.
    """
    first = next((line.strip() for line in text.splitlines() if line != line.strip() != ""), "")
    return _system_in(first)["name"]


def run(path: Path, own: str | None = None) -> Replay:
    """Replay the transcript in a file. `own` and errors are as in `lines_of`."""
    replay = None
    for line in lines_of(path.read_text(encoding="utf-8"), path.name, own):
        replay = line.replay
    assert replay is not None
    return replay


class _Story:
    """A transcript as far as it has been read and replayed."""

    def __init__(self, own: str | None) -> None:
        self.own = own
        self.replay: Replay | None = None
        self.last = 0
        """The number of the last step's line."""
        self.unsaid: set[str] = set()
        """The properties that the last step broke, without those already named."""
        self.claimed = False

    def read(self, number: int, line: str) -> TraceStep | None:
        """Confirm a line by the specification, and return its step, if it has one."""
        text = line.strip()
        if line == text:
            if _STEP.fullmatch(text) or _REFUSED.fullmatch(text):
                raise TranscriptError(f"it is not indented: {text}")
        elif self.replay is None:
            self.replay, self.last = _begun(text, self.own), number
            self.unsaid = set(self.replay.broken)
        elif found := _STEP.fullmatch(text):
            return self.do(self.replay, number, found["step"], found["said"])
        elif found := _REFUSED.fullmatch(text):
            _refuse(self.replay, found["step"])
        elif found := _CLAIM.fullmatch(text):
            self.claim(self.replay, found["word"], found["names"].split(", "))
        elif found := _PLACE.fullmatch(text):
            now = printed(self.replay.value(found["place"]))
            if now != found["value"]:
                raise TranscriptContradicted(f"{found['place']} is {now}, not {found['value']}")
        else:
            raise TranscriptError(f"neither a step nor a claim: {text}")
        return None

    def do(self, replay: Replay, number: int, text: str, said: str | None) -> TraceStep:
        """Do a step."""
        self.require_all_claimed(replay)
        taken = replay.do(written(text, replay.model))
        self.last, self.unsaid = number, {name for name, first in replay.broken.items() if first == replay.number}
        if said not in (None, "; ".join(taken.sentences)):
            raise TranscriptContradicted(f"the step says {'; '.join(taken.sentences) or 'nothing'}, not {said}")
        return taken

    def claim(self, replay: Replay, word: str, names: list[str]) -> None:
        """Confirm which properties this step breaks, or which have held so far."""
        self.claimed = True
        known = [each.name for each in replay.model.properties if each.kind != "sometimes"]
        for name in names:
            if name not in known:
                raise TranscriptError(f"there is no property {name}; there are {', '.join(known)}")
            first = replay.broken.get(name)
            if word == "holds" and first is not None:
                raise TranscriptContradicted(f"{name} does not hold, step {first} broke it")
            if word == "breaks" and first != replay.number:
                raise TranscriptContradicted(
                    f"{name} holds" if first is None else f"{name} broke before, at step {first}"
                )
        if word == "breaks":
            self.unsaid -= set(names)

    def require_all_claimed(self, replay: Replay) -> None:
        """Refuse to go on before the transcript names every property that the last step broke."""
        if self.unsaid:
            traces = [replay.trace(name) for name in sorted(self.unsaid)]
            why = "; ".join(f"{each.broken}: {each.failing or each.sentence}" for each in traces)
            raise TranscriptContradicted(f"no line below names a broken property: {why}", self.last)

    def end(self) -> None:
        """Finish after the last line."""
        if self.replay is None or self.replay.number == 1:
            raise TranscriptError("it has no step")
        self.require_all_claimed(self.replay)
        if not self.claimed:
            raise TranscriptError("it has no line `breaks` or `holds`")


def _system_in(text: str) -> re.Match[str]:
    system = _SYSTEM.fullmatch(text)
    if system is None:
        raise TranscriptError(f"its first indented line must be `system NAME CONSTANT=VALUE ...`, not: {text}")
    return system


def _begun(text: str, own: str | None) -> Replay:
    system = _system_in(text)
    try:
        name = system_to_follow(system["name"], own)
    except UsageError as refused:
        raise TranscriptError(str(refused)) from None
    return Replay(specification(system_named(name), system["release"], system["settings"].split()))


def _refuse(replay: Replay, text: str) -> None:
    try:
        replay.do(written(text, replay.model))
    except NotEnabled:
        return
    raise TranscriptContradicted(f"{text} is enabled, not refused")


def printed(value: object) -> str:
    """A value as traces print it; of a mapping, the values of its keys."""
    return " | ".join(map(show, value.values())) if isinstance(value, Mapping) else show(value)


def written(text: str, model: Model) -> Step:
    """The step of a model that a text names. Values are written as in traces, or as in Python. TranscriptError if the
    text has not the form of a step.
    """
    call = parameters_in(text)
    if call is None or not all(call[1].values()):
        raise TranscriptError(f"not a step: {text}; write action(parameter=value, ...)")
    action, parameters = call
    domains = next((each.domains for each in model.actions if each.name == action), {})
    return Step(action, {name: _value(shown, domains.get(name)) for name, shown in parameters.items()})


def _value(shown: str, domain: Domain[Any] | None) -> object:
    """The parameter value that prints like this; if there is none, the text as a Python literal, or the text."""
    values = [] if domain is None or domain.size > LISTED else [*domain]
    for reads in (lambda value: (show(value), show(value, inside=True), repr(value)), lambda value: (str(value),)):
        for value in values:
            if shown in reads(value):
                return value
    with suppress(SyntaxError, ValueError):
        return ast.literal_eval(shown)
    return shown
