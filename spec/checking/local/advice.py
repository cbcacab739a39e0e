"""Advice for a search that is slow: which action or property takes too many paths, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from spec.checking.model import Model
from spec.language.domains.collections import SubsetDomain

MANY: Final = 32
"""A place with more values than this is the reason by itself."""
MOSTLY_PLAIN: Final = "most states were expanded in plain Python"
PATHS: Final = 1_000
"""Fewer paths are no price of getting plain values."""


def advice(model: Model, rule: str, paths: int, states: int, reads: Iterable[int], opaque: str = "") -> str:
    """Why most states were expanded in plain Python: with all its instances, this action or property took so many
    paths in so many states. `reads` are the slots that it read in some state, of the state or of the one before.
    """
    why = f"it gets plain values: {opaque}" if opaque else f"it reads {_what(model, reads)}"
    return f"{MOSTLY_PLAIN}: {rule} took {paths:,} paths in {states:,} states: {why}"


def price_of_opacity(paths: Mapping[str, int], opaque: Mapping[str, str]) -> str:
    """What it costs that some rules get plain values, for these reasons, although learning paid; empty if that is
    little.
    """
    rule = max(opaque, key=lambda each: paths.get(each, 0), default="")
    mine, every = paths.get(rule, 0), sum(paths.values())
    if mine < PATHS or 2 * mine < every:
        return ""
    return f"{rule} took {mine:,} of {every:,} paths: it gets plain values: {opaque[rule]}"


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
