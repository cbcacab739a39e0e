"""Replica leader election: elections on request, not because a leader has died.

The *preferred* replica of a partition is the first of its assignment. It is elected if it is online and in sync; the
ISR does not change. Three sources request this:

    the node /admin/preferred_replica_election   it is deleted afterwards, whatever the outcome
    an administrator, by ElectLeaders            the request may be for an unclean election as well: of any replica
                                                 that is online, if the leader is dead
    the controller itself, periodically          the automatic rebalance, by `election.rebalance`: if others lead too
                                                 many of the partitions that prefer a broker, it is elected for those
                                                 that it can lead

Partitions with the right leader are skipped, whatever the source (since 2.2), and so are those of topics to be
deleted. If one of the partitions never had a leader the event fails, and the node stays. Until 0.10.2 all partitions
of the event then count as in progress: leaders are not rebalanced, and other elections by node leave them out. Only a
failover tries them again.

Until 2.5 the rebalance also requested partitions whose preferred replica was not in sync, which failed. Until 2.3 the
reply to an administrator was NONE if the preferred replica already led; until 2.1 there was only the node; until 2.0
the rebalance held an election for each partition, one after the other. `rebalance_timer` schedules the next
rebalance.

[processReplicaLeaderElection, onReplicaElection, checkAndTriggerAutoLeaderRebalance in KafkaController.scala, 3.9]
"""

from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

from election.ids import BrokerId
from election.rebalance import LEADER_IMBALANCE_PER_BROKER_PERCENTAGE, Partition, rebalance_candidates
from statemachines.controller.calls import (
    Call,
    Callback,
    Calls,
    EventFailed,
    EventFailure,
    Result,
    always,
    call,
    then,
)
from statemachines.controller.event_driver import EventDriver
from statemachines.controller.partition_state_machine import (
    OFFLINE,
    PREFERRED,
    UNCLEAN_OFFLINE,
    PartitionLeaderElectionStrategy,
)
from statemachines.controller.state_change import ElectionOutcome, StateChangeFailure
from statemachines.controller.zk_requests import ZkResponse
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import PREFERRED_REPLICA_ELECTION
from statemachines.tables.partition import NonExistentPartition, OnlinePartition


class ElectionType(Enum):
    """The type of a requested election [ElectionType.java]."""

    PREFERRED = "of the preferred replicas"
    UNCLEAN = "of any replica that is online, if none is in sync"

    def __str__(self) -> str:
        return self.name


class ElectionTrigger(Enum):
    """The source of a request [ElectionTrigger]."""

    AutoTriggered = "the controller itself"
    ZkTriggered = "the node /admin/preferred_replica_election"
    AdminClientTriggered = "an administrator"

    def __str__(self) -> str:
        return self.name


ElectionResults: TypeAlias = tuple[tuple[TopicPartition, BrokerId | Errors], ...]
"""The leader of each partition, or the reason for no election."""

NO_LEADER_ELECTED = frozenset(
    {
        StateChangeFailure.NoLiveReplica,
        StateChangeFailure.NoLeaderAndIsr,
        StateChangeFailure.NewerController,
        StateChangeFailure.NoLeaderElected,
    }
)
"""The failures in an administrator's reply that mean no leader; StateChangeFailedException in Kafka."""


