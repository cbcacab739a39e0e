"""A check without a result, for example because an action raised: the content of each report on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from spec.checking.traces.trace import Trace
from spec.checking.values.text import show

HEADLINE: Final = "the check has no result"


class Unfinished(NamedTuple):
    """A check without a result."""

    system: str
    message: str
    """The error that ended it, on a line or two."""
    values: Mapping[str, Any]
    """The constants and switches of the system, by name."""
    trace: Trace | None = None
    """The way to the state in which it ended, if there is one."""

    @property
    def heading(self) -> str:
        """The heading of the trace."""
        length = 0 if self.trace is None else self.trace.length
        return f"The way there, in {length:,} state{'' if length == 1 else 's'}"

    @property
    def settings(self) -> list[tuple[str, str]]:
        """Its constants and switches, as text."""
        return [(name, show(value)) for name, value in self.values.items()]
