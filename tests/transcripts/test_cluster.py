"""A cluster of ours does what the transcripts say; none of Kafka's drivers has several brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transcripts.clusters import ours
from tests.transcripts.transcript import files, parsed


@pytest.mark.parametrize("path", files("cluster"), ids=lambda path: path.stem)
def test_a_cluster_does_what_the_transcripts_say(path: Path) -> None:
    """In each release that a transcript names."""
    text = path.read_text(encoding="utf-8")
    transcripts = parsed(text)
    assert "\n".join(map(str, transcripts)) == text
    for transcript in transcripts:
        assert not transcript.is_recorded
        for release in transcript.releases:
            assert str(ours(transcript, release)) == str(transcript), release
