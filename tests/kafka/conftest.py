"""One Java for all tests that only talk to it; where it or Kafka's jars cannot be had, they are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from random import SystemRandom
from typing import TypeAlias

import pytest
from hypothesis import settings

from spec.kafka.harness import Harness
from spec.kafka.pure import PureCalls
from spec.kafka.step_plane import KafkaSteps
from spec.language.errors import UsageError
from tests.kafka.receiver_comparison import KafkaReceivers

RELEASE = "3.9.1"

ControlPlanes: TypeAlias = Callable[[str], KafkaSteps]
"""What there is of each release."""
Receivers: TypeAlias = Callable[[str], KafkaReceivers]
"""Receiving brokers of each release."""


@contextmanager
def running(release: str) -> Iterator[Harness]:
    """Real KafkaControllers of a release; the test is skipped where they cannot be had."""
    with ExitStack() as stack:
        try:
            harness = stack.enter_context(Harness(release))
        except UsageError as missing:
            pytest.skip(str(missing))
        yield harness


@pytest.fixture(scope="session")
def kafka() -> Iterator[Harness]:
    """Those of the newest release."""
    with running(RELEASE) as harness:
        yield harness


@contextmanager
def calling(release: str) -> Iterator[PureCalls]:
    """Functions of a release; the test is skipped where they cannot be had."""
    with ExitStack() as stack:
        try:
            calls = stack.enter_context(PureCalls(release))
        except UsageError as missing:
            pytest.skip(str(missing))
        yield calls


@pytest.fixture(scope="session")
def pure() -> Iterator[PureCalls]:
    """Those of the newest release."""
    with calling(RELEASE) as calls:
        yield calls


@pytest.fixture(scope="session")
def control_planes() -> Iterator[ControlPlanes]:
    """A controller of each release, or its state machines; the test is skipped where they cannot be had."""
    with ExitStack() as stack:

        @cache
        def control_plane_of(release: str) -> KafkaSteps:
            try:
                return stack.enter_context(KafkaSteps(release))
            except UsageError as missing:
                pytest.skip(str(missing))

        yield control_plane_of


@pytest.fixture(scope="session")
def control_plane(control_planes: ControlPlanes) -> KafkaSteps:
    """Those of the newest release."""
    return control_planes(RELEASE)


@pytest.fixture(scope="session")
def receivers() -> Iterator[Receivers]:
    """Receiving brokers of each release; the test is skipped where they cannot be had."""
    with ExitStack() as stack:

        @cache
        def receivers_of(release: str) -> KafkaReceivers:
            try:
                return stack.enter_context(KafkaReceivers(release))
            except UsageError as missing:
                pytest.skip(str(missing))

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
