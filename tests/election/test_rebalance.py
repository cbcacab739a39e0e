"""Leadership returns to the preferred replicas under the same conditions as in Kafka."""

from fractions import Fraction
from itertools import product

import pytest

from election import InvalidBrokers, Partition, imbalance_ratio, leader_for_preferred_replica, rebalance_candidates
from tests.election.cases import subsets
from tests.rows import rows

AT_HOME = Partition(replicas=(1, 2, 3), leader=1, isr=(1, 2, 3))
ASTRAY = Partition(replicas=(1, 2, 3), leader=2, isr=(2, 3, 1))
OUT_OF_SYNC = Partition(replicas=(1, 2, 3), leader=2, isr=(2, 3))
OFFLINE = Partition(replicas=(1, 2, 3), leader=None, isr=(1,))
NEW = Partition(replicas=(1, 2, 3))
ELSEWHERE = Partition(replicas=(2, 1, 3), leader=3, isr=(1, 2, 3))
BARE = Partition(replicas=(), leader=1, isr=(1,))


def named(*partitions: Partition) -> dict[int, Partition]:
    return dict(enumerate(partitions))


def partitions_of(at_home: int, astray: int) -> dict[int, Partition]:
    return named(*[AT_HOME] * at_home, *[ASTRAY] * astray)


@rows(
    "partitions, ratio",
    [
        ([], Fraction(0)),
        ([ELSEWHERE], Fraction(0)),
        ([BARE], Fraction(0)),
        ([AT_HOME], Fraction(0)),
        ([ASTRAY], Fraction(1)),
        ([AT_HOME, ASTRAY, AT_HOME], Fraction(1, 3)),
        ([AT_HOME, ASTRAY, ELSEWHERE], Fraction(1, 2)),
        ([AT_HOME, OUT_OF_SYNC], Fraction(1, 2)),
        ([AT_HOME, OFFLINE], Fraction(1, 2)),
        ([NEW], Fraction(0)),
        ([NEW, ASTRAY], Fraction(1, 2)),
    ],
)
def test_imbalance_ratio(partitions: list[Partition], ratio: Fraction) -> None:
    """Astray: once led, and not by the preferred broker. The ratio is over all partitions that prefer the broker."""
    assert ratio == imbalance_ratio(1, named(*partitions))


def test_ratio_compares_as_kafka_compares_doubles() -> None:
    """The exact comparison with the percentage agrees with Kafka's comparison in double precision."""
    for percentage, whole in product(range(101), range(1, 51)):
        for part in range(whole + 1):
            assert (Fraction(part, whole) > Fraction(percentage, 100)) == (part / whole > percentage / 100)


@rows("at_home, astray, moves", [(9, 1, 0), (8, 1, 1), (19, 2, 0), (18, 2, 0), (17, 2, 2)])
def test_threshold_has_to_be_exceeded(at_home: int, astray: int, moves: int) -> None:
    """By default more than a tenth must be astray: a tenth is not enough."""
    assert moves == len(rebalance_candidates(1, partitions_of(at_home, astray), {1, 2, 3}))


@rows("percentage, moves", [(0, 1), (49, 1), (50, 0), (51, 0), (100, 0)])
def test_threshold_can_be_set(percentage: int, moves: int) -> None:
    """One of two partitions astray exceeds 49 percent and does not exceed 50."""
    assert moves == len(rebalance_candidates(1, partitions_of(1, 1), {1, 2, 3}, percentage=percentage))


def test_candidates_come_in_the_order_given() -> None:
    """Candidates keep the order and the names of the given partitions."""
    partitions = {("b", 1): ASTRAY, ("a", 0): AT_HOME, ("a", 1): ASTRAY, ("b", 0): OFFLINE}
    assert rebalance_candidates(1, partitions, {1, 2, 3}) == (("b", 1), ("a", 1), ("b", 0))


