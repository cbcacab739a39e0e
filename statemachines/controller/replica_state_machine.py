"""ReplicaStateMachine: how replicas change their states, with the writes and requests of each change.

`statemachines.tables.replica` has the permitted transitions. Effects of a transition, beside the new state:

    -> NewReplica              LeaderAndIsr to it, as new, if its partition has had a leader. A leader cannot become
                               new, and keeps its state
    New -> OnlineReplica       it is added to the assignment, if missing
    other -> OnlineReplica     LeaderAndIsr to it, as known, if its partition has had a leader
    -> OfflineReplica          StopReplica to it. It is removed from the ISR, and LeaderAndIsr goes to the other
                               replicas, but not of a topic to be deleted. If there never was a leader: UpdateMetadata
    -> DeletionStarted         StopReplica to it, with its log
    -> Ineligible, Successful  none
    -> NonExistentReplica      it leaves the assignment, and its state is forgotten

Removal from the ISR. The states are read. If the replica is in the ISR, they are set, at the version that was read,
in the next leader epoch: without the replica, and without a leader if it was the leader. A state with a conflicting
write (BADVERSION) is read again. The last member stays in the ISR, so that it can lead again. If the replica is not
in the ISR nothing is written. A replica that cannot be removed keeps its state. So does one whose partition has no
state in ZooKeeper, which is an error only if its topic is not to be deleted.

Replicas are handled broker by broker, each with its own requests, in the order of their ids. This order decides which
of several dead members of an ISR stays as the last one. In Kafka it is a hash map's: for brokers 1 to 4 it is this
one since 2.5, the first with Scala 2.13, but for 1 to 5 it is 5, 1, 2, 3, 4.

Until 1.0 replicas are handled one by one, each with its own requests (`change_together`), and, as for partitions, a
failed set is tried again. If the state does not exist when it is read again, the others receive the unwritten state
(`send_unwritten_isr`). The leader is read for a NewReplica, too (`read_state_for_new`).

If a fence fails, the controller has moved: the change is cut short, and StopReplica stays in the batch of requests.

[ReplicaStateMachine.scala, 3.9]
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from election.brokers import in_order
from election.ids import BrokerId
from statemachines.controller.context import ControllerContext
from statemachines.controller.kafka_zk_client import ControllerMoved, RequestFailed, ZkBatch, ZkResponse
from statemachines.controller.request_batch import BatchNotEmpty
from statemachines.controller.state_change import ChangeDone, StateChangeFailure
from statemachines.controller.zk_state_machine import PartitionUpdate, ZkStateMachine
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.topic_partition import PartitionAndReplica, TopicName, TopicPartition
from statemachines.messages.zk_data import TopicPartitionState
from statemachines.tables.replica import (
    NewReplica,
    NonExistentReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaState,
)
from statemachines.zookeeper.tree import Code

OfBroker: TypeAlias = tuple[BrokerId, tuple[TopicPartition, ...]]
"""Replicas on one broker, as its partitions."""
NO_VERSION: Final = -1
"""The version of an unwritten state [conditionalUpdatePersistentPath, 1.0]."""


class ReplicaModel:
    """One replica as a model of the library `transitions`: its state is the one in the controller's context."""

    __slots__ = ("_context", "_replica")

    def __init__(self, context: ControllerContext, replica: PartitionAndReplica) -> None:
        self._context, self._replica = context, replica

    @property
    def state(self) -> ReplicaState:
        """The state in the controller's context."""
        return self._context.replica_state(self._replica)

    @state.setter
    def state(self, state: ReplicaState) -> None:
        self._context.put_replica_state(self._replica, state)


