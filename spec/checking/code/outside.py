"""What lies outside of this process, for rules to leave alone: an audit hook notices what they open, list or start.

Python reports such an event before it happens, and the hook looks for a rule on the stack. So rules that do nothing
of the kind pay nothing. Python may read the modules that a rule imports, and the source for a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Set
from types import CodeType, FrameType
from typing import Any, Final
from weakref import WeakSet

from spec.checking.code.source import is_installed_file
from spec.language.errors import SpecificationError, safe_repr

INSIDE: Final = {
    *("array", "builtins", "code", "compile", "cpython", "ctypes", "exec", "function", "gc", "import", "marshal"),
    *("object", "pickle", "sys", "time"),
    *("builtins.id", "object.__getattr__"),
}
"""The first words of the events that concern this process alone, and the events that are frequent."""
READERS: Final = frozenset({"importlib", "linecache", "logging", "warnings", "zipimport"})
"""Packages of Python that may open files meanwhile."""
_WATCHED: Final = dict[CodeType, WeakSet[Any]]()
"""By the code of a rule, who hears of it."""


def watch(code: CodeType, watcher: Any) -> None:
    """From now on this code, and what it calls, may not turn to anything outside; `watcher.hear` finds the words."""
    if not _WATCHED:
        sys.addaudithook(_refuse)  # for good: Python cannot remove it
    _WATCHED.setdefault(code, WeakSet()).add(watcher)


def _refuse(
    event: str,
    given: tuple[Any, ...],
    inside: Set[str] = INSIDE,  # a default is still there when Python ends
    watched: dict[CodeType, WeakSet[Any]] = _WATCHED,
    this_frame: Callable[[int], FrameType] = sys._getframe,
) -> None:
    """Refuse an event if a rule causes it."""
    if event in inside or event.partition(".")[0] in inside:
        return
    frame: FrameType | None = this_frame(1)
    while frame is not None and frame.f_code not in watched:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in READERS:
            return
        frame = frame.f_back
    if frame is None or (event == "open" and isinstance(given[0], str) and is_installed_file(given[0])):
        return
    told = [
        each.hear(frame.f_code, frame.f_lineno, f"{event}({safe_repr(given[0]) if given else ''})")
        for each in watched[frame.f_code]
    ]
    if told:
        raise SpecificationError(told[0])
