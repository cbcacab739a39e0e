"""Outcomes: what came of one evaluation, as a number. Recording gives them, tables hold them, kernels go by them."""

from __future__ import annotations

from typing import Final

ENABLED: Final = -1
"""Of an action that is recorded: it writes something, or nothing. In a table the effect stands in its place."""
UNKNOWN: Final = -1
"""Of a walk through a table: this path is not learned yet."""
USUAL: Final = 0
"""An action is disabled; an invariant holds, a witness is not seen."""
FOUND: Final = 1
"""Of a property: it is broken, or witnessed."""
CLOSED: Final = 1
"""Of an action: a bound forbids it."""
LEFT: Final = 2
"""Of an action: a value lies outside its domain."""
FAILED: Final = 3
"""It raised, or did what it must not."""
EFFECTS: Final = 4
"""Outcomes from here on are effects."""
