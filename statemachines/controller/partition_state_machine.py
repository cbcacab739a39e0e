"""PartitionStateMachine: how partitions change their states, with the writes and requests of each change.

`statemachines.tables.partition` has the permitted transitions; `election` elects leaders. Effects of a transition:

    -> NewPartition            none
    New -> OnlinePartition     the first online replica leads, and all online ones are the ISR. The state is created,
                               in three batches: nodes of topics, nodes of partitions, states. LeaderAndIsr goes to
                               the ISR, as new
    Online, Offline -> Online  an election: the states are read, a strategy finds leaders, and the states are set
                               if they still have the versions that were read. The strategy chooses the recipients
    -> Offline, NonExistent    none

The election is a loop. A state with a conflicting write (BADVERSION) is read again, and another leader may be found;
there is no limit and no pause. A partition drops out without success if it has no state, if a newer controller has
written it, if no leader is found, or after any other error of ZooKeeper. It then keeps its state.

What an election keeps while it waits is an `Election`. Its calls: `_hold_elections` reads the states,
`_elect_from_read` takes them, `_elect_as_configured` the configurations if they matter, `_elect` finds leaders and
sets the states, `_leaders_set` takes the outcome, and holds the next round or ends with `_over`.

The controller cannot tell its own write with a lost reply from another's. A create finds NODEEXISTS, and the
partition stays NewPartition until there is another controller, which reads the state; a set finds BADVERSION, and the
leader epoch is incremented twice.

Until 1.0 partitions are handled one by one, each with its own requests (`change_together`), and a failed set is tried
again whatever the reason; on BADVERSION the state is read back first, and may be the controller's own.

If a fence fails, the controller has moved, and the change is cut short. The writes of earlier rounds are known, and
their requests stay in the batch; the outcome of the fenced batch itself is unknown.

[PartitionStateMachine.scala, KafkaZkClient.scala, 3.9]
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from election import STRATEGIES, initialize_leader_and_isr, leader_for_controlled_shutdown_1_1
from election.ids import BrokerId
from statemachines.controller.calls import Await, Calls, then
from statemachines.controller.context import ControllerContext
from statemachines.controller.request_batch import BatchNotEmpty
from statemachines.controller.state_change import ChangeDone, ElectionOutcome, StateChangeCause, StateChangeFailure
from statemachines.controller.zk_requests import PartitionUpdate, StateRequests, ZkBatch, ZkResponse
from statemachines.controller.zk_state_machine import Answers, ZkStateMachine
from statemachines.messages.leader_and_isr import INITIAL_LEADER_EPOCH, LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.tables.partition import (
    PARTITION,
    NewPartition,
    NonExistentPartition,
    OfflinePartition,
    OnlinePartition,
    PartitionState,
)
from statemachines.zookeeper.tree import Code


class PartitionLeaderElectionStrategy(NamedTuple):
    """The reason to elect leaders, which decides how."""

    name: Literal["offline", "reassign", "preferred", "controlled-shutdown"]
    """One of `election.STRATEGIES`."""
    allow_unclean: bool = False
    """An administrator permits a leader from outside the ISR, whatever the configuration; only for *offline*."""


OFFLINE: Final = PartitionLeaderElectionStrategy("offline")
UNCLEAN_OFFLINE: Final = PartitionLeaderElectionStrategy("offline", allow_unclean=True)
REASSIGN: Final = PartitionLeaderElectionStrategy("reassign")
PREFERRED: Final = PartitionLeaderElectionStrategy("preferred")
CONTROLLED_SHUTDOWN: Final = PartitionLeaderElectionStrategy("controlled-shutdown")


class PartitionModel:
    """One partition as a model of the library `transitions`: its state is the one in the controller's context."""

    __slots__ = ("_context", "_partition")

    def __init__(self, context: ControllerContext, partition: TopicPartition) -> None:
        self._context, self._partition = context, partition

    @property
    def state(self) -> PartitionState:
        """The state in the controller's context."""
        return self._context.partition_state(self._partition)

    @state.setter
    def state(self, state: PartitionState) -> None:
        self._context.put_partition_state(self._partition, state)


Results: TypeAlias = tuple[tuple[TopicPartition, StateChangeCause | None], ...]
"""The outcome of elections: None for a new leader, which is in the context by now, or the cause of failure."""


