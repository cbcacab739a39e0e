"""One JVM for all tests that only exchange data with it; without Java or Kafka's jars they are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from random import SystemRandom
from typing import TypeAlias, TypeVar

import pytest
from hypothesis import settings

from spec.kafka.harness import Harness
from spec.kafka.jars import releases
from spec.kafka.path_runner import PathRunner
from spec.kafka.pure import PureCalls
from spec.language.errors import UsageError
from statemachines.releases import Release
from tests.kafka.receiver_comparison import KafkaReceivers

RELEASE = "3.9.1"
WITH_FUNCTIONS = [each for each in releases() if Release(each) >= Release("0.11.0.0")]
"""The releases whose functions are called; of 0.10 only the state machines run."""

T = TypeVar("T")

RealControllers: TypeAlias = Callable[[str], PathRunner]
"""Returns the control plane of a release."""
Receivers: TypeAlias = Callable[[str], KafkaReceivers]
"""Returns the receiving brokers of a release."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start Java of an older release are long: each takes seconds to start."""
    for item in items:
        if {"real_controllers", "receivers", "stepped"} & {*getattr(item, "fixturenames", ())}:
            release = item.callspec.params.get("release", RELEASE) if hasattr(item, "callspec") else RELEASE
            if release != RELEASE:
                item.add_marker(pytest.mark.long)


@contextmanager
def of_release(kind: Callable[[str], AbstractContextManager[T]], release: str) -> Iterator[T]:
    """Java of a release; the test is skipped if it is unavailable."""
    with ExitStack() as stack:
        try:
            java = stack.enter_context(kind(release))
        except UsageError as missing:
            pytest.skip(str(missing))
        yield java


@contextmanager
def of_each_release(kind: Callable[[str], AbstractContextManager[T]]) -> Iterator[Callable[[str], T]]:
    """The same for any release, each started on first use."""
    with ExitStack() as stack:
        yield cache(lambda release: stack.enter_context(of_release(kind, release)))


def running(release: str) -> AbstractContextManager[Harness]:
    """Real KafkaControllers of a release."""
    return of_release(Harness, release)


@pytest.fixture(scope="session")
def kafka() -> Iterator[Harness]:
    """KafkaControllers of the newest release."""
    with running(RELEASE) as harness:
        yield harness


def calling(release: str) -> AbstractContextManager[PureCalls]:
    """Functions of a release."""
    return of_release(PureCalls, release)


@pytest.fixture(scope="session")
def pure() -> Iterator[PureCalls]:
    """Functions of the newest release."""
    with calling(RELEASE) as calls:
        yield calls


@pytest.fixture(scope="session")
def real_controllers() -> Iterator[RealControllers]:
    """A controller of each release, or its state machines."""
    with of_each_release(PathRunner) as real_controller_of:
        yield real_controller_of


@pytest.fixture(scope="session")
def real_controller(real_controllers: RealControllers) -> PathRunner:
    """A controller of the newest release."""
    return real_controllers(RELEASE)


@pytest.fixture(scope="session")
def receivers() -> Iterator[Receivers]:
    """Receiving brokers of each release."""
    with of_each_release(KafkaReceivers) as receivers_of:
        yield receivers_of


@pytest.fixture(scope="session")
def receiver(receivers: Receivers) -> KafkaReceivers:
    """Receiving brokers of the newest release."""
    return receivers(RELEASE)


@pytest.fixture
def first_seed(request: pytest.FixtureRequest) -> int:
    """The seed of generated data: the requested one, otherwise random or constant, as the profile says."""
    wanted = request.config.getoption("--hypothesis-seed")
    if wanted is not None and str(wanted).isdecimal():
        return int(wanted)
    return 0 if settings().derandomize else SystemRandom().randrange(2**32)
