"""The brief form of a trace: the steps that a reader must follow, in the order that is easiest to follow.

Of the shortest paths to the last state of a trace, it shows one with the fewest changes of actor (`reordering`). The
steps are done once more on the specification, so the result is a run of it, and numbers are those of this run. A
broker and everything it owns, such as its controller and its threads, are one actor.

One line replaces several steps of one actor

- if nothing depends on them: neither the cells that the property finally looked at, nor any that these depend on;
- or if no view says anything new. In a specification without views: if they do not interact, through the cells that
  they read and change, with steps of another actor.

Where no view describes a step, its changes are listed. The last step is always shown.

A cell is a plain variable, or one key of a mapping. So dependence errs on one side only: two steps that use different
fields of one record count as dependent, and so does a step that read a cell without using it. But a step on which
nothing depends by its cells really has no influence on the goal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, NamedTuple

from spec.checking.arguments import SpecificationOrClass
from spec.checking.model import DEADLOCK, Model, Path
from spec.checking.traces.reordering import changes_of_actor, fewest_changes_of_actor, fewest_changes_of_shortest
from spec.checking.traces.replay import Replay
from spec.checking.traces.trace import (
    Line,
    Report,
    Trace,
    TraceStep,
    numbered,
    owner,
    remarks,
    value_lines,
    variable_lines,
)
from spec.language.cells import OutOfCell
from spec.language.words import Step, without_bounds

SHORT: Final = 80
"""The longest change, in letters, that is listed for a step without views in a specification with views."""
FEW: Final = 3
"""The most changes that are listed for such a step."""


@dataclass(frozen=True, repr=False)
class Brief(Report):
    """A trace, and which of its steps are shown."""

    trace: Trace
    """In the order shown."""
    shown_alone: tuple[bool, ...]
    """For each step, whether it has its own line."""
    irrelevant: tuple[bool, ...]
    """For each step, whether nothing depends on it."""
    changes_of_actor: tuple[int, int]
    """How often the actor changes here, and in the original trace."""
    has_views: bool
    same_steps: bool = True
    """Whether it consists of the steps of the original trace, and not of others that lead to the same state."""

    def __repr__(self) -> str:
        return f"<Brief form of {self.trace!r}>"

    def lines(self) -> Iterator[Line]:
        """The property, the single and the folded steps, and how the property breaks."""
        yield from (*self.trace.head(), *self._order(), *self._steps(), *self._why())

    def _order(self) -> Iterator[Line]:
        """A remark, if the order differs from the original trace."""
        here, found = self.changes_of_actor
        if here != found:
            way = "in another order" if self.same_steps else "with other steps, as few and to the same state,"
            yield Line("  ", f"Shown {way} than in JSON and files: {_changes(here)} of actor, not {found}.")
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
        """The steps on each line, with their number or range of numbers."""
        numbered = enumerate(zip(self.trace.steps, self.shown_alone, self.irrelevant, strict=True), start=2)

        def row(each: tuple[int, tuple[TraceStep, bool, bool]]) -> tuple[object, ...]:
            number, (step, alone, needless) = each
            return (number,) if alone else (owner(step.lanes.actor), needless)

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
        """The parameters for which the property breaks; and the values it looked at, if no view describes them."""
        deadlock = self.trace.broken == DEADLOCK
        if not self.trace.broken or (self.has_views and not self.trace.failing and not deadlock):
            return
        yield from replace(self.trace, looked_at={}).why() if self.has_views else self.trace.why()


def brief(specification: SpecificationOrClass, trace: Trace) -> Brief:
    """The brief form of a trace of a specification. UsageError if it is no such trace, EvaluationFailed if an action
    or a property raised.
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
    """The run with its steps in another order, or with other steps, if that has fewer changes of actor.

    It is unchanged if the new run would decide its property before the end.
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
    """For each step whether it has its own line: if it is meant to, or would be folded alone."""
    rows = zip(actors, wanted, (one and other for one, other in zip(wanted, apart, strict=True)), strict=True)
    for (_, is_wanted, stands_apart), members in groupby(rows):
        several = len(list(members))
        yield from [is_wanted and (stands_apart or several == 1)] * several


def _folded(steps: Sequence[TraceStep], needless: bool) -> str:
    """Several steps of one actor in one line: how many, and of which actions."""
    actor = owner(steps[0].lanes.actor)
    names = [(name, len(list(each))) for name, each in groupby(step.step.action for step in steps)]
    actions = ", ".join(name if times == 1 else f"{name} ({times} times)" for name, times in names)
    count = f"{len(steps)} step{'' if len(steps) == 1 else 's'}"
    return f"{f'{actor}, ' if actor else ''}{count}{' on which nothing depends' if needless else ''}: {actions}"


def _changes(number: int) -> str:
    return f"{number} change{'' if number == 1 else 's'}"


# Dependences between steps.


class Access(NamedTuple):
    """The cells that a step read and changed, by name."""

    read: frozenset[str]
    """Including reads by guards."""
    changed: frozenset[str]


def accesses(model: Model, path: Path) -> list[Access]:
    """The cells that each step of a path reads and changes. As in a replay, bounds are ignored and read nothing."""
    state, found = path[0], list[Access]()
    names = [cell.name for cell in model.layout.cells]
    with without_bounds():
        for number, instance in path[1]:
            action, window = model.actions[number], model.window()
            s = window.load(state)
            window.writable(action.name)
            read = window.watch()
            try:
                action.instances[instance](s)
                after = window.changed()
                changed = {name for name, old, new in zip(names, state, after, strict=True) if old is not new}
                state = after
            except OutOfCell:
                changed = set(window.assigned())
            found.append(Access(frozenset(names[at] for at in read), frozenset(changed)))
    return found


def needed(steps: Sequence[Access], sought: Collection[str]) -> list[bool]:
    """For each step whether the final values of some cells depend on it: directly, or through later steps. The last
    step always counts.
    """
    wanted, found = set(sought), list[bool]()
    for at in reversed(range(len(steps))):
        read, changed = steps[at]
        found.append(at == len(steps) - 1 or not wanted.isdisjoint(changed))
        if found[-1]:
            wanted -= changed - read
            wanted |= read
    return found[::-1]


def communicating(steps: Sequence[Access], actors: Sequence[str]) -> list[bool]:
    """For each step whether it interacts with a step of another actor: through a cell that one of them changes, and
    the other reads or changes next (or read last). All other steps an actor could take if it were alone.
    """
    found = [False] * len(steps)
    changed_by: dict[str, int] = {}
    read_by: dict[str, list[int]] = {}
    for at, (read, changed) in enumerate(steps):
        for cell in read | changed:
            earlier: Iterable[int] = [changed_by[cell]] if cell in changed_by else []
            if cell in changed:
                earlier = [*earlier, *read_by.get(cell, [])]
            for other in earlier:
                if actors[other] != actors[at]:
                    found[other] = found[at] = True
        for cell in changed:
            changed_by[cell], read_by[cell] = at, []
        for cell in read:
            read_by.setdefault(cell, []).append(at)
    return found
