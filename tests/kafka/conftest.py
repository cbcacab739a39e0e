"""One Java for all tests that only talk to it; where it or Kafka's jars cannot be had, they are skipped."""

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
"""The releases whose functions are called; of 0.10 only state machines are run."""

T = TypeVar("T")

RealControllers: TypeAlias = Callable[[str], PathRunner]
"""What there is of each release."""
Receivers: TypeAlias = Callable[[str], KafkaReceivers]
"""Receiving brokers of each release."""


@contextmanager
def of_release(kind: Callable[[str], AbstractContextManager[T]], release: str) -> Iterator[T]:
    """Java of a release; the test is skipped where it cannot be had."""
    with ExitStack() as stack:
        try:
            java = stack.enter_context(kind(release))
        except UsageError as missing:
            pytest.skip(str(missing))
        yield java


@contextmanager
def of_each_release(kind: Callable[[str], AbstractContextManager[T]]) -> Iterator[Callable[[str], T]]:
    """The same of any release, each as soon as it is asked for."""
    with ExitStack() as stack:
        yield cache(lambda release: stack.enter_context(of_release(kind, release)))


def running(release: str) -> AbstractContextManager[Harness]:
    """Real KafkaControllers of a release."""
    return of_release(Harness, release)


@pytest.fixture(scope="session")
def kafka() -> Iterator[Harness]:
    """Those of the newest release."""
    with running(RELEASE) as harness:
        yield harness


def calling(release: str) -> AbstractContextManager[PureCalls]:
    """Functions of a release."""
    return of_release(PureCalls, release)


@pytest.fixture(scope="session")
def pure() -> Iterator[PureCalls]:
    """Those of the newest release."""
    with calling(RELEASE) as calls:
        yield calls


@pytest.fixture(scope="session")
def real_controllers() -> Iterator[RealControllers]:
    """A controller of each release, or its state machines."""
    with of_each_release(PathRunner) as real_controller_of:
        yield real_controller_of


@pytest.fixture(scope="session")
def real_controller(real_controllers: RealControllers) -> PathRunner:
    """Those of the newest release."""
    return real_controllers(RELEASE)


@pytest.fixture(scope="session")
def receivers() -> Iterator[Receivers]:
    """Receiving brokers of each release."""
    with of_each_release(KafkaReceivers) as receivers_of:
        yield receivers_of


@pytest.fixture(scope="session")
def receiver(receivers: Receivers) -> KafkaReceivers:
    """Those of the newest release."""
    return receivers(RELEASE)


@pytest.fixture
def first_seed(request: pytest.FixtureRequest) -> int:
    """The seed of what is generated: the one that is wanted, else always or never the same, as the profile says."""
    wanted = request.config.getoption("--hypothesis-seed")
    if wanted is not None and str(wanted).isdecimal():
        return int(wanted)
    return 0 if settings().derandomize else SystemRandom().randrange(2**32)
