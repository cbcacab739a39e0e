"""How the controllers of different releases change the states of partitions and replicas.

What older ones did otherwise, and this does not follow: until 1.0 partitions were handled one by one, with a request
for each read and each write, and a conflict was repeated for that one [KAFKA-5642]; until 2.1 a batch made requests
for brokers that are not registered, too, and the channel manager dropped them [ControllerChannelManager.scala 401,
454, 86, 1.1.1]; until 2.5 a replica that was added with and without deletion was in two StopReplica [the same, 403,
554, 2.4.1].
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple

from statemachines.releases import Release, line_of
from statemachines.replica import REPLICA, ReplicaState
from statemachines.table import Table

__all__ = ["CONTROL_DESIGNS", "ControlDesign", "control_design_of"]


class ControlDesign(NamedTuple):
    """How a release does it. A field with a sentence can be a switch of specifications.

    What each rests on, Kafka's classes or lines of its source, is in `control_provenance`.
    """

    fence_zk: Annotated[bool, "A controller's writes check the version of its epoch (2.1, KAFKA-6082)."] = True
    keep_last_isr: Annotated[
        bool,
        "The last member of an ISR stays in it, also where an unclean election is permitted (1.1, KAFKA-5642).",
    ] = True
    offline_on_failover: Annotated[
        bool, "A controller that takes over takes dead replicas out of the ISR (2.3, KAFKA-3143)."
    ] = True
    fence_stop: Annotated[
        bool, "StopReplica has a leader epoch and a delete flag for each partition (2.6, KAFKA-9539)."
    ] = True
    leader_recovery: Annotated[
        bool, "Who is elected uncleanly is told that it has to recover (3.2, KAFKA-13587)."
    ] = True
    metadata_first: Annotated[
        bool,
        "A controller that takes over tells brokers of each other before it tells them of leaders "
        "(0.10.2, KAFKA-4443).",
    ] = True
    broker_epoch: Annotated[
        bool,
        "Requests say which registration of a broker is meant, and a broker refuses those for an earlier one "
        "(2.2, KAFKA-7235).",
    ] = True
    log_dir_failure: Annotated[
        bool,
        "A broker goes on without a log directory that has failed, and its controller hears so (1.0, KAFKA-4763).",
    ] = True
    hear_metadata_errors: Annotated[bool, "Answers to UpdateMetadata are events of the controller (2.5)."] = True
    trunc_every_epoch: Annotated[
        bool,
        "A follower fetches anew in each leader epoch, under the same leader too (2.1, KAFKA-7395; 2.0.1 only where "
        "it had missed one, KAFKA-7164).",
    ] = True
    pass_over_unread: Annotated[
        bool,
        "A replica without log whose topic's configuration cannot be read is passed over, and the request goes on "
        "(2.7, KAFKA-9769).",
    ] = True
    alter_partition: Annotated[
        bool, "A leader asks the controller to change its ISR, and does not write it itself (2.7, KAFKA-8836)."
    ] = True
    read_back: Annotated[
        bool,
        "A leader that cannot write its ISR reads the state back, which may be its own, whose reply was lost (0.8.2, "
        "KAFKA-1382).",
    ] = True
    check_alter_epochs: Annotated[
        bool,
        "An AlterPartition ahead of the controller is for another one, and one behind it is refused (3.3, "
        "KAFKA-14154, KAFKA-14144).",
    ] = True
    live_isr_check: Annotated[
        bool, "Only a live broker may join an ISR, or be named as a member of it (3.3, KAFKA-14140)."
    ] = True
    offline_without_log: Annotated[
        bool,
        "A partition that LeaderAndIsr leaves without log is taken for one whose directory has failed (1.0 to 3.0; "
        "#11225).",
    ] = False
    check_partition_epoch: Annotated[
        bool, "LeaderAndIsr of an older partition epoch than the replica's is passed over (3.3, KAFKA-13790)."
    ] = True
    stop_at_same_epoch: Annotated[
        bool, "StopReplica in the leader epoch that the replica is in is obeyed (3.5, and 3.4.1, KAFKA-13972)."
    ] = True
    epoch_after_log: Annotated[
        bool, "A follower takes its leader epoch when it has its log, not before (until 3.5; #14138)."
    ] = False
    metadata_of_given: Annotated[
        bool, "UpdateMetadata without partitions is of none; before, of all of them (2.2, KAFKA-7537)."
    ] = True
    metadata_without_election: Annotated[
        bool,
        "Brokers are told of one that is gone also where a leader was lost and no other found (3.1, KAFKA-13225).",
    ] = True
    restore_assignment: Annotated[
        bool, "Partitions that are added to a topic that is to be deleted are taken away again (2.0, KAFKA-6612)."
    ] = True
    retry_alone: Annotated[
        bool, "A conflict repeats the election of that partition; before, of all that are elected for with it (2.4)."
    ] = True
    config_once: Annotated[
        bool,
        "What is configured for a topic is read once for all its partitions that need it; before, for each of them "
        "(2.4).",
    ] = True
    metadata_of_leaderless: Annotated[
        bool, "Brokers are told of a replica that goes offline also where there never was a leader (2.3)."
    ] = True
    group_stop: Annotated[
        bool,
        "Replicas that stop on one broker are in one StopReplica; before, each in one, behind an empty one (2.3).",
    ] = True
    trigger_assigned: Annotated[
        bool,
        "A topic's partitions that are to be online are those that it has; before, all that have a state, also those "
        "of an earlier topic of its name, which was removed (2.3).",
    ] = True
    keep_channels: Annotated[
        bool,
        "There is always a manager of channels; before, each failover made one and each resignation took it away, "
        "and without one every event failed that is about brokers (2.3).",
    ] = True
    reset_context: Annotated[
        bool, "A controller that resigns forgets what was being reassigned (0.11, KAFKA-5310)."
    ] = True
    kip_455: Annotated[
        bool,
        "The topic's node says where a partition moves from and to, so that a move can be changed and cancelled "
        "(2.4, KAFKA-8345).",
    ] = True
    remember_epoch: Annotated[
        bool, "A leader epoch that a reassignment has incremented is what brokers are told of next (2.4, KAFKA-9212)."
    ] = True
    leaderless_offline: Annotated[
        bool, "A replica whose partition never had a leader becomes OfflineReplica as others do (2.0, KAFKA-6650)."
    ] = True
    metadata_of_deleted: Annotated[
        bool, "Every UpdateMetadata is of all partitions that are to be deleted, too (until 1.1)."
    ] = False
    tell_leaving: Annotated[
        bool,
        "Who shuts down is told who leads in its place, as the other replicas are (not in 1.1 and 2.0).",
    ] = True
    forget_failed_dirs: Annotated[
        bool, "A controller that resigns forgets which log directories have failed (2.0, KAFKA-6630)."
    ] = True
    assign_first: Annotated[
        bool,
        "Where a partition moves is known before the topic's node is written; before, when it was (until 2.3; 2.0, "
        "KAFKA-6630).",
    ] = True
    reassign_unassigned: Annotated[
        bool,
        "A partition is moved on that is assigned to no broker, since its topic was deleted; before, that failed "
        "(until 2.3; 2.0, KAFKA-6630).",
    ] = True
    remove_together: Annotated[
        bool,
        "Reassignments for which there is nothing to do leave the node together; before, one by one (until 2.3; 2.0, "
        "KAFKA-6617).",
    ] = True
    look_below_reassignment: Annotated[
        bool,
        "/admin/reassign_partitions is deleted when it has been read what is below it, which is nothing; before, at "
        "once (2.2).",
    ] = True
    delete_partitions_first: Annotated[
        bool,
        "Partitions become NonExistentPartition as the deletion of their topic begins; before, as it ends (2.1, "
        "KAFKA-6753).",
    ] = True
    pass_over_deleted: Annotated[bool, "Controlled shutdown passes over what is deleted (2.1, KAFKA-6753)."] = True
    rebalance_together: Annotated[
        bool,
        "Leaders are rebalanced broker by broker; before, partition by partition (2.1, and 2.0.1, KAFKA-7299).",
    ] = True
    elect_where_needed: Annotated[
        bool,
        "Preferred replicas that lead already are not elected; before, they were, in a new leader epoch (2.2, "
        "KAFKA-5692).",
    ] = True
    say_not_needed: Annotated[
        bool,
        "An administrator is told where no election was needed; before, as where one was held, by no error (2.4, "
        "KIP-460).",
    ] = True
    leave_reassignment: Annotated[
        bool, "A replica that is gone is not among those that are added or removed any more, either (2.5)."
    ] = True
    rebalance_while_reassigning: Annotated[
        bool, "Leaders are rebalanced while partitions are being reassigned, too (3.4, KAFKA-10149)."
    ] = True
    delete_together: Annotated[
        bool,
        "Deletions of topics begin, and begin again, together; before, topic by topic (2.5, KAFKA-9499).",
    ] = True
    rebalance_electable: Annotated[
        bool,
        "Leaders are rebalanced where that can be; before, also where the preferred replica was not in sync, which "
        "failed (2.6, KAFKA-9866).",
    ] = True
    queued_to_the_end: Annotated[
        bool,
        "A topic is queued for deletion until its nodes are gone, and new brokers are not told of its partitions; "
        "before, until they were about to go (2.7, KAFKA-10040).",
    ] = True
    tell_added_as_new: Annotated[
        bool,
        "Replicas that a reassignment adds are told at once that they are new, not only when they become NewReplica "
        "(2.7, KAFKA-10314).",
    ] = True
    count_once: Annotated[
        bool,
        "A topic may be queued for deletion again when its replicas are gone; from 2.7 to 3.1 a metric looks for the "
        "first of them, and the event fails (3.2, KAFKA-13572).",
    ] = True
    controller_of_cache: Annotated[
        bool,
        "A broker that stops finds the controller in its metadata cache; before, in ZooKeeper, without which it did "
        "not stop (3.0, KAFKA-9189).",
    ] = True
    retry_without_controller: Annotated[
        bool,
        "A broker that stops tries again where there is no controller; before, it stopped uncleanly at once (1.1).",
    ] = True
    stop_after_last: Annotated[
        bool,
        "A broker whose last attempt at a controlled shutdown has failed stops; before, it waited once more (3.1, "
        "#11246).",
    ] = True
    elect_if_created: Annotated[
        bool,
        "A partition whose first state is there already, as the answer to its creation was lost, is elected for; "
        "otherwise it stays new (proposed).",
    ] = False
    read_back_alteration: Annotated[
        bool,
        "An ISR that ZooKeeper refuses to write for a leader is read back: it may have been written, and the answer "
        "lost (proposed; leaders did so until 2.6, KAFKA-1382).",
    ] = False
    clear_batch: Annotated[
        bool, "A controller that resigns forgets the requests that it has not sent (proposed: KAFKA-12315)."
    ] = False
    forget_ineligible: Annotated[
        bool,
        "A topic that has been deleted does not have to wait any more, so that one of the same name can be deleted "
        "(proposed).",
    ] = False
    keep_in_sync: Annotated[
        bool,
        "A reassignment, or its cancellation, that would leave no member of the ISR assigned is refused (proposed; "
        "KRaft does so).",
    ] = False
    keep_leader: Annotated[
        bool,
        "A reassignment, or its cancellation, that would take the leader away at once is refused (proposed: "
        "KAFKA-14808).",
    ] = False
    replica_table: Table[ReplicaState] = REPLICA
    """Which states of replicas may follow which; it changed in 2.3."""


CONTROL_DESIGNS: Final[Mapping[str, Mapping[str, Any]]] = {
    "0.10.1": {
        "fence_zk": False,
        "keep_last_isr": False,
        "offline_on_failover": False,
        "fence_stop": False,
        "leader_recovery": False,
        "metadata_first": False,
        "broker_epoch": False,
        "log_dir_failure": False,
        "hear_metadata_errors": False,
        "trunc_every_epoch": False,
        "pass_over_unread": False,
        "alter_partition": False,
        "check_alter_epochs": False,
        "live_isr_check": False,
        "offline_without_log": False,
        "check_partition_epoch": False,
        "stop_at_same_epoch": False,
        "epoch_after_log": True,
        "controller_of_cache": False,
        "retry_without_controller": False,
        "stop_after_last": False,
        "metadata_of_given": False,
        "metadata_without_election": False,
        "reset_context": False,
        "kip_455": False,
        "rebalance_while_reassigning": False,
        "restore_assignment": False,
        "retry_alone": False,
        "config_once": False,
        "metadata_of_leaderless": False,
        "group_stop": False,
        "trigger_assigned": False,
        "keep_channels": False,
        "leaderless_offline": False,
        "metadata_of_deleted": True,
        "forget_failed_dirs": False,
        "assign_first": False,
        "reassign_unassigned": False,
        "remove_together": False,
        "look_below_reassignment": False,
        "delete_partitions_first": False,
        "pass_over_deleted": False,
        "rebalance_together": False,
        "elect_where_needed": False,
        "say_not_needed": False,
        "leave_reassignment": False,
        "remember_epoch": False,
        "delete_together": False,
        "rebalance_electable": False,
        "queued_to_the_end": False,
        "tell_added_as_new": False,
    },
    "0.10.2": {"metadata_first": True},
    "0.11": {"reset_context": True},
    "1.0": {"log_dir_failure": True, "offline_without_log": True},
    "1.1": {"tell_leaving": False, "keep_last_isr": True, "retry_without_controller": True},
    "2.0": {
        "leaderless_offline": True,
        "metadata_of_deleted": False,
        "restore_assignment": True,
        "forget_failed_dirs": True,
        "assign_first": True,
        "reassign_unassigned": True,
        "remove_together": True,
    },
    "2.1": {
        "tell_leaving": True,
        "fence_zk": True,
        "trunc_every_epoch": True,
        "delete_partitions_first": True,
        "pass_over_deleted": True,
        "rebalance_together": True,
    },
    "2.2": {
        "broker_epoch": True,
        "metadata_of_given": True,
        "elect_where_needed": True,
        "look_below_reassignment": True,
    },
    "2.3": {
        "offline_on_failover": True,
        "metadata_of_leaderless": True,
        "group_stop": True,
        "trigger_assigned": True,
        "keep_channels": True,
    },
    "2.4": {
        "retry_alone": True,
        "config_once": True,
        "kip_455": True,
        "remember_epoch": True,
        "say_not_needed": True,
    },
    "2.5": {"leave_reassignment": True, "hear_metadata_errors": True, "delete_together": True},
    "2.6": {"fence_stop": True, "rebalance_electable": True},
    "2.7": {
        "pass_over_unread": True,
        "alter_partition": True,
        "queued_to_the_end": True,
        "tell_added_as_new": True,
        "count_once": False,
    },
    "3.0": {"controller_of_cache": True},
    "3.1": {"offline_without_log": False, "metadata_without_election": True, "stop_after_last": True},
    "3.2": {"leader_recovery": True, "count_once": True},
    "3.3": {"check_partition_epoch": True, "check_alter_epochs": True, "live_isr_check": True},
    "3.4": {"rebalance_while_reassigning": True},
    "3.5": {"stop_at_same_epoch": True},
    "3.6": {"epoch_after_log": False},
}
"""What a release changed of the design of the one before."""


def control_design_of(release: str) -> ControlDesign:
    """The design of a release.

    >>> control_design_of("2.2").keep_last_isr, control_design_of("2.2").offline_on_failover
    (True, False)

    Raises:
        ValueError: it is no release.
    """
    fields: dict[str, Any] = {"replica_table": REPLICA.at(release)}
    for since, changed in CONTROL_DESIGNS.items():
        if Release(since) <= Release(line_of(release)):
            fields |= changed
    return ControlDesign(**fields)
