"""The transcripts are what Kafka's own controllers and brokers do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kafka.conftest import RealControllers, Receivers
from tests.transcripts.brokers import RECEIVERS
from tests.transcripts.controllers import CONTROLLERS
from tests.transcripts.transcript import Sides, files, parsed, texts


@pytest.mark.long
@pytest.mark.parametrize("path", files("controller"), ids=lambda path: path.stem)
def test_kafkas_controllers_do_what_the_transcripts_say(path: Path, real_controllers: RealControllers) -> None:
    """In each release that a transcript names."""
    agree(path, CONTROLLERS, real_controllers)


@pytest.mark.long
@pytest.mark.parametrize("path", files("broker"), ids=lambda path: path.stem)
def test_kafkas_brokers_do_what_the_transcripts_say(path: Path, receivers: Receivers) -> None:
    """In each release that a transcript names."""
    agree(path, RECEIVERS, receivers)


def agree(path: Path, sides: Sides, kafka: Callable[[str], Any]) -> None:
    """Kafka's classes write the same."""
    assert sides.kafkas is not None
    transcripts = [each for text in texts(path) for each in parsed(text) if each.is_recorded]
    for release in sorted({release for each in transcripts for release in each.releases}):
        its = [each for each in transcripts if release in each.releases]
        for transcript, recorded in zip(its, sides.kafkas(its, release, kafka(release)), strict=True):
            assert str(recorded) == str(transcript), release
