"""The events of a what-if, in Kafka's words: what happens to a cluster.

    Crash(1, 3)             brokers die, both before the controller notices
    Shutdown(2)             a broker shuts down: it first asks its controller, then stops
    Return(1)               brokers start again, and their replicas catch up
    AllowUnclean("t")       unclean elections are permitted, for a topic (since 2.1), or by default (since 2.0)
    Reassign({...})         partitions move to other brokers, which copy them
    ElectPreferred()        the preferred replica of every partition is elected
    Rebalance()             the controller's periodic check whether preferred replicas lead
    CreateTopic("t", 12, 3) a topic is created, its replicas placed as Kafka places them
    AnotherController()     another broker becomes controller

An event is a value that applies itself to an `EventTarget`: to a `Cluster`, where events happen in one order; or, in
any order, to the variables of an explored system (`plan`). The target refuses impossible events.

A change of configuration is an event if the controller acts on it at once: a topic's `unclean.leader.election.enable`
since 2.1 [TopicUncleanLeaderElectionEnable, KAFKA-6835], the dynamic default of all brokers since 2.0
[UncleanLeaderElectionEnable, KAFKA-6526]. In earlier releases a topic's setting takes effect at the next election. A
default takes effect with the next controller in 1.1, and earlier with a restart of the broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.known_cluster import KnownCluster, listed
from statemachines.changes.administration import AdminDesign
from statemachines.messages.topic_partition import TopicName, TopicPartition


class EventTarget(Protocol):
    """The target of events: a `statemachines.Cluster`, or a substitute for one."""

    def crash(self, *brokers: BrokerId) -> None:
        """Let brokers die."""

    def restart(self, *brokers: BrokerId) -> None:
        """Start brokers."""

    def shut_down(self, broker: BrokerId, attempts: int) -> None:
        """Shut a broker down: it asks the controller up to this many times."""

    def create_topic(self, name: TopicName, *, partitions: int, replication_factor: int) -> None:
        """Create a topic with this many partitions and replicas of each."""

    def allow_unclean(self, topic: TopicName | None) -> None:
        """Permit unclean elections, for one topic or for all."""

    def reassign(self, targets: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> None:
        """Reassign partitions to these brokers."""

    def elect(self, partitions: Iterable[TopicPartition]) -> None:
        """Elect the preferred replicas of partitions."""

    def rebalance(self) -> None:
        """Run the periodic check whether preferred replicas lead."""

    def fail_over(self) -> None:
        """Make another broker the controller."""

    def partitions(self) -> Mapping[TopicPartition, Any]:
        """The existing partitions."""


class ClusterEvent:
    """The base of all events, which are values."""

    unexplored: ClassVar[str] = ""
    """Why `any_order` does not explore the event, and what it explores instead; empty if it does."""

    def apply(self, cluster: EventTarget) -> None:
        """Let the event happen."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """The event as a sentence without its full stop."""
        raise NotImplementedError

    def require_known(self, cluster: KnownCluster, release: str) -> None:
        """Refuse an event that names something unknown, or that a controller of the release ignores.

        Raises:
            UsageError: the event is refused; the message lists what exists.
        """

    def one_by_one(self) -> tuple[ClusterEvent, ...]:
        """The same as separate events, one for each broker."""
        return (self,)

    def seen_by(self, partition: TopicPartition, places: Mapping[BrokerId, BrokerId]) -> ClusterEvent | None:
        """The event as one partition meets it, with other ids for its brokers; None: it does not affect the
        partition.

        >>> Crash(3).seen_by(TopicPartition("t", 0), {3: 0, 1: 1}), Crash(2).seen_by(TopicPartition("t", 0), {3: 0})
        (Crash(0), None)

        Args:
            partition: the partition.
            places: the other id of each of its brokers.
        """
        return self


@dataclass(frozen=True, init=False, repr=False)
class EventOfBrokers(ClusterEvent):
    """An event of one or more brokers."""

    brokers: tuple[BrokerId, ...]
    does: ClassVar[tuple[str, str]]
    """The verb phrase for one broker, and for several."""

    def __init__(self, *brokers: BrokerId) -> None:
        object.__setattr__(self, "brokers", brokers)

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} of {listed(self.brokers)}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.brokers))})"

    @property
    def sentence(self) -> str:
        """The sentence about its brokers."""
        one = len(self.brokers) == 1
        return f"broker{'' if one else 's'} {listed(self.brokers)} {self.does[0 if one else 1]}"

    def require_known(self, cluster: KnownCluster, release: str) -> None:
        """Require that its brokers are known, and each is named once."""
        if not self.brokers:
            raise UsageError(f"{self}: no broker is named")
        if twice := {broker for broker in self.brokers if self.brokers.count(broker) > 1}:
            raise UsageError(f"{self}: {listed(twice)} is named twice")
        if strangers := {*self.brokers} - cluster.brokers:
            raise UsageError(f"{self}: there is no broker {listed(strangers)}; there are {listed(cluster.brokers)}")

    def one_by_one(self) -> tuple[Self, ...]:
        """One event for each broker."""
        return tuple(type(self)(broker) for broker in self.brokers)

    def seen_by(self, partition: TopicPartition, places: Mapping[BrokerId, BrokerId]) -> Self | None:
        """The event for those of its brokers that have a replica of the partition."""
        brokers = [places[broker] for broker in self.brokers if broker in places]
        return type(self)(*brokers) if brokers else None


class Crash(EventOfBrokers):
    """Brokers die; the controller learns of all deaths at once."""

    does = "dies", "die"

    def apply(self, cluster: EventTarget) -> None:
        """Let them die."""
        cluster.crash(*self.brokers)


class Shutdown(EventOfBrokers):
    """Brokers shut down one after the other; each stops after its controller's answer, whatever that is."""

    does = "asks for a controlled shutdown", "ask for a controlled shutdown"

    def apply(self, cluster: EventTarget) -> None:
        """Shut them down."""
        for broker in self.brokers:
            cluster.shut_down(broker, attempts=1)


