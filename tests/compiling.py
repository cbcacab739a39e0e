"""Compile the kernels and the tests once, before several test workers each do it: `python -m tests.compiling`.

`--wide` compiles the kernels for wide states instead, which only `make long` has.

Numba caches compiled functions beside the source. In a fresh clone the cache is empty, and every process that needs
a function compiles it, for each number of words in a state: 4 to 9 seconds for each number. Pytest rewrites the
assertions of each test file, which takes 5 seconds for all. Java loads and verifies Spark's classes for each session,
unless `spark_classes` keeps them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from spec.checking.local import compiled_walks
from spec.checking.local.compiling import EXPLORING, LATER, Kernels, load
from spec.checking.local.shape import UNROLLED
from spec.checking.spark.engine import KERNELS
from tests import spark_classes

NARROW = (UNROLLED + 1, 4, 3, 2, 1)
"""Words of a state in `make test`; the first number stands for all states whose loops are not unrolled."""
BY_ORBITS = 2
"""The most words of a state in most tests with symmetry."""
WIDE = (9, 8, 7, 6, 5)
"""Further widths, of the pinned instances in `make long`."""


def compile_for(words: int) -> None:
    """Compile everything for states of so many words; for narrow ones, also what searches by orbits need."""
    load((*KERNELS, compiled_walks.load), Kernels(words))
    if words <= BY_ORBITS:
        load((*EXPLORING, *LATER), Kernels(words, "listed"))
        load((*EXPLORING, *LATER), Kernels(words, "related"))


def compile_tests() -> None:
    """Have pytest collect the tests, which compiles them."""
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet"], stdout=subprocess.DEVNULL, check=True
    )


def main() -> None:
    """Compile what the command line asks for, in two processes."""
    parser = argparse.ArgumentParser(prog="python -m tests.compiling", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wide", action="store_true", help="only the kernels for wide states")
    is_wide = parser.parse_args().wide
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        kernels = pool.map(compile_for, WIDE if is_wide else NARROW)
        if not is_wide:
            kept = pool.submit(spark_classes.keep)
            compile_tests()
            kept.result()
        list(kernels)


if __name__ == "__main__":
    main()
