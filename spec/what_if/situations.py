"""The partitions of a cluster that are alike, whatever is to happen: those that are in the same situation.

Alike they are if they look the same from the place of each replica in the assignment: how many replicas, which of
them leads, which are in sync and in which order, which are alive, what happens to the broker of each, what is
configured, and where it is to move, or moves already: brokers that it is to move to have the places after those of
its replicas. The order of the ISR of a partition that moves is left out, as Kafka has a set there. What happens to
other brokers does not reach a partition, but that the controller's broker dies is a failover for all. In which order
replicas of several dead brokers go offline is not looked at, in Kafka it is that of a hash map: a way may be a step
longer for that, and ends alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.systems.cluster import TOPIC
from spec.what_if.events import (
    AllowUnclean,
    AnotherController,
    ClusterEvent,
    Crash,
    EventOfBrokers,
    Reassign,
    Shutdown,
)
from spec.what_if.known_cluster import KnownCluster, PartitionStatus, listed
from statemachines.controller.control_design import control_design_of
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS
from statemachines.releases import RELEASES

__all__ = ["PARTITION", "Situation", "brokers_by_place", "situations"]

PARTITION: Final = TopicPartition(TOPIC, 0)
"""What a partition is called that is looked at alone."""


class Situation(NamedTuple):
    """A partition, and what is to happen to it, by the places of its replicas: 0 is the preferred one."""

    replicas: int
    leader: BrokerId | None
    isr: tuple[BrokerId, ...]
    live: frozenset[BrokerId]
    events: tuple[ClusterEvent, ...]
    """Of one broker each, or of all; what happens twice is there twice. By how they are called."""
    min_isr: int
    unclean: bool
    target: tuple[BrokerId, ...] = ()
    """Where it is to move: brokers that keep no replica yet have the places after those of its replicas. Empty: it is
    to stay."""
    adding: tuple[BrokerId, ...] = ()
    """Those of its replicas that are added by a move that is under way."""
    removing: tuple[BrokerId, ...] = ()
    """Those that are removed by it."""
    emptied: bool = False
    """It has a state with an empty ISR, which the last in sync has left."""

    @property
    def moves(self) -> bool:
        """Whether it is to move, or is on its way."""
        return bool(self.target)

    @property
    def is_under_way(self) -> bool:
        """Whether the move has begun."""
        return bool(self.adding or self.removing)

    @property
    def has_state(self) -> bool:
        """Whether it has a state in ZooKeeper, which it gets with its first leader."""
        return bool(self.isr) or self.emptied

    @property
    def waiting(self) -> frozenset[BrokerId]:
        """Those that run, are out of sync for want of a leader, and catch up when there is one."""
        return frozenset() if self.leader in self.live else self.live - {*self.isr}

    @property
    def new(self) -> frozenset[BrokerId]:
        """The brokers that have to copy it."""
        return frozenset(self.target) - {*range(self.replicas)} | {*self.adding}

    @property
    def brokers(self) -> int:
        """How many brokers it is about: those that keep the partition, and those that are to."""
        return max((self.replicas, *(1 + broker for broker in self.target)))

    @property
    def kinds(self) -> Counter[type[ClusterEvent]]:
        """How many events there are of each kind."""
        return Counter(map(type, self.events))

    def brokers_with(self, *kinds: type[EventOfBrokers]) -> frozenset[BrokerId]:
        """The brokers to which something of these kinds is to happen."""
        return frozenset(broker for event in self.events if isinstance(event, kinds) for broker in event.brokers)


def situations(
    cluster: KnownCluster, events: Sequence[ClusterEvent], release: str = RELEASES[-1]
) -> dict[Situation, tuple[TopicPartition, ...]]:
    """The partitions that are alike, by their situations; without those of topics that are to be deleted.

    Raises:
        UsageError: an event cannot be explored, or a partition is to move twice, or moves as it does in no release.
    """
    for event in events:
        event.require_known(cluster, release)
        if event.unexplored:
            raise UsageError(f"{event}, with --any-order: {event.unexplored}")
        if isinstance(event, AllowUnclean) and event.topic not in (None, *cluster.topics):
            raise UsageError(f"{event}: there is no topic {event.topic}; there are {', '.join(cluster.topics)}")
    by_default = cluster.permits_unclean(release) or AllowUnclean() in events
    of_topics = {event.topic for event in events if isinstance(event, AllowUnclean)}
    planned, targets = tuple(_planned(cluster, events)), _targets(cluster, events)
    found: dict[Situation, list[TopicPartition]] = {}
    for partition, status in sorted(cluster.partitions.items()):
        if partition.topic in cluster.deletion_queued:
            continue
        if partition in cluster.reassigning:
            raise UsageError(
                f"{partition} is asked to move by {REASSIGN_PARTITIONS}; --any-order explores moves that are events: "
                "--reassign (--topic leaves out topics)"
            )
        replicas = status.assignment.replicas
        target = targets.get(partition, ())
        if status.assignment.is_being_reassigned:
            _require_in_shape(partition, status.assignment, release)
            if target:
                raise UsageError(f"{partition} is being reassigned; --any-order explores no other move of it")
            target = status.assignment.target_replicas
        place = {broker: number for number, broker in enumerate(brokers_by_place(status, target))}
        asked = (Reassign({PARTITION: target}),) if partition in targets else ()
        isr = [place[broker] for broker in status.isr]
        permitted = cluster.unclean.get(partition.topic, by_default) or partition.topic in of_topics
        reach_it = (each.seen_by(PARTITION, place) for each in (*planned, *asked))
        moving, adding, removing = (
            tuple(place[broker] for broker in brokers)
            for brokers in (target, status.assignment.adding_replicas, status.assignment.removing_replicas)
        )
        situation = Situation(
            len(replicas),
            None if status.leader is None else place[status.leader],
            tuple(sorted(isr) if target else isr),
            frozenset(place[broker] for broker in place if broker in cluster.live),
            tuple(sorted((each for each in reach_it if each is not None), key=str)),
            cluster.min_isr[partition.topic],
            permitted,
            moving,
            adding,
            removing,
            not isr and status.has_state,
        )
        found.setdefault(situation, []).append(partition)
    return {situation: tuple(partitions) for situation, partitions in found.items()}


def brokers_by_place(status: PartitionStatus, target: Sequence[BrokerId] = ()) -> tuple[BrokerId, ...]:
    """The brokers that a partition is about, by their places: its replicas, then those that it moves to.

    >>> brokers_by_place(PartitionStatus(ReplicaAssignment((3, 1)), 3, (3, 1), 0), target=(1, 4))
    (3, 1, 4)
    """
    return tuple(dict.fromkeys((*status.assignment.replicas, *target)))


def _require_in_shape(partition: TopicPartition, assignment: ReplicaAssignment, release: str) -> None:
    """Refuse what no controller of this release has written."""
    target = assignment.target_replicas
    if not control_design_of(release).kip_455:
        raise UsageError(f"{partition} has adding or removing replicas, which a topic's node has since Kafka 2.4")
    if assignment.replicas[: len(target)] != target:
        there, first = listed(assignment.replicas), listed(target)
        raise UsageError(f"{partition} moves to {first}, which a controller puts first among its replicas: {there}")


def _targets(cluster: KnownCluster, events: Sequence[ClusterEvent]) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """Where partitions are to move to; a plan also names those that stay, which have moved at once."""
    found: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for event in events:
        for partition, target in event.moves if isinstance(event, Reassign) else ():
            if partition in found:
                raise UsageError(f"{partition} is to move twice; --any-order explores one move of a partition")
            found[partition] = target
    return {
        partition: target
        for partition, target in found.items()
        if cluster.partitions[partition].assignment != ReplicaAssignment(target)
    }


def _planned(cluster: KnownCluster, events: Sequence[ClusterEvent]) -> Iterator[ClusterEvent]:
    """What happens to brokers, one by one; where that of the controller goes first, another is controller."""
    stays = True
    for event in events:
        if isinstance(event, AllowUnclean | Reassign):  # from the beginning, and of each partition by itself
            continue
        yield from event.one_by_one()
        if stays and isinstance(event, Crash | Shutdown) and cluster.controller in event.brokers:
            stays = False
            yield AnotherController()
