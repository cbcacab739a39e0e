"""How followers truncate, and what is fenced when they fetch: changes that the system `replication` has.

The tickets of 2.0.1 were mended in the line of KIP-279, which this system explores as 2.0.0 had it.
"""

from typing import Final

from statemachines.changes.change import FOLLOWER, LEADER, KafkaChange, Line, Provenance, always, since

__all__ = [
    "FENCE_FETCH",
    "FENCE_HIGH_WATERMARK",
    "FENCE_JOIN",
    "FENCE_TRUNCATION",
    "JOIN_AT_EPOCH_START",
    "LOG_START_FIRST",
    "MATCH_FETCH_EPOCH",
    "PERSIST_EPOCH_ON_LEAD",
    "REFUSE_SAME_EPOCH",
    "SKIP_DIVERGING_FETCH",
    "TRUNCATION",
]

TRUNCATION: Final = KafkaChange(
    sentence="What a follower cuts off, and what is fenced: as 0.10 (to its high watermark), 0.11 (KIP-101), 2.0 "
    "(KIP-279), 2.1 (KIP-320) or 2.8 (where a fetch finds that logs part) had it, or as KIP-320 was designed first",
    before="truncate-to-high-watermark",
    since={"0.11.0.0": "kip-101", "2.0.0": "kip-279", "2.1.0": "kip-320", "2.8.0": "truncate-on-fetch"},
    tickets=("KIP-101", "KIP-279", "KIP-320", "KAFKA-10554"),
    provenance=Provenance(
        by_source=(
            Line("0.10.2.0", "ReplicaManager.scala", "makeFollowers", 856),
            Line("0.11.0.0", "ReplicaFetcherThread.scala", "maybeTruncate", 257),
            Line("2.0.0", "AbstractFetcherThread.scala", "getOffsetTruncationState", 321),
            Line("2.1.0", "Partition.scala", "checkCurrentLeaderEpoch", 212),
            Line("2.7.2", "AbstractFetcherThread.scala", "addPartitions", 442),
            Line("2.8.0", "AbstractFetcherThread.scala", "partitionFetchState", 468),
        )
    ),
)
FENCE_TRUNCATION: Final = since(
    "2.1.0", "The question where an epoch ends carries the asker's leader epoch", "KIP-320"
)
FENCE_FETCH: Final = since("2.1.0", "A fetch carries the follower's leader epoch", "KIP-320")
FENCE_HIGH_WATERMARK: Final = since(
    "2.1.0", "What moves the high watermark is a fetch under the leader's own epoch", "KAFKA-7395"
)
FENCE_JOIN: Final = since(
    "2.1.0", "What lets a replica into the ISR is a fetch under the leader's own epoch", "KIP-320"
)
JOIN_AT_EPOCH_START: Final = since(
    "2.0.1",
    "No follower joins the ISR before the leader's high watermark has come to its epoch",
    "KAFKA-7128",
    provenance=Provenance(
        by_source=(
            Line("2.0.0", "Partition.scala", "maybeExpandIsr", 396),
            Line("2.0.1", "Partition.scala", "maybeExpandIsr", 431),
        )
    ),
)
PERSIST_EPOCH_ON_LEAD: Final = since(
    "2.0.1",
    "A leader can answer for its epoch before it has a record of it; with Kafka's answers",
    "KAFKA-7415",
    provenance=Provenance(
        by_source=(
            Line("2.0.0", "Partition.scala", "makeLeader", 279),
            Line("2.0.1", "Partition.scala", "makeLeader", 312),
        )
    ),
)
REFUSE_SAME_EPOCH: Final = always("A broker accepts only requests of a later leader epoch than its own")
SKIP_DIVERGING_FETCH: Final = since(
    "2.8.1",
    "A leader learns nothing of a follower from a fetch that it answers with a diverging epoch",
    "KAFKA-13141",
    provenance=Provenance(
        compared=LEADER,
        by_source=(
            Line("2.8.0", "ReplicaManager.scala", "updateFollowerFetchState", 1758),
            Line("2.8.1", "ReplicaManager.scala", "updateFollowerFetchState", 1766),
        ),
    ),
    note="2.7.2 has it as well, and no follower of 2.7 tells the epoch of its last record",
)
LOG_START_FIRST: Final = since(
    "2.8.1",
    "A fetch below the leader's log start is out of range even where the logs part; before, the follower fails",
    "KAFKA-12996",
    provenance=Provenance(
        compared=LEADER,
        by_source=(
            Line("2.8.0", "Partition.scala", "readRecords", 1112),
            Line("2.8.1", "Partition.scala", "readRecords", 1112),
        ),
    ),
    note="2.7.2 has it as well, and no follower of 2.7 tells the epoch of its last record",
)
MATCH_FETCH_EPOCH: Final = since(
    "3.9.1",
    "A follower obeys the answer to a fetch only in the leader epoch that the fetch was made in",
    "KAFKA-18991",
    provenance=Provenance(
        compared=FOLLOWER,
        by_source=(
            Line("3.9.0", "AbstractFetcherThread.scala", "processFetchRequest", 338),
            Line("3.9.1", "AbstractFetcherThread.scala", "processFetchRequest", 346),
        ),
    ),
)
