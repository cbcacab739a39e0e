"""The brief form of a trace: the steps that a person has to follow, in the order in which they are followed best.

Of the shortest paths to the last state of a trace, it has one in which the actor changes least: by its own steps in
another order (`reordering`), or by others if the actor changes less often there (`shortest_paths`). They are done on
the specification once more, so it is a run of it. Numbers are those of this run. A broker acts with all that is its
own: its controller, its threads.

One line stands in place of several steps of one actor

- on which nothing depends: neither the cells at which the property looked in the end, nor what these depend on
  (`dependence`, which also says how exact that is);
- or of which no view says anything new. Where a specification has no views: which meet no step of another actor, by
  the cells that they read and change.

What a step changed stands there where no view says it. The last step is always there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from spec.checking.arguments import SpecificationOrClass
from spec.checking.model import DEADLOCK
from spec.checking.traces.dependence import accesses, communicating, needed
from spec.checking.traces.lanes import owner
from spec.checking.traces.lines import Line, Report
from spec.checking.traces.reordering import changes_of_actor, fewest_changes_of_actor
from spec.checking.traces.replay import Replay
from spec.checking.traces.shortest_paths import fewest_changes_of_shortest
from spec.checking.traces.trace import Trace, TraceStep, numbered, remarks, value_lines, variable_lines
from spec.language.words import Step

__all__ = ["Brief", "brief"]

SHORT: Final = 80
"""Letters of a change that is told though a view could tell it."""
FEW: Final = 3
"""Changes of a step that are told so."""


@dataclass(frozen=True, repr=False)
class Brief(Report):
    """A trace with what of it is to be told."""

    trace: Trace
    """In the order in which it is told."""
    shown_alone: tuple[bool, ...]
    """Of each step whether it stands by itself."""
    irrelevant: tuple[bool, ...]
    """Of each step whether nothing depends on it."""
    changes_of_actor: tuple[int, int]
    """How often the actor changes here, and in the trace as it was found."""
    has_views: bool
    same_steps: bool = True
    """Whether it is told in steps of the trace as it was found, and not in others that lead to the same state."""

    def __repr__(self) -> str:
        return f"<Brief form of {self.trace!r}>"

    def lines(self) -> Iterator[Line]:
        """The property, the steps that stand by themselves and those that are folded, and how it breaks."""
        yield from (*self.trace.head(), *self._order(), *self._steps(), *self._why())

    def _order(self) -> Iterator[Line]:
        """That it is another order, if it is."""
        here, found = self.changes_of_actor
        if here != found:
            way = "another order than" if self.same_steps else "other steps to the same state, and as few, than those"
            yield Line("  ", f"Told in {way} in JSON and files: with {_changes(here)} of actor, not {found}.")
            yield Line()

    def _steps(self) -> Iterator[Line]:
        rows = list(self._rows())
        width = max([1, *(len(label) for label, _ in rows)])
        yield numbered(1, width, "initially")
        yield from remarks(width, self.trace.initial_views, "" if self.trace.steps else self.trace.ending)
        if not self.trace.initial_views:
            yield from value_lines(width, variable_lines(self.trace.initial, self.trace.spelling))
        for label, steps in rows:
            if len(steps) == 1 and self.shown_alone[int(label) - 2]:
                yield from self._step(width, int(label), steps[0])
            else:
                needless = self.irrelevant[int(label.partition("-")[0]) - 2]
                yield numbered(label, width, _folded(steps, needless))

    def _rows(self) -> Iterator[tuple[str, Sequence[TraceStep]]]:
        """What stands on a line, with its number or numbers."""
        numbered = enumerate(zip(self.trace.steps, self.shown_alone, self.irrelevant, strict=True), start=2)

        def row(each: tuple[int, tuple[TraceStep, bool, bool]]) -> tuple[object, ...]:
            number, (step, told, needless) = each
            return (number,) if told else (owner(step.lanes.actor), needless)

        for _, members in groupby(numbered, key=row):
            several = list(members)
            first, last = several[0][0], several[-1][0]
            yield str(first) if first == last else f"{first}-{last}", [step for _, (step, _, _) in several]

    def _step(self, width: int, number: int, step: TraceStep) -> Iterator[Line]:
        yield numbered(number, width, step.line)
        yield from remarks(width, step.views, self.trace.ending if number == self.trace.length else "")
        if step.views:
            return
        lines = step.lines
        if self.has_views and (len(lines) > FEW or any(len(line) > SHORT for line in lines)):
            lines = [f"changes {', '.join(step.changes)}"]
        yield from value_lines(width, lines or ["nothing changes"])

    def _why(self) -> Iterator[Line]:
        """With which parameters the property breaks; and at which values it looked, where no view speaks of them."""
        deadlock = self.trace.broken == DEADLOCK
        if not self.trace.broken or (self.has_views and not self.trace.failing and not deadlock):
            return
        yield from replace(self.trace, looked_at={}).why() if self.has_views else self.trace.why()


def brief(specification: SpecificationOrClass, trace: Trace) -> Brief:
    """The brief form of a trace of a specification.

    Raises:
        UsageError: it is no trace of it.
        EvaluationFailed: an action or a property raised.
    """
    replay = _reordered(_done(specification, trace, [each.step for each in trace.steps]), trace)
    model, run = replay.model, replay.run
    steps = run.steps
    actors = _actors(steps)
    used = accesses(model, (replay.reached[0], replay.choices))
    sought = {name.removeprefix("before, ") for name in trace.looked_at}
    wanted = needed(used, sought or {cell.name for cell in model.layout.cells})
    if model.views:
        apart = [bool(each.views) for each in steps]
    else:
        apart = communicating(used, actors) if len(set(actors)) > 1 else [True] * len(steps)
    return Brief(
        trace=replace(trace, steps=steps, states=run.states),
        shown_alone=tuple(_shown_alone(actors, wanted, [*apart[:-1], True])),
        irrelevant=tuple(not each for each in wanted),
        changes_of_actor=(changes_of_actor(actors), changes_of_actor(_actors(trace.steps))),
        has_views=bool(model.views),
        same_steps=Counter(str(each.step) for each in steps) == Counter(str(each.step) for each in trace.steps),
    )


def _actors(steps: Iterable[TraceStep]) -> list[str]:
    return [owner(each.lanes.actor) for each in steps]


def _done(specification: SpecificationOrClass, trace: Trace, steps: Iterable[Step]) -> Replay:
    replay = Replay(specification, trace.initial, judging=[trace.broken])
    for each in steps:
        replay.do(each)
    return replay


def _reordered(replay: Replay, trace: Trace) -> Replay:
    """The run with its steps in another order, or with others, if the actor changes less often then.

    It stays as it was where what it shows would be decided before its end.
    """
    model, path = replay.model, (replay.reached[0], replay.choices)
    of_states = {each.name for each in model.properties if not each.over_steps} | {""}
    last_stays = bool(replay.outside) or trace.broken not in of_states
    best = replay
    for found in (
        fewest_changes_of_actor(model, path, last_stays=last_stays),
        fewest_changes_of_shortest(model, path, last_stays=last_stays),
    ):
        if found is None:
            continue
        steps = [model.actions[action].step(instance) for action, instance in found[1]]
        other = _done(model.specification, trace, steps)
        assert other.reached[-1] == replay.reached[-1], "it leads to the same state"
        decided = [each.broken.get(trace.broken) or each.witnessed.get(trace.broken) for each in (replay, other)]
        fewer = changes_of_actor(_actors(other.run.steps)) < changes_of_actor(_actors(best.run.steps))
        best = other if fewer and decided[0] == decided[1] else best
    return best


def _shown_alone(actors: Sequence[str], wanted: Sequence[bool], apart: Sequence[bool]) -> Iterator[bool]:
    """Whether each step stands by itself: if it is to, or would be folded alone."""
    rows = zip(actors, wanted, (one and other for one, other in zip(wanted, apart, strict=True)), strict=True)
    for (_, is_wanted, stands_apart), members in groupby(rows):
        several = len(list(members))
        yield from [is_wanted and (stands_apart or several == 1)] * several


def _folded(steps: Sequence[TraceStep], needless: bool) -> str:
    """Several steps of one actor on a line: how many, and of which actions."""
    actor = owner(steps[0].lanes.actor)
    names = [(name, len(list(each))) for name, each in groupby(step.step.action for step in steps)]
    actions = ", ".join(name if times == 1 else f"{name} ({times} times)" for name, times in names)
    count = f"{len(steps)} step{'' if len(steps) == 1 else 's'}"
    return f"{f'{actor}, ' if actor else ''}{count}{' on which nothing depends' if needless else ''}: {actions}"


def _changes(number: int) -> str:
    return f"{number} change{'' if number == 1 else 's'}"
