"""The values of the options of `kafkaspec what-if`.

    --crash 1,3             brokers
    --reassign plan.json    a plan
    --unclean               for all topics
    --unclean-topic t       for one
    --create-topic t:12:3   a topic with this many partitions, and replicas of each
    --isr t-0=1,2           the ISR of a partition
    --min-isr 2, t=2        the default for all topics, or the value of one

Anything else is refused in one line.
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
        UsageError: the text is something else.
    """
    parts = [each.strip() for each in written.split(",")]
    if not all(re.fullmatch("[0-9]{1,9}", each) for each in parts):
        raise UsageError(f"{option} takes brokers, like 1,3, not {written!r}")
    return tuple(map(int, parts))


def events_of(asked: Iterable[tuple[str, Any]]) -> tuple[ClusterEvent, ...]:
    """Events, in the order of the command line.

    >>> list(map(str, events_of([("crash", "1"), ("return", "1"), ("unclean", True)])))
    ['crash of 1', 'return of 1', 'unclean elections are permitted']

    Args:
        asked: names of options without dashes, with their values.

    Raises:
            UsageError: a value is invalid, or a plan cannot be read.
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
    """The topic to create.

    Raises:
        UsageError: it is not NAME:PARTITIONS:FACTOR.
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
        UsageError: one is not PARTITION=BROKERS.
    """
    isrs: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for each in written:
        found = re.fullmatch(r"(.+)-([0-9]{1,9})=(.+)", each)
        if found is None:
            raise UsageError(f"--isr takes TOPIC-PARTITION=BROKERS, like t-0=1,2, not {each!r}")
        partition = TopicPartition(found[1], int(found[2]))
        isr = brokers_of("--isr", found[3])
        if isrs.setdefault(partition, isr) != isr:
            raise UsageError(f"--isr {partition}: {isrs[partition]} and {isr} are different values")
        if len(set(isr)) != len(isr):
            raise UsageError(f"--isr {partition}: a broker is named twice: {found[3]}")
    return isrs


def min_isrs_of(written: Sequence[str]) -> tuple[int | None, dict[TopicName, int]]:
    """The values of min.insync.replicas: the default, and those of topics.

    >>> min_isrs_of(["2", "t=3"])
    (2, {'t': 3})

    Raises:
        UsageError: one is neither a number nor TOPIC=NUMBER, or two differ.
    """
    of: dict[TopicName | None, int] = {}
    for each in written:
        topic, _, number = each.rpartition("=")
        if not re.fullmatch("[1-9][0-9]{0,5}", number) or each.startswith("="):
            raise UsageError(f"--min-isr takes a number of at least 1, or TOPIC=NUMBER, not {each!r}")
        if of.setdefault(topic or None, int(number)) != int(number):
            raise UsageError(f"--min-isr {topic or ''}: {of[topic or None]} and {number} are different values")
    return of.pop(None, None), {topic: number for topic, number in of.items() if topic is not None}