class Return(EventOfBrokers):
    """Brokers start, and their replicas catch up with the leaders."""

    does = "starts", "start"

    def apply(self, cluster: EventTarget) -> None:
        """Start them."""
        cluster.restart(*self.brokers)


@dataclass(frozen=True)
class AllowUnclean(ClusterEvent):
    """Permit electing a replica outside the ISR if no replica in the ISR is alive."""

    topic: TopicName | None = None
    """The topic; None: every topic without its own setting."""

    def __str__(self) -> str:
        return "unclean elections are permitted" + (f" for {self.topic}" if self.topic else "")

    @property
    def sentence(self) -> str:
        """The event in words."""
        return str(self)

    def apply(self, cluster: EventTarget) -> None:
        """Permit them."""
        cluster.allow_unclean(self.topic)

    def require_known(self, cluster: KnownCluster, release: str) -> None:
        """Require that the release's controller acts on the change at once."""
        at_once = AdminDesign.unclean_at_once if self.topic is None else AdminDesign.unclean_at_once_of_topic
        if not at_once.at(release):
            if self.topic is not None:
                instead = "reads it at its next election: put it into the topic's Configs, and add --failover"
            elif AdminDesign.dynamic_unclean.at(release):
                instead = "reads it at its next election: use --unclean-default, which permits them from the start"
            else:
                instead = "reads it when its broker starts: use --unclean-default, which permits them from the start"
            raise UsageError(
                f"{self}: this is an event only since {at_once.first(True)}; a controller of {release} {instead}"
            )

    def seen_by(self, partition: TopicPartition, places: Mapping[BrokerId, BrokerId]) -> Self | None:
        """The event, if it is about the partition's topic."""
        return self if self.topic in (None, partition.topic) else None


