"""Requests that an administrator's tools refuse before a controller sees them: impossible topics and moves.

A replica may be assigned to an unknown broker: Kafka does not check that when a topic is created. Left out: Kafka
checks that all partitions of a new topic have equally many replicas, but a reassignment can change that at once.

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
    """Return the assignment of the partitions of a topic that is about to be created.

    >>> validate_topic_create("t", {0: (1, 2)}, topics=["u"])[("t", 0)].replicas
    (1, 2)
    >>> validate_topic_create("a_b", {0: (1, 2)}, topics=["a.b"])
    Traceback (most recent call last):
    ValueError: topic a_b collides with a.b: '.' and '_' are one character in the names of metrics

    Args:
        name: the topic's name.
        replicas: the brokers of each partition.
        topics: the existing topics.

    Raises:
        ValueError: Kafka refuses the topic.
    """
    topic = checked_topic(name)
    if topic in topics:
        raise ValueError(f"there is a topic {topic} already")
    for other in sorted(topics):
        if has_collision(topic, other):
            why = "'.' and '_' are one character in the names of metrics"
            raise ValueError(f"topic {topic} collides with {other}: {why}")
    if not isinstance(replicas, Mapping) or not replicas:
        allowed = "allowed are mappings from the numbers from 0 on to brokers"
        raise ValueError(f"the partitions of {topic}: {reprlib.repr(replicas)}, {allowed}")
    if sorted(number for number in replicas if type(number) is int) != [*range(len(replicas))]:
        allowed = f"allowed are the numbers from 0 to {len(replicas) - 1}, each once"
        raise ValueError(f"the partitions of {topic}: {reprlib.repr([*replicas])}, {allowed}")
    partitions = {TopicPartition(topic, number): brokers for number, brokers in replicas.items()}
    return {each: ReplicaAssignment(_replicas(each, brokers)) for each, brokers in partitions.items()}


def checked_targets(targets: object) -> tuple[tuple[TopicPartition, tuple[BrokerId, ...] | None], ...]:
    """Return the target brokers of each partition; None cancels the partition's reassignment.

    Raises:
        ValueError: `targets` is not such a mapping, or is empty.
    """
    if not isinstance(targets, Mapping) or not targets:
        allowed = "allowed are mappings from partitions to their new brokers"
        raise ValueError(f"the partitions to reassign: {reprlib.repr(targets)}, {allowed}")
    partitions = {checked_partition(each): target for each, target in targets.items()}
    return tuple((each, None if target is None else _replicas(each, target)) for each, target in partitions.items())


def _replicas(partition: TopicPartition, brokers: object) -> tuple[BrokerId, ...]:
    where = f"the replicas of {partition}"
    ids: tuple[BrokerId, ...] = in_order(where, brokers)  # type: ignore[arg-type]  # refuses whatever is no sequence
    if not ids:
        raise ValueError(f"{where}: there are none, allowed is one broker or more")
    return ids
