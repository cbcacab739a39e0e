"""Kernels that are not compiled yet, in place of the real ones, which take 9 s."""

from __future__ import annotations

import importlib
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


def kernels(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Write a module with kernels into a folder, and return its loader."""
    name = f"kernels_of_{folder.name}"
    (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(folder))
    load: Load = importlib.import_module(name).load
    return load
