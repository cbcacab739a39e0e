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

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from election.brokers import in_order
from election.ids import BrokerId
from statemachines.controller.calls import Calls, call, then
from statemachines.controller.context import ControllerContext
from statemachines.controller.request_batch import BatchNotEmpty
from statemachines.controller.state_change import ChangeDone, StateChangeFailure
from statemachines.controller.zk_requests import PartitionUpdate, ZkResponse
from statemachines.controller.zk_state_machine import Answers, ZkStateMachine
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


class Removal(NamedTuple):
    """What the removal of one broker's replicas from the ISRs keeps while it waits for ZooKeeper."""

    broker: BrokerId
    without: tuple[PartitionUpdate, ...] = ()
    """The states read that do not have it in the ISR."""
    removed: tuple[TopicPartition, ...] = ()
    """The partitions whose ISR it has left, or was not in: their leaders and ISRs are known by now."""
    leaderless: tuple[TopicPartition, ...] = ()
    """Its partitions that never had a leader."""
    tried: tuple[PartitionUpdate, ...] = ()
    """Until 1.0: the state that could not be set, of a partition that is read again."""


class ReplicaStateMachine(ZkStateMachine):
    """The states of replicas; `ZkStateMachine` explains its arguments, and `event_driver` makes its calls."""

    def startup(self) -> Calls:
        """Derive the states from the live brokers known to a new controller, then send all replicas their leaders."""
        for replica in self.context.replicas_for_partition(self.context.all_partitions()):
            there = self.context.is_replica_online(replica.replica, replica.topic_partition)
            self.context.put_replica_state(replica, OnlineReplica if there else ReplicaDeletionIneligible)
        online, offline = self.context.online_and_offline_replicas()
        done = self.handle_state_changes(online, OnlineReplica)
        return self.handle_state_changes(offline, OfflineReplica) if self.design.offline_on_failover else done

    def handle_state_changes(self, replicas: Iterable[PartitionAndReplica], target: ReplicaState) -> Calls:
        """Change the states of these replicas, if the table permits it. The result is a `ChangeDone`.

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
            return (ChangeDone(),)
        try:
            self.batch.new_batch()
        except BatchNotEmpty:
            self.log_failure(None, target, StateChangeFailure.BatchNotEmpty)
            return (ChangeDone(),)
        together = [(broker, tuple(partitions[broker])) for broker in sorted(partitions)]
        if not self.design.change_together:
            together = [(broker, (partition,)) for broker, its in together for partition in its]
        if target is OfflineReplica or (target is NewReplica and self.design.read_state_for_new):
            return self._change_next(tuple(together), target)
        for broker, its in together:
            for replica in self._valid(broker, its, target):
                self._enter(replica, target, self.context.leadership_of(replica.topic_partition))
        return self._send_all(target)

    def _valid(
        self, broker: BrokerId, partitions: Sequence[TopicPartition], target: ReplicaState
    ) -> list[PartitionAndReplica]:
        """The replicas on a broker that the table permits to change. New ones get a state."""
        replicas = [PartitionAndReplica(partition, broker) for partition in partitions]
        for replica in replicas:
            self.context.put_replica_state_if_not_exists(replica, NonExistentReplica)
        return [replica for replica in replicas if self._may_become(replica, target)]

    def _change_next(
        self, to_come: tuple[tuple[BrokerId, tuple[TopicPartition, ...]], ...], target: ReplicaState
    ) -> Calls:
        """The first of these changes, which waits for ZooKeeper, then the others; then the requests are sent."""
        if not to_come:
            return self._send_all(target)
        first = (self._take_offline if target is OfflineReplica else self._make_new)(*to_come[0])
        return (*first, call(self._change_next, to_come[1:], target))

    def _send_all(self, target: ReplicaState) -> Calls:
        self.send(target)
        return (ChangeDone(),)

    # New replicas, and others that wait for nothing.

    def _make_new(self, broker: BrokerId, partitions: tuple[TopicPartition, ...]) -> Calls:
        """Until 1.0: read the leader of a replica that becomes new."""
        valid = [replica.topic_partition for replica in self._valid(broker, partitions, NewReplica)]
        return self.get_topic_partition_states_raw(valid, then(self._is_new, broker)) if valid else ()

    def _is_new(self, answers: Answers[TopicPartition], broker: BrokerId) -> None:
        """Send it the leader that was read, whichever controller wrote it."""
        for partition, response in answers:
            state: TopicPartitionState | None = response.data if response.code is Code.OK else None
            known = None if state is None else state.decode(response.version)
            self._enter(PartitionAndReplica(partition, broker), NewReplica, known)

    def _enter(
        self, replica: PartitionAndReplica, target: ReplicaState, known: LeaderIsrAndControllerEpoch | None
    ) -> None:
        """The effects of a transition beside the new state, for this known leader."""
        partition, broker = replica
        state = self.context.replica_state(replica)
        if target is NewReplica and known is not None:
            if known.leader_and_isr.leader == broker:
                self.log_failure(replica, target, StateChangeFailure.ReplicaLeads)
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

    def _take_offline(self, broker: BrokerId, partitions: tuple[TopicPartition, ...]) -> Calls:
        """Stop the replicas on a broker; those whose partitions have had leaders must leave the ISR.

        [doHandleStateChanges]
        """
        led: list[TopicPartition] = []
        leaderless: list[TopicPartition] = []
        for partition, _ in self._valid(broker, partitions, OfflineReplica):
            self.batch.add_stop_replica_request_for_brokers((broker,), partition, delete_partition=False)
            (leaderless if self.context.leadership_of(partition) is None else led).append(partition)
        return self._remove_from_isrs(led, Removal(broker, leaderless=tuple(leaderless)))

    def _remove_from_isrs(self, partitions: Iterable[TopicPartition], removal: Removal) -> Calls:
        """Remove it from the ISRs of these partitions; if there are none left, its replicas go offline."""
        partitions = tuple(partitions)
        if partitions:
            return self.get_topic_partition_states_raw(partitions, then(self._isrs_read, removal))
        self._are_offline(removal)
        return ()

    def _isrs_read(self, answers: Answers[TopicPartition], removal: Removal) -> Calls:
        """Set the states whose ISR has it. [doRemoveReplicasFromIsr, getTopicPartitionStatesFromZk]"""
        updates: list[PartitionUpdate] = []
        without: list[PartitionUpdate] = []
        for partition, response in answers:
            outcome = self.decoded(response)
            if isinstance(outcome, LeaderAndIsr):
                (updates if removal.broker in outcome.isr else without).append(PartitionUpdate(partition, outcome))
                continue
            to_be_deleted = self.context.is_topic_queued_up_for_deletion(partition.topic)
            unwritten = {each.partition: each.leader_and_isr for each in removal.tried}.get(partition)
            if unwritten is not None and self.design.send_unwritten_isr:
                known = self.known(unwritten._replace(partition_epoch=NO_VERSION))
                self.context.put_partition_leadership_info(partition, known)
                if outcome is StateChangeFailure.NoLeaderAndIsr:
                    removal = removal._replace(removed=(*removal.removed, partition))
                    continue
            if outcome is not StateChangeFailure.NoLeaderAndIsr or not to_be_deleted:
                self._not_removed(removal, partition, outcome)
        removal = removal._replace(without=tuple(without))
        last = tuple(update.partition for update in updates if len(update.leader_and_isr.isr) == 1)
        if last and not self.design.keep_last_isr:
            following = then(self._remove_as_configured, tuple(updates), removal)
            return self.get_log_configs(last, following)
        return self._remove(updates, {}, removal)

    def _remove_as_configured(
        self, answers: Answers[TopicName], read: tuple[PartitionUpdate, ...], removal: Removal
    ) -> Calls:
        return self._remove(read, self.unclean_of(answers), removal)

    def _remove(
        self, read: Sequence[PartitionUpdate], unclean: Mapping[TopicName, bool | Code], removal: Removal
    ) -> Calls:
        """Compute the states to write: without the replica, and without a leader if it was the leader."""
        updates = []
        for partition, leader_and_isr, _ in read:
            last = len(leader_and_isr.isr) == 1
            permitted = last and unclean.get(partition.topic, False)
            if isinstance(permitted, Code):
                self._not_removed(removal, partition, permitted)
                continue
            leader = NO_LEADER if leader_and_isr.leader == removal.broker else leader_and_isr.leader
            isr = self._isr_without(removal.broker, leader_and_isr.isr, permitted)
            updates.append(PartitionUpdate(partition, leader_and_isr.new_leader_and_isr(leader, isr)))
        if not updates:
            return self._isrs_set((), removal)
        return self.set_topic_partition_states_raw(updates, then(self._isrs_set, removal))

    def _isr_without(self, replica: BrokerId, isr: tuple[BrokerId, ...], unclean: bool) -> tuple[BrokerId, ...]:
        """The ISR without this replica, unless it is the last.

        Until 1.0 the last one left, too, if an unclean election was permitted: another could then lead without it.
        [removeReplicaFromIsr in KafkaController.scala, 0.10 to 1.0]
        """
        if len(isr) == 1 and not unclean:
            return isr
        return tuple(broker for broker in isr if broker != replica)

    def _isrs_set(self, answers: Answers[PartitionUpdate], removal: Removal) -> Calls:
        """Adopt successful and unnecessary writes; read again after conflicting ones."""
        removed = [(partition, read) for partition, read, _ in removal.without]
        retry: list[PartitionUpdate] = []
        conflict = False
        for update, response in answers:
            if response.code is Code.OK:
                removed.append(self._as_written(update, response))
            elif response.code is Code.BADVERSION or not self.design.change_together:
                conflict |= response.code is Code.BADVERSION
                retry.append(update)
            else:
                self._not_removed(removal, update.partition, response.code)
        removal = self._removed(removal, removed)
        if conflict and self.design.read_back_state:
            return self.get_written_states(retry, then(self._isrs_read_back, removal))
        return self._read_again(retry, removal)

    def _isrs_read_back(self, answers: Answers[PartitionUpdate], removal: Removal) -> Calls:
        """A state read back may be the controller's own, whose reply was lost; otherwise it is read again."""
        removed, retry = [], []
        for update, response in answers:
            if self.is_written(update, response):
                removed.append(self._as_written(update, response))
            else:
                retry.append(update)
        return self._read_again(retry, self._removed(removal, removed))

    def _as_written(self, update: PartitionUpdate, response: ZkResponse) -> tuple[TopicPartition, LeaderAndIsr]:
        return update.partition, update.leader_and_isr._replace(partition_epoch=response.version)

    def _removed(self, removal: Removal, removed: Iterable[tuple[TopicPartition, LeaderAndIsr]]) -> Removal:
        """Record the ISRs that the replica is no longer in."""
        removed = tuple(removed)
        for partition, leader_and_isr in removed:
            self.context.put_partition_leadership_info(partition, self.known(leader_and_isr))
        return removal._replace(without=(), removed=(*removal.removed, *(partition for partition, _ in removed)))

    def _read_again(self, retry: Sequence[PartitionUpdate], removal: Removal) -> Calls:
        tried = tuple(retry) if self.design.send_unwritten_isr else ()
        return self._remove_from_isrs((update.partition for update in retry), removal._replace(tried=tried))

    def _are_offline(self, removal: Removal) -> None:
        """Removed replicas go offline, and the others are informed; so do those whose partitions had no leader."""
        for partition in removal.removed:
            if not self.context.is_topic_queued_up_for_deletion(partition.topic):
                known = self.context.state.partition_leadership_info[partition]
                assignment = self.context.partition_full_replica_assignment(partition)
                others = tuple(broker for broker in assignment.replicas if broker != removal.broker)
                self.batch.add_leader_and_isr_request_for_brokers(others, partition, known, assignment, is_new=False)
            self._has_become(PartitionAndReplica(partition, removal.broker), OfflineReplica)
        for partition in removal.leaderless:
            if self.design.metadata_of_leaderless:
                brokers = self.context.live_or_shutting_down_broker_ids()
                self.batch.add_update_metadata_request_for_brokers(brokers, (partition,))
            if self.design.leaderless_offline:
                self._become(PartitionAndReplica(partition, removal.broker), OfflineReplica)
            elif self.design.log_leaderless and not self.context.is_topic_queued_up_for_deletion(partition.topic):
                self._not_removed(removal, partition, StateChangeFailure.NoLeaderAndIsr)

    # Changes of state.

    def _not_removed(self, removal: Removal, partition: TopicPartition, cause: StateChangeFailure | Code) -> None:
        self.log_failure(PartitionAndReplica(partition, removal.broker), OfflineReplica, cause)

    def _may_become(self, replica: PartitionAndReplica, target: ReplicaState) -> bool:
        table = self.design.replica_table
        allowed = table.allows(self.context.replica_state(replica), target)
        if not allowed:
            self.log_illegal(table, replica, ReplicaModel(self.context, replica), target)
        return allowed

    def _become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        self.design.replica_table.become(ReplicaModel(self.context, replica), target)

    def _has_become(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        """Set a state that the table permitted before the request to ZooKeeper, without a trigger.

        A trigger reads the state again. Here alone that costs an exploration of `partitions` more than 2% of the
        paths that it learns (docs/decisions/0037).
        """
        self.context.put_replica_state(replica, target)
