"""Our controller does what the transcripts say; most of them are recorded from Kafka's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transcripts.transcript import files, ours, parsed, texts


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_our_controller_does_what_the_transcripts_say(path: Path) -> None:
    """In each release that a transcript names."""
    for text in texts(path):
        transcripts = parsed(text)
        assert "\n".join(map(str, transcripts)) == text
        for transcript in transcripts:
            for release in transcript.releases:
                assert str(ours(transcript, release)) == str(transcript), release
