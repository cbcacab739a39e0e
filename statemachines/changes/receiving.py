"""How brokers handle requests, ISRs and their own shutdown."""

from statemachines.changes.change import BOTH, CONTROLLER, LEADER, RECEIVER, KafkaChange, Line, Releases, since, until


class ReceivingChanges(Releases):
    """The rules of a release, of brokers; `ControlDesign` has them."""

    newer_broker_epoch = KafkaChange(
        sentence="A request for a registration that the broker has not heard of yet is handled; else it fails",
        before=True,
        since={"2.2.0": False, "2.5.1": True},
        tickets=("KAFKA-9839",),
        compared=RECEIVER,
        by_source=(
            Line("2.2.0", "KafkaApis.scala", "isBrokerEpochStale", 2414),
            Line("2.5.0", "KafkaApis.scala", "isBrokerEpochStale", 2967),
            Line("2.5.1", "KafkaApis.scala", "isBrokerEpochStale", 2966),
        ),
    )
    fence_stop = since(
        "2.6.0",
        "StopReplica has a leader epoch and a delete flag for each partition",
        "KAFKA-9539",
        compared=(*BOTH, *RECEIVER),
        by_source=(
            Line("2.5.1", "ReplicaManager.scala", "stopReplicas", 382),
            Line("2.6.0", "ReplicaManager.scala", "stopReplicas", 414),
        ),
    )
    log_dir_failure = since(
        "1.0.0",
        "A broker continues without a failed log directory, and notifies its controller",
        "KAFKA-4763",
        compared=BOTH,
        by_source=(
            Line("0.11.0.2", "ControllerChannelManager.scala", "sendRequestsToBrokers", 405),
            Line("1.0.0", "ControllerChannelManager.scala", "sendRequestsToBrokers", 419),
        ),
    )
    error_per_partition = since(
        "1.1.0",
        "The error of a LeaderAndIsr that is refused or fails as a whole is also that of each partition; before, a "
        "request of an older controller got only the first, one that failed only the second",
        "#4147",
        compared=RECEIVER,
        by_source=(
            Line("1.0.2", "ReplicaManager.scala", "becomeLeaderOrFollower", 1012),
            Line("1.0.2", "LeaderAndIsrRequest.java", "getErrorResponse", 248),
            Line("1.1.0", "ReplicaManager.scala", "becomeLeaderOrFollower", 1036),
            Line("1.1.0", "LeaderAndIsrRequest.java", "getErrorResponse", 250),
        ),
    )
    truncate_every_epoch = since(
        "2.1.0",
        "A follower truncates and fetches anew in each leader epoch, even under the same leader",
        "KAFKA-7395",
        compared=RECEIVER,
        by_source=(
            Line("2.0.0", "Partition.scala", "makeFollower", 346),
            Line("2.0.1", "Partition.scala", "makeFollower", 366),
            Line("2.1.0", "Partition.scala", "makeFollower", 447),
        ),
    )
    truncate_missed_epoch = since(
        "2.0.1",
        "A follower truncates and fetches anew if it has missed a leader epoch, even under the same leader",
        "KAFKA-7164",
        compared=RECEIVER,
        by_source=(
            Line("2.0.0", "Partition.scala", "makeFollower", 346),
            Line("2.0.1", "Partition.scala", "makeFollower", 366),
        ),
    )
    config_for_new_log = since(
        "2.6.0",
        "A topic's configuration is read to create a missing log; before, for each replica whose log was not open",
        "KAFKA-9932",
        compared=RECEIVER,
        by_source=(
            Line("2.5.1", "Partition.scala", "createLog", 308),
            Line("2.6.0", "LogManager.scala", "getOrCreateLog", 768),
        ),
    )
    delete_missing_log = until(
        "2.7.0",
        "After a failure of a log directory, StopReplica fails to delete a replica that has no log",
        "KAFKA-10002",
        compared=RECEIVER,
        by_source=(
            Line("2.6.3", "Partition.scala", "delete", 470),
            Line("2.7.0", "LogManager.scala", "asyncDelete", 1006),
        ),
    )
    delete_future_replica = KafkaChange(
        sentence="After a failure of a log directory, StopReplica deletes a replica, then fails to delete its copy "
        "that moves between directories; and it forgets an offline replica",
        before=False,
        since={"1.1.0": True, "2.1.0": False},
        tickets=("KAFKA-7313",),
        compared=RECEIVER,
        by_source=(
            Line("1.0.2", "Partition.scala", "delete", 183),
            Line("1.1.0", "Partition.scala", "delete", 241),
            Line("2.0.1", "ReplicaManager.scala", "stopReplica", 332),
            Line("2.1.0", "Partition.scala", "delete", 354),
            Line("2.1.0", "ReplicaManager.scala", "stopReplica", 341),
        ),
    )
    skip_unreadable_config = since(
        "2.7.0",
        "A replica without log whose topic's configuration cannot be read is skipped, and the request continues",
        "KAFKA-9769",
        compared=RECEIVER,
        by_source=(
            Line("2.6.3", "Partition.scala", "makeFollower", 570),
            Line("2.7.0", "Partition.scala", "makeFollower", 660),
        ),
    )
    alter_partition = since(
        "2.7.0",
        "A leader asks the controller to change its ISR instead of writing it",
        "KAFKA-8836",
        compared=CONTROLLER,
        by_source=(
            Line("2.6.3", "Partition.scala", "expandIsr", 1197),
            Line("2.7.0", "Partition.scala", "expandIsr", 1318),
        ),
    )
    read_back_isr = since(
        "0.8.2.0",
        "A leader that cannot write its ISR reads the state back: the write may be its own, with a lost reply",
        "KAFKA-1382",
        by_source=(
            Line("0.8.1.1", "Partition.scala", "updateIsr", 369),
            Line("0.8.2.0", "ZkUtils.scala", "conditionalUpdatePersistentPath", 365),
        ),
    )
    live_isr_check = since(
        "3.3.0",
        "Only a live broker may join an ISR, or be named as a member of it",
        "KAFKA-14140",
        compared=CONTROLLER,
        by_source=(
            Line("3.2.3", "Partition.scala", "canAddReplicaToIsr", 804),
            Line("3.3.0", "Partition.scala", "canAddReplicaToIsr", 871),
        ),
    )
    offline_without_log = KafkaChange(
        sentence="A partition that LeaderAndIsr leaves without log counts as one whose directory has failed",
        before=False,
        since={"1.0.0": True, "3.1.0": False},
        tickets=("#11225",),
        compared=RECEIVER,
        by_source=(
            Line("1.0.0", "ReplicaManager.scala", "becomeLeaderOrFollower", 1076),
            Line("3.0.2", "ReplicaManager.scala", "becomeLeaderOrFollower", 1427),
            Line("3.1.0", "ReplicaManager.scala", "makeLeaders", 1598),
        ),
    )
    check_partition_epoch = since(
        "3.3.0",
        "LeaderAndIsr with an older partition epoch than the replica's is skipped",
        "KAFKA-13790",
        compared=RECEIVER,
        by_source=(
            Line("3.2.3", "Partition.scala", "makeFollower", 629),
            Line("3.3.0", "Partition.scala", "makeFollower", 681),
        ),
    )
    stop_at_same_epoch = since(
        "3.4.1",
        "StopReplica in the replica's own leader epoch is obeyed",
        "KAFKA-13972",
        compared=RECEIVER,
        by_source=(
            Line("3.4.0", "ReplicaManager.scala", "stopReplicas", 390),
            Line("3.4.1", "ReplicaManager.scala", "stopReplicas", 390),
            Line("3.5.0", "ReplicaManager.scala", "stopReplicas", 410),
        ),
    )
    epoch_after_log = until(
        "3.6.0",
        "A follower adopts its leader epoch after its log is open, not before",
        "#14138",
        compared=RECEIVER,
        by_source=(
            Line("3.5.2", "Partition.scala", "makeFollower", 825),
            Line("3.6.0", "Partition.scala", "makeFollower", 810),
        ),
    )
    controller_from_cache = since(
        "3.0.0",
        "A broker that stops finds the controller in its metadata cache; before, in ZooKeeper, without which it "
        "did not stop",
        "KAFKA-9189",
        by_source=(
            Line("2.8.2", "KafkaServer.scala", "doControlledShutdown", 560),
            Line("3.0.0", "KafkaServer.scala", "doControlledShutdown", 554),
        ),
    )
    retry_without_controller = since(
        "1.1.0",
        "A broker that stops tries again if there is no controller; before, it stopped uncleanly at once",
        by_source=(
            Line("1.0.2", "KafkaServer.scala", "doControlledShutdown", 427),
            Line("1.1.0", "KafkaServer.scala", "doControlledShutdown", 458),
        ),
    )
    stop_after_last_retry = since(
        "3.1.0",
        "A broker stops after its last failed attempt at a controlled shutdown; before, it waited once more",
        "#11246",
        by_source=(
            Line("3.0.2", "KafkaServer.scala", "doControlledShutdown", 618),
            Line("3.1.0", "KafkaServer.scala", "doControlledShutdown", 660),
        ),
    )
    shrink_with_unassigned = KafkaChange(
        sentence="A leader whose ISR has a member that is none of its replicas can shrink its ISRs",
        before=True,
        since={"2.4.0": False, "3.0.0": True},
        tickets=("KAFKA-9672",),
        compared=LEADER,
        by_source=(
            Line("2.3.1", "Partition.scala", "getOutOfSyncReplicas", 705),
            Line("2.4.0", "Partition.scala", "isFollowerOutOfSync", 875),
            Line("2.8.2", "Partition.scala", "isFollowerOutOfSync", 980),
            Line("3.0.0", "Partition.scala", "isFollowerOutOfSync", 952),
        ),
    )
