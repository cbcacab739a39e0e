"""The candidates of the preferred-leader rebalance beside KafkaController.checkAndTriggerAutoLeaderRebalance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from election import Partition, imbalance_ratio, rebalance_candidates
from spec.kafka.pure import PureCalls
from statemachines.releases import Release
from tests.election.cases import orderings, subsets
from tests.kafka.conftest import RELEASE, calling

OTHERS = ("2.8.2", "3.0.2", "3.5.2")
"""The other releases with jars whose controller has the rule: up to 2.2 it checks only
whether the broker is live."""
DURING_REASSIGNMENTS = Release("3.4.0")
"""The first that rebalances while partitions are being reassigned."""

Candidates: TypeAlias = Callable[..., tuple[int, ...]]


class Cluster(NamedTuple):
    """A controller's knowledge."""

    partitions: Sequence[Partition]
    live: frozenset[int]
    shutting_down: frozenset[int] = frozenset()
    percentage: int = 10
    queued: frozenset[int] = frozenset()
    """The indices of partitions whose topic is queued for deletion."""
    reassigned: frozenset[int] = frozenset()
    """The indices of partitions in reassignment."""

    def asked(self) -> dict[str, Any]:
        """The case as Kafka takes it."""
        return {
            "partitions": [
                [each.replicas, *((None, None) if each.isr is None else (_id(each.leader), each.isr))]
                for each in self.partitions
            ],
            "live": sorted(self.live),
            "shutting_down": sorted(self.shutting_down),
            "percentage": self.percentage,
            "queued": sorted(self.queued),
            "reassigned": sorted(self.reassigned),
        }

    def candidates(self, release: str, rule: Candidates = rebalance_candidates) -> list[int]:
        """Our answer: the indices of the partitions that return to their brokers."""
        if self.reassigned and Release(release) < DURING_REASSIGNMENTS:
            return []
        looked_at = {place: partition for place, partition in enumerate(self.partitions) if place not in self.queued}
        found: list[int] = []
        for broker in {each.replicas[0] for each in looked_at.values()}:
            found += rule(broker, looked_at, self.live, shutting_down=self.shutting_down, percentage=self.percentage)
        return sorted(found)


def _id(leader: int | None) -> int:
    return -1 if leader is None else leader


def states(brokers: tuple[int, ...]) -> Iterator[tuple[int | None, Sequence[int] | None]]:
    """Every leader with every ISR, and those of a new partition."""
    yield None, None
    yield from product([None, *brokers], map(tuple, map(sorted, subsets(brokers))))


def clusters(partitions: Iterable[Sequence[Partition]], percentages: Sequence[int]) -> Iterator[Cluster]:
    """Every cluster of three brokers with these partitions."""
    fates = list(product(["dead", "live", "shutting down"], repeat=3))
    for each, fate, percentage in product(partitions, fates, percentages):
        live = frozenset(broker for broker in range(3) if fate[broker] != "dead")
        leaving = frozenset(broker for broker in range(3) if fate[broker] == "shutting down")
        yield Cluster(each, live, leaving, percentage)


def with_one_partition() -> Iterator[Cluster]:
    """With any assignment and any state."""
    assignments = [replicas for replicas in orderings((0, 1, 2)) if replicas]
    partitions = [Partition(replicas, *state) for replicas, state in product(assignments, states((0, 1, 2)))]
    return clusters(((partition,) for partition in partitions), [10])


def with_two_partitions() -> Iterator[Cluster]:
    """Both prefer one broker, with any states."""
    partitions = [Partition((0, 1, 2), *state) for state in states((0, 1, 2))]
    return clusters(product(partitions, repeat=2), [0, 49, 50, 100])


class Difference(NamedTuple):
    """A cluster where Kafka chooses differently."""

    cluster: Cluster
    kafka: list[int]
    ours: list[int]


Observed: TypeAlias = Sequence[tuple[Cluster, list[int]]]
"""Clusters with Kafka's choices."""


def seen(pure: PureCalls, clusters: Iterable[Cluster]) -> Observed:
    """A release's choices in these clusters."""
    asked = list(clusters)
    answers = pure.of("Rebalances", (each.asked() for each in asked))
    return [(each, sorted(kafka)) for each, (_, kafka) in zip(asked, answers, strict=True)]


def differences(seen: Observed, release: str = RELEASE, rule: Candidates = rebalance_candidates) -> list[Difference]:
    """The clusters where this rule chooses differently."""
    both = ((each, kafka, each.candidates(release, rule)) for each, kafka in seen)
    return [Difference(*each) for each in both if each[1] != each[2]]


