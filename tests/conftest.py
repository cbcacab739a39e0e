"""Hypothesis profiles for a person at work, for every commit, and for a night; and fixtures that all tests share.

HYPOTHESIS_PROFILE names the profile; without it, `ci` where CI is true and `dev` anywhere else. The fixtures are a
Spark session, and the scheduling of workers (see `sharing`).
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, settings

from spec.kafka.java import java as find_java
from spec.language import UsageError
from tests import spark_classes
from tests.processor_time import ProcessorTime
from tests.sharing import ByServer, scope, turn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The explain phase names lines of code that only failing runs reach. In a walk through a specification these are
# lines of the engine, and the failure's own text says more.
PHASES = [phase for phase in Phase if phase is not Phase.explain]

# For a person who waits. Random, so many users try many walks; a failing example is kept and comes first next time.
settings.register_profile("dev", max_examples=25, stateful_step_count=40, deadline=None, phases=PHASES)

# Derandomized: a red build is red because of the change, and is red again on any machine.
settings.register_profile(
    "ci",
    max_examples=50,
    stateful_step_count=50,
    deadline=None,
    phases=PHASES,
    derandomize=True,
    database=None,
    print_blob=True,
)

# Random again, and long: new failures are welcome here. The blob reproduces one without the nightly database.
settings.register_profile(
    "nightly", max_examples=10_000, stateful_step_count=150, deadline=None, phases=PHASES, print_blob=True
)

# A shell starts background processes with Ctrl-C ignored, and their children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Collection creates a million objects that stay; scanning them for garbage takes a tenth of its time.
gc.set_threshold(10_000, 20, 50)

spark_classes.share()
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI", "").lower() == "true" else "dev")
)


def pytest_configure(config: pytest.Config) -> None:
    """The summary says what the run has cost."""
    config.pluginmanager.register(ProcessorTime())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests come first."""
    items.sort(key=lambda item: turn(item.nodeid))


def pytest_collection_finish() -> None:
    """Keep the garbage collector from scanning objects that stay: eight thousand tests are a million objects."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Leave no process behind: kernels may still be compiling in the background."""
    if compiling := sys.modules.get("spec.checking.local.compiling"):
        compiling.background_ended(within=60)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that start Spark need Java. A test in an unlisted file would start a second session in another worker."""
    if item.get_closest_marker("spark"):
        skip_without_java()
    if "session" in getattr(item, "fixturenames", ()) and scope(item.nodeid) != "Spark":
        pytest.fail("this test needs a Spark session: list its file in tests/sharing.py", pytrace=False)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """In a long run more than the cores: a test that waits for a server or a killed process needs no core.

    Each worker costs seven processor seconds before its first test, and a short run waits little.
    """
    return (os.cpu_count() or 1) + (2 if config.option.markexpr == "long" else 0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByServer:
    """See `sharing`."""
    config.option.loadscopereorder = False
    return ByServer(config, log)


def skip_without_java() -> None:
    """Skip the running test, with the reason, where there is no Java for Spark."""
    from spec.checking.spark.session import require_java

    try:
        require_java()
    except UsageError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def java() -> None:
    """For tests that run Spark in another process."""
    skip_without_java()


@pytest.fixture(scope="session", autouse=True)
def _skipped_where_spark_begins() -> Iterator[None]:
    """Without Java, a test is skipped as soon as it explores with Spark's engine."""
    try:
        find_java()  # first, since the engine takes half a second to load
    except UsageError:
        from spec.checking.spark import engine

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "require_java", skip_without_java)
            yield
    else:
        yield


@pytest.fixture(scope="session")
def session(java: None) -> Iterator[SparkSession]:
    """One Spark session for all tests. They pass it to the engine, so it outlives every engine."""
    from spec.checking.machine.memory import Budget
    from spec.checking.spark.allotment import allotted
    from spec.checking.spark.session import start

    session = start(allotted(Budget(), 2, 2), Path(os.devnull))
    yield session
    session.stop()
