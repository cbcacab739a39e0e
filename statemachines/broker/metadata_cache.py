"""MetadataCache: what a broker may tell clients, and which brokers it takes to be alive.

Only UpdateMetadata changes it. A request names all live brokers, and some partitions: the brokers replace those that
were known, the partitions join them. A partition whose leader is -2 is forgotten, for its topic is being deleted.

A broker asks it before it follows a leader: one that is not alive here is not followed (`replica_manager`). Since 3.3
a leader asks it before it takes a replica into the ISR (`alter_partition`).

Left out: topic ids, endpoints, racks and features.

[ZkMetadataCache.scala, 3.9; MetadataCache.scala until 3.1]
"""

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Protocol

from election.ids import BrokerId
from statemachines.messages.control_requests import UpdateMetadataPartitionState, UpdateMetadataRequest
from statemachines.messages.leader_and_isr import LEADER_DURING_DELETE
from statemachines.messages.topic_partition import TopicPartition

__all__ = ["InMemoryMetadata", "MetadataCache", "MetadataState"]


class MetadataState(Protocol):
    """What a broker knows of the cluster, as variables. Values are immutable and replaced as a whole."""

    controller_id: BrokerId | None
    """Who sent the last request; None: there was none."""
    alive_brokers: frozenset[BrokerId]

    @property
    def partition_states(self) -> MutableMapping[TopicPartition, UpdateMetadataPartitionState]:
        """What it was told last of each partition."""


@dataclass
class InMemoryMetadata:
    """What a broker knows of the cluster, over dicts: at first nothing."""

    controller_id: BrokerId | None = None
    alive_brokers: frozenset[BrokerId] = frozenset()
    partition_states: MutableMapping[TopicPartition, UpdateMetadataPartitionState] = field(default_factory=dict)


class MetadataCache:
    """What a broker knows of the cluster, over whatever holds it; else over dicts.

    >>> cache = MetadataCache()
    >>> cache.update_metadata(UpdateMetadataRequest(9, 5, 101, (), (1, 2)))
    ()
    >>> cache.has_alive_broker(2), cache.has_alive_broker(3)
    (True, False)
    """

    def __init__(self, state: MetadataState | None = None) -> None:
        self.state: MetadataState = InMemoryMetadata() if state is None else state

    def update_metadata(self, request: UpdateMetadataRequest) -> tuple[TopicPartition, ...]:
        """Take what a request says. Returns the partitions that are being deleted."""
        deleted = []
        self.state.controller_id = request.controllerId if request.controllerId >= 0 else None
        self.state.alive_brokers = frozenset(request.liveBrokers)
        for told in request.partitionStates:
            partition = TopicPartition(told.topicName, told.partitionIndex)
            if told.leader == LEADER_DURING_DELETE:
                self.state.partition_states.pop(partition, None)
                deleted.append(partition)
            else:
                self.state.partition_states[partition] = told
        return tuple(deleted)

    def has_alive_broker(self, broker: BrokerId) -> bool:
        """Whether a broker is alive, as far as this one has been told."""
        return broker in self.state.alive_brokers

    def partition_info(self, partition: TopicPartition) -> UpdateMetadataPartitionState | None:
        """What it was told last of a partition; None: nothing, or that it is being deleted [getPartitionInfo]."""
        return self.state.partition_states.get(partition)
