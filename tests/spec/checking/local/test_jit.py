"""Parts of kernels are compiled once, for other compiled functions; and no call from Python crashes the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spec.checking.local import jit
from spec.checking.local.jit import Array

ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_kept", lambda made: made)


def test_a_part_is_compiled_once_for_numbers_and_variables() -> None:
    """Numba alone would compile it again for each number in the source."""

    @jit.part
    def item(items: Array, at: int) -> int:
        return int(items[at])

    @jit.compiled
    def three(items: Array, at: int) -> int:
        return item(items, 0) + item(items, 1) + item(items, at)

    assert three(np.array([1, 20, 300]), 2) == 321
    assert len(item.signatures) == 1  # type: ignore[attr-defined]


def test_python_cannot_call_a_part() -> None:
    """It would crash: a part has no code for values of Python."""

    @jit.part
    def item(items: Array, at: int) -> int:
        return int(items[at])

    @jit.compiled
    def first(items: Array) -> int:
        return item(items, 0)

    for _ in range(2):
        with pytest.raises(TypeError, match="item is a part of compiled functions"):
            item(np.array([7]), 0)
        assert first(np.array([7])) == 7


CALLS = """
import numpy as np
from spec.checking.local import compact, compiling, expanding, seeking, tables, visited

CALLERS = {
    visited: ("insert", "credit"),
    tables: ("survey",),
    seeking: ("seek",),
    compiling: ("post", "clear"),
    compact: ("_copy", "_nodes_of"),
    expanding: ("expand",),
}
called = []

def noting(kernel):
    def call(*arguments):
        called.append((kernel, arguments))
        return kernel(*arguments)
    return call

def replaced(argument, by):
    if isinstance(argument, np.ndarray):
        return by(argument)
    if isinstance(argument, tuple) and hasattr(argument, "_fields"):
        return type(argument)(*(replaced(each, by) for each in argument))
    return argument

def empty(array):
    return np.zeros((0,) * array.ndim, array.dtype)

def floats(array):
    return np.zeros((1,) * array.ndim, np.float64)

for module, names in CALLERS.items():
    for name in names:
        setattr(module, name, noting(getattr(module, name)))
compiling.load((*compiling.EXPLORING, *compiling.LATER), compiling.Kernels(1))
for by in empty, floats:
    for kernel, arguments in dict(called).items():
        try:
            kernel(*(replaced(each, by) for each in arguments))
            print("returned", by.__name__)
        except Exception as error:
            print("raised", by.__name__)
"""


@pytest.mark.long
def test_kernels_called_with_wrong_arrays_do_not_crash() -> None:
    """Empty arrays are nothing to do, or an exception; arrays of another type are an exception."""
    run = subprocess.run([sys.executable, "-c", CALLS], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    answers = run.stdout.splitlines()
    assert len(answers) == 18
    assert "returned floats" not in answers
