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

What each of them does is `running_cluster`'s, and `any_order`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.cluster import listed
from statemachines.messages.topic_partition import TopicName, TopicPartition
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

SINCE_OF_TOPIC: Final = Release("2.1.0")
SINCE_BY_DEFAULT: Final = Release("2.0.0")
DYNAMIC: Final = Release("1.1.0")
"""Since then defaults can be changed while brokers run [KIP-226]."""


@dataclass(frozen=True, init=False)
class _OfBrokers:
    brokers: tuple[BrokerId, ...]

    def __init__(self, *brokers: BrokerId) -> None:
        object.__setattr__(self, "brokers", brokers)

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} of {listed(self.brokers)}"


class Crash(_OfBrokers):
    """Brokers die; the controller hears of all of them at once."""


class Shutdown(_OfBrokers):
    """Brokers are shut down, one after the other; each is gone when its controller has answered, whatever it says."""


class Return(_OfBrokers):
    """Brokers start, and all that they keep catches up with its leaders."""


@dataclass(frozen=True)
class AllowUnclean:
    """A replica that is not in sync may be elected, if none is that is."""

    topic: TopicName | None = None
    """Of which topic; None: of all that do not say otherwise."""

    def __str__(self) -> str:
        return "unclean elections are permitted" + (f" of {self.topic}" if self.topic else "")

    def require_release(self, release: str) -> None:
        """Refuse it where the controller's release does nothing about it.

        Raises:
            UsageError: it does not, with what a person would do there.
        """
        since = SINCE_BY_DEFAULT if self.topic is None else SINCE_OF_TOPIC
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


@dataclass(frozen=True)
class ElectPreferred:
    """An administrator asks that every partition be led by its first replica."""

    def __str__(self) -> str:
        return "election of preferred leaders"


@dataclass(frozen=True)
class AnotherController:
    """The controller's broker goes on, and another one is controller."""

    def __str__(self) -> str:
        return "controller failover"


ClusterEvent: TypeAlias = Crash | Shutdown | Return | AllowUnclean | Reassign | ElectPreferred | AnotherController
"""One of these."""
