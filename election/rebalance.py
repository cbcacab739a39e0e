"""The automatic return of leadership to the preferred replicas.

When a broker fails others take over, and its return alone does not bring leadership back. So every
leader.imbalance.check.interval.seconds the controller checks, for each broker, the partitions that prefer it. If the
broker does not lead more than leader.imbalance.per.broker.percentage of them, a preferred election is held for
those that it is fit to lead [KafkaController.scala, 3.9].

The caller must leave out the partitions that Kafka skips: those of topics queued for deletion and, up to 3.3, all
partitions while any partition is being reassigned [KafkaController.scala, 3.3].
"""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple, TypeVar

from election.brokers import InvalidBrokers, in_order, up_and_leaving
from election.ids import BrokerId
from election.strategies import leader_for_preferred_replica

LEADER_IMBALANCE_PER_BROKER_PERCENTAGE: Final = 10
"""Kafka's default for leader.imbalance.per.broker.percentage [ReplicationConfigs.java, 3.9]."""

Name = TypeVar("Name")
"""The caller's name for a partition, such as ("topic", 0)."""


class Partition(NamedTuple):
    """A partition as the controller's context holds it [ControllerContext.scala, 3.9]."""

    replicas: Sequence[BrokerId]
    """The assigned replicas; the first is the preferred one."""

    leader: BrokerId | None = None
    """The leader, or None where Kafka writes -1: the partition lost its leader and has no new one."""

    isr: Sequence[BrokerId] | None = None
    """The in-sync replicas, or None for a new partition, which never had a leader."""


def imbalance_ratio(broker: BrokerId, partitions: Mapping[Name, Partition]) -> Fraction:
    """Return the share of the partitions preferring `broker` that have another leader, or have lost theirs.

    A partition that never had a leader counts in the denominator only. The ratio is exact. It is 0 if no partition
    prefers `broker`; Kafka does not check such a broker [KafkaController.scala, 3.9].

    Raises InvalidBrokers when `broker` or a partition is malformed.

    >>> partitions = {
    ...     "at home": Partition(replicas=(1, 2), leader=1, isr=(1, 2)),
    ...     "led by 2": Partition(replicas=(1, 2), leader=2, isr=(1, 2)),
    ...     "offline": Partition(replicas=(1, 2), leader=None, isr=(1, 2)),
    ...     "new": Partition(replicas=(1, 2)),
    ... }
    >>> imbalance_ratio(1, partitions)
    Fraction(1, 2)
    """
    preferring = _partitions_preferring(broker, partitions)
    if not preferring:
        return Fraction(0)
    return Fraction(len(_not_led_by_preferred(broker, preferring)), len(preferring))


def rebalance_candidates(
    broker: BrokerId,
    partitions: Mapping[Name, Partition],
    live: Collection[BrokerId],
    *,
    shutting_down: Collection[BrokerId] = (),
    percentage: int = LEADER_IMBALANCE_PER_BROKER_PERCENTAGE,
    in_sync: bool = True,
) -> tuple[Name, ...]:
    """Return the `partitions` that return to `broker` by a preferred election, in the order of `partitions`.

    They prefer `broker`, have another leader or have lost theirs, and would elect `broker`: it must be online and in
    their ISR. There are none unless the imbalance ratio *exceeds* `percentage`
    [checkAndTriggerAutoLeaderRebalance in KafkaController.scala, 3.9]. Up to 2.5 `broker` only had to be online, so
    some elections could only fail: `in_sync=False` [KAFKA-9866, 2.6].

    Raises InvalidBrokers when `broker`, a partition, or the brokers are malformed.

    >>> partitions = {
    ...     "at home": Partition(replicas=(1, 2), leader=1, isr=(1, 2)),
    ...     "led by 2": Partition(replicas=(1, 2), leader=2, isr=(2, 1)),
    ...     "out of sync": Partition(replicas=(1, 2), leader=2, isr=(2,)),
    ... }
    >>> rebalance_candidates(1, partitions, live={1, 2})
    ('led by 2',)
    >>> rebalance_candidates(1, partitions, live={1, 2}, in_sync=False)
    ('led by 2', 'out of sync')
    >>> rebalance_candidates(1, partitions, live={1, 2}, percentage=67)
    ()
    """
    up, leaving = up_and_leaving(live, shutting_down)
    preferring = _partitions_preferring(broker, partitions)
    astray = _not_led_by_preferred(broker, preferring)
    if 100 * len(astray) <= percentage * len(preferring):
        return ()
    if not in_sync:
        return tuple(astray) if broker in up - leaving else ()
    return tuple(
        name
        for name, (replicas, _, isr) in astray.items()
        if leader_for_preferred_replica(replicas, isr or (), live, shutting_down=shutting_down).leader == broker
    )


def _partitions_preferring(broker: BrokerId, partitions: Mapping[Name, Partition]) -> dict[Name, Partition]:
    in_order("broker", (broker,))
    for name, partition in partitions.items():
        _check(name, partition)
    return {name: partition for name, partition in partitions.items() if tuple(partition.replicas[:1]) == (broker,)}


def _not_led_by_preferred(broker: BrokerId, preferring: Mapping[Name, Partition]) -> dict[Name, Partition]:
    return {
        name: partition
        for name, partition in preferring.items()
        if partition.isr is not None and partition.leader != broker
    }


def _check(name: object, partition: Partition) -> None:
    in_order(f"replicas of {name!r}", partition.replicas)
    in_order(f"isr of {name!r}", partition.isr or ())
    if partition.leader is not None:
        in_order(f"leader of {name!r}", (partition.leader,))
        if partition.isr is None:
            raise InvalidBrokers(f"leader of {name!r}: {partition.leader} leads without an isr, allowed is None")
