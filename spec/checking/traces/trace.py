"""A trace: an initial state, the steps from it, what each of them changed, and what its author says of that.

`str` of it is what a person reads, `to_json` what the JSON contract has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spec.checking.model import DEADLOCK
from spec.checking.traces.lines import Line, Report
from spec.checking.values.spelling import PLAIN, Spelling
from spec.checking.values.text import change_text, jsonable, jsonable_change, jsonable_state, show
from spec.language.domains import LEFT_OUT
from spec.language.rules import Lanes
from spec.language.words import Step

EMPTY: Final = ((), frozenset[Any]())
"""Collections without members."""


@dataclass(frozen=True)
class TraceStep:
    """A step, what the action said, and what it changed: the place, the value before, the value after."""

    step: Step
    sentences: tuple[str, ...]
    changes: Mapping[str, tuple[Any, Any]]
    views: tuple[str, ...] = ()
    """What the views say of its successor, and did not say of the state before; nothing where the successor lies
    outside the domains."""
    lanes: Lanes = field(default_factory=Lanes)
    """Who takes it, and to whom it is done."""
    spelling: Spelling = field(default=PLAIN, compare=False, repr=False)
    """How its values are written."""

    @property
    def call(self) -> str:
        """The action with its parameters."""
        parameters = ", ".join(
            f"{name}={show(value, self.spelling, inside=True)}" for name, value in self.step.parameters.items()
        )
        return f"{self.step.action}({parameters})"

    @property
    def text(self) -> str:
        """That, and what the action said."""
        return self._with_said(self.call)

    @property
    def line(self) -> str:
        """The same with who does it and to whom, where neither the action's name nor a parameter says it."""
        actor, receiver = self.lanes.unnamed
        return self._with_said(f"{f'{actor}: ' * bool(actor)}{self.call}{f' -> {receiver}' * bool(receiver)}")

    @property
    def lines(self) -> list[str]:
        """What it changed, a place to a line."""
        return [f"{place}: {change_text(*values, self.spelling)}" for place, values in self.changes.items()]

    def _with_said(self, words: str) -> str:
        return f"{words}   {'; '.join(self.sentences)}" if self.sentences else words

    def to_json(self) -> dict[str, Any]:
        """A step of the JSON contract; `views` is there if they say something."""
        told = {
            "action": self.step.action,
            "parameters": jsonable(self.step.parameters, self.spelling),
            "changes": {place: jsonable_change(*values, self.spelling) for place, values in self.changes.items()},
        }
        return {**told, "views": list(self.views)} if self.views else told


