"""A trace: an initial state, the steps from it, their changes, and the author's sentences about them.

`str` of it is for a person; `to_json` follows the JSON contract.
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
    """A step, its narration, and its changes: the place, the value before, the value after."""

    step: Step
    sentences: tuple[str, ...]
    changes: Mapping[str, tuple[Any, Any]]
    views: tuple[str, ...] = ()
    """New sentences of the views: those about its successor that did not hold of the state before; none if the
    successor lies outside the domains."""
    lanes: Lanes = field(default_factory=Lanes)
    """The actor and the receiver."""
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
        """The call, and the action's narration."""
        return self._with_said(self.call)

    @property
    def line(self) -> str:
        """The text, with actor and receiver unless the action's name or a parameter shows them."""
        actor, receiver = self.lanes.unnamed
        return self._with_said(f"{f'{actor}: ' * bool(actor)}{self.call}{f' -> {receiver}' * bool(receiver)}")

    @property
    def lines(self) -> list[str]:
        """Its changes, a place per line."""
        return [f"{place}: {change_text(*values, self.spelling)}" for place, values in self.changes.items()]

    def _with_said(self, words: str) -> str:
        return f"{words}   {'; '.join(self.sentences)}" if self.sentences else words

    def to_json(self) -> dict[str, Any]:
        """A step of the JSON contract; `views` is included if they say something."""
        members = {
            "action": self.step.action,
            "parameters": jsonable(self.step.parameters, self.spelling),
            "changes": {place: jsonable_change(*values, self.spelling) for place, values in self.changes.items()},
        }
        return {**members, "views": list(self.views)} if self.views else members


@dataclass(frozen=True, repr=False)
class Trace(Report):
    """How a property is broken or witnessed; or, without a property, the course of a run."""

    broken: str
    """The name of the property; empty for a run."""
    sentence: str
    """The property's statement."""
    failing: str
    """The parameters for which it fails, and the error if a domain is left; may be empty. Without a property: the
    evaluation that fails at the end, if one does."""
    looked_at: Mapping[str, Any]
    """The cells that the property looked at in the last state, with their values."""
    initial: Mapping[str, Any]
    """The initial state, variable by variable."""
    initial_views: tuple[str, ...]
    """The views' sentences about it."""
    steps: tuple[TraceStep, ...]
    witness: bool = False
    """Whether the property is a `sometimes` that was witnessed."""
    states: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    """Each state, variable by variable; the last has a value outside its domain, if that is the violation."""
    spelling: Spelling = field(default=PLAIN, compare=False)
    """How its values are written."""

    @property
    def length(self) -> int:
        """The number of its states, including the initial one."""
        return len(self.steps) + 1

    def to_json(self) -> dict[str, Any]:
        """The counterexample of the JSON contract; `property` is included if one is broken, `initial_views` if the
        views say something of the initial state.
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
        """The initial state and the steps, each with its narration, new sentences of views, and only its changes."""
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
        """The property, above an empty line; nothing for a run."""
        if self.broken:
            yield Line(words=f"{self.broken}: {self.sentence}" if self.sentence else self.broken)
            yield Line()

    @property
    def ending(self) -> str:
        """The remark on the last step: what breaks, is witnessed or fails; empty for a deadlock or a run."""
        if not self.broken:
            return f"{self.failing} fails here" if self.failing else ""
        if self.broken == DEADLOCK:
            return ""
        return f"{self.broken} is witnessed here" if self.witness else f"{self.broken} breaks here"

    def why(self) -> Iterator[Line]:
        """Why the property is broken, below an empty line."""
        if self.witness:
            return
        yield Line()
        where = f" for {self.failing}" if self.failing else ""
        if self.broken == DEADLOCK:
            ends = "if it may end here, add an action with a guard and no effect"
            yield Line("  ", f"here no action is enabled; {ends}")
        elif self.looked_at:
            yield Line("  ", f"{self.broken} does not hold{where}; it looked at", "bad")
            for place, value in self.looked_at.items():
                yield Line("    ", f"{place}: {show(value, self.spelling)}", "value")
        else:
            yield Line("  ", f"{self.broken} does not hold{where}", "bad")


def numbered(label: object, width: int, words: str) -> Line:
    """A line with the number of a state, or those of several, in a column of this width."""
    return Line(f"  {label!s:>{width}}  ", words, "step")


def remarks(width: int, views: Iterable[str], mark: str) -> Iterator[Line]:
    """The highlights: what the views say from this state on, and that the property breaks here."""
    for sentence in views:
        yield Line(f"  {'':{width}}  * ", sentence, "view")
    if mark:
        yield Line(f"  {'':{width}}  ! ", mark, "breaks")


def value_lines(width: int, lines: Iterable[str]) -> Iterator[Line]:
    """The values of a state, or the changes of a step, below its line."""
    return (Line(f"  {'':{width}}    ", line, "value") for line in lines)


def variable_lines(variables: Mapping[str, Any], spelling: Spelling = PLAIN) -> Iterator[str]:
    """The initial state, line by line; empty keys of one variable share a line."""
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
    """A step in a printed trace: its number and name, new sentences of views, and its changes."""
    yield numbered(number, width, step.line)
    yield from remarks(width, step.views, mark)
    yield from value_lines(width, step.lines or ["nothing changes"])
