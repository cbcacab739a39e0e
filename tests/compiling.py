"""Compile the kernels and the tests, before several test workers each do it: `python -m tests.compiling`.

Numba keeps what it has compiled beside the source. Where nothing is kept yet, as in a fresh clone, every process that
needs a function compiles it, for each number of words that states take; that is 13 to 24 seconds for each number. And
pytest compiles each file of tests with assertions that explain themselves, which is 5 seconds for all. Java loads and
verifies Spark's classes for each session, unless `spark_classes` are kept.
"""

from __future__ import annotations

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

LINKS = {UNROLLED + 1: 32 * UNROLLED + 1, 4: 100, 3: 70, 2: 40, 1: 20}
"""How many links make a chain of so many words: first one for all that are wide. Between, only `make long` goes."""


def compile_for(words: int) -> None:
    """Do with states of so many words all that is compiled, and have what Spark's workers run beside that."""
    chain = Chain(links=LINKS[words])
    check(chain, engine=LocalEngine(2), keep_going=True, max_depth=8)
    simulate(chain, runs=10, seed=1)
    load(words)


def compile_tests() -> None:
    """Have pytest collect them."""
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet"], stdout=subprocess.DEVNULL, check=True
    )


def main() -> None:
    """Each number of words in a process of its own."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        kept = pool.submit(spark_classes.keep)
        kernels = pool.map(compile_for, LINKS)
        compile_tests()
        list(kernels)
        kept.result()


if __name__ == "__main__":
    main()
