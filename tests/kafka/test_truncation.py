"""The truncation of KIP-279 beside AbstractFetcherThread.getOffsetTruncationState, of each release that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple, TypeAlias

import pytest

from spec.kafka.jars import releases
from spec.kafka.pure import PureCalls
from spec.systems.replication.replica_log import Record, ReplicaLog
from statemachines.broker.log.leader_epochs import EpochEndOffset
from statemachines.broker.log.truncation import Truncation, kip_279
from statemachines.releases import Release
from tests.kafka.conftest import RELEASE, calling

OLDEST = Release("2.0.0")
"""The first release that has the rule."""
OTHERS = [each for each in releases() if Release(each) >= OLDEST and each != RELEASE]

Rule: TypeAlias = Callable[[ReplicaLog, EpochEndOffset, int | None], Truncation]


class Answered(NamedTuple):
    """A follower after its leader's answer."""

    log: tuple[int, ...]
    """The leader epochs of its records."""

    fetch_offset: int
    answer: EpochEndOffset

    def asked(self) -> dict[str, Any]:
        """The case as Kafka takes it."""
        return {"log": self.log, "fetch_offset": self.fetch_offset, **self.answer._asdict()}

    def truncated(self, rule: Rule = kip_279) -> Truncation:
        """Our truncation."""
        follower = ReplicaLog(tuple(Record(offset, epoch) for offset, epoch in enumerate(self.log)))
        return rule(follower, self.answer, self.fetch_offset)


def cases(most_records: int) -> Iterator[Answered]:
    """Every follower with so many records in four epochs, at every offset, with every answer."""
    for length in range(most_records + 1):
        for log in combinations_with_replacement(range(4), length):
            for fetch_offset, epoch, end_offset in product(range(length + 1), range(-1, 5), range(-1, length + 2)):
                yield Answered(log, fetch_offset, EpochEndOffset(epoch, end_offset))


Truncations: TypeAlias = list[tuple[Answered, Truncation]]


def of_kafka(pure: PureCalls) -> Truncations:
    """A release's truncations of logs of up to three records."""
    asked = list(cases(3))
    answers = pure.of("Truncations", (each.asked() for each in asked))
    return [(each, Truncation(**truncation)) for each, (_, truncation) in zip(asked, answers, strict=True)]


@pytest.fixture(scope="module")
def truncations(pure: PureCalls) -> Truncations:
    """The newest release's truncations of them."""
    return of_kafka(pure)


def test_every_truncation(truncations: Truncations) -> None:
    """To the same offset, and equally complete."""
    assert len(truncations) > 3_000
    assert [(each, kafka) for each, kafka in truncations if each.truncated() != kafka] == []


def without_asking_again(follower: ReplicaLog, answer: EpochEndOffset, fetch_offset: int | None) -> Truncation:
    """One round."""
    return kip_279(follower, answer, fetch_offset)._replace(done=True)


def by_the_offset_alone(follower: ReplicaLog, answer: EpochEndOffset, fetch_offset: int | None) -> Truncation:
    """By the rule of KIP-101."""
    return kip_279(follower, answer._replace(epoch=-1), fetch_offset)


def without_where_it_stands(follower: ReplicaLog, answer: EpochEndOffset, fetch_offset: int | None) -> Truncation:
    """From the high watermark, although the log has been truncated already."""
    return kip_279(follower, answer, None)


@pytest.mark.parametrize("wrong", [without_asking_again, by_the_offset_alone, without_where_it_stands])
def test_a_wrong_rule_is_refuted(truncations: Truncations, wrong: Rule) -> None:
    """Kafka contradicts it."""
    assert any(each.truncated(wrong) != kafka for each, kafka in truncations)


@pytest.mark.long
@pytest.mark.parametrize("release", OTHERS)
def test_every_truncation_of_other_releases(release: str) -> None:
    """To the same offset, and equally complete: all releases have the same rule."""
    with calling(release) as calls:
        assert [(each, kafka) for each, kafka in of_kafka(calls) if each.truncated() != kafka] == []
