"""Kernels that are not compiled yet, in place of the real ones, which take 9 s."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from spec.checking.local.compiling import Load

KERNEL: Final = """
from numba import njit

@njit(cache=True)
def doubled(number):
    return 2 * number

def load(kernels):
    doubled(kernels.words)
"""
ENDLESS: Final = """
import signal
from numba import njit

@njit
def doubled(number):
    return 2 * number

def load(kernels):
    doubled(kernels.words)
    signal.pause()
"""
"""Use them with the fixture `processes`, which ends them."""
PATIENT: Final = """
import os, sys
from pathlib import Path
from numba import njit

HERE = Path(__file__).parent

@njit(cache=True)
def doubled(number):
    return 2 * number

def load(kernels):
    if any("compile_alone" in each for each in sys.orig_argv):  # in a compiling process
        os.read(os.open(HERE / "permissions", os.O_RDONLY), 1)
    doubled(kernels.words)
    with open(HERE / "compiled", "a") as compiled:
        compiled.write("x" * sum(doubled.stats.cache_misses.values()))
"""
"""Each compiling process waits for a permission, see `permissions`."""


@contextmanager
def permissions(folder: Path) -> Iterator[Callable[[], None]]:
    """A function that permits one more process to compile the patient kernels of a folder."""
    os.mkfifo(folder / "permissions")
    with (folder / "permissions").open("r+b", buffering=0) as pipe:

        def permit() -> None:
            pipe.write(b".")

        yield permit


def kernels(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Write a module with kernels into a folder, and return its loader."""
    name = f"kernels_of_{folder.name}"
    (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(folder))
    load: Load = importlib.import_module(name).load
    return load
