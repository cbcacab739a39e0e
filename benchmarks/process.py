"""A program that runs to its end, and what it cost."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple


class Finished(NamedTuple):
    """A program that has succeeded."""

    output: str
    seconds: float
    processor_seconds: float
    """The processor time of all its threads, and of the processes that it waited for."""


def run(directory: str | Path, *command: str) -> Finished:
    """Run a program in a directory.

    Raises:
        RuntimeError: its exit code is not 0.
    """
    before = time.perf_counter()
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        output = process.stdout.read()
        # Unlike `wait`, this gives the processor time of this program alone.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - before
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}\n{output}{errors.read()}")
    return Finished(output, seconds, used.ru_utime + used.ru_stime)
