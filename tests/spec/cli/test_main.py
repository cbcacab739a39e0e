"""An interrupt prints one line, however early it comes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from spec.cli import main as command
from spec.cli.failures import failure_of

EARLY = """
import os, signal, sys
import spec.cli.main

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "spec.cli.command":
            os.kill(os.getpid(), signal.{number})

signal.signal(signal.{number}, signal.{handler})
sys.meta_path.insert(0, Interrupting())
spec.cli.main.main()
"""


def run(
    *words: str, number: str = "SIGINT", handler: str = "default_int_handler"
) -> subprocess.CompletedProcess[str]:
    """Run the command, which receives a signal while it is loaded."""
    script = EARLY.format(number=number, handler=handler)
    return subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interrupt_while_the_command_is_loaded_is_one_line(number: str) -> None:
    """It exits 130; with `--json`, an object says so, too."""
    done = run("list", number=number)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", command.LINE)
    done = run("check", "controller", "--json", number=number)
    assert (done.returncode, done.stderr) == (130, command.LINE)
    assert done.stdout == command.OBJECT


def test_early_and_late_interrupts_print_the_same() -> None:
    """The whole output is the same."""
    failure = failure_of(KeyboardInterrupt())
    assert failure is not None
    assert f"{failure}\n" == command.LINE
    assert failure.to_json() == json.loads(command.OBJECT)
    assert failure.exit == command.INTERRUPTED


@pytest.mark.parametrize("number", ["SIGINT", pytest.param("SIGHUP", marks=pytest.mark.long)])
def test_a_signal_that_is_ignored_stays_so(number: str) -> None:
    """As under `nohup`, or in the background of a shell's script."""
    done = run("list", number=number, handler="SIG_IGN")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\ncontroller " in done.stdout