def test_candidates_are_those_the_broker_is_fit_to_lead() -> None:
    """Partitions that are led at home, out of sync, new or preferred elsewhere do not move."""
    assert rebalance_candidates(1, named(AT_HOME, OUT_OF_SYNC, NEW, ELSEWHERE, BARE, ASTRAY), {1, 2, 3}) == (5,)


def test_immovable_partitions_count_in_the_ratio() -> None:
    """A partition out of sync does not move, yet it counts towards the threshold for others."""
    partitions = named(*[AT_HOME] * 8, OUT_OF_SYNC, ASTRAY)
    assert rebalance_candidates(1, partitions, {1, 2, 3}) == (9,)
    assert rebalance_candidates(1, partitions | {8: AT_HOME}, {1, 2, 3}) == ()


@pytest.mark.parametrize(
    ("live", "shutting_down"), [({2, 3}, set()), ({1, 2, 3}, {1})], ids=["dead", "shutting down"]
)
def test_broker_has_to_be_online(live: set[int], shutting_down: set[int]) -> None:
    """Nothing returns to a broker that is down or shutting down."""
    assert rebalance_candidates(1, named(ASTRAY), live, shutting_down=shutting_down) == ()


def test_rebalance_settles() -> None:
    """The preferred strategy elects exactly the candidates; once they are home, no candidates remain."""
    kinds = (AT_HOME, ASTRAY, OUT_OF_SYNC, OFFLINE, NEW, ELSEWHERE)
    for triple in product(kinds, repeat=3):
        for live in subsets((1, 2, 3)):
            partitions = named(*triple)
            for name in rebalance_candidates(1, partitions, live):
                before = partitions[name]
                result = leader_for_preferred_replica(before.replicas, before.isr or (), live)
                assert (1, before.isr) == (result.leader, result.isr)
                partitions[name] = before._replace(leader=result.leader)
            assert rebalance_candidates(1, partitions, live) == ()
            assert imbalance_ratio(1, partitions) <= imbalance_ratio(1, named(*triple))


@rows(
    "broker, partition, message",
    [
        (-1, AT_HOME, "broker: -1 is no broker id, allowed are the integers from 0 on"),
        (True, AT_HOME, "broker: True is no broker id, allowed are the integers from 0 on"),
        (1, Partition((2, 2)), "replicas of 't-0': broker 2 occurs twice in (2, 2), allowed is once"),
        (1, Partition((2,), 2, (3, 3)), "isr of 't-0': broker 3 occurs twice in (3, 3), allowed is once"),
        (1, Partition((2,), -1, (2,)), "leader of 't-0': -1 is no broker id, allowed are the integers from 0 on"),
        (1, Partition((2,), leader=2), "leader of 't-0': 2 leads without an isr, allowed is None"),
    ],
)
def test_malformed_partitions_are_refused(broker: int, partition: Partition, message: str) -> None:
    """Both functions name the partition, the value and the allowed values, even when no partition would move."""
    with pytest.raises(InvalidBrokers) as refusal:
        imbalance_ratio(broker, {"t-0": partition})
    assert message == str(refusal.value)
    with pytest.raises(InvalidBrokers) as refusal:
        rebalance_candidates(broker, {"t-0": partition}, {1, 2})
    assert message == str(refusal.value)


def test_malformed_brokers_are_refused() -> None:
    """Brokers are validated even without any partition."""
    with pytest.raises(InvalidBrokers, match="shutting_down: -3 is no broker id"):
        rebalance_candidates(1, {}, {1, 2}, shutting_down={-3})


def test_partitions_stay_as_they_were() -> None:
    """The search for candidates changes no partition."""
    partitions = named(AT_HOME, ASTRAY)
    rebalance_candidates(1, partitions, {1, 2, 3})
    assert named(AT_HOME, ASTRAY) == partitions
    with pytest.raises(AttributeError):
        ASTRAY.leader = 1  # type: ignore[misc]
