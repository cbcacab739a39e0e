"""Compile the kernels and the tests, before several test workers each do it: `python -m tests.compiling`.

`--wide` compiles the kernels for wide states instead, which only `make long` has.

Numba keeps what it has compiled beside the source. Where nothing is kept yet, as in a fresh clone, every process that
needs a function compiles it, for each number of words that states take; that is 13 to 24 seconds for each number. And
pytest compiles each file of tests with assertions that explain themselves, which is 5 seconds for all. Java loads and
verifies Spark's classes for each session, unless `spark_classes` are kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from spec.checking import check, simulate
from spec.checking.local import LocalEngine
from spec.checking.local.shape import UNROLLED
from spec.checking.spark.visited_buckets import load
from tests import spark_classes
from tests.spec.checking.local.test_engine import Chain

NARROW = (UNROLLED + 1, 4, 3, 2, 1)
"""Words that states take in `make test`: first a number for all that are not unrolled."""
WIDE = (9, 8, 7, 6, 5)
"""And the pinned instances in `make long`."""


def compile_for(words: int) -> None:
    """Do with states of so many words all that is compiled, and have what Spark's workers run beside that."""
    chain = Chain(links=32 * words - 12)
    check(chain, engine=LocalEngine(2), keep_going=True, max_depth=8)
    simulate(chain, runs=10, seed=1)
    load(words)


def compile_tests() -> None:
    """Have pytest collect them."""
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet"], stdout=subprocess.DEVNULL, check=True
    )


def main() -> None:
    """What is asked for, in two processes."""
    parser = argparse.ArgumentParser(prog="python -m tests.compiling", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wide", action="store_true", help="the kernels for wide states, and nothing else")
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
