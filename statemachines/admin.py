"""What administrators can ask of each release, and what its tools and brokers refuse before a controller sees it.

An administrator's client sends a request, if the release has one for it. Otherwise the release's tool writes a node:

    create_topic                 a request, in every release
    delete_topic                 a request, in every release; until 2.8 the tool can also write the node, even if the
                                 controller's broker does not know the topic
    create_partitions            a request since 1.0 (KIP-195)
    elect                        a request since 2.2 (KIP-183)
    reassign                     a request since 2.4 (KIP-455); kafka-reassign-partitions.sh sends it since 2.6

A replica of a new topic may be assigned to an unknown broker: Kafka does not check that. Left out: configurations
other than of unclean elections and min.insync.replicas, and removing these; brokers' own configurations, policies,
quotas, internal topics; a topic without any replicas, or with negative broker ids, which requests permit; the default
numbers of partitions and replicas; given replicas of added partitions; regular expressions as names, which
kafka-topics.sh takes [KAFKA-7037]; topics that brokers create by themselves [auto.create.topics.enable];
DeleteRecords; watches that a request's reads arm again, so that the controller looks once more at what it knows
[KAFKA-9498]; and the client, which asks until there is a controller: here a topic is created or deleted without one.

Long names are left out, too. From 0.10.2 to 2.2.1 a topic of more than 213 characters cannot be deleted, because the
directory of a deleted log gets too long a name; since 1.0 the log directory goes offline [KAFKA-4893, fixed in 2.2.2
and 2.3.0].

[AdminUtils.scala, AdminZkClient.scala, AdminManager.scala, ZkAdminManager.scala, KafkaApis.scala,
ReassignPartitionsCommand.scala, PreferredReplicaLeaderElectionCommand.scala; 0.10.1 to 3.9]
"""

import reprlib
from collections.abc import Collection, Mapping, Sequence

from election.brokers import in_order
from election.ids import BrokerId
from statemachines.changes.administration import AdminDesign
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import (
    TopicName,
    TopicPartition,
    checked_partition,
    checked_topic,
    has_collision,
)

Target = tuple[BrokerId, ...] | None
"""The target brokers of a partition; None cancels its reassignment."""


def validate_topic_create(
    name: object,
    replicas: object,
    topics: Collection[TopicName],
    marked: Collection[TopicName] = (),
    design: AdminDesign | None = None,
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
        marked: the topics whose deletion is requested.
        design: that of the release; by default of the newest.

    Raises:
        ValueError: Kafka refuses the topic.
    """
    topic, design = checked_topic(name), design or AdminDesign()
    if design.refuse_marked_topic and topic in marked:
        raise ValueError(f"topic {topic} is marked for deletion")
    if topic in topics:
        raise ValueError(f"there is a topic {topic} already")
    for other in sorted(topics):
        if has_collision(topic, other):
            why = "'.' and '_' are one character in the names of metrics"
            raise ValueError(f"topic {topic} collides with {other}: {why}")
    if not isinstance(replicas, Mapping) or not replicas:
        allowed = "allowed are mappings from the numbers from 0 on to brokers"
        raise ValueError(f"the partitions of {topic}: {reprlib.repr(replicas)}, {allowed}")
    numbers = sorted(number for number in replicas if type(number) is int and number >= 0)
    if len(numbers) < len(replicas) or (design.number_from_zero and numbers != [*range(len(replicas))]):
        most = f"to {len(replicas) - 1}, each once" if design.number_from_zero else "on"
        raise ValueError(
            f"the partitions of {topic}: {reprlib.repr([*replicas])}, allowed are the numbers from 0 {most}"
        )
    partitions = {TopicPartition(topic, number): brokers for number, brokers in replicas.items()}
    found = {each: ReplicaAssignment(_replicas(each, brokers)) for each, brokers in partitions.items()}
    require_equal_numbers(topic, found.values())
    return found


def require_equal_numbers(topic: TopicName, assignments: Collection[ReplicaAssignment]) -> None:
    """Require that all partitions of a topic have the same number of replicas.

    [AdminUtils.scala 440, 0.10.1.1; AdminZkClient.scala 150, 3.9.1]

    Raises:
        ValueError: they have not.
    """
    numbers = sorted({len(each.replicas) for each in assignments})
    if len(numbers) > 1:
        raise ValueError(
            f"the partitions of {topic} have {', '.join(map(str, numbers))} replicas, allowed is one number"
        )


def checked_targets(
    targets: object, by_request: bool = True, checks: bool = True
) -> tuple[tuple[TopicPartition, Target], ...]:
    """Return the target brokers of each partition.

    Args:
        targets: the brokers by partition; None cancels a reassignment.
        by_request: whether the controller checks the brokers, partition by partition; otherwise the tool refuses a
            plan as a whole.
        checks: whether the tool refuses empty lists.

    Raises:
        ValueError: `targets` is not such a mapping, or is empty; a broker is no integer; or the tool refuses a list.
    """
    if not isinstance(targets, Mapping) or not targets:
        allowed = "allowed are mappings from partitions to their new brokers"
        raise ValueError(f"the partitions to reassign: {reprlib.repr(targets)}, {allowed}")
    partitions = {checked_partition(each): target for each, target in targets.items()}
    cancelled = [each for each, target in partitions.items() if target is None]
    if cancelled and not by_request:
        raise ValueError("until 2.3 a reassignment cannot be cancelled")
    return tuple(
        (each, None if target is None else _target(each, target, by_request, checks))
        for each, target in partitions.items()
    )


def _target(partition: TopicPartition, brokers: object, by_request: bool, checks: bool) -> tuple[BrokerId, ...]:
    if by_request and isinstance(brokers, Sequence) and all(type(each) is int for each in brokers):
        return tuple(brokers)
    if not by_request and not checks and isinstance(brokers, Sequence) and not brokers:
        return ()
    return _replicas(partition, brokers)


def _replicas(partition: TopicPartition, brokers: object) -> tuple[BrokerId, ...]:
    where = f"the replicas of {partition}"
    ids: tuple[BrokerId, ...] = in_order(where, brokers)  # type: ignore[arg-type]  # refuses whatever is no sequence
    if not ids:
        raise ValueError(f"{where}: there are none, allowed is one broker or more")
    return ids
