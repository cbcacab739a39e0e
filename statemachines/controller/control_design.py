"""How the controllers of different releases change the states of partitions and replicas.

Not modelled, in older releases: until 1.0 the parent nodes of a partition's state were created only after the
creation of the state had found them missing. Until 2.1 a batch also made requests for brokers that are not
registered, and the channel manager dropped them [ControllerChannelManager.scala 401, 454, 86, 1.1.1]. Until 2.5 a
replica that was added both with and without deletion was in two StopReplica requests [the same, 403, 554, 2.4.1].
Until 0.10.2 the replicas in LeaderAndIsr and UpdateMetadata were a set, so five or more of them came in no order
[KAFKA-5329; the same, 290, 319, 0.10.2.2].
"""

from typing import Annotated, NamedTuple

from statemachines.changes import control, elections, receiving
from statemachines.changes.change import values_at
from statemachines.controller import failover as stages
from statemachines.controller.failover import Stage
from statemachines.releases import RELEASES, line_of
from statemachines.tables.replica import REPLICA, ReplicaState
from statemachines.tables.table import Table


class ControlDesign(NamedTuple):
    """The behaviour of a release, by default of the newest. A field that is a change can be a switch."""

    fence_zk: Annotated[bool, elections.FENCE_ZK] = elections.FENCE_ZK.now
    keep_last_isr: Annotated[bool, control.KEEP_LAST_ISR] = control.KEEP_LAST_ISR.now
    offline_on_failover: Annotated[bool, control.OFFLINE_ON_FAILOVER] = control.OFFLINE_ON_FAILOVER.now
    fence_stop: Annotated[bool, receiving.FENCE_STOP] = receiving.FENCE_STOP.now
    leader_recovery: Annotated[bool, control.LEADER_RECOVERY] = control.LEADER_RECOVERY.now
    metadata_first: Annotated[bool, control.METADATA_FIRST] = control.METADATA_FIRST.now
    broker_epoch: Annotated[bool, elections.BROKER_EPOCH] = elections.BROKER_EPOCH.now
    newer_broker_epoch: Annotated[bool, receiving.NEWER_BROKER_EPOCH] = receiving.NEWER_BROKER_EPOCH.now
    log_dir_failure: Annotated[bool, receiving.LOG_DIR_FAILURE] = receiving.LOG_DIR_FAILURE.now
    handle_metadata_errors: Annotated[bool, control.HANDLE_METADATA_ERRORS] = control.HANDLE_METADATA_ERRORS.now
    truncate_every_epoch: Annotated[bool, receiving.TRUNCATE_EVERY_EPOCH] = receiving.TRUNCATE_EVERY_EPOCH.now
    error_per_partition: Annotated[bool, receiving.ERROR_PER_PARTITION] = receiving.ERROR_PER_PARTITION.now
    truncate_missed_epoch: Annotated[bool, receiving.TRUNCATE_MISSED_EPOCH] = receiving.TRUNCATE_MISSED_EPOCH.now
    config_for_new_log: Annotated[bool, receiving.CONFIG_FOR_NEW_LOG] = receiving.CONFIG_FOR_NEW_LOG.now
    delete_missing_log: Annotated[bool, receiving.DELETE_MISSING_LOG] = receiving.DELETE_MISSING_LOG.now
    delete_future_replica: Annotated[bool, receiving.DELETE_FUTURE_REPLICA] = receiving.DELETE_FUTURE_REPLICA.now
    skip_unreadable_config: Annotated[bool, receiving.SKIP_UNREADABLE_CONFIG] = receiving.SKIP_UNREADABLE_CONFIG.now
    alter_partition: Annotated[bool, receiving.ALTER_PARTITION] = receiving.ALTER_PARTITION.now
    read_back_isr: Annotated[bool, receiving.READ_BACK_ISR] = receiving.READ_BACK_ISR.now
    check_alter_epochs: Annotated[bool, control.CHECK_ALTER_EPOCHS] = control.CHECK_ALTER_EPOCHS.now
    live_isr_check: Annotated[bool, receiving.LIVE_ISR_CHECK] = receiving.LIVE_ISR_CHECK.now
    offline_without_log: Annotated[bool, receiving.OFFLINE_WITHOUT_LOG] = receiving.OFFLINE_WITHOUT_LOG.now
    check_partition_epoch: Annotated[bool, receiving.CHECK_PARTITION_EPOCH] = receiving.CHECK_PARTITION_EPOCH.now
    stop_at_same_epoch: Annotated[bool, receiving.STOP_AT_SAME_EPOCH] = receiving.STOP_AT_SAME_EPOCH.now
    epoch_after_log: Annotated[bool, receiving.EPOCH_AFTER_LOG] = receiving.EPOCH_AFTER_LOG.now
    brokers_only_metadata: Annotated[bool, control.BROKERS_ONLY_METADATA] = control.BROKERS_ONLY_METADATA.now
    metadata_without_election: Annotated[bool, control.METADATA_WITHOUT_ELECTION] = (
        control.METADATA_WITHOUT_ELECTION.now
    )
    restore_assignment: Annotated[bool, control.RESTORE_ASSIGNMENT] = control.RESTORE_ASSIGNMENT.now
    retry_conflicts_only: Annotated[bool, control.RETRY_CONFLICTS_ONLY] = control.RETRY_CONFLICTS_ONLY.now
    read_config_once: Annotated[bool, control.READ_CONFIG_ONCE] = control.READ_CONFIG_ONCE.now
    metadata_of_leaderless: Annotated[bool, control.METADATA_OF_LEADERLESS] = control.METADATA_OF_LEADERLESS.now
    stop_replica_grouping: Annotated[control.Stops, control.STOP_REPLICA_GROUPING] = control.STOP_REPLICA_GROUPING.now
    change_together: Annotated[bool, control.CHANGE_TOGETHER] = control.CHANGE_TOGETHER.now
    read_back_state: Annotated[bool, control.READ_BACK_STATE] = control.READ_BACK_STATE.now
    read_state_for_new: Annotated[bool, control.READ_STATE_FOR_NEW] = control.READ_STATE_FOR_NEW.now
    send_unwritten_isr: Annotated[bool, control.SEND_UNWRITTEN_ISR] = control.SEND_UNWRITTEN_ISR.now
    log_leaderless: Annotated[bool, control.LOG_LEADERLESS] = control.LOG_LEADERLESS.now
    skip_leading_preferred: Annotated[bool, control.SKIP_LEADING_PREFERRED] = control.SKIP_LEADING_PREFERRED.now
    trigger_assigned: Annotated[bool, control.TRIGGER_ASSIGNED] = control.TRIGGER_ASSIGNED.now
    keep_channels: Annotated[bool, control.KEEP_CHANNELS] = control.KEEP_CHANNELS.now
    reset_context: Annotated[bool, control.RESET_CONTEXT] = control.RESET_CONTEXT.now
    delete_leftover: Annotated[bool, control.DELETE_LEFTOVER] = control.DELETE_LEFTOVER.now
    read_elections_first: Annotated[bool, control.READ_ELECTIONS_FIRST] = control.READ_ELECTIONS_FIRST.now
    remember_elections: Annotated[bool, control.REMEMBER_ELECTIONS] = control.REMEMBER_ELECTIONS.now
    leaderless_lose_leader: Annotated[bool, control.LEADERLESS_LOSE_LEADER] = control.LEADERLESS_LOSE_LEADER.now
    drop_finished_reassignments: Annotated[bool, control.DROP_FINISHED_REASSIGNMENTS] = (
        control.DROP_FINISHED_REASSIGNMENTS.now
    )
    resume_moves_of_deleted: Annotated[bool, control.RESUME_MOVES_OF_DELETED] = control.RESUME_MOVES_OF_DELETED.now
    reread_reassignment: Annotated[bool, control.REREAD_REASSIGNMENT] = control.REREAD_REASSIGNMENT.now
    remove_disabled_deletions: Annotated[bool, control.REMOVE_DISABLED_DELETIONS] = (
        control.REMOVE_DISABLED_DELETIONS.now
    )
    carry_reassignment: Annotated[bool, control.CARRY_REASSIGNMENT] = control.CARRY_REASSIGNMENT.now
    kip_455: Annotated[bool, control.KIP_455] = control.KIP_455.now
    remember_epoch: Annotated[bool, control.REMEMBER_EPOCH] = control.REMEMBER_EPOCH.now
    leaderless_offline: Annotated[bool, control.LEADERLESS_OFFLINE] = control.LEADERLESS_OFFLINE.now
    metadata_of_deleted: Annotated[bool, control.METADATA_OF_DELETED] = control.METADATA_OF_DELETED.now
    notify_shutting_down: Annotated[bool, control.NOTIFY_SHUTTING_DOWN] = control.NOTIFY_SHUTTING_DOWN.now
    forget_failed_dirs: Annotated[bool, control.FORGET_FAILED_DIRS] = control.FORGET_FAILED_DIRS.now
    cache_assignment_first: Annotated[bool, control.CACHE_ASSIGNMENT_FIRST] = control.CACHE_ASSIGNMENT_FIRST.now
    reassign_unassigned: Annotated[bool, control.REASSIGN_UNASSIGNED] = control.REASSIGN_UNASSIGNED.now
    remove_reassignments_together: Annotated[bool, control.REMOVE_REASSIGNMENTS_TOGETHER] = (
        control.REMOVE_REASSIGNMENTS_TOGETHER.now
    )
    list_reassignment_children: Annotated[bool, control.LIST_REASSIGNMENT_CHILDREN] = (
        control.LIST_REASSIGNMENT_CHILDREN.now
    )
    delete_partitions_first: Annotated[bool, control.DELETE_PARTITIONS_FIRST] = control.DELETE_PARTITIONS_FIRST.now
    shutdown_skips_deleted: Annotated[bool, control.SHUTDOWN_SKIPS_DELETED] = control.SHUTDOWN_SKIPS_DELETED.now
    rebalance_together: Annotated[bool, control.REBALANCE_TOGETHER] = control.REBALANCE_TOGETHER.now
    elect_where_needed: Annotated[bool, control.ELECT_WHERE_NEEDED] = control.ELECT_WHERE_NEEDED.now
    report_election_not_needed: Annotated[bool, control.REPORT_ELECTION_NOT_NEEDED] = (
        control.REPORT_ELECTION_NOT_NEEDED.now
    )
    answer_dropped_events: Annotated[bool, control.ANSWER_DROPPED_EVENTS] = control.ANSWER_DROPPED_EVENTS.now
    answer_dropped_reassignments: Annotated[bool, control.ANSWER_DROPPED_REASSIGNMENTS] = (
        control.ANSWER_DROPPED_REASSIGNMENTS.now
    )
    trim_adding_removing: Annotated[bool, control.TRIM_ADDING_REMOVING] = control.TRIM_ADDING_REMOVING.now
    rebalance_while_reassigning: Annotated[bool, control.REBALANCE_WHILE_REASSIGNING] = (
        control.REBALANCE_WHILE_REASSIGNING.now
    )
    delete_together: Annotated[bool, control.DELETE_TOGETHER] = control.DELETE_TOGETHER.now
    rebalance_electable: Annotated[bool, control.REBALANCE_ELECTABLE] = control.REBALANCE_ELECTABLE.now
    queued_until_deleted: Annotated[bool, control.QUEUED_UNTIL_DELETED] = control.QUEUED_UNTIL_DELETED.now
    send_added_as_new: Annotated[bool, control.SEND_ADDED_AS_NEW] = control.SEND_ADDED_AS_NEW.now
    allow_requeued_deletion: Annotated[bool, control.ALLOW_REQUEUED_DELETION] = control.ALLOW_REQUEUED_DELETION.now
    gauges_skip_deleted: Annotated[bool, control.GAUGES_SKIP_DELETED] = control.GAUGES_SKIP_DELETED.now
    update_gauges: Annotated[bool, control.UPDATE_GAUGES] = control.UPDATE_GAUGES.now
    count_unclean_elections: Annotated[bool, control.COUNT_UNCLEAN_ELECTIONS] = control.COUNT_UNCLEAN_ELECTIONS.now
    controller_from_cache: Annotated[bool, receiving.CONTROLLER_FROM_CACHE] = receiving.CONTROLLER_FROM_CACHE.now
    retry_without_controller: Annotated[bool, receiving.RETRY_WITHOUT_CONTROLLER] = (
        receiving.RETRY_WITHOUT_CONTROLLER.now
    )
    stop_after_last_retry: Annotated[bool, receiving.STOP_AFTER_LAST_RETRY] = receiving.STOP_AFTER_LAST_RETRY.now
    shrink_with_unassigned: Annotated[bool, receiving.SHRINK_WITH_UNASSIGNED] = receiving.SHRINK_WITH_UNASSIGNED.now
    elect_if_created: Annotated[bool, control.ELECT_IF_CREATED] = control.ELECT_IF_CREATED.now
    read_back_alteration: Annotated[bool, control.READ_BACK_ALTERATION] = control.READ_BACK_ALTERATION.now
    clear_batch: Annotated[bool, control.CLEAR_BATCH] = control.CLEAR_BATCH.now
    forget_ineligible: Annotated[bool, control.FORGET_INELIGIBLE] = control.FORGET_INELIGIBLE.now
    keep_in_sync: Annotated[bool, control.KEEP_IN_SYNC] = control.KEEP_IN_SYNC.now
    keep_leader: Annotated[bool, control.KEEP_LEADER] = control.KEEP_LEADER.now
    replica_table: Table[ReplicaState] = REPLICA
    """The permitted transitions of replicas; they changed in 2.3."""
    failover: tuple[Stage, ...] = ()
    """The steps of a controller that takes over; if empty, `failover_steps` chooses them."""
    resignation: tuple[Stage, ...] = stages.resignation(RELEASES[-1])
    """The steps of a controller that resigns."""

    @property
    def failover_steps(self) -> tuple[Stage, ...]:
        """The steps of its release; without one, those of the newest with equal metadata and reassignments."""
        if self.failover:
            return self.failover
        if not self.metadata_first:
            return stages.failover("0.10.1")
        return stages.failover(RELEASES[-1] if self.kip_455 else "2.3")


def control_design_of(release: str) -> ControlDesign:
    """The design of a release.

    >>> control_design_of("2.2").keep_last_isr, control_design_of("2.2").offline_on_failover
    (True, False)

    Raises:
        ValueError: there is no such release.
    """
    # The table changes only between lines: designs of one line are equal unless something changed within it.
    return ControlDesign(
        **values_at(ControlDesign, release),
        replica_table=REPLICA.at(line_of(release)),
        failover=stages.failover(release),
        resignation=stages.resignation(release),
    )
