"""Limits of decision tables: when a model is too large to be learned, and is expanded in plain Python.

They follow from the layout of a table's node (`local.tables`, `local.traversing`).
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from spec.checking.model import Model
from spec.language.allowed_values import counted
from spec.language.cells import WORD
from spec.language.rules import Action, Property

WORDS: Final = 127
"""The most words of a state. A node names a register in 8 bits: a word of either state, or the step."""
SLOT: Final = 16
"""The most bits of a slot. A node has an edge for each value."""
INSTANCES: Final = (1 << 16) - 1
"""An action or property has fewer instances: a step is two numbers of 16 bits, the action's and the instance's, and
each instance has a table."""
ACTIONS: Final = INSTANCES
"""A model has fewer actions."""
NAMED: Final = 3
"""The number of variables named in the error for a state that is too wide."""


def too_large(model: Model) -> str:
    """Why the tables cannot hold a model, and how to make it smaller; empty if they can hold it."""
    name, layout = model.specification.name, model.layout
    if layout.words > WORDS:
        return (
            f"a state of {name} takes {layout.width:,} bits in {layout.words} words, and decision tables hold "
            f"{WORDS} words of {WORD}: {_widest(model)}. Give these fewer values; a set takes a bit for each value "
            "that could be in it; a sequence_of may take less if few are in it at once"
        )
    for place in layout.slots:
        if place.width > SLOT:
            return (
                f"{place.name} of {name} has {counted(place.slot.size)} values, and decision tables distinguish "
                f"up to {1 << SLOT:,} in one place. Give it fewer, or split it into the parts of a record"
            )
    rules: tuple[Action | Property, ...] = (*model.actions, *model.properties)
    for rule in rules:
        number = rule.instances.size
        if number >= INSTANCES:
            kind = "action" if isinstance(rule, Action) else "property"
            domains = ", ".join(f"{each} has {counted(domain.size)} values" for each, domain in rule.domains.items())
            return (
                f"{kind} {rule.name} of {name} has {counted(number)} instances, and decision tables take up to "
                f"{INSTANCES - 1:,}. Give its parameters smaller domains: {domains}"
            )
    if len(model.actions) >= ACTIONS:
        return f"{name} has {len(model.actions):,} actions, and decision tables take up to {ACTIONS - 1:,}"
    return ""


def _widest(model: Model) -> str:
    """The widest variables and their bits, in words."""
    bits = Counter[str]()
    for name, variable in model.layout.variables.items():
        cells = [variable.at] if isinstance(variable.at, int) else variable.at.values()
        bits[name] = sum(model.layout.cells[cell].width for cell in cells)
    widest = bits.most_common(NAMED)
    rest = bits.total() - sum(width for _, width in widest)
    lines = [f"{name} takes {width:,} bits" for name, width in widest]
    return ", ".join([*lines, f"all others {rest:,}"] if rest else lines)