class ReplicaLeaderElection(EventDriver):
    """The part of a controller that elects leaders on request."""

    leader_imbalance_per_broker_percentage: int = LEADER_IMBALANCE_PER_BROKER_PERCENTAGE
    """[leader.imbalance.per.broker.percentage]"""

    # Events.

    def process_replica_leader_election(
        self,
        partitions: tuple[TopicPartition, ...] | None = None,
        election_type: ElectionType = ElectionType.PREFERRED,
        trigger: ElectionTrigger = ElectionTrigger.ZkTriggered,
    ) -> Calls:
        """Elect leaders; the reply to an administrator is `ElectionResults`. [ReplicaLeaderElection]

        Args:
            partitions: the partitions; None for those of the node, which is read now.
            election_type: the type of election.
            trigger: the source of the request.
        """
        if trigger is ElectionTrigger.AdminClientTriggered or partitions is not None:
            return self._elect_leaders(partitions or (), election_type, trigger)
        return (
            *self.zk_client.path_exists(PREFERRED_REPLICA_ELECTION, watch=True),
            then(self._elect_if_there, election_type, trigger),
        )

    def process_auto_preferred_replica_leader_election(self) -> Calls:
        """The rebalance is due. [AutoPreferredReplicaLeaderElection]"""
        preferring: dict[BrokerId, list[TopicPartition]] = {}
        for partition in self.context.all_partitions():
            if not self.context.is_topic_queued_up_for_deletion(partition.topic):
                preferring.setdefault(self.preferred_replica(partition), []).append(partition)
        return tuple(call(self._rebalance, broker, tuple(preferring[broker])) for broker in sorted(preferring))

    def process_unclean_leader_election_enable(self, topic: TopicName | None = None) -> Calls:
        """Unclean elections are now permitted, for a topic or by default.

        Not modelled: until 2.2.0 a broker queues the event before it changes its own default, so the election may
        still find the old one [KAFKA-7976, 2.2.1].

        [TopicUncleanLeaderElectionEnable, UncleanLeaderElectionEnable]
        """
        return self.partition_state_machine.trigger_online_partition_state_change(topic)

    # Interface for other parts.

    def get_preferred_replica_election(self) -> Calls:
        """Read the partitions in the node."""
        return (*self.zk_client.get_data((PREFERRED_REPLICA_ELECTION,)), then(self._got_election))

    def on_replica_election(
        self,
        partitions: tuple[TopicPartition, ...],
        election_type: ElectionType,
        trigger: ElectionTrigger,
        answer: Call | None = None,
    ) -> Calls:
        """Elect, and delete the node of the request; a call that answers it takes the results.

        Only an administrator can permit an unclean election.
        """
        by_admin = trigger is ElectionTrigger.AdminClientTriggered
        unclean = UNCLEAN_OFFLINE if by_admin else OFFLINE
        strategy = PREFERRED if election_type is ElectionType.PREFERRED else unclean
        elect: Calls = (call(self.partitions_become, partitions, OnlinePartition, strategy),)
        if answer is not None:
            elect = (call(self._hold_election, partitions, strategy), answer)
        return elect if by_admin else (*elect, always(call(self._remove_partitions, partitions, trigger)))

    def _hold_election(
        self, partitions: tuple[TopicPartition, ...], strategy: PartitionLeaderElectionStrategy
    ) -> Calls:
        return self.partition_state_machine.handle_state_changes(partitions, OnlinePartition, strategy)

    def preferred_replica(self, partition: TopicPartition) -> BrokerId:
        """The first replica of a partition.

        Raises:
            EventFailed: it has none.
        """
        replicas = self.context.partition_replica_assignment(partition)
        if not replicas:
            raise EventFailed(EventFailure.NotAssigned)
        return replicas[0]

    # Requests by the node, or by an administrator.

    def _elect_if_there(self, there: bool, election_type: ElectionType, trigger: ElectionTrigger) -> Calls:
        elect = then(self._elect_leaders, election_type, trigger)
        return (*self.get_preferred_replica_election(), elect) if there else ()

    def _got_election(self, answers: Sequence[ZkResponse | None]) -> Calls:
        (answer,) = answers
        return (Result(() if answer is None else tuple(answer.data)),)

    def _elect_leaders(
        self, partitions: tuple[TopicPartition, ...], election_type: ElectionType, trigger: ElectionTrigger
    ) -> Calls:
        if not self.design.elect_where_needed:
            return self._elect_all(partitions)
        refused: ElectionResults = ()
        electable: tuple[TopicPartition, ...] = ()
        for partition in dict.fromkeys(partitions):
            error = self._refusal(partition, election_type)
            if error is None:
                electable += (partition,)
            else:
                refused += ((partition, error),)
        answer = then(self._answer_election, election_type, refused)
        return self.on_replica_election(electable, election_type, trigger, answer)

    def _elect_all(self, partitions: tuple[TopicPartition, ...]) -> Calls:
        """Until 2.1: elect for all in the node, except partitions to be deleted.

        An unknown partition gets a state, but no election, and the node stays: the search for its leader fails.
        """
        wanted = tuple(
            partition
            for partition in dict.fromkeys(partitions)
            if partition not in self.elections_in_progress
            and not self.context.is_topic_queued_up_for_deletion(partition.topic)
        )
        return self.elect_and_remove(wanted)

    def elect_and_remove(self, wanted: tuple[TopicPartition, ...]) -> Calls:
        """Elect for all of these, and delete the node [onPreferredReplicaElection, until 2.1]."""
        known = tuple(partition for partition in wanted if partition in self.context.state.partition_assignments)
        for partition in wanted:
            if partition not in known:
                self.context.put_partition_state_if_not_exists(partition, NonExistentPartition)
        return (
            call(self.partitions_become, known, OnlinePartition, PREFERRED),
            always(call(self._remove_partitions, wanted, ElectionTrigger.ZkTriggered)),
        )

    def _refusal(self, partition: TopicPartition, election_type: ElectionType) -> Errors | None:
        """The reason for no election of a partition; None if there is one."""
        if partition not in self.context.state.partition_assignments:
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        if self.context.is_topic_queued_up_for_deletion(partition.topic):
            return Errors.INVALID_TOPIC_EXCEPTION
        leader = self.leadership_of(partition).leader_and_isr.leader
        if election_type is ElectionType.PREFERRED:
            needed = leader != self.preferred_replica(partition)
        else:
            needed = leader == NO_LEADER or not self.context.is_live_broker(leader)
        if needed:
            return None
        return Errors.ELECTION_NOT_NEEDED if self.design.report_election_not_needed else Errors.NONE

    def _answer_election(
        self,
        results: Sequence[tuple[TopicPartition, ElectionOutcome]],
        election_type: ElectionType,
        refused: ElectionResults,
    ) -> Calls:
        preferred = election_type is ElectionType.PREFERRED
        none = Errors.PREFERRED_LEADER_NOT_AVAILABLE if preferred else Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
        answered: ElectionResults = ()
        for partition, outcome in results:
            if isinstance(outcome, LeaderAndIsr):
                answered += ((partition, outcome.leader),)
            else:
                answered += ((partition, none if outcome in NO_LEADER_ELECTED else Errors.UNKNOWN_SERVER_ERROR),)
        return (Callback((*answered, *refused)),)

    def _remove_partitions(self, partitions: tuple[TopicPartition, ...], trigger: ElectionTrigger) -> Calls:
        """Delete the node, and expect another one [removePartitionsFromPreferredReplicaElection]."""
        if self.design.remember_elections:
            self.elections_in_progress |= frozenset(partitions)
        for partition in partitions:  # Kafka logs the outcome of each; it may throw
            self.leadership_of(partition)
            self.preferred_replica(partition)
        self.elections_in_progress -= frozenset(partitions)
        if trigger is ElectionTrigger.AutoTriggered:
            return ()
        return (*self.zk_client.delete((PREFERRED_REPLICA_ELECTION,)), call(self._expect_election))

    def _expect_election(self) -> None:
        """Set the watch for another one again, unless ZkClient does."""
        if not self.handlers.are_listeners:
            self.put(call(self.process_replica_leader_election))

    # The controller's own rebalance.

    def _rebalance(self, broker: BrokerId, preferring: tuple[TopicPartition, ...]) -> Calls:
        """Return leadership to a broker if others lead too many of its partitions, unless its disk has failed."""
        if self.context.state.partitions_being_reassigned and not self.design.rebalance_while_reassigning:
            return ()
        if self.elections_in_progress:
            return ()
        candidates = rebalance_candidates(
            broker,
            {partition: self._remembered(partition) for partition in preferring},
            self.context.live_broker_ids(),
            percentage=self.leader_imbalance_per_broker_percentage,
            in_sync=self.design.rebalance_electable,
        )
        if not candidates:
            return ()
        if not self.design.rebalance_together:
            return tuple(call(self._rebalance_one, broker, partition) for partition in candidates)
        able = tuple(partition for partition in candidates if self._can_rebalance(broker, partition))
        return self.on_replica_election(able, ElectionType.PREFERRED, ElectionTrigger.AutoTriggered)

    def _rebalance_one(self, broker: BrokerId, partition: TopicPartition) -> Calls:
        if not self._can_rebalance(broker, partition):
            return ()
        return self.on_replica_election((partition,), ElectionType.PREFERRED, ElectionTrigger.AutoTriggered)

    def _can_rebalance(self, broker: BrokerId, partition: TopicPartition) -> bool:
        is_there = partition.topic in self.context.state.all_topics
        return is_there and self.context.is_replica_online(broker, partition)

    def _remembered(self, partition: TopicPartition) -> Partition:
        """A partition in the form of `election.rebalance`."""
        replicas, known = self.context.partition_replica_assignment(partition), self.context.leadership_of(partition)
        if known is None:
            return Partition(replicas)
        leader = known.leader_and_isr.leader
        return Partition(replicas, None if leader == NO_LEADER else leader, known.leader_and_isr.isr)
