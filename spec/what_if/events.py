"""What is done to a cluster, or befalls it: the events of a what-if, in Kafka's words.

    Crash(1, 3)             brokers die, both before the controller looks
    Shutdown(2)             a broker is shut down: it asks its controller first, and is gone then
    Return(1)               brokers start again, and their replicas catch up
    AllowUnclean("t")       unclean elections are permitted, of a topic (since 2.1), or by default (since 2.0)
    Reassign({...})         partitions are to be kept by other brokers, which copy them
    ElectPreferred()        the preferred replica is elected of every partition
    Rebalance()             the controller looks by itself whether preferred replicas lead
    CreateTopic("t", 12, 3) a topic is created, its replicas placed as Kafka places them
    AnotherController()     another broker becomes controller

An event is a value, and applies itself to a `Subject`: to a `Cluster`, where events happen in one order; in any order
to the variables of a system that is explored (`plan`). What cannot happen is refused there.

A configuration is an event where the controller acts on it at once: a topic's `unclean.leader.election.enable` since
2.1 [TopicUncleanLeaderElectionEnable, KAFKA-6835], the dynamic default of all brokers since 2.0
[UncleanLeaderElectionEnable, KAFKA-6526]. Before, a topic's counts at the next election. A default counts for the
next controller in 1.1, and before that for a broker that is started with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol, Self

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.known_cluster import KnownCluster, listed
from statemachines.cluster import UNCLEAN_AT_ONCE, UNCLEAN_AT_ONCE_OF_TOPIC
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.releases import Release

__all__ = [
    "AllowUnclean",
    "AnotherController",
    "ClusterEvent",
    "Crash",
    "CreateTopic",
    "ElectPreferred",
    "EventOfBrokers",
    "Reassign",
    "Rebalance",
    "Return",
    "Shutdown",
    "EventTarget",
]

DYNAMIC: Final = Release("1.1.0")
"""Since then defaults can be changed while brokers run [KIP-226]."""


class EventTarget(Protocol):
    """What events apply themselves to: a `statemachines.Cluster`, or what stands for one."""

    def crash(self, *brokers: BrokerId) -> None:
        """They die."""

    def restart(self, *brokers: BrokerId) -> None:
        """They start."""

    def shut_down(self, broker: BrokerId, attempts: int) -> None:
        """A broker is to stop: it asks the controller, so often."""

    def create_topic(self, name: TopicName, *, partitions: int, replication_factor: int) -> None:
        """There is to be a topic, with so many partitions and replicas of each."""

    def allow_unclean(self, topic: TopicName | None) -> None:
        """Replicas that are not in sync may lead, of a topic or of all."""

    def reassign(self, targets: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> None:
        """Partitions are to be kept by other brokers."""

    def elect(self, partitions: Iterable[TopicPartition]) -> None:
        """Their preferred replicas are to lead."""

    def rebalance(self) -> None:
        """It is time to look whether preferred replicas lead."""

    def fail_over(self) -> None:
        """Another broker is to be controller."""

    def partitions(self) -> Mapping[TopicPartition, Any]:
        """Those that there are."""


class ClusterEvent:
    """One of these events; a value."""

    unexplored: ClassVar[str] = ""
    """Why `any_order` does not explore it, with what it explores; empty if it does."""

    def apply(self, cluster: EventTarget) -> None:
        """Let it happen."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """What happens, in a sentence without its full stop."""
        raise NotImplementedError

    def require_known(self, cluster: KnownCluster, release: str) -> None:
        """Refuse an event that names what there is not, or about which a controller of the release does nothing.

        Raises:
            UsageError: it does, with what there is.
        """

    def one_by_one(self) -> tuple[ClusterEvent, ...]:
        """The same as events that may happen apart: of one broker each."""
        return (self,)

    def seen_by(self, partition: TopicPartition, places: Mapping[BrokerId, BrokerId]) -> ClusterEvent | None:
        """The same as one partition meets it, with other ids for its brokers; None: it does not reach the partition.

        >>> Crash(3).seen_by(TopicPartition("t", 0), {3: 0, 1: 1}), Crash(2).seen_by(TopicPartition("t", 0), {3: 0})
        (Crash(0), None)

        Args:
            partition: that which is asked about.
            places: another id for each of its brokers.
        """
        return self


@dataclass(frozen=True, init=False, repr=False)
class EventOfBrokers(ClusterEvent):
    """An event that happens to some brokers."""

    brokers: tuple[BrokerId, ...]
    does: ClassVar[tuple[str, str]]
    """What one broker does, and what several do."""

    def __init__(self, *brokers: BrokerId) -> None:
        object.__setattr__(self, "brokers", brokers)

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} of {listed(self.brokers)}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.brokers))})"

    @property
    def sentence(self) -> str:
        """Of one broker, or of several."""
        one = len(self.brokers) == 1
        return f"broker{'' if one else 's'} {listed(self.brokers)} {self.does[0 if one else 1]}"

    def require_known(self, cluster: KnownCluster, release: str) -> None:
        """All of its brokers are known, and each is named once."""
        if not self.brokers:
            raise UsageError(f"{self}: no broker is named")
        if twice := {broker for broker in self.brokers if self.brokers.count(broker) > 1}:
            raise UsageError(f"{self}: {listed(twice)} is named twice")
        if strangers := {*self.brokers} - cluster.brokers:
            raise UsageError(f"{self}: there is no broker {listed(strangers)}; there are {listed(cluster.brokers)}")

    def one_by_one(self) -> tuple[Self, ...]:
        """An event of each broker."""
        return tuple(type(self)(broker) for broker in self.brokers)

    def seen_by(self, partition: TopicPartition, places: Mapping[BrokerId, BrokerId]) -> Self | None:
        """Of those of its brokers that keep the partition."""
        brokers = [places[broker] for broker in self.brokers if broker in places]
        return type(self)(*brokers) if brokers else None


class Crash(EventOfBrokers):
    """Brokers die; the controller hears of all of them at once."""

    does = "dies", "die"

    def apply(self, cluster: EventTarget) -> None:
        """They do."""
        cluster.crash(*self.brokers)


class Shutdown(EventOfBrokers):
    """Brokers are shut down, one after the other; each is gone when its controller has answered, whatever it says."""

    does = "asks to be shut down", "ask to be shut down"

    def apply(self, cluster: EventTarget) -> None:
        """They are."""
        for broker in self.brokers:
            cluster.shut_down(broker, attempts=1)


class Return(EventOfBrokers):
    """Brokers start, and all that they keep catches up with its leaders."""

    does = "starts", "start"

    def apply(self, cluster: EventTarget) -> None:
        """They do."""
        cluster.restart(*self.brokers)


@dataclass(frozen=True)
class AllowUnclean(ClusterEvent):
    """A replica that is not in sync may be elected, if none is that is."""

    topic: TopicName | None = None
    """Of which topic; None: of all that do not say otherwise."""

    def __str__(self) -> str:
        return "unclean elections are permitted" + (f" of {self.topic}" if self.topic else "")

    @property
    def sentence(self) -> str:
        """As it is called."""
        return str(self)

    def apply(self, cluster: EventTarget) -> None:
        """It may."""
        cluster.allow_unclean(self.topic)

    def require_known(self, cluster: KnownCluster, release: str) -> None:
        """The controller of the release acts on it at once."""
        since = UNCLEAN_AT_ONCE if self.topic is None else UNCLEAN_AT_ONCE_OF_TOPIC
        if Release(release) < since:
            if self.topic is not None:
                instead = "reads it at its next election: put it into the topic's Configs, and add --failover"
            elif Release(release) >= DYNAMIC:
                instead = "goes by what it was when it was elected: --unclean-default has it so from the beginning"
            else:
                instead = "reads it when its broker starts: --unclean-default has it so from the beginning"
            raise UsageError(f"{self}: it is an event since {since.line}; a controller of {release} {instead}")

    def seen_by(self, partition: TopicPartition, places: Mapping[BrokerId, BrokerId]) -> Self | None:
        """Only if it is about the partition's topic."""
        return self if self.topic in (None, partition.topic) else None


