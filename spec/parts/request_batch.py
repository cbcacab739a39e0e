"""A controller's batch of requests, as a part: the variables over which `ControllerBrokerRequestBatch` works.

The rules are those of `statemachines.controller.request_batch`. The part gives the size of each variable, and has
no actions. Between two changes of states a batch is empty, except for the leftovers of an interrupted change.
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


class Batch(State):
    """The requests that one change of states has added [AbstractControllerBrokerRequestBatch, 3.9]."""

    update_metadata_brokers: frozenset[BrokerId] = variable("None.", of=lambda self: (frozenset(),))
    leader_and_isr: Partial[PartitionAndReplica, LeaderAndIsrPartitionState] = variable(
        "The states in LeaderAndIsr requests to replicas.", of=lambda self, replica: self.leader_and_isr_to(replica)
    )
    stop_replica: Partial[PartitionAndReplica, StopReplicaPartitionState] = variable(
        "The states in StopReplica requests to replicas.", of=lambda self, replica: self.stop_replica_to(replica)
    )
    update_metadata: Partial[TopicPartition, UpdateMetadataPartitionState] = variable(
        "None.", of=lambda self: partial_mapping((), (None,))
    )


class RequestsWithoutMetadata(ControllerBrokerRequestBatch):
    """A batch without UpdateMetadata, for systems whose brokers do not read metadata."""

    def add_update_metadata_request_for_brokers(
        self, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition] = ()
    ) -> None:
        """Add nothing."""


@dataclass(frozen=True)
class BatchPart(Part[Batch]):
    """A batch of requests to brokers.

    Args:
        type_sizes: the sizes of the types in it, as the system has them.
        assignments: all assignments that each partition may have.
        recipients: the replicas that may have a LeaderAndIsr pending while a change waits for ZooKeeper.
        stopped: the replicas that may have a StopReplica pending then.
    """

    type_sizes: Mapping[Any, Size]
    assignments: Mapping[TopicPartition, Collection[ReplicaAssignment]]
    recipients: Collection[PartitionAndReplica]
    stopped: Collection[PartitionAndReplica]

    def sizes(self) -> Mapping[Any, Size]:
        """As in the system; a StopReplica with deletion is never pending while a change waits for ZooKeeper."""
        return {**self.type_sizes, StopReplicaPartitionState.deletePartition: (False,)}

    def leader_and_isr_to(self, replica: PartitionAndReplica) -> Domain[Any]:
        """Every pending LeaderAndIsr state of a replica."""
        if replica not in self.recipients:
            return one_of()
        partition = replica.topic_partition
        replicas, adding, removing = (
            tuple(dict.fromkeys(each)) for each in zip(*self.assignments[partition], strict=True)
        )
        return self.domain_of(
            LeaderAndIsrPartitionState,
            partition=(partition,),
            replicas=replicas,
            addingReplicas=adding,
            removingReplicas=removing,
        )

    def stop_replica_to(self, replica: PartitionAndReplica) -> Domain[Any]:
        """Every pending StopReplica state of a replica."""
        if replica not in self.stopped:
            return one_of()
        return self.domain_of(StopReplicaPartitionState, partition=(replica.topic_partition,))
