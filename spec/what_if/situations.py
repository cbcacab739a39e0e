"""Group partitions that behave alike in all events: those in the same situation.

Partitions are alike if they look the same by the places of their replicas in the assignment: how many replicas, which
of them leads, which are in sync and in which order, which are alive, the events of each one's broker, the
configuration, and the targets of a planned or running move. Target brokers have the places after those of the
replicas. The order of the ISR of a partition that moves is ignored, because Kafka has a set there. Events of other
brokers do not affect a partition, except that the death of the controller's broker is a failover for all. The order
in which replicas of several dead brokers go offline is ignored; in Kafka it is that of a hash map. A way may be a
step longer because of that, but ends the same.
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
    Return,
    Shutdown,
)
from spec.what_if.known_cluster import KnownCluster, PartitionStatus, listed
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS
from statemachines.releases import RELEASES

PARTITION: Final = TopicPartition(TOPIC, 0)
"""The name of a partition explored alone."""


class Situation(NamedTuple):
    """A partition and its planned events, by the places of its replicas: 0 is the preferred one."""

    replicas: int
    leader: BrokerId | None
    isr: tuple[BrokerId, ...]
    live: frozenset[BrokerId]
    events: tuple[ClusterEvent, ...]
    """The events, each of one broker or of all, sorted by name; an event that happens twice occurs twice."""
    min_isr: int
    unclean: bool
    target: tuple[BrokerId, ...] = ()
    """The target of a planned move: brokers without a replica have the places after those of its replicas. Empty: no
    move is planned."""
    adding: tuple[BrokerId, ...] = ()
    """The replicas that a running move adds."""
    removing: tuple[BrokerId, ...] = ()
    """The replicas that a running move removes."""
    emptied: bool = False
    """Whether its state has an empty ISR, which the last replica in sync has left."""

    @property
    def moves(self) -> bool:
        """Whether a move is planned or running."""
        return bool(self.target)

    @property
    def is_under_way(self) -> bool:
        """Whether the move is running."""
        return bool(self.adding or self.removing)

    @property
    def has_state(self) -> bool:
        """Whether it has a state in ZooKeeper, which is created with its first leader."""
        return bool(self.isr) or self.emptied

    @property
    def waiting(self) -> frozenset[BrokerId]:
        """The live replicas that are out of sync for lack of a leader, and catch up once there is one."""
        return frozenset() if self.leader in self.live else self.live - {*self.isr}

    @property
    def in_sync_at_first(self) -> int:
        """How many live replicas are in sync when the controller rests before any event; 0: no broker leads."""
        live = self.live & {*range(self.replicas)}
        if not self.has_state:
            return len(live)
        return len(live & {*self.isr}) or min(len(live), self.unclean)

    @property
    def new(self) -> frozenset[BrokerId]:
        """The brokers that must copy it."""
        return frozenset(self.target) - {*range(self.replicas)} | {*self.adding}

    @property
    def missing(self) -> frozenset[BrokerId]:
        """The brokers that must copy it, but are dead in every order."""
        return self.new - self.live - self.brokers_with(Return)

    @property
    def brokers(self) -> int:
        """The number of brokers with a present or future replica of it."""
        return max((self.replicas, *(1 + broker for broker in self.target)))

    @property
    def kinds(self) -> Counter[type[ClusterEvent]]:
        """The number of events of each kind."""
        return Counter(map(type, self.events))

    def brokers_with(self, *kinds: type[EventOfBrokers]) -> frozenset[BrokerId]:
        """The brokers with planned events of these kinds."""
        return frozenset(broker for event in self.events if isinstance(event, kinds) for broker in event.brokers)


def situations(
    cluster: KnownCluster, events: Sequence[ClusterEvent], release: str = RELEASES[-1]
) -> dict[Situation, tuple[TopicPartition, ...]]:
    """The partitions grouped by situation, without those of topics marked for deletion.

    Raises:
        UsageError: an event cannot be explored, a partition has two moves, or its move has a form of no release.
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
                f"{REASSIGN_PARTITIONS} requests a move of {partition}; --any-order explores only moves by "
                "--reassign (leave the partition out with --topic)"
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
    """The brokers of a partition by their places: its replicas, then the brokers that it moves to.

    >>> brokers_by_place(PartitionStatus(ReplicaAssignment((3, 1)), 3, (3, 1), 0), target=(1, 4))
    (3, 1, 4)
    """
    return tuple(dict.fromkeys((*status.assignment.replicas, *target)))


def _require_in_shape(partition: TopicPartition, assignment: ReplicaAssignment, release: str) -> None:
    """Refuse an assignment that no controller of this release writes."""
    target = assignment.target_replicas
    if not ControlDesign(release).kip_455:
        raise UsageError(f"{partition} has adding or removing replicas, which exist only since Kafka 2.4")
    if assignment.replicas[: len(target)] != target:
        there, first = listed(assignment.replicas), listed(target)
        raise UsageError(f"{partition} moves to {first}, which a controller puts first among its replicas: {there}")


def _targets(cluster: KnownCluster, events: Sequence[ClusterEvent]) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """The targets of planned moves; a plan may also name partitions that stay, whose moves are complete at once."""
    found: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for event in events:
        for partition, target in event.moves if isinstance(event, Reassign) else ():
            if partition in found:
                raise UsageError(f"{partition} has two moves; --any-order explores one move of a partition")
            found[partition] = target
    return {
        partition: target
        for partition, target in found.items()
        if cluster.partitions[partition].assignment != ReplicaAssignment(target)
    }


def _planned(cluster: KnownCluster, events: Sequence[ClusterEvent]) -> Iterator[ClusterEvent]:
    """The events, broker by broker; if the controller's broker dies first, a failover is added."""
    stays = True
    for event in events:
        if isinstance(event, AllowUnclean | Reassign):  # from the start, and for each partition separately
            continue
        yield from event.one_by_one()
        if stays and isinstance(event, Crash | Shutdown) and cluster.controller in event.brokers:
            stays = False
            yield AnotherController()
