"""Controllers that have a bug of Kafka: a transcript must show each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from election.ids import BrokerEpoch, BrokerId
from statemachines.controller.alter_partition import AlterPartitionOutcome, AlterPartitionProcessor
from statemachines.controller.calls import Calls, call
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.topic_partition import TopicPartition
from tests.transcripts.controllers import ours
from tests.transcripts.transcript import ROOT, parsed

Processor = type[ControllerEventProcessor]


class StartsStateMachinesBeforeTheFirstMetadata(ControllerEventProcessor):
    """As until 0.10.1: a broker refuses to follow a leader that it does not know. [B12]"""

    def on_controller_failover(self) -> Calls:
        calls = super().on_controller_failover()
        tell = call(self._tell_all)
        return (*(each for each in calls if each != tell), tell)


class TakesTheBouncedForTheSame(ControllerEventProcessor):
    """It knows a broker by its id alone, and one that restarted between two reads as the same. [B5]"""

    def _brokers_changed(self, registered: Sequence[tuple[BrokerId, BrokerEpoch]]) -> Calls:
        known = self.context.state.live_broker_epochs
        return super()._brokers_changed([(broker, known.get(broker, epoch)) for broker, epoch in registered])


class Altering(ControllerEventProcessor):
    """It judges the ISRs that leaders ask for in another way."""

    def judged(self, outcome: AlterPartitionOutcome | None, stale: bool) -> AlterPartitionOutcome | None:
        """Another outcome; stale is a request with an older version."""
        raise NotImplementedError

    def __init__(self, *made_of: Any, **named: Any) -> None:
        super().__init__(*made_of, **named)
        mutant = self

        class Judging(AlterPartitionProcessor):
            def _judged(self, partition: TopicPartition, new: LeaderAndIsr) -> AlterPartitionOutcome | None:
                known = self.context.leadership_of(partition)
                stale = known is not None and new.partition_epoch < known.leader_and_isr.partition_epoch
                return mutant.judged(super()._judged(partition, new), stale)

        self.alter_partition_processor.__class__ = Judging


class TakesWhoIsAhead(Altering):
    """It serves a leader that knows of a newer controller. [KAFKA-14154]"""

    def judged(self, outcome: AlterPartitionOutcome | None, stale: bool) -> AlterPartitionOutcome | None:
        return None if outcome is Errors.NOT_CONTROLLER else outcome


class AdmitsTheDead(Altering):
    """It does not check which brokers are live. [KAFKA-14140]"""

    def judged(self, outcome: AlterPartitionOutcome | None, stale: bool) -> AlterPartitionOutcome | None:
        return None if outcome is Errors.INELIGIBLE_REPLICA else outcome


class FencesRepeatedRequests(Altering):
    """It checks the version first, as between the two fixes of 3.3. [KAFKA-14144]"""

    def judged(self, outcome: AlterPartitionOutcome | None, stale: bool) -> AlterPartitionOutcome | None:
        return Errors.INVALID_UPDATE_VERSION if stale else outcome


MUTANTS: list[tuple[Processor, str]] = [
    (StartsStateMachinesBeforeTheFirstMetadata, "controlled_shutdown"),
    (TakesTheBouncedForTheSame, "brokers"),
    (TakesWhoIsAhead, "alter_partition"),
    (AdmitsTheDead, "alter_partition"),
    (FencesRepeatedRequests, "alter_partition"),
]
"""Each with the file of a transcript that shows it."""


@pytest.mark.parametrize(("mutant", "theme"), MUTANTS, ids=lambda each: getattr(each, "__name__", each))
def test_a_transcript_shows_each_mutant(mutant: Processor, theme: str) -> None:
    """Its controller does not do what Kafka's does."""
    transcripts = parsed((ROOT / "controller" / f"{theme}.txt").read_text(encoding="utf-8"))
    assert any(str(ours(each, each.releases[0], mutant)) != str(each) for each in transcripts)
