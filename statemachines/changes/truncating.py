"""How followers truncate, and what is fenced when they fetch: changes that the system `replication` has.

The tickets of 2.0.1 were mended in the line of KIP-279, which this system explores as 2.0.0 had it.
"""

from typing import Final

from statemachines.changes.change import KafkaChange, Line, Provenance, always, since

__all__ = [
    "FENCE_FETCH",
    "FENCE_HIGH_WATERMARK",
    "FENCE_JOIN",
    "FENCE_TRUNCATION",
    "JOIN_AT_EPOCH_START",
    "PERSIST_EPOCH_ON_LEAD",
    "REFUSE_SAME_EPOCH",
    "TRUNCATION",
]

TRUNCATION: Final = KafkaChange(
    sentence="What a follower cuts off before it fetches, and what is fenced: as 0.10 (to its high watermark), 0.11 "
    "(KIP-101), 2.0 (KIP-279) or 2.1 (KIP-320) had it, or as KIP-320 was designed first",
    before="truncate-to-high-watermark",
    since={"0.11.0.0": "kip-101", "2.0.0": "kip-279", "2.1.0": "kip-320"},
    tickets=("KIP-101", "KIP-279", "KIP-320"),
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
