"""Changes: which fetches may have something to do, because a broker has changed something that they depend on.

A follower fetches all the time, and most of its fetches change nothing. `ClusterFetches` looks for the others, among
those that are noted here.
"""

from __future__ import annotations

from typing import Any, TypeVar

from election.ids import BrokerId
from statemachines.broker.hosted_partition import HostedPartition
from statemachines.messages.topic_partition import TopicPartition

V = TypeVar("V")


class Changes:
    """What a broker has changed since somebody last looked for fetches that have something to do."""

    def __init__(self) -> None:
        self.partitions: set[TopicPartition] = set()
        """Its own fetches of these, and those of all followers."""
        self.isrs: set[TopicPartition] = set()
        """The fetches of followers outside the ISR."""
        self.followers: set[tuple[BrokerId, TopicPartition]] = set()
        """The fetches of these followers."""


class ChangedKeys(dict[TopicPartition, V]):
    """A dict by partition that notes which of its values have changed."""

    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self._changes = changes

    def __setitem__(self, partition: TopicPartition, value: V) -> None:
        self._changes.partitions.add(partition)
        super().__setitem__(partition, value)

    def pop(self, partition: TopicPartition, *default: Any) -> Any:
        """Remove a partition, and note it."""
        self._changes.partitions.add(partition)
        return super().pop(partition, *default)


class HostedPartitions(ChangedKeys[HostedPartition]):
    """A dict of hosted partitions that notes whether more than the ISR has changed."""

    def __setitem__(self, partition: TopicPartition, value: HostedPartition) -> None:
        before = self.get(partition)
        if before is not None and (before.leader, before.leader_epoch) == (value.leader, value.leader_epoch):
            self._changes.isrs.add(partition)
            dict.__setitem__(self, partition, value)
        else:
            super().__setitem__(partition, value)
