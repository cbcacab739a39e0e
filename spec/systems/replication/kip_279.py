"""2.0: the leader's answer also names the epoch that it describes."""

from __future__ import annotations

from election.ids import BrokerId, LeaderEpoch
from spec.systems.replication.kip_101 import Kip101
from spec.systems.replication.replicas import Replicas
from statemachines.broker.log import truncation
from statemachines.broker.log.leader_epochs import EpochEndOffset, Offset


class Kip279(Kip101, truncation="kip-279"):
    """2.0: the answer names its epoch, and a follower asks until both logs have that epoch. [KIP-279]

    A leader answers even if the follower is in another leader epoch. T4, T5.
    """

    def truncation_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> Offset:
        """The end of the latest common epoch, with all rounds in one step."""
        log, its = s.log[follower], s.log[leader]
        if self.answers == "published":
            return truncation.published_kip_279(log, its)
        return truncation.in_rounds(log, lambda epoch: self.end_offset_for(s, leader, epoch)).end_offset

    def end_offset_for(self, s: Replicas, leader: BrokerId, epoch: LeaderEpoch) -> EpochEndOffset:
        """A leader's answer to the question where an epoch ends."""
        its = s.log[leader]
        return its.epochs.end_offset_for_kip_279(epoch, its.end_offset)
