"""What partitions and their replicas are called: keys of all that a controller knows.

They sort by topic, then by number, so that whatever Kafka keeps in sets without an order has one here.
"""

import re
import reprlib
from typing import Annotated, Final, NamedTuple

from election.ids import BrokerId

__all__ = [
    "LEGAL_NAME",
    "PartitionAndReplica",
    "PartitionId",
    "TopicName",
    "TopicPartition",
    "checked_partition",
    "checked_topic",
    "has_collision",
]

LEGAL_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
"""What a topic may be called [Topic.java]."""

TopicName = Annotated[str, "a topic's name"]
"""Which topic."""

PartitionId = Annotated[int, "a partition's number"]
"""Which partition of its topic; an integer from 0 on."""


class TopicPartition(NamedTuple):
    """A partition of a topic [TopicPartition.java]."""

    topic: TopicName
    partition: PartitionId

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def checked_topic(name: object) -> TopicName:
    """The name of a topic, as it is.

    >>> checked_topic(".")
    Traceback (most recent call last):
    ValueError: no topic is called '.': a name has 1 to 249 of A-Z, a-z, 0-9, '.', '_' and '-', and is not '.' or '..'

    Raises:
        ValueError: Kafka has no topic of this name.
    """
    if isinstance(name, str) and LEGAL_NAME.fullmatch(name):
        return name
    allowed = "a name has 1 to 249 of A-Z, a-z, 0-9, '.', '_' and '-', and is not '.' or '..'"
    raise ValueError(f"no topic is called {reprlib.repr(name)}: {allowed}")


def has_collision(topic: TopicName, other: TopicName) -> bool:
    """Whether two topics have one name in Kafka's metrics, where "." and "_" are the same. [Topic.hasCollision]

    >>> has_collision("a.b", "a_b"), has_collision("a.b", "ab")
    (True, False)
    """
    return topic.replace(".", "_") == other.replace(".", "_")


def checked_partition(pair: object) -> TopicPartition:
    """The partition that a pair is.

    >>> checked_partition(("t", 0))
    TopicPartition(topic='t', partition=0)
    >>> checked_partition(("t", -1))
    Traceback (most recent call last):
    ValueError: ('t', -1) is no partition, allowed are pairs of a topic's name and a number from 0 on

    Raises:
        ValueError: it is none.
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
