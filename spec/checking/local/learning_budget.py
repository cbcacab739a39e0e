"""The time that learning may take, and advice for a search that is slow all the same.

No search shall be much slower than in plain Python, however its paths multiply. Learning a path takes longer than
evaluating an action once, and pays if later states follow the path. Whether they will is unknown. So learning is paid
from what it has saved: each state that compiled code expanded saved the time of expanding it in plain Python. Where
nearly every state takes paths of its own nothing is saved, and most states are expanded in plain Python; a share of
that time is still spent on learning, because later levels may be different. The advice says which action or property
takes too many paths, and why.

All seconds are those of the thread's clock, since on a busy machine both ways take longer.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from spec.checking.model import Model
from spec.language.domains.collections import SubsetDomain

# The budget.


ALLOWANCE: Final = 1.0
"""Seconds of learning that need not have saved anything, if everything is evaluated once."""
SHARE: Final = 0.2
"""Of the time spent on expanding in plain Python, the share that is spent on learning besides."""


class LearningBudget:
    """Decides whether missing paths are learned, if anything can be, or the states that need them are expanded in
    plain Python. With symmetry everything is evaluated again under other names, in either case.
    """

    def __init__(self, *, learns: bool = True, repetitions: int = 1) -> None:
        self.learns, self.repetitions = learns, repetitions
        self.expanded = 0
        """The states that were expanded so far."""
        self.plainly = 0
        """Those that were expanded in plain Python."""
        self.seconds_learning = self.seconds_plainly = 0.0

    @property
    def allows(self) -> bool:
        """Whether there is time to learn.

        The price of expanding a state in plain Python is not known before some states have been expanded so.
        """
        if not self.learns:
            return False
        saved = 0.0
        if self.plainly:
            compiled = max(0, self.expanded - self.plainly)
            saved = self.seconds_plainly * (compiled / self.plainly + SHARE)
        return self.seconds_learning < ALLOWANCE * self.repetitions + saved

    @property
    def paid(self) -> bool:
        """Whether learning paid, or the time does not matter."""
        return self.seconds_plainly < ALLOWANCE * self.repetitions or 2 * self.plainly < self.expanded

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Count the time while this is open as spent on learning."""
        began = time.thread_time()
        try:
            yield
        finally:
            self.seconds_learning += time.thread_time() - began

    @contextmanager
    def expanding(self, states: int) -> Iterator[None]:
        """Count the time while this is open as spent on expanding so many states in plain Python."""
        began = time.thread_time()
        try:
            yield
        finally:
            self.seconds_plainly += time.thread_time() - began
            self.plainly += states


# Advice.


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
