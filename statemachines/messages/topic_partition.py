"""Names of partitions and their replicas: the keys of a controller's knowledge.

They sort by topic, then by number. This gives Kafka's unordered sets an order here.
"""

import re
import reprlib
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

from election.ids import BrokerId

LEGAL_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
"""The valid names of topics [Topic.java]."""

FEW: Final = 5
"""The number of partitions to list."""

TopicName = Annotated[str, "a topic's name"]
"""A topic."""

PartitionId = Annotated[int, "a partition's number"]
"""A partition of its topic; an integer from 0 on."""


class TopicPartition(NamedTuple):
    """A partition of a topic [TopicPartition.java]."""

    topic: TopicName
    partition: PartitionId

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def checked_topic(name: object) -> TopicName:
    """Return the name of a topic unchanged, if it is valid.

    >>> checked_topic(".")
    Traceback (most recent call last):
    ValueError: no topic is called '.': a name has 1 to 249 of A-Z, a-z, 0-9, '.', '_' and '-', and is not '.' or '..'

    Raises:
        ValueError: Kafka does not allow this name.
    """
    if isinstance(name, str) and LEGAL_NAME.fullmatch(name):
        return name
    allowed = "a name has 1 to 249 of A-Z, a-z, 0-9, '.', '_' and '-', and is not '.' or '..'"
    raise ValueError(f"no topic is called {reprlib.repr(name)}: {allowed}")


def has_collision(topic: TopicName, other: TopicName) -> bool:
    """Whether Kafka's metrics confuse two topics, because "." and "_" are the same there. [Topic.hasCollision]

    >>> has_collision("a.b", "a_b"), has_collision("a.b", "ab")
    (True, False)
    """
    return topic.replace(".", "_") == other.replace(".", "_")


def checked_partition(pair: object) -> TopicPartition:
    """Return a pair as a partition, if it is valid.

    >>> checked_partition(("t", 0))
    TopicPartition(topic='t', partition=0)
    >>> checked_partition(("t", -1))
    Traceback (most recent call last):
    ValueError: ('t', -1) is no partition, allowed are pairs of a topic's name and a number from 0 on

    Raises:
        ValueError: it is no partition.
    """
    match pair:
        case (str(topic), int(number)) if number >= 0 and not isinstance(number, bool):
            return TopicPartition(topic, number)
    allowed = "allowed are pairs of a topic's name and a number from 0 on"
    raise ValueError(f"{reprlib.repr(pair)} is no partition, {allowed}")


class PartitionAndReplica(NamedTuple):
    """The replica of a partition on one broker [KafkaController.scala, 3.9]."""

    topic_partition: TopicPartition
    replica: BrokerId

    def __str__(self) -> str:
        return f"{self.topic_partition} on {self.replica}"


def named(partitions: Sequence[TopicPartition]) -> str:
    """The names of the first few partitions.

    >>> named([TopicPartition("t", number) for number in range(7)])
    't-0, t-1, t-2, t-3, t-4 and 2 more'
    """
    more = f" and {len(partitions) - FEW:,} more" if len(partitions) > FEW else ""
    return ", ".join(map(str, partitions[:FEW])) + more
