"""A trace: an initial state, the steps from it, their changes, and the author's sentences about them.

`str` of it is for a person; `to_json` follows the JSON contract. What a person reads is a report: lines, each with
its kind, such as a step, a verdict or a value. Files and pipes get the text of the lines. A terminal has a style for
each kind, and wraps the words of a line (`spec.cli.streams`). A notebook shows the report in full, as HTML if there
is a form in HTML (`spec.checking.markup`).

Who takes a step, and who is reached by it, are lanes of a sequence diagram.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from itertools import permutations
from typing import Any, Final, Literal, NamedTuple

from spec.checking.model import DEADLOCK
from spec.checking.values.text import PLAIN, Spelling, change_text, jsonable, jsonable_change, jsonable_state, show
from spec.language.domains import LEFT_OUT
from spec.language.errors import escaped
from spec.language.rules import Lanes
from spec.language.words import Step

# A report.


@singledispatch
def html_of(shown: object) -> str:
    """A result as HTML (`spec.checking.markup`); empty where a notebook shows its text."""
    return ""


class NotebookDisplay:
    """A result to be read: `str` is all of it, `repr` its name in one line."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The hook that Jupyter and IPython call in preference to `repr`."""
        html = html_of(self)
        return {"text/plain": str(self), **({"text/html": html} if html else {})}


Kind = Literal["plain", "good", "bad", "unsure", "breaks", "view", "step", "value"]
"""A verdict on properties is `good`, `bad` or `unsure`. A line of a trace says what `breaks` there, or is a sentence
of a `view`, a `step` or a `value`."""


class Line(NamedTuple):
    """A line. Its text escapes characters that a terminal would obey."""

    before: str = ""
    """The text before the words: an indent, a number, a label. Wrapped words align below the first."""
    words: str = ""
    kind: Kind = "plain"

    def __str__(self) -> str:
        return escaped(self.before + self.words)


class Report(NotebookDisplay, ABC):
    """A result that a person reads line by line."""

    @abstractmethod
    def lines(self) -> Iterator[Line]:
        """All lines."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines()))


# A trace.


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


# Lanes.


SYSTEM: Final = "system"
"""The lane of steps without a stated actor."""
MOST_ORDERED: Final = 6
"""Up to so many lanes without a number, every order is tried; more are sorted by name."""


def from_left_to_right(lanes: Iterable[str], arrows: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """Each lane once: lanes with a number after their name in its order, all others before them.

    The others are ordered so that arrows are short: lanes that talk with the brokers come next to them. A lane that
    belongs to one with a number comes after it.

    >>> from_left_to_right(["broker 10", "controller of broker 2", "ZooKeeper", "broker 2", "ZooKeeper"])
    ('ZooKeeper', 'broker 2', 'controller of broker 2', 'broker 10')
    >>> arrows = [("operator", "ZooKeeper"), ("broker 1", "ZooKeeper")]
    >>> from_left_to_right(["ZooKeeper", "operator", "broker 1"], arrows)
    ('operator', 'ZooKeeper', 'broker 1')
    """
    ordered = sorted(dict.fromkeys(lanes), key=_turn)
    numbered = [lane for lane in ordered if _turn(lane)[0]]
    others = [lane for lane in ordered if not _turn(lane)[0]]
    drawn = Counter((one, other) for one, other in arrows if one != other)

    def length(order: Sequence[str]) -> int:
        """The length of all arrows, in lanes."""
        at = {lane: place for place, lane in enumerate((*order, *numbered))}
        return sum(times * abs(at[one] - at[other]) for (one, other), times in drawn.items())

    orders = permutations(others) if drawn and len(others) <= MOST_ORDERED else [tuple(others)]
    return (*min(orders, key=length), *numbered)


def owner(lane: str) -> str:
    """The owner of a lane: for a lane that belongs to one with a number, such as a thread's, that one; else itself.

    >>> owner("controller of broker 2"), owner("broker 2"), owner("connection of the controller")
    ('broker 2', 'broker 2', 'connection of the controller')
    """
    _, of, name = lane.rpartition(" of ")
    return name if of and _turn(name)[0] else lane


def _turn(lane: str) -> tuple[str, int, str]:
    part, of, whole = lane.rpartition(" of ")
    name, _, number = whole.rpartition(" ")
    return (name, int(number), part) if number.isdecimal() else ("", 0, "" if name or of else lane)
