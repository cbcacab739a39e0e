"""How far a replica truncates its log when it begins to follow: the rule of each release, as pure functions.

A follower may have records that its leader never had. It must truncate them before it fetches, or the logs differ
forever. And it must not truncate committed records, or they are lost if this replica is elected next.

    releases     rule                                           remaining error
    0.10         `to_high_watermark`                            truncates committed records not yet known as such
    0.11 to 1.1  `kip_101`: the end of my last epoch, at yours  mistakes the end of another epoch for it
    2.0          `kip_279`: the same, with the epoch it means   asks a broker that has not heard of the election
    2.1 to 2.7   `check_leader_epoch`, then the same            (KIP-320)
    2.8 to 3.9   `diverging_epoch`: the leader checks each fetch, without a separate question (KAFKA-10554)

The rule of KIP-279 may need several rounds. Offsets are offsets of the log; -1 means none, as in Kafka's protocol.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from election.ids import LeaderEpoch
from statemachines.broker.log.leader_epochs import (
    UNDEFINED_EPOCH,
    UNDEFINED_EPOCH_OFFSET,
    EpochEndOffset,
    LeaderEpochs,
    Offset,
)
from statemachines.messages.errors import Errors


class FollowerLog(Protocol):
    """The log of a follower that truncates."""

    @property
    def end_offset(self) -> Offset:
        """Its LEO."""

    @property
    def high_watermark(self) -> Offset:
        """Its HW."""

    @property
    def epochs(self) -> LeaderEpochs:
        """Its leader-epoch cache."""


class Truncation(NamedTuple):
    """Truncate the log to this offset, at most its end. If not done, ask again, for the latest epoch left."""

    offset: Offset
    done: bool


# Kafka's rules.


def to_high_watermark(follower: FollowerLog) -> Offset:
    """To the follower's own high watermark; the leader's may be ahead. [ReplicaManager.makeFollowers, 0.10.2]"""
    return follower.high_watermark


def kip_101(follower: FollowerLog, answer: Offset) -> Offset:
    """To the answer: the leader's `end_offset_for_kip_101` of the follower's latest epoch.

    An undefined answer means the high watermark; an answer beyond the log end means that nothing is truncated.
    [ReplicaFetcherThread.maybeTruncate, 0.11.0]
    """
    if answer == UNDEFINED_EPOCH_OFFSET:
        return follower.high_watermark
    return min(answer, follower.end_offset)


def kip_279(follower: FollowerLog, answer: EpochEndOffset, fetch_offset: Offset | None = None) -> Truncation:
    """To the end of the answer's epoch in both logs or, if the follower lacks it, to the end of its last one below.

    An undefined answer means `fetch_offset`, where the follower would continue to fetch: its high watermark, unless
    it has truncated already. The follower looks up its own epochs as since 2.0.1 (`LeaderEpochs.end_offset_for`).
    [AbstractFetcherThread.getOffsetTruncationState, 2.0.1 to 3.9]
    """
    end_offset = follower.end_offset
    if answer.end_offset == UNDEFINED_EPOCH_OFFSET:
        return Truncation(follower.high_watermark if fetch_offset is None else fetch_offset, done=True)
    if answer.epoch == UNDEFINED_EPOCH:
        return Truncation(min(answer.end_offset, end_offset), done=True)
    own = follower.epochs.end_offset_for(answer.epoch, end_offset)
    if own.end_offset == UNDEFINED_EPOCH_OFFSET:
        return Truncation(min(answer.end_offset, end_offset), done=True)
    if own.epoch != answer.epoch:
        return Truncation(own.end_offset, done=False)
    return Truncation(min(own.end_offset, answer.end_offset), done=True)


def check_leader_epoch(current: LeaderEpoch, leader_epoch: LeaderEpoch) -> Errors | None:
    """The error of a leader under `leader_epoch` for a fetch or question that carries the follower's `current` epoch.

    None if the leader answers. Otherwise the follower is behind, or the leader has not heard of the election yet.
    [KIP-320, 2.1; Partition.checkCurrentLeaderEpoch, 2.1]
    """
    if current < leader_epoch:
        return Errors.FENCED_LEADER_EPOCH
    if current > leader_epoch:
        return Errors.UNKNOWN_LEADER_EPOCH
    return None


def diverging_epoch(
    leader: LeaderEpochs,
    leader_end_offset: Offset,
    fetch_offset: Offset,
    last_fetched_epoch: LeaderEpoch,
    leader_start_offset: Offset = 0,
    log_start_first: bool = True,
) -> EpochEndOffset | Errors | None:
    """The answer of a leader to a fetch at `fetch_offset` by a log whose last record has `last_fetched_epoch`.

    None if that log is a prefix of the leader's, as far as epochs show. Otherwise the offset where the logs diverge:
    the follower applies `kip_279` to it, and fetches again. OFFSET_OUT_OF_RANGE if the leader knows no such epoch, or
    if its log begins after `fetch_offset`. Leaders answer so since 2.7; followers send the epoch since 2.8
    (KAFKA-10554).

    Args:
        leader: the leader's epochs.
        leader_end_offset: its log end.
        fetch_offset: where the follower's log ends.
        last_fetched_epoch: the epoch of the follower's last record.
        leader_start_offset: where the leader's log begins.
        log_start_first: a fetch below the log start is out of range even where the logs diverge (KAFKA-12996, 2.7.2
            and 2.8.1). Until 2.8.0 the answer is the divergence. The follower cannot adopt the leader's log start,
            which is beyond its high watermark, and stops fetching until it hears of another leader epoch
            [ReplicaFetcherThread.processPartitionData, 2.8.0].

    [Partition.readRecords, 2.7 to 3.9]
    """
    found = leader.end_offset_for(last_fetched_epoch, leader_end_offset)
    if found.end_offset == UNDEFINED_EPOCH_OFFSET:
        return Errors.OFFSET_OUT_OF_RANGE
    parts = found.epoch < last_fetched_epoch or found.end_offset < fetch_offset
    if fetch_offset < leader_start_offset and (log_start_first or not parts):
        return Errors.OFFSET_OUT_OF_RANGE
    return found if parts else None
