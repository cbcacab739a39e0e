"""Our broker does what the transcripts say, which are recorded from Kafka's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from statemachines.changes.change import Compared
from statemachines.controller.control_design import ControlDesign
from tests.kafka.receiver_comparison import with_other
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


@pytest.mark.parametrize(
    "rule", [rule for rule, change in ControlDesign.changes.items() if Compared.Receiver in change.compared]
)
def test_each_rule_that_a_release_changed_is_seen(rule: str) -> None:
    """A broker that has it the other way round contradicts a transcript, and so Kafka's own brokers."""
    transcripts = [each for path in files("broker") for each in parsed(path.read_text(encoding="utf-8"))]
    assert any(
        str(ours(transcript, release, with_other(rule))) != str(transcript)
        for transcript in transcripts
        for release in transcript.releases
    )
