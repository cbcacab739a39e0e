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
from typing import Final, Literal, NamedTuple, TypeAlias

from election import STRATEGIES, initialize_leader_and_isr, leader_for_controlled_shutdown_1_1
from election.ids import BrokerId
from statemachines.controller.context import ControllerContext
from statemachines.controller.kafka_zk_client import ControllerMoved, RequestFailed, ZkBatch, ZkResponse
from statemachines.controller.request_batch import BatchNotEmpty
from statemachines.controller.state_change import ChangeDone, ElectionOutcome, StateChangeCause, StateChangeFailure
from statemachines.controller.zk_state_machine import PartitionUpdate, ZkStateMachine
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


class PartitionStateChange(NamedTuple):
    """Partitions become online, and wait for a batch of requests to ZooKeeper."""

    due: ZkBatch
    asking: tuple[TopicPartition, ...]
    """The partitions of the batch."""
    updates: tuple[PartitionUpdate, ...]
    """The states to create or set; during the read of configurations, the states that had been read."""
    partitions: tuple[TopicPartition, ...]
    """All partitions of the change."""
    strategy: PartitionLeaderElectionStrategy
    to_elect: tuple[TopicPartition, ...] = ()
    """While new partitions get their state: those whose election follows."""
    results: Results = ()
    """A partition may have two: no leader, then one, after a conflict over another repeated all elections."""
    to_come: tuple[TopicPartition, ...] = ()
    """Until 1.0: the partitions that follow, one by one."""


PartitionStep: TypeAlias = PartitionStateChange | ChangeDone


