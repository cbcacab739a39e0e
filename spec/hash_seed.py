"""The seed of Python's hashes: the same in every process of the command, so that sets of strings have one order.

Python draws it anew for each process. A specification that takes the first of a set of strings would have another
verdict from run to run, and another one where its trace is replayed. The seed is read when Python starts, and at no
other time; so the command starts once more, which takes about a hundredth of a second.

Where a program imports the checker there is no starting once more: it has the seed that it was started with.
"""

from __future__ import annotations

import os
import sys

SEED = "0"
"""Which one it is does not matter. Spark gives its workers this one."""


def pin() -> None:
    """Start this program once more in its place, if its hashes differ from those of other processes.

    It stays as it is if Python is told not to look at its environment, or reads the program from stdin.
    """
    if os.environ.get("PYTHONHASHSEED") == SEED or sys.flags.ignore_environment or sys.argv[0] in ("", "-"):
        return
    again = [sys.executable, *sys.orig_argv[1:]]
    try:
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": SEED})
    except OSError:  # it goes on as it began, which hardly ever makes a difference
        return
