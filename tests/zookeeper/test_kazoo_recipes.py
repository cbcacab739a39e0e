"""kazoo's own tests of its recipes, with a ZooKeeper in memory where they expect a cluster of Java servers.

All of them pass. Not run: `kazoo.tests.test_cache`, which counts objects with a library that we do not install.
"""

import sys
import unittest
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from statemachines.zookeeper.serving import ServedZooKeeper

common: Any = ModuleType("kazoo.testing.common")
common.ZookeeperCluster = None
sys.modules.setdefault("kazoo.testing.common", common)
"""It makes certificates for Java servers, with libraries that we do not install."""
from kazoo.testing import harness  # type: ignore[import-untyped] # noqa: E402

RECIPES = ("lock", "election", "barrier", "counter", "queue", "party", "lease", "watchers", "partitioner")

SOON = {
    "KazooLockTests.test_lock",
    "KazooLockTests.test_lock_cancel",
    "KazooLockTests.test_lock_reconnect",
    "KazooLockTests.test_lock_reacquire",
    "KazooLockTests.test_rw_lock",
    "TestSemaphore.test_handle_session_loss",
    "TestSemaphore.test_inconsistent_max_leases",
    "KazooElectionTests.test_election",
    "KazooBarrierTests.test_barrier_exists",
    "KazooDoubleBarrierTests.test_two_barrier",
    "KazooCounterTests.test_int_counter",
    "KazooLockingQueueTests.test_consume",
    "KazooQueueTests.test_priority",
}
"""Two or three of each recipe; every run of the tests looks at these, `make long-zookeeper` at all."""


def kazoos_tests(recipe: str) -> Iterator[harness.KazooTestHarness]:
    """What kazoo tests of a recipe."""
    module = import_module(f"kazoo.tests.test_{recipe}")
    for case in vars(module).values():
        if isinstance(case, type) and issubclass(case, harness.KazooTestHarness):
            yield from unittest.defaultTestLoader.loadTestsFromTestCase(case)


def name(test: harness.KazooTestHarness) -> str:
    return ".".join(test.id().split(".")[-2:])


TESTS = [test for recipe in RECIPES for test in kazoos_tests(recipe)]


@pytest.mark.filterwarnings("ignore")  # kazoo warns of its own tests
@pytest.mark.parametrize(
    "test",
    [pytest.param(each, id=name(each), marks=() if name(each) in SOON else pytest.mark.long) for each in TESTS],
)
def test_a_recipe_works(test: harness.KazooTestHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    with ServedZooKeeper() as served:
        monkeypatch.setattr(
            harness, "get_global_cluster", lambda: [SimpleNamespace(running=True, address=served.hosts)]
        )
        try:
            test.debug()
        finally:
            test.teardown_zookeeper()  # some leave a client


def test_what_is_to_be_seen_soon_is_there() -> None:
    """Kazoo may rename its tests."""
    assert set(map(name, TESTS)) >= SOON
