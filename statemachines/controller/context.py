"""ControllerContext: what an active controller knows of the cluster, and the queries of its state machines.

Its storage is an argument (`ContextState`): dicts, or the variables of a specification. Values are never changed in
place; a change assigns a whole value to a key, or to a set that is an attribute. The methods are Kafka's, each with
its effect there [ControllerContext.scala, 3.9].

A broker is *live* if it is registered and not shutting down. A replica is *online* if its broker is live and its log
directory has not failed. So a broker that is shutting down still receives everything, but no replica of it is
elected.

Kafka scans all assignments for those of a broker or a topic; this builds an index when it is first needed. Only the
methods may change assignments while a context is in use. Kafka's sets are tuples here, in the order of the
assignments, which is one of the orders in which Kafka may iterate over them.

Left out: topic ids, endpoints and racks of brokers. Counts for metrics are computed on demand; `metrics` lists the
metrics of a controller.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, fields
from typing import Protocol

from election.brokers import in_order
from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from statemachines.messages.leader_and_isr import EPOCH_DURING_DELETE, NO_EPOCH, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import UNASSIGNED, ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.tables.partition import NonExistentPartition, OfflinePartition, PartitionState
from statemachines.tables.replica import NonExistentReplica, ReplicaState
from statemachines.zookeeper.tree import ZkVersion


class ContextState(Protocol):
    """A controller's knowledge, as variables. Values are immutable and replaced as a whole."""

    epoch: ControllerEpoch
    """The controller's own epoch."""
    epoch_zk_version: ZkVersion
    """The version of /controller_epoch for this epoch, which fences its writes."""
    shutting_down_broker_ids: frozenset[BrokerId]
    """The brokers that have asked for a controlled shutdown, live or already gone."""
    all_topics: frozenset[TopicName]
    partitions_being_reassigned: frozenset[TopicPartition]
    topics_to_be_deleted: frozenset[TopicName]
    """Topics queued for deletion."""
    topics_with_deletion_started: frozenset[TopicName]
    """Those of them whose partitions are NonExistentPartition already."""
    topics_ineligible_for_deletion: frozenset[TopicName]
    """Those of them that must wait: a broker is down, or a partition moves."""

    @property
    def partition_assignments(self) -> MutableMapping[TopicPartition, ReplicaAssignment]:
        """The assignment of each partition. Kafka groups them by topic."""

    @property
    def partition_leadership_info(self) -> MutableMapping[TopicPartition, LeaderIsrAndControllerEpoch]:
        """The leaders and ISRs last read or written, with the versions of their nodes."""

    @property
    def live_broker_epochs(self) -> MutableMapping[BrokerId, BrokerEpoch]:
        """The registered brokers, including those that are shutting down."""

    @property
    def replicas_on_offline_dirs(self) -> MutableMapping[BrokerId, frozenset[TopicPartition]]:
        """Per broker, the partitions whose log directory has failed there."""

    @property
    def partition_states(self) -> MutableMapping[TopicPartition, PartitionState]:
        """See `statemachines.tables.partition`."""

    @property
    def replica_states(self) -> MutableMapping[PartitionAndReplica, ReplicaState]:
        """See `statemachines.tables.replica`."""


@dataclass
class InMemoryContext:
    """A controller's knowledge, over dicts; initially empty."""

    epoch: ControllerEpoch = 0
    epoch_zk_version: ZkVersion = 0
    shutting_down_broker_ids: frozenset[BrokerId] = frozenset()
    all_topics: frozenset[TopicName] = frozenset()
    partitions_being_reassigned: frozenset[TopicPartition] = frozenset()
    topics_to_be_deleted: frozenset[TopicName] = frozenset()
    topics_with_deletion_started: frozenset[TopicName] = frozenset()
    topics_ineligible_for_deletion: frozenset[TopicName] = frozenset()
    partition_assignments: MutableMapping[TopicPartition, ReplicaAssignment] = field(default_factory=dict)
    partition_leadership_info: MutableMapping[TopicPartition, LeaderIsrAndControllerEpoch] = field(
        default_factory=dict
    )
    live_broker_epochs: MutableMapping[BrokerId, BrokerEpoch] = field(default_factory=dict)
    replicas_on_offline_dirs: MutableMapping[BrokerId, frozenset[TopicPartition]] = field(default_factory=dict)
    partition_states: MutableMapping[TopicPartition, PartitionState] = field(default_factory=dict)
    replica_states: MutableMapping[PartitionAndReplica, ReplicaState] = field(default_factory=dict)


