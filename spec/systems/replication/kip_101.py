"""0.11 to 1.1: a follower asks where the epoch of its last record ends."""

from __future__ import annotations

from election.ids import BrokerId
from spec.language import switch
from spec.systems.replication.replica_log import ReplicaLog
from spec.systems.replication.replicas import Replicas
from spec.systems.replication.truncate_to_high_watermark import TruncateToHighWatermark
from statemachines.broker.log import truncation
from statemachines.broker.log.leader_epochs import Offset


class Kip101(TruncateToHighWatermark, truncation="kip-101"):
    """0.11 to 1.1: a follower asks where the epoch of its last record ends at the leader. [KIP-101]

    If the leader never had that epoch, the answer is the start of a later one, which may lie beyond the point where
    the logs diverge. T3.
    """

    answers: str = switch(
        "published",
        "The offset to which a follower truncates: as the published models compute it, or as Kafka's leader answers.",
        among=["published", "kafka"],
    )

    def truncation_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> Offset:
        """The end of the follower's latest epoch at the leader."""
        log, its = s.log[follower], s.log[leader]
        if self.answers == "published":
            return published_kip_101(log, its)
        latest = log.epochs.latest_epoch
        return truncation.kip_101(log, its.epochs.end_offset_for_kip_101(latest, its.end_offset))


def published_kip_101(follower: ReplicaLog, leader: ReplicaLog) -> Offset:
    """The offset of the published model, computed from both logs at once [hachikuji/kafka-specification, Kip101.tla].

    In corner cases Kafka's leader answers otherwise. It may lie beyond the follower's end; then the model waits for
    another request.
    """
    latest = follower.latest_epoch
    if latest is None:
        return 0
    if leader.latest_epoch is None:
        return follower.high_watermark
    if leader.latest_epoch == latest:
        return leader.end_offset
    later = (offset for offset, record in enumerate(leader.records) if record.leader_epoch > latest)
    return next(later, follower.high_watermark)
