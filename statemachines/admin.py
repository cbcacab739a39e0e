"""What an administrator is refused before a controller hears of it: topics and moves that cannot be.

A replica may be assigned to a broker that nobody has heard of: Kafka does not look when a topic is created. It looks
whether all partitions of a topic have as many replicas, which is left out: a reassignment can change that at once.

[validateTopicCreate in AdminZkClient.scala, AdminUtils.scala; ReassignPartitionsCommand.scala; 0.10 to 3.9]
"""

import reprlib
from collections.abc import Collection, Mapping

from election.brokers import in_order
from election.ids import BrokerId
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import (
    TopicName,
    TopicPartition,
    checked_partition,
    checked_topic,
    has_collision,
)

__all__ = ["checked_targets", "validate_topic_create"]


def validate_topic_create(
    name: object, replicas: object, topics: Collection[TopicName]
) -> dict[TopicPartition, ReplicaAssignment]:
    """How the partitions of a topic are assigned that is to be created.

    >>> validate_topic_create("t", {0: (1, 2)}, topics=["u"])[("t", 0)].replicas
    (1, 2)
    >>> validate_topic_create("a_b", {0: (1, 2)}, topics=["a.b"])
    Traceback (most recent call last):
    ValueError: topic a_b collides with a.b: '.' and '_' are one character in the names of metrics

    Args:
        name: of the topic.
        replicas: of each partition, the brokers that are to keep it.
        topics: those that there are.

    Raises:
        ValueError: Kafka refuses it.
    """
    topic = checked_topic(name)
    if topic in topics:
        raise ValueError(f"there is a topic {topic} already")
    for other in sorted(topics):
        if has_collision(topic, other):
            why = "'.' and '_' are one character in the names of metrics"
            raise ValueError(f"topic {topic} collides with {other}: {why}")
    if not isinstance(replicas, Mapping) or not replicas:
        allowed = "allowed are mappings of the numbers from 0 on to the brokers that keep them"
        raise ValueError(f"the partitions of {topic}: {reprlib.repr(replicas)}, {allowed}")
    if sorted(number for number in replicas if type(number) is int) != [*range(len(replicas))]:
        allowed = f"allowed are the numbers from 0 to {len(replicas) - 1}, each once"
        raise ValueError(f"the partitions of {topic}: {reprlib.repr([*replicas])}, {allowed}")
    partitions = {TopicPartition(topic, number): brokers for number, brokers in replicas.items()}
    return {each: ReplicaAssignment(_replicas(each, brokers)) for each, brokers in partitions.items()}


def checked_targets(targets: object) -> tuple[tuple[TopicPartition, tuple[BrokerId, ...] | None], ...]:
    """Which brokers are to keep which partitions; None: a partition is not to move any more.

    Raises:
        ValueError: that is not what is given, or no partition is.
    """
    if not isinstance(targets, Mapping) or not targets:
        allowed = "allowed are mappings of partitions to the brokers that are to keep them"
        raise ValueError(f"the partitions to reassign: {reprlib.repr(targets)}, {allowed}")
    partitions = {checked_partition(each): target for each, target in targets.items()}
    return tuple((each, None if target is None else _replicas(each, target)) for each, target in partitions.items())


def _replicas(partition: TopicPartition, brokers: object) -> tuple[BrokerId, ...]:
    where = f"the replicas of {partition}"
    ids: tuple[BrokerId, ...] = in_order(where, brokers)  # type: ignore[arg-type]  # what is no sequence it refuses
    if not ids:
        raise ValueError(f"{where}: there are none, allowed is one broker or more")
    return ids
