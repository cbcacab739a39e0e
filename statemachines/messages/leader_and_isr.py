"""The leader and the in-sync replicas of a partition, as its controller knows them.

Without a leader Kafka writes -1, and so do these records: data for ZooKeeper and brokers is in Kafka's form.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, Literal, NamedTuple

from election.ids import BrokerId, ControllerEpoch, LeaderEpoch
from statemachines.zookeeper.tree import ZkVersion

NO_LEADER: Final = -1
"""The leader of a partition that lost its last one."""
NO_EPOCH: Final = -1
"""The leader epoch of a partition that never had a leader."""
INITIAL_LEADER_EPOCH: Final = 0
"""The leader epoch of the first leader."""
LEADER_DURING_DELETE: Final = -2
"""The leader that brokers receive for a partition whose topic is queued for deletion; they forget it."""
EPOCH_DURING_DELETE: Final = -2
"""The same in StopReplica, where it overrides any epoch."""


class LeaderRecoveryState(IntEnum):
    """Whether the leader was elected uncleanly and has not recovered yet [LeaderRecoveryState.java, 3.2]."""

    RECOVERED = 0
    RECOVERING = 1


class LeaderAndIsr(NamedTuple):
    """A partition's leader and ISR [LeaderAndIsr.scala, 3.9]. Left out: the epochs of the ISR's brokers (KRaft)."""

    leader: Literal[-1] | BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    partition_epoch: ZkVersion = 0
    """The version of the znode at the last read or write."""

    def new_leader_and_isr(self, leader: Literal[-1] | BrokerId, isr: Sequence[BrokerId]) -> "LeaderAndIsr":
        """The controller's next state, in the next leader epoch.

        >>> LeaderAndIsr(leader=1, leader_epoch=4, isr=(1, 2)).new_leader_and_isr(2, [2])[:3]
        (2, 5, (2,))
        """
        return self._replace(leader=leader, leader_epoch=self.leader_epoch + 1, isr=tuple(isr))


class LeaderIsrAndControllerEpoch(NamedTuple):
    """A leader and an ISR, with the epoch of the controller that wrote them [KafkaController.scala, 3.9]."""

    leader_and_isr: LeaderAndIsr
    controller_epoch: ControllerEpoch
