"""Checks of the brokers passed to an election."""

from collections.abc import Collection, Iterable, Sequence
from typing import SupportsIndex

from election.ids import Id


class InvalidBrokers(ValueError):
    """The brokers passed to an election contradict each other, or are not broker ids."""


def in_order(name: str, brokers: Sequence[Id]) -> tuple[Id, ...]:
    """Return `brokers`, the argument called `name`, as a tuple that contains each broker once.

    Raises InvalidBrokers for a repeated broker, a value that is no broker id, a set (sets have no order), or a value
    that is no sequence.

    >>> in_order("isr", [3, 1])
    (3, 1)
    >>> in_order("isr", [3, 1, 3])
    Traceback (most recent call last):
    election.brokers.InvalidBrokers: isr: broker 3 occurs twice in (3, 1, 3), allowed is once
    """
    if isinstance(brokers, (set, frozenset)):
        raise InvalidBrokers(f"{name}: {brokers!r} is a set, allowed is a sequence: the order decides")
    if not isinstance(brokers, Iterable):
        raise InvalidBrokers(f"{name}: {brokers!r} is no sequence of brokers, allowed are sequences of broker ids")
    ordered = tuple(brokers)
    _check_ids(name, ordered)
    if len(set(ordered)) != len(ordered):
        repeated = next(broker for broker in ordered if ordered.count(broker) > 1)
        raise InvalidBrokers(f"{name}: broker {repeated} occurs twice in {ordered}, allowed is once")
    return ordered


def up_and_leaving(live: Collection[Id], shutting_down: Collection[Id]) -> tuple[frozenset[Id], frozenset[Id]]:
    """Return the brokers that are up for a partition, and those that are shutting down, whether up for it or not.

    A broker that is shutting down is not up for a partition whose log directory has failed.
    Raises InvalidBrokers for a value that is no broker id.

    >>> up_and_leaving(live=[1, 2], shutting_down=[2, 3])
    (frozenset({1, 2}), frozenset({2, 3}))
    """
    _check_ids("live", live)
    _check_ids("shutting_down", shutting_down)
    return frozenset(live), frozenset(shutting_down)


def _check_ids(name: str, brokers: Iterable[object]) -> None:
    for broker in brokers:
        if isinstance(broker, int):
            is_id = not isinstance(broker, bool) and broker >= 0  # True would pass for broker 1
        else:
            is_id = isinstance(broker, SupportsIndex)
        if not is_id:
            raise InvalidBrokers(f"{name}: {broker!r} is no broker id, allowed are the integers from 0 on")
