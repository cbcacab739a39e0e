"""Controller failover: what an elected broker does before it processes events, as calls.

It reads everything, and then resumes the work that its predecessor may have left unfinished:

    it deletes notifications of failed disks and of ISRs, since it now reads everything
    it reads brokers, topics, assignments and states of partitions, and opens channels to the brokers
    it reads the topics to be deleted; those with a replica offline, or being reassigned, must wait
    UpdateMetadata: the live brokers. A broker that does not know a leader refuses to follow it [B12]
    the state machines start: replicas first, so that dead ones leave the ISRs before leaders are elected
    reassignments, deletions and the preferred elections requested in ZooKeeper continue

The lists of `failover_stages` have the steps and their order; `STARTED_BY` and `STOPPED_BY` map each step to its
calls here, and `LEFT_OUT` and `ELSEWHERE` have the others. Two more things are left out. Until 1.0 a listener sets
its watch in a step of its own, even if a later read sets it, too. And 0.10 reads the preferred elections once,
whereas here they are read again before they are held, without effect. If any step fails the broker triggers another
election, and resigns if there is another controller already [elect].

A controller that resigns forgets all of it. Requests that an interrupted event has left in the batches stay there: if
that broker is elected again, every change of states that uses this batch fails [B21, open; `clear_batch` is a
proposal]. Until 0.10.2 only the epoch was forgotten. The next failover reads the rest anew, but adds to the known
reassignments: those that others have finished since begin again [B26, KAFKA-5310, 0.11]. So it does to the preferred
elections in progress. Until 1.1 failed log directories were kept, even if other controllers had learned since that
they were back.

[onControllerFailover, onControllerResignation, initializeControllerContext in KafkaController.scala, 3.9]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, TypeAlias

from election.ids import BrokerEpoch, BrokerId
from statemachines.controller import failover_stages as stages
from statemachines.controller.calls import Call, Calls, call, call_of, then
from statemachines.controller.design import BROKER_IDS
from statemachines.controller.failover_stages import Stage
from statemachines.controller.isr_changes import IsrChanges
from statemachines.controller.replica_leader_election import ElectionTrigger, ElectionType, ReplicaLeaderElection
from statemachines.controller.zk_client import Assignments
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TOPICS,
)
from statemachines.zookeeper.tree import ZkPath


class ControllerFailover(IsrChanges, ReplicaLeaderElection):
    """The part of a controller that takes over."""

    def on_controller_failover(self) -> Calls:
        """The broker has been elected: the context has its epoch, and nothing more."""
        return tuple(
            each for stage in self.design.failover_steps if stage in STARTED_BY for each in STARTED_BY[stage](self)
        )

    def on_controller_resignation(self) -> None:
        """The broker is no longer controller, or its session has ended."""
        for stage in self.design.resignation:
            if stage in STOPPED_BY:
                STOPPED_BY[stage](self)
        if self.design.clear_batch:
            self._clear_batches()

    def forget_all(self) -> None:
        """The process ends, and its knowledge is lost."""
        self.on_controller_resignation()
        self.context.reset_context()
        self.reassignment_targets.clear()
        self.elections_in_progress = frozenset()
        self._clear_batches()

    def _clear_batches(self) -> None:
        for each in (self.batch, self.partition_state_machine.batch, self.replica_state_machine.batch):
            each.clear()

    # Registration of handlers.

    def _register(self, path: ZkPath) -> None:
        """Make changes of the children of a node events [registerZNodeChildChangeHandler]."""
        self.handlers.registered.add(path)

    def _expect(self, path: ZkPath) -> Calls:
        """Make the creation of a node an event [registerZNodeChangeHandlerAndCheckExistence]."""
        return self.zk_client.path_exists(path, watch=True)

    def _listen(self, path: ZkPath) -> Calls:
        """Register a handler of children, and set the watch at once [subscribeChildChanges, until 1.0]."""
        self.handlers.registered.add(path)
        return self.zk_client.get_children(path, watch=True)

    def _delete_notifications(self, path: ZkPath) -> Calls:
        """Delete the notifications to earlier controllers, and watch for new ones."""
        return (*self.zk_client.get_children(path, watch=True), then(self._delete_children, path))

    def _delete_children(self, names: Sequence[str], path: ZkPath) -> Calls:
        return self.zk_client.delete(f"{path}/{name}" for name in names)

    # Reads. [initializeControllerContext]

    def _read_brokers(self) -> Calls:
        """Read the live brokers."""
        return (*self.zk_client.get_all_broker_and_epochs_in_cluster(), then(self._set_live_brokers))

    def _set_live_brokers(self, registered: Sequence[tuple[BrokerId, BrokerEpoch]]) -> None:
        self.context.set_live_brokers(dict(registered))

    def _read_topics(self) -> Calls:
        """Read the topics."""
        return (*self.zk_client.get_all_topics_in_cluster(), then(self._set_all_topics))

    def _set_all_topics(self, topics: Sequence[TopicName]) -> None:
        self.context.set_all_topics(topics)

    def _read_assignments(self) -> Calls:
        """Read their partitions and assignments."""
        topics = tuple(sorted(self.context.state.all_topics))
        return (*self.zk_client.get_full_replica_assignment_for_topics(topics), then(self._set_assignments))

    def _set_assignments(self, assignments: Assignments) -> None:
        for partition, assignment in assignments:
            self.context.update_partition_full_replica_assignment(partition, assignment)
        moving = {partition for partition, assignment in assignments if assignment.is_being_reassigned}
        self.context.state.partitions_being_reassigned |= moving

    def _forget_leaders(self) -> None:
        """Forget the leaders, and the brokers that are shutting down, which are stored nowhere."""
        self.context.state.partition_leadership_info.clear()
        self.context.state.shutting_down_broker_ids = frozenset()

    def _read_states(self) -> Calls:
        """Read every leader and ISR."""
        return self.update_leader_and_isr_cache(self.context.all_partitions())

    def _start_channels(self) -> None:
        """Open the channels to brokers."""
        self.has_channels = True
        self.channels.startup(self.all_brokers())

    def _stop_channels(self) -> None:
        self.has_channels = False
        self.channels.shutdown()

    def _fetch_topic_deletions_in_progress(self) -> Calls:
        """Read the topics to be deleted; those with a replica offline, or being reassigned, must wait."""
        return (*self.zk_client.get_children(DELETE_TOPICS, watch=True), then(self._init_topic_deletions))

    def _init_topic_deletions(self, topics: Sequence[TopicName]) -> Calls:
        _, offline = self.context.online_and_offline_replicas()
        ineligible = {replica.topic_partition.topic for replica in offline}
        ineligible |= {partition.topic for partition in self.context.state.partitions_being_reassigned}
        return self.init_topic_deletion_manager(topics, ineligible)

    def _initialize_preferred_replica_election(self) -> Calls:
        """In 0.10, read the elections early, and fail if one of the partitions has not led by then."""
        read = (*self.get_preferred_replica_election(), then(self._add_elections))
        return read if self.design.read_elections_first else ()

    def _add_elections(self, partitions: Sequence[TopicPartition]) -> None:
        """Count these elections as in progress, except those that are over [initializePreferredReplicaElection].

        Raises:
            EventFailed: a partition never had a leader; nothing has changed.
        """
        over = frozenset(each for each in partitions if not self._is_to_be_elected(each))
        if self.design.remember_elections:
            self.elections_in_progress = self.elections_in_progress.union(partitions) - over

    def _is_to_be_elected(self, partition: TopicPartition) -> bool:
        """Whether a partition is assigned, and another replica leads than the preferred one."""
        if not self.context.partition_replica_assignment(partition):
            return False
        return self.leadership_of(partition).leader_and_isr.leader != self.preferred_replica(partition)

    def _initialize_zk_reassignment(self) -> Calls:
        """Until 2.3, read the reassignments from their node, the only place that has them."""
        read = (*self.zk_client.get_data((REASSIGN_PARTITIONS,)), then(self.remember_zk_reassignment))
        return (*read, call(self.drop_finished_reassignments)) if self.design.drop_finished_reassignments else read

    # Resumed work.

    def _tell_all(self) -> None:
        """Inform brokers of each other."""
        self.send_update_metadata_request(self.all_brokers())

    def _start_replica_state_machine(self) -> Calls:
        """Send leaders to replicas on live brokers; since 2.3 the others leave the ISRs [B34, KAFKA-3143]."""
        return self.replica_state_machine.startup()

    def _start_partition_state_machine(self) -> Calls:
        """Elect leaders where there are none."""
        return self.partition_state_machine.startup()

    def _initialize_partition_reassignments(self) -> Calls:
        """Resume reassignments."""
        if not self.design.kip_455:
            return self.resume_zk_reassignments()
        return (*self.resume_zk_partition_reassignment(), then(self._resume_other_reassignments))

    def _resume_other_reassignments(self, resumed: Sequence[TopicPartition]) -> Calls:
        moving = self.context.state.partitions_being_reassigned
        return self.maybe_resume_reassignments(sorted(moving - frozenset(resumed)))

    def _resume_preferred_replica_elections(self, partitions: Sequence[TopicPartition]) -> Calls:
        """Elect for assigned partitions without their preferred leader, and without a pending deletion.

        Until 0.10.2, elect for those that count as in progress. Their topics are then eligible for deletion.
        """
        if self.design.remember_elections:
            elected = tuple(sorted(self.elections_in_progress))
            self.context.state.topics_ineligible_for_deletion -= {partition.topic for partition in elected}
            return self.elect_and_remove(elected)
        pending = tuple(
            partition
            for partition in partitions
            if self._is_to_be_elected(partition) and not self.is_topic_queued_up_for_deletion(partition.topic)
        )
        return self.on_replica_election(pending, ElectionType.PREFERRED, ElectionTrigger.ZkTriggered)

    # Resignation.

    def _forget_context(self) -> None:
        """Forget the context; the header lists what releases did not forget."""
        reassigned = self.context.state.partitions_being_reassigned
        kept = {} if self.design.forget_failed_dirs else dict(self.context.state.replicas_on_offline_dirs)
        self.context.reset_context()
        if self.design.reset_context:
            self.reassignment_targets.clear()
        else:
            self.context.state.partitions_being_reassigned = reassigned
        self.context.state.replicas_on_offline_dirs.update(kept)

    STARTS_PARTITIONS: ClassVar[Call] = call_of(_start_partition_state_machine)
    """Before this call partitions have no states."""


Step: TypeAlias = Callable[[ControllerFailover], Calls]


def _registers(path: ZkPath) -> Step:
    """Changes of the children of this node are events; a later read sets the watch."""
    return lambda its: (call(its._register, path),)


def _expects(path: ZkPath) -> Step:
    return lambda its: (call(its._expect, path),)


def _deletes_notifications(path: ZkPath) -> Step:
    return lambda its: (call(its._delete_notifications, path),)


STARTED_BY: Final[Mapping[Stage, Step]] = {
    **dict.fromkeys((stages.HANDLE_BROKERS, stages.LISTEN_BROKERS), _registers(BROKER_IDS)),
    **dict.fromkeys((stages.HANDLE_TOPICS, stages.LISTEN_TOPICS), _registers(TOPICS)),
    **dict.fromkeys((stages.HANDLE_DELETIONS, stages.LISTEN_DELETIONS), _registers(DELETE_TOPICS)),
    stages.HANDLE_LOG_DIRS: _registers(LOG_DIR_EVENT_NOTIFICATION),
    stages.LISTEN_LOG_DIRS: lambda its: (call(its._listen, LOG_DIR_EVENT_NOTIFICATION),),
    stages.HANDLE_ISR: _registers(ISR_CHANGE_NOTIFICATION),
    stages.LISTEN_ISR: lambda its: (call(its._listen, ISR_CHANGE_NOTIFICATION),),
    **dict.fromkeys((stages.HANDLE_PREFERRED, stages.LISTEN_PREFERRED), _expects(PREFERRED_REPLICA_ELECTION)),
    **dict.fromkeys((stages.HANDLE_REASSIGNMENT, stages.LISTEN_REASSIGNMENT), _expects(REASSIGN_PARTITIONS)),
    **dict.fromkeys(
        (stages.DELETE_LOG_DIRS, stages.DELETE_LOG_DIR_EVENTS), _deletes_notifications(LOG_DIR_EVENT_NOTIFICATION)
    ),
    stages.DELETE_ISR: _deletes_notifications(ISR_CHANGE_NOTIFICATION),
    **dict.fromkeys(
        (stages.BROKERS_0_10, stages.BROKERS_1_1, stages.BROKERS_2_2), lambda its: (call(its._read_brokers),)
    ),
    **dict.fromkeys((stages.TOPICS_0_10, stages.TOPICS_1_1), lambda its: (call(its._read_topics),)),
    **dict.fromkeys(
        (stages.ASSIGNED_0_10, stages.ASSIGNED_1_1, stages.ASSIGNED_2_4, stages.ASSIGNED_2_8),
        lambda its: (call(its._read_assignments),),
    ),
    stages.CLEAR: lambda its: (call(its._forget_leaders),),
    stages.STATES: lambda its: (call(its._read_states),),
    stages.CHANNELS: lambda its: (call(its._start_channels),),
    stages.PREFERRED_0_10: lambda its: (call(its._initialize_preferred_replica_election),),
    **dict.fromkeys(
        (stages.REASSIGNED_0_10, stages.REASSIGNED_1_1), lambda its: (call(its._initialize_zk_reassignment),)
    ),
    **dict.fromkeys(
        (stages.DELETIONS_0_10, stages.DELETIONS_1_1), lambda its: (call(its._fetch_topic_deletions_in_progress),)
    ),
    **dict.fromkeys((stages.METADATA, stages.METADATA_2_2), lambda its: (call(its._tell_all),)),
    **dict.fromkeys((stages.RSM, stages.RSM_2_3), lambda its: (call(its._start_replica_state_machine),)),
    stages.PSM: lambda its: (call(its._start_partition_state_machine),),
    **dict.fromkeys(
        (stages.REASSIGN, stages.REASSIGN_2_4), lambda its: (call(its._initialize_partition_reassignments),)
    ),
    **dict.fromkeys((stages.TRY_DELETION, stages.DELETE_THREAD), lambda its: (call(its.try_topic_deletion),)),
    **dict.fromkeys(
        (stages.PREFER, stages.PREFER_2_1),
        lambda its: (call(its.get_preferred_replica_election), then(its._resume_preferred_replica_elections)),
    ),
}
"""The calls of each step of a failover."""

STOPPED_BY: Final[Mapping[Stage, Callable[[ControllerFailover], object]]] = {
    stages.DROP_ISR: lambda its: its.handlers.registered.discard(ISR_CHANGE_NOTIFICATION),
    stages.DROP_REASSIGNMENT: lambda its: its.handlers.registered.discard(REASSIGN_PARTITIONS),
    stages.DROP_PREFERRED: lambda its: its.handlers.registered.discard(PREFERRED_REPLICA_ELECTION),
    stages.DROP_LOG_DIRS: lambda its: its.handlers.registered.discard(LOG_DIR_EVENT_NOTIFICATION),
    stages.DROP_TOPICS: lambda its: its.handlers.registered.discard(TOPICS),
    stages.DROP_DELETIONS: lambda its: its.handlers.registered.discard(DELETE_TOPICS),
    stages.DROP_BROKERS: lambda its: its.handlers.registered.discard(BROKER_IDS),
    stages.DROP_PARTITIONS: lambda its: its.handlers.muted.clear(),
    stages.DROP_REASSIGNMENT_ISR: lambda its: its.handlers.isrs.clear(),
    **dict.fromkeys((stages.STOP_REBALANCE, stages.STOP_SCHEDULER), lambda its: its.rebalance_timer.stop()),
    stages.STOP_CHANNELS: lambda its: its._stop_channels(),
    **dict.fromkeys((stages.RESET_EPOCH, stages.RESET_CONTEXT), lambda its: its._forget_context()),
}
"""The action of each step of a resignation."""

LEFT_OUT: Final[Mapping[Stage, str]] = {
    stages.FEATURES: "no broker here has features",
    stages.TOPIC_IDS: "topics have no ids here",
    **dict.fromkeys((stages.HANDLE_BROKER_DATA, stages.DROP_BROKER_DATA), "brokers have no addresses here"),
    **dict.fromkeys((stages.TOKENS, stages.STOP_TOKENS), "there are no delegation tokens here"),
    stages.STOP_DELETE_THREAD: "topics are deleted within events here; in 0.10 by a thread of their own",
    stages.AS_BROKER: "the state of a broker's process is in no metric here",
}
"""The steps that are not modelled, and why."""

ELSEWHERE: Final[Mapping[Stage, str]] = {
    **dict.fromkeys((stages.READ_EPOCH, stages.INCREMENT_EPOCH), "`election` does this before a failover"),
    **dict.fromkeys(
        (stages.REBALANCE, stages.SCHEDULER, stages.SCHEDULER_LAST), "`kafka_controller` does this after a failover"
    ),
    **dict.fromkeys((stages.HANDLE_PARTITIONS, stages.LISTEN_PARTITIONS), "each topic in the context has a handler"),
    stages.PREFERRED_1_1: "requested elections are read when they are held",
    **dict.fromkeys(
        (stages.NEW_DELETION_MANAGER, stages.INIT_DELETION_MANAGER), "this is part of the read of deletions"
    ),
    **dict.fromkeys(
        (stages.RESET_DELETIONS, stages.STOP_PSM, stages.STOP_RSM),
        "what these forget is in the context, and goes with it",
    ),
}
"""The steps whose effects come about in another way, and how."""
