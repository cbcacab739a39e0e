"""Where Kafka places the replicas of a new topic, and of partitions added later.

The brokers form a ring. The first replica of each partition goes to the next broker of the ring, the others to the
brokers after it, skipping a few. Each round through the ring skips one more, so that the same brokers do not share
all their partitions. Five brokers, ten partitions with three replicas; three of the partitions:

>>> placed = assign_replicas_to_brokers(range(5), partitions=10, replication_factor=3)
>>> placed[0], placed[1], placed[5]
((0, 1, 2), (1, 2, 3), (0, 2, 3))

With racks, the ring alternates between racks, and replicas go to racks that have none of the partition yet, until
each has one [KIP-36, 0.10.0]. Brokers without racks share one rack.

==============  =====================================================================================
mode            use of racks [RackAwareMode.scala; getBrokerMetadatas in AdminZkClient.scala]
==============  =====================================================================================
ENFORCED        racks count; a mix of brokers with and without racks is refused
SAFE            racks count if every broker has one
DISABLED        racks do not count
==============  =====================================================================================

Topics that a client creates use ENFORCED, or DISABLED with `--disable-rack-aware` [TopicCommand.scala, 2.8]. Topics
that a broker creates automatically use SAFE [KafkaApis.scala, 2.6], and ENFORCED since 2.8.

Fourteen releases from 0.10.2.2 to 3.9.1 were compared and do not differ: AdminUtils.scala until 3.5, AdminUtils.java
since 3.6. Values that Kafka draws at random are arguments here.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import zip_longest

from election.brokers import InvalidBrokers, in_order
from election.ids import BrokerId


class InvalidPartitions(ValueError):
    """The number of partitions is out of bounds, or no partition can be added [InvalidPartitionsException]."""


class InvalidReplicationFactor(ValueError):
    """The number of replicas is out of bounds [InvalidReplicationFactorException]."""


class RackAwareMode(Enum):
    """Whether the racks of brokers count [RackAwareMode.scala]."""

    DISABLED = "disabled"
    ENFORCED = "enforced"
    SAFE = "safe"


def assign_replicas_to_brokers(
    brokers: Sequence[BrokerId],
    partitions: int,
    replication_factor: int,
    *,
    racks: Mapping[BrokerId, str] | None = None,
    mode: RackAwareMode = RackAwareMode.ENFORCED,
    start_index: int = 0,
    shift: int = 0,
    start_partition: int = 0,
) -> dict[int, tuple[BrokerId, ...]]:
    """Return the replicas of each partition, the preferred leader first [AdminUtils.java, 3.9].

    `brokers` are the registered brokers, in the order of the ring. Kafka sorts them by id, except for a CreateTopics
    request, which takes the order of the metadata cache. Racks override this order. Partitions are numbered from
    `start_partition` on, which also shifts where the ring is entered.

    >>> racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    >>> assign_replicas_to_brokers(range(6), 3, 3, racks=racks)
    {0: (0, 3, 1), 1: (3, 1, 5), 2: (1, 5, 4)}

    For each new topic Kafka draws `start_index`, the place in the ring where partition 0 begins, and `shift`, the
    number of brokers that its other replicas skip. To randomize them, draw both from the number of brokers:

    >>> import random
    >>> chance = random.Random(7)
    >>> assign_replicas_to_brokers(range(6), 3, 3, start_index=chance.randrange(6), shift=chance.randrange(6))
    {0: (2, 4, 5), 1: (3, 5, 0), 2: (4, 0, 1)}

    Raises InvalidPartitions and InvalidReplicationFactor for numbers out of bounds. Raises InvalidBrokers when the
    brokers are malformed, or when racks are enforced and only some brokers have one.
    """
    ordered = in_order("brokers", brokers)
    if partitions < 1:
        raise InvalidPartitions(f"partitions: {partitions}, allowed are the integers from 1 on")
    if not 1 <= replication_factor <= len(ordered):
        raise InvalidReplicationFactor(
            f"replication_factor: {replication_factor}, allowed are 1 and more, up to the number of brokers, "
            f"{len(ordered)}"
        )
    for name, number in {"start_index": start_index, "shift": shift, "start_partition": start_partition}.items():
        if number < 0:
            raise ValueError(f"{name}: {number}, allowed are the integers from 0 on")

    counted = _by_count(ordered, racks or {}, mode)
    ring = _rack_alternated(counted) if counted else ordered
    rack_of = counted or dict.fromkeys(ordered, "")
    number_of_racks = len(set(rack_of.values()))

    assignment = {}
    for partition in range(start_partition, start_partition + partitions):
        if partition > 0 and partition % len(ring) == 0:
            shift += 1
        others = deque(ring)
        others.rotate(-(start_index + partition))
        replicas = [others.popleft()]
        others.rotate(-shift * number_of_racks)
        for broker in (*others, *others):  # after one round, every rack has been found
            if len(replicas) == replication_factor:
                break
            taken = {rack_of[replica] for replica in replicas}
            if broker not in replicas and (rack_of[broker] not in taken or len(taken) == number_of_racks):
                replicas.append(broker)
        assignment[partition] = tuple(replicas)
    return assignment


def create_new_partitions_assignment(
    existing: Mapping[int, Sequence[BrokerId]],
    partitions: int,
    brokers: Sequence[BrokerId],
    *,
    racks: Mapping[BrokerId, str] | None = None,
    mode: RackAwareMode = RackAwareMode.ENFORCED,
) -> dict[int, tuple[BrokerId, ...]]:
    """Return the replicas of the partitions to add so that a topic has `partitions` of them.

    `existing` are the replicas of its present partitions. Each new one gets as many replicas as partition 0. Nothing
    is random: start index and shift are both the position in `brokers` of the first replica of partition 0. If that
    broker is gone, it is the position of the next higher id, or 0 [createNewPartitionsAssignment in
    AdminZkClient.scala, 3.9; addPartitions until 2.7]. So a topic that grows one partition at a time differs from one
    that was created with all of them:

    >>> assign_replicas_to_brokers((1, 2, 3), 3, 2, start_index=1)
    {0: (2, 3), 1: (3, 1), 2: (1, 2)}
    >>> create_new_partitions_assignment({0: (2, 3)}, 3, (1, 2, 3))
    {1: (3, 2), 2: (1, 3)}

    With racks the position is still that in `brokers`, and leads to another broker of the ring.

    Raises InvalidPartitions if `partitions` does not exceed the number of existing ones, or if partition 0 has no
    replicas, and the errors of `assign_replicas_to_brokers`.
    """
    ordered = in_order("brokers", brokers)
    pattern = in_order("replicas of partition 0", existing.get(0, ()))
    if not pattern:
        raise InvalidPartitions("existing: partition 0 has no replicas, and the new ones are placed like it")
    added = partitions - len(existing)
    if added < 1:
        raise InvalidPartitions(f"partitions: {partitions}, allowed are the integers from {len(existing) + 1} on")
    place = next((place for place, broker in enumerate(ordered) if broker >= pattern[0]), 0)
    return assign_replicas_to_brokers(
        ordered,
        added,
        len(pattern),
        racks=racks,
        mode=mode,
        start_index=place,
        shift=place,
        start_partition=len(existing),
    )


def _by_count(
    brokers: tuple[BrokerId, ...], racks: Mapping[BrokerId, str], mode: RackAwareMode
) -> dict[BrokerId, str]:
    """The racks of these brokers; empty if racks do not count."""
    known = {broker: racks[broker] for broker in brokers if broker in racks}
    if mode is RackAwareMode.DISABLED or not known:
        return {}
    if len(known) == len(brokers):
        return known
    if mode is RackAwareMode.ENFORCED:
        without = ", ".join(str(broker) for broker in brokers if broker not in known)
        raise InvalidBrokers(f"racks: brokers {without} have none, allowed are racks of all brokers or of none")
    return {}


def _rack_alternated(rack_of: Mapping[BrokerId, str]) -> tuple[BrokerId, ...]:
    """The brokers in turns, one of each rack: racks by their names, brokers by their ids."""
    by_rack = [
        sorted(broker for broker in rack_of if rack_of[broker] == rack) for rack in sorted(set(rack_of.values()))
    ]
    return tuple(broker for turn in zip_longest(*by_rack) for broker in turn if broker is not None)
