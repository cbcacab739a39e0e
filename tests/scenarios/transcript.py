"""A transcript: a story told step by step, that a person reads and a specification is held to.

What stands at the left edge is prose. What is indented is held to the specification, line by line:

    system replication truncation=kip-101 brokers=2     which one, under which constants; this comes first
    become_follower(broker=1, epoch=2)                  a step that is done, written as a trace prints it
    become_follower(broker=1, epoch=2)   it truncates its log     the same, with what the step says of itself
    refused: follower_fetch(follower=0, leader=1)       a step that there is, and that cannot be done here
    log[1]: [m0@0] 1/1                                  what is at a place now, as a trace prints it
    log: [m0@0] 1/1 | [] 0/0                            the same of all keys of a mapping
    breaks weak_isr, strong_isr                         what held until this step
    holds committed_once                                what has held everywhere so far

All that a step breaks must be named before the next one: whoever reads no `breaks` knows that there is none. No bound
forbids anything, but the values must lie in their domains [spec.checking.replay].
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from spec.checking import EvaluationFailed, NotEnabled, Replay
from spec.checking.values import show
from spec.language import AssumptionViolated, SpecificationError, Step, UsageError
from spec.loading import specification, system_named

_SYSTEM = re.compile(r"system (?P<name>\S+)(?P<settings>(?: +\S+=\S+)*)")
_STEP = re.compile(r"(?P<step>\w+\(.*?\))(?: {3}(?P<said>.+))?")
_REFUSED = re.compile(r"refused: (?P<step>\w+\(.*\))")
_CLAIM = re.compile(r"(?P<word>breaks|holds) (?P<names>\w+(?:, \w+)*)")
_PLACE = re.compile(r"(?P<place>\w+(?:\[[^]]*\])?(?:\.\w+)*): (?P<value>.+)")


class Wrong(AssertionError):
    """A transcript that is not what happens; at the front of the message stand file and line."""

    def __init__(self, message: str, line: int | None = None):
        super().__init__(message)
        self.line = line
        """Where, if not on the line that was read."""


def run(path: Path) -> Replay:
    """Do what a transcript says.

    Raises:
        Wrong: it is not so.
    """
    story, number = _Story(), 0
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            story.read(number, line.rstrip())
        return story.end()
    except (Wrong, UsageError, AssumptionViolated, SpecificationError, EvaluationFailed) as wrong:
        raise Wrong(f"{path.name}:{getattr(wrong, 'line', None) or number}: {wrong}") from None


class _Story:
    """What has been read, and done."""

    def __init__(self) -> None:
        self.replay: Replay | None = None
        self.last = 0
        """The line of the last step."""
        self.unsaid: set[str] = set()
        """What it broke, and is still to be said."""
        self.claimed = False

    def read(self, number: int, line: str) -> None:
        """Hold a line to the specification."""
        text = line.strip()
        if line == text:
            if _STEP.fullmatch(text) or _REFUSED.fullmatch(text):
                raise Wrong(f"it is not indented: {text}")
        elif self.replay is None:
            self.replay, self.last = _begun(text), number
            self.unsaid = set(self.replay.broken)
        elif found := _STEP.fullmatch(text):
            self.do(self.replay, number, found["step"], found["said"])
        elif found := _REFUSED.fullmatch(text):
            _refuse(self.replay, found["step"])
        elif found := _CLAIM.fullmatch(text):
            self.claim(self.replay, found["word"], found["names"].split(", "))
        elif found := _PLACE.fullmatch(text):
            now = printed(self.replay.value(found["place"]))
            if now != found["value"]:
                raise Wrong(f"{found['place']} is {now}, and not {found['value']}")
        else:
            raise Wrong(f"neither a step nor a claim: {text}")

    def do(self, replay: Replay, number: int, text: str, said: str | None) -> None:
        """Do a step."""
        self.all_is_said(replay)
        told = replay.do(written(text))
        self.last, self.unsaid = number, {name for name, first in replay.broken.items() if first == replay.number}
        if said not in (None, "; ".join(told.said)):
            raise Wrong(f"the step says {'; '.join(told.said) or 'nothing'}, and not {said}")

    def claim(self, replay: Replay, word: str, names: list[str]) -> None:
        """What broke just now, or nowhere so far."""
        self.claimed = True
        known = [each.name for each in replay.model.properties if each.kind != "sometimes"]
        for name in names:
            if name not in known:
                raise Wrong(f"there is no property {name}; there are {', '.join(known)}")
            first = replay.broken.get(name)
            if word == "holds" and first is not None:
                raise Wrong(f"{name} does not hold, step {first} broke it")
            if word == "breaks" and first != replay.number:
                raise Wrong(f"{name} holds" if first is None else f"{name} broke before, at step {first}")
        if word == "breaks":
            self.unsaid -= set(names)

    def all_is_said(self, replay: Replay) -> None:
        """Everything that the last step broke was named."""
        if self.unsaid:
            told = [replay.trace(name) for name in sorted(self.unsaid)]
            why = "; ".join(f"{each.broken}: {each.failing or each.sentence}" for each in told)
            raise Wrong(f"this breaks what is not named below: {why}", self.last)

    def end(self) -> Replay:
        """The last line was read."""
        if self.replay is None or self.replay.number == 1:
            raise Wrong("nothing is done")
        self.all_is_said(self.replay)
        if not self.claimed:
            raise Wrong("it does not say what breaks or holds")
        return self.replay


def _begun(text: str) -> Replay:
    system = _SYSTEM.fullmatch(text)
    if system is None:
        raise Wrong(f"it begins with `system NAME CONSTANT=VALUE ...`, and not with: {text}")
    return Replay(specification(system_named(system["name"]), settings=system["settings"].split()))


def _refuse(replay: Replay, text: str) -> None:
    try:
        replay.do(written(text))
    except NotEnabled:
        return
    raise Wrong(f"{text} is not refused")


def printed(value: object) -> str:
    """A value as traces print it; a mapping as the values of its keys."""
    return " | ".join(map(show, value.values())) if isinstance(value, Mapping) else show(value)


def written(text: str) -> Step:
    """The step that a text means.

    >>> written("become_follower(broker=1, epoch=2)")
    Step(action='become_follower', parameters={'broker': 1, 'epoch': 2})
    """
    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args:
            return Step(call.func.id, {each.arg: _value(each.value) for each in call.keywords if each.arg})
    except (SyntaxError, ValueError):
        pass
    raise Wrong(f"not a step: {text}; write action(parameter=value, ...)")


def _value(node: ast.expr) -> object:
    """A value as traces print it: a text has no quotes there."""
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)
