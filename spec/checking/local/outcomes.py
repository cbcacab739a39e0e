"""Outcomes: the result of one evaluation, as a number. Recording gives them, tables hold them, kernels test them."""

from __future__ import annotations

from typing import Final

ENABLED: Final = -1
"""For a recorded action: it is enabled, and may write. In a table the effect takes its place."""
UNKNOWN: Final = -1
"""For a walk through a table: this path is not learned yet."""
USUAL: Final = 0
"""An action is disabled; an invariant holds, a witness is not seen."""
FOUND: Final = 1
"""For a property: it is broken, or witnessed."""
CLOSED: Final = 1
"""For an action: a bound forbids it."""
LEFT: Final = 2
"""For an action: a value lies outside its domain."""
FAILED: Final = 3
"""It raised, or broke the rules for such functions."""
EFFECTS: Final = 4
"""Outcomes from here on are effects."""
