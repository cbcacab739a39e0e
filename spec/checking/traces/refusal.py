"""A refusal: the guard that keeps an action from happening in a state, and what the action had read by then."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from spec import language
from spec.checking.model import Model
from spec.checking.values.spelling import PLAIN, Spelling
from spec.checking.values.text import show
from spec.language.errors import Disabled, DoesNotExist
from spec.language.state import Values

LIBRARY_PACKAGES: Final = {Path(language.__file__).parent, Path(__file__).parent}
"""Folders of code that calls an author's code, or is called by it."""


class Refusal(NamedTuple):
    """Why a step cannot be done in a state."""

    guard: str
    """The call that ended it, as in the source, such as `require(self.connected)`; empty if unknown."""
    place: str
    """File and line of the call; empty if unknown."""
    looked_at: Mapping[str, Any]
    """The cells that the action had read by then, with their values."""

    def __str__(self) -> str:
        return self.text(PLAIN)

    def text(self, spelling: Spelling) -> str:
        """The refusal in a line, with values in this spelling."""
        guard = f"{self.guard} ({self.place})" if self.guard else f"a guard ({self.place or 'at an unknown place'})"
        read = ", ".join(f"{cell} = {show(value, spelling)}" for cell, value in self.looked_at.items())
        return f"{guard} does not hold" + (f", where {read}" if read else "")


class RefusedValue(Refusal):
    """A parameter must be a value that exists in the state, and is not; `place` is that of its range."""


def refusal(model: Model, state: Values, choice: tuple[int, int]) -> Refusal:
    """The refusal of the action and instance with these numbers in a state where they are not enabled."""
    action_number, instance_number = choice
    action = model.actions[action_number]
    window = model.window()
    s = window.load(state)
    window.writable(action.name)
    read = window.watch()
    kind, guard, place = Refusal, "", ""
    try:
        action.instances[instance_number](s)
    except DoesNotExist as disabled:
        kind, guard = RefusedValue, f"{disabled.parameter} in its range"
        code = getattr(disabled.ranges_over, "__code__", None)
        place = f"{Path(code.co_filename).name}, line {code.co_firstlineno}" if code else ""
    except Disabled as disabled:
        guard, place = _last_call_of_the_author(disabled)
    looked_at = {cell.name: state[at] for at, cell in enumerate(model.layout.cells) if at in read}
    return kind(guard, place, looked_at)


def _last_call_of_the_author(disabled: Disabled) -> tuple[str, str]:
    """The call in one line, and its place."""
    frames = traceback.extract_tb(disabled.__traceback__)
    frame = next((each for each in reversed(frames) if Path(each.filename).parent not in LIBRARY_PACKAGES), None)
    if frame is None:
        return "", ""
    place = f"{Path(frame.filename).name}, line {frame.lineno}"
    first, last, begin, end = frame.lineno, frame.end_lineno, frame.colno, frame.end_colno
    if first is None or last is None or begin is None or end is None:
        return "", place
    lines = [linecache.getline(frame.filename, number).encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]  # columns are counted in bytes
    lines[0] = lines[0][begin:]
    return " ".join(b"".join(lines).decode().split()), place