@dataclass
class _Index:
    """The partitions of each broker and of each topic, in the order of assignment."""

    of_broker: dict[BrokerId, dict[TopicPartition, None]] = field(default_factory=dict)
    of_topic: dict[TopicName, dict[TopicPartition, None]] = field(default_factory=dict)

    def add(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Add an assigned partition."""
        self.of_topic.setdefault(partition.topic, {})[partition] = None
        for broker in assignment.replicas:
            self.of_broker.setdefault(broker, {})[partition] = None

    def remove(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Remove a partition."""
        self.of_topic[partition.topic].pop(partition)
        self.leave(partition, assignment.replicas)

    def leave(self, partition: TopicPartition, brokers: Iterable[BrokerId]) -> None:
        """Remove a partition from these brokers."""
        for broker in brokers:
            self.of_broker[broker].pop(partition)


class ControllerContext:
    """A controller's knowledge of the cluster.

    >>> context = ControllerContext()
    >>> context.add_live_brokers({1: 11, 2: 12, 3: 13})
    >>> context.update_partition_full_replica_assignment(TopicPartition("t", 0), ReplicaAssignment((1, 2)))
    >>> context.state.shutting_down_broker_ids |= {1}
    >>> [context.is_replica_online(broker, TopicPartition("t", 0)) for broker in (1, 2)]
    [False, True]

    Args:
        state: its storage; by default a fresh one in memory.
    """

    def __init__(self, state: ContextState | None = None) -> None:
        self.state: ContextState = InMemoryContext() if state is None else state
        self._made: _Index | None = None

    # Assignments.

    def partition_replica_assignment(self, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """The brokers of a partition; none if it is not known."""
        return self.partition_full_replica_assignment(partition).replicas

    def partition_full_replica_assignment(self, partition: TopicPartition) -> ReplicaAssignment:
        """The full assignment, with adding and removing replicas."""
        return self.state.partition_assignments.get(partition, UNASSIGNED)

    def update_partition_full_replica_assignment(
        self, partition: TopicPartition, assignment: ReplicaAssignment
    ) -> None:
        """Assign a partition to these brokers.

        Raises:
            InvalidBrokers: the assignment contains a broker twice, or a value that is no broker id; nothing has
            changed.
        """
        assignment = assignment.checked(partition)
        if self._made is not None:
            old = self.partition_full_replica_assignment(partition).replicas
            self._made.leave(partition, (broker for broker in old if broker not in assignment.replicas))
            self._made.add(partition, assignment)
        self.state.partition_assignments[partition] = assignment

    def all_partitions(self) -> tuple[TopicPartition, ...]:
        """All assigned partitions."""
        return tuple(self.state.partition_assignments)

    def partitions_on_broker(self, broker: BrokerId) -> tuple[TopicPartition, ...]:
        """The partitions with a replica on a broker."""
        return tuple(self._index.of_broker.get(broker, ()))

    def partitions_for_topic(self, topic: TopicName) -> tuple[TopicPartition, ...]:
        """The partitions of a topic."""
        return tuple(self._index.of_topic.get(topic, ()))

    def replicas_on_brokers(self, brokers: Iterable[BrokerId]) -> tuple[PartitionAndReplica, ...]:
        """The replicas on these brokers."""
        return tuple(
            PartitionAndReplica(partition, broker)
            for broker in brokers
            for partition in self._index.of_broker.get(broker, ())
        )

    def replicas_for_partition(self, partitions: Iterable[TopicPartition]) -> tuple[PartitionAndReplica, ...]:
        """The replicas of these partitions."""
        return tuple(
            PartitionAndReplica(partition, broker)
            for partition in partitions
            for broker in self.partition_replica_assignment(partition)
        )

    def replicas_for_topic(self, topic: TopicName) -> tuple[PartitionAndReplica, ...]:
        """The replicas of a topic's partitions."""
        return self.replicas_for_partition(self.partitions_for_topic(topic))

    def online_and_offline_replicas(self) -> tuple[tuple[PartitionAndReplica, ...], tuple[PartitionAndReplica, ...]]:
        """All replicas: first the online ones, then the others."""
        online: list[PartitionAndReplica] = []
        offline: list[PartitionAndReplica] = []
        for replica in self.replicas_for_partition(self.state.partition_assignments):
            there = self.is_replica_online(replica.replica, replica.topic_partition)
            (online if there else offline).append(replica)
        return tuple(online), tuple(offline)

    @property
    def _index(self) -> _Index:
        if self._made is None:
            self._made = _Index()
            for partition, assignment in self.state.partition_assignments.items():
                self._made.add(partition, assignment)
        return self._made

    # Brokers.

    def set_live_brokers(self, epochs: Mapping[BrokerId, BrokerEpoch]) -> None:
        """Replace the registered brokers."""
        in_order("live brokers", tuple(epochs))
        self.remove_live_brokers(tuple(self.state.live_broker_epochs))
        self.add_live_brokers(epochs)

    def add_live_brokers(self, epochs: Mapping[BrokerId, BrokerEpoch]) -> None:
        """Add registered brokers, with their epochs.

        Raises:
            InvalidBrokers: one is no broker id; nothing has changed.
        """
        in_order("live brokers", tuple(epochs))
        for broker, epoch in epochs.items():
            self.state.live_broker_epochs[broker] = epoch

    def remove_live_brokers(self, brokers: Iterable[BrokerId]) -> None:
        """Remove brokers that are no longer registered."""
        for broker in brokers:
            self.state.live_broker_epochs.pop(broker, None)

    def is_live_broker(self, broker: BrokerId) -> bool:
        """Whether a broker is registered and not shutting down."""
        return broker in self.state.live_broker_epochs and broker not in self.state.shutting_down_broker_ids

    def live_broker_ids(self) -> tuple[BrokerId, ...]:
        """The brokers that are registered and not shutting down."""
        return tuple(broker for broker in self.state.live_broker_epochs if self.is_live_broker(broker))

    def live_or_shutting_down_broker_ids(self) -> tuple[BrokerId, ...]:
        """The registered brokers: those that can receive requests."""
        return tuple(self.state.live_broker_epochs)

    def is_replica_online(
        self, broker: BrokerId, partition: TopicPartition, include_shutting_down_brokers: bool = False
    ) -> bool:
        """Whether a replica's broker is live, or at least registered, and its log directory has not failed."""
        there = broker in self.state.live_broker_epochs
        if not there or (not include_shutting_down_brokers and broker in self.state.shutting_down_broker_ids):
            return False
        failed = self.state.replicas_on_offline_dirs
        return broker not in failed or partition not in failed[broker]

    # Leaders.

    def leadership_of(self, partition: TopicPartition) -> LeaderIsrAndControllerEpoch | None:
        """The leader and the ISR of a partition; None if it never had one [partitionLeadershipInfo]."""
        return self.state.partition_leadership_info.get(partition)

    def put_partition_leadership_info(self, partition: TopicPartition, known: LeaderIsrAndControllerEpoch) -> None:
        """Record a leader and an ISR that were read or written."""
        self.state.partition_leadership_info[partition] = known

    def leader_epoch(self, partition: TopicPartition) -> LeaderEpoch:
        """The leader epoch in StopReplica: -2 if the topic is queued for deletion, -1 if the partition has none."""
        if self.is_topic_queued_up_for_deletion(partition.topic):
            return EPOCH_DURING_DELETE
        known = self.leadership_of(partition)
        return NO_EPOCH if known is None else known.leader_and_isr.leader_epoch

    def partitions_with_leaders(self) -> tuple[TopicPartition, ...]:
        """The partitions that have had a leader, and whose topics are not queued for deletion."""
        return tuple(
            partition
            for partition in self.state.partition_leadership_info
            if not self.is_topic_queued_up_for_deletion(partition.topic)
        )

    def partitions_with_offline_leader(self) -> tuple[TopicPartition, ...]:
        """Those of them whose leader is not online, or that have lost theirs."""
        return tuple(
            partition
            for partition, known in self.state.partition_leadership_info.items()
            if not self.is_replica_online(known.leader_and_isr.leader, partition)
            and not self.is_topic_queued_up_for_deletion(partition.topic)
        )

    def partition_leaders_on_broker(
        self, broker: BrokerId, include_deleted: bool = False
    ) -> tuple[TopicPartition, ...]:
        """Those of them that this broker leads and that have other replicas; optionally deleted topics included."""
        with_leaders = self.state.partition_leadership_info if include_deleted else self.partitions_with_leaders()
        return tuple(
            partition
            for partition in with_leaders
            if self.state.partition_leadership_info[partition].leader_and_isr.leader == broker
            and len(self.partition_replica_assignment(partition)) > 1
        )

    # States of partitions and replicas.

    def partition_state(self, partition: TopicPartition) -> PartitionState:
        """The state of a partition; NonExistentPartition if unknown."""
        return self.state.partition_states.get(partition, NonExistentPartition)

    def replica_state(self, replica: PartitionAndReplica) -> ReplicaState:
        """The state of a replica; NonExistentReplica if unknown."""
        return self.state.replica_states.get(replica, NonExistentReplica)

    def put_partition_state(self, partition: TopicPartition, state: PartitionState) -> None:
        """Set the state of a partition. The state machine checks the table first."""
        self.state.partition_states[partition] = state

    def put_replica_state(self, replica: PartitionAndReplica, state: ReplicaState) -> None:
        """Set the state of a replica. The state machine checks the table first."""
        self.state.replica_states[replica] = state

    def put_partition_state_if_not_exists(self, partition: TopicPartition, state: PartitionState) -> None:
        """Set the state of a partition that has none."""
        if partition not in self.state.partition_states:
            self.put_partition_state(partition, state)

    def put_replica_state_if_not_exists(self, replica: PartitionAndReplica, state: ReplicaState) -> None:
        """Set the state of a replica that has none."""
        if replica not in self.state.replica_states:
            self.put_replica_state(replica, state)

    def remove_replica_state(self, replica: PartitionAndReplica) -> None:
        """Forget the state of a replica."""
        self.state.replica_states.pop(replica, None)

    def partitions_in_states(
        self, states: Collection[PartitionState], topic: TopicName | None = None
    ) -> tuple[TopicPartition, ...]:
        """The partitions in these states, of one topic or of all."""
        if topic is not None:
            return tuple(each for each in self.partitions_for_topic(topic) if self.partition_state(each) in states)
        return tuple(partition for partition, state in self.state.partition_states.items() if state in states)

    def replicas_in_state(
        self, topic: TopicName, state: ReplicaState, assigned: bool = True
    ) -> tuple[PartitionAndReplica, ...]:
        """The assigned replicas of a topic that are in this state; or all that have one."""
        if assigned:
            return tuple(self._replicas_in(topic, state))
        states = self.state.replica_states.items()
        return tuple(each for each, its in states if its == state and each.topic_partition.topic == topic)

    def are_all_replicas_in_state(self, topic: TopicName, state: ReplicaState) -> bool:
        """Whether all replicas of a topic are in this state."""
        return all(self.replica_state(replica) == state for replica in self.replicas_for_topic(topic))

    def is_any_replica_in_state(self, topic: TopicName, state: ReplicaState) -> bool:
        """Whether a replica of a topic is in this state."""
        return next(self._replicas_in(topic, state), None) is not None

    def _replicas_in(self, topic: TopicName, state: ReplicaState) -> Iterator[PartitionAndReplica]:
        return (replica for replica in self.replicas_for_topic(topic) if self.replica_state(replica) == state)

    def offline_partition_count(self) -> int:
        """The number of offline partitions, except those whose deletion has started [OfflinePartitionsCount]."""
        return sum(
            not self.is_topic_deletion_in_progress(partition.topic)
            for partition in self.partitions_in_states({OfflinePartition})
        )

    def is_imbalanced(self, partition: TopicPartition) -> bool:
        """Whether a partition has had a leader, and its first replica does not lead. [hasPreferredLeader]

        While that replica is being added, the partition is imbalanced once it is in the ISR.

        Raises:
            IndexError: it has no replicas.
        """
        assignment, known = self.partition_full_replica_assignment(partition), self.leadership_of(partition)
        preferred = assignment.replicas[0]
        if known is None:
            return False
        leader, isr = known.leader_and_isr.leader, known.leader_and_isr.isr
        return preferred in isr if preferred in assignment.adding_replicas else preferred != leader

    def preferred_replica_imbalance_count(self, include_deleted: bool = False) -> int:
        """The number of imbalanced partitions [PreferredReplicaImbalanceCount]; optionally deleted topics included.

        Raises:
            IndexError: a partition has no replicas.
        """
        return sum(
            self.is_imbalanced(partition)
            and (include_deleted or not self.is_topic_queued_up_for_deletion(partition.topic))
            for partition in self.state.partition_assignments
        )

    # Topics.

    def set_all_topics(self, topics: Iterable[TopicName]) -> None:
        """Set the topics."""
        self.state.all_topics = frozenset(topics)

    def queue_topic_deletion(self, topics: Iterable[TopicName]) -> None:
        """Queue these topics for deletion."""
        self.state.topics_to_be_deleted |= frozenset(topics)

    def begin_topic_deletion(self, topics: Iterable[TopicName]) -> None:
        """Mark the deletion of these topics as started."""
        self.state.topics_with_deletion_started |= frozenset(topics)

    def is_topic_queued_up_for_deletion(self, topic: TopicName) -> bool:
        """Whether a topic is queued for deletion."""
        return topic in self.state.topics_to_be_deleted

    def is_topic_deletion_in_progress(self, topic: TopicName) -> bool:
        """Whether its deletion has begun."""
        return topic in self.state.topics_with_deletion_started

    def is_topic_eligible_for_deletion(self, topic: TopicName) -> bool:
        """Whether it is queued for deletion, and nothing prevents that."""
        return self.is_topic_queued_up_for_deletion(topic) and topic not in self.state.topics_ineligible_for_deletion

    def remove_topic(self, topic: TopicName) -> None:
        """Forget a topic. As in Kafka, the states of its partitions and replicas stay.

        So do its entries among reassignments and among topics that are ineligible for deletion.
        """
        for partition in self.partitions_for_topic(topic):
            self._index.remove(partition, self.state.partition_assignments.pop(partition))
            self.state.partition_leadership_info.pop(partition, None)
        self.state.topics_to_be_deleted -= {topic}
        self.state.topics_with_deletion_started -= {topic}
        self.state.all_topics -= {topic}

    def reset_context(self) -> None:
        """Forget everything: the controller resigns."""
        nothing = InMemoryContext()
        for name in (each.name for each in fields(nothing)):
            if isinstance(getattr(nothing, name), MutableMapping):
                getattr(self.state, name).clear()
            else:
                setattr(self.state, name, getattr(nothing, name))
        self._made = None
