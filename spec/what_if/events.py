"""What is done to a cluster, or befalls it: the events of a what-if, in Kafka's words.

    Crash(1, 3)             brokers die, both before the controller looks
    Shutdown(2)             a broker is shut down: it asks its controller first, and is gone then
    Return(1)               brokers start again, and their replicas catch up
    AllowUnclean("t")       unclean elections are permitted, of a topic (since 2.1), or by default (since 2.0)
    Reassign({...})         partitions are to be kept by other brokers, which copy them
    ElectPreferred()        the preferred replica is elected of every partition
    AnotherController()     another broker becomes controller

A configuration is an event where the controller acts on it at once: a topic's `unclean.leader.election.enable` since
2.1 [TopicUncleanLeaderElectionEnable, KAFKA-6835], the dynamic default of all brokers since 2.0
[UncleanLeaderElectionEnable, KAFKA-6526]. Before, a topic's counts at the next election. A default counts for the
next controller in 1.1, and before that for a broker that is started with it.

An event applies itself to a `Cluster`; in any order it is `any_order`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.cluster import listed
from statemachines.cluster import UNCLEAN_AT_ONCE, UNCLEAN_AT_ONCE_OF_TOPIC, Cluster
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import topic_path
from statemachines.releases import Release

__all__ = [
    "AllowUnclean",
    "Crash",
    "ElectPreferred",
    "ClusterEvent",
    "AnotherController",
    "Reassign",
    "Return",
    "Shutdown",
]

DYNAMIC: Final = Release("1.1.0")
"""Since then defaults can be changed while brokers run [KIP-226]."""


@dataclass(frozen=True, init=False)
class _OfBrokers:
    brokers: tuple[BrokerId, ...]

    def __init__(self, *brokers: BrokerId) -> None:
        object.__setattr__(self, "brokers", brokers)

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} of {listed(self.brokers)}"

    def _need(self, cluster: Cluster, alive: bool) -> None:
        """Refuse what cannot happen."""
        brokers = self.brokers
        if not brokers:
            raise UsageError(f"{self}: no broker is named")
        if twice := {broker for broker in brokers if brokers.count(broker) > 1}:
            raise UsageError(f"{self}: {listed(twice)} is named twice")
        if strangers := {*brokers} - cluster.brokers.keys():
            raise UsageError(f"{self}: there is no broker {listed(strangers)}; there are {listed(cluster.brokers)}")
        if others := [broker for broker in brokers if (broker in cluster.live) is not alive]:
            are = "is" if len(others) == 1 else "are"
            raise UsageError(f"{self}: {listed(others)} {are} {'not alive' if alive else 'alive'} then")


class Crash(_OfBrokers):
    """Brokers die; the controller hears of all of them at once."""

    def apply(self, cluster: Cluster) -> None:
        """They do."""
        self._need(cluster, alive=True)
        cluster.crash(*self.brokers)


class Shutdown(_OfBrokers):
    """Brokers are shut down, one after the other; each is gone when its controller has answered, whatever it says."""

    def apply(self, cluster: Cluster) -> None:
        """They are."""
        self._need(cluster, alive=True)
        for broker in self.brokers:
            cluster.shut_down(broker, attempts=1)


class Return(_OfBrokers):
    """Brokers start, and all that they keep catches up with its leaders."""

    def apply(self, cluster: Cluster) -> None:
        """They do."""
        self._need(cluster, alive=False)
        cluster.restart(*self.brokers)


@dataclass(frozen=True)
class AllowUnclean:
    """A replica that is not in sync may be elected, if none is that is."""

    topic: TopicName | None = None
    """Of which topic; None: of all that do not say otherwise."""

    def __str__(self) -> str:
        return "unclean elections are permitted" + (f" of {self.topic}" if self.topic else "")

    def apply(self, cluster: Cluster) -> None:
        """It may."""
        self.require_release(cluster.release)
        if self.topic is not None and topic_path(self.topic) not in cluster.zookeeper.state.nodes:
            raise UsageError(f"there is no topic {self.topic} of which unclean elections could be permitted")
        cluster.allow_unclean(self.topic)

    def require_release(self, release: str) -> None:
        """Refuse it where the controller's release does nothing about it.

        Raises:
            UsageError: it does not, with what a person would do there.
        """
        since = UNCLEAN_AT_ONCE if self.topic is None else UNCLEAN_AT_ONCE_OF_TOPIC
        if Release(release) >= since:
            return
        if self.topic is not None:
            instead = "reads it at its next election: put it into the topic's Configs, and add --failover"
        elif Release(release) >= DYNAMIC:
            instead = "goes by what it was when it was elected: --unclean-default has it so from the beginning"
        else:
            instead = "reads it when its broker starts: --unclean-default has it so from the beginning"
        raise UsageError(f"{self}: it is an event since {since.line}; a controller of {release} {instead}")


@dataclass(frozen=True)
class Reassign:
    """Partitions are to be kept by these brokers, which copy them and catch up."""

    targets: Mapping[TopicPartition, tuple[BrokerId, ...]]

    def __str__(self) -> str:
        number = len(self.targets)
        return f"reassignment of {number} partition{'' if number == 1 else 's'}"

    def apply(self, cluster: Cluster) -> None:
        """They are to be."""
        cluster.reassign(self.targets)


@dataclass(frozen=True)
class ElectPreferred:
    """An administrator asks that every partition be led by its first replica."""

    def __str__(self) -> str:
        return "election of preferred leaders"

    def apply(self, cluster: Cluster) -> None:
        """The controller is asked."""
        cluster.elect(cluster.partitions())


@dataclass(frozen=True)
class AnotherController:
    """The controller's broker goes on, and another one is controller."""

    def __str__(self) -> str:
        return "controller failover"

    def apply(self, cluster: Cluster) -> None:
        """The broker with the lowest id of the others is."""
        if not cluster.live - {cluster.controller}:
            raise UsageError(f"{self}: there is no other broker that could be controller")
        cluster.fail_over()


ClusterEvent: TypeAlias = Crash | Shutdown | Return | AllowUnclean | Reassign | ElectPreferred | AnotherController
"""One of these."""
