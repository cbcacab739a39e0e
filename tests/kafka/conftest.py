"""One Java for all tests that only talk to it; where it or Kafka's jars cannot be had, they are skipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spec.kafka.harness import Harness
from spec.language.errors import UsageError

RELEASE = "3.9.1"


@pytest.fixture(scope="session")
def kafka() -> Iterator[Harness]:
    """Real KafkaControllers of the newest release."""
    harness = Harness(RELEASE)
    try:
        harness.__enter__()
    except UsageError as missing:
        pytest.skip(str(missing))
    yield harness
    harness.__exit__()
