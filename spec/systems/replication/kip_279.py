"""2.0: the leader's answer also names the epoch that it describes."""

from __future__ import annotations

from collections.abc import Callable

from election.ids import BrokerId, LeaderEpoch
from spec.systems.replication.kip_101 import Kip101
from spec.systems.replication.replica_log import ReplicaLog
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
            return published_kip_279(log, its)
        return in_rounds(log, lambda epoch: self.end_offset_for(s, leader, epoch)).end_offset

    def end_offset_for(self, s: Replicas, leader: BrokerId, epoch: LeaderEpoch) -> EpochEndOffset:
        """A leader's answer to the question where an epoch ends."""
        its = s.log[leader]
        return its.epochs.end_offset_for_kip_279(epoch, its.end_offset)


def in_rounds(follower: ReplicaLog, ask: Callable[[LeaderEpoch], EpochEndOffset]) -> ReplicaLog:
    """The follower's log once `kip_279` is done. `ask` returns the leader's end of an epoch.

    Each round but the last removes the latest epoch from the log, so they end. [AbstractFetcherThread.maybeTruncate,
    2.0.1]
    """
    fetch_offset = None
    while (latest := follower.latest_epoch) is not None:
        fetch_offset, done = truncation.kip_279(follower, ask(latest), fetch_offset)
        follower = follower.truncate_to(fetch_offset)
        if done:
            break
    return follower


def published_kip_279(follower: ReplicaLog, leader: ReplicaLog) -> Offset:
    """The offset of the published model: after the last record that both logs have at the same offset.

    [hachikuji/kafka-specification, Kip279.tla]
    """
    for offset in reversed(range(follower.end_offset)):
        if leader.at(offset) == follower.records[offset]:
            return offset + 1
    return 0
