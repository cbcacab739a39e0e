"""The placement of replicas beside `AdminUtils.assignReplicasToBrokers` and `addPartitions`, of each release."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import pytest

from election import (
    InvalidBrokers,
    InvalidPartitions,
    InvalidReplicationFactor,
    RackAwareMode,
    assign_replicas_to_brokers,
    create_new_partitions_assignment,
)
from spec.kafka.jars import releases
from spec.kafka.pure import PureCalls
from statemachines.releases import Release
from tests.kafka.conftest import calling

REFUSED = {
    InvalidPartitions: "InvalidPartitionsException",
    InvalidReplicationFactor: "InvalidReplicationFactorException",
    InvalidBrokers: "AdminOperationException",
}
INVALID_PARTITIONS = Release("1.0.0")
"""The first release with a separate exception for partitions that are not added."""

Placed: TypeAlias = Mapping[int, Sequence[int]] | str
"""The replicas of each partition, or the exception that refuses them."""


class Cluster(NamedTuple):
    """Brokers, some with racks, and whether these count."""

    brokers: tuple[int, ...]
    racks: dict[int, str]
    mode: RackAwareMode | None
    """None: AdminUtils is called directly, with brokers in this order. Callers with a mode sort them first."""

    @property
    def ring(self) -> dict[str, Any]:
        return {
            "brokers": self.brokers if self.mode is None else sorted(self.brokers),
            "racks": self.racks,
            "mode": self.mode or RackAwareMode.ENFORCED,
        }

    @property
    def has_some_racks(self) -> bool:
        """Then this alone may be refused: the topic is otherwise valid, since Kafka may check in another order."""
        return 0 < len(self.racks) < len(self.brokers)

    def asked(self) -> dict[str, Any]:
        return {
            "brokers": [(broker, self.racks.get(broker)) for broker in self.brokers],
            "mode": self.mode and self.mode.value,
        }


class NewTopic(NamedTuple):
    """A new topic."""

    cluster: Cluster
    partitions: int
    replication_factor: int
    start_index: int
    """Start index and shift; -1 if the seed decides them."""
    start_partition: int
    seed: int

    def asked(self) -> dict[str, Any]:
        cluster, *numbers = self
        return {**cluster.asked(), **dict(zip(self._fields[1:], numbers, strict=True))}

    def placed(self, kafka: Mapping[str, Any], _: str) -> Mapping[int, Sequence[int]]:
        fixed, drawn = (self.start_index, self.start_index), (kafka.get("start_index", 0), kafka.get("shift", 0))
        start_index, shift = drawn if self.start_index == -1 else fixed
        return assign_replicas_to_brokers(
            partitions=self.partitions,
            replication_factor=self.replication_factor,
            start_index=start_index,
            shift=shift,
            start_partition=max(0, self.start_partition),
            **self.cluster.ring,
        )


class MorePartitions(NamedTuple):
    """A topic that receives more partitions."""

    cluster: Cluster
    existing: tuple[tuple[int, ...], ...]
    partitions: int

    def asked(self) -> dict[str, Any]:
        cluster, *numbers = self
        return {**cluster.asked(), **dict(zip(self._fields[1:], numbers, strict=True))}

    def placed(self, _: Mapping[str, Any], release: str) -> Mapping[int, Sequence[int]]:
        existing = dict(enumerate(self.existing))
        if Release(release) < INVALID_PARTITIONS and self.partitions <= len(existing):
            raise InvalidBrokers
        return {**existing, **create_new_partitions_assignment(existing, self.partitions, **self.cluster.ring)}


Question: TypeAlias = NewTopic | MorePartitions


def clusters(chance: random.Random, modes: Sequence[RackAwareMode | None]) -> Iterator[Cluster]:
    """Clusters of up to nine brokers in up to four racks."""
    while True:
        brokers = tuple(chance.sample(range(15), chance.randint(1, 9)))
        with_rack = chance.choice((0, 0.7, 1, 1))
        names = "abcd"[: chance.randint(1, 4)]
        racks = {broker: chance.choice(names) for broker in brokers if chance.random() < with_rack}
        yield Cluster(brokers, racks, chance.choice(modes))


def new_topics(chance: random.Random) -> Iterator[NewTopic]:
    """Topics; some of them are refused."""
    for cluster in clusters(chance, (None, *RackAwareMode)):
        wrong, brokers = not cluster.has_some_racks, len(cluster.brokers)
        yield NewTopic(
            cluster,
            partitions=chance.randint(1 - wrong, 12),
            replication_factor=chance.randint(1 - wrong, brokers + wrong),
            start_index=chance.randint(-1, brokers),
            start_partition=chance.choice((-1, 0, chance.randint(1, 20))),
            seed=chance.randrange(2**32),
        )


def more_partitions(chance: random.Random) -> Iterator[MorePartitions]:
    """Topics on brokers other than the present ones, perhaps with more replicas than there are brokers."""
    for cluster in clusters(chance, tuple(RackAwareMode)):
        wrong, brokers = not cluster.has_some_racks, len(cluster.brokers)
        factor = chance.randint(1, brokers + wrong)
        existing = tuple(tuple(chance.sample(range(15), factor)) for _ in range(chance.randint(1, 12)))
        yield MorePartitions(cluster, existing, len(existing) + chance.randint(1 - wrong, 9))


def questions(number: int, seed: int) -> list[Question]:
    """So many of each kind."""
    topics, additions = new_topics(random.Random(seed)), more_partitions(random.Random(seed))
    return [each for _ in range(number) for each in (next(topics), next(additions))]


class Difference(NamedTuple):
    """A question that a release answers differently."""

    question: Question
    kafka: Placed
    ours: Placed


def differences(pure: PureCalls, asked: Iterable[Question]) -> list[Difference]:
    """The questions where a release places replicas elsewhere, or refuses differently."""
    return [
        Difference(question, kafka, ours)
        for question, answer in pure.of("ReplicaPlacements", asked, lambda question: question.asked())
        if (kafka := of_kafka(answer)) != (ours := placed(question, answer, pure.release))
    ]


def of_kafka(answer: Mapping[str, Any]) -> Placed:
    """An answer of Java."""
    if "refused" in answer:
        return str(answer["refused"])
    return {partition: tuple(replicas) for partition, replicas in answer["assignment"]}


def placed(question: Question, answer: Mapping[str, Any], release: str) -> Placed:
    """Our answer, with the random numbers that Java reports."""
    try:
        return question.placed(answer, release)
    except (InvalidPartitions, InvalidReplicationFactor, InvalidBrokers) as refused:
        return REFUSED[type(refused)]


def test_replicas_are_placed_as_by_kafka(pure: PureCalls, first_seed: int) -> None:
    """In its newest release, also at random; refusals are the same."""
    asked = questions(200, first_seed)
    assert differences(pure, asked) == []


@pytest.mark.long
@pytest.mark.parametrize("release", releases())
def test_no_release_places_replicas_otherwise(release: str, first_seed: int) -> None:
    """A hundred thousand topics; half of them receive more partitions."""
    with calling(release) as calls:
        assert differences(calls, questions(50_000, first_seed)) == []


def test_all_kinds_are_asked(pure: PureCalls) -> None:
    """With and without racks, with and without random numbers, and each refusal."""
    asked = questions(200, seed=0)
    answers = [of_kafka(answer) for _, answer in pure.of("ReplicaPlacements", asked, lambda each: each.asked())]
    assert {each for each in answers if isinstance(each, str)} == {*REFUSED.values()}
    granted = [each for each, answer in zip(asked, answers, strict=True) if not isinstance(answer, str)]
    assert {(type(each), each.cluster.mode, bool(each.cluster.racks)) for each in granted} == {
        (kind, mode, racks)
        for kind, modes in ((NewTopic, (None, *RackAwareMode)), (MorePartitions, tuple(RackAwareMode)))
        for mode in modes
        for racks in (False, True)
    }
