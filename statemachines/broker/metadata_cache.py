"""MetadataCache: the answers of a broker to clients, and the brokers that it considers alive.

Only UpdateMetadata changes it. A request names all live brokers and some partitions. The brokers replace the known
ones; the partitions are added. A partition whose leader is -2 is removed: its topic is being deleted.

A broker consults it before it follows a leader, which must be alive here (`replica_manager`). Since 3.3 a leader
consults it before it adds a replica to the ISR (`alter_partition`).

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


class MetadataState(Protocol):
    """A broker's view of the cluster, as variables. Values are immutable and replaced as a whole."""

    controller_id: BrokerId | None
    """The sender of the last request; None before the first."""
    alive_brokers: frozenset[BrokerId]

    @property
    def partition_states(self) -> MutableMapping[TopicPartition, UpdateMetadataPartitionState]:
        """The last received state of each partition."""


@dataclass
class InMemoryMetadata:
    """A broker's view of the cluster, over dicts; initially empty."""

    controller_id: BrokerId | None = None
    alive_brokers: frozenset[BrokerId] = frozenset()
    partition_states: MutableMapping[TopicPartition, UpdateMetadataPartitionState] = field(default_factory=dict)


class MetadataCache:
    """A broker's view of the cluster, by default over dicts.

    >>> cache = MetadataCache()
    >>> cache.update_metadata(UpdateMetadataRequest(9, 5, 101, (), (1, 2)))
    ()
    >>> cache.has_alive_broker(2), cache.has_alive_broker(3)
    (True, False)
    """

    def __init__(self, state: MetadataState | None = None) -> None:
        self.state: MetadataState = InMemoryMetadata() if state is None else state

    def update_metadata(self, request: UpdateMetadataRequest) -> tuple[TopicPartition, ...]:
        """Apply a request. Returns the partitions that are being deleted."""
        deleted = []
        self.state.controller_id = request.controllerId if request.controllerId >= 0 else None
        self.state.alive_brokers = frozenset(request.liveBrokers)
        for received in request.partitionStates:
            if received.leader == LEADER_DURING_DELETE:
                self.state.partition_states.pop(received.partition, None)
                deleted.append(received.partition)
            else:
                self.state.partition_states[received.partition] = received
        return tuple(deleted)

    def has_alive_broker(self, broker: BrokerId) -> bool:
        """Whether a broker is alive, by the last request."""
        return broker in self.state.alive_brokers

    def partition_info(self, partition: TopicPartition) -> UpdateMetadataPartitionState | None:
        """The last received state of a partition; None if unknown, or being deleted [getPartitionInfo]."""
        return self.state.partition_states.get(partition)
