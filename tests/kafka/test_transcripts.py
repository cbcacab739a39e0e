"""The transcripts are what Kafka's own controllers do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafka.conftest import RealControllers
from tests.transcripts.transcript import files, kafkas, parsed, texts


@pytest.mark.long
@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_kafkas_controllers_do_what_the_transcripts_say(path: Path, real_controllers: RealControllers) -> None:
    """In each release that a transcript names."""
    transcripts = [each for text in texts(path) for each in parsed(text) if each.is_recorded]
    for release in sorted({release for each in transcripts for release in each.releases}):
        its = [each for each in transcripts if release in each.releases]
        for transcript, recorded in zip(its, kafkas(its, release, real_controllers(release)), strict=True):
            assert str(recorded) == str(transcript), release
