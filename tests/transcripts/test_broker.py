"""Our broker does what the transcripts say, which are recorded from Kafka's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transcripts.brokers import ours
from tests.transcripts.transcript import files, parsed


@pytest.mark.parametrize("path", files("broker"), ids=lambda path: path.stem)
def test_our_broker_does_what_the_transcripts_say(path: Path) -> None:
    """In each release that a transcript names."""
    text = path.read_text(encoding="utf-8")
    transcripts = parsed(text)
    assert "\n".join(map(str, transcripts)) == text
    for transcript in transcripts:
        for release in transcript.releases:
            assert str(ours(transcript, release)) == str(transcript), release
