"""What a controller does with partitions, topics, brokers and reassignments: changes of `ControlDesign`."""

from enum import Enum
from typing import Final

from statemachines.changes.change import (
    BOTH,
    CONTROLLER,
    SETTLED,
    STATE_MACHINES,
    KafkaChange,
    Line,
    Provenance,
    proposed,
    since,
    until,
)

__all__ = [
    "ANSWER_DROPPED_EVENTS",
    "ANSWER_DROPPED_REASSIGNMENTS",
    "CACHE_ASSIGNMENT_FIRST",
    "CHANGE_TOGETHER",
    "CHECK_ALTER_EPOCHS",
    "CLEAR_BATCH",
    "READ_CONFIG_ONCE",
    "LEADERLESS_LOSE_LEADER",
    "ALLOW_REQUEUED_DELETION",
    "DELETE_LEFTOVER",
    "DELETE_PARTITIONS_FIRST",
    "DELETE_TOGETHER",
    "DROP_FINISHED_REASSIGNMENTS",
    "ELECT_IF_CREATED",
    "ELECT_WHERE_NEEDED",
    "FORGET_FAILED_DIRS",
    "FORGET_INELIGIBLE",
    "STOP_REPLICA_GROUPING",
    "HANDLE_METADATA_ERRORS",
    "KEEP_CHANNELS",
    "KEEP_IN_SYNC",
    "KEEP_LAST_ISR",
    "KEEP_LEADER",
    "KIP_455",
    "LEADERLESS_OFFLINE",
    "LEADER_RECOVERY",
    "TRIM_ADDING_REMOVING",
    "LOG_LEADERLESS",
    "LIST_REASSIGNMENT_CHILDREN",
    "METADATA_FIRST",
    "METADATA_OF_DELETED",
    "BROKERS_ONLY_METADATA",
    "METADATA_OF_LEADERLESS",
    "METADATA_WITHOUT_ELECTION",
    "OFFLINE_ON_FAILOVER",
    "SHUTDOWN_SKIPS_DELETED",
    "SKIP_LEADING_PREFERRED",
    "QUEUED_UNTIL_DELETED",
    "READ_BACK_ALTERATION",
    "READ_BACK_STATE",
    "READ_ELECTIONS_FIRST",
    "READ_STATE_FOR_NEW",
    "REASSIGN_UNASSIGNED",
    "REBALANCE_ELECTABLE",
    "REBALANCE_TOGETHER",
    "REBALANCE_WHILE_REASSIGNING",
    "REMEMBER_EPOCH",
    "REMOVE_REASSIGNMENTS_TOGETHER",
    "RESET_CONTEXT",
    "REREAD_REASSIGNMENT",
    "RESTORE_ASSIGNMENT",
    "RESUME_MOVES_OF_DELETED",
    "RETRY_CONFLICTS_ONLY",
    "REPORT_ELECTION_NOT_NEEDED",
    "SEND_ADDED_AS_NEW",
    "NOTIFY_SHUTTING_DOWN",
    "SEND_UNWRITTEN_ISR",
    "TRIGGER_ASSIGNED",
    "Stops",
]


class Stops(Enum):
    """In which StopReplicas the replicas of one broker are that stop in one batch, oldest first."""

    alone = "each in one"
    deletions_alone = "those that keep their logs in the first, even if there are none; each of the others in one"
    behind_empty = "each in one, behind an empty one"
    together = "all in one; until 2.5 those to be deleted in another, which goes first"

    def __str__(self) -> str:
        return self.name


CHANGE_TOGETHER: Final = since(
    "1.1.0",
    "The states of partitions and replicas change together, by batches of requests to ZooKeeper; before, one by one, "
    "and a state that cannot be set is read again whatever the reason",
    "KAFKA-5642",
    provenance=Provenance((*STATE_MACHINES, *SETTLED)),
)
READ_BACK_STATE: Final = until(
    "1.1.0",
    "A controller that finds another version of a state than it had read reads it back: it may be its own, whose "
    "reply was lost",
    "KAFKA-5642",
    provenance=Provenance(STATE_MACHINES),
)
READ_STATE_FOR_NEW: Final = until(
    "1.1.0",
    "A new replica is told who leads as ZooKeeper has it; later as the controller knows it",
    "KAFKA-5642",
    provenance=Provenance(STATE_MACHINES),
)
SEND_UNWRITTEN_ISR: Final = until(
    "1.1.0",
    "An ISR that could not be set counts, and is told, if the state is gone when it is read again",
    "KAFKA-5642",
    provenance=Provenance(STATE_MACHINES),
)
LOG_LEADERLESS: Final = until(
    "1.1.0",
    "That a replica does not go offline since its partition never had a leader is an error in the state-change log",
    "KAFKA-5642",
    provenance=Provenance(STATE_MACHINES),
)
SKIP_LEADING_PREFERRED: Final = until(
    "1.1.0",
    "The state machine does not elect a preferred replica that leads already",
    "KAFKA-5642",
    provenance=Provenance(STATE_MACHINES),
)

