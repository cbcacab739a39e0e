"""Replica leader election: leaders that are elected because they ought to lead, not because another has gone.

The *preferred* replica of a partition is the first of its assignment. It is elected if it is online and in sync; the
ISR stays as it is. Three ask for that:

    the node /admin/preferred_replica_election   which is deleted when that is done, whatever came of it
    an administrator, by ElectLeaders            who may ask for an unclean election as well: of any replica that is
                                                 online, where the leader is gone
    the controller itself, from time to time     the automatic rebalance, by `election.rebalance`: where too many of
                                                 the partitions that prefer a broker are led by others, it is elected
                                                 for those of them that it can lead

Partitions that are led as they ought to be are left alone, whichever of the three asks (since 2.2), and so are those
of topics that are to be deleted. Where one of the partitions never had a leader the event fails, and the node stays.

Until 2.5 the rebalance asked for partitions as well whose preferred replica was not in sync, which failed. Until 2.3
an administrator was answered NONE where the preferred replica led already; until 2.1 there was only the node; until
2.0 the rebalance held an election for each partition, one after the other. When the next rebalance is due is told by
`rebalance_timer`.

[processReplicaLeaderElection, onReplicaElection, checkAndTriggerAutoLeaderRebalance in KafkaController.scala, 3.9]
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, combinations
from typing import ClassVar, TypeAlias

from election.ids import BrokerId
from election.rebalance import LEADER_IMBALANCE_PER_BROKER_PERCENTAGE, Partition, rebalance_candidates
from statemachines.controller.calls import (
    Call,
    Callback,
    Calls,
    EventFailed,
    EventFailure,
    Frame,
    always,
    call,
    call_of,
    then,
)
from statemachines.controller.event_driver import EventDriver
from statemachines.controller.kafka_zk_client import ZkResponse
from statemachines.controller.partition_state_machine import OFFLINE, PREFERRED, UNCLEAN_OFFLINE
from statemachines.controller.state_change import ElectionOutcome, StateChangeFailure
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import PREFERRED_REPLICA_ELECTION
from statemachines.tables.partition import NonExistentPartition, OnlinePartition

__all__ = ["ElectionTrigger", "ElectionType", "ReplicaLeaderElection"]


class ElectionType(Enum):
    """Which election is asked for [ElectionType.java]."""

    PREFERRED = "of the preferred replicas"
    UNCLEAN = "of any replica that is online, if none is in sync"

    def __str__(self) -> str:
        return self.name


class ElectionTrigger(Enum):
    """Who asks for it [ElectionTrigger]."""

    AutoTriggered = "the controller itself"
    ZkTriggered = "the node /admin/preferred_replica_election"
    AdminClientTriggered = "an administrator"

    def __str__(self) -> str:
        return self.name


ElectionResults: TypeAlias = tuple[tuple[TopicPartition, BrokerId | Errors], ...]
"""Who leads each partition now, or why there was no election."""

NO_LEADER_ELECTED = frozenset(
    {
        StateChangeFailure.NoLiveReplica,
        StateChangeFailure.NoLeaderAndIsr,
        StateChangeFailure.NewerController,
        StateChangeFailure.NoLeaderElected,
    }
)
"""The failures that an administrator is told as such; they are StateChangeFailedException in Kafka."""


class ReplicaLeaderElection(EventDriver):
    """The part of a controller that elects leaders for who asks."""

    leader_imbalance_per_broker_percentage: int = LEADER_IMBALANCE_PER_BROKER_PERCENTAGE
    """[leader.imbalance.per.broker.percentage]"""

    # Events.

    def process_replica_leader_election(
        self,
        partitions: tuple[TopicPartition, ...] | None = None,
        election_type: ElectionType = ElectionType.PREFERRED,
        trigger: ElectionTrigger = ElectionTrigger.ZkTriggered,
    ) -> Calls:
        """Leaders are to be elected; an administrator is answered `ElectionResults`. [ReplicaLeaderElection]

        Args:
            partitions: for which; None: for those of the node.
            election_type: which election.
            trigger: who asks.
        """
        following = then(self._elect_leaders, election_type, trigger)
        if trigger is ElectionTrigger.AdminClientTriggered:
            return (following.with_answer(partitions or ()),)
        return self.zk_client.path_exists(
            PREFERRED_REPLICA_ELECTION, then(self._partitions_of_node, following), watch=True
        )

    def process_auto_preferred_replica_leader_election(self) -> Calls:
        """It is time to rebalance. [AutoPreferredReplicaLeaderElection]"""
        preferring: dict[BrokerId, list[TopicPartition]] = {}
        for partition in self.context.all_partitions():
            if not self.context.is_topic_queued_up_for_deletion(partition.topic):
                preferring.setdefault(self.preferred_replica(partition), []).append(partition)
        return tuple(call(self._rebalance, broker, tuple(preferring[broker])) for broker in sorted(preferring))

    def process_unclean_leader_election_enable(self, topic: TopicName | None = None) -> Calls:
        """Unclean elections are permitted from now on, of a topic or by default.

        [TopicUncleanLeaderElectionEnable, UncleanLeaderElectionEnable]
        """
        return self.trigger_online_partition_state_change(topic)

    # What others ask of it.

    def get_preferred_replica_election(self, following: Call) -> Calls:
        """The partitions that stand in the node."""
        return self.zk_client.get_data((PREFERRED_REPLICA_ELECTION,), then(self._got_election, following))

    def on_replica_election(
        self,
        partitions: tuple[TopicPartition, ...],
        election_type: ElectionType,
        trigger: ElectionTrigger,
        following: Call | None = None,
    ) -> Calls:
        """Elect, and delete the node that asked for it; the call takes what elections came to.

        Only an administrator is taken at their word that the election may be unclean.
        """
        by_admin = trigger is ElectionTrigger.AdminClientTriggered
        unclean = UNCLEAN_OFFLINE if by_admin else OFFLINE
        strategy = PREFERRED if election_type is ElectionType.PREFERRED else unclean
        elect = call(self.partitions_become, partitions, OnlinePartition, strategy, following)
        return (elect,) if by_admin else (elect, always(call(self._remove_partitions, partitions, trigger)))

    def preferred_replica(self, partition: TopicPartition) -> BrokerId:
        """The first replica of a partition.

        Raises:
            EventFailed: it has none.
        """
        replicas = self.context.partition_replica_assignment(partition)
        if not replicas:
            raise EventFailed(EventFailure.NotAssigned)
        return replicas[0]

    # By the node, or by an administrator.

    def _partitions_of_node(self, there: bool, following: Call) -> Calls:
        return self.get_preferred_replica_election(following) if there else ()

    def _got_election(self, answers: Sequence[ZkResponse | None], following: Call) -> Calls:
        (answer,) = answers
        return (following.with_answer(() if answer is None else tuple(answer.data)),)

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
        """Until 2.1: all that stand in the node, but for what is to be deleted. An unknown one cannot be, but counts.

        It comes to have a state, and the node stays, for its leader is looked for.
        """
        wanted = tuple(
            partition
            for partition in dict.fromkeys(partitions)
            if not self.context.is_topic_queued_up_for_deletion(partition.topic)
        )
        known = tuple(partition for partition in wanted if partition in self.context.state.partition_assignments)
        for partition in wanted:
            if partition not in known:
                self.context.put_partition_state_if_not_exists(partition, NonExistentPartition)
        return (
            call(self.partitions_become, known, OnlinePartition, PREFERRED),
            always(call(self._remove_partitions, wanted, ElectionTrigger.ZkTriggered)),
        )

    def _refusal(self, partition: TopicPartition, election_type: ElectionType) -> Errors | None:
        """Why there is no election for a partition; None: there is one."""
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
        """The node is deleted, and another one expected [removePartitionsFromPreferredReplicaElection]."""
        for partition in partitions:  # to log whether that led to anything; it may throw
            self.leadership_of(partition)
            self.preferred_replica(partition)
        if trigger is ElectionTrigger.AutoTriggered:
            return ()
        return (*self.zk_client.delete((PREFERRED_REPLICA_ELECTION,)), call(self._expect_election))

    def _expect_election(self) -> None:
        """The watch for another one has to be armed again."""
        self.put(call(self.process_replica_leader_election))

    # By the controller itself.

    def _rebalance(self, broker: BrokerId, preferring: tuple[TopicPartition, ...]) -> Calls:
        """A broker leads again what prefers it, if others lead too much of that; not where its disk has failed."""
        if self.context.state.partitions_being_reassigned and not self.design.rebalance_while_reassigning:
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
        """A partition, as `election.rebalance` takes it."""
        replicas, known = self.context.partition_replica_assignment(partition), self.context.leadership_of(partition)
        if known is None:
            return Partition(replicas)
        leader = known.leader_and_isr.leader
        return Partition(replicas, None if leader == NO_LEADER else leader, known.leader_and_isr.isr)

    @classmethod
    def rebalancing(cls, preferring: Mapping[BrokerId, Sequence[TopicPartition]]) -> Iterator[tuple[Call, ...]]:
        """What may be left of a check for imbalance while one of its elections waits.

        Args:
            preferring: of each broker, the partitions whose preferred replica it keeps.
        """
        brokers = sorted(preferring)
        for number, broker in enumerate(brokers, start=1):
            others = tuple(call_of(cls._rebalance, each, tuple(preferring[each])) for each in brokers[number:])
            for some in subsequences(preferring[broker]):
                removed = always(call_of(cls._remove_partitions, some, ElectionTrigger.AutoTriggered))
                yield (removed, *others)
            for first, *rest in filter(None, subsequences(preferring[broker])):
                removed = always(call_of(cls._remove_partitions, (first,), ElectionTrigger.AutoTriggered))
                yield (removed, *(call_of(cls._rebalance_one, broker, each) for each in rest), *others)

    ANSWERED: ClassVar[Frame] = Frame(_answer_election, takes_answer=True)
    """An administrator is answered."""
    RESUME_FRAMES: ClassVar[tuple[Frame, ...]] = (ANSWERED,)


def subsequences(partitions: Sequence[TopicPartition]) -> Iterator[tuple[TopicPartition, ...]]:
    """Every choice of some of them, in their order."""
    return chain.from_iterable(combinations(partitions, length) for length in range(len(partitions) + 1))
