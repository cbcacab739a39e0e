"""How brokers replicate logs: appends, fetches, high watermarks and truncation, as changes of a record."""

from statemachines.changes import truncating
from statemachines.changes.change import DATA_PLANE, KafkaChange, Line, Releases, proposed, since, until


class ReplicationDesign(Releases):
    """The rules of a release, of leaders and followers.

    >>> ReplicationDesign("0.10.2").replica_lag_time_max_ms, ReplicationDesign().replica_lag_time_max_ms
    (10000, 30000)
    """

    # Of leaders.

    wait_for_caught_up = since(
        "0.10.2.0",
        "The high watermark waits for replicas outside the ISR that are caught up",
        "KAFKA-4485",
        compared=DATA_PLANE,
        by_source=(
            Line("0.10.1.1", "Partition.scala", "maybeIncrementLeaderHW", 353),
            Line("0.10.2.0", "Partition.scala", "maybeIncrementLeaderHW", 363),
        ),
    )
    wait_for_eligible_only = since(
        "3.6.0",
        "Of the replicas outside the ISR, it waits only for those that could join",
        compared=DATA_PLANE,
        by_source=(
            Line("3.5.2", "Partition.scala", "maybeIncrementLeaderHW", 1081),
            Line("3.6.0", "Partition.scala", "maybeIncrementLeaderHW", 1103),
        ),
    )
    wait_for_min_isr = since(
        "3.7.0",
        "The high watermark does not advance while the ISR is smaller than min.insync.replicas",
        "KAFKA-15583",
        compared=DATA_PLANE,
        by_source=(
            Line("3.6.2", "Partition.scala", "maybeIncrementLeaderHW", 1103),
            Line("3.7.0", "Partition.scala", "maybeIncrementLeaderHW", 1151),
        ),
    )
    cap_min_isr = since(
        "3.7.0",
        "min.insync.replicas counts as the number of replicas, if there are fewer",
        "KAFKA-15583",
        compared=DATA_PLANE,
        by_source=(
            Line("3.6.2", "Partition.scala", "appendRecordsToLeader", 1303),
            Line("3.7.0", "Partition.scala", "effectiveMinIsr", 369),
        ),
    )
    join_at_epoch_start = truncating.JOIN_AT_EPOCH_START
    note_epoch_on_lead = truncating.PERSIST_EPOCH_ON_LEAD
    fetch_time_in_sync_only = since(
        "3.3.0",
        "A leader that leads on in another epoch takes only members of the ISR for having fetched just now",
        compared=DATA_PLANE,
        by_source=(
            Line("0.10.2.0", "Partition.scala", "makeLeader", 159),
            Line("3.3.0", "Replica.scala", "resetReplicaState", 127),
        ),
    )
    forget_after_missed_epoch = proposed(
        "A leader that has missed a leader epoch forgets the followers' log ends, as a new leader does"
    )
    members_may_idle = since(
        "2.1.0",
        "A member of the ISR at the leader's log end stays, even if it has not fetched for long",
        "KAFKA-7152",
        compared=DATA_PLANE,
        by_source=(
            Line("2.0.1", "Partition.scala", "getOutOfSyncReplicas", 594),
            Line("2.1.0", "Partition.scala", "getOutOfSyncReplicas", 676),
        ),
    )
    drop_unassigned = since(
        "2.4.0",
        "A member of the ISR that is none of the replicas leaves at once; before, once it has lagged for too long",
        "KAFKA-9672",
        compared=DATA_PLANE,
        by_source=(
            Line("2.3.1", "Partition.scala", "getOutOfSyncReplicas", 690),
            Line("2.4.0", "Partition.scala", "isFollowerOutOfSync", 875),
            Line("3.0.0", "Partition.scala", "isFollowerOutOfSync", 952),
        ),
    )
    replica_lag_time_max_ms = KafkaChange(
        sentence="How long a member of the ISR may lag behind, by default, in milliseconds",
        before=10_000,
        since={"2.5.0": 30_000},
        tickets=("KIP-537",),
        by_source=(
            Line("2.4.1", "KafkaConfig.scala", "Defaults", 131),
            Line("2.5.0", "KafkaConfig.scala", "Defaults", 138),
        ),
    )
    expire_twice = since(
        "0.10.2.0",
        "Leaders look for members of the ISR that lag behind twice in that time, not once",
        "KAFKA-4485",
        by_source=(
            Line("0.10.1.1", "ReplicaManager.scala", "startup", 217),
            Line("0.10.2.0", "ReplicaManager.scala", "startup", 218),
        ),
    )
    advance_on_commit = KafkaChange(
        sentence="The high watermark may advance when a change of the ISR is confirmed",
        before=True,
        since={"2.7.0": False, "3.1.0": True},
        tickets=("KAFKA-13091",),
        compared=DATA_PLANE,
        by_source=(
            Line("2.6.3", "Partition.scala", "maybeShrinkIsr", 849),
            Line("2.7.0", "Partition.scala", "handleAlterIsrResponse", 1416),
            Line("3.1.0", "Partition.scala", "handleAlterIsrUpdate", 1428),
        ),
    )
    clear_pending = KafkaChange(
        sentence="LeaderAndIsr makes the leader forget the change of the ISR that it has proposed",
        before=False,
        since={"2.7.0": True, "3.0.0": False},
        tickets=("KAFKA-12686",),
        compared=DATA_PLANE,
        by_source=(
            Line("2.6.3", "Partition.scala", "makeLeader", 483),
            Line("2.7.0", "Partition.scala", "makeLeader", 598),
            Line("3.0.0", "Partition.scala", "makeLeader", 517),
        ),
    )
    answer_on_stop = since(
        "2.4.0",
        "A broker that deletes a replica answers the producers that wait there; before, they wait on",
        by_source=(
            Line("2.3.1", "ReplicaManager.scala", "stopReplica", 353),
            Line("2.4.0", "ReplicaManager.scala", "stopReplica", 378),
        ),
    )
    forget_on_error = until(
        "2.4.0",
        "A leader that answers a fetch with an error forgets the follower's log end",
        compared=DATA_PLANE,
        by_source=(
            Line("2.3.0", "ReplicaManager.scala", "updateFollowerLogReadResults", 1397),
            Line("2.4.0", "ReplicaManager.scala", "updateFollowerFetchState", 1559),
        ),
    )
    advance_at_each_fetch = until(
        "2.4.0",
        "Each fetch of a follower may raise the high watermark; since then, one that changes the known log end",
        compared=DATA_PLANE,
        by_source=(
            Line("2.3.0", "Partition.scala", "maybeExpandIsr", 521),
            Line("2.4.0", "Partition.scala", "updateFollowerFetchState", 597),
        ),
    )
    answer_after_advance = KafkaChange(
        sentence="A response has the high watermark that its fetch has raised; otherwise the one before",
        before=False,
        since={"1.0.0": True, "1.0.2": False, "1.1.0": True, "1.1.1": False},
        compared=DATA_PLANE,
        by_source=(
            Line("0.11.0.3", "ReplicaManager.scala", "readFromLocalLog", 774),
            Line("1.0.0", "ReplicaManager.scala", "updateFollowerLogReadResults", 1305),
            Line("1.0.2", "ReplicaManager.scala", "updateFollowerLogReadResults", 1305),
            Line("1.1.0", "ReplicaManager.scala", "updateFollowerLogReadResults", 1342),
            Line("1.1.1", "ReplicaManager.scala", "updateFollowerLogReadResults", 1342),
        ),
    )
    stranger = KafkaChange(
        sentence="A fetch by a broker that is none of the replicas: it fails, is empty, or is refused",
        before="fails",
        since={"1.0.0": "empty", "3.3.0": "refused"},
        tickets=("KAFKA-5758", "KAFKA-13837"),
        compared=DATA_PLANE,
        by_source=(
            Line("0.10.1.0", "Partition.scala", "updateReplicaLogReadResult", 236),
            Line("1.0.0", "ReplicaManager.scala", "updateFollowerLogReadResults", 1305),
            Line("3.3.0", "Partition.scala", "fetchRecords", 1205),
        ),
    )
    skip_diverging_fetch = truncating.SKIP_DIVERGING_FETCH
    look_up_partition = since(
        "2.0.0",
        "A broker looks up whether UpdateMetadata has named a partition, not only its topic: if so, and it has no "
        "replica, it answers that it is not the leader; before, that there is no such partition",
        "KAFKA-6796",
        by_source=(
            Line("1.1.1", "ReplicaManager.scala", "getPartitionAndLeaderReplicaIfLocal", 421),
            Line("2.0.0", "ReplicaManager.scala", "getPartitionAndLeaderReplicaIfLocal", 420),
        ),
    )

    # Of followers.

    truncation = truncating.TRUNCATION
    fence_fetch = truncating.FENCE_FETCH
    match_fetch_epoch = truncating.MATCH_FETCH_EPOCH
    fetch_from_high_watermark = since(
        "1.1.0",
        "Until it has truncated, a follower would fetch from its high watermark; before, from its log end",
        compared=DATA_PLANE,
        by_source=(
            Line("1.0.2", "ReplicaManager.scala", "makeFollowers", 1266),
            Line("1.1.0", "ReplicaManager.scala", "makeFollowers", 1308),
        ),
    )
    drop_fetch_while_truncating = since(
        "1.1.0",
        "A follower that has to truncate ignores the response to a fetch; before, if the offset is its own, it obeys",
        compared=DATA_PLANE,
        by_source=(
            Line("1.0.2", "AbstractFetcherThread.scala", "processFetchRequest", 174),
            Line("1.1.0", "AbstractFetcherThread.scala", "processFetchRequest", 172),
        ),
    )
    ask_without_epoch = until(
        "2.1.0",
        "A follower whose log has no epoch asks for the end of epoch -1; since then it truncates without asking",
        "KIP-320",
        compared=DATA_PLANE,
        by_source=(
            Line("2.0.0", "ReplicaFetcherThread.scala", "buildLeaderEpochRequest", 345),
            Line("2.1.0", "AbstractFetcherThread.scala", "fetchTruncatingPartitions", 156),
        ),
    )
    halt_out_of_range = until(
        "2.0.1",
        "A broker halts if its log ends after its leader's, unless unclean elections are permitted",
        "KAFKA-7414",
        compared=DATA_PLANE,
        by_source=(
            Line("2.0.0", "ReplicaFetcherThread.scala", "handleOffsetOutOfRange", 185),
            Line("2.0.1", "ReplicaFetcherThread.scala", "handleOffsetOutOfRange", 172),
        ),
    )
    match_question_epoch = since(
        "2.1.1",
        "A follower obeys the answer where an epoch ends only in the leader epoch of its question",
        compared=DATA_PLANE,
        by_source=(
            Line("2.1.0", "AbstractFetcherThread.scala", "maybeTruncate", 174),
            Line("2.1.1", "AbstractFetcherThread.scala", "truncateToEpochEndOffsets", 184),
        ),
    )
    match_fenced_epoch = since(
        "2.5.0",
        "A follower is fenced only if the request was sent in its present leader epoch; before, always",
        compared=DATA_PLANE,
        by_source=(
            Line("2.4.1", "AbstractFetcherThread.scala", "onPartitionFenced", 270),
            Line("2.5.0", "AbstractFetcherThread.scala", "onPartitionFenced", 278),
        ),
    )
    truncate_before_high_watermark = since(
        "3.4.1",
        "A response that says where logs diverge moves no high watermark",
        compared=DATA_PLANE,
        by_source=(
            Line("3.4.0", "AbstractFetcherThread.scala", "processFetchRequest", 355),
            Line("3.4.1", "AbstractFetcherThread.scala", "processFetchRequest", 334),
        ),
    )
    truncate_removed = KafkaChange(
        sentence="A thread also truncates a log that it no longer fetches, if the response said where logs diverge",
        before=False,
        since={"2.8.0": True, "2.8.1": False},
        tickets=("KAFKA-13207",),
        by_source=(
            Line("2.7.2", "AbstractFetcherThread.scala", "truncateToEpochEndOffsets", 207),
            Line("2.8.0", "AbstractFetcherThread.scala", "truncateOnFetchResponse", 236),
            Line("2.8.1", "AbstractFetcherThread.scala", "maybeTruncateToEpochEndOffsets", 264),
        ),
    )
    skip_later_epochs = since(
        "3.9.1",
        "A follower appends no records of a later leader epoch than its own",
        "KAFKA-18723",
        compared=DATA_PLANE,
        by_source=(
            Line("3.9.0", "UnifiedLog.scala", "analyzeAndValidateRecords", 1113),
            Line("3.9.1", "UnifiedLog.scala", "analyzeAndValidateRecords", 1149),
        ),
    )
    forget_last_fetched_epoch = KafkaChange(
        sentence="After an empty first response, fetches do not say in which epoch the follower's log ends",
        before=False,
        since={"3.5.1": True, "3.7.0": False},
        compared=DATA_PLANE,
        by_source=(
            Line("3.5.0", "AbstractFetcherThread.scala", "processFetchRequest", 366),
            Line("3.5.1", "AbstractFetcherThread.scala", "processFetchRequest", 366),
            Line("3.7.0", "AbstractFetcherThread.scala", "processFetchRequest", 369),
        ),
    )

    # Of logs.

    keep_overrides = since(
        "2.4.1",
        "A log keeps its topic's configuration whenever a default changes; before, the second such change drops it",
        "KAFKA-9254",
        by_source=(
            Line("2.4.0", "DynamicBrokerConfig.scala", "updateLogsConfig", 622),
            Line("2.4.1", "DynamicBrokerConfig.scala", "updateLogsConfig", 622),
        ),
    )
    truncate_high_watermark = since(
        "2.4.0",
        "Truncating a log lowers its high watermark to its end",
        compared=DATA_PLANE,
        by_source=(
            Line("2.3.1", "Log.scala", "truncateTo", 1837),
            Line("2.4.0", "Log.scala", "updateLogEndOffset", 744),
        ),
    )
    unknown_high_watermark = KafkaChange(
        sentence="The high watermark of a new leader whose own lies after its log's end",
        before=-1,
        since={"1.0.2": 0},
        compared=DATA_PLANE,
        by_source=(
            Line("1.0.1", "Replica.scala", "convertHWToLocalOffsetMetadata", 168),
            Line("1.0.2", "Replica.scala", "convertHWToLocalOffsetMetadata", 175),
        ),
    )
    end_of_no_epoch = KafkaChange(
        sentence="A leader whose log has no epoch answers with its log end, if a follower's log has none either",
        before=True,
        since={
            "0.11.0.3": False,
            "1.0.0": True,
            "1.0.2": False,
            "1.1.0": True,
            "1.1.1": False,
        },
        tickets=("KAFKA-6857",),
        compared=DATA_PLANE,
        by_source=(
            Line("0.11.0.2", "LeaderEpochFileCache.scala", "endOffsetFor", 92),
            Line("0.11.0.3", "LeaderEpochFileCache.scala", "endOffsetFor", 92),
            Line("1.0.0", "LeaderEpochFileCache.scala", "endOffsetFor", 96),
            Line("1.0.2", "LeaderEpochFileCache.scala", "endOffsetFor", 96),
            Line("1.1.0", "LeaderEpochFileCache.scala", "endOffsetFor", 96),
            Line("1.1.1", "LeaderEpochFileCache.scala", "endOffsetFor", 96),
        ),
    )

    epochs_in_records = since(
        "0.11.0.0",
        "Each record has the epoch of the leader that appended it, and a log knows where its epochs begin",
        "KIP-101",
        compared=DATA_PLANE,
        by_source=(
            Line("0.10.2.0", "Log.scala", "append", 352),
            Line("0.11.0.0", "Log.scala", "append", 632),
        ),
    )
    newest_epoch_wins = since(
        "2.0.1",
        "An epoch that contradicts noted ones replaces them; before, it is ignored",
        "KAFKA-7415",
        compared=DATA_PLANE,
        by_source=(
            Line("2.0.0", "LeaderEpochFileCache.scala", "assign", 59),
            Line("2.0.1", "LeaderEpochFileCache.scala", "assign", 51),
        ),
    )
    truncate_epochs_always = since(
        "2.6.1",
        "Truncating no record still drops an epoch that begins at the log's end",
        "KAFKA-10706",
        compared=DATA_PLANE,
        by_source=(
            Line("2.6.0", "Log.scala", "truncateTo", 2065),
            Line("2.6.1", "Log.scala", "truncateTo", 2077),
        ),
    )

    # Proposals. The system `fetching` has those of the controller; no controller here does.

    eligible_leader_replicas = proposed(
        "Members that leave the ISR while it is smaller than min.insync.replicas stay eligible as leaders, and a "
        "broker that has died is not, even as the last member of the ISR",
        by="KIP-966",
    )
    name_broker_epochs = proposed(
        "A leader that asks for an ISR names the lives of its members, and the controller refuses if one is over",
        by="KIP-903",
    )
    new_epoch_after_bounce = proposed(
        "A leader that has restarted leads on in another leader epoch only, even if the controller saw no restart"
    )
