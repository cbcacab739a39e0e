"""What is done to a cluster, or befalls it: the events of a what-if, in Kafka's words.

    Crash(1, 3)             brokers die, both before the controller looks
    Shutdown(2)             a broker is shut down: it asks its controller first, and is gone then
    Return(1)               brokers start again, and their replicas catch up
    AllowUnclean("t")       unclean elections are permitted, of a topic, or by default
    Reassign({...})         partitions are to be kept by other brokers, which copy them
    ElectPreferred()        the preferred replica is elected of every partition
    AnotherController()     another broker becomes controller

What each of them does is `running_cluster`'s, and `any_order`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from election.ids import BrokerId
from spec.what_if.cluster import listed
from statemachines.topic_partition import TopicName, TopicPartition

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
