"""Malformed brokers are refused with an error that teaches."""

from typing import Any

import pytest

from election import STRATEGIES, InvalidBrokers, initialize_leader_and_isr
from tests.rows import rows

WELL_FORMED: dict[str, Any] = {"replicas": (1, 2), "isr": (1, 2), "live": {1, 2}, "shutting_down": {2}}

MALFORMED: list[tuple[str, Any, str]] = [
    ("replicas", (1, 2, 1), "replicas: broker 1 occurs twice in (1, 2, 1), allowed is once"),
    ("isr", (3, 2, 2), "isr: broker 2 occurs twice in (3, 2, 2), allowed is once"),
    ("replicas", (1, -1), "replicas: -1 is no broker id, allowed are the integers from 0 on"),
    ("isr", [-2], "isr: -2 is no broker id, allowed are the integers from 0 on"),
    ("live", {1, 2, -3}, "live: -3 is no broker id, allowed are the integers from 0 on"),
    ("shutting_down", [-1], "shutting_down: -1 is no broker id, allowed are the integers from 0 on"),
    ("replicas", (True, 2), "replicas: True is no broker id, allowed are the integers from 0 on"),
    ("live", [2, False], "live: False is no broker id, allowed are the integers from 0 on"),
    ("isr", "12", "isr: '1' is no broker id, allowed are the integers from 0 on"),
    ("live", {1.0, 2}, "live: 1.0 is no broker id, allowed are the integers from 0 on"),
    ("live", [[1], 2], "live: [1] is no broker id, allowed are the integers from 0 on"),
    ("isr", {2, 1}, "isr: {1, 2} is a set, allowed is a sequence: the order decides"),
    ("replicas", frozenset({1}), "replicas: frozenset({1}) is a set, allowed is a sequence: the order decides"),
]


@rows("strategy, argument, value, message", [(strategy, *row) for strategy in STRATEGIES for row in MALFORMED])
def test_strategies_refuse_invalid_brokers(strategy: str, argument: str, value: object, message: str) -> None:
    """Every strategy names the argument, the value and the allowed values, on one line."""
    with pytest.raises(InvalidBrokers) as refusal:
        STRATEGIES[strategy](**WELL_FORMED | {argument: value})
    assert message == str(refusal.value)


@rows("argument, value, message", [row for row in MALFORMED if row[0] != "isr"])
def test_initialization_refuses_invalid_brokers(argument: str, value: object, message: str) -> None:
    """The first election of a partition refuses the same."""
    arguments = {name: brokers for name, brokers in WELL_FORMED.items() if name != "isr"}
    with pytest.raises(InvalidBrokers) as refusal:
        initialize_leader_and_isr(**arguments | {argument: value})
    assert message == str(refusal.value)


class Replica:
    """A broker id that supports only comparison."""

    def __index__(self) -> int:
        raise AssertionError("the strategy calculates with a broker id")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_integer_likes_are_ids(strategy: str) -> None:
    """Strategies only compare brokers for equality, so a specification's interchangeable values are ids too."""
    leader, other = Replica(), Replica()
    elected = STRATEGIES[strategy]((leader, other), (other, leader), {leader, other}, shutting_down=())
    assert elected.leader is leader
    first = initialize_leader_and_isr((leader, other), {other}, shutting_down={leader})
    assert (first.leader, first.isr) == (other, (other,))


def test_refusal_is_a_value_error() -> None:
    """Code that catches ValueError catches a refusal."""
    assert issubclass(InvalidBrokers, ValueError)


def test_live_may_repeat_a_broker() -> None:
    """Where order means nothing, repetition means nothing."""
    assert initialize_leader_and_isr((1, 2), [2, 1, 2]) == initialize_leader_and_isr((1, 2), {1, 2})
