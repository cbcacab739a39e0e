"""The common part of versions since 2.1: leader and follower must have the same leader epoch."""

from __future__ import annotations

from election.ids import BrokerId
from spec.language import assumption, switch
from spec.systems.replication.replicas import Leadership, Replicas
from spec.systems.replication.replication import Replication, several_epochs
from statemachines.broker.in_sync_replicas import UNKNOWN_OFFSET
from statemachines.broker.log import truncation
from statemachines.broker.log.leader_epochs import LeaderEpochs, Offset
from statemachines.changes.truncating import (
    FENCE_FETCH,
    FENCE_HIGH_WATERMARK,
    FENCE_JOIN,
    JOIN_AT_EPOCH_START,
    PERSIST_EPOCH_ON_LEAD,
)


def answers_late(self: Replication) -> bool:
    """Whether logs may diverge, and the time at which a follower hears of it makes a difference."""
    return several_epochs(self) and self.answers_may_be_late


def has_committed_in_its_epoch(s: Replicas, leader: BrokerId) -> bool:
    """Whether the leader's high watermark has reached the first record of its epoch, or the end of its log."""
    log = s.log[leader]
    here = log.at(log.high_watermark)
    return here is None or here.leader_epoch == s.replica[leader].leader_epoch


class UnderOneEpoch(Replication):
    """The common part of versions since 2.1: leader and follower interact only under the same leader epoch.

    In Kafka each fetch, and each question about the end of an epoch, carries the follower's leader epoch, and the
    leader refuses any other than its own [KIP-320; Partition.checkCurrentLeaderEpoch, 2.1]. Here the results of a
    fetch at the leader, a new high watermark or ISR, are later steps of their own, so each has its own fence.
    """

    name = Replication.name

    @assumption
    def is_a_version(self) -> bool:
        """`UnderOneEpoch` is only the common part of versions: `Replication.of(truncation=...)` is a version."""
        return type(self) is not UnderOneEpoch

    fence_fetch: bool = switch(FENCE_FETCH.now, str(FENCE_FETCH))
    fence_high_watermark: bool = switch(FENCE_HIGH_WATERMARK.now, str(FENCE_HIGH_WATERMARK))
    fence_join: bool = switch(FENCE_JOIN.now, str(FENCE_JOIN))
    join_at_epoch_start: bool = switch(JOIN_AT_EPOCH_START.now, str(JOIN_AT_EPOCH_START))
    persist_epoch_on_lead: bool = switch(PERSIST_EPOCH_ON_LEAD.now, str(PERSIST_EPOCH_ON_LEAD))

    def same_epoch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether both have the same leader epoch, and this broker leads in it."""
        return self.may_ask(s, s.replica[follower], leader)

    def may_ask(self, s: Replicas, mine: Leadership, leader: BrokerId) -> bool:
        """Whether this broker leads, under exactly the follower's leader epoch."""
        its = s.replica[leader]
        if its.leader != leader:
            return False
        return truncation.check_leader_epoch(mine.leader_epoch, its.leader_epoch) is None

    def epochs_of(self, s: Replicas, leader: BrokerId) -> LeaderEpochs:
        """A leader's leader-epoch cache, which may know the start of its own epoch before its first write."""
        epochs = s.log[leader].epochs
        if self.persist_epoch_on_lead and self.presumes_leadership(s, leader):
            return epochs.assign(s.replica[leader].leader_epoch, s.log[leader].end_offset)
        return epochs

    def may_fetch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a follower may fetch: only under the leader's own epoch."""
        fenced_off = self.fence_fetch and not self.same_epoch(s, follower, leader)
        return not fenced_off and super().may_fetch(s, follower, leader)

    def must_leave(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a member must leave the ISR. One of another epoch than the leader's counts as lagging."""
        return not self.same_epoch(s, follower, leader) or super().must_leave(s, follower, leader)

    def acknowledged_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """The LEO that counts for the high watermark: known only under the leader's own epoch."""
        if self.fence_high_watermark and not self.same_epoch(s, follower, leader):
            return UNKNOWN_OFFSET
        return super().acknowledged_offset(s, follower, leader, offset)

    def may_join(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a replica may join: only under the leader's own epoch, and once records show that epoch.

        As published, the leader's high watermark must have reached the start of its epoch. Kafka requires that only
        of the follower's LEO, see `in_sync_replicas.may_join`.
        """
        if self.fence_join and not self.same_epoch(s, follower, leader):
            return False
        if self.join_at_epoch_start and not has_committed_in_its_epoch(s, leader):
            return False
        return super().may_join(s, follower, leader)