@dataclass(frozen=True, init=False, repr=False)
class Reassign(ClusterEvent):
    """Partitions move to these brokers, which copy them and catch up."""

    moves: tuple[tuple[TopicPartition, tuple[BrokerId, ...]], ...]
    """Each partition with its target brokers."""

    def __init__(self, targets: Mapping[TopicPartition, Iterable[BrokerId]]) -> None:
        moves = tuple((partition, tuple(target)) for partition, target in targets.items())
        object.__setattr__(self, "moves", moves)

    @property
    def targets(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The target brokers by partition."""
        return dict(self.moves)

    def __str__(self) -> str:
        number = len(self.moves)
        return f"reassignment of {number} partition{'' if number == 1 else 's'}"

    def __repr__(self) -> str:
        return f"Reassign({self.targets})"

    @property
    def sentence(self) -> str:
        """The request, with the target if all partitions have the same one."""
        targets = {target for _, target in self.moves}
        if len(targets) != 1:
            return f"an administrator asks for the {self}"
        return f"an administrator asks for the move to {', '.join(map(str, *targets))}"

    def apply(self, cluster: EventTarget) -> None:
        """Request the moves."""
        cluster.reassign(self.targets)

    def require_known(self, cluster: KnownCluster, release: str) -> None:
        """Require that its partitions and brokers are known."""
        for partition, target in self.moves:
            if partition not in cluster.partitions:
                raise UsageError(f"reassignment of {partition}: there is no such partition")
            if strangers := {*target} - cluster.brokers:
                there = f"there is no broker {listed(strangers)}; there are {listed(cluster.brokers)}"
                raise UsageError(f"reassignment of {partition}: {there}")

    def seen_by(self, partition: TopicPartition, places: Mapping[BrokerId, BrokerId]) -> Self | None:
        """The event, if it moves the partition."""
        target = self.targets.get(partition)
        return None if target is None else type(self)({partition: tuple(places[broker] for broker in target)})


@dataclass(frozen=True)
class ElectPreferred(ClusterEvent):
    """An administrator requests the preferred leader for every partition."""

    def __str__(self) -> str:
        return "election of preferred leaders"

    @property
    def sentence(self) -> str:
        """The request in words."""
        return "an administrator asks for the preferred leader"

    def apply(self, cluster: EventTarget) -> None:
        """Request the election."""
        cluster.elect(cluster.partitions())


@dataclass(frozen=True)
class Rebalance(ClusterEvent):
    """The controller checks whether preferred replicas lead, as it does every 300 s [auto.leader.rebalance.enable].

    If others lead more than a tenth of the partitions that prefer a broker, that broker is elected for those it can
    lead.
    """

    unexplored = "its effect depends on the partitions of the whole cluster; it explores elections with --prefer"

    def __str__(self) -> str:
        return "check of preferred leaders"

    @property
    def sentence(self) -> str:
        """The check in words."""
        return "the controller checks whether preferred replicas lead"

    def apply(self, cluster: EventTarget) -> None:
        """Run the check."""
        cluster.rebalance()


@dataclass(frozen=True)
class CreateTopic(ClusterEvent):
    """A topic is created on the live brokers, its replicas placed as Kafka places them.

    Kafka starts with a random broker; here it is the first one [`election.assign_replicas_to_brokers`].
    """

    name: TopicName
    partitions: int
    replication_factor: int

    unexplored = "it explores existing partitions only"

    def __str__(self) -> str:
        partitions = f"{self.partitions} partition{'' if self.partitions == 1 else 's'}"
        return f"creation of {self.name}, {partitions}, replication factor {self.replication_factor}"

    @property
    def sentence(self) -> str:
        """The request in words."""
        return f"an administrator creates topic {self.name}"

    def apply(self, cluster: EventTarget) -> None:
        """Create it."""
        cluster.create_topic(self.name, partitions=self.partitions, replication_factor=self.replication_factor)


@dataclass(frozen=True)
class AnotherController(ClusterEvent):
    """Another broker becomes controller, while the old controller's broker keeps running."""

    def __str__(self) -> str:
        return "controller failover"

    @property
    def sentence(self) -> str:
        """The event in words."""
        return "another broker is elected controller"

    def apply(self, cluster: EventTarget) -> None:
        """Elect another broker."""
        cluster.fail_over()
