"""The command's process ends right after its output, once its exit handlers have run."""

from __future__ import annotations

import subprocess
import sys

import pytest

KEPT = """
import atexit, sys
import spec.cli.command, spec.cli.main

class Kept:
    def __del__(self):
        print("freed")

kept = Kept()

def wait():
    atexit.register(print, "registered")
    print("answered")
    {ends}

spec.cli.command.run = wait
spec.cli.main.main()
"""


@pytest.mark.parametrize(
    ("ends", "code", "freed"),
    [
        pytest.param("sys.exit()", 0, "", marks=pytest.mark.long),
        ("sys.exit(20)", 20, ""),
        pytest.param("sys.exit('said')", 1, "freed\n", marks=pytest.mark.long),
        ("raise ValueError", 1, "freed\n"),
    ],
)
def test_the_process_exits_without_freeing_objects(ends: str, code: int, freed: str) -> None:
    """Its output is complete, its exit handlers have run, and the exit code is the result's."""
    done = subprocess.run([sys.executable, "-c", KEPT.format(ends=ends)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, f"answered\nregistered\n{freed}"), done.stderr
