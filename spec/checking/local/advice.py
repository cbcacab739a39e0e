"""Advice for a search in which learning does not pay: which action or property takes too many paths, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from spec.checking.model import Model
from spec.language.domains.collections import SubsetDomain

MANY: Final = 32
"""A place with more values than this is the reason by itself."""


def advice(model: Model, rule: str, paths: int, states: int, reads: Iterable[int]) -> str:
    """A sentence: this action or property took so many paths in so many states, because it reads these slots.

    Args:
        model: the model.
        rule: the name of the action or property.
        paths: the number of its paths, with all its instances.
        states: the states in which they were taken.
        reads: the slots that it read in some state, of the state or of the one before.
    """
    return f"{rule} took {paths:,} paths in {states:,} states: it reads {_what(model, reads)}"


def _what(model: Model, reads: Iterable[int]) -> str:
    """The variable that is read most, and how it might be read less."""
    layout = model.layout
    variable_of = {
        cell: variable
        for variable in layout.variables.values()
        for cell in ([variable.at] if isinstance(variable.at, int) else variable.at.values())
    }
    places = [layout.slots[slot % len(layout.slots)] for slot in reads if slot < 2 * len(layout.slots)]
    if not places:
        return "the step"
    largest = max(places, key=lambda place: place.slot.size)
    if largest.slot.size > MANY:
        return f"{largest.name}, which has {largest.slot.size:,} values. Fewer values make fewer paths"
    read = Counter(variable_of[place.cell].name for place in places)
    name, number = read.most_common(1)[0]
    cells = {place.cell for place in places if variable_of[place.cell].name == name}
    if any(isinstance(layout.cells[cell].domain, SubsetDomain) for cell in cells):
        return f"{number} possible members of the set {name}. Ask for single ones with `in` where that is enough"
    return f"{number} places of {name}. Reading fewer of them makes fewer paths"
