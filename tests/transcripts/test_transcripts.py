"""Ours does what the transcripts say; all but those of clusters are recorded from Kafka's own classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from statemachines.changes.change import Compared
from statemachines.controller.control_design import ControlDesign
from tests.kafka.receiver_comparison import with_other
from tests.transcripts.brokers import ours
from tests.transcripts.subjects import SUBJECTS
from tests.transcripts.transcript import files, parsed, texts


@pytest.mark.parametrize(
    ("subject", "path"),
    [pytest.param(subject, path, id=f"{subject}-{path.stem}") for subject in SUBJECTS for path in files(subject)],
)
def test_ours_does_what_the_transcripts_say(subject: str, path: Path) -> None:
    """In each release that a transcript names."""
    for text in texts(path):
        transcripts = parsed(text)
        assert "\n".join(map(str, transcripts)) == text
        for transcript in transcripts:
            for release in transcript.releases:
                assert str(SUBJECTS[subject].ours(transcript, release)) == str(transcript), release


def test_what_kafka_cannot_show_says_so() -> None:
    """No driver of Kafka has several brokers."""
    for path in files("cluster"):
        assert not any(each.is_recorded for each in parsed(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "rule", [rule for rule, change in ControlDesign.changes.items() if Compared.Receiver in change.compared]
)
def test_each_rule_of_a_receiving_broker_is_seen(rule: str) -> None:
    """A broker that has it the other way round contradicts a transcript, and so Kafka's own brokers."""
    transcripts = [each for path in files("broker") for each in parsed(path.read_text(encoding="utf-8"))]
    assert any(
        str(ours(transcript, release, with_other(rule))) != str(transcript)
        for transcript in transcripts
        for release in transcript.releases
    )
