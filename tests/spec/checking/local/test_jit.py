"""Parts of kernels are compiled once, and only for other compiled functions."""

from __future__ import annotations

import numpy as np
import pytest

from spec.checking.local import jit
from spec.checking.local.jit import Array


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
