"""2.1 to 2.7: a follower that fetches is fenced by its leader epoch."""

from __future__ import annotations

from election.ids import BrokerId, LeaderEpoch
from spec.language import require, switch
from spec.systems.replication.kip_279 import Kip279
from spec.systems.replication.replicas import Leadership, Replicas
from spec.systems.replication.under_one_epoch import UnderOneEpoch
from statemachines.broker.log.leader_epochs import EpochEndOffset
from statemachines.changes.receiving import ReceivingChanges
from statemachines.changes.truncating import FENCE_TRUNCATION


class Kip320(UnderOneEpoch, Kip279, truncation="kip-320"):
    """2.1 to 2.7: the question where an epoch ends is fenced as a fetch is. [KIP-320]"""

    fence_truncation: bool = switch(FENCE_TRUNCATION.now, str(FENCE_TRUNCATION))
    truncate_every_epoch: bool = switch(
        ReceivingChanges.truncate_every_epoch.now, str(ReceivingChanges.truncate_every_epoch)
    )

    def truncate(self, s: Replicas, follower: BrokerId, request: Leadership) -> None:
        """The follower truncates only when the leader has accepted the same request."""
        leader = request.leader
        if self.fence_truncation:
            assert leader is not None
            require(self.may_ask(s, request, leader))
        if self.truncate_every_epoch or s.replica[follower].leader != leader:
            super().truncate(s, follower, request)

    def end_offset_for(self, s: Replicas, leader: BrokerId, epoch: LeaderEpoch) -> EpochEndOffset:
        """The answer of a leader that knows the start of its own epoch."""
        return self.epochs_of(s, leader).end_offset_for(epoch, s.log[leader].end_offset)
