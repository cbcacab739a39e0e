"""What versions since 2.1 share: leader and follower go by the same leader epoch."""

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
    """Whether logs may part, and it makes a difference when a follower hears so."""
    return several_epochs(self) and self.answers_may_be_late


def has_committed_in_its_epoch(s: Replicas, leader: BrokerId) -> bool:
    """Whether the leader's high watermark has come to the first record of its epoch, or to the end of its log."""
    log = s.log[leader]
    here = log.at(log.high_watermark)
    return here is None or here.leader_epoch == s.replica[leader].leader_epoch


class UnderOneEpoch(Replication):
    """What versions since 2.1 share: leader and follower deal with each other only under the same leader epoch.

    In Kafka each fetch, and each question where an epoch ends, carries the asker's leader epoch, and the leader
    refuses what is not its own [KIP-320; Partition.checkCurrentLeaderEpoch, 2.1]. Here what a leader makes of a
    fetch, a high watermark or an ISR, is a step of its own later on, and so each has its fence.
    """

    name = Replication.name

    @assumption
    def is_a_version(self) -> bool:
        """What versions share is none of them: `Replication.of(truncation=...)` is one."""
        return type(self) is not UnderOneEpoch

    fence_fetch: bool = switch(FENCE_FETCH.now, str(FENCE_FETCH))
    fence_high_watermark: bool = switch(FENCE_HIGH_WATERMARK.now, str(FENCE_HIGH_WATERMARK))
    fence_join: bool = switch(FENCE_JOIN.now, str(FENCE_JOIN))
    join_at_epoch_start: bool = switch(JOIN_AT_EPOCH_START.now, str(JOIN_AT_EPOCH_START))
    persist_epoch_on_lead: bool = switch(PERSIST_EPOCH_ON_LEAD.now, str(PERSIST_EPOCH_ON_LEAD))

    def same_epoch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether both go by one leader epoch, of which this broker is the leader."""
        return self.may_ask(s, s.replica[follower], leader)

    def may_ask(self, s: Replicas, mine: Leadership, leader: BrokerId) -> bool:
        """Whether this broker leads, and under the very leader epoch that the asker goes by."""
        its = s.replica[leader]
        if its.leader != leader:
            return False
        return truncation.check_leader_epoch(mine.leader_epoch, its.leader_epoch) is None

    def epochs_of(self, s: Replicas, leader: BrokerId) -> LeaderEpochs:
        """The leader-epoch cache of a leader, which may know where its own epoch began before it has written."""
        epochs = s.log[leader].epochs
        if self.persist_epoch_on_lead and self.presumes_leadership(s, leader):
            return epochs.assign(s.replica[leader].leader_epoch, s.log[leader].end_offset)
        return epochs

    def may_fetch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Only under the leader's own epoch."""
        fenced_off = self.fence_fetch and not self.same_epoch(s, follower, leader)
        return not fenced_off and super().may_fetch(s, follower, leader)

    def must_leave(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """A member that goes by another epoch than the leader's own counts as behind."""
        return not self.same_epoch(s, follower, leader) or super().must_leave(s, follower, leader)

    def acknowledged_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """Only under the leader's own epoch."""
        if self.fence_high_watermark and not self.same_epoch(s, follower, leader):
            return UNKNOWN_OFFSET
        return super().acknowledged_offset(s, follower, leader, offset)

    def may_join(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Only under the leader's own epoch, and not before that epoch can be told from the records.

        As published: the leader's high watermark has come to the start of its epoch. Kafka asks that of the
        follower's LEO, which is less, see `in_sync_replicas.may_join`.
        """
        if self.fence_join and not self.same_epoch(s, follower, leader):
            return False
        if self.join_at_epoch_start and not has_committed_in_its_epoch(s, leader):
            return False
        return super().may_join(s, follower, leader)
