"""How followers truncate, and how their fetches are fenced: changes of the system `replication`.

The fixes of 2.0.1 belong to the line of KIP-279, which this system explores as of 2.0.0.
"""

from typing import Final

from statemachines.changes.change import DATA_PLANE, LEADER, KafkaChange, Line, always, since

TRUNCATION: Final = KafkaChange(
    sentence="What a follower truncates, and how it is fenced: as in 0.10 (to its high watermark), 0.11 (KIP-101), "
    "2.0 (KIP-279), 2.1 (KIP-320), 2.8 (a fetch detects that logs diverge), or in the first design of KIP-320",
    before="truncate-to-high-watermark",
    since={"0.11.0.0": "kip-101", "2.0.0": "kip-279", "2.1.0": "kip-320", "2.8.0": "truncate-on-fetch"},
    tickets=("KIP-101", "KIP-279", "KIP-320", "KAFKA-10554"),
    compared=DATA_PLANE,
    by_source=(
        Line("0.10.2.0", "ReplicaManager.scala", "makeFollowers", 856),
        Line("0.11.0.0", "ReplicaFetcherThread.scala", "maybeTruncate", 257),
        Line("2.0.0", "AbstractFetcherThread.scala", "getOffsetTruncationState", 321),
        Line("2.1.0", "Partition.scala", "checkCurrentLeaderEpoch", 212),
        Line("2.7.2", "AbstractFetcherThread.scala", "addPartitions", 442),
        Line("2.8.0", "AbstractFetcherThread.scala", "partitionFetchState", 468),
    ),
)
FENCE_TRUNCATION: Final = since(
    "2.1.0", "The question where an epoch ends carries the follower's leader epoch", "KIP-320"
)
FENCE_FETCH: Final = since("2.1.0", "A fetch carries the follower's leader epoch", "KIP-320", compared=DATA_PLANE)
FENCE_HIGH_WATERMARK: Final = since(
    "2.1.0", "Only a fetch in the leader's own epoch moves the high watermark", "KAFKA-7395"
)
FENCE_JOIN: Final = since("2.1.0", "Only a fetch in the leader's own epoch lets a replica join the ISR", "KIP-320")
JOIN_AT_EPOCH_START: Final = since(
    "2.0.1",
    "No follower joins the ISR before the leader's high watermark reaches its epoch",
    "KAFKA-7128",
    compared=DATA_PLANE,
    by_source=(
        Line("2.0.0", "Partition.scala", "maybeExpandIsr", 396),
        Line("2.0.1", "Partition.scala", "maybeExpandIsr", 431),
    ),
)
PERSIST_EPOCH_ON_LEAD: Final = since(
    "2.0.1",
    "A leader can answer for its epoch before it has a record in it; with Kafka's answers",
    "KAFKA-7415",
    compared=DATA_PLANE,
    by_source=(
        Line("2.0.0", "Partition.scala", "makeLeader", 279),
        Line("2.0.1", "Partition.scala", "makeLeader", 312),
    ),
)
REFUSE_SAME_EPOCH: Final = always("A broker accepts only requests of a later leader epoch than its own")
SKIP_DIVERGING_FETCH: Final = since(
    "2.8.1",
    "A leader learns nothing about a follower from a fetch that it answers with a diverging epoch",
    "KAFKA-13141",
    compared=(*LEADER, *DATA_PLANE),
    by_source=(
        Line("2.8.0", "ReplicaManager.scala", "updateFollowerFetchState", 1758),
        Line("2.8.1", "ReplicaManager.scala", "updateFollowerFetchState", 1766),
    ),
    note="2.7.2 has it too, but no follower of 2.7 sends the epoch of its last record",
)
LOG_START_FIRST: Final = since(
    "2.8.1",
    "A fetch below the leader's log start is out of range even where the logs diverge; before, the follower fails",
    "KAFKA-12996",
    compared=LEADER,
    by_source=(
        Line("2.8.0", "Partition.scala", "readRecords", 1112),
        Line("2.8.1", "Partition.scala", "readRecords", 1112),
    ),
    note="2.7.2 has it too, but no follower of 2.7 sends the epoch of its last record",
)
MATCH_FETCH_EPOCH: Final = since(
    "3.9.1",
    "A follower obeys the response to a fetch only in the leader epoch of the fetch",
    "KAFKA-18991",
    compared=DATA_PLANE,
    by_source=(
        Line("3.9.0", "AbstractFetcherThread.scala", "processFetchRequest", 338),
        Line("3.9.1", "AbstractFetcherThread.scala", "processFetchRequest", 346),
    ),
)
