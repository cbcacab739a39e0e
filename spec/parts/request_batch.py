"""A controller's batch of requests, as a part: the variables over which `ControllerBrokerRequestBatch` works.

The rules are those of `statemachines.controller.request_batch`. The part says how large each variable is, and
does nothing by itself. Between two changes of states it is empty, but for what a change that was cut short has left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from election.ids import BrokerId
from spec.language import Domain, Part, Partial, Size, State, one_of, partial_mapping, variable
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.messages.control_requests import (
    LeaderAndIsrPartitionState,
    StopReplicaPartitionState,
    UpdateMetadataPartitionState,
)
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition

__all__ = ["Batch", "BatchPart", "RequestsWithoutMetadata"]


class Batch(State):
    """What one change of states has added [AbstractControllerBrokerRequestBatch, 3.9]."""

    update_metadata_brokers: frozenset[BrokerId] = variable("None.", of=lambda self: (frozenset(),))
    leader_and_isr: Partial[PartitionAndReplica, LeaderAndIsrPartitionState] = variable(
        "What replicas are told of their leaders.", of=lambda self, replica: self.leader_and_isr_to(replica)
    )
    stop_replica: Partial[PartitionAndReplica, StopReplicaPartitionState] = variable(
        "The replicas that are to stop.", of=lambda self, replica: self.stop_replica_to(replica)
    )
    update_metadata: Partial[TopicPartition, UpdateMetadataPartitionState] = variable(
        "None.", of=lambda self: partial_mapping((), (None,))
    )


class RequestsWithoutMetadata(ControllerBrokerRequestBatch):
    """A batch to which UpdateMetadata is not added, for systems whose brokers do not look at metadata."""

    def add_update_metadata_request_for_brokers(
        self, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition] = ()
    ) -> None:
        """Nothing is added."""


@dataclass(frozen=True)
class BatchPart(Part[Batch]):
    """A batch of requests to brokers.

    Args:
        type_sizes: the sizes of the types in it, as the system has them.
        assignments: how each partition may be assigned.
        told: the replicas that may be about to be told of their leaders, while a change waits for ZooKeeper.
        stopped: those that may be about to be told to stop.
    """

    type_sizes: Mapping[Any, Size]
    assignments: Mapping[TopicPartition, Collection[ReplicaAssignment]]
    recipients: Collection[PartitionAndReplica]
    stopped: Collection[PartitionAndReplica]

    def sizes(self) -> Mapping[Any, Size]:
        """As in the system; what is to delete its log does not wait for ZooKeeper."""
        return {**self.type_sizes, StopReplicaPartitionState.deletePartition: (False,)}

    def leader_and_isr_to(self, replica: PartitionAndReplica) -> Domain[Any]:
        """All that a replica may be told."""
        if replica not in self.recipients:
            return one_of()
        partition = replica.topic_partition
        replicas, adding, removing = (
            tuple(dict.fromkeys(each)) for each in zip(*self.assignments[partition], strict=True)
        )
        return self.domain_of(
            LeaderAndIsrPartitionState,
            topicName=(partition.topic,),
            partitionIndex=(partition.partition,),
            replicas=replicas,
            addingReplicas=adding,
            removingReplicas=removing,
        )

    def stop_replica_to(self, replica: PartitionAndReplica) -> Domain[Any]:
        """All that it may be told when it is to stop."""
        if replica not in self.stopped:
            return one_of()
        topic, partition = replica.topic_partition
        return self.domain_of(StopReplicaPartitionState, topicName=(topic,), partitionIndex=(partition,))
