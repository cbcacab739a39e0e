"""Records, and the requests and responses about them: Produce, Fetch, OffsetsForLeaderEpoch and ListOffsets.

>>> print(Record("m0", 3), Record("m0"))
m0@3 m0

Left out: sizes, timestamps, retries, idempotence and transactions of producers; sessions (a request names the
partitions that it is about), log starts, and waiting for data. [ProduceRequest.json, FetchRequest.json,
OffsetForLeaderEpochRequest.json, ListOffsetsRequest.json and their responses, 3.9]
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

from election.ids import BrokerId, LeaderEpoch
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition

Offset = Annotated[int, "an offset"]
"""A position in a log; an integer from 0 on."""

UNDEFINED_EPOCH: Final = -1
"""Kafka's number for no epoch."""

UNDEFINED_EPOCH_OFFSET: Final = -1
"""Kafka's number for no offset, as the end of an epoch."""


class Record(NamedTuple):
    """A record, which is a batch of its own."""

    value: Any
    leader_epoch: LeaderEpoch = UNDEFINED_EPOCH
    """The epoch of the leader that appended it; undefined in the formats before 0.11."""

    def __str__(self) -> str:
        return str(self.value) if self.leader_epoch == UNDEFINED_EPOCH else f"{self.value}@{self.leader_epoch}"


class EpochEndOffset(NamedTuple):
    """A leader epoch, and the offset after the last record written in it: the answer to a question about its end."""

    epoch: LeaderEpoch
    end_offset: Offset


# What a producer knows of its records.

Acks: TypeAlias = Literal[0, 1, -1, "all"]
"""When a leader answers: never, when it has the record, or (-1 and "all") when all replicas in sync have it."""
ACKS: Final = (0, 1, -1, "all")


@dataclass
class Produced:
    """A record that a producer has sent. It changes when the producer learns more.

    A producer that never hears of its record does not know whether it is in a log. With acks=0 that is always so.
    """

    value: object
    acks: Acks
    offset: Offset | None = None
    """Where the leader has appended it, once the producer knows."""
    error: Errors | None = None
    """Why it failed, as far as the producer knows; NETWORK_EXCEPTION if the leader died without an answer."""

    @property
    def acknowledged(self) -> bool:
        """Whether the producer knows that it has succeeded."""
        return self.offset is not None

    def __str__(self) -> str:
        if self.offset is not None:
            return f"{self.value} is acknowledged at offset {self.offset}"
        return f"{self.value} is not acknowledged" + (f": {self.error}" if self.error else "")


# What a follower asks its leader, and the answers.


class FetchPartition(NamedTuple):
    """Fetch: the records from an offset on."""

    fetch_offset: Offset
    current_leader_epoch: LeaderEpoch | None = None
    """The follower's; None until 2.0."""
    last_fetched_epoch: LeaderEpoch | None = None
    """That of its last record; None until 2.7."""


class EpochQuestion(NamedTuple):
    """OffsetsForLeaderEpoch: where does this epoch end in your log?"""

    leader_epoch: LeaderEpoch
    current_leader_epoch: LeaderEpoch | None = None
    """The follower's; None until 2.0."""


class OffsetQuestion(NamedTuple):
    """ListOffsets: where does your log end, or begin?"""

    earliest: bool = False
    current_leader_epoch: LeaderEpoch | None = None
    """The follower's; None until 2.0."""


class FetchedPartition(NamedTuple):
    """The answer to Fetch. With an error or a diverging epoch it has no records."""

    error: Errors = Errors.NONE
    records: tuple[Record, ...] = ()
    high_watermark: Offset = 0
    diverging_epoch: EpochEndOffset | None = None
    """Where the follower's log parts from the leader's [since 2.7]."""


class EpochAnswer(NamedTuple):
    """The answer to OffsetsForLeaderEpoch. Until 1.1 the epoch is undefined."""

    error: Errors
    end: EpochEndOffset


class OffsetAnswer(NamedTuple):
    """The answer to ListOffsets."""

    error: Errors
    offset: Offset


PartitionQuestion: TypeAlias = FetchPartition | EpochQuestion | OffsetQuestion
"""What a request asks about one partition."""
PartitionAnswer: TypeAlias = FetchedPartition | EpochAnswer | OffsetAnswer
"""What a response says about one partition."""


class FollowerRequest(NamedTuple):
    """A request of a follower's fetcher thread; all its questions are of one kind."""

    replica_id: BrokerId
    questions: tuple[tuple[TopicPartition, PartitionQuestion], ...]


class FollowerResponse(NamedTuple):
    """The leader's response, with an answer to each question."""

    answers: tuple[tuple[TopicPartition, PartitionAnswer], ...]
