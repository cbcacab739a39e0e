"""What stands behind the options of `kafkaspec what-if`, as values.

    --crash 1,3             brokers
    --reassign plan.json    a plan
    --unclean               of all topics
    --unclean-topic t       of one
    --create-topic t:12:3   a topic with so many partitions, and so many replicas of each
    --isr t-0=1,2           the ISR of a partition
    --min-isr 2, t=2        of all topics that do not say, or of one

What is none of these is refused in a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.events import (
    AllowUnclean,
    AnotherController,
    ClusterEvent,
    Crash,
    CreateTopic,
    ElectPreferred,
    Reassign,
    Rebalance,
    Return,
    Shutdown,
)
from spec.what_if.reading import read_plan
from statemachines.messages.topic_partition import TopicName, TopicPartition

__all__ = ["brokers_of", "events_of", "isrs_of", "min_isrs_of"]

OF_BROKERS: Final[Mapping[str, type[Crash] | type[Shutdown] | type[Return]]] = {
    "crash": Crash,
    "shutdown": Shutdown,
    "return": Return,
}
OF_ALL: Final[Mapping[str, ClusterEvent]] = {
    "unclean": AllowUnclean(),
    "prefer": ElectPreferred(),
    "rebalance": Rebalance(),
    "failover": AnotherController(),
}


def brokers_of(option: str, written: str) -> tuple[BrokerId, ...]:
    """Brokers, separated by commas.

    >>> brokers_of("--crash", "1, 3")
    (1, 3)

    Raises:
        UsageError: it is something else.
    """
    parts = [each.strip() for each in written.split(",")]
    if not all(re.fullmatch("[0-9]{1,9}", each) for each in parts):
        raise UsageError(f"{option} takes brokers, like 1,3, not {written!r}")
    return tuple(map(int, parts))


def events_of(asked: Iterable[tuple[str, Any]]) -> tuple[ClusterEvent, ...]:
    """Events, in the order in which they stand on the command line.

    >>> list(map(str, events_of([("crash", "1"), ("return", "1"), ("unclean", True)])))
    ['crash of 1', 'return of 1', 'unclean elections are permitted']

    Args:
        asked: names of options, without dashes, and what stood behind them.

    Raises:
        UsageError: one has no such value; a plan cannot be read.
    """
    events: list[ClusterEvent] = []
    for option, value in asked:
        if option in OF_BROKERS:
            events.append(OF_BROKERS[option](*brokers_of(f"--{option}", value)))
        elif option == "reassign":
            events.append(Reassign(read_plan(value)))
        elif option == "create-topic":
            events.append(_topic_of(value))
        elif option == "unclean-topic":
            events.append(AllowUnclean(value))
        else:
            events.append(OF_ALL[option])
    return tuple(events)


def _topic_of(written: str) -> CreateTopic:
    """A topic that is to be created.

    Raises:
        UsageError: it is no NAME:PARTITIONS:FACTOR.
    """
    found = re.fullmatch("([^:]+):([1-9][0-9]{0,5}):([1-9][0-9]{0,4})", written)
    if found is None:
        raise UsageError(f"--create-topic takes NAME:PARTITIONS:REPLICATION_FACTOR, like t:12:3, not {written!r}")
    return CreateTopic(found[1], int(found[2]), int(found[3]))


def isrs_of(written: Sequence[str]) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """ISRs of partitions.

    >>> isrs_of(["my-topic-0=1,2"])
    {TopicPartition(topic='my-topic', partition=0): (1, 2)}

    Raises:
        UsageError: one is no PARTITION=BROKERS.
    """
    isrs: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for each in written:
        found = re.fullmatch(r"(.+)-([0-9]{1,9})=(.+)", each)
        if found is None:
            raise UsageError(f"--isr takes TOPIC-PARTITION=BROKERS, like t-0=1,2, not {each!r}")
        partition = TopicPartition(found[1], int(found[2]))
        isr = brokers_of("--isr", found[3])
        if isrs.setdefault(partition, isr) != isr:
            raise UsageError(f"--isr {partition}: {isrs[partition]} and {isr} are two values")
        if len(set(isr)) != len(isr):
            raise UsageError(f"--isr {partition}: a broker is named twice: {found[3]}")
    return isrs


def min_isrs_of(written: Sequence[str]) -> tuple[int | None, dict[TopicName, int]]:
    """How many replicas have to be in sync: where a topic does not say, and of topics.

    >>> min_isrs_of(["2", "t=3"])
    (2, {'t': 3})

    Raises:
        UsageError: one is neither a number nor TOPIC=NUMBER, or there are two for the same.
    """
    of: dict[TopicName | None, int] = {}
    for each in written:
        topic, _, number = each.rpartition("=")
        if not re.fullmatch("[1-9][0-9]{0,5}", number) or each.startswith("="):
            raise UsageError(f"--min-isr takes a number from 1 on, or TOPIC=NUMBER, not {each!r}")
        if of.setdefault(topic or None, int(number)) != int(number):
            raise UsageError(f"--min-isr {topic or ''}: {of[topic or None]} and {number} are two values")
    return of.pop(None, None), {topic: number for topic, number in of.items() if topic is not None}
