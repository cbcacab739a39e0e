"""The package keeps the promises of its docstring."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import election

MODULES = ["election", *(f"election.{module.name}" for module in pkgutil.iter_modules(election.__path__))]


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module: str) -> None:
    """The doctests pass."""
    assert doctest.testmod(importlib.import_module(module)).failed == 0


@pytest.mark.parametrize("name", [name for name in election.__all__ if name.islower()])
def test_public_functions_show_themselves_at_work(name: str) -> None:
    """Each public function has an example."""
    assert any(test.examples for test in doctest.DocTestFinder(recurse=False).find(getattr(election, name)))


def test_public_names_are_listed_once() -> None:
    """`__all__` lists each public name once, and each exists."""
    assert len(set(election.__all__)) == len(election.__all__)
    assert all(hasattr(election, name) for name in election.__all__)


def test_import_is_light() -> None:
    """The package imports only the standard library."""
    # The installation, not the package, loaded the modules that are there before the import.
    program = "import sys; before = set(sys.modules); import election; print(*set(sys.modules) - before)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert "election" in loaded
    assert loaded - {"election"} <= sys.stdlib_module_names
