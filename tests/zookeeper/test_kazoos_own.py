"""kazoo's own tests of its recipes and its client, on our ZooKeeper in memory instead of a cluster in Java.

All tests of recipes pass, and all of the client except those listed here with a reason. `kazoo.tests.test_cache` does
not run: it counts objects with a library that we do not install.
"""

import sys
import threading
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
from kazoo.testing import harness  # noqa: E402

RECIPES = ("lock", "election", "barrier", "counter", "queue", "party", "lease", "watchers", "partitioner")
CLIENT = ("client", "connection", "interrupt")

WHY_NOT = {
    "ACLs are accepted and ignored": (
        "TestAuthentication.test_auth",
        "TestAuthentication.test_connect_auth",
        "TestAuthentication.test_unicode_auth",
        "TestClient.test_create_makepath_incompatible_acls",
        "TestClient.test_get_acls",
        "TestClient.test_set_acls",
        "TestClient.test_set_acls_empty",
        "TestClient.test_set_acls_no_node",
    ),
    "it stops and starts servers of a cluster": (
        "TestClient.test_request_queuing_session_expired",
        "TestClient.test_request_queuing_session_recovered",
        "TestClient.test_update_host_list",
        "TestReadOnlyMode.test_read_only",
    ),
    "it reconfigures a cluster": (
        "TestReconfig.test_add_remove_observer",
        "TestReconfig.test_bad_input",
        "TestReconfig.test_no_super_auth",
    ),
    "there is no TLS": ("TestSSLClient.test_create",),
}
"""Reasons -> the client's tests that fail for them here."""
SKIPPED = {each: pytest.mark.skip(why) for why, names in WHY_NOT.items() for each in names}

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
"""Two or three tests of each recipe, for every run; `make long-zookeeper` runs all."""


class HandedOver(threading.Condition):
    """A condition whose notifier continues only after its waiters have.

    kazoo's tests of locks wait until nobody holds the lock, and must be faster than its next holder. A test that is
    slower waits for ever, as the next holder in turn waits for the test.
    """

    def __init__(self) -> None:
        lock = threading.RLock()
        super().__init__(lock)
        self.woke = threading.Condition(lock)
        self.waiting = self.woken = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.waiting += 1
        try:
            return super().wait(timeout)
        finally:
            self.waiting -= 1
            self.woken += 1
            self.woke.notify_all()

    def notify_all(self) -> None:
        awaited = self.woken + self.waiting
        super().notify_all()
        self.woke.wait_for(lambda: self.woken >= awaited)


def kazoos_tests(subject: str) -> Iterator[harness.KazooTestHarness]:
    """The tests that kazoo has of a recipe, or of its client."""
    module = import_module(f"kazoo.tests.test_{subject}")
    for case in vars(module).values():
        if isinstance(case, type) and issubclass(case, harness.KazooTestHarness):
            yield from unittest.defaultTestLoader.loadTestsFromTestCase(case)


def name(test: harness.KazooTestHarness) -> str:
    return ".".join(test.id().split(".")[-2:])


TESTS = [test for subject in (*RECIPES, *CLIENT) for test in kazoos_tests(subject)]


def marks(test: str) -> list[pytest.MarkDecorator]:
    skipped = [SKIPPED[test]] if test in SKIPPED else []
    return skipped if test in SOON else [pytest.mark.long, *skipped]


@pytest.mark.filterwarnings("ignore")  # kazoo warns of its own tests
@pytest.mark.parametrize(
    "test",
    [pytest.param(each, id=name(each), marks=marks(name(each))) for each in TESTS],
)
def test_kazoo_passes(test: harness.KazooTestHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    with ServedZooKeeper() as served:
        monkeypatch.setattr(
            harness, "get_global_cluster", lambda: [SimpleNamespace(running=True, address=served.hosts)]
        )
        monkeypatch.setattr(test, "make_condition", HandedOver, raising=False)
        try:
            test.debug()
        finally:
            test.teardown_zookeeper()  # some tests leave a client


def test_slow_kazoo_tests_exist() -> None:
    """Kazoo might rename its tests."""
    assert set(map(name, TESTS)) >= SOON
