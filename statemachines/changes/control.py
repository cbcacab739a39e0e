"""Handling of partitions, topics, brokers and reassignments by a controller."""

from enum import Enum

from statemachines.changes.change import (
    BOTH,
    CONTROLLER,
    SETTLED,
    STATE_MACHINES,
    KafkaChange,
    Line,
    Releases,
    proposed,
    since,
    until,
)
from statemachines.changes.elections import ElectionChanges


class Stops(Enum):
    """How the replicas of one broker that stop in one batch are spread over StopReplica requests, oldest first."""

    alone = "one request each"
    deletions_alone = "one request, possibly empty, for those that keep their logs; then one for each of the others"
    behind_empty = "one request each, after an empty one"
    together = "all in one request; until 2.5 those to be deleted in another, sent first"

    def __str__(self) -> str:
        return self.name


class ControlChanges(Releases):
    """The rules of a release, of controllers; `ControlDesign` has them."""

    fence_zk = ElectionChanges.fence_zk
    broker_epoch = ElectionChanges.broker_epoch
    change_together = since(
        "1.1.0",
        "The states of partitions and replicas change in batches of requests to ZooKeeper; before, one by one, "
        "and after any failed write the state is read again",
        "KAFKA-5642",
        compared=(*STATE_MACHINES, *SETTLED),
    )
    read_back_state = until(
        "1.1.0",
        "A controller that finds a newer version of a state than it had read reads it back: the write may be its "
        "own, with a lost reply",
        "KAFKA-5642",
        compared=STATE_MACHINES,
    )
    read_state_for_new = until(
        "1.1.0",
        "A new replica receives the leader in ZooKeeper; later, the leader known to the controller",
        "KAFKA-5642",
        compared=STATE_MACHINES,
    )
    send_unwritten_isr = until(
        "1.1.0",
        "An ISR that could not be written counts, and is sent, if the state is gone when it is read again",
        "KAFKA-5642",
        compared=STATE_MACHINES,
    )
    log_leaderless = until(
        "1.1.0",
        "A replica that stays online because its partition never had a leader is an error in the state-change log",
        "KAFKA-5642",
        compared=STATE_MACHINES,
    )
    skip_leading_preferred = until(
        "1.1.0",
        "The state machine does not elect a preferred replica that already leads",
        "KAFKA-5642",
        compared=STATE_MACHINES,
    )
    keep_last_isr = since(
        "1.1.0",
        "The last member of an ISR stays in it, even if unclean elections are permitted",
        "KAFKA-5642",
        compared=BOTH,
        by_source=(
            Line("1.0.2", "KafkaController.scala", "removeReplicaFromIsr", 1082),
            Line("1.1.0", "ReplicaStateMachine.scala", "doRemoveReplicasFromIsr", 290),
        ),
    )
    offline_on_failover = since(
        "2.3.0",
        "A new controller removes dead replicas from the ISR",
        "KAFKA-3143",
        compared=BOTH,
    )
    leader_recovery = since(
        "3.2.0",
        "A leader elected uncleanly learns that it must recover",
        "KAFKA-13587",
        compared=CONTROLLER,
    )
    metadata_first = since(
        "0.10.2.0",
        "A new controller informs brokers of each other before it informs them of leaders",
        "KAFKA-4443",
        compared=CONTROLLER,
        by_source=(
            Line("0.10.1.1", "KafkaController.scala", "onControllerFailover", 343),
            Line("0.10.2.0", "KafkaController.scala", "onControllerFailover", 339),
        ),
    )
    handle_metadata_errors = since(
        "2.5.0",
        "Responses to UpdateMetadata are events of the controller",
        by_source=(
            Line("2.4.1", "ControllerChannelManager.scala", "sendUpdateMetadataRequests", 525),
            Line("2.5.0", "ControllerChannelManager.scala", "sendUpdateMetadataRequests", 521),
        ),
    )
    check_alter_epochs = since(
        "3.3.0",
        "An AlterPartition with a newer epoch than the controller's is for another controller; an older one is "
        "refused",
        "KAFKA-14154",
        "KAFKA-14144",
        compared=CONTROLLER,
    )
    brokers_only_metadata = since(
        "2.2.0",
        "UpdateMetadata for no partitions contains none; before, all of them",
        "KAFKA-7537",
        compared=CONTROLLER,
    )
    metadata_without_election = since(
        "3.1.0",
        "Brokers learn of a dead broker even if a leader was lost and no other found",
        "KAFKA-13225",
        compared=CONTROLLER,
        by_source=(
            Line("3.0.2", "KafkaController.scala", "onReplicasBecomeOffline", 633),
            Line("3.1.0", "KafkaController.scala", "onReplicasBecomeOffline", 638),
        ),
    )
    restore_assignment = since(
        "2.0.0",
        "Partitions added to a topic that is being deleted are removed again",
        "KAFKA-6612",
        compared=CONTROLLER,
    )
    retry_conflicts_only = since(
        "2.4.0",
        "A conflict repeats the election of that partition; before, of all partitions elected together with it",
        compared=STATE_MACHINES,
    )
    read_config_once = since(
        "2.4.0",
        "A topic's configuration is read once for all its partitions that need it; before, for each of them",
        compared=BOTH,
    )
    metadata_of_leaderless = since(
        "2.3.0",
        "Brokers learn of a replica that goes offline even if its partition never had a leader",
        compared=BOTH,
    )
    stop_replica_grouping = KafkaChange(
        sentence="Replicas of one broker that stop together share one StopReplica (2.3); before, one each after an "
        "empty one (1.1), or one for each deletion after one for all others (0.10.2), or one each",
        before=Stops.alone,
        since={"0.10.2.0": Stops.deletions_alone, "1.1.0": Stops.behind_empty, "2.3.0": Stops.together},
        tickets=("KAFKA-5642",),
        compared=BOTH,
        by_source=(
            Line("0.10.1.1", "ControllerChannelManager.scala", "sendRequestsToBrokers", 415),
            Line("0.10.2.0", "ControllerChannelManager.scala", "sendRequestsToBrokers", 425),
            Line("1.0.2", "ControllerChannelManager.scala", "sendRequestsToBrokers", 472),
            Line("1.1.0", "ReplicaStateMachine.scala", "doHandleStateChanges", 202),
            Line("2.2.2", "ControllerChannelManager.scala", "sendRequestsToBrokers", 482),
            Line("2.3.0", "ControllerChannelManager.scala", "sendStopReplicaRequests", 513),
        ),
    )
    trigger_assigned = since(
        "2.3.0",
        "A topic's current partitions may come online; before, all that have a state, including those of a deleted "
        "topic with the same name",
        compared=STATE_MACHINES,
        by_source=(
            Line("2.2.2", "PartitionStateMachine.scala", "triggerOnlinePartitionStateChange", 113),
            Line("2.3.0", "PartitionStateMachine.scala", "triggerOnlinePartitionStateChange", 62),
        ),
    )
    delete_assigned = since(
        "2.3.0",
        "A topic's deletion looks at its current replicas; before, at all that have a state, including those that a "
        "reassignment has left in the middle of their removal",
        compared=CONTROLLER,
        by_source=(
            Line("2.2.2", "ReplicaStateMachine.scala", "replicasInState", 375),
            Line("2.3.0", "ControllerContext.scala", "replicasInState", 252),
        ),
    )
    keep_channels = since(
        "2.3.0",
        "The channel manager always exists; before, each failover created one and each resignation removed it, "
        "and without one every event about brokers failed",
        compared=CONTROLLER,
        by_source=(
            Line("2.2.2", "ControllerContext.scala", "controllerChannelManager", 28),
            Line("2.3.0", "KafkaController.scala", "controllerChannelManager", 74),
        ),
    )
    reset_context = since(
        "0.11.0.0",
        "A controller that resigns forgets the reassignments under way",
        "KAFKA-5310",
        compared=CONTROLLER,
        by_source=(
            Line("0.10.2.2", "KafkaController.scala", "onControllerResignation", 394),
            Line("0.11.0.0", "KafkaController.scala", "resetControllerContext", 701),
        ),
    )
    delete_leftover = since(
        "1.1.0",
        "The deletion of a topic ends when only the request for it is left; before, each failover fails there, so "
        "that there is no controller, or, until 0.10.2, the thread that deletes topics ends, and no topic is deleted",
        compared=SETTLED,
        by_source=(
            Line("0.10.2.2", "TopicDeletionManager.scala", "completeDeleteTopic", 294),
            Line("0.11.0.0", "TopicDeletionManager.scala", "completeDeleteTopic", 238),
            Line("1.0.2", "KafkaController.scala", "deregisterPartitionModificationsListener", 919),
            Line("1.1.0", "KafkaController.scala", "unregisterPartitionModificationsHandlers", 836),
        ),
    )
    leaderless_lose_leader = since(
        "1.0.0",
        "Partitions without leader are among those that lose it when a broker dies, so brokers do not learn of its "
        "death; before, only partitions that it led",
        "KAFKA-4763",
        compared=SETTLED,
        by_source=(
            Line("0.11.0.3", "KafkaController.scala", "onBrokerFailure", 396),
            Line("1.0.0", "KafkaController.scala", "onReplicasBecomeOffline", 448),
        ),
    )
    read_elections_first = until(
        "0.11.0.0",
        "A new controller reads the requested preferred elections before it elects other leaders: it "
        "fails if one of the partitions has never led",
        compared=SETTLED,
        by_source=(
            Line("0.10.2.2", "KafkaController.scala", "initializePreferredReplicaElection", 757),
            Line("0.11.0.0", "KafkaController.scala", "onControllerFailover", 278),
        ),
    )
    remember_elections = until(
        "0.11.0.0",
        "Preferred elections that have begun count as in progress until all their partitions have had a leader: "
        "meanwhile leaders are not rebalanced, and only a new controller elects for them again, even for topics "
        "to be deleted",
        compared=SETTLED,
        by_source=(
            Line("0.10.2.2", "KafkaController.scala", "onPreferredReplicaElection", 660),
            Line("0.11.0.0", "KafkaController.scala", "onPreferredReplicaElection", 581),
        ),
    )
    drop_finished_reassignments = until(
        "1.1.0",
        "A new controller removes finished reassignments from /admin/reassign_partitions before it "
        "decides which deletions must wait for a reassignment",
        compared=SETTLED,
        by_source=(
            Line("1.0.2", "KafkaController.scala", "initializePartitionReassignment", 766),
            Line("1.1.0", "KafkaController.scala", "initializePartitionReassignment", 701),
        ),
    )
    resume_moves_of_deleted = until(
        "1.1.0",
        "A new controller resumes the reassignment of a partition whose topic is to be deleted; later it gives "
        "the reassignment up",
        compared=SETTLED,
        by_source=(
            Line("1.0.2", "KafkaController.scala", "maybeTriggerPartitionReassignment", 789),
            Line("1.1.0", "KafkaController.scala", "maybeTriggerPartitionReassignment", 562),
        ),
    )
    remove_disabled_deletions = since(
        "0.10.2.0",
        "A controller removes the request to delete a topic if topics cannot be deleted; before, the request stays",
        "KAFKA-3175",
        by_source=(
            Line("0.10.1.1", "PartitionStateMachine.scala", "registerListeners", 78),
            Line("0.10.2.0", "PartitionStateMachine.scala", "doHandleChildChange", 480),
        ),
    )
    carry_reassignment = KafkaChange(
        sentence="The event of a reassignment holds what ZkEventThread read before it was queued; before and after, "
        "the controller reads when it handles the event",
        before=False,
        since={"0.11.0.0": True, "0.11.0.2": False},
        tickets=("KAFKA-5028", "KAFKA-6134"),
        compared=SETTLED,
        by_source=(
            Line("0.10.2.2", "KafkaController.scala", "doHandleDataChange", 1260),
            Line("0.11.0.0", "KafkaController.scala", "handleDataChange", 1641),
            Line("0.11.0.2", "KafkaController.scala", "handleDataChange", 1642),
        ),
    )
    reread_reassignment = until(
        "1.1.0",
        "Partitions added to /admin/reassign_partitions during a reassignment begin to move: the node is read "
        "whenever it changes, and before it is written; until 2.3 they are lost when the node is written from "
        "memory, and since 2.4 they stay and wait for another controller",
        "KAFKA-6193",
        "KAFKA-9478",
        compared=SETTLED,
        by_source=(
            Line("1.0.2", "KafkaController.scala", "removePartitionFromReassignedPartitions", 992),
            Line("1.1.0", "KafkaController.scala", "removePartitionFromReassignedPartitions", 867),
        ),
    )
    kip_455 = since(
        "2.4.0",
        "The topic's node records a partition's reassignment, so that it can be changed and cancelled",
        "KAFKA-8345",
        compared=CONTROLLER,
    )
    remember_epoch = since(
        "2.4.0",
        "The leader epoch that a reassignment increments is the one that brokers receive next",
        "KAFKA-9212",
        compared=CONTROLLER,
    )
    leaderless_offline = since(
        "2.0.0",
        "A replica whose partition never had a leader becomes OfflineReplica like others",
        "KAFKA-6650",
        compared=BOTH,
    )
    metadata_of_deleted = until(
        "2.0.0", "Every UpdateMetadata also contains all partitions to be deleted", compared=BOTH
    )
    notify_shutting_down = KafkaChange(
        sentence="A broker that shuts down learns the leader that replaces it, like the other replicas",
        before=True,
        since={"1.1.0": False, "2.1.0": True},
        compared=BOTH,
    )
    forget_failed_dirs = since(
        "2.0.0",
        "A controller that resigns forgets the failed log directories",
        "KAFKA-6630",
        compared=CONTROLLER,
    )
    cache_assignment_first = since(
        "2.0.0",
        "A reassignment is known before the topic's node is written; before, afterwards",
        "KAFKA-6630",
        compared=CONTROLLER,
        note="until 2.3",
    )
    reassign_unassigned = since(
        "2.0.0",
        "A partition without assigned brokers, because its topic was deleted, continues to move; before, that failed",
        "KAFKA-6630",
        compared=CONTROLLER,
        by_source=(
            Line("1.1.1", "KafkaController.scala", "onPartitionReassignment", 516),
            Line("2.0.0", "ControllerContext.scala", "partitionReplicaAssignment", 42),
        ),
        note="until 2.3",
    )
    remove_reassignments_together = since(
        "2.0.0",
        "Reassignments without anything to do are removed from the node together; before, one by one",
        "KAFKA-6617",
        compared=CONTROLLER,
        note="until 2.3",
    )
    list_reassignment_children = since(
        "2.2.0",
        "/admin/reassign_partitions is deleted after a read of its (never existing) children; before, at once",
        compared=CONTROLLER,
    )
    delete_partitions_first = since(
        "2.1.0",
        "Partitions become NonExistentPartition when the deletion of their topic begins; before, when it ends",
        "KAFKA-6753",
        compared=CONTROLLER,
        by_source=(
            Line("2.0.1", "TopicDeletionManager.scala", "completeDeleteTopic", 237),
            Line("2.1.0", "TopicDeletionManager.scala", "onTopicDeletion", 275),
        ),
    )
    shutdown_skips_deleted = since(
        "2.1.0", "Controlled shutdown skips deleted topics", "KAFKA-6753", compared=CONTROLLER
    )
    rebalance_together = since(
        "2.0.1",
        "Leaders are rebalanced broker by broker; before, partition by partition",
        "KAFKA-7299",
        compared=CONTROLLER,
        by_source=(
            Line("2.0.0", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 1000),
            Line("2.0.1", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 999),
        ),
    )
    elect_where_needed = since(
        "2.2.0",
        "The controller requests no election if the preferred replica already leads; from 1.1 to 2.1 that replica "
        "was elected again, in a new leader epoch",
        "KAFKA-5692",
        compared=CONTROLLER,
    )
    report_election_not_needed = since(
        "2.4.0",
        "The reply says where no election was needed; before, it showed no error, as after an election",
        "KIP-460",
        compared=CONTROLLER,
    )
    answer_dropped_events = since(
        "2.2.0",
        "A request for an election or a shutdown gets a reply when its event is dropped from the queue; before, none",
        compared=CONTROLLER,
    )
    answer_dropped_reassignments = since(
        "2.7.0",
        "So does a request for a reassignment, but not a leader's request for an ISR",
        compared=CONTROLLER,
    )
    trim_adding_removing = since(
        "2.5.0",
        "A replica that has left is also removed from the adding and removing replicas",
        compared=CONTROLLER,
    )
    rebalance_while_reassigning = since(
        "3.4.0",
        "Leaders are rebalanced even while partitions are being reassigned",
        "KAFKA-10149",
        compared=CONTROLLER,
        by_source=(
            Line("3.3.2", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 1266),
            Line("3.4.0", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 1271),
        ),
    )
    delete_together = since(
        "2.5.0",
        "Deletions of topics begin, and resume, together; before, topic by topic",
        "KAFKA-9499",
        compared=CONTROLLER,
    )
    rebalance_electable = since(
        "2.6.0",
        "Leaders are rebalanced where possible; before, also where the preferred replica was not in sync, which "
        "failed",
        "KAFKA-9866",
        compared=CONTROLLER,
        by_source=(
            Line("2.5.1", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 1067),
            Line("2.6.0", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 1071),
        ),
    )
    queued_until_deleted = since(
        "2.7.0",
        "A topic is queued for deletion until its nodes are gone, and new brokers do not receive its partitions; "
        "before, until its nodes were about to be deleted",
        "KAFKA-10040",
        compared=CONTROLLER,
        by_source=(
            Line("2.6.3", "TopicDeletionManager.scala", "completeDeleteTopic", 246),
            Line("2.7.0", "ControllerContext.scala", "removeTopic", 295),
        ),
    )
    send_added_as_new = since(
        "2.7.0",
        "Replicas added by a reassignment receive isNew at once, not only when they become NewReplica",
        "KAFKA-10314",
        compared=CONTROLLER,
        by_source=(
            Line("2.6.3", "KafkaController.scala", "updateLeaderEpochAndSendRequest", 881),
            Line("2.7.0", "KafkaController.scala", "updateLeaderEpochAndSendRequest", 1064),
        ),
    )
    allow_requeued_deletion = KafkaChange(
        sentence="A topic may be queued for deletion again after its replicas are gone; otherwise a metric looks "
        "for the first of them, and the event fails",
        before=True,
        since={"2.7.0": False, "3.2.1": True},
        tickets=("KAFKA-13572",),
        compared=CONTROLLER,
        by_source=(
            Line("2.6.3", "ControllerContext.scala", "queueTopicDeletion", 293),
            Line("2.7.0", "ControllerContext.scala", "queueTopicDeletion", 307),
            Line("3.2.0", "ControllerContext.scala", "queueTopicDeletion", 331),
            Line("3.2.1", "ControllerContext.scala", "queueTopicDeletion", 337),
        ),
    )
    gauges_skip_deleted = since(
        "0.10.2.0",
        "Partitions of topics queued for deletion count neither as offline nor as imbalanced "
        "[OfflinePartitionsCount, PreferredReplicaImbalanceCount]",
        "KAFKA-4441",
        compared=SETTLED,
        by_source=(
            Line("0.10.1.1", "KafkaController.scala", "value", 198),
            Line("0.10.1.1", "KafkaController.scala", "value", 213),
            Line("0.10.2.0", "KafkaController.scala", "value", 193),
            Line("0.10.2.0", "KafkaController.scala", "value", 211),
        ),
    )
    update_gauges = since(
        "0.11.0.0",
        "Gauges are computed after each event; before, each when it is read, and PreferredReplicaImbalanceCount "
        "cannot be read while a partition has never had a leader",
        compared=SETTLED,
        by_source=(
            Line("0.10.2.2", "KafkaController.scala", "value", 210),
            Line("0.11.0.0", "KafkaController.scala", "updateMetrics", 1533),
        ),
    )
    count_unclean_elections = KafkaChange(
        sentence="An election of a leader that was not in sync is counted [UncleanLeaderElectionsPerSec]",
        before=True,
        since={"1.1.0": False, "1.1.1": True},
        tickets=("KAFKA-6752",),
        compared=CONTROLLER,
        by_source=(
            Line("1.0.2", "PartitionLeaderSelector.scala", "selectLeader", 77),
            Line("1.1.0", "PartitionStateMachine.scala", "offlinePartitionLeaderElection", 441),
            Line("1.1.1", "PartitionStateMachine.scala", "offlinePartitionLeaderElection", 443),
        ),
    )
    elect_if_created = proposed(
        "A partition whose first state exists because the reply to its creation was lost gets an election; "
        "otherwise it stays new"
    )
    read_back_alteration = proposed(
        "A leader's ISR that ZooKeeper refuses to write is read back: it may have been written, with a lost reply",
        note="leaders did so until 2.6, KAFKA-1382",
    )
    clear_batch = proposed("A controller that resigns forgets its unsent requests", by="KAFKA-12315")
    forget_ineligible = proposed(
        "A deleted topic no longer counts as ineligible for deletion, so that another of the same name can be deleted"
    )
    keep_in_sync = proposed(
        "A reassignment, or its cancellation, that would leave no member of the ISR assigned is refused",
        by="KRaft, which has it",
    )
    keep_leader = proposed(
        "A reassignment that would remove the leader at it elects another is refused", by="KAFKA-14808"
    )
