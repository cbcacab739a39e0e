"""Process-wide settings that a check may change, and must restore."""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import signal
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any


def surroundings() -> dict[str, Any]:
    """Return all of them, at this moment."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    descriptors = {each: _behind(each) for each in os.listdir("/proc/self/fd")}
    return {
        "switch interval": sys.getswitchinterval(),
        "recursion limit": sys.getrecursionlimit(),
        "environment": dict(os.environ),
        "handlers of signals": {each: signal.getsignal(each) for each in signal.valid_signals()},
        "blocked signals": signal.pthread_sigmask(signal.SIG_BLOCK, []),
        "filters of warnings": [*warnings.filters],
        "how warnings are shown": warnings.showwarning,
        "path": [*sys.path],
        "directory": os.getcwd(),
        "temporary files": sorted(os.listdir(tempfile.gettempdir())),
        "threads": {each.name for each in threading.enumerate()},
        "children": children,
        "open files": {each: behind for each, behind in descriptors.items() if behind},
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, faulthandler.is_enabled()),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count() > 0, [*gc.callbacks]),
        "logging": [*logging.getLogger().filters, *logging.getLogger().handlers],
    }


def _behind(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # the descriptor that read the directory
        return ""


def changed(before: dict[str, Any]) -> dict[str, Any]:
    """Return the differences, with the values before and now."""
    now = surroundings()
    return {name: (was, now[name]) for name, was in before.items() if was != now[name]}
