"""Dependences between the steps of a path, from the cells that each of them read and changed.

A cell is a plain variable, or one key of a mapping. So this errs on one side only: two steps that use different
fields of one record count as dependent, and so does a step that read a cell without using it. But a step on which
nothing depends by its cells really has no influence on the goal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from spec.checking.model import Model, Path
from spec.language.cells import OutOfCell
from spec.language.words import without_bounds


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
    """For each step whether the final values of some cells depend on it: directly, or through later steps.

    The last step always counts.

    Args:
        steps: the cells that they read and change.
        sought: the names of the cells.
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