@dataclass(frozen=True, init=False, repr=False)
class Reassign(ClusterEvent):
    """Partitions are to be kept by these brokers, which copy them and catch up."""

    moves: tuple[tuple[TopicPartition, tuple[BrokerId, ...]], ...]
    """Each partition that is named, with the brokers that are to keep it."""

    def __init__(self, targets: Mapping[TopicPartition, Iterable[BrokerId]]) -> None:
        moves = tuple((partition, tuple(target)) for partition, target in targets.items())
        object.__setattr__(self, "moves", moves)

    @property
    def targets(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The same, by partition."""
        return dict(self.moves)

    def __str__(self) -> str:
        number = len(self.moves)
        return f"reassignment of {number} partition{'' if number == 1 else 's'}"

    def __repr__(self) -> str:
        return f"Reassign({self.targets})"

    @property
    def sentence(self) -> str:
        """Where each partition is to move, if that is one place."""
        targets = {target for _, target in self.moves}
        if len(targets) != 1:
            return f"an administrator asks for the {self}"
        return f"an administrator asks for the move to {', '.join(map(str, *targets))}"

    def apply(self, cluster: EventTarget) -> None:
        """They are to be."""
        cluster.reassign(self.targets)

    def require_known(self, cluster: KnownCluster, release: str) -> None:
        """All of its partitions and brokers are known."""
        for partition, target in self.moves:
            if partition not in cluster.partitions:
                raise UsageError(f"reassignment of {partition}: there is no such partition")
            if strangers := {*target} - cluster.brokers:
                there = f"there is no broker {listed(strangers)}; there are {listed(cluster.brokers)}"
                raise UsageError(f"reassignment of {partition}: {there}")

    def seen_by(self, partition: TopicPartition, places: Mapping[BrokerId, BrokerId]) -> Self | None:
        """Only if it moves the partition."""
        target = self.targets.get(partition)
        return None if target is None else type(self)({partition: tuple(places[broker] for broker in target)})


@dataclass(frozen=True)
class ElectPreferred(ClusterEvent):
    """An administrator asks that every partition be led by its first replica."""

    def __str__(self) -> str:
        return "election of preferred leaders"

    @property
    def sentence(self) -> str:
        """By whom it is asked for."""
        return "an administrator asks for the preferred leader"

    def apply(self, cluster: EventTarget) -> None:
        """The controller is asked."""
        cluster.elect(cluster.partitions())


@dataclass(frozen=True)
class Rebalance(ClusterEvent):
    """The controller looks whether preferred replicas lead, as it does every 300 s [auto.leader.rebalance.enable].

    Where others lead more than a tenth of the partitions that prefer a broker, it is elected for those that it can
    lead.
    """

    unexplored = (
        "what comes of it depends on the partitions of the whole cluster; it explores elections with --prefer"
    )

    def __str__(self) -> str:
        return "check of preferred leaders"

    @property
    def sentence(self) -> str:
        """Whose doing it is."""
        return "the controller looks whether preferred replicas lead"

    def apply(self, cluster: EventTarget) -> None:
        """The time has come."""
        cluster.rebalance()


@dataclass(frozen=True)
class CreateTopic(ClusterEvent):
    """A topic is created on the brokers that are alive, its replicas placed as Kafka places them.

    Kafka draws where it begins by chance, here that is the first of the brokers
    [`election.assign_replicas_to_brokers`].
    """

    name: TopicName
    partitions: int
    replication_factor: int

    unexplored = "it explores partitions that there are"

    def __str__(self) -> str:
        partitions = f"{self.partitions} partition{'' if self.partitions == 1 else 's'}"
        return f"creation of {self.name}, {partitions}, replication factor {self.replication_factor}"

    @property
    def sentence(self) -> str:
        """By whom."""
        return f"an administrator creates topic {self.name}"

    def apply(self, cluster: EventTarget) -> None:
        """It is."""
        cluster.create_topic(self.name, partitions=self.partitions, replication_factor=self.replication_factor)


@dataclass(frozen=True)
class AnotherController(ClusterEvent):
    """The controller's broker goes on, and another one is controller."""

    def __str__(self) -> str:
        return "controller failover"

    @property
    def sentence(self) -> str:
        """As it comes about."""
        return "another broker is elected controller"

    def apply(self, cluster: EventTarget) -> None:
        """Another broker is."""
        cluster.fail_over()
