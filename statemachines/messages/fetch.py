"""What a follower asks its leader, and the answers: Fetch, OffsetsForLeaderEpoch and ListOffsets.

Left out: sizes, sessions (a request names the partitions that it is about), log starts, and waiting for data.
[FetchRequest.json, OffsetForLeaderEpochRequest.json, ListOffsetsRequest.json and their responses, 3.9]
"""

from typing import NamedTuple, TypeAlias

from election.ids import BrokerId, LeaderEpoch
from statemachines.messages.errors import Errors
from statemachines.messages.records import EpochEndOffset, Offset, Record
from statemachines.messages.topic_partition import TopicPartition


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
