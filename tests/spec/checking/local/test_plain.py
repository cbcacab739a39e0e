"""Kernels also run uncompiled, as Python that a debugger can step through, with the same results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit

from spec.checking import Result, Simulation, check, simulate
from spec.checking.local import LocalEngine, intrinsics
from spec.checking.local.intrinsics import GATHERS, TWINS
from tests.spec.checking.symmetry.test_reduction import Votes
from tests.spec.checking.toys import Bank, Counters, Jugs

ROOT = Path(__file__).parents[4]
COMPARED = ("distinct_states", "generated_states", "depth", "properties", "actions", "counterexample")


def results() -> list[dict[str, Any]]:
    """Results of small systems that need all kernels: levels, steps, both kinds of orbits, paths, walks."""
    found: list[Result | Simulation] = [
        check(Jugs(), engine=LocalEngine(2), keep_going=True),
        check(Bank(), engine=LocalEngine(2)),
        check(Counters(), engine=LocalEngine(1), keep_going=True),
        check(Votes(brokers=3), engine=LocalEngine(1), symmetry=True),
        check(Votes(brokers=5), engine=LocalEngine(1), symmetry=True),
        simulate(Bank(), runs=50, seed=3),
    ]
    return [{name: what for name, what in each.to_json().items() if name in COMPARED} for each in found]


STEPPED = """
import bdb, inspect
from spec.checking import check
from spec.checking.local import LocalEngine, traversing
from tests.spec.checking.toys import Jugs

class Stepping(bdb.Bdb):
    lines = 0

    def user_line(self, frame):
        self.lines += 1
        if self.lines == 1:
            self.set_break(traversing.__file__, inspect.getsourcelines(traversing.apply)[1] + 4)
            self.set_continue()
        else:
            print(frame.f_code.co_name, frame.f_locals["words"], int(frame.f_locals["registers"][0]))
            self.set_quit()

Stepping().runcall(check, Jugs(), engine=LocalEngine(1))
"""


def uncompiled(program: str) -> str:
    """The output of a program in which kernels are not compiled."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        env=os.environ | {"KAFKASPEC_KERNELS": "python"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.long
def test_uncompiled_kernels_give_the_same_results() -> None:
    """The figures, the paths, and the runs."""
    program = "import json; from tests.spec.checking.local.test_plain import results; print(json.dumps(results()))"
    assert json.loads(uncompiled(program)) == json.loads(json.dumps(results()))


def test_a_debugger_stops_in_a_kernel() -> None:
    """It sees the first state there, in which both jugs are empty."""
    assert uncompiled(STEPPED) == "apply 1 0\n"


WORDS = st.integers(0, 2**64 - 1)
NEIGHBOURS = st.tuples(st.integers(0, 63), st.integers(0, 63)).map(lambda ends: (1 << max(ends)) - (1 << min(ends)))


_trailing_zeros: Any = njit(lambda word: intrinsics.trailing_zeros(word))
_gathered: Any = njit(lambda word, mask: intrinsics.gathered(word, mask))


@given(WORDS, WORDS if GATHERS else NEIGHBOURS)
@example(0, 0)
@example(2**64 - 1, 0)
@example(1 << 63, 1 << 63)
def test_intrinsics_equal_their_python(word: int, mask: int) -> None:
    """The Python twin of an intrinsic runs wherever nothing is compiled."""
    given_word, given_mask = np.uint64(word), np.uint64(mask)
    assert _trailing_zeros(given_word) == TWINS["trailing_zeros"](given_word)
    assert _gathered(given_word, given_mask) == TWINS["gathered"](given_word, given_mask)