class PartitionStateMachine(ZkStateMachine):
    """The states of partitions; `ZkStateMachine` explains its arguments, and `carry_out` drives it."""

    mark_unclean: Callable[[], object] | None = None
    """Called for each elected leader that was not in sync [uncleanLeaderElectionRate]."""

    def startup(self) -> PartitionStep:
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

    def trigger_online_partition_state_change(self, topic: TopicName | None = None) -> PartitionStep:
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
    ) -> PartitionStep:
        """Change the states of these partitions, if the table permits it.

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
            return ChangeDone()
        try:
            self.batch.new_batch()
        except BatchNotEmpty:
            self.fail(None, target, StateChangeFailure.BatchNotEmpty)
            return self._all_failed(partitions, StateChangeFailure.BatchNotEmpty)
        for partition in partitions:
            self.context.put_partition_state_if_not_exists(partition, NonExistentPartition)
        valid = [partition for partition in partitions if self._may_become(partition, target)]
        if strategy is None or target is not OnlinePartition:
            for partition in valid:
                self._become(partition, target)
            return self._send(partitions, target, ())
        return self._initialize(partitions, valid, strategy)

    def answered(self, change: PartitionStateChange, responses: Sequence[ZkResponse]) -> PartitionStep:
        """Process the responses, one for each request and in their order.

        Raises:
            ValueError: the number of responses differs from that of the requests.
        """
        try:
            answers = self.responses_of(change, responses)
        except ControllerMoved:
            return ChangeDone(controller_moved=True)
        except RequestFailed as failed:
            answers = (ZkResponse(failed.code),) * len(change.asking)
            if change.due in (ZkBatch.CreateTopicPartitions, ZkBatch.CreateTopicPartition):
                return self._created(change, answers)
        match change.due:
            case ZkBatch.CreateTopicPartitions:  # existing nodes are fine
                return change._replace(due=ZkBatch.CreateTopicPartition)
            case ZkBatch.CreateTopicPartition:
                return change._replace(due=ZkBatch.CreateTopicPartitionStates)
            case ZkBatch.CreateTopicPartitionStates:
                return self._created(change, answers)
            case ZkBatch.GetTopicPartitionStates:
                return self._read(change, answers)
            case ZkBatch.GetTopicConfigs:
                return self._elect(change, self.unclean_of(change, answers))
            case ZkBatch.SetTopicPartitionStates:
                return self._written(change, answers)
            case ZkBatch.GetWrittenStates:
                return self._read_back(change, answers)

    # New partitions.

    def _initialize(
        self,
        partitions: tuple[TopicPartition, ...],
        valid: Sequence[TopicPartition],
        strategy: PartitionLeaderElectionStrategy,
    ) -> PartitionStep:
        """Choose leaders of new partitions, without an election. [initializeLeaderAndIsrForPartitions]"""
        if not self.design.change_together:
            begun = PartitionStateChange(ZkBatch.GetTopicPartitionStates, (), (), partitions, strategy)
            return self._go_on(begun._replace(to_come=tuple(valid)))
        is_new = {each: self.context.partition_state(each) is NewPartition for each in valid}
        new = [each for each in valid if is_new[each]]
        updates = tuple(filter(None, map(self._first, new)))
        change = PartitionStateChange(
            ZkBatch.CreateTopicPartitions,
            tuple(update.partition for update in updates),
            updates,
            partitions,
            strategy,
            tuple(each for each in valid if not is_new[each]),
        )
        return change if updates else self._hold_elections(change, change.to_elect)

    def _first(self, partition: TopicPartition) -> PartitionUpdate | None:
        """The first state of a new partition; None if no replica is live."""
        replicas = self.context.partition_replica_assignment(partition)
        live, leaving = self._up_and_leaving(partition, replicas)
        elected = initialize_leader_and_isr(replicas, live, shutting_down=leaving)
        if elected.leader is None or elected.isr is None:
            self.fail(partition, OnlinePartition, StateChangeFailure.NoLiveReplica)
            return None
        first = LeaderAndIsr(elected.leader, INITIAL_LEADER_EPOCH, elected.isr)
        return PartitionUpdate(partition, first, elected.recipients)

    def _go_on(self, change: PartitionStateChange) -> PartitionStep:
        """Continue with the next partition that is handled alone; if there is none, complete the change."""
        to_come = change.to_come
        for at, partition in enumerate(to_come, start=1):
            change = change._replace(asking=(partition,), updates=(), to_come=to_come[at:])
            if self.context.partition_state(partition) is not NewPartition:
                return change._replace(due=ZkBatch.GetTopicPartitionStates)
            first = self._first(partition)
            if first is not None:
                return change._replace(due=ZkBatch.CreateTopicPartitions, updates=(first,))
        return self._over(change)

    def _created(self, change: PartitionStateChange, responses: Sequence[ZkResponse]) -> PartitionStep:
        there = []
        for update, response in zip(change.updates, responses, strict=True):
            if response.code is Code.OK:
                self._has_written(update, update.leader_and_isr, is_new=True)
                self._become(update.partition, OnlinePartition)
            elif response.code is Code.NODEEXISTS and self.design.elect_if_created:
                there.append(update.partition)
            else:
                self.fail(update.partition, OnlinePartition, response.code)
        return self._hold_elections(change, (*there, *change.to_elect))

    # Elections.

    def _hold_elections(self, change: PartitionStateChange, remaining: tuple[TopicPartition, ...]) -> PartitionStep:
        """Start another round for the remaining partitions. [electLeaderForPartitions]"""
        if remaining:
            return change._replace(due=ZkBatch.GetTopicPartitionStates, asking=remaining, updates=(), to_elect=())
        return self._go_on(change)

    def _over(self, change: PartitionStateChange) -> ChangeDone:
        """Bring the partitions that have a leader now online, and send the batch."""
        results: dict[TopicPartition, ElectionOutcome] = {}
        for partition, cause in change.results:
            if cause is None:
                self._become(partition, OnlinePartition)
                results.setdefault(partition, self.context.state.partition_leadership_info[partition].leader_and_isr)
            else:  # stays, even if a repeated election succeeds [electLeaderForPartitions, 2.2]
                results[partition] = cause
        return self._send(change.partitions, OnlinePartition, tuple(results.items()))

    def _read(self, change: PartitionStateChange, responses: Sequence[ZkResponse]) -> PartitionStep:
        """Elect for partitions with a usable state; that may require their configuration first."""
        read, failed = [], []
        for partition, response in zip(change.asking, responses, strict=True):
            outcome = self.decoded(response)
            if isinstance(outcome, LeaderAndIsr):
                read.append(PartitionUpdate(partition, outcome))
            else:
                failed.append(self._not_elected(partition, outcome))
        change = change._replace(updates=tuple(read), results=_with(change.results, failed))
        without = self._without_online_isr(read) if change.strategy == OFFLINE else ()
        if without:
            return change._replace(due=ZkBatch.GetTopicConfigs, asking=without)
        return self._elect(change, {})

    def _without_online_isr(self, read: Iterable[PartitionUpdate]) -> tuple[TopicPartition, ...]:
        """The partitions whose election depends on the unclean permission [collectUncleanLeaderElectionState]."""
        return tuple(
            partition
            for partition, leader_and_isr, _ in read
            if not any(self.context.is_replica_online(broker, partition) for broker in leader_and_isr.isr)
        )

    def _elect(self, change: PartitionStateChange, unclean: Mapping[TopicName, bool | Code]) -> PartitionStep:
        """Find leaders for the partitions whose states have been read. [doElectLeaderForPartitions]"""
        configured = set(change.asking) if unclean else set()
        updates: list[PartitionUpdate] = []
        failed: list[tuple[TopicPartition, StateChangeCause | None]] = []
        for partition, leader_and_isr, _ in change.updates:
            if self._leads_already(partition, change.strategy):
                failed.append((partition, None))
                continue
            permitted = unclean[partition.topic] if partition in configured else change.strategy.allow_unclean
            update = None
            if isinstance(permitted, Code):
                self.fail(partition, OnlinePartition, permitted)
            else:
                update = self._elected(partition, leader_and_isr, change.strategy, permitted)
            if update is None:
                failed.append(self._not_elected(partition, StateChangeFailure.NoLeaderElected))
            else:
                updates.append(update)
        asking = tuple(update.partition for update in updates)
        change = change._replace(
            due=ZkBatch.SetTopicPartitionStates,
            asking=asking,
            updates=tuple(updates),
            results=_with(change.results, failed),
        )
        return change if updates else self._hold_elections(change, ())

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

    def _written(self, change: PartitionStateChange, responses: Sequence[ZkResponse]) -> PartitionStep:
        """Adopt successful writes; elect again after conflicting ones."""
        results: list[tuple[TopicPartition, StateChangeCause | None]] = []
        retry: list[PartitionUpdate] = []
        conflict = False
        for update, response in zip(change.updates, responses, strict=True):
            if response.code is Code.OK:
                results.append(self._has_elected(update, response))
            elif response.code is Code.BADVERSION or not self.design.change_together:
                conflict |= response.code is Code.BADVERSION
                retry.append(update)
            else:
                results.append(self._not_elected(update.partition, response.code))
        change = change._replace(results=_with(change.results, results))
        if conflict and self.design.read_back_state:
            asking = tuple(update.partition for update in retry)
            return change._replace(due=ZkBatch.GetWrittenStates, asking=asking, updates=tuple(retry))
        return self._elect_again(change, [update.partition for update in retry])

    def _read_back(self, change: PartitionStateChange, responses: Sequence[ZkResponse]) -> PartitionStep:
        """A state read back may be the controller's own, whose reply was lost; otherwise elect again."""
        results, retry = [], []
        for update, response in zip(change.updates, responses, strict=True):
            if self.is_written(update, response):
                results.append(self._has_elected(update, response))
            else:
                retry.append(update.partition)
        return self._elect_again(change._replace(results=_with(change.results, results)), retry)

    def _has_elected(self, update: PartitionUpdate, response: ZkResponse) -> tuple[TopicPartition, None]:
        written = update.leader_and_isr._replace(partition_epoch=response.version)
        self._has_written(update, written, is_new=False)
        return update.partition, None

    def _elect_again(self, change: PartitionStateChange, retry: list[TopicPartition]) -> PartitionStep:
        if retry and self.design.change_together and not self.design.retry_conflicts_only:
            elected_for = {*change.asking, *(partition for partition, _ in change.results)}
            retry = [partition for partition in change.partitions if partition in elected_for]
        return self._hold_elections(change, tuple(retry))

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
        self.fail(partition, OnlinePartition, cause)
        return partition, cause

    def _may_become(self, partition: TopicPartition, target: PartitionState) -> bool:
        allowed = PARTITION.allows(self.context.partition_state(partition), target)
        if not allowed:
            self.fail_illegal(PARTITION, partition, PartitionModel(self.context, partition), target)
        return allowed

    def _become(self, partition: TopicPartition, target: PartitionState) -> None:
        PARTITION.become(PartitionModel(self.context, partition), target)

    def _send(
        self,
        partitions: tuple[TopicPartition, ...],
        target: PartitionState,
        results: tuple[tuple[TopicPartition, ElectionOutcome], ...],
    ) -> ChangeDone:
        sent = self.send(target)
        return ChangeDone(results) if sent else self._all_failed(partitions, StateChangeFailure.RequestsNotSent)

    def _all_failed(self, partitions: Iterable[TopicPartition], cause: StateChangeFailure) -> ChangeDone:
        """The change failed as a whole: in Kafka each partition has the same exception."""
        return ChangeDone(tuple((partition, cause) for partition in partitions))


def _with(results: Results, more: Iterable[tuple[TopicPartition, StateChangeCause | None]]) -> Results:
    """Add each outcome once, even if a repeated election produces it again."""
    return (*results, *(each for each in more if each not in results))
