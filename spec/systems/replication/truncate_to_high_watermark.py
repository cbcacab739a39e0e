"""Until 0.10: a follower truncates to its own high watermark."""

from __future__ import annotations

from election.ids import BrokerId
from spec.systems.replication.replicas import Replicas
from spec.systems.replication.replication import Replication
from statemachines.broker.log import truncation
from statemachines.broker.log.leader_epochs import Offset


class TruncateToHighWatermark(Replication, truncation="truncate-to-high-watermark"):
    """Until 0.10: a follower truncates to its own high watermark. [ReplicaManager.makeFollowers, 0.10.2]

    It may lag the leader's. Then the follower drops committed records, and regains them only if the leader lives. T1,
    T2.
    """

    def truncation_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> Offset:
        """The follower's own high watermark."""
        return truncation.to_high_watermark(s.log[follower])
