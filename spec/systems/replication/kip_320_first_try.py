"""The first design of KIP-320, which was not released."""

from __future__ import annotations

from election.ids import BrokerId
from spec.language import action, require
from spec.systems.replication.kip_279 import Kip279
from spec.systems.replication.replicas import Leadership, Replicas
from spec.systems.replication.replication import several_epochs
from spec.systems.replication.under_one_epoch import has_committed_in_its_epoch
from statemachines.broker.in_sync_replicas import UNKNOWN_OFFSET
from statemachines.broker.log.leader_epochs import Offset


class Kip320FirstTry(Kip279, truncation="kip-320-first-try"):
    """The first design of KIP-320, which compares the epochs of single records. It was not released.

    A new follower does not truncate at once, but when its last record has another epoch than the leader's record at
    that offset. A fetch carries the epoch of the last record. A record's epoch does not say which leader the follower
    obeys now: strong_isr breaks at three brokers and three epochs.
    """

    def agrees(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> bool:
        """Whether both logs have a record of the same epoch just before an offset."""
        if offset == 0:
            return True
        mine, its = s.log[follower].at(offset - 1), s.log[leader].at(offset - 1)
        return mine is not None and its is not None and mine.leader_epoch == its.leader_epoch

    def known_end_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """The offset, if both logs have a record of the same epoch just before it; else unknown."""
        return offset if self.agrees(s, follower, leader, offset) else UNKNOWN_OFFSET

    def may_fetch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether the follower's last record has the same epoch as the leader's record at that offset."""
        end_offset = s.log[follower].end_offset
        return super().may_fetch(s, follower, leader) and self.agrees(s, follower, leader, end_offset)

    def may_join(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether the leader has committed in its epoch, besides the shared conditions."""
        return super().may_join(s, follower, leader) and has_committed_in_its_epoch(s, leader)

    def truncate(self, s: Replicas, follower: BrokerId, request: Leadership) -> None:
        """A new follower does not truncate its log yet."""

    @action(when=several_epochs, receiver="leader")
    def follower_truncate(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> None:
        """A follower truncates its log, since its last record has another epoch than the leader's record there."""
        require(self.follows(s, follower, leader) and self.presumes_leadership(s, leader))
        log, its = s.log[follower], s.log[leader]
        require(log.records)
        there = its.at(log.end_offset - 1)
        require(there is None or there.leader_epoch != log.latest_epoch)
        s.log[follower] = log.truncate_to(self.truncation_offset(s, follower, leader))