KEEP_LAST_ISR: Final = since(
    "1.1.0",
    "The last member of an ISR stays in it, also where an unclean election is permitted",
    "KAFKA-5642",
    provenance=Provenance(
        compared=BOTH,
        by_source=(
            Line("1.0.2", "KafkaController.scala", "removeReplicaFromIsr", 1082),
            Line("1.1.0", "ReplicaStateMachine.scala", "doRemoveReplicasFromIsr", 290),
        ),
    ),
)
OFFLINE_ON_FAILOVER: Final = since(
    "2.3.0",
    "A controller that takes over takes dead replicas out of the ISR",
    "KAFKA-3143",
    provenance=Provenance(BOTH),
)
LEADER_RECOVERY: Final = since(
    "3.2.0",
    "Who is elected uncleanly is told that it has to recover",
    "KAFKA-13587",
    provenance=Provenance(CONTROLLER),
)
METADATA_FIRST: Final = since(
    "0.10.2.0",
    "A controller that takes over tells brokers of each other before it tells them of leaders",
    "KAFKA-4443",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("0.10.1.1", "KafkaController.scala", "onControllerFailover", 343),
            Line("0.10.2.0", "KafkaController.scala", "onControllerFailover", 339),
        ),
    ),
)
HANDLE_METADATA_ERRORS: Final = since(
    "2.5.0",
    "Answers to UpdateMetadata are events of the controller",
    provenance=Provenance(
        by_source=(
            Line("2.4.1", "ControllerChannelManager.scala", "sendUpdateMetadataRequests", 525),
            Line("2.5.0", "ControllerChannelManager.scala", "sendUpdateMetadataRequests", 521),
        ),
    ),
)
CHECK_ALTER_EPOCHS: Final = since(
    "3.3.0",
    "An AlterPartition ahead of the controller is for another one, and one behind it is refused",
    "KAFKA-14154",
    "KAFKA-14144",
    provenance=Provenance(CONTROLLER),
)
BROKERS_ONLY_METADATA: Final = since(
    "2.2.0",
    "UpdateMetadata without partitions is of none; before, of all of them",
    "KAFKA-7537",
    provenance=Provenance(CONTROLLER),
)
METADATA_WITHOUT_ELECTION: Final = since(
    "3.1.0",
    "Brokers are told of one that is gone also where a leader was lost and no other found",
    "KAFKA-13225",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("3.0.2", "KafkaController.scala", "onReplicasBecomeOffline", 633),
            Line("3.1.0", "KafkaController.scala", "onReplicasBecomeOffline", 638),
        ),
    ),
)
RESTORE_ASSIGNMENT: Final = since(
    "2.0.0",
    "Partitions that are added to a topic that is to be deleted are taken away again",
    "KAFKA-6612",
    provenance=Provenance(CONTROLLER),
)
RETRY_CONFLICTS_ONLY: Final = since(
    "2.4.0",
    "A conflict repeats the election of that partition; before, of all that are elected for together with it",
    provenance=Provenance(STATE_MACHINES),
)
READ_CONFIG_ONCE: Final = since(
    "2.4.0",
    "What is configured for a topic is read once for all its partitions that need it; before, for each of them",
    provenance=Provenance(BOTH),
)
METADATA_OF_LEADERLESS: Final = since(
    "2.3.0",
    "Brokers are told of a replica that goes offline also where there never was a leader",
    provenance=Provenance(BOTH),
)
STOP_REPLICA_GROUPING: Final = KafkaChange(
    sentence="Replicas of one broker that stop together are in one StopReplica (2.3); before, each in one, behind an "
    "empty one (1.1), or each that is deleted, behind one of all others (0.10.2), or each in one",
    before=Stops.alone,
    since={"0.10.2.0": Stops.deletions_alone, "1.1.0": Stops.behind_empty, "2.3.0": Stops.together},
    tickets=("KAFKA-5642",),
    provenance=Provenance(
        compared=BOTH,
        by_source=(
            Line("0.10.1.1", "ControllerChannelManager.scala", "sendRequestsToBrokers", 415),
            Line("0.10.2.0", "ControllerChannelManager.scala", "sendRequestsToBrokers", 425),
            Line("1.0.2", "ControllerChannelManager.scala", "sendRequestsToBrokers", 472),
            Line("1.1.0", "ReplicaStateMachine.scala", "doHandleStateChanges", 202),
            Line("2.2.2", "ControllerChannelManager.scala", "sendRequestsToBrokers", 482),
            Line("2.3.0", "ControllerChannelManager.scala", "sendStopReplicaRequests", 513),
        ),
    ),
)
TRIGGER_ASSIGNED: Final = since(
    "2.3.0",
    "A topic's partitions that are to be online are those that it has; before, all that have a state, also "
    "those of an earlier topic of its name, which was removed",
    provenance=Provenance(
        compared=STATE_MACHINES,
        by_source=(
            Line("2.2.2", "PartitionStateMachine.scala", "triggerOnlinePartitionStateChange", 113),
            Line("2.3.0", "PartitionStateMachine.scala", "triggerOnlinePartitionStateChange", 62),
        ),
    ),
)
KEEP_CHANNELS: Final = since(
    "2.3.0",
    "There is always a manager of channels; before, each failover made one and each resignation took it away, "
    "and without one every event failed that is about brokers",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("2.2.2", "ControllerContext.scala", "controllerChannelManager", 28),
            Line("2.3.0", "KafkaController.scala", "controllerChannelManager", 74),
        ),
    ),
)
RESET_CONTEXT: Final = since(
    "0.11.0.0",
    "A controller that resigns forgets what was being reassigned",
    "KAFKA-5310",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("0.10.2.2", "KafkaController.scala", "onControllerResignation", 394),
            Line("0.11.0.0", "KafkaController.scala", "resetControllerContext", 701),
        ),
    ),
)
DELETE_LEFTOVER: Final = since(
    "1.1.0",
    "The deletion of a topic ends where only the request for it is left; before, each failover fails there, so that "
    "there is no controller, or, until 0.10.2, the thread that deletes topics ends, and none is deleted",
    provenance=Provenance(
        compared=SETTLED,
        by_source=(
            Line("0.10.2.2", "TopicDeletionManager.scala", "completeDeleteTopic", 294),
            Line("0.11.0.0", "TopicDeletionManager.scala", "completeDeleteTopic", 238),
            Line("1.0.2", "KafkaController.scala", "deregisterPartitionModificationsListener", 919),
            Line("1.1.0", "KafkaController.scala", "unregisterPartitionModificationsHandlers", 836),
        ),
    ),
)
LEADERLESS_LOSE_LEADER: Final = since(
    "1.0.0",
    "Partitions without leader are among those that lose it when a broker goes, so that brokers are not told of it; "
    "before, only those that it led",
    "KAFKA-4763",
    provenance=Provenance(
        compared=SETTLED,
        by_source=(
            Line("0.11.0.3", "KafkaController.scala", "onBrokerFailure", 396),
            Line("1.0.0", "KafkaController.scala", "onReplicasBecomeOffline", 448),
        ),
    ),
)
READ_ELECTIONS_FIRST: Final = until(
    "0.11.0.0",
    "A controller that takes over reads which preferred elections are asked for before it elects other leaders: it "
    "cannot where one of the partitions has never led, and elects for what is to be deleted, too",
    provenance=Provenance(
        compared=SETTLED,
        by_source=(
            Line("0.10.2.2", "KafkaController.scala", "initializePreferredReplicaElection", 757),
            Line("0.11.0.0", "KafkaController.scala", "onControllerFailover", 278),
        ),
    ),
)
DROP_FINISHED_REASSIGNMENTS: Final = until(
    "1.1.0",
    "A controller that takes over takes out of /admin/reassign_partitions what is assigned as it is asked, before it "
    "looks which deletions have to wait for a move",
    provenance=Provenance(
        compared=SETTLED,
        by_source=(
            Line("1.0.2", "KafkaController.scala", "initializePartitionReassignment", 766),
            Line("1.1.0", "KafkaController.scala", "initializePartitionReassignment", 701),
        ),
    ),
)
RESUME_MOVES_OF_DELETED: Final = until(
    "1.1.0",
    "A controller that takes over goes on with the move of a partition whose topic is to be deleted; later it gives "
    "the move up",
    provenance=Provenance(
        compared=SETTLED,
        by_source=(
            Line("1.0.2", "KafkaController.scala", "maybeTriggerPartitionReassignment", 789),
            Line("1.1.0", "KafkaController.scala", "maybeTriggerPartitionReassignment", 562),
        ),
    ),
)
REREAD_REASSIGNMENT: Final = until(
    "1.1.0",
    "What is added to /admin/reassign_partitions while partitions move begins, too: the node is read whenever it "
    "changes, and before it is written; until 2.3 it is lost as the node is written from memory, and since 2.4 it "
    "stays and waits for another controller",
    "KAFKA-6193",
    "KAFKA-9478",
    provenance=Provenance(
        compared=SETTLED,
        by_source=(
            Line("1.0.2", "KafkaController.scala", "removePartitionFromReassignedPartitions", 992),
            Line("1.1.0", "KafkaController.scala", "removePartitionFromReassignedPartitions", 867),
        ),
    ),
)
KIP_455: Final = since(
    "2.4.0",
    "The topic's node says where a partition moves from and to, so that a move can be changed and cancelled",
    "KAFKA-8345",
    provenance=Provenance(CONTROLLER),
)
REMEMBER_EPOCH: Final = since(
    "2.4.0",
    "A leader epoch that a reassignment has incremented is what brokers are told of next",
    "KAFKA-9212",
    provenance=Provenance(CONTROLLER),
)
LEADERLESS_OFFLINE: Final = since(
    "2.0.0",
    "A replica whose partition never had a leader becomes OfflineReplica as others do",
    "KAFKA-6650",
    provenance=Provenance(BOTH),
)
METADATA_OF_DELETED: Final = until(
    "2.0.0", "Every UpdateMetadata is of all partitions that are to be deleted, too", provenance=Provenance(BOTH)
)
NOTIFY_SHUTTING_DOWN: Final = KafkaChange(
    sentence="Who shuts down is told who leads in its place, as the other replicas are",
    before=True,
    since={"1.1.0": False, "2.1.0": True},
    provenance=Provenance(BOTH),
)
FORGET_FAILED_DIRS: Final = since(
    "2.0.0",
    "A controller that resigns forgets which log directories have failed",
    "KAFKA-6630",
    provenance=Provenance(CONTROLLER),
)
CACHE_ASSIGNMENT_FIRST: Final = since(
    "2.0.0",
    "Where a partition moves is known before the topic's node is written; before, when it was",
    "KAFKA-6630",
    provenance=Provenance(CONTROLLER),
    note="until 2.3",
)
REASSIGN_UNASSIGNED: Final = since(
    "2.0.0",
    "A partition is moved on that is assigned to no broker, since its topic was deleted; before, that failed",
    "KAFKA-6630",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("1.1.1", "KafkaController.scala", "onPartitionReassignment", 516),
            Line("2.0.0", "ControllerContext.scala", "partitionReplicaAssignment", 42),
        ),
    ),
    note="until 2.3",
)
REMOVE_REASSIGNMENTS_TOGETHER: Final = since(
    "2.0.0",
    "Reassignments for which there is nothing to do leave the node together; before, one by one",
    "KAFKA-6617",
    provenance=Provenance(CONTROLLER),
    note="until 2.3",
)
LIST_REASSIGNMENT_CHILDREN: Final = since(
    "2.2.0",
    "/admin/reassign_partitions is deleted when it has been read what is below it, which is nothing; before, at once",
    provenance=Provenance(CONTROLLER),
)
DELETE_PARTITIONS_FIRST: Final = since(
    "2.1.0",
    "Partitions become NonExistentPartition as the deletion of their topic begins; before, as it ends",
    "KAFKA-6753",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("2.0.1", "TopicDeletionManager.scala", "completeDeleteTopic", 237),
            Line("2.1.0", "TopicDeletionManager.scala", "onTopicDeletion", 275),
        ),
    ),
)
SHUTDOWN_SKIPS_DELETED: Final = since(
    "2.1.0", "Controlled shutdown passes over what is deleted", "KAFKA-6753", provenance=Provenance(CONTROLLER)
)
REBALANCE_TOGETHER: Final = since(
    "2.0.1",
    "Leaders are rebalanced broker by broker; before, partition by partition",
    "KAFKA-7299",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("2.0.0", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 1000),
            Line("2.0.1", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 999),
        ),
    ),
)
ELECT_WHERE_NEEDED: Final = since(
    "2.2.0",
    "The controller asks for no election where the preferred replica leads already; from 1.1 to 2.1 it was elected "
    "again, in a new leader epoch",
    "KAFKA-5692",
    provenance=Provenance(CONTROLLER),
)
REPORT_ELECTION_NOT_NEEDED: Final = since(
    "2.4.0",
    "An administrator is told where no election was needed; before, as where one was held, by no error",
    "KIP-460",
    provenance=Provenance(CONTROLLER),
)
ANSWER_DROPPED_EVENTS: Final = since(
    "2.2.0",
    "Who asked for an election, or to be shut down, is answered if that is dropped from the queue; before, never",
    provenance=Provenance(CONTROLLER),
)
ANSWER_DROPPED_REASSIGNMENTS: Final = since(
    "2.7.0",
    "So is whoever asked for a reassignment; not so a leader that asked for an ISR",
    provenance=Provenance(CONTROLLER),
)
TRIM_ADDING_REMOVING: Final = since(
    "2.5.0",
    "A replica that is gone is not among those that are added or removed any more, either",
    provenance=Provenance(CONTROLLER),
)
REBALANCE_WHILE_REASSIGNING: Final = since(
    "3.4.0",
    "Leaders are rebalanced while partitions are being reassigned, too",
    "KAFKA-10149",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("3.3.2", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 1266),
            Line("3.4.0", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 1271),
        ),
    ),
)
DELETE_TOGETHER: Final = since(
    "2.5.0",
    "Deletions of topics begin, and begin again, together; before, topic by topic",
    "KAFKA-9499",
    provenance=Provenance(CONTROLLER),
)
REBALANCE_ELECTABLE: Final = since(
    "2.6.0",
    "Leaders are rebalanced where that can be; before, also where the preferred replica was not in sync, which "
    "failed",
    "KAFKA-9866",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("2.5.1", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 1067),
            Line("2.6.0", "KafkaController.scala", "checkAndTriggerAutoLeaderRebalance", 1071),
        ),
    ),
)
QUEUED_UNTIL_DELETED: Final = since(
    "2.7.0",
    "A topic is queued for deletion until its nodes are gone, and new brokers are not told of its partitions; "
    "before, until they were about to go",
    "KAFKA-10040",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("2.6.3", "TopicDeletionManager.scala", "completeDeleteTopic", 246),
            Line("2.7.0", "ControllerContext.scala", "removeTopic", 295),
        ),
    ),
)
SEND_ADDED_AS_NEW: Final = since(
    "2.7.0",
    "Replicas that a reassignment adds are told at once that they are new, not only when they become NewReplica",
    "KAFKA-10314",
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("2.6.3", "KafkaController.scala", "updateLeaderEpochAndSendRequest", 881),
            Line("2.7.0", "KafkaController.scala", "updateLeaderEpochAndSendRequest", 1064),
        ),
    ),
)
ALLOW_REQUEUED_DELETION: Final = KafkaChange(
    sentence="A topic may be queued for deletion again when its replicas are gone; otherwise a metric looks for the "
    "first of them, and the event fails",
    before=True,
    since={"2.7.0": False, "3.2.1": True},
    tickets=("KAFKA-13572",),
    provenance=Provenance(
        compared=CONTROLLER,
        by_source=(
            Line("2.6.3", "ControllerContext.scala", "queueTopicDeletion", 293),
            Line("2.7.0", "ControllerContext.scala", "queueTopicDeletion", 307),
            Line("3.2.0", "ControllerContext.scala", "queueTopicDeletion", 331),
            Line("3.2.1", "ControllerContext.scala", "queueTopicDeletion", 337),
        ),
    ),
)
ELECT_IF_CREATED: Final = proposed(
    "A partition whose first state is there already, as the answer to its creation was lost, is elected for; "
    "otherwise it stays new"
)
READ_BACK_ALTERATION: Final = proposed(
    "An ISR that ZooKeeper refuses to write for a leader is read back: it may have been written, and the answer lost",
    note="leaders did so until 2.6, KAFKA-1382",
)
CLEAR_BATCH: Final = proposed("A controller that resigns forgets the requests that it has not sent", by="KAFKA-12315")
FORGET_INELIGIBLE: Final = proposed(
    "A topic that has been deleted does not have to wait any more, so that one of the same name can be deleted"
)
KEEP_IN_SYNC: Final = proposed(
    "A reassignment, or its cancellation, that would leave no member of the ISR assigned is refused",
    by="KRaft, which has it",
)
KEEP_LEADER: Final = proposed(
    "A reassignment that would take the leader away before it elects another is refused", by="KAFKA-14808"
)