class Election(NamedTuple):
    """What a change of partitions to OnlinePartition keeps while it waits for ZooKeeper."""

    partitions: tuple[TopicPartition, ...]
    """All partitions of the change."""
    strategy: PartitionLeaderElectionStrategy
    to_elect: tuple[TopicPartition, ...] = ()
    """While new partitions get their state: those whose election follows."""
    results: Results = ()
    """A partition may have two: no leader, then one, after a conflict over another repeated all elections."""
    to_come: tuple[TopicPartition, ...] = ()
    """Until 1.0: the partitions that follow, one by one."""


class PartitionStateMachine(ZkStateMachine):
    """The states of partitions; `ZkStateMachine` explains its arguments, and `event_driver` makes its calls."""

    mark_unclean: Callable[[], object] | None = None
    """Called for each elected leader that was not in sync [uncleanLeaderElectionRate]."""

    def startup(self) -> Calls:
        """Derive the states from what a new controller has read, then elect leaders where there are none."""
        for partition in self.context.all_partitions():
            known = self.context.leadership_of(partition)
            if known is None:
                state = NewPartition
            elif self.context.is_replica_online(known.leader_and_isr.leader, partition):
                state = OnlinePartition
            else:
                state = OfflinePartition
            self.context.put_partition_state(partition, state)
        return self.trigger_online_partition_state_change()

    def trigger_online_partition_state_change(self, topic: TopicName | None = None) -> Calls:
        """Bring every new or offline partition online, of one topic or of all, except those to be deleted.

        Until 2.2 a topic's partitions are all that have a state. [triggerOnlinePartitionStateChange]
        """
        assigned = topic if self.design.trigger_assigned else None
        wanted = [
            partition
            for partition in self.context.partitions_in_states({OfflinePartition, NewPartition}, assigned)
            if topic in (None, partition.topic) and not self.context.is_topic_queued_up_for_deletion(partition.topic)
        ]
        return self.handle_state_changes(wanted, OnlinePartition, OFFLINE)

    def handle_state_changes(
        self,
        partitions: Iterable[TopicPartition],
        target: PartitionState,
        strategy: PartitionLeaderElectionStrategy | None = None,
    ) -> Calls:
        """Change the states of these partitions, if the table permits it. The result is a `ChangeDone`.

        Args:
            partitions: the partitions; those without a permitted transition keep their state, and the others
                continue.
            target: the new state.
            strategy: the election strategy, if the new state is OnlinePartition.

        Raises:
            ValueError: a partition occurs twice, or is unknown; the target is no state of partitions; or it is
                OnlinePartition, and there is no strategy. Nothing has changed.
        """
        partitions = tuple(partitions)
        if not isinstance(target, PartitionState):
            raise ValueError(f"{target!r} is no state of partitions")
        if target is OnlinePartition and (strategy is None or strategy.name not in STRATEGIES):
            raise ValueError(f"{target} needs an election strategy, not {strategy}")
        self.check_asked(partitions, partitions)
        if not partitions:
            return (ChangeDone(),)
        try:
            self.batch.new_batch()
        except BatchNotEmpty:
            self.log_failure(None, target, StateChangeFailure.BatchNotEmpty)
            return self._all_failed(partitions, StateChangeFailure.BatchNotEmpty)
        for partition in partitions:
            self.context.put_partition_state_if_not_exists(partition, NonExistentPartition)
        valid = [partition for partition in partitions if self._may_become(partition, target)]
        if strategy is None or target is not OnlinePartition:
            for partition in valid:
                self._become(partition, target)
            return self._send(partitions, target, ())
        return self._initialize(partitions, valid, strategy)

    # New partitions.

    def _initialize(
        self,
        partitions: tuple[TopicPartition, ...],
        valid: Sequence[TopicPartition],
        strategy: PartitionLeaderElectionStrategy,
    ) -> Calls:
        """Choose leaders of new partitions, without an election. [initializeLeaderAndIsrForPartitions]"""
        if not self.design.change_together:
            return self._go_on(Election(partitions, strategy, to_come=tuple(valid)))
        is_new = {each: self.context.partition_state(each) is NewPartition for each in valid}
        new = [each for each in valid if is_new[each]]
        updates = tuple(filter(None, map(self._first, new)))
        election = Election(partitions, strategy, to_elect=tuple(each for each in valid if not is_new[each]))
        return self._create(updates, election) if updates else self._hold_elections(election, election.to_elect)

    def _first(self, partition: TopicPartition) -> PartitionUpdate | None:
        """The first state of a new partition; None if no replica is live."""
        replicas = self.context.partition_replica_assignment(partition)
        live, leaving = self._up_and_leaving(partition, replicas)
        elected = initialize_leader_and_isr(replicas, live, shutting_down=leaving)
        if elected.leader is None or elected.isr is None:
            self.log_failure(partition, OnlinePartition, StateChangeFailure.NoLiveReplica)
            return None
        first = LeaderAndIsr(elected.leader, INITIAL_LEADER_EPOCH, elected.isr)
        return PartitionUpdate(partition, first, elected.recipients)

    def _go_on(self, election: Election) -> Calls:
        """Continue with the next partition that is handled alone; if there is none, complete the change."""
        to_come = election.to_come
        for at, partition in enumerate(to_come, start=1):
            rest = election._replace(to_come=to_come[at:])
            if self.context.partition_state(partition) is not NewPartition:
                return self._hold_elections(rest, (partition,))
            first = self._first(partition)
            if first is not None:
                return self._create((first,), rest)
        return self._over(election._replace(to_come=()))

    def _create(self, updates: tuple[PartitionUpdate, ...], election: Election) -> Calls:
        """Create the nodes of topics, of partitions, and of their states. [createTopicPartitionStatesRaw]"""
        topics = tuple(dict.fromkeys(update.partition.topic for update in updates))
        requests = StateRequests(ZkBatch.CreateTopicPartitions, topics)
        return (Await(requests, then(self._create_partitions, updates, election)),)

    def _create_partitions(
        self, answers: Answers[TopicName], updates: tuple[PartitionUpdate, ...], election: Election
    ) -> Calls:
        partitions = tuple(update.partition for update in updates)
        requests = StateRequests(ZkBatch.CreateTopicPartition, partitions=partitions)
        waits = (Await(requests, then(self._create_states, updates, election)),)
        return self._unless_fenced(answers, updates, election) or waits

    def _create_states(
        self, answers: Answers[TopicPartition], updates: tuple[PartitionUpdate, ...], election: Election
    ) -> Calls:
        requests = StateRequests(ZkBatch.CreateTopicPartitionStates, updates=updates)
        waits = (Await(requests, then(self._created, election)),)
        return self._unless_fenced(answers, updates, election) or waits

    def _unless_fenced(
        self, answers: Answers[Any], updates: tuple[PartitionUpdate, ...], election: Election
    ) -> Calls:
        """Existing nodes are fine, and so is any other failure but that of a fence."""
        failed = next((response for _, response in answers if response.results), None)
        return () if failed is None else self._created([(update, failed) for update in updates], election)

    def _created(self, answers: Answers[PartitionUpdate], election: Election) -> Calls:
        there = []
        for update, response in answers:
            if response.code is Code.OK:
                self._has_written(update, update.leader_and_isr, is_new=True)
                self._become(update.partition, OnlinePartition)
            elif response.code is Code.NODEEXISTS and self.design.elect_if_created:
                there.append(update.partition)
            else:
                self.log_failure(update.partition, OnlinePartition, response.code)
        return self._hold_elections(election, (*there, *election.to_elect))

    # Elections.

    def _hold_elections(self, election: Election, remaining: tuple[TopicPartition, ...]) -> Calls:
        """Start another round for the remaining partitions. [electLeaderForPartitions]"""
        if not remaining:
            return self._go_on(election)
        following = then(self._elect_from_read, election._replace(to_elect=()))
        return self.get_topic_partition_states_raw(remaining, following)

    def _over(self, election: Election) -> Calls:
        """Bring the partitions that have a leader now online, and send the batch."""
        results: dict[TopicPartition, ElectionOutcome] = {}
        for partition, cause in election.results:
            if cause is None:
                self._become(partition, OnlinePartition)
                results.setdefault(partition, self.context.state.partition_leadership_info[partition].leader_and_isr)
            else:  # stays, even if a repeated election succeeds [electLeaderForPartitions, 2.2]
                results[partition] = cause
        return self._send(election.partitions, OnlinePartition, tuple(results.items()))

    def _elect_from_read(self, answers: Answers[TopicPartition], election: Election) -> Calls:
        """Elect for partitions with a usable state; that may require their configuration first."""
        read, failed = [], []
        for partition, response in answers:
            outcome = self.decoded(response)
            if isinstance(outcome, LeaderAndIsr):
                read.append(PartitionUpdate(partition, outcome))
            else:
                failed.append(self._not_elected(partition, outcome))
        election = election._replace(results=_with(election.results, failed))
        without = self._without_online_isr(read) if election.strategy == OFFLINE else ()
        if without:
            following = then(self._elect_as_configured, tuple(read), without, election)
            return self.get_log_configs(without, following)
        return self._elect(read, {}, election)

    def _elect_as_configured(
        self,
        answers: Answers[TopicName],
        read: tuple[PartitionUpdate, ...],
        without: tuple[TopicPartition, ...],
        election: Election,
    ) -> Calls:
        unclean = self.unclean_of(answers)
        return self._elect(read, {partition: unclean[partition.topic] for partition in without}, election)

    def _without_online_isr(self, read: Iterable[PartitionUpdate]) -> tuple[TopicPartition, ...]:
        """The partitions whose election depends on the unclean permission [collectUncleanLeaderElectionState]."""
        return tuple(
            partition
            for partition, leader_and_isr, _ in read
            if not any(self.context.is_replica_online(broker, partition) for broker in leader_and_isr.isr)
        )

    def _elect(
        self, read: Sequence[PartitionUpdate], unclean: Mapping[TopicPartition, bool | Code], election: Election
    ) -> Calls:
        """Find leaders for the partitions whose states have been read. [doElectLeaderForPartitions]"""
        updates: list[PartitionUpdate] = []
        decided: list[tuple[TopicPartition, StateChangeCause | None]] = []
        for partition, leader_and_isr, _ in read:
            if self._leads_already(partition, election.strategy):
                decided.append((partition, None))
                continue
            permitted = unclean.get(partition, election.strategy.allow_unclean)
            update = None
            if isinstance(permitted, Code):
                self.log_failure(partition, OnlinePartition, permitted)
            else:
                update = self._elected(partition, leader_and_isr, election.strategy, permitted)
            if update is None:
                decided.append(self._not_elected(partition, StateChangeFailure.NoLeaderElected))
            else:
                updates.append(update)
        election = election._replace(results=_with(election.results, decided))
        if not updates:
            return self._go_on(election)
        return self.set_topic_partition_states_raw(updates, then(self._leaders_set, election))

    def _leads_already(self, partition: TopicPartition, strategy: PartitionLeaderElectionStrategy) -> bool:
        """Until 1.0: whether no election is needed. [PreferredReplicaPartitionLeaderSelector, 1.0]"""
        if not self.design.skip_leading_preferred or strategy != PREFERRED:
            return False
        known = self.context.leadership_of(partition)
        replicas = self.context.partition_replica_assignment(partition)
        return known is not None and replicas[:1] == (known.leader_and_isr.leader,)

    def _elected(
        self,
        partition: TopicPartition,
        leader_and_isr: LeaderAndIsr,
        strategy: PartitionLeaderElectionStrategy,
        unclean: bool,
    ) -> PartitionUpdate | None:
        """The partition's state after an election; None if there is no leader. [Election.scala]"""
        assignment: ReplicaAssignment = self.context.partition_full_replica_assignment(partition)
        replicas = assignment.target_replicas if strategy == REASSIGN else assignment.replicas
        live, leaving = self._up_and_leaving(partition, (*replicas, *leader_and_isr.isr))
        elect = STRATEGIES[strategy.name]
        if strategy == CONTROLLED_SHUTDOWN and not self.design.notify_shutting_down:
            elect = leader_for_controlled_shutdown_1_1
        elected = elect(replicas, leader_and_isr.isr, live, shutting_down=leaving, unclean=unclean)
        if elected.leader is None or elected.isr is None:
            return None
        if elected.unclean and self.design.count_unclean_elections and self.mark_unclean is not None:
            self.mark_unclean()
        new = leader_and_isr.new_leader_and_isr(elected.leader, elected.isr)
        if elected.unclean and self.design.leader_recovery:
            new = new._replace(leader_recovery_state=LeaderRecoveryState.RECOVERING)
        return PartitionUpdate(partition, new, elected.recipients)

    def _up_and_leaving(
        self, partition: TopicPartition, brokers: Iterable[BrokerId]
    ) -> tuple[frozenset[BrokerId], frozenset[BrokerId]]:
        """These brokers: those that are up for a partition, and those that are shutting down."""
        brokers = frozenset(brokers)
        up = (
            each
            for each in brokers
            if self.context.is_replica_online(each, partition, include_shutting_down_brokers=True)
        )
        return frozenset(up), brokers & self.context.state.shutting_down_broker_ids

    def _leaders_set(self, answers: Answers[PartitionUpdate], election: Election) -> Calls:
        """Adopt successful writes; elect again after conflicting ones."""
        results: list[tuple[TopicPartition, StateChangeCause | None]] = []
        retry: list[PartitionUpdate] = []
        conflict = False
        for update, response in answers:
            if response.code is Code.OK:
                results.append(self._has_elected(update, response))
            elif response.code is Code.BADVERSION or not self.design.change_together:
                conflict |= response.code is Code.BADVERSION
                retry.append(update)
            else:
                results.append(self._not_elected(update.partition, response.code))
        election = election._replace(results=_with(election.results, results))
        if conflict and self.design.read_back_state:
            return self.get_written_states(retry, then(self._leaders_read_back, election))
        again = tuple(update.partition for update in retry)
        if retry and self.design.change_together and not self.design.retry_conflicts_only:
            elected_for = {*(update.partition for update, _ in answers), *(each for each, _ in election.results)}
            again = tuple(partition for partition in election.partitions if partition in elected_for)
        return self._hold_elections(election, again)

    def _leaders_read_back(self, answers: Answers[PartitionUpdate], election: Election) -> Calls:
        """A state read back may be the controller's own, whose reply was lost; otherwise elect again."""
        results, retry = [], []
        for update, response in answers:
            if self.is_written(update, response):
                results.append(self._has_elected(update, response))
            else:
                retry.append(update.partition)
        return self._hold_elections(election._replace(results=_with(election.results, results)), tuple(retry))

    def _has_elected(self, update: PartitionUpdate, response: ZkResponse) -> tuple[TopicPartition, None]:
        written = update.leader_and_isr._replace(partition_epoch=response.version)
        self._has_written(update, written, is_new=False)
        return update.partition, None

    # Changes of state.

    def _has_written(self, update: PartitionUpdate, written: LeaderAndIsr, is_new: bool) -> None:
        known = self.known(written)
        self.context.put_partition_leadership_info(update.partition, known)
        assignment = self.context.partition_full_replica_assignment(update.partition)
        self.batch.add_leader_and_isr_request_for_brokers(
            update.recipients, update.partition, known, assignment, is_new
        )

    def _not_elected(
        self, partition: TopicPartition, cause: StateChangeCause
    ) -> tuple[TopicPartition, StateChangeCause]:
        self.log_failure(partition, OnlinePartition, cause)
        return partition, cause

    def _may_become(self, partition: TopicPartition, target: PartitionState) -> bool:
        allowed = PARTITION.allows(self.context.partition_state(partition), target)
        if not allowed:
            self.log_illegal(PARTITION, partition, PartitionModel(self.context, partition), target)
        return allowed

    def _become(self, partition: TopicPartition, target: PartitionState) -> None:
        PARTITION.become(PartitionModel(self.context, partition), target)

    def _send(
        self,
        partitions: tuple[TopicPartition, ...],
        target: PartitionState,
        results: tuple[tuple[TopicPartition, ElectionOutcome], ...],
    ) -> Calls:
        sent = self.send(target)
        return (ChangeDone(results),) if sent else self._all_failed(partitions, StateChangeFailure.RequestsNotSent)

    def _all_failed(self, partitions: Iterable[TopicPartition], cause: StateChangeFailure) -> Calls:
        """The change failed as a whole: in Kafka each partition has the same exception."""
        return (ChangeDone(tuple((partition, cause) for partition in partitions)),)


def _with(results: Results, more: Iterable[tuple[TopicPartition, StateChangeCause | None]]) -> Results:
    """Add each outcome once, even if a repeated election produces it again."""
    return (*results, *(each for each in more if each not in results))