@pytest.fixture(scope="module")
def of_one_partition(pure: PureCalls) -> Observed:
    """The newest release's choices for one partition."""
    return seen(pure, with_one_partition())


def test_every_partition_among_three_brokers(of_one_partition: Observed) -> None:
    """Kafka agrees whether it returns to its broker."""
    assert len(of_one_partition) == 15 * (1 + 4 * 8) * 3**3
    assert differences(of_one_partition) == []


def test_pairs_of_partitions(pure: PureCalls) -> None:
    """Kafka returns as many of them, at and around the percentage."""
    assert differences(seen(pure, list(with_two_partitions())[::37])) == []


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    """A partition among up to five brokers."""
    brokers = st.integers(0, 4)
    replicas = tuple(draw(st.lists(brokers, unique=True, min_size=1)))
    if draw(st.integers(0, 5)) == 0:
        return Partition(replicas)
    isr = tuple(draw(st.lists(st.sampled_from(replicas), unique=True)))
    return Partition(replicas, draw(st.none() | st.sampled_from(replicas) | brokers), isr)


@st.composite
def larger(draw: st.DrawFn) -> Cluster:
    """Some partitions; one may be queued for deletion or in reassignment."""
    some = draw(st.lists(partitions(), min_size=1, max_size=12))
    places = st.sets(st.integers(0, len(some) - 1), max_size=2).map(frozenset)
    brokers = st.sets(st.integers(0, 4)).map(frozenset)
    live, few = draw(brokers), st.one_of(st.just(frozenset[int]()), places)
    return Cluster(some, live, live & draw(brokers), draw(st.sampled_from([0, 10, 33, 50])), draw(few), draw(few))


@pytest.mark.long
@settings(max_examples=20, deadline=None)
@given(st.lists(larger(), min_size=1, max_size=50))
def test_larger_clusters(pure: PureCalls, clusters: list[Cluster]) -> None:
    """Kafka chooses the same, and excludes the same."""
    assert differences(seen(pure, clusters)) == []


def given_something_else(wrong: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Candidates:
    """The rule with falsified arguments."""

    def rule(broker: int, partitions: Mapping[int, Partition], live: frozenset[int], **rest: Any) -> tuple[int, ...]:
        altered = wrong({"partitions": partitions, "live": live, **rest})
        return rebalance_candidates(broker, **altered)

    return rule


def at_the_percentage(
    broker: int, partitions: Mapping[int, Partition], live: frozenset[int], **rest: Any
) -> tuple[int, ...]:
    """At the percentage as well as beyond it."""
    ratio = imbalance_ratio(broker, partitions)
    rest["percentage"] -= ratio == rest["percentage"] / 100
    return rebalance_candidates(broker, partitions, live, **rest)


WRONG: dict[str, Candidates] = {
    "at the percentage": at_the_percentage,
    "brokers that shut down, too": given_something_else(lambda asked: {**asked, "shutting_down": ()}),
    "dead ones, too": given_something_else(lambda asked: {**asked, "live": range(3), "shutting_down": ()}),
    "without new partitions in the whole": given_something_else(
        lambda asked: {
            **asked,
            "partitions": {name: each for name, each in asked["partitions"].items() if each.isr is not None},
        }
    ),
}


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(rule, id=name, marks=() if name == "at the percentage" else pytest.mark.long)
        for name, rule in WRONG.items()
    ],
)
def test_a_rule_that_is_wrong(pure: PureCalls, wrong: Candidates) -> None:
    """Kafka contradicts it."""
    assert differences(seen(pure, list(with_two_partitions())[::37]), rule=wrong)


@pytest.mark.long
def test_every_pair_of_partitions(pure: PureCalls) -> None:
    """Kafka returns as many of them, at and around the percentage."""
    every = seen(pure, with_two_partitions())
    assert len(every) == 33**2 * 3**3 * 4
    assert differences(every) == []


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(st.lists(larger(), min_size=1, max_size=50))
def test_many_larger_clusters(pure: PureCalls, clusters: list[Cluster]) -> None:
    """Kafka chooses the same, and excludes the same."""
    assert differences(seen(pure, clusters)) == []


@pytest.mark.long
@pytest.mark.parametrize("release", OTHERS)
def test_other_releases(release: str) -> None:
    """One partition in any state, pairs, and, in early releases, no choice while any is being reassigned."""
    reassigning = [each._replace(reassigned=frozenset({0})) for each in list(with_two_partitions())[::37]]
    with calling(release) as calls:
        cases = seen(calls, [*with_one_partition(), *list(with_two_partitions())[::7], *reassigning])
    assert differences(cases, release) == []