class ReplicaStateChange(NamedTuple):
    """Replicas become offline, or new, and wait for a batch of requests to ZooKeeper."""

    due: ZkBatch
    asking: tuple[TopicPartition, ...]
    """The partitions of the batch."""
    replica: BrokerId
    """The broker whose replicas are removed from the ISRs."""
    updates: tuple[PartitionUpdate, ...] = ()
    """The states to set; during the read of configurations, the states read that have it in the ISR."""
    without: tuple[PartitionUpdate, ...] = ()
    """The states read that do not have it in the ISR."""
    removed: tuple[TopicPartition, ...] = ()
    """The partitions whose ISR it has left, or was not in: their leaders and ISRs are known by now."""
    leaderless: tuple[TopicPartition, ...] = ()
    """Its partitions that never had a leader."""
    tried: tuple[PartitionUpdate, ...] = ()
    """Until 1.0: the state that could not be set, of a partition that is read again."""
    target: ReplicaState = OfflineReplica
    """Until 1.0 also NewReplica, which reads the leader."""
    to_come: tuple[OfBroker, ...] = ()
    """The replicas on other brokers that follow."""


ReplicaStep: TypeAlias = ReplicaStateChange | ChangeDone


class ReplicaStateMachine(ZkStateMachine):
    """The states of replicas; `ZkStateMachine` explains its arguments, and `carry_out` drives it."""

    def startup(self) -> ReplicaStep:
        """Derive the states from the live brokers known to a new controller, then send all replicas their leaders."""
        for replica in self.context.replicas_for_partition(self.context.all_partitions()):
            there = self.context.is_replica_online(replica.replica, replica.topic_partition)
            self.context.put_replica_state(replica, OnlineReplica if there else ReplicaDeletionIneligible)
        online, offline = self.context.online_and_offline_replicas()
        step = self.handle_state_changes(online, OnlineReplica)
        return self.handle_state_changes(offline, OfflineReplica) if self.design.offline_on_failover else step

    def handle_state_changes(self, replicas: Iterable[PartitionAndReplica], target: ReplicaState) -> ReplicaStep:
        """Change the states of these replicas, if the table permits it.

        Args:
            replicas: the replicas; those without a permitted transition keep their state, and the others continue.
            target: the new state.

        Raises:
            ValueError: a replica occurs twice, its partition is unknown, or its broker is no broker id; or the target
                is no state of replicas. Nothing has changed.
        """
        replicas = tuple(replicas)
        if not isinstance(target, ReplicaState):
            raise ValueError(f"{target!r} is no state of replicas")
        self.check_asked(replicas, (replica.topic_partition for replica in replicas))
        partitions: dict[BrokerId, list[TopicPartition]] = {}
        for partition, broker in replicas:
            partitions.setdefault(broker, []).append(partition)
        in_order("replicas", tuple(partitions))
        if not replicas:
            return ChangeDone()
        try:
            self.batch.new_batch()
        except BatchNotEmpty:
            self.fail(None, target, StateChangeFailure.BatchNotEmpty)
            return ChangeDone()
        return self._change(tuple(self._grouped(partitions)), target)

    def _grouped(self, partitions: Mapping[BrokerId, Sequence[TopicPartition]]) -> Iterator[OfBroker]:
        """The replicas that change together: those on one broker; until 1.0 one replica."""
        for broker in sorted(partitions):
            its = tuple(partitions[broker])
            yield from ((broker, part) for part in ([its] if self.design.change_together else zip(its, strict=True)))

    def answered(self, change: ReplicaStateChange, responses: Sequence[ZkResponse]) -> ReplicaStep:
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
        match change.due:
            case ZkBatch.GetTopicPartitionStates if change.target is NewReplica:
                return self._are_new(change, answers)
            case ZkBatch.GetTopicPartitionStates:
                return self._read(change, answers)
            case ZkBatch.GetWrittenStates:
                return self._read_back(change, answers)
            case ZkBatch.GetTopicConfigs:
                return self._remove(change, self.unclean_of(change, answers))
            case ZkBatch.SetTopicPartitionStates:
                return self._written(change, answers)
        raise ValueError(f"replicas do not change by {change.due}")

    # Broker by broker.

    def _change(self, brokers: tuple[OfBroker, ...], target: ReplicaState) -> ReplicaStep:
        """Change the replicas on these brokers, up to the first request to ZooKeeper. [doHandleStateChanges]"""
        for at, (broker, partitions) in enumerate(brokers):
            replicas = [PartitionAndReplica(partition, broker) for partition in partitions]
            for replica in replicas:
                self.context.put_replica_state_if_not_exists(replica, NonExistentReplica)
            valid = [replica for replica in replicas if self._may_become(replica, target)]
            if target is NewReplica and valid and self.design.read_state_for_new:
                asking = tuple(replica.topic_partition for replica in valid)
                return ReplicaStateChange(
                    ZkBatch.GetTopicPartitionStates, asking, broker, to_come=brokers[at + 1 :], target=target
                )
            if target is OfflineReplica:
                change = self._stop(broker, valid, brokers[at + 1 :])
                if change.asking:
                    return change
                self._are_offline(change)
            for replica in () if target is OfflineReplica else valid:
                self._enter(replica, target, self.context.leadership_of(replica.topic_partition))
        self.send(target)
        return ChangeDone()

    def _are_new(self, change: ReplicaStateChange, responses: Sequence[ZkResponse]) -> ReplicaStep:
        """Send them the leader that was read, whichever controller wrote it."""
        for partition, response in zip(change.asking, responses, strict=True):
            state: TopicPartitionState | None = response.data if response.code is Code.OK else None
            known = None if state is None else state.decode(response.version)
            self._enter(PartitionAndReplica(partition, change.replica), NewReplica, known)
        return self._change(change.to_come, NewReplica)

    def _enter(
        self, replica: PartitionAndReplica, target: ReplicaState, known: LeaderIsrAndControllerEpoch | None
    ) -> None:
        """The effects of a transition beside the new state, for this known leader."""
        partition, broker = replica
        state = self.context.replica_state(replica)
        if target is NewReplica and known is not None:
            if known.leader_and_isr.leader == broker:
                self.fail(replica, target, StateChangeFailure.ReplicaLeads)
                return
            self._tell(broker, partition, known, is_new=True)
        elif target is OnlineReplica and state is NewReplica:
            assignment = self.context.partition_full_replica_assignment(partition)
            if broker not in assignment.replicas:
                added = assignment._replace(replicas=(*assignment.replicas, broker))
                self.context.update_partition_full_replica_assignment(partition, added)
        elif target is OnlineReplica and known is not None:
            self._tell(broker, partition, known, is_new=False)
        elif target is ReplicaDeletionStarted:
            self.batch.add_stop_replica_request_for_brokers((broker,), partition, delete_partition=True)
        self._become(replica, target)
        if target is NonExistentReplica:
            assigned = self.context.partition_full_replica_assignment(partition)
            left = assigned.remove_replica(broker)
            if not self.design.trim_adding_removing:
                left = assigned._replace(replicas=left.replicas)
            self.context.update_partition_full_replica_assignment(partition, left)
            self.context.remove_replica_state(replica)

    def _tell(
        self, broker: BrokerId, partition: TopicPartition, known: LeaderIsrAndControllerEpoch, is_new: bool
    ) -> None:
        assignment = self.context.partition_full_replica_assignment(partition)
        self.batch.add_leader_and_isr_request_for_brokers((broker,), partition, known, assignment, is_new)

    # Removal from the ISR.

    def _stop(
        self, broker: BrokerId, replicas: Iterable[PartitionAndReplica], to_come: tuple[OfBroker, ...]
    ) -> ReplicaStateChange:
        """Send them StopReplica; those whose partitions have had leaders must leave the ISR."""
        led: list[TopicPartition] = []
        leaderless: list[TopicPartition] = []
        for partition, _ in replicas:
            self.batch.add_stop_replica_request_for_brokers((broker,), partition, delete_partition=False)
            (leaderless if self.context.leadership_of(partition) is None else led).append(partition)
        return ReplicaStateChange(
            ZkBatch.GetTopicPartitionStates, tuple(led), broker, leaderless=tuple(leaderless), to_come=to_come
        )

    def _read(self, change: ReplicaStateChange, responses: Sequence[ZkResponse]) -> ReplicaStep:
        """Set the states whose ISR has it. [doRemoveReplicasFromIsr, getTopicPartitionStatesFromZk]"""
        updates: list[PartitionUpdate] = []
        without: list[PartitionUpdate] = []
        for partition, response in zip(change.asking, responses, strict=True):
            outcome = self.decoded(response)
            if isinstance(outcome, LeaderAndIsr):
                (updates if change.replica in outcome.isr else without).append(PartitionUpdate(partition, outcome))
                continue
            to_be_deleted = self.context.is_topic_queued_up_for_deletion(partition.topic)
            unwritten = {each.partition: each.leader_and_isr for each in change.tried}.get(partition)
            if unwritten is not None and self.design.send_unwritten_isr:
                known = self.known(unwritten._replace(partition_epoch=NO_VERSION))
                self.context.put_partition_leadership_info(partition, known)
                if outcome is StateChangeFailure.NoLeaderAndIsr:
                    change = change._replace(removed=(*change.removed, partition))
                    continue
            if outcome is not StateChangeFailure.NoLeaderAndIsr or not to_be_deleted:
                self._not_removed(change, partition, outcome)
        change = change._replace(updates=tuple(updates), without=tuple(without))
        last = tuple(update.partition for update in updates if len(update.leader_and_isr.isr) == 1)
        if last and not self.design.keep_last_isr:
            return change._replace(due=ZkBatch.GetTopicConfigs, asking=last)
        return self._remove(change, {})

    def _remove(self, change: ReplicaStateChange, unclean: Mapping[TopicName, bool | Code]) -> ReplicaStep:
        """Compute the states to write: without the replica, and without a leader if it was the leader."""
        updates = []
        for partition, leader_and_isr, _ in change.updates:
            last = len(leader_and_isr.isr) == 1
            permitted = last and unclean.get(partition.topic, False)
            if isinstance(permitted, Code):
                self._not_removed(change, partition, permitted)
                continue
            leader = NO_LEADER if leader_and_isr.leader == change.replica else leader_and_isr.leader
            isr = self._isr_without(change.replica, leader_and_isr.isr, permitted)
            updates.append(PartitionUpdate(partition, leader_and_isr.new_leader_and_isr(leader, isr)))
        asking = tuple(update.partition for update in updates)
        change = change._replace(due=ZkBatch.SetTopicPartitionStates, asking=asking, updates=tuple(updates))
        return change if updates else self._written(change, ())

    def _isr_without(self, replica: BrokerId, isr: tuple[BrokerId, ...], unclean: bool) -> tuple[BrokerId, ...]:
        """The ISR without this replica, unless it is the last.

        Until 1.0 the last one left, too, if an unclean election was permitted: another could then lead without it.
        [removeReplicaFromIsr in KafkaController.scala, 0.10 to 1.0]
        """
        if len(isr) == 1 and not unclean:
            return isr
        return tuple(broker for broker in isr if broker != replica)

    def _written(self, change: ReplicaStateChange, responses: Sequence[ZkResponse]) -> ReplicaStep:
        """Adopt successful and unnecessary writes; read again after conflicting ones."""
        removed = [(partition, read) for partition, read, _ in change.without]
        retry: list[PartitionUpdate] = []
        conflict = False
        for update, response in zip(change.updates, responses, strict=True):
            if response.code is Code.OK:
                removed.append(self._as_written(update, response))
            elif response.code is Code.BADVERSION or not self.design.change_together:
                conflict |= response.code is Code.BADVERSION
                retry.append(update)
            else:
                self._not_removed(change, update.partition, response.code)
        change = self._removed(change, removed)
        if conflict and self.design.read_back_state:
            asking = tuple(update.partition for update in retry)
            return change._replace(due=ZkBatch.GetWrittenStates, asking=asking, updates=tuple(retry))
        return self._read_again(change, retry)

    def _read_back(self, change: ReplicaStateChange, responses: Sequence[ZkResponse]) -> ReplicaStep:
        """A state read back may be the controller's own, whose reply was lost; otherwise it is read again."""
        removed, retry = [], []
        for update, response in zip(change.updates, responses, strict=True):
            if self.is_written(update, response):
                removed.append(self._as_written(update, response))
            else:
                retry.append(update)
        return self._read_again(self._removed(change, removed), retry)

    def _as_written(self, update: PartitionUpdate, response: ZkResponse) -> tuple[TopicPartition, LeaderAndIsr]:
        return update.partition, update.leader_and_isr._replace(partition_epoch=response.version)

    def _removed(
        self, change: ReplicaStateChange, removed: Iterable[tuple[TopicPartition, LeaderAndIsr]]
    ) -> ReplicaStateChange:
        """Record the ISRs that the replica is no longer in."""
        for partition, leader_and_isr in removed:
            self.context.put_partition_leadership_info(partition, self.known(leader_and_isr))
        return change._replace(
            updates=(), without=(), removed=(*change.removed, *(partition for partition, _ in removed))
        )

    def _read_again(self, change: ReplicaStateChange, retry: Sequence[PartitionUpdate]) -> ReplicaStep:
        asking = tuple(update.partition for update in retry)
        tried = tuple(retry) if self.design.send_unwritten_isr else ()
        change = change._replace(due=ZkBatch.GetTopicPartitionStates, asking=asking, tried=tried)
        if asking:
            return change
        self._are_offline(change)
        return self._change(change.to_come, OfflineReplica)

    def _are_offline(self, change: ReplicaStateChange) -> None:
        """Removed replicas go offline, and the others are informed; so do those whose partitions had no leader."""
        for partition in change.removed:
            if not self.context.is_topic_queued_up_for_deletion(partition.topic):
                known = self.context.state.partition_leadership_info[partition]
                assignment = self.context.partition_full_replica_assignment(partition)
                others = tuple(broker for broker in assignment.replicas if broker != change.replica)
                self.batch.add_leader_and_isr_request_for_brokers(others, partition, known, assignment, is_new=False)
            self._has_become(PartitionAndReplica(partition, change.replica), OfflineReplica)
        for partition in change.leaderless:
            if self.design.metadata_of_leaderless:
                brokers = self.context.live_or_shutting_down_broker_ids()
                self.batch.add_update_metadata_request_for_brokers(brokers, (partition,))
            if self.design.leaderless_offline:
                self._become(PartitionAndReplica(partition, change.replica), OfflineReplica)
            elif self.design.log_leaderless and not self.context.is_topic_queued_up_for_deletion(partition.topic):
                self._not_removed(change, partition, StateChangeFailure.NoLeaderAndIsr)

    # Changes of state.

    def _not_removed(
        self, change: ReplicaStateChange, partition: TopicPartition, cause: StateChangeFailure | Code
    ) -> None:
        self.fail(PartitionAndReplica(partition, change.replica), OfflineReplica, cause)

    def _may_become(self, replica: PartitionAndReplica, target: ReplicaState) -> bool:
        table = self.design.replica_table
        allowed = table.allows(self.context.replica_state(replica), target)
        if not allowed:
            self.fail_illegal(table, replica, ReplicaModel(self.context, replica), target)
        return allowed

    def _become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        self.design.replica_table.become(ReplicaModel(self.context, replica), target)

    def _has_become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        """Set a state that the table permitted before the request to ZooKeeper, without a trigger.

        A trigger reads the state again. Here alone that costs an exploration of `partitions` more than 2% of the
        paths that it learns (docs/decisions/0037).
        """
        self.context.put_replica_state(replica, target)