@dataclass(frozen=True, repr=False)
class Trace(Report):
    """How a property is broken or witnessed; or, without a property, what happens in a run."""

    broken: str
    """The name of the property; empty for a run."""
    sentence: str
    """What it states."""
    failing: str
    """With which parameters it fails, and what is wrong if it is a domain that is left; may be empty. Without a
    property: the evaluation that fails at the end, if one does."""
    looked_at: Mapping[str, Any]
    """The cells that the property looked at in the last state, with their values."""
    initial: Mapping[str, Any]
    """The initial state, variable by variable."""
    initial_views: tuple[str, ...]
    """What the views say of it."""
    steps: tuple[TraceStep, ...]
    witness: bool = False
    """Whether the property is a `sometimes` that was witnessed."""
    states: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    """Each state, variable by variable; the last with a value outside its domain, if it is that which breaks."""
    spelling: Spelling = field(default=PLAIN, compare=False)
    """How its values are written."""

    @property
    def length(self) -> int:
        """How many states it has, the initial one included."""
        return len(self.steps) + 1

    def to_json(self) -> dict[str, Any]:
        """The counterexample of the JSON contract; `property` is there if one is broken, `initial_views` if the views
        say something of the initial state.
        """
        views = {"initial_views": list(self.initial_views)} if self.initial_views else {}
        return {
            **({"property": self.broken} if self.broken else {}),
            "length": self.length,
            "initial": jsonable_state(self.initial, self.spelling),
            **views,
            "steps": [each.to_json() for each in self.steps],
        }

    def __repr__(self) -> str:
        return f"<Trace of {self.broken or 'a run'}, {self.length} states>"

    def lines(self) -> Iterator[Line]:
        """The initial state and the steps, each with what was said, what the views say now, and only what changed."""
        width, mark = len(str(self.length)), self.ending
        yield from self.head()
        yield numbered(1, width, "initially")
        yield from remarks(width, self.initial_views, "" if self.steps else mark)
        yield from value_lines(width, variable_lines(self.initial, self.spelling))
        for number, step in enumerate(self.steps, start=2):
            yield from step_lines(number, width, step, mark if number == self.length else "")
        if self.broken:
            yield from self.why()

    def head(self) -> Iterator[Line]:
        """The property, above an empty line; nothing of a run."""
        if self.broken:
            yield Line(words=f"{self.broken}: {self.sentence}" if self.sentence else self.broken)
            yield Line()

    @property
    def ending(self) -> str:
        """What is said of the last step: what breaks there, is witnessed or fails; empty of a deadlock or a run."""
        if not self.broken:
            return f"{self.failing} fails here" if self.failing else ""
        if self.broken == DEADLOCK:
            return ""
        return f"{self.broken} is witnessed here" if self.witness else f"{self.broken} breaks here"

    def why(self) -> Iterator[Line]:
        """The property that is broken, below an empty line."""
        if self.witness:
            return
        yield Line()
        where = f" for {self.failing}" if self.failing else ""
        if self.broken == DEADLOCK:
            ends = "if it may end so, an action says it that has a guard and no effect"
            yield Line("  ", f"here no action is enabled; {ends}")
        elif self.looked_at:
            yield Line("  ", f"{self.broken} does not hold{where}, which looked at", "bad")
            for place, value in self.looked_at.items():
                yield Line("    ", f"{place}: {show(value, self.spelling)}", "value")
        else:
            yield Line("  ", f"{self.broken} does not hold{where}", "bad")


def numbered(label: object, width: int, words: str) -> Line:
    """A line with the number of a state, or those of several, in a column of this width."""
    return Line(f"  {label!s:>{width}}  ", words, "step")


def remarks(width: int, views: Iterable[str], mark: str) -> Iterator[Line]:
    """The lines that a reader looks for: what the views say from this state on, and that the property breaks here."""
    for sentence in views:
        yield Line(f"  {'':{width}}  * ", sentence, "view")
    if mark:
        yield Line(f"  {'':{width}}  ! ", mark, "breaks")


def value_lines(width: int, lines: Iterable[str]) -> Iterator[Line]:
    """What a state has, or what a step changed, below its line."""
    return (Line(f"  {'':{width}}    ", line, "value") for line in lines)


def variable_lines(variables: Mapping[str, Any], spelling: Spelling = PLAIN) -> Iterator[str]:
    """The initial state, line by line; keys of one variable that hold nothing stand in one line."""
    for name, value in variables.items():
        if not isinstance(value, Mapping) or not value:
            if value is not LEFT_OUT:
                yield f"{name}: {'{}' if isinstance(value, Mapping) else show(value, spelling)}"
            continue
        for key, each in value.items():
            if each not in EMPTY:
                yield f"{name}[{spelling.key(name, key)}]: {show(each, spelling)}"
        for empty in EMPTY:
            keys = [spelling.key(name, key) for key, each in value.items() if each == empty]
            if keys:
                yield f"{name}[{'; '.join(keys)}]: {show(empty)}"


def step_lines(number: int, width: int, step: TraceStep, mark: str = "") -> Iterator[Line]:
    """A step as a trace prints it: its number and name, what the views say, and what it changed."""
    yield numbered(number, width, step.line)
    yield from remarks(width, step.views, mark)
    yield from value_lines(width, step.lines or ["nothing changes"])
