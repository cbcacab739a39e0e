"""Imports load only what they need."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import election
import statemachines

HEAVY = {"hypothesis", "networkx", "numba", "numpy", "pandas", "pyarrow", "pygraphviz", "pyspark"}
"""Libraries that take long to load; modules import them only when needed."""

PROGRAMS = Path(sys.executable).parent


def imported(arguments: Sequence[str | Path], exit_code: int = 0) -> set[str]:
    """Return the top names of all packages that a Python process imports, even if it removes them again."""
    run = subprocess.run([sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True)
    assert run.returncode == exit_code, run.stderr
    lines = [line for line in run.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


def modules_of(package: str, path: Sequence[str]) -> list[str]:
    """Return a package and all of its modules."""
    return [package, *(module.name for module in pkgutil.walk_packages(path, f"{package}."))]


def test_a_heavy_import_is_detected() -> None:
    """The search also finds an import inside a function."""
    assert HEAVY & imported(["-c", "def late():\n    import pyarrow\nlate()"])


@pytest.mark.parametrize(
    "modules",
    [
        ["election", "statemachines"],
        modules_of("election", election.__path__),
        modules_of("statemachines", statemachines.__path__),
        ["spec.language", "spec.checking", "spec.systems.controller_election"],
    ],
    ids=["both packages", "all of election", "all of statemachines", "a specification and the checkers"],
)
def test_imports_are_light(modules: list[str]) -> None:
    """A user of one part does not wait for libraries of another."""
    found = imported(["-c", f"import {', '.join(modules)}"])
    assert modules[0].partition(".")[0] in found
    assert not HEAVY & found


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "check --help",
        "list",
        "elect offline --replicas 1,2 --isr 1,2 --live 2",
        "diagram partition",
        "check controller-election --engine reference --max-depth 2",
        "check controller-election --max-depth 2",
    ],
)
def test_commands_are_light(command: str) -> None:
    """A command loads only its own libraries and engine."""
    found = imported([PROGRAMS / "kafkaspec", *command.split()], exit_code=20 if "--max-depth" in command else 0)
    assert "click" in found
    assert not HEAVY & found
